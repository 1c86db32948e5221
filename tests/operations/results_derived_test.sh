#!/bin/bash
# Folders that were imported, where only commands reach the files: with the tools of this machine, and with BusyBox; and where files
# are reached directly.
# shellcheck disable=SC1091,SC2034,SC2154,SC2016
. "$(dirname "$0")/derived.sh"
. "$(dirname "$0")/results_rows.sh"

provider=(--sandbox only_execute)
making=()
results_rows
rm -rf "$scratch/imported" "$scratch/patched"
busybox_root "$scratch/root"
making=(--param "rootfs=$scratch/root")
results_rows
rm -rf "$scratch/imported" "$scratch/patched"
provider=(--sandbox local) making=()
results_rows
