#!/bin/bash
# E2B: the official SDK against the emulator first, then our provider, by the tables that all providers must pass.
# shellcheck disable=SC1091,SC2034,SC2119,SC2154
. tests/vendors/lib.sh
unset E2B_API_KEY E2B_ACCESS_TOKEN E2B_DOMAIN E2B_API_URL E2B_SANDBOX_URL
vendor_use e2b
[ "${1:-}" = no-sdk ] || part vendor_script sdk "$url"

secret=e2b_0123456789abcdef0123456789abcdef
export E2B_API_KEY=$secret
key_variable=E2B_API_KEY
wrong_key() { export E2B_API_KEY=e2b_fedcba9876543210; secret=$E2B_API_KEY; }
no_key() { unset E2B_API_KEY; }
unknown_id=inosuchsandbox0123456
provider=(--sandbox e2b --param "base_url=$url" --param "sandbox_url=$url")
workspace=/home/user
requests_of=(
    [create]='POST /v2/sandboxes$'
    [attach]='GET /sandboxes/[^/?]*$'
    [exec]='POST /process.Process/Start$'
    [upload]='POST /(files|process.Process/Start)'
    [download]='GET /files[?]'
    [list]='GET /v2/sandboxes[?]'
    [delete]='DELETE /sandboxes/'
)

fork_request='/fork$' forks_without_label=true
# Its own limits, and the form that it wants.
e2b_network() {
    not_held "an address that it does not know" 2001:db8::/32 --allow 2001:db8::/32 --allow a.example
    usage "its own parameter beside a policy" "parameter network and a network policy" create "${provider[@]}" --network off --param 'network={"denyOut":["1.1.1.1"]}'
    usage "the other one" "parameter internet and" create "${provider[@]}" --network open --param internet=false
    network_credentials
    made_allowed --allow b.example || return
    check "a credential's host is allowed, and all else denied" state_is '.sandboxes[0].network
        | .allowOut == ["b.example", "a.example"] and .denyOut == ["0.0.0.0/0"] and (.rules["a.example"][0].transform.headers | keys) == ["X-Secret"]'
    check "a fork, which could not be given it, is refused" with_allow calls $unsupported fork "$id" sandlot-copy
    gone "$id"
    for number in $(seq 11); do printf '[[network.credentials]]\nhost = "h%s.example"\nheader = "A"\nenv = "HEADER_SECRET"\n' "$number"; done >"$config"
    not_held "a credential too many" h11.example
    rm -f "$config"
}

port_url='^http://3000-ID[.]localhost:' port_header='' port_making=() port_prepare=own_domain port_stale='' port_undeclared=''
own_domain() {
    E2B_DOMAIN=localhost:$(ask GET state | "$fast_jq" .edge)
    export E2B_DOMAIN
}

vendor_ports
private_ports() {
    port_header=e2b-traffic-access-token port_making=(--param 'network={"allowPublicTraffic":false}')
    ports
}
part_once private_ports
vendor_lifecycle
vendor_counts 1 2 2 3 2 2 2 21 1 1 3
vendor_network e2b_network
vendor_faults
starved_there() {
    export PARAMETER_sandbox_url=$url
    starved
}
part starved_there
vendor_rows
part_once processes_there
part_once results_rows
parts_run
vendor_sound
