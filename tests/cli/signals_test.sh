#!/bin/bash
# SIGINT, SIGTERM and SIGHUP in every phase: the status is 128+n, and nothing stays that was not meant to.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh sets status, out, err and the folders
. "$(dirname "$0")/lib.sh"
cp "$BUILD/tests/plugins/fake.so" "$plugins/" || exit 2
vendor=$scratch/vendor
journal=$scratch/journal
mkdir "$vendor"
fake=(--sandbox fake --param "folder=$vendor" --param "journal=$journal")
numbers=([1]=HUP [2]=INT [15]=TERM)

# start ARGUMENT...: the command in the background; its pid is in $pid. Job control off: the shell lets it ignore SIGINT.
start() { start_into "$scratch/out" "$@"; }
# start_into FILE ARGUMENT...: the same with another file than $scratch/out
start_into() {
    ran="sandlot ${*:2}"
    "$SANDLOT" "${@:2}" >"$1" 2>"$scratch/err" </dev/null &
    pid=$!
    # Until then it is a copy of this shell.
    until [ "$(readlink "/proc/$pid/exe")" != "$(readlink "/proc/$$/exe")" ]; do :; done
}

# ended NAME STATUS: waits for it, 15 seconds at most
ended() {
    if ! until_true 15 gone "$pid"; then
        kill -KILL "$pid"
        wait "$pid" 2>/dev/null
        not_ok "$1" "it did not end"
        return
    fi
    wait "$pid"
    status=$?
    out=$(cat "$scratch/out") err=$(cat "$scratch/err")
    check "$1" test "$status" = "$2"
}
gone() { [ ! -e "/proc/$1" ] || [ "$(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null)" = Z ]; }
journal_has() { grep -q "$1" "$journal" 2>/dev/null; }
vendor_empty() { [ -z "$(ls "$vendor")" ]; }
all_gone() {
    check "$1: the vendor has nothing" vendor_empty
    check "$1: the ledger has nothing" no_ledger
}

for number in "${!numbers[@]}"; do
    signal=${numbers[number]}

    rm -f "$journal"
    start exec "${fake[@]}" --param create_delay_ms=20000 -- echo never
    until_true 10 journal_has ^create
    kill "-$signal" "$pid"
    ended "$signal while it is created" $((128 + number))
    check "$signal while it is created: no output" test -z "$out"
    all_gone "$signal while it is created"

    rm -f "$journal"
    start create "${fake[@]}" --param create_delay_ms=20000
    until_true 10 journal_has ^create
    kill "-$signal" "$pid"
    ended "$signal during create" $((128 + number))
    check "$signal during create: no id" test -z "$out"
    all_gone "$signal during create"

    rm -f "$journal"
    start exec "${fake[@]}" --param ready_after=1000 -- echo never
    until_true 10 journal_has ^ready
    kill "-$signal" "$pid"
    ended "$signal while it starts" $((128 + number))
    all_gone "$signal while it starts"

    rm -f "$journal"
    echo "sleep 60 # $scratch" >"$scratch/setup.sh"
    start exec "${fake[@]}" --sandbox-setup "$scratch/setup.sh" -- echo never
    until_true 10 journal_has ^execute
    kill "-$signal" "$pid"
    ended "$signal during the setup script" $((128 + number))
    all_gone "$signal during the setup script"
    check "$signal during the setup script: it is not left in the sandbox's temporary folder" \
        test -z "$(grep -lsF "$scratch" /tmp/sandlot-setup.*/setup)"

    rm -f "$journal"
    start exec "${fake[@]}" -- sh -c 'echo begun; sleep 61'
    until_true 10 grep -q begun "$scratch/out"
    kill "-$signal" "$pid"
    ended "$signal during the command" $((128 + number))
    check "$signal during the command: what was printed is there" test "$out" = begun
    all_gone "$signal during the command"

    rm -f "$journal"
    start --json exec "${fake[@]}" -- sh -c 'echo begun; sleep 62'
    until_true 10 journal_has ^execute
    kill "-$signal" "$pid"
    ended "$signal with --json" $((128 + number))
    all_gone "$signal with --json"

    rm -f "$journal" "$scratch/pipe"
    mkfifo "$scratch/pipe"
    cat "$scratch/pipe" >"$scratch/read" &
    reader=$!
    start_into "$scratch/pipe" --json exec "${fake[@]}" -- sh -c 'echo begun; sleep 62'
    until_true 10 journal_has ^execute
    kill "-$signal" "$pid"
    ended "$signal with --json and a reader" $((128 + number))
    wait "$reader"
    check "$signal with --json: a reader is told" grep -q '^{"error":"cancelled","message":"fake: ' "$scratch/read"
    check "$signal with --json: so are people" grep -q '^sandlot: fake: ' "$scratch/err"
    all_gone "$signal with --json and a reader"

    id=$("$SANDLOT" create "${fake[@]}")
    rm -f "$journal"
    start exec "${fake[@]}" --sandbox-id "$id" -- sh -c 'echo begun; sleep 63'
    until_true 10 grep -q begun "$scratch/out"
    kill "-$signal" "$pid"
    ended "$signal in a sandbox that was attached to" $((128 + number))
    check "$signal: the attached sandbox stays" test -d "$vendor/$id"
    run delete "${fake[@]}" "$id"

    rm -f "$journal"
    start exec "${fake[@]}" --scope key -- sh -c 'echo begun; sleep 64'
    until_true 10 grep -q begun "$scratch/out"
    kill "-$signal" "$pid"
    ended "$signal in a scope" $((128 + number))
    run list "${fake[@]}" --json
    check "$signal: the scope's sandbox stays" test "$(jq '.sandboxes | length' <<<"$out")" = 1
    run delete "${fake[@]}" "$(jq -r '.sandboxes[0].id' <<<"$out")"
done

# ---- two signals at once are one: what is stopped gets them together ----
rm -f "$journal"
start exec "${fake[@]}" --param delete_failures=2 -- sh -c 'echo begun; sleep 66'
until_true 10 grep -q begun "$scratch/out"
kill -STOP "$pid"
kill -INT "$pid"
kill -TERM "$pid"
kill -CONT "$pid"
ended "two signals at once" 130
rm -f "$vendor/.failed_deletes"
all_gone "two signals at once"

# ---- a second signal while the deleting takes long ----
rm -f "$journal"
start exec "${fake[@]}" --param delete_failures=1000 -- sh -c 'echo begun; sleep 65'
until_true 10 grep -q begun "$scratch/out"
kill -TERM "$pid"
until_true 10 journal_has ^delete
sleep 1.1 # less would be the same signal
kill -TERM "$pid"
ended "a second signal" 143
id=$(ls "$vendor")
check "the sandbox that remains is named" grep -qF "$id" "$scratch/err"
check "with the command that deletes it" grep -q "sandlot delete .*--sandbox fake" "$scratch/err"
echo 1000 >"$vendor/.failed_deletes" # the record has the parameters of that run: let its failures be over
printf '[sandboxes.providers.fake.params]\nfolder = "%s"\n' "$vendor" >"$config"
expect "gc deletes it" 0 "fake $id" "*" gc
rm -f "$vendor/.failed_deletes"
all_gone "after gc"

# ---- a second signal while it is asked whether a sandbox was made ----
rm -f "$journal"
start -v exec "${fake[@]}" --param create_delay_ms=600000 --param list_delay_ms=600000 -- echo never
until_true 10 journal_has ^create
kill -INT "$pid"
until_true 10 journal_has ^list
sleep 1.1
kill -INT "$pid"
ended "a second signal while it is looked up" 130
check "what was going on was told" grep -q "asking whether a sandbox was created" "$scratch/err"
check "and who knows the rest" grep -q "sandlot gc" "$scratch/err"
sed -i 's/list_delay_ms=600000/list_delay_ms=0/' "$(ledger_files)"
expect "gc finds it" 0 "fake $(ls "$vendor")" "*" gc
all_gone "after that gc"

# ---- a signal while it deletes on its own ----
rm -f "$journal"
start exec "${fake[@]}" --param delete_failures=2 -- true
until_true 10 journal_has ^delete
kill -INT "$pid"
ended "INT while it deletes" 130
rm -f "$vendor/.failed_deletes"
all_gone "INT while it deletes"

# ---- nohup ----
(
    trap '' HUP
    exec "$SANDLOT" exec "${fake[@]}" -- sh -c 'echo begun; sleep 2; echo over'
) >"$scratch/out" 2>"$scratch/err" </dev/null &
pid=$!
until_true 10 grep -q begun "$scratch/out"
kill -HUP "$pid"
ended "nohup keeps SIGHUP away" 0
check "and the command ends as it would" grep -q over "$scratch/out"
all_gone "after nohup"

# ---- the local sandbox ----
rm -f "$config"
need_local
for number in "${!numbers[@]}"; do
    start exec 'echo begun; sleep 71 & trap "" TERM INT HUP; sleep 72; sleep 73'
    until_true 10 grep -q begun "$scratch/out"
    kill "-${numbers[number]}" "$pid"
    ended "local: ${numbers[number]} during the command" $((128 + number))
    nothing_left "local: nothing is left"
done
for round in 1 2 3 4 5 6 7 8 9 10; do
    start create
    sleep "0.00$round"
    kill -TERM "$pid" 2>/dev/null # it may be done already
    wait "$pid"
    status=$?
    id=$(cat "$scratch/out")
    if [ "$status" = 0 ]; then
        check "local: create that was done before the signal ($round)" test -n "$id"
        run delete "$id"
    else
        check "local: create that was interrupted ($round)" test "$status$id" = 143
    fi
done
"$SANDLOT" -q gc >/dev/null 2>&1 </dev/null # a list does not settle what became of a request that was cut off
nothing_left "local: nothing is left of create"
