#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2034,SC2154
# AgentCore: its own SDK against the emulator first, then our provider, by the tables that all providers must pass.
. tests/vendors/lib.sh
. tests/vendors/agentcore/keys.sh

unknown_id=01ABCDEFGHJKMNPQRSTVWXYZ00
key_variable=AWS_ACCESS_KEY_ID
wrong_key() { export AWS_SECRET_ACCESS_KEY=wrong/secret+key9876543210 secret=wrong/secret+key9876543210; }
no_key() { unset AWS_ACCESS_KEY_ID; }
declare -A requests_of=(
    [create]='PUT /sessions/start$' [attach]='GET /sessions/get[?]' [exec]='POST /tools/invoke$' [upload]='POST /tools/invoke$'
    [download]='POST /tools/invoke$' [list]='POST /sessions/list$' [delete]='PUT /sessions/stop[?]'
)

vendor_use agentcore
[ "${1:-}" = no-sdk ] || part vendor_script sdk "$url"
provider=(--sandbox agentcore --param "base_url=$url") workspace=/tmp

vendor_lifecycle
vendor_counts 1 2 3 4 3 3 3 22 1 1 4
vendor_network
pages=true
vendor_faults
vendor_starved
vendor_rows
parts_run
vendor_sound
