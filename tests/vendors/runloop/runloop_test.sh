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

vendor_lifecycle
vendor_counts 1 2 2 4 3 2 41 21 1 1 4
vendor_faults
vendor_rows
part results_rows
parts_run
vendor_sound
