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

vendor_lifecycle
# What one thing takes with the SDK, without leaving anything behind: a context is asked for, and deleted, or the sandbox keeps it for ever; a
# file is written where nobody looks, and put into its place by a command; a list tells whose a sandbox is only if that is asked for.
vendor_counts 1 3 3 5 4 2 22 21 2 1 4
vendor_network sandbox0_network
vendor_faults
vendor_starved
vendor_rows
parts_run
vendor_sound
