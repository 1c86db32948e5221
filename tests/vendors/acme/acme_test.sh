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
provider=(--sandbox acme --param "base_url=$url")
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
parts_run
vendor_sound
