#!/bin/bash
# Background processes in sandboxes of `local`, read through the root of the box and by commands alone; then what only
# local can show.
# shellcheck disable=SC1091,SC2034,SC2154,SC2016
. "$(dirname "$0")/derived.sh"
. "$(dirname "$0")/process_rows.sh"

way=native
provider=(--sandbox local)
making=()
process_rows
way=derived
provider=(--sandbox only_execute)
process_rows

# ---- the client dies ----
way=native
provider=(--sandbox local)
id=$("$SANDLOT" -q create </dev/null)
"$SANDLOT" -q exec --sandbox-id "$id" --detach -- 'sleep 3010' >"$scratch/id" </dev/null &
client=$!
until_true 10 test -s "$scratch/id"
kill -9 "$client" 2>/dev/null
check "P2 the client is killed, the process goes on" state_is "$(cat "$scratch/id")" running
"$SANDLOT" -q exec --sandbox-id "$id" --detach -- 'sleep 3011' >/dev/null </dev/null &
kill -9 "$!"
wait "$!" 2>/dev/null
at_most_one() { [ "$("$SANDLOT" -q --json ps --sandbox-id "$id" </dev/null | jq '[.processes[] | select(.command == "sleep 3011")] | length')" -le 1 ]; }
check "P2 killed before: at most one runs" at_most_one

# ---- too many ----
for ((i = $("$SANDLOT" -q --json ps --sandbox-id "$id" </dev/null | jq '.processes | length'); i < 64; i++)); do
    "$SANDLOT" -q exec --sandbox-id "$id" --detach -- 'sleep 3012' >/dev/null </dev/null || not_ok "P17 process $i" ""
done
json "P17 64 run, one more does not" 3 '.error == "quota"' exec --sandbox-id "$id" --detach -- true
json "P17 nothing was started" 0 '.processes | length == 64' ps --all --sandbox-id "$id"
expect "P17 commands go on" 0 "fine" "*" -q exec --sandbox-id "$id" -- echo fine
"$SANDLOT" -q delete "$id" >/dev/null

# ---- time to live ----
id=$("$SANDLOT" -q create --param ttl_s=2 </dev/null)
begin -- 'sleep 5; echo done'
sleep 4
expect "P23 a process counts as use" 0 "*" "*" -q exec --sandbox-id "$id" -- true
on 0 "" "*" "P23 to its end" wait "$p"
id=$("$SANDLOT" -q create --param ttl_s=2 </dev/null)
in_box 'sleep 3013 >/dev/null 2>&1 &'
check "P23 what a command leaves by the way does not" until_true 30 no_sandboxes
