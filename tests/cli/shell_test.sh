#!/bin/bash
# sandlot shell: a terminal in the sandbox, the user's own terminal around it, and every way in which it may end.
# shellcheck disable=SC1091,SC2016,SC2154 # lib.sh sets status, out, err and the folders; what is in single quotes is for the box
. "$(dirname "$0")/lib.sh"
need_local
in_terminal=$BUILD/tests/local/in_terminal
driver=$BUILD/tests/local/provider_driver
library=$BUILD/builtins/local.so
[ -x "$in_terminal" ] || { echo "not ok $in_terminal is not built; run make programs"; exit 1; }
export TERM=xterm
has() { grep -qaF -- "$1" <<<"$out"; }
lacks() { ! has "$1"; }
shows() { grep -qaE -- "$1" <<<"$out"; }

# play NAME STATUS STEP... -- ARGUMENT...: 'sandlot shell ARGUMENT...' in a terminal of its own, in which the user does the
# steps. The status must be that; in_terminal fails if the terminal is left in other modes than it was found in.
play() {
    local name=$1 want=$2 steps=()
    shift 2
    while [ "$1" != -- ]; do
        steps+=("$1")
        shift
    done
    shift
    ran="sandlot shell $*"
    timeout -k 5 90 "$in_terminal" "${steps[@]}" -- "${before[@]}" "$SANDLOT" shell "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    out=$(tr -d '\0\r' <"$scratch/out")
    err=$(cat "$scratch/err")
    check "$name" test "$status" = "$want"
}
before=()
enter=$'\n'
prompt='expect=$ '

# ---- without a terminal, without a provider that has one ----

usage "no terminal: said before anything is made" "must be a terminal.*sandlot exec" shell
usage "no JSON" "takes no --json" shell --json
usage "an empty command" "command is empty" shell -- ' '
cp "$BUILD/tests/plugins/fake.so" "$plugins/" || exit 2
mkdir "$scratch/vendor"
play "a provider without terminals" 1 -- --sandbox fake --param "folder=$scratch/vendor" --param "journal=$scratch/journal"
check "says so" shows 'fake: terminals are not supported.*sandlot exec'
check "and is not asked for a sandbox" test ! -e "$scratch/journal" -a -z "$(ls "$scratch/vendor")"
rm "$plugins/fake.so"

# ---- what a terminal is ----

play "a shell, and its status" 7 raw "$prompt" "type=echo TE''RM=\$TERM; echo HI''HI$enter" expect=HIHI "$prompt" \
    "type=exit 7$enter" --
check "says what becomes of the sandbox" shows 'this is sandbox box-[a-z0-9]+ \(local\); it is deleted when the shell ends'
check "knows which terminal it is" has TERM=xterm
nothing_left "and it is deleted"
play "quiet" 0 -- -q -- 'true'
check "has nothing to say" test -z "$out"
TERM='../../evil' play "a TERM that is no name" 0 -- -q -- 'echo "[$TERM]"'
check "becomes xterm" has '[xterm]'
play "options behind the command are its own" 0 -- -q echo --sandbox-id none
check "and reach it" has '--sandbox-id none'
play "a directory that is not there" 1 -- -q --cwd missing
check "is named" shows 'working directory /workspace/missing is not found'

play "facts" 3 -- -q --env TERM=vt220 --env 'A=b c' --cwd /tmp -- \
    'tty; stty size; echo "[$TERM][$A][$PWD]"; test -t 0 -a -t 1 -a -t 2 && echo three; echo mine >/dev/tty
     ls /proc/self/fd; cut -d" " -f 5,6,8 /proc/$$/stat; echo $$; exit 3'
check "tty" shows '^/dev/pts/[0-9]+$'
check "its size" has '24 80'
check "variables and directory" has '[vt220][b c][/tmp]'
check "three descriptors" has three
check "/dev/tty" has mine
check "and no others" has $'\n0\n1\n2\n3\n'
check "it leads session and foreground" bash -c '[ "$(sed -n "\$p" <<<"$1")" = "$(sed -n "\$p" <<<"$1" | cut -d" " -f1)" ] &&
    grep -qE "^([0-9]+) \1 \1$" <<<"$1"' - "$out"

play "the window changes" 0 raw "$prompt" size=50x132 "type=stty size$enter" 'expect=50 132' "$prompt" \
    "type=exit 0$enter" -- -q
play "and whoever runs hears of it" 0 expect=ready size=41x101 'expect=41 101' -- -q -- \
    'trap "stty size; exit 0" WINCH; echo ready; while :; do sleep 0.05; done'

# ---- keys ----

play "Ctrl-C interrupts what runs" 0 raw "$prompt" "type=sleep 1000; echo st''opped \$?$enter" wait=300 $'type=\003' "$prompt" \
    "type=echo go''es on \$?$enter" 'expect=goes on 130' "$prompt" $'type=\004' -- -q
play "Ctrl-Z and fg" 0 raw "$prompt" "type=sleep 1000$enter" wait=300 $'type=\032' expect=Stopped "$prompt" \
    "type=kill %1; fg$enter" expect=Terminated "$prompt" "type=exit 0$enter" -- -q
play "a byte of each kind arrives" 0 raw expect=ready $'type=\x11\x13\x1a\x1c\x7f\xff' expect=done -- -q -- \
    'stty raw -echo; printf ready; dd bs=1 count=6 2>/dev/null | od -An -tx1; printf done'
check "as it was typed" has '11 13 1a 1c 7f ff'
if command -v less >/dev/null; then
    play "a program with a screen" 0 size=30x100 expect=END type=r 'expect=~' expect=END type=q expect=after -- -q -- \
        'echo one | less; echo after'
    check "fills it" test "$(grep -ac '~' <<<"$out")" = 28
fi
if command -v perl >/dev/null; then
    play "nothing can be typed in the user's name" 0 -- -q -- \
        'perl -e '\''$key = "x"; print ioctl(STDIN, 0x5412, $key) ? "through" : "held: $!"'\'
    check "TIOCSTI is refused" has held:
fi

# ---- output ----

play "a megabyte" 0 -- -q -- 'head -c 1048576 /dev/zero | tr "\0" x; echo end'
check "arrives whole" test "$(tr -cd x <"$scratch/out" | wc -c)" = 1048576 -a "${out: -3}" = end
play "the last bytes are not lost" 0 -- -q -- 'seq 20000'
check "in twenty thousand lines" test "$(tr -d '\r' <"$scratch/out" | md5sum)" = "$(seq 20000 | md5sum)"
play "a background job does not hold it up" 0 -- -q -- '(trap "" HUP; sleep 1000) & echo left'
check "nor its output" has left

# ---- the end ----

nothing_left "so far nothing is left"
play "SIGTERM" 143 raw "$prompt" signal=15 --
nothing_left "SIGTERM: nothing stays"
play "SIGHUP" 129 raw "$prompt" "type=sleep 1000$enter" signal=1 --
nothing_left "SIGHUP: nothing stays"
play "the window is closed" 129 raw "$prompt" close --
nothing_left "closed: nothing stays"
play "a crash brings the terminal's modes back" 134 raw signal=6 -- -q
until_true 10 no_sandboxes
"$SANDLOT" -q gc >/dev/null
before=(sh -c 'trap "" HUP; exec "$@"' -)
play "closed, and SIGHUP is ignored" 129 raw "$prompt" "type=sleep 1000$enter" wait=300 close --
before=()
nothing_left "closed with nohup: nothing stays"

# ---- a sandbox that stays ----

sleepers='for file in /proc/[0-9]*/cmdline; do tr "\\0" " " <"$file"; echo; done 2>/dev/null | grep -c "^slee[p] 1000"'
sleepers_are() { [ "$("$SANDLOT" exec --sandbox-id "$id" -- "$sleepers")" = "$1" ]; }

id=$("$SANDLOT" create --param ttl_s=5)
play "in a sandbox that is there" 0 raw "$prompt" "type=nohup sleep 1000 >/dev/null 2>&1 &$enter" "$prompt" "type=exit 0$enter" -- \
    --sandbox-id "$id"
check "says that it stays" has 'it stays when the shell ends'
check "what ran in the background lives on" until_true 10 sleepers_are 1
play "an open terminal is a use of the sandbox" 0 raw "$prompt" wait=6500 "type=echo st''ill$enter" expect=still "$prompt" \
    "type=exit 0$enter" -- -q --sandbox-id "$id"
play "two terminals are two" 0 -- -q --sandbox-id "$id" -- 'tty'
"$SANDLOT" -q delete "$id" >/dev/null
play "a sandbox that is gone" 3 -- -q --sandbox-id "$id"

# ---- the provider's own limits ----

if [ -x "$driver" ]; then
    runtime=$(ldd "$library" | awk '$1 ~ /^libasan/ { print $3 }')
    id=$("$SANDLOT" create)
    drive() {
        # shellcheck disable=SC2034 # shown by lib.sh
        ran="provider_driver $*"
        timeout -k 5 20 env ${runtime:+LD_PRELOAD="$runtime" ASAN_OPTIONS=detect_leaks=0} "$driver" "$library" "$@" \
            >"$scratch/out" 2>"$scratch/err" <&"${keys:-0}"
        status=$?
        out=$(tr -d '\0\r' <"$scratch/out") err=$(cat "$scratch/err")
    }
    mkfifo "$scratch/keys" || exit 2
    exec {keys}<>"$scratch/keys" # nobody types, and it does not end
    drive timeout_ms=500 terminal "$id" 'echo begun; sleep 1000'
    check "a time limit ends it" test "$status $out $err" = "124 begun timed out"
    drive cancel_ms=500 terminal "$id" 'trap "" HUP TERM; echo begun; while :; do sleep 1000; done'
    check "a cancelled one ends" grep -q 'status 7' "$scratch/err"
    drive deadline_ms=500 terminal "$id" 'trap "" HUP TERM; echo begun; while :; do sleep 1000; done'
    check "so does one past its deadline" grep -q 'status 6' "$scratch/err"
    check "and leaves nothing" until_true 10 sleepers_are 0
    exec {keys}<&- {keys}< <(sleep 1)
    drive terminal "$id" 'trap "" HUP TERM; while :; do sleep 1000; done'
    check "what ignores the end of the input is killed" test "$status" = 137
    drive terminal "$id" ''
    check "a shell is hung up on" test "$status" = 129
    exec {keys}<&-
    "$SANDLOT" -q delete "$id" >/dev/null
fi

# ---- confinement landlock ----

run exec --param confinement=landlock -- true
if [ "$status" = 0 ]; then
    play "confinement landlock" 5 size=40x120 -- -q --param confinement=landlock -- \
        'tty; stty size; echo mine >/dev/tty; : </dev/ptmx || echo held; exit 5'
    check "has a terminal" shows '^/dev/pts/[0-9]+$'
    check "and /dev/tty" has mine
    check "but cannot make others" has held
    play "confinement landlock: keys" 0 raw "$prompt" "type=sleep 1000$enter" wait=300 $'type=\003' "$prompt" "type=exit 0$enter" -- \
        -q --param confinement=landlock
fi
nothing_left "nothing is left"
