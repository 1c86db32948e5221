#!/bin/bash
# Background processes where only commands reach them, with the tools of this machine.
# shellcheck disable=SC1091,SC2034,SC2154,SC2016
. "$(dirname "$0")/derived.sh"
. "$(dirname "$0")/process_rows.sh"

way=derived
provider=(--sandbox only_execute)
making=()
process_rows

# ---- answers are lost ----
lose=$scratch/lose
provider=(--sandbox only_execute --param "lose_file=$lose")
id=$("$SANDLOT" -q create "${provider[@]}" </dev/null)
running_are() { json "$way: $2" 0 ".processes | length == $1" ps "${provider[@]}" --sandbox-id "$id"; }
echo 1 >"$lose"
begin -- 'echo once; sleep 3021'
check "$way: P3 an answer was lost" test "$(cat "$lose")" = 0
check "$way: P3 what the first request has started is told" test "$p" = p1
until_true 10 log_has "$p" once
running_are 1 "P3 it is one process"
echo 2 >"$lose"
on_json 3 '.error == "network"' "P3 both answers lost: it has failed" exec --detach -- 'sleep 3022'
running_are 1 "P3 and is ended again"
check "$way: P3 with what it has begun" is_gone 3022
echo 3 >"$lose"
on 3 "" "may run in the sandbox: look with" "P21 nor is it known whether it was ended: that is said" exec --detach -- 'sleep 3023'
running_are 1 "P21 it was"
hold=$scratch/hold
provider+=(--param "hold_file=$hold")
: >"$hold"
"$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" --detach -- 'sleep 3024' >"$scratch/started" 2>&1 </dev/null &
start=$!
until_true 20 test ! -e "$hold"
kill -INT "$start"
wait "$start"
check "$way: P21 a start is cancelled when it has begun" test $? = 130
running_are 1 "P21 and is taken back"
check "$way: P21 with what it has begun" is_gone 3024
expect "$way: the sandbox goes" 0 "*" "*" -q delete "${provider[@]}" "$id"
