#!/bin/bash
# Sandbox0: the official SDK against the emulator first, then our provider, by the tables that all providers must pass.
# shellcheck disable=SC1091,SC2034,SC2119,SC2154
. tests/vendors/lib.sh
unset SANDBOX0_TOKEN SANDBOX0_API_KEY SANDBOX0_BASE_URL
vendor_use sandbox0
[ "${1:-}" = no-sdk ] || part vendor_script sdk "$url"

secret=s0_emulated_0123456789abcdef0123456789abcdef
export SANDBOX0_TOKEN=$secret
key_variable=SANDBOX0_TOKEN
wrong_key() { export SANDBOX0_TOKEN=s0_stranger_fedcba9876543210fedcba9876543210; secret=$SANDBOX0_TOKEN; }
no_key() { unset SANDBOX0_TOKEN; }
unknown_id=rs-0000000000-default-00000
provider=(--sandbox sandbox0 --param "base_url=$url")
workspace=/workspace as_root=true
requests_of=(
    [create]='POST /api/v1/sandboxes$'
    [attach]='GET /api/v1/sandboxes/[^/?]*$'
    [exec]='POST /contexts$'
    [upload]='POST /(contexts$|files[?])'
    [download]='GET /files[?]'
    [list]='GET /api/v1/sandboxes[?]'
    [delete]='DELETE /api/v1/sandboxes/[^/]*$'
)

fork_request='/fork$' forks_without_label=true
# Wildcards cover the name itself there, which is denied before, unless a wildcard above allows it; and a fork, which sleeps.
sandbox0_network() {
    local copy
    not_held "an address that is not known to hold" 2001:db8::/32 --allow 2001:db8::/32
    usage "its own parameter beside a policy" "parameter network and a network policy" create "${provider[@]}" --network open --param 'network={"mode":"allow-all"}'
    made_allowed --allow '*.low.b.example' --allow '*.b.example' --allow '*.c.example:8443' --allow c.example || return
    reach "wildcards" "$id" yes low.b.example:443 x.low.b.example:443 x.c.example:8443 c.example:443
    reach "wildcards" "$id" no b.example:443 x.c.example:443 c.example:8443
    check "a fork with another policy" with_allow calls $ok fork "$id" sandlot-copy
    copy=$(sed -n 's/^created: //p' <<<"$out")
    reach "a fork" "$copy" yes b.example:443
    reach "a fork" "$copy" no x.c.example:8443
    gone "$copy"
    gone "$id"
}

# What a credential is there belongs to the team, and goes with the sandbox, or with the next one that has some.
no_source() { state_is '.sources == []'; }
sandbox0_credentials() {
    local team=("${provider[@]}") provider=("${provider[@]}") lost
    check "no source is left of those with credentials" no_source
    network_credentials
    not_held "a credential that the team may not have" team_credentials --param team_credentials=false
    faults '[{"method":"POST","path":"/credential-sources$","times":1,"action":{"status":400,"body":{"success":false,"error":{"code":"bad_request","message":"no: '"$network_secret_value"'"}}}}]'
    run -vv create "${provider[@]}" --network open
    check "a source that is refused" test "$status" = 3
    nowhere "a source that is refused"
    faults '[{"method":"PUT","path":"/network$","times":1,"action":{"status":400,"body":{"success":false,"error":{"code":"bad_request","message":"no"}}}}]'
    expect "a policy that is refused after all" 3 "" "no" create "${provider[@]}" --network open
    faults '[{"method":"POST","path":"/credential-sources$","times":1,"action":{"drop":"during","bytes":20}}]'
    made_allowed --allow b.example
    reach "the answer about its source is lost" "$id" yes a.example:443
    faults '[]'
    check "the header is added" test "$(header_at a.example)" = "$network_secret_value"
    check "a refused one has left none" state_is '.sources | length == 1'
    check "a fork" calls $ok fork "$id" sandlot-copy
    gone "$(sed -n 's/^created: //p' <<<"$out")"
    lost=$id
    provider=("${team[@]}" --param team_credentials=false)
    gone "$lost"
    provider=("${team[@]}")
    check "one that the deletion did not know of is left" state_is '.sources == ["sandlot-'"$lost"'"]'
    made_allowed --network open
    check "until the next one is made" state_is '.sources == ["sandlot-'"$id"'"]'
    gone "$id"
    check "which leaves nothing" no_source
    rm -f "$config"
}

network_of_team() {
    provider+=(--param team_credentials=true)
    network_table sandbox0_network sandbox0_credentials
}

port_url='^http://[a-z0-9-]+[.]localhost:' port_header=X-Sandlot-Port port_making=() port_prepare='' port_stale=forget_services port_undeclared=''
# Somebody replaces them, and knows nothing of ours; the sandbox sleeps then, so that its servers are gone.
replace_services() {
    "$node" --input-type=module -e "const [, url, token, body] = process.argv;
        const answer = await fetch(url + '/api/v1/sandboxes/$1/services', { method: 'PUT', body, headers: { authorization: 'Bearer ' + token, 'content-type': 'application/json' } });
        process.exit(answer.ok ? 0 : 1);" "$url" "$secret" "$2"
}
forget_services() {
    replace_services "$1" '{"services":[]}'
    calls_url=$url calls $ok pause "$1"
    expect "it wakes" 0 "" "*" -q exec "${provider[@]}" --sandbox-id "$1" -- true
}
# A port's service is added to those that there are, or to none of them.
other_services() {
    local digest
    digest=$(printf secret | sha256sum | cut -d ' ' -f 1)
    made || return
    check "another service" replace_services "$id" '{"services":[{"id":"own","port":80,"runtime":{"type":"manual"},"ingress":{"public":true,"routes":[{"id":"r","path_prefix":"/","resume":false,"auth":{"mode":"bearer","bearer_token_sha256":"'"$digest"'"}}]}}]}'
    json "a port beside it" 0 '.public == false' port "${provider[@]}" "$id" 3000 --url
    check "which stays as it was" state_is '.sandboxes[0].services | map(.id) == ["own", "port-3000-by-sandlot"] and .[0].ingress.routes[0].auth.bearer_token_sha256 == "'"$digest"'"'
    check "no service has the value of the header" state_is '[.. | strings | select(test("s0_emulated"))] == []'
    requests_reset
    json "asked again, nothing is replaced" 0 '.port == 3000' port "${provider[@]}" "$id" 3000 --url
    check "but looked at" test "$(requests_show | grep -c services):$(requests_show | grep -c '^PUT')" = 1:0
    faults '[{"method":"GET","path":"/services$","times":1,"action":{"replace":"{\"success\":true,\"data\":{\"services\":[{\"id\":\"own\",\"port\":80,\"ingress\":{\"public\":true,\"routes\":[{\"id\":\"r\",\"auth\":{\"mode\":\"bearer\"}}]}}]}}"}}]'
    json "one that could not be kept is not touched" 1 '.error == "not_supported" and (.message | contains("who may use it is not told"))' port "${provider[@]}" "$id" 4000 --url
    faults '[]'
    check "nor is another port published then" state_is '.sandboxes[0].services | length == 2'
    gone "$id"
}
vendor_ports
part_once other_services
vendor_lifecycle
# What one thing takes with the SDK, without leaving anything behind: a context is asked for, and deleted, or the sandbox keeps it for ever; a
# file is written where nobody looks, and put into its place by a command; a list tells whose a sandbox is only if that is asked for.
vendor_counts 1 3 3 5 4 2 22 21 2 1 4
part network_of_team
pages=true
vendor_faults
vendor_starved
vendor_rows
parts_run
vendor_sound
