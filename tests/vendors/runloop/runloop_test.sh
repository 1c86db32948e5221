#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2034,SC2154
# Runloop: its own SDK against the emulator first, then our provider, by the tables that all providers must pass.
. tests/vendors/lib.sh

secret=ak_0123456789abcdefEMULATED
unknown_id=dbx_0000000000000000
key_variable=RUNLOOP_API_KEY
wrong_key() { export RUNLOOP_API_KEY=ak_ffffffffffffffffSTRANGER secret=ak_ffffffffffffffffSTRANGER; }
no_key() { unset RUNLOOP_API_KEY; }
declare -A requests_of=(
    [create]='POST /v1/devboxes/create_and_await_running$' [attach]='GET /v1/devboxes/dbx_[^/]*$' [exec]='POST /execute[?]'
    [upload]='POST /upload_file$' [download]='POST /download_file$' [list]='GET /v1/devboxes[?]' [delete]='POST /shutdown$'
)

unset RUNLOOP_BASE_URL RUNLOOP_CUSTOM_HEADERS RUNLOOP_SANDBOX_BLUEPRINT_ID RUNLOOP_SANDBOX_BLUEPRINT_NAME
vendor_use runloop
[ "${1:-}" = no-sdk ] || part vendor_script sdk "$url"
export RUNLOOP_API_KEY=$secret
provider=(--sandbox runloop --param "base_url=$url") workspace=/home/user

fork_request='/v1/devboxes/create_and_await_running$'
# Policies are things of the account: one for all that ask for the same, gone with the last of them; not those of others.
runloop_network() {
    local first second copy policy
    not_held "an address that is not known to hold" 2001:db8::/32 --allow 2001:db8::/32
    usage "its own parameter beside a policy" "parameter network_policy_id and a network policy" create "${provider[@]}" --network open --param network_policy_id=np_1
    check "no policy is left" state_is '.policies == []'
    made_allowed --allow a.example --allow 198.51.100.0/24 && first=$id || return
    made_allowed --allow a.example --allow 198.51.100.0/24 && second=$id || return
    check "two that ask for the same have the same" state_is '(.policies | length) == 1 and ([.sandboxes[].launch_parameters.network_policy_id] | unique) == [.policies[0].id]'
    check "named by what it says" state_is '.policies[0].name | test("^sandlot-[0-9a-f]{32}$")'
    reach "ports of a network" "$second" no 198.51.100.7:22
    gone "$first"
    check "it stays for the other" state_is '.policies | length == 1'
    check "a fork with another" with_allow calls $ok fork "$second" sandlot-copy
    copy=$(sed -n 's/^created: //p' <<<"$out")
    reach "a fork" "$copy" yes b.example:443
    reach "a fork" "$copy" no a.example:443
    gone "$copy" "$second"
    check "with the last of them it goes" state_is '.policies == []'
    faults '[{"path":"/v1/network-policies[?]","action":{"replace":"{\"network_policies\":[],\"has_more\":false}"}}]'
    made_allowed --allow a.example && first=$id || return
    faults '[{"path":"/v1/network-policies[?]","action":{"replace":"{\"network_policies\":[],\"has_more\":false}"}}]'
    made_allowed --allow a.example && second=$id || return
    check "who comes second at the same moment has the first one's" state_is '.policies | length == 1'
    gone "$first" "$second"
    policy=$(curl -s -H "Authorization: Bearer $RUNLOOP_API_KEY" -H "x-request-id: $RANDOM" -H 'Content-Type: application/json' -d '{"name":"mine"}' "$url/v1/network-policies" | "$fast_jq" -r .id)
    made_allowed --param network_policy_id="$policy" || return
    reach "somebody's own policy" "$id" no a.example:443
    gone "$id"
    check "is not ours to delete" state_is '.policies | length == 1'
}

port_url='^http://3000-[0-9a-f]+[.]localhost:' port_header=X-Runloop-Tunnel-Authorization port_making=() port_prepare=own_tunnels port_stale=another_tunnel
port_undeclared=''
own_tunnels() { provider+=(--param "tunnel_url=http://localhost:$(ask GET state | "$fast_jq" .edge)"); }
another_tunnel() { # and the answer to making it is lost
    faults '[{"path":"/enable_tunnel$","action":{"drop":"after"}}]'
    "$SANDLOT" -q pause "${provider[@]}" "$1" && "$SANDLOT" -q resume "${provider[@]}" "$1" &&
        curl -sSf --noproxy '*' -o "$scratch/removed" -H "Authorization: Bearer $secret" -H "x-request-id: $RANDOM" -X POST "$url/v1/devboxes/$1/remove_tunnel"
}

open_tunnel() {
    own_tunnels
    box=$("$SANDLOT" -q create "${provider[@]}" </dev/null)
    curl -sSf --noproxy '*' -o "$scratch/opened" -H "Authorization: Bearer $secret" -H "x-request-id: $RANDOM" -X POST "$url/v1/devboxes/$box/enable_tunnel"
    json "a tunnel that is there stays as it is" 0 '.header == null and .public' port "${provider[@]}" "$box" 3000 --url
    gone "$box"
}
part_once open_tunnel
vendor_ports
vendor_lifecycle
# What ends while the first request waits needs no second one: on a busy machine that takes more than the two seconds asked for.
patient() {
    export EMULATOR_HELD_S=15
    vendor_again
}
prepare=(patient)
vendor_counts 1 2 2 4 3 2 41 21 1 1 4
prepare=(vendor_again)
vendor_network runloop_network
pages=true
vendor_faults
vendor_starved
vendor_rows
part_once processes_there
part_once results_rows
parts_run
vendor_sound
