#!/bin/bash
# The conformance kit against services that do not answer, answer too late, or refuse everything: what is left there.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh sets status, out, err and the folders, and uses them
umask 022 # or the libraries would be refused
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/plugin_check_lib.sh"

# ---- creations that were given up, listings that are of no use ----
# No answer came, but the service has made what was asked for: its label finds it.
for fault in keeps_abandoned keeps_late; do
    passes "a sandbox of a creation that was given up: $fault" --only lifecycle --param folder="$scratch/boxes" --param fault=$fault "$faulty"
    check "it is deleted: $fault" nothing_is_left
done
listing="leftovers: the vendor lists none of them any more"
fault "no listing: no word that nothing is left" "$listing" list_fails secrets
fault "a listing that hangs" "$listing" list_hangs secrets
fault "a listing in a circle" "$listing" circular secrets
fault "a listing without end" "lifecycle: a new sandbox is listed|lifecycle: its state is a word in lower case|lifecycle: the run label is listed|lifecycle: an unknown cursor|$listing" endless lifecycle

# ---- nothing can be made ----
# bails NAME CODE FAULT: one failure, and the end.
bails() {
    finds "$1" "lifecycle: a first sandbox" --report "$scratch/report.md" --param folder="$scratch/boxes" --param fault="$3" "$faulty"
    check "$1: it ends there" test "$(tail -1 "$scratch/tap" | cut -d ';' -f 1)" = "Bail out! No sandbox can be made ($2)"
    check "$1: as TAP" is_tap
    check "$1: the report says what was not run" grep -q '^| execute | not run: no sandbox can be made ' "$scratch/report.md"
}
bails "a wrong key" auth wrong_key
check "the advice names the variable" grep -q "advice: 'Correct CONFORMANCE_FAULTY_KEY, " "$scratch/tap"
bails "no network" network unreachable

# ---- interrupted ----
"$kit" --only execute --param folder="$scratch/boxes" "$faulty" >"$scratch/tap" 2>&1 &
pid=$!
until_true 10 grep -q 'time limit' "$scratch/tap"
kill -INT "$pid"
wait "$pid"
check "SIGINT ends it as it ends others" test $? = 130
check "its sandboxes are deleted" nothing_is_left
check "it says so" grep -qxF 'Bail out! It was interrupted; the sandboxes that it had made are deleted.' "$scratch/tap"
check "and what was asked for is not called passed" grep -q '^# result: interrupted' "$scratch/tap"

# interrupt SIGNALS...: while a service that does not answer any more has a sandbox. Sets status and the rest as kit.
interrupt() {
    "$kit" --only lifecycle --param folder="$scratch/boxes" --param fault=hangs "$faulty" >"$scratch/tap" 2>"$scratch/err" &
    pid=$!
    until_true 10 grep -q 'its id' "$scratch/tap"
    for signal; do
        kill "-$signal" "$pid"
        sleep 0.5
    done
    wait "$pid"
    status=$?
    out=$(cat "$scratch/tap")
    err=$(cat "$scratch/err")
}
interrupt INT
check "a service that hangs: the end comes" test "$status" = 130
check "it is not claimed that nothing is left" grep -qxF 'Bail out! It was interrupted, and sandboxes may be left; see above.' "$scratch/tap"
id=$(basename "$(find "$scratch/boxes" -mindepth 1 -type d)")
check "what is left is named" grep -q "^# left at the vendor, or it cannot be told: $id\$" "$scratch/tap"
again=$(sed -n 's/^# to try again: //p' "$scratch/tap")
folder=${again#XDG_STATE_HOME=}
folder=${folder%% *}
find "$folder" -type f -path '*ledger*' -exec sed -i 's/fault=hangs/fault=none/' {} +
check "and the command that deletes it does" sh -c "${again/ sandlot / $SANDLOT } >/dev/null"
check "so that nothing is left" test -z "$(ls -A "$scratch/boxes")"
rm -rf "$folder"
interrupt INT INT
check "a second signal ends it too" test "$status" = 130
check "and it does not claim more" grep -q '^Bail out! .* may be left' "$scratch/tap"
rm -rf "$(sed -n 's/^# to try again: XDG_STATE_HOME=\([^ ]*\) .*/\1/p' "$scratch/tap")" "$scratch/boxes"
mkdir "$scratch/boxes"
check "nothing is left at the end" nothing_is_left
