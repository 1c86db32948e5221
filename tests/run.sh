#!/bin/bash
# Runs test programs and counts what they found.
#
#   tests/run.sh [-j LEAST] [-J MOST] [-r RESULTS] [-a MOST_ALONE] [-T FOLDER]
#       [[-b BUILD] [-t SECONDS] [-n LABEL] [-u UID] [-C TREE] [-S SLOW] [-e END] PROGRAM...]...
#
# Every program gets HOME, XDG_* and TMPDIR folders of its own, no standard input and a time limit; see tests/README.md for
# what it can rely on. Its output is kept in BUILD/test-logs and shown only if it failed. With -r the counts are added
# to the file RESULTS for the caller to sum up, and what failed to RESULTS.failures; without it the closing line is printed here.
#
# Options hold for the programs behind them, so that one call can run those of several builds side by side, and as somebody else:
# -u as the user UID, who owns the copy of the tree at TREE (-C); BUILD is below it then; -S is SANDLOT_TEST_SLOW. Programs start in the order given:
# LEAST (1) run in any case, and up to MOST (LEAST) while processors are idle, because most programs mostly wait.
#
# With -e no program begins any more from END on (seconds since 1970; "": it does), but is told as skipped: where a machine is slow, what
# comes last is left out instead of being cut off with all the rest.
#
# With -T the folders for TMPDIR are made in FOLDER, which everybody may pass, and not beside those for HOME ("": they are).
#
# With -a up to MOST_ALONE programs that failed run once more, each alone, when all others have ended. One that passes then counts as
# passed, and what had failed is added to RESULTS.unstable: it has a fault too, but no longer refuses what others have done.
set -u

least=1
most=
most_alone=0
seconds=180
label=
results=
build=build
uid=
temporaries=
end=
slow=${SANDLOT_TEST_SLOW:-}
source_tree=$(cd "$(dirname "$0")/.." && pwd) || exit 2
tree=$source_tree

scratch=$(mktemp -d /tmp/sandlot-check.XXXXXX) || exit 2
chmod 755 "$scratch"
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
cd "$source_tree" || exit 2

# count LOG STATUS: "passed failed skipped" of one program, from what cmocka or "ok"/"not ok" lines say, else from its status
count() {
    awk -v status="$2" '
        /^\[       OK \] /                        { passed++ }
        /^\[  FAILED  \] [0-9]+ test/             { failed += $4 }
        /^\[  SKIPPED \] [0-9]+ test/             { skipped += $4 }
        /^ok .*# SKIP/                            { skipped++; next }
        /^ok /                                    { passed++ }
        /^not ok /                                { failed++ }
        END {
            if (status == 77) { print 0, 0, 1; exit }
            if (status != 0 && failed == 0) failed = 1
            if (passed + failed + skipped == 0) passed = 1
            print passed + 0, failed + 0, skipped + 0
        }' "$1"
}

# isolated FOLDER PROGRAM...: runs PROGRAM as if on a machine where nobody has configured anything. Without intercept_tls_get_addr=0
# LeakSanitizer of gcc 12 takes thread-local memory of a loaded library for another glibc's, where it happens to lie 16 bytes
# behind a page's beginning, and crashes ("Tracer caught signal 11"). With handle_sigill what UndefinedBehaviorSanitizer
# ends is told with its line.
isolated() {
    local home=$1 temporary=${temporaries:+$temporaries/${1##*/}} user=() settings=() who name
    shift
    temporary=${temporary:-$home/tmp}
    mkdir -p "$home/home" "$home/config" "$home/data" "$home/state" "$home/cache" "$home/run" "$temporary" &&
        chmod 700 "$home/run" || return 1
    who=$(id -un 2>/dev/null || id -u)
    if [ -n "$uid" ]; then
        chown -R "$uid:$uid" "$home" "$temporary" || return 1
        user=(setpriv --reuid="$uid" --regid="$uid" --clear-groups)
        who=$uid
    fi
    for name in CI FUZZ_SECONDS FUZZ_SEED KILL9_ROUNDS FAULT_SECONDS FAULT_SEED BOXES LARGE_MIB BENCH_TURNS BENCH_VENDORS SANDLOT_TEST_KUBE_APISERVER; do
        [ -z "${!name:-}" ] || settings+=("$name=${!name}")
    done
    env -i PATH="$PATH" LANG=C.UTF-8 USER="$who" HOME="$home/home" XDG_CONFIG_HOME="$home/config" \
        XDG_DATA_HOME="$home/data" XDG_STATE_HOME="$home/state" XDG_CACHE_HOME="$home/cache" XDG_RUNTIME_DIR="$home/run" \
        TMPDIR="$temporary" SANDLOT_NO_ENV_FILE=1 BUILD="$BUILD" SANDLOT="$BUILD/sandlot" "${settings[@]}" ${slow:+SANDLOT_TEST_SLOW="$slow"} \
        ASAN_OPTIONS=abort_on_error=0:detect_stack_use_after_return=1:intercept_tls_get_addr=0:handle_sigill=1 "${user[@]}" "$@"
}

# failures LOG: what of the program failed, a line each, as far as it tells; else how it ended
failures() {
    grep -E '^(not ok |\[  ERROR   \]|\[  FAILED  \] [^0-9])' "$1" || tail -n 2 "$1"
}

# Where the kernel counts processor time by groups of processes (as root, cgroup version 1), what outlives its parent or is killed with a
# box is counted too, which `time` never sees: here that is half of it.
accounts=/sys/fs/cgroup/cpuacct$(sed -n 's/^[0-9]*:cpuacct://p' /proc/self/cgroup 2>/dev/null)

# open_account: this shell, and what it starts from now on, is counted in the new group $account
open_account() {
    account=
    [ -w "$accounts/tasks" ] && account=$(mktemp -d "$accounts/sandlot-check.XXXXXX" 2>/dev/null) && echo "$BASHPID" >"$account/tasks"
}

# close_account: sets $used (nanoseconds; empty: nobody has counted) and removes the group; who is still there goes back. What starts
# another program at that moment leaves that one behind, so it may take more than one round.
close_account() {
    local pid round
    used=
    [ -n "$account" ] || return 0
    read -r used <"$account/cpuacct.usage"
    for ((round = 0; round < 50; round++)); do
        while read -r pid; do echo "$pid" >"$accounts/tasks"; done <"$account/tasks" 2>/dev/null
        ! rmdir "$account" 2>/dev/null || return 0
        sleep 0.1
    done
    echo "$account could not be removed" >&2
}

# name_of PROGRAM: unit/text_test, cli/exec_test, install_test: the folder tells programs of one name apart
name_of() {
    local name
    name=$(realpath -m "${1%.sh}")
    name=${name#"$BUILD"/}
    name=${name#"$PWD"/}
    name=${name#tests/}
    case $1 in *.sh | /bin/*) ;; *) [ "$name" != "${name##*/}" ] || name=unit/$name ;; esac
    echo "$label$name"
}

# leave_out NUMBER PROGRAM: in the counts and in its line
leave_out() {
    cd "$tree" || exit 2
    printf '%8.1f s %7.1f s  %-44s SKIP: no time is left for what comes last\n' 0 0 "$(name_of "$2")"
    echo "0 0 1" >"$scratch/$1.counts"
}

# run_one NUMBER PROGRAM: runs it, writes its counts, prints one line: wall time, processor time, name, outcome
run_one() {
    local program=$2 name log status passed failed skipped word account used
    cd "$tree" || exit 2
    name=$(name_of "$program")
    log=$logs/${name//[ \/]/_}.log
    case $program in
        */*) ;;
        *) program=./$program ;;
    esac
    local start=("$program") TIMEFORMAT='%R %U %S'
    case $program in *.sh) start=(bash "$program") ;; esac
    open_account
    { time isolated "$scratch/$1" timeout -k 5 "$seconds" "${start[@]}" </dev/null >"$log" 2>&1; } 2>"$scratch/$1.time"
    status=$?
    close_account
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        echo "not ok $name: not done after $seconds s" >>"$log"
    fi
    read -r passed failed skipped <<<"$(count "$log" "$status")"
    word=ok
    [ "$skipped" = 0 ] || word="ok ($skipped skipped)"
    [ "$status" != 77 ] || word="SKIP: $(grep -v '^[[:space:]]*$' "$log" | tail -n 1)"
    [ "$failed" = 0 ] || word="FAILED (status $status), log: $log"
    {
        awk -v name="$name" -v word="$word" -v used="$used" '{ printf "%8.1f s %7.1f s  %-44s %s\n", $1, used == "" ? $2 + $3 : used / 1e9, name, word }' "$scratch/$1.time"
        [ "$failed" = 0 ] || sed 's/^/    | /' "$log" | tail -n 60
    } >"$scratch/$1.line"
    cat "$scratch/$1.line"
    if [ "$failed" != 0 ]; then
        failures "$log" | sed "s|^|$name: |" >"$scratch/$1.failures"
        declare -p program label BUILD logs uid tree slow seconds temporaries >"$scratch/$1.again"
    fi
    rm -rf "${scratch:?}/$1" "${temporaries:-$scratch}/$1"
    echo "$passed $failed $skipped" >"$scratch/$1.counts" # last: it says that the program has ended
}

# run_alone FILES: the program of FILES.again once more
run_alone() {
    local failed
    # shellcheck source=/dev/null
    . "$1.again"
    label="alone: $label"
    run_one "${1##*/}-alone" "$program"
    read -r _ failed _ <"$1-alone.counts"
    if [ "$failed" != 0 ]; then
        rm -f "$1-alone".{counts,failures}
        return
    fi
    [ -z "$results" ] || cat "$1.failures" >>"$results.unstable"
    rm -f "$1".{counts,failures}
}

# processor_times: total and idle time of all processors since the start, in ticks
processor_times() {
    local times value
    read -ra times </proc/stat
    total=0 idle=${times[4]}
    for value in "${times[@]:1:8}"; do total=$((total + value)); done
}

# room: whether one more may start now. What has just been started is given a moment to show how much it needs.
room() {
    local ended=("$scratch"/*.counts) running
    running=$((number - ${#ended[@]}))
    [ "$running" -ge "$least" ] || return 0
    [ "$running" -lt "$most" ] || return 1
    processor_times
    [ "$((total - total_before))" -ge $((25 * processors)) ] || return 1
    local spare=$((100 * (idle - idle_before) / (total - total_before)))
    total_before=$total idle_before=$idle
    [ "$spare" -ge 15 ]
}

late() { [ -n "$end" ] && [ "$EPOCHSECONDS" -ge "$end" ]; }

shopt -s nullglob
exec {never}<> <(:) # nothing comes from it: to wait for a moment without a process
number=0
processors=$(nproc)
processor_times
total_before=$total idle_before=$idle total_first=$total idle_first=$idle
while [ $# -gt 0 ]; do
    OPTIND=1
    while getopts a:b:e:j:J:t:n:r:T:u:C:S: option; do
        case $option in
            a) most_alone=$OPTARG ;;
            b) build=$OPTARG ;;
            e) end=$OPTARG ;;
            j) least=$OPTARG ;;
            J) most=$OPTARG ;;
            t) seconds=$OPTARG ;;
            n) label=$OPTARG ;;
            r) results=$OPTARG ;;
            T) temporaries=$OPTARG ;;
            u) uid=$OPTARG ;;
            C) tree=${OPTARG:-$source_tree} ;;
            S) slow=$OPTARG ;;
            *) exit 2 ;;
        esac
    done
    shift $((OPTIND - 1))
    most=${most:-$least}
    BUILD=$(cd "$tree" && cd "$build" && pwd) || exit 2
    logs=$BUILD/test-logs
    mkdir -p "$logs" || exit 2
    while [ $# -gt 0 ] && [[ $1 != -* ]]; do
        until late || room; do read -rt 0.1 <&"$never"; done
        number=$((number + 1))
        if late; then
            (leave_out "$number" "$1")
        else
            run_one "$number" "$1" {never}>&- &
        fi
        shift
    done
done
wait
processor_times
[ -z "$results" ] || [ "$total" = "$total_first" ] ||
    echo "processors: busy for $((100 - 100 * (idle - idle_first) / (total - total_first))) % of $SECONDS s"

again=("$scratch"/*.again)
if [ "${#again[@]}" -le "$most_alone" ]; then
    for one in "${again[@]}"; do run_alone "${one%.again}"; done
fi

cat "$scratch"/*.counts 2>/dev/null >"$scratch/all" || :
read -r passed failed skipped < <(awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }' "$scratch/all")
if [ -n "$results" ]; then
    echo "$passed $failed $skipped" >>"$results"
    cat "$scratch"/*.failures >>"$results.failures" 2>/dev/null
else
    echo "$passed passed, $failed failed, $skipped skipped"
fi
[ "$failed" = 0 ]
