#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
# Every cloud's provider in a process of its own, behind its wall: a command, a file there and back, a list; keys from the
# environment, and where the vendor has one, from its file in the home folder.
. tests/vendors/lib.sh
. tests/vendors/agentcore/keys.sh
. tests/vendors/kubernetes/configuration.sh
need_vendors
home=$(mktemp -d /var/tmp/sandlot-isolated.XXXXXX) || exit 2 # not in the folder for temporary files, which is open
trap 'rm -rf "$home"; finish_vendor' EXIT
export HOME=$home
for name in agentcore daytona kubernetes langsmith modal runloop vercel; do
    printf '[sandboxes.providers.%s]\nisolation = "process"\n' "$name"
done >"$config"
head -c 300000 /dev/urandom >"$scratch/bytes"

# isolated NAME PATH: one vendor after the other; PATH of its address
isolated() {
    vendor_stop
    vendor_start "$1"
    provider=(--sandbox "$1" --param "base_url=$url$2")
    works "$1"
}
works() {
    expect "$1: a command" 0 "42" "*" exec "${provider[@]}" -- 'echo $((6 * 7))'
    id=$("$SANDLOT" -q create "${provider[@]}" </dev/null 2>"$scratch/err")
    check "$1: a sandbox" test -n "$id"
    expect "$1: a file goes up" 0 "*" "*" upload "${provider[@]}" --sandbox-id "$id" "$scratch/bytes" /tmp/bytes
    rm -f "$scratch/back"
    expect "$1: and comes back" 0 "*" "*" download "${provider[@]}" --sandbox-id "$id" /tmp/bytes "$scratch/back"
    check "$1: as it was" cmp "$scratch/bytes" "$scratch/back"
    json "$1: a list" 0 '.sandboxes | length == 1' list "${provider[@]}"
    expect "$1: the end" 0 "*" "*" delete "${provider[@]}" "$id"
}

DAYTONA_API_KEY=dtn_0123456789abcdef0123456789abcdef
LANGSMITH_API_KEY=lsv2_sk_5e1f0c77a2b94d0e_emulated
RUNLOOP_API_KEY=ak_0123456789abcdefEMULATED
VERCEL_TOKEN=vcp_0123456789abcdefEMULATED VERCEL_TEAM_ID=team_emulated VERCEL_PROJECT_ID=prj_emulated
MODAL_TOKEN_ID=ak-0123456789abcdefEMULATED MODAL_TOKEN_SECRET=as-0123456789abcdefEMULATED
export DAYTONA_API_KEY LANGSMITH_API_KEY RUNLOOP_API_KEY VERCEL_TOKEN VERCEL_TEAM_ID VERCEL_PROJECT_ID MODAL_TOKEN_ID MODAL_TOKEN_SECRET

isolated daytona /api
isolated langsmith ''
isolated runloop ''
isolated vercel /api
isolated modal ''
printf '[default]\ntoken_id = "%s"\ntoken_secret = "%s"\nactive = true\n' "$MODAL_TOKEN_ID" "$MODAL_TOKEN_SECRET" >"$HOME/.modal.toml"
unset MODAL_TOKEN_ID MODAL_TOKEN_SECRET
json "modal: by ~/.modal.toml" 0 .sandboxes list "${provider[@]}"
isolated agentcore ''
mkdir "$HOME/.aws"
printf '[default]\naws_access_key_id=%s\naws_secret_access_key=%s\n' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >"$HOME/.aws/credentials"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE
json "agentcore: by ~/.aws/credentials" 0 .sandboxes list "${provider[@]}"
mkdir -p "$HOME/.kube"
write_configuration "$HOME/.kube/config" sa-0123456789abcdefEMULATED
isolated kubernetes ''
vendor_sound
