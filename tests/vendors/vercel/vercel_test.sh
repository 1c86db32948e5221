#!/bin/bash
# Vercel: the official SDK against the emulator first, then our provider, by the tables that all providers must pass.
# shellcheck disable=SC1091,SC2034,SC2119,SC2154
. tests/vendors/lib.sh
unset VERCEL_TOKEN VERCEL_TEAM_ID VERCEL_PROJECT_ID VERCEL_OIDC_TOKEN VERCEL_SANDBOX_BASE_URL
vendor_use vercel
[ "${1:-}" = no-sdk ] || part vendor_script sdk "$url"

secret=vcp_0123456789abcdefEMULATED
export VERCEL_TOKEN=$secret VERCEL_TEAM_ID=team_emulated VERCEL_PROJECT_ID=prj_emulated
key_variable=VERCEL_TOKEN
wrong_key() { export VERCEL_TOKEN=vcp_fedcba9876543210STRANGER; secret=$VERCEL_TOKEN; }
no_key() { unset VERCEL_TOKEN; }
unknown_id=sandlot-no-such-sandbox
provider=(--sandbox vercel --param "base_url=$url/api")
workspace=/vercel/sandbox
requests_of=(
    [create]='POST /api/v3/sandboxes[?]'
    [attach]='GET /api/v2/sandboxes/[^/?]*[?]'
    [exec]='POST /cmd[?]'
    [upload]='POST /(cmd|fs/write)[?]'
    [download]='POST /fs/read[?]'
    [list]='GET /api/v2/sandboxes[?]'
    [delete]='DELETE /api/v2/sandboxes/'
)

fork_request='/fork[?]' snapshots_without_names=true
# The forms that it wants: everything said once more where a rule would close it; and a fork has what is asked for it.
vercel_network() {
    local copy calls_url=$url/api
    not_held "an address that is not known to hold" 2001:db8::/32 --allow 2001:db8::/32
    usage "its own parameter beside a policy" "parameter network_policy and a network policy" create "${provider[@]}" --network off --param 'network_policy={"mode":"allow-all"}'
    usage "the other one" "parameter network_block and" create "${provider[@]}" --network open --param network_block=true
    network_credentials
    made_allowed --network open || return
    check "open with a credential is said twice, and not by addresses" state_is '.sandboxes[0].networkPolicy | (.allow | keys) == ["*", "a.example"] and .subnets == null'
    check "a fork with a policy" with_allow calls $ok fork "$id" sandlot-copy
    copy=$(sed -n 's/^created: //p' <<<"$out")
    reach "a fork" "$copy" yes b.example:443
    reach "a fork" "$copy" no a.example:443
    gone "$copy"
    gone "$id"
    rm -f "$config"
}

port_url='^http://sb-[0-9a-f]+-3000[.]localhost:' port_header='' port_making=(--param ports=3000) port_prepare='' port_stale=another_session
port_undeclared='create one with --param ports=8080'
another_session() { "$SANDLOT" -q pause "${provider[@]}" "$1" && "$SANDLOT" -q resume "${provider[@]}" "$1"; } # its ports have other URLs

vendor_ports
vendor_lifecycle
vendor_counts 1 2 2 3 2 2 2 21 1 2 5
vendor_network vercel_network
pages=true
vendor_faults
starved_there() { # at the API's own address
    url=$url/api
    starved
}
part starved_there
vendor_rows
parts_run
vendor_sound
