#!/bin/bash
# Background processes in a sandbox that has BusyBox and nothing else, by commands alone; and in one without setsid.
# shellcheck disable=SC1091,SC2034,SC2154,SC2016
. "$(dirname "$0")/derived.sh"
. "$(dirname "$0")/process_rows.sh"

way=busybox
busybox_root "$scratch/root"
provider=(--sandbox only_execute)
making=(--param "rootfs=$scratch/root")
process_rows

# ---- without setsid ----
rm "$scratch/root/bin/setsid"
id=$("$SANDLOT" -q create "${provider[@]}" "${making[@]}" </dev/null)
begin -- 'echo ready; sleep 3020'
until_true 10 log_has "$p" ready
on 0 "" "*" "P22 without setsid: kill" kill "$p"
on 143 "" "*" "P22 without setsid: it has ended" wait "$p"
check "P22 without setsid: nothing is left" until_true 10 is_gone 3020
begin -- 'exit 4'
on 4 "" "*" "P22 without setsid: its status" wait "$p"
expect "P22 without setsid: the sandbox goes" 0 "*" "*" -q delete "${provider[@]}" "$id"
