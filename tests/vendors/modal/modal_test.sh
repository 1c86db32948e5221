#!/bin/bash
# Modal: two generations of the official SDK against the emulator first, then our provider, with the tables of every vendor.
# shellcheck disable=SC1091,SC2034,SC2119,SC2154
. tests/vendors/lib.sh
vendor_use modal
part vendor_script sdk "$url" modal-0-9
part vendor_script sdk "$url" modal-0-11

secret=as-0123456789abcdefEMULATED
export MODAL_TOKEN_ID=ak-0123456789abcdefEMULATED MODAL_TOKEN_SECRET=$secret
key_variable=MODAL_TOKEN_ID
wrong_key() { export MODAL_TOKEN_SECRET=as-9999999999strangerEMULATED; secret=$MODAL_TOKEN_SECRET; }
no_key() { unset MODAL_TOKEN_ID MODAL_TOKEN_SECRET; }
unknown_id=sb-01ZZZZZZZZZZZZZZZZZZZZZZZZ
provider=(--sandbox modal --param "base_url=$url")
workspace=/workspace
as_root=true
requests_of=(
    [create]='POST /SandboxCreateV2$'
    [attach]='POST /SandboxGetTaskIdV2$'
    [exec]='POST /TaskExecStart$'
    [upload]='POST /TaskExecStdinWrite$'
    [download]='POST /TaskExecStdioRead$'
    [list]='POST /SandboxListV2$'
    [delete]='POST /SandboxTerminateV2$'
)

fork_request='/SandboxCreateV2$'
vendor_lifecycle
vendor_counts 5 8 6 9 6 6 63 63 4 2 13
vendor_faults
vendor_rows
parts_run
vendor_sound
