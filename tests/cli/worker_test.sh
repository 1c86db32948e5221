#!/bin/bash
# Providers in a process of their own: what people see of it, and what is left when such a process is killed.
# shellcheck disable=SC1091,SC2154 # lib.sh sets status, out, err and the folders
. "$(dirname "$0")/lib.sh"
cp "$BUILD"/tests/plugins/{fake,misbehaves}.so "$plugins/" || exit 2
vendor=$scratch/vendor
mkdir "$vendor"
cat >"$config" <<END
[sandboxes.providers.inside]
class_path = "$plugins/misbehaves.so:misbehaves"
isolation = "none"

[sandboxes.providers.other]
class_path = "$plugins/misbehaves.so:misbehaves"

[sandboxes.providers.fake.params]
folder = "$vendor"
journal = "$scratch/journal"
END
export MISBEHAVES_KEY=key-of-the-test OTHER_SECRET=not-for-the-worker

# The workers of this test: their environment has its folder.
workers() {
    local pid
    for pid in $(pgrep -x sandlot-worker); do
        grep -qzF "HOME=$HOME" "/proc/$pid/environ" 2>/dev/null && echo "$pid"
    done
}
has_worker() { [ -n "$(workers)" ]; }
no_worker() { [ -z "$(workers)" ]; }
vendor_is_empty() { [ -z "$(ls "$vendor")" ]; }
vendor_has_one() { [ "$(find "$vendor" -mindepth 1 -maxdepth 1 -type d | wc -l)" = 1 ]; }
kill_workers() {
    local pid
    for pid in $(workers); do kill -KILL "$pid"; done
}

# ---- an ordinary day ----
misbehaving=(--sandbox misbehaves)
expect "a command" 0 "*" "*" exec "${misbehaving[@]}" -- pid
for number in 8 10 12; do
    check "$number open files are too few for a worker" grep -q "raise the limit (ulimit -n)" \
        <<<"$(ulimit -n "$number" && "$SANDLOT" exec "${misbehaving[@]}" -- pid 2>&1)"
done
[ "$(id -u)" = 0 ] || # for root that limit does not hold
    check "one process is too few for a worker" grep -q "(ulimit -u)" \
        <<<"$(ulimit -u 1 && exec "$SANDLOT" exec "${misbehaving[@]}" -- pid 2>&1)"
lacks() { ! grep -q "$1" "$2"; }
for provider in misbehaves other; do
    run exec --sandbox "$provider" -- environ
    check "$provider: the declared variable is there" grep -qx "MISBEHAVES_KEY=\*\*\*\|MISBEHAVES_KEY=key-of-the-test" "$scratch/out"
    check "$provider: no other one is" lacks not-for-the-worker "$scratch/out"
done
run exec --sandbox inside -- environ
check "isolation = none: all variables are there" grep -q not-for-the-worker "$scratch/out"
cp "$config" "$scratch/config.toml"
printf '[sandboxes.providers.misbehaves]\nisolation = "none"\n' >>"$config"
run exec "${misbehaving[@]}" -- environ
check "an override for a plugin counts" grep -q not-for-the-worker "$scratch/out"
cp "$scratch/config.toml" "$config"

# What would bring other code into the process does not reach it, and a value of a file does.
LD_PRELOAD=libm.so.6 LD_AUDIT='' run exec "${misbehaving[@]}" -- environ
check "neither LD_PRELOAD nor LD_AUDIT" lacks "^LD_PRELOAD\|^LD_AUDIT" "$scratch/out"
http_proxy=http://me:not-for-the-worker@127.0.0.1:1 https_proxy=http://127.0.0.1:2 run exec "${misbehaving[@]}" -- environ
check "a proxy" grep -qx "https_proxy=http://127.0.0.1:2" "$scratch/out"
check "but none with a password" lacks not-for-the-worker "$scratch/out"
mkdir "$scratch/project"
echo "MISBEHAVES_REGION=from-a-file" >"$scratch/project/.env"
out=$(cd "$scratch/project" && env -u SANDLOT_NO_ENV_FILE "$SANDLOT" exec "${misbehaving[@]}" -- lookup 2>&1)
check "a .env file's value reaches it" test "$out" = "from-a-file -"
echo "MISBEHAVES_TIER=from-a-file" >>"$scratch/project/.env"
# wait_or_kill PID: its status, 137 for one that does not end
wait_or_kill() {
    until_true 10 eval "! kill -0 $1 2>/dev/null" || kill -KILL "$1"
    wait "$1"
}
in_project() { (cd "$scratch/project" && env -u SANDLOT_NO_ENV_FILE "$SANDLOT" exec --sandbox "$1" -- tier 2>&1); }
for provider in misbehaves inside; do
    check "$provider: a project sets only what the provider lets it set" test "$(in_project "$provider")" = "-"
done
echo "MISBEHAVES_TIER=of-the-user" >"$XDG_CONFIG_HOME/sandlot/.env"
check "the user's file may set the others" test "$(in_project misbehaves)" = "of-the-user"
rm "$XDG_CONFIG_HOME/sandlot/.env"

"$SANDLOT" exec "${misbehaving[@]}" -- deaf >/dev/null 2>&1 &
command=$!
check "a command runs" until_true 10 has_worker
tr '\0' '\n' <"/proc/$(workers | head -n 1)/environ" >"$scratch/environ"
check "its process has both names" test "$(grep -c "MISBEHAVES_KEY=key-of-the-test" "$scratch/environ")" = 2
check "and nothing of the host's" lacks not-for-the-worker "$scratch/environ"
kill -INT "$command"
wait "$command"
check "an interrupt ends one that ignores it" test $? = 130
"$SANDLOT" exec "${misbehaving[@]}" -- plug >"$scratch/plugged" 2>&1 &
command=$!
check "a provider plugs what it polls for its host" until_true 10 grep -q plugged "$scratch/plugged"
kill -INT "$command"
wait_or_kill "$command"
check "an interrupt ends that too" test $? = 130
check "no worker outlives its command" until_true 3 no_worker

# ---- what it takes ----
out=$("$BUILD/tests/local/without" pidfd_open -- "$SANDLOT" exec "${misbehaving[@]}" -- pid 2>&1)
check "without pidfd_open, that is the error" test "${out#*there is no pidfd_open(2) here}" != "$out"

# ---- crashes ----
for fault in crash abort exit quit overflow replace children daemon; do
    json "$fault: says so, and the host lives on" 3 '.error == "provider_crashed" and (.message | test("box-1 is still recorded"))' \
        exec "${misbehaving[@]}" -- "$fault"
done
json "a call that is a copy of the host's is told as one" 3 '.error == "provider_crashed" and (.message | contains("such as a copy"))' exec "${misbehaving[@]}" -- copy
json "a signal has its name" 3 '.message | test("the provider crashed \\(SIGABRT\\)")' exec "${misbehaving[@]}" -- abort
check "no worker is left" until_true 10 no_worker # the daemon ends by itself after 5 s
check "no record is left" no_ledger

# ---- a crash around the sandbox's life ----
journal=(--param "journal=$scratch/deletions")
json "a crash after the id was told" 3 '.error == "provider_crashed" and (.message | test("box-1"))' \
    create "${misbehaving[@]}" "${journal[@]}" --param at=create:crash
check "the sandbox has been deleted" grep -qx "delete box-1" "$scratch/deletions"
check "and its record too" no_ledger
rm -f "$scratch/deletions"
expect "a crash while it is deleted is told" 3 "*" "crashed" exec "${misbehaving[@]}" "${journal[@]}" --param at=delete:abort -- pid
check "the record stays" test -n "$(ledger_files)"
expect "gc" 0 "*" "*" gc
check "gc deletes it in the end" grep -qx "delete box-1" "$scratch/deletions"
check "and its record goes" no_ledger
json "a crash while it is loaded" 3 '.error == "provider_crashed"' exec "${misbehaving[@]}" --param at=open:abort -- pid
expect "a crash at the end spoils nothing" 0 "*" "*" exec "${misbehaving[@]}" --param at=destructor:crash -- pid
json "a crash in a list" 3 '.error == "provider_crashed"' list "${misbehaving[@]}" --param at=list:exit
json "a list of nothing" 3 '.error == "provider_error"' list "${misbehaving[@]}" --param at=list:nothing

# ---- kill -9 of the worker while a sandbox is made ----
"$SANDLOT" create --sandbox fake --param create_delay_ms=20000 >"$scratch/out" 2>"$scratch/err" &
command=$!
check "the vendor makes a sandbox" until_true 10 vendor_has_one
kill_workers
wait "$command"
check "the command fails" test $? != 0
check "it says why" grep -q "the provider crashed (SIGKILL)" "$scratch/err"
check "a new worker has found the sandbox by its label and deleted it" vendor_is_empty
check "and its record is gone" no_ledger

# ---- kill -9 of the host: the worker goes too, gc does the rest ----
"$SANDLOT" create --sandbox fake --param create_delay_ms=20000 >/dev/null 2>&1 &
command=$!
check "the vendor makes another one" until_true 10 vendor_has_one
kill -KILL "$command"
wait "$command" 2>/dev/null
check "the worker ends with its host" until_true 3 no_worker
check "the ledger knows the sandbox" test -n "$(ledger_files)"
expect "gc" 0 "*" "*" gc
check "gc has deleted it" vendor_is_empty
check "and its record" no_ledger

# ---- kill -9 of the worker in the middle of a command ----
: >"$scratch/journal"
: >"$scratch/goes-on"
"$SANDLOT" exec --sandbox fake --timeout 60 -- "while [ -e '$scratch/goes-on' ]; do sleep 0.1; done" >"$scratch/out" 2>"$scratch/err" &
command=$!
check "the command runs" until_true 10 grep -q "^execute" "$scratch/journal"
kill_workers
wait "$command"
code=$?
rm "$scratch/goes-on"
check "it fails" test "$code" != 0
check "it names the sandbox" grep -q "sandbox fake-.* is still recorded" "$scratch/err"
check "the session has deleted it all the same" vendor_is_empty

# ---- Ctrl-C is the host's ----
setsid "$SANDLOT" exec --sandbox fake -- 'sleep 20' >/dev/null 2>"$scratch/err" &
until_true 10 has_worker
sleep 0.3
kill -INT -- -$! 2>/dev/null || kill -INT $!
wait $!
status=$?
check "an interrupt ends the command as usual" test "$status" = 130
check "nothing of the vendor's is left" vendor_is_empty
check "no worker at all is left" until_true 3 no_worker
