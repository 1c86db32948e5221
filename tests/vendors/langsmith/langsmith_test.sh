#!/bin/bash
# LangSmith: the official SDK against the emulator first, then our provider, with the tables of every vendor and what is
# LangSmith's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2119,SC2154
. tests/vendors/lib.sh
vendor_use langsmith
part vendor_script sdk "$url"

secret=lsv2_sk_5e1f0c77a2b94d0e_emulated
export LANGSMITH_API_KEY=$secret
key_variable=LANGSMITH_API_KEY
wrong_key() { export LANGSMITH_API_KEY=lsv2_sk_0000000000000000_stranger; secret=$LANGSMITH_API_KEY; }
no_key() { unset LANGSMITH_API_KEY; }
unknown_id=sandlot-no-such-sandbox
provider=(--sandbox langsmith --param "base_url=$url")
workspace=/root
as_root=true
requests_of=(
    [create]='POST /v2/sandboxes/boxes$'
    [attach]='GET /v2/sandboxes/boxes/[^/]*$'
    [exec]='GET /execute/ws$'
    [upload]='POST /upload[?]'
    [download]='GET /download[?]'
    [list]='GET /v2/sandboxes/boxes[?]'
    [delete]='DELETE /v2/sandboxes/boxes/'
)
# A file may be a page, of any type; and success of a deletion has no body.
expected_of=(["download.a page"]=- ["delete.no body"]=-)

# Its own limits, and the form that it wants.
langsmith_network() {
    not_held "an address that is not known to hold" 2001:db8::/32 --allow 2001:db8::/32
    usage "its own parameter beside a policy" "parameter proxy_config and a network policy" create "${provider[@]}" --network open --param 'proxy_config={"rules":[]}'
    network_credentials
    made_allowed --allow b.example || return
    check "a credential's host is allowed, its value opaque" state_is '.sandboxes[0].settings.proxy_config
        | .access_control == {allow_list: ["b.example", "a.example"]} and .rules[0].match_hosts == ["a.example"] and .rules[0].headers[0].type == "opaque"'
    gone "$id"
    rm -f "$config"
}

# What has a mode of its own is sent beside its place first.
programs_that_fail() {
    made || return
    mkdir -p "$scratch/tree"
    head -c 200000 /dev/urandom >"$scratch/tree/run"
    chmod 755 "$scratch/tree/run"
    faults '[{"path":"/upload[?]","times":-1,"action":{"drop":"after"}}]'
    run -q upload "${provider[@]}" --sandbox-id "$id" -r "$scratch/tree" $workspace/tree
    faults '[]'
    check "a program whose upload gets no answer fails" test "$status" = 3
    expect "and leaves nothing" 0 "" "*" -q exec "${provider[@]}" --sandbox-id "$id" -- "find $workspace -name '.sandlot-*'"
    gone "$id"
}
part programs_that_fail

port_url='^http://3000-[0-9a-f-]{36}[.]localhost:[0-9]+$' port_header=X-Langsmith-Sandbox-Service-Token port_making=() port_prepare='' port_stale=stopped
port_undeclared=''
stopped() { "$SANDLOT" -q pause "${provider[@]}" "$1"; } # its tokens are over, and it wakes when it is used

without_tunnel() {
    export EMULATOR_NO_TUNNEL=1
    vendor_again
}
prepare=(without_tunnel)
vendor_ports
prepare=(vendor_again)
vendor_lifecycle
vendor_counts 1 2 2 3 2 2 21 21 1 1 4
vendor_network langsmith_network
pages=true
vendor_faults
vendor_starved
vendor_rows
parts_run
vendor_sound
