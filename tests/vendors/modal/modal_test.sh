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
looks='^GET |/TaskExecStart$'
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
# Its own limits, and a fork, which is made anew.
modal_network() {
    local copy
    not_held "an address that is not known to hold" 2001:db8::/32 --allow 2001:db8::/32
    usage "its own parameter beside a policy" "parameter network_block and a network policy" create "${provider[@]}" --network open --param network_block=true
    usage "the other one" "parameter domain_allow_list and" create "${provider[@]}" --network off --param domain_allow_list=a.example
    made || return
    check "a fork with a policy" with_allow calls $ok fork "$id" sandlot-copy
    copy=$(sed -n 's/^created: //p' <<<"$out")
    reach "a fork" "$copy" yes b.example:443
    reach "a fork" "$copy" no a.example:443
    gone "$copy"
    gone "$id"
}

port_url='^http://[0-9a-f]{16}[.]localhost:[0-9]+$' port_header=Authorization port_making=() port_prepare='' port_stale='' port_undeclared=''

older_ports() {
    box=$(MODAL_SANDBOX_V2=0 "$SANDLOT" -q create "${provider[@]}" </dev/null)
    json "a port of the older kind" 0 '.url and .header == "Authorization" and .public == false' port "${provider[@]}" "$box" 3000 --url
    "$SANDLOT" -q delete "${provider[@]}" "$box"
    json "a port of what is over" 3 '.error == "sandbox_not_found"' port "${provider[@]}" "$box" 3000 --url
}
part_once older_ports
vendor_ports
vendor_lifecycle
vendor_counts 5 8 6 9 6 6 63 63 4 2 13
vendor_network modal_network
vendor_faults
vendor_starved
vendor_rows
parts_run
vendor_sound
