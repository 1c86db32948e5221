#!/bin/bash
# Runs test programs and counts what they found.
#
#   tests/run.sh -b BUILD [-j JOBS] [-t SECONDS] [-n LABEL] [-r RESULTS] PROGRAM...
#
# Every program gets HOME, XDG_* and TMPDIR folders of its own, no standard input and a time limit; see tests/README.md for
# what it can rely on. Its output is kept in BUILD/test-logs and shown only if it failed. With -r the counts are added
# to the file RESULTS for the caller to sum up, and what failed to RESULTS.failures; without it the closing line is printed here.
set -u

jobs=1
seconds=180
label=
results=
build=build
while getopts b:j:t:n:r: option; do
    case $option in
        b) build=$OPTARG ;;
        j) jobs=$OPTARG ;;
        t) seconds=$OPTARG ;;
        n) label=$OPTARG ;;
        r) results=$OPTARG ;;
        *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))

cd "$(dirname "$0")/.." || exit 2
mkdir -p "$build/test-logs" || exit 2
BUILD=$(cd "$build" && pwd)
export BUILD SANDLOT="$BUILD/sandlot"
scratch=$(mktemp -d /tmp/sandlot-check.XXXXXX) || exit 2
chmod 755 "$scratch"
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

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

# environment FOLDER PROGRAM...: runs PROGRAM as if on a machine where nobody has configured anything
isolated() {
    local home=$1
    shift
    mkdir -p "$home/home" "$home/config" "$home/data" "$home/state" "$home/cache" "$home/run" "$home/tmp" &&
        chmod 700 "$home/run" || return 1
    env -i PATH="$PATH" LANG=C.UTF-8 USER="$(id -un 2>/dev/null || id -u)" HOME="$home/home" XDG_CONFIG_HOME="$home/config" \
        XDG_DATA_HOME="$home/data" XDG_STATE_HOME="$home/state" XDG_CACHE_HOME="$home/cache" XDG_RUNTIME_DIR="$home/run" \
        TMPDIR="$home/tmp" SANDLOT_NO_ENV_FILE=1 BUILD="$BUILD" SANDLOT="$SANDLOT" ${CI:+CI="$CI"} \
        ${FUZZ_SECONDS:+FUZZ_SECONDS="$FUZZ_SECONDS"} ${FUZZ_SEED:+FUZZ_SEED="$FUZZ_SEED"} \
        ${KILL9_ROUNDS:+KILL9_ROUNDS="$KILL9_ROUNDS"} \
        ${SANDLOT_TEST_SLOW:+SANDLOT_TEST_SLOW="$SANDLOT_TEST_SLOW"} \
        ASAN_OPTIONS=abort_on_error=0:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 "$@"
}

# failures LOG: what of the program failed, a line each, as far as it tells; else how it ended
failures() {
    grep -E '^(not ok |\[  ERROR   \]|\[  FAILED  \] [^0-9])' "$1" || tail -n 2 "$1"
}

# run_one NUMBER PROGRAM: runs it, writes its counts, prints one line
run_one() {
    local program=$2 name log status began passed failed skipped word took
    # unit/text_test, cli/exec_test, install_test: the folder tells programs of one name apart
    name=$(realpath -m "${program%.sh}")
    name=${name#"$BUILD"/}
    name=${name#"$PWD"/}
    name=${name#tests/}
    case $program in *.sh | /bin/*) ;; *) [ "$name" != "${name##*/}" ] || name=unit/$name ;; esac
    name=$label$name
    log=$BUILD/test-logs/${name//[ \/]/_}.log
    began=${EPOCHREALTIME/[.,]/}
    case $program in
        */*) ;;
        *) program=./$program ;;
    esac
    local start=("$program")
    case $program in *.sh) start=(bash "$program") ;; esac
    isolated "$scratch/$1" timeout -k 5 "$seconds" "${start[@]}" </dev/null >"$log" 2>&1
    status=$?
    took=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        echo "not ok $name: not done after $seconds s" >>"$log"
    fi
    read -r passed failed skipped <<<"$(count "$log" "$status")"
    echo "$passed $failed $skipped" >"$scratch/$1.counts"
    word=ok
    [ "$skipped" = 0 ] || word="ok ($skipped skipped)"
    [ "$status" != 77 ] || word="SKIP: $(grep -v '^[[:space:]]*$' "$log" | tail -n 1)"
    [ "$failed" = 0 ] || word="FAILED (status $status), log: $log"
    {
        printf '%6d.%03d s  %-44s %s\n' $((took / 1000)) $((took % 1000)) "$name" "$word"
        [ "$failed" = 0 ] || sed 's/^/    | /' "$log" | tail -n 60
    } >"$scratch/$1.line"
    cat "$scratch/$1.line"
    [ "$failed" = 0 ] || failures "$log" | sed "s|^|$name: |" >"$scratch/$1.failures"
    rm -rf "${scratch:?}/$1"
}

number=0
running=0
for program in "$@"; do
    number=$((number + 1))
    if [ "$running" -ge "$jobs" ]; then
        wait -n
        running=$((running - 1))
    fi
    run_one "$number" "$program" &
    running=$((running + 1))
done
wait

cat "$scratch"/*.counts 2>/dev/null >"$scratch/all" || :
read -r passed failed skipped < <(awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }' "$scratch/all")
if [ -n "$results" ]; then
    echo "$passed $failed $skipped" >>"$results"
    cat "$scratch"/*.failures >>"$results.failures" 2>/dev/null
else
    echo "$passed passed, $failed failed, $skipped skipped"
fi
[ "$failed" = 0 ]
