#!/bin/bash
# The rows where only commands reach the files, in a sandbox that has BusyBox and nothing else.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/derived.sh"

way=busybox
busybox_root "$scratch/root"
provider=(--sandbox only_execute)
making=(--param "rootfs=$scratch/root")
rows_run execute read write edit list grep glob delete transfer lifecycle
