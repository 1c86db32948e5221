#!/bin/bash
# The tables that every provider must pass, on a made-up vendor and its provider: what fails here is wrong in the tables.
# shellcheck disable=SC1091,SC2034,SC2154
. tests/vendors/lib.sh
vendor_use acme

secret=acme-secret-key-0123456789
export ACME_API_KEY=$secret
key_variable=ACME_API_KEY
wrong_key() { export ACME_API_KEY=acme-another-key-0123456789; secret=$ACME_API_KEY; }
no_key() { unset ACME_API_KEY; }
unknown_id=sbx_0000000000000000
cp "$BUILD/tests/plugins/acme.so" "$plugins/" || exit 2
aside=$SANDLOT
provider=(--sandbox acme --param "base_url=$url") utf8_names=true
workspace=/home/acme
requests_of=(
    [create]='POST /v1/sandboxes$'
    [attach]='GET /v1/sandboxes/[^/]*$'
    [exec]='POST /exec$'
    [upload]='PUT /files'
    [download]='GET /files'
    [list]='GET /v1/sandboxes[?]'
    [delete]='DELETE /v1/sandboxes/'
)

vendor_lifecycle
vendor_counts 4 2 2 2 2 2 21 21 1 1 6
vendor_faults
vendor_rows

# ---- background processes where /proc shows nothing (P22) ----
without_proc() {
    export EMULATOR_WITHOUT_PROC=1
    vendor_again
}
processes_without_proc() {
    local started=(exec "${provider[@]}" --detach) on
    made || return
    started+=(--sandbox-id "$id" --) on=("${provider[@]}" --sandbox-id "$id")
    expect "P22 there is nothing in /proc" 0 "" "*" -q exec "${on[@]}" -- 'ls /proc'
    expect "P22 without /proc: a process starts" 0 p1 "*" -q "${started[@]}" 'echo ready; exit 4'
    expect "P22 and its end is seen" 4 "" "*" -q wait "${on[@]}" p1
    expect "P22 its output too" 0 ready "*" -q logs "${on[@]}" p1
    "$SANDLOT" -q "${started[@]}" 'sleep 3030 & sleep 3030' </dev/null >/dev/null
    json "P22 one that runs is listed" 0 '.processes | map([.id, .state]) == [["p2", "running"]]' ps "${on[@]}"
    expect "P22 kill ends it, and says what it cannot search" 0 "" "whether it has left other processes cannot be told, because /proc of the sandbox cannot be read" kill "${on[@]}" p2
    json "P22 and it has ended" 0 '.state == "exited" and .exit_code == 143' wait "${on[@]}" p2
    gone "$id"
}
prepare=(without_proc)
part processes_without_proc
parts_run
vendor_sound
