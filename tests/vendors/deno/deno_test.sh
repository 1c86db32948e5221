#!/bin/bash
# Deno: the official SDK against the emulator first, then our provider, with the tables of every vendor. What is Deno's own is
# in ways_test.sh.
# shellcheck disable=SC1091,SC2034,SC2119,SC2154
. tests/vendors/lib.sh
vendor_use deno
part vendor_script sdk "$url"

secret=ddo_5e1f0c77a2b94d0e_emulated
export DENO_DEPLOY_TOKEN=$secret
key_variable=DENO_DEPLOY_TOKEN
wrong_key() { export DENO_DEPLOY_TOKEN=ddo_0000000000000000_stranger; secret=$DENO_DEPLOY_TOKEN; }
no_key() { unset DENO_DEPLOY_TOKEN; }
unknown_id=sbx_ord_00000000000000000000
provider=(--sandbox deno --param "base_url=$url")
workspace=/home/app
# Attaching is what each of these begins with: the same request, so it is crossed with faults by them.
requests_of=(
    [create]='GET /api/v3/sandboxes/create$'
    [exec]='GET /api/v3/sandbox/[^/]*/connect$'
    [upload]='GET /api/v3/sandbox/[^/]*/connect$'
    [download]='GET /api/v3/sandbox/[^/]*/connect$'
    [list]='GET /api/v2/sandboxes$'
    [delete]='DELETE /api/v3/sandbox/'
)
late=
stalling='{"slow_ms":600000}' # the handshake passes, and then nothing comes

snapshot_refused='volumes alone'
network_narrow=true
# Its own limits, and the form that it wants.
deno_network() {
    not_held "one port below a name" '*.b.example:8443' --allow '*.b.example:8443'
    not_held "a network" 198.51.100.0/24 --allow 198.51.100.0/24
    usage "its own parameter beside a policy" "parameter allow_net and a network policy" create "${provider[@]}" --network open --param 'allow_net=[]'
    usage "hosts of secrets" "parameter secrets and" create "${provider[@]}" --network off --param 'secrets={"A":{"hosts":["a.example"],"value":"x"}}'
    made_allowed --allow a.example --allow '*.b.example' --allow 2001:db8::7 --allow 198.51.100.7:8443 || return
    check "the ports that are meant are said" state_is '.sandboxes[0].config.allow_net == ["a.example:80", "a.example:443", "*.b.example", "[2001:db8::7]:80", "[2001:db8::7]:443", "198.51.100.7:8443"]'
    gone "$id"
}

port_url='^http://[a-z0-9-]+[.]localhost:' port_header='' port_making=() port_prepare=let_ports_be_public port_stale='' port_undeclared='' port_renamed=true
let_ports_be_public() {
    box=$("$SANDLOT" -q create "${provider[@]}" </dev/null)
    expect "a port may not become public unasked" 1 "" "public_ports=true" port "${provider[@]}" "$box" 3000 --url
    check "and has not" state_is '.exposed == []'
    gone "$box"
    provider+=(--param public_ports=true)
}
vendor_ports
vendor_lifecycle
vendor_counts 1 1 1 1 1 1 1 1 1 2 2
vendor_network deno_network
vendor_faults
[ "$extent" = quick ] || vendor_rows # which ask more of the core than of a provider
vendor_starved
parts_run
vendor_sound
