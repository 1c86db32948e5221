#!/bin/bash
# sandlot exec in the local sandbox: output, status, limits.
# shellcheck disable=SC1091,SC2154 # lib.sh sets status, out, err and the folders
. "$(dirname "$0")/lib.sh"
need_local

expect "output is exact" 0 "hello" "*" exec -- echo hello
check "the final newline is there" test "$(od -An -c "$scratch/out" | tr -d ' \n')" = 'hello\n'
expect "a single word is a command line" 0 "3" "*" exec 'echo a b c | wc -w'
expect "several words are quoted" 0 'a  b $HOME *' "*" exec -- echo 'a  b' '$HOME' '*'
expect "words after the first belong to the command" 0 "-la --json" "*" exec echo -la --json
expect "options before the command" 0 "x" "*" --sandbox local -q exec -- echo x
expect "exit code" 42 "" "*" exec -- sh -c 'exit 42'
expect "unknown command" 127 "*" "*" exec -- no-such-command
expect "killed by a signal" 137 "" "*" exec 'kill -9 $$'
expect "both streams in order" 0 "1
2
3
4" "*" exec 'echo 1; echo 2 >&2; echo 3; echo 4 >&2'
slowly() { # takes 1,000,000 bytes of standard input in twenty pieces
    for _ in {1..20}; do
        dd bs=50000 count=1 iflag=fullblock status=none
        sleep 0.02
    done
}
taken=$("$SANDLOT" -q exec 'head -c 1000000 /dev/zero' </dev/null | slowly | wc -c)
check "a slow reader gets all that was printed" test "$taken" = 1000000
expect "only standard error" 0 "problem" "*" exec 'echo problem >&2'
expect "no output" 0 "" "*" exec -- true
expect "quotes, dollar, backslash, newline" 0 "it's \"\$x\" \\n
next" "*" exec -- printf '%s' "it's \"\$x\" \\n
next"
expect "not ASCII" 0 "grüße €" "*" exec -- echo "grüße €"
expect "standard input is empty" 0 "" "*" exec -- cat
expect "commands start in the working directory" 0 "/workspace" "*" exec -- pwd
expect "relative --cwd" 0 "/workspace/below" "*" exec 'mkdir below && cd below && pwd'
expect "--cwd" 0 "/tmp" "*" exec --cwd /tmp -- pwd
expect "a --cwd that is missing is not a missing sandbox" 1 "" "/nowhere is not found" exec --cwd /nowhere -- pwd
expect "a command that begins with a dash" 9 "" "*" exec -- "-x 2>/dev/null; exit 9"
expect "--env" 0 "one two three" "*" exec --env A=one --env "B=two three" 'echo "$A $B"'
expect "-e is --env" 0 "one" "*" exec -e A=one 'echo "$A"'
expect "run is exec" 3 "x" "*" run 'echo x; exit 3'
expect "a time with units" 0 "x" "*" exec --timeout 1m30s -- echo x
expect "a time of the host's parameters too" 0 "x" "*" exec --param ttl_s=2h --param start_timeout_s=3m -- echo x
expect "--env with the last word" 0 "2" "*" exec --env A=1 --env A=2 'echo $A'

# ---- bytes ----
run exec 'printf "a\377\376\000b"'
check "bytes pass as they are" test "$(od -An -tx1 "$scratch/out" | tr -d ' \n')" = 61fffe0062
run exec 'head -c 2097152 /dev/zero | tr "\0" x'
check "2 MiB" test "$(wc -c <"$scratch/out")" = 2097152
run exec --timeout 30 'yes | head -c 20000000'
check "20 MB stream through" test "$(wc -c <"$scratch/out")" = 20000000
printf 'from the caller\n' | "$SANDLOT" exec --stdin -- cat >"$scratch/out"
check "--stdin" test "$(cat "$scratch/out")" = "from the caller"
check "--stdin that cannot be read is no fault of the provider" test "$("$SANDLOT" exec --stdin -- cat 2>&1 </ | head -n 1)" = "sandlot: the command's input cannot be read: Is a directory"
head -c 3000000 /dev/urandom >"$scratch/random"
"$SANDLOT" exec --stdin -- cat <"$scratch/random" >"$scratch/out"
check "--stdin with 3 MB" cmp -s "$scratch/random" "$scratch/out"
long=$(head -c 120000 /dev/zero | tr '\0' x)
expect "a command of 120 kB" 0 "120001" "*" exec "echo $long | wc -c"

# ---- time ----
# What must not be waited for sleeps longer than the limit that lib.sh has for each run.
expect "time limit" 124 "*" "*" exec --timeout 3 'echo before; sleep 3000'
check "what was printed is there" test "$(head -n 1 "$scratch/out")" = before
check "a line says that it timed out" grep -qi "timed out" "$scratch/out"
expect "a command that ignores SIGTERM is ended all the same" 124 "*" "*" exec --timeout 1 'trap "" TERM; echo x; sleep 3000; sleep 3000'
expect "no limit" 0 "x" "*" exec --timeout 0 -- echo x
expect "a background child holds nothing up" 0 "done" "*" exec 'sleep 3000 & echo done'

# ---- output that cannot be written ----
run_to() { "$SANDLOT" exec -- echo x >"$1" 2>"$scratch/err"; }
run_to /dev/full
status=$?
check "full disk: status 1" test "$status" = 1
check "full disk: says so" grep -q "No space left" "$scratch/err"
(ulimit -f 64 && exec "$SANDLOT" exec -- head -c 3000000 /dev/zero >"$scratch/limited" 2>"$scratch/err")
status=$?
check "a file that may not grow: status 1, says so" test "$status$(grep -c "File too large" "$scratch/err")" = 11
check "and no sandbox stays" test "$("$SANDLOT" list --json | jq -c .sandboxes)" = "[]"
"$SANDLOT" exec -- echo x >&- 2>"$scratch/err"
status=$?
check "closed standard output: status 1" test "$status" = 1
"$SANDLOT" providers >/dev/full 2>"$scratch/err"
status=$?
check "providers to a full disk: status 1" test "$status" = 1
id=$("$SANDLOT" -q create)
input=$scratch/limited expect "a file" 0 "*" "*" -q write --sandbox-id "$id" kept
size=$("$SANDLOT" -q exec --sandbox-id "$id" -- 'wc -c <kept')
"$SANDLOT" -q write --sandbox-id "$id" kept <&- 2>"$scratch/err"
status=$?
check "closed standard input: status 2" test "$status" = 2
check "says so" grep -q "standard input cannot be read" "$scratch/err"
expect "and the file keeps what it had" 0 "$size" "*" -q exec --sandbox-id "$id" -- 'wc -c <kept'
"$SANDLOT" -q delete "$id" >/dev/null
# The limit is that of whoever starts the keeper, which is another one for another state.
mkdir -m 700 "$scratch/limited-files"
out=$(ulimit -n 96 && XDG_STATE_HOME=$scratch/limited-files "$SANDLOT" -q exec -- echo few 2>&1)
check "96 open files are enough" test "$out" = few
mkdir -m 700 "$scratch/limited-time"
out=$(ulimit -S -t 600 -f 4096 && XDG_STATE_HOME=$scratch/limited-time "$SANDLOT" -q exec -- \
    'ulimit -t; head -c 5000000 /dev/zero >file; wc -c <file' 2>&1)
check "time and files of a sandbox have no limit of the program that made it" test "$out" = $'unlimited\n5000000'
timeout "$LIMIT" "$SANDLOT" exec -- yes | head -n 1 >"$scratch/out"
status=${PIPESTATUS[0]}
check "reader goes away: 141" test "$status" = 141

# ---- a live sandbox ----
id=$("$SANDLOT" create)
expect "files stay between commands" 0 "" "*" exec --sandbox-id "$id" 'echo kept >file'
expect "and are there" 0 "kept" "*" exec --sandbox-id "$id" -- cat file
run exec --sandbox-id "$id" 'cd /tmp; export A=1'
expect "each command starts anew" 0 "/workspace -" "*" exec --sandbox-id "$id" 'echo "$PWD ${A:--}"'
expect "timed out in a live sandbox" 124 "*" "*" exec --sandbox-id "$id" --timeout 1 'sleep 100 & sleep 100'
expect "the next command works" 0 "0" "*" exec --sandbox-id "$id" 'ps -e 2>/dev/null | grep -c "[s]leep 100" || [ $? = 1 ]'
run delete "$id"
expect "unknown id" 3 "" "." exec --sandbox-id no-such-sandbox -- true
nothing_left "nothing is left"

# ---- where a sandbox cannot be had, the reason is the true one ----
check "too few for a box" grep -q "only 30 files may be open.*raise the limit (ulimit -n)" \
    <<<"$(ulimit -n 30 && XDG_STATE_HOME=$scratch/fewer "$SANDLOT" exec --sandbox local -- true 2>&1)"
check "folders of the state can be used whatever the umask" test \
    "$(umask 0777 && XDG_STATE_HOME=$scratch/masked "$SANDLOT" -q exec -- echo one 2>&1; stat -c %a "$scratch/masked/sandlot/local")" = "$(printf 'one\n700')"
check "too few descriptors for the keeper" grep -q "raise the limit (ulimit -n)" \
    <<<"$(ulimit -n 8 && XDG_STATE_HOME=$scratch/few "$SANDLOT" exec --sandbox local -- true 2>&1)"
[ "$(id -u)" = 0 ] || # for root that limit does not hold
    check "too few processes for the keeper" grep -q "(ulimit -u)" \
        <<<"$(ulimit -u 1 && XDG_STATE_HOME=$scratch/few exec "$SANDLOT" exec --sandbox local -- true 2>&1)"
[ "$(id -u)" != 0 ] ||
    check "root of a container with few users" grep -q "run Sandlot as another user than root here" \
        <<<"$(unshare -Ur env XDG_STATE_HOME="$scratch/few" "$SANDLOT" exec --sandbox local -- true 2>&1)"
[ "$(id -u)" = 0 ] ||
    check "in a user namespace that lacks root" grep -q "uid 65534, as which a user namespace shows those that it lacks" \
        <<<"$(unshare -Ur "$SANDLOT" exec --sandbox local -- true 2>&1)"
[ "$(id -u)" != 0 ] ||
    check "without /proc" grep -q "there is no /proc here" \
        <<<"$(unshare -m sh -c 'umount -l /proc && exec "$@"' sh "$SANDLOT" exec --sandbox local -- true 2>&1)"
mkdir -p "$scratch"/over/{lower,upper,work,merged,folder}
# shellcheck disable=SC2016
[ "$(id -u)" != 0 ] ||
    check "a state folder in the overlay of a container, where no workspace can be" grep -q "not another overlay); set XDG_STATE_HOME" \
        <<<"$(unshare -m sh -c 'cd "$1" && shift && mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none merged &&
            XDG_STATE_HOME=$PWD/merged exec "$@"' sh "$scratch/over" "$(realpath "$SANDLOT")" exec --sandbox local --param workspace=folder -- true 2>&1)"
(umask 077 && mkdir -p "$scratch"/locked/sandlot/local)
mkdir "$scratch/locked/sandlot/local/keeper.lock"
check "no lock for the keeper" grep -q "keeper.lock .*cannot be opened: Is a directory" \
    <<<"$(XDG_STATE_HOME=$scratch/locked "$SANDLOT" exec --sandbox local -- true 2>&1)"
check "no state folder can be made" grep -qE "/sys/none/.*: (Operation not permitted|Permission denied|Read-only file system)" \
    <<<"$(XDG_STATE_HOME=/sys/none "$SANDLOT" list 2>&1)"
