#!/bin/bash
# The rows where only commands reach the files, through a channel that mangles what is not plain text; with the tools of this
# machine, and with BusyBox alone. The output of commands themselves is not what it was there, so the rows X are left out.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/derived.sh"

way=text
provider=(--sandbox only_execute --param channel=text)
making=()
rows_run read write edit list grep glob delete transfer
busybox_root "$scratch/root"
making=(--param "rootfs=$scratch/root")
rows_run read write edit list grep glob delete transfer
