#!/bin/bash
# Background processes in sandboxes of `local`, read through the root of the box; then what only local can show.
# shellcheck disable=SC1091,SC2034,SC2154,SC2016
. "$(dirname "$0")/derived.sh"
. "$(dirname "$0")/process_rows.sh"

way=native
provider=(--sandbox local)
making=()
process_rows

# ---- the client dies ----
way=native
provider=(--sandbox local)
id=$("$SANDLOT" -q create </dev/null)
"$SANDLOT" -q exec --sandbox-id "$id" --detach -- 'sleep 3010' >"$scratch/id" </dev/null &
client=$!
until_true 10 test -s "$scratch/id"
kill -9 "$client" 2>/dev/null
check "P2 the client is killed, the process goes on" process_is "$(cat "$scratch/id")" running
# Nobody reads the pipe that the id is to go to: the client is killed when its process runs and before it was told. On a busy machine
# that may come before its request to start one has ended, which ends the process too, as cancelling it would: then it is tried again.
mkfifo "$scratch/untold"
exec 7<>"$scratch/untold"
dd if=/dev/zero of="$scratch/untold" bs=4096 oflag=nonblock 2>/dev/null
running_are() { [ "$("$SANDLOT" -q --json ps --sandbox-id "$id" </dev/null | jq "[.processes[] | select(.command == \"sleep $1\")] | length")" = "$2" ]; }
killed_untold() {
    for _ in 1 2 3 4 5; do
        "$SANDLOT" -q exec --sandbox-id "$id" --detach -- 'sleep 3011' >&7 </dev/null &
        client=$!
        until_true 30 running_are 3011 1 || return
        kill -9 "$client"
        wait "$client" 2>/dev/null
        [ $? = 137 ] || return
        running_are 3011 0 || return 0
    done
    return 1
}
check "P2 killed before the id was told, when it runs" killed_untold
check "P2 ps shows it, once" running_are 3011 1
exec 7<&-
for moment in 0 0.01 0.03 0.06 0.1 0.2; do
    "$SANDLOT" -q exec --sandbox-id "$id" --detach -- "sleep 3011$moment" >/dev/null </dev/null &
    sleep "$moment"
    kill -9 "$!"
    wait "$!"
done 2>/dev/null
json "P2 killed at any moment: at most one runs" 0 '[.processes[].command] | length == (unique | length)' ps --sandbox-id "$id"
"$SANDLOT" -q delete "$id" >/dev/null

# ---- too many ----
id=$("$SANDLOT" -q create </dev/null)
for ((i = 0; i < 50; i++)); do
    "$SANDLOT" -q exec --sandbox-id "$id" --detach -- 'sleep 3012' >"$scratch/id-$i" </dev/null || not_ok "P17 process $i" ""
done
starters=()
for ((; i < 80; i++)); do
    "$SANDLOT" -q exec --sandbox-id "$id" --detach -- 'sleep 3012' >"$scratch/id-$i" 2>/dev/null </dev/null &
    starters+=("$!")
done
wait "${starters[@]}"
check "P17 30 at the same time: those run for which there is room, each by an id of its own" \
    test "$(cat "$scratch"/id-* | sort -u | wc -l) $(cat "$scratch"/id-* | wc -l)" = "64 64"
json "P17 64 run, one more does not" 3 '.error == "quota"' exec --sandbox-id "$id" --detach -- true
json "P17 nothing was started" 0 '.processes | length == 64' ps --all --sandbox-id "$id"
expect "P17 commands go on" 0 "fine" "*" -q exec --sandbox-id "$id" -- echo fine
"$SANDLOT" -q delete "$id" >/dev/null

# ---- what is kept of those that have ended ----
id=$("$SANDLOT" -q create </dev/null)
begin -- true
on 0 "" "*" "one ends" wait "$p"
inside 'cd /tmp/.sandlot-processes && for i in $(seq 2 70); do cp -r p1 "p$i"; done; cp -r p1 p71; echo "0 0 5" >p71/exit'
begin -- true
check "numbers go on after the highest" test "$p" = p72
json "the newest 64 that have ended are kept, each for a day" 0 \
    '[.processes[].id] == ([range(7; 71), 72] | map("p\(.)"))' ps --all --sandbox-id "$id"
"$SANDLOT" -q delete "$id" >/dev/null

# ---- time to live ----
id=$("$SANDLOT" -q create --param ttl_s=5 </dev/null) # time enough to begin, on a busy machine too
begin -- 'sleep 9; echo done'
sleep 8
expect "P23 a process counts as use" 0 "*" "*" -q exec --sandbox-id "$id" -- true
on 0 "" "*" "P23 to its end" wait "$p"
id=$("$SANDLOT" -q create --param ttl_s=2 </dev/null)
inside 'sleep 3013 >/dev/null 2>&1 &'
check "P23 what a command leaves by the way does not" until_true 30 no_sandboxes

# ---- byte by byte ----
# A pipe with O_DIRECT keeps each write apart, so that each is one read of whoever keeps the log.
id=$("$SANDLOT" -q create </dev/null)
cat >"$scratch/bytes.py" <<'END'
import fcntl, os
fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT)
for number in range(135000):
    for byte in b"%07d\n" % number:
        os.write(1, bytes((byte,)))
END
input=$scratch/bytes.py run -q write --sandbox-id "$id" bytes.py
begin -- 'exec python3 bytes.py'
on 0 "" "*" "P8 a million writes of one byte" wait "$p"
on_json 0 ".processes[0].output_total == 1080000 and .processes[0].output_first > 0" "P8 each is counted" ps --all
run logs --sandbox-id "$id" "$p"
seq -f %07.0f 0 134999 | tail -c "$(wc -c <"$scratch/out")" >"$scratch/wanted"
check "P8 what is kept is the end, in order" cmp "$scratch/wanted" "$scratch/out"
check "P8 nearly a MiB" test "$(wc -c <"$scratch/out")" -gt 1000000
check "P8 in 256 segments at most" test "$(inside "ls /tmp/.sandlot-processes/$p" | grep -c '^o\.[0-9]')" -le 256
"$SANDLOT" -q delete "$id" >/dev/null

# ---- the disk is full: in memory, so that the limit is the kernel's ----
id=$("$SANDLOT" -q create --param storage=memory --param disk_mb=32 </dev/null)
begin --log-limit 1 -- 'seq -f %07.0f 400000; cat /dev/zero >/tmp/fill; refused=$?; seq -f %07.0f 400001 800000; echo $refused; exit 6'
on 6 "" "*" "P18 a full disk does not stop it" wait "$p"
on_json 0 '.processes[0] | .state == "exited" and .output_first > 3200000 and .output_total >= 6400000' "P18 ps works" ps --all
run logs --sandbox-id "$id" "$p"
check "P18 what was dropped is told" grep -q "bytes of the log are left out" "$scratch/err"
head -n -1 "$scratch/out" | tail -n +2 >"$scratch/lines"
check "P18 its newest part is kept, without a gap" cmp "$scratch/lines" <(seq -f %07.0f "$(head -n 1 "$scratch/lines")" 800000)
check "P18 and it got its own error" test "$(tail -n 1 "$scratch/out")" = 1
json "P18 nothing more begins" 3 '.error == "quota"' exec --sandbox-id "$id" --detach -- true
expect "P18 a command does" 0 "" "*" -q exec --sandbox-id "$id" -- rm /tmp/fill
"$SANDLOT" -q delete "$id" >/dev/null
