#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2034,SC2119,SC2154
# Daytona: its own SDK against the emulator first, then our provider, by the tables that all providers must pass.
. tests/vendors/lib.sh

secret=dtn_0123456789abcdef0123456789abcdef
unknown_id=00000000-0000-4000-8000-000000000000
key_variable=DAYTONA_API_KEY
wrong_key() { export DAYTONA_API_KEY=dtn_ffffffffffffffffffffffffffffffff; }
no_key() { unset DAYTONA_API_KEY; }
declare -A requests_of=(
    [create]='POST /api/sandbox$' [attach]='GET /api/sandbox/[^/?]+$' [exec]='POST /process/execute$'
    [upload]='POST /files/bulk-upload$' [download]='GET /files/download' [list]='GET /api/sandbox\?' [delete]='DELETE /api/sandbox/'
)

# What the emulator was sent and does not know is noted by all parts.
before_stop() { state_is '.unknownFields == []' || ask GET state >>"$js/unknown"; }
unset DAYTONA_JWT_TOKEN DAYTONA_ORGANIZATION_ID DAYTONA_API_URL DAYTONA_SERVER_URL DAYTONA_TARGET
vendor_use daytona
[ "${1:-}" = no-sdk ] || part vendor_script sdk "$url"
export DAYTONA_API_KEY=$secret
provider=(--sandbox daytona --param "base_url=$url/api" --param trust_domain_list=true) workspace=/home/daytona

# Its own limits, and servers of one's own.
daytona_network() {
    local entries number calls_url=$url/api
    not_held "an address that it does not know" 2001:db8::/32 --allow 2001:db8::/32
    not_held "a domain of one part" corp --allow corp
    not_held "all domains of a part" '*.corp' --allow '*.corp'
    entries=()
    for number in $(seq 11); do entries+=(--allow "h$number.example"); done
    not_held "a domain too many" h11.example "${entries[@]}"
    entries=()
    for number in $(seq 11); do entries+=(--allow "198.51.100.$number"); done
    not_held "a network too many" 198.51.100.11/32 "${entries[@]}"
    not_held "a domain at a server of one's own" a.example --allow a.example --param trust_domain_list=false
    usage "its own parameter beside a policy" "parameter network_block and a network policy" create "${provider[@]}" --network open --param network_block=true
    made_allowed --param snapshot=daytona-vm || return
    check "a fork, which would lose its domains, is refused" with_allow calls $unsupported fork "$id" sandlot-copy
    gone "$id"
}

port_url='^http://3000-ID[.]' port_header=X-Daytona-Preview-Token port_making=() port_prepare='' port_stale=restart port_undeclared=''
restart() { # the token of a sandbox's ports lives until its next start; one that is not kept would be gone then
    local step
    for step in autodelete/-1 stop start; do
        curl -sSf --noproxy '*' -o "$scratch/restarted" -H "Authorization: Bearer $secret" -X POST "$url/api/sandbox/$1/$step" || return
        [ "$step" = autodelete/-1 ] || until_true 60 is_in_state "$1" "${step/%stop/stopp}ed"
    done
}
is_in_state() { state_is "[.sandboxes[] | select(.id == \"$1\") | .state] == [\"$2\"]"; }

vendor_ports
vendor_rows
fork_request='/fork$' making_forkable=(--param snapshot=daytona-vm)
vendor_lifecycle
vendor_network daytona_network
pages=true
vendor_faults
starved_there() { calls_url=$url/api starved; }
part starved_there
vendor_counts 4 3 3 4 3 3 3 3 2 3 8
parts_run
check "no field was sent that Daytona does not know" test ! -e "$js/unknown"
vendor_sound
