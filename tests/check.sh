#!/bin/bash
# All tests, in turn; at the end what failed, a line each, and one closing line for them all.
#
#   tests/check.sh [--all] BUILD
#
# BUILD holds the normal build and the test programs, BUILD/sanitize the same with sanitizers. --all adds what says the same in
# another way or as somebody else, all faults of all vendors, fuzzing, valgrind, two hundred rounds of kill -9, and the benchmark.
set -u

all=false
if [ "${1:-}" = --all ]; then
    all=true
    shift
    export SANDLOT_TEST_SLOW=1 KILL9_ROUNDS=${KILL9_ROUNDS:-200}
fi
cd "$(dirname "$0")/.." || exit 2
BUILD=$(cd "${1:-build}" && pwd) || exit 2
jobs=$(nproc)
[ "$jobs" -le 4 ] || jobs=4

results=$BUILD/test-logs/results
mkdir -p "$BUILD/test-logs" || exit 2
: >"$results"
: >"$results.failures"
clone=
trap '[ -z "$clone" ] || rm -rf "$clone"' EXIT
trap 'exit 130' INT TERM

shopt -s nullglob
# What --all alone runs: the same rows on further routes, and once more what a second pass says little about.
again='operations/(text|routes_agree|in_process|worker)_test'
once="$again|operations/busybox|cli/plugin_check|plugin_project|examples_test|abi_test"
leave() { # PATTERN: without what it matches, unless all is wanted
    if $all; then cat; else grep -vE "$1"; fi
}
black_box() { # the black-box tests of the build $1
    printf '%s\n' tests/operations/*_test.sh tests/local/*_test.sh tests/mcp/*_test.sh tests/cli/*_test.sh # the longest first
    local source
    for source in tests/local/*_test.c; do
        source=${source##*/}
        echo "$1/tests/local/${source%.c}"
    done
}
# black_box_run LABEL BUILD RESULTS PATTERN: all that do not match, side by side but for those that look at the whole machine
black_box_run() {
    local programs alone
    mapfile -t programs < <({ black_box "$2" && printf '%s\n' tests/install_test.sh tests/plugin_project_test.sh \
        tests/examples_test.sh tests/abi/abi_test.sh tests/demo/run.sh; } | grep -v kill9 | leave "$4")
    mapfile -t alone < <(black_box "$2" | grep kill9)
    tests/run.sh -b "$2" -j "$jobs" -t 600 -n "$1" -r "$3" "${programs[@]}"
    tests/run.sh -b "$2" -t 900 -n "$1" -r "$3" "${alone[@]}"
}
# vendors_run LABEL BUILD RESULTS: the cloud providers; all of their faults only in the first pass of --all. They wait most of their
# time, for services that hang. What is one vendor's own, and no row of the tables that all must pass, is for --all.
vendors_run() {
    local programs
    mapfile -t programs < <(printf '%s\n' tests/vendors/*/*_test.sh | leave '(ways|own)_test')
    tests/run.sh -b "$2" -j "$((jobs + 1))" -t 1200 -n "$1" -r "$3" "${programs[@]}"
}
unit() { # the unit tests of the build $1
    local source
    for source in tests/unit/*_test.c; do
        source=${source##*/}
        echo "$1/tests/${source%.c}"
    done
}
stage() { printf '\n== %s\n' "$1"; }

stage "unit tests"
mapfile -t programs < <(unit "$BUILD")
tests/run.sh -b "$BUILD" -j "$jobs" -r "$results" "${programs[@]}"

stage "black-box tests as $(id -un)"
black_box_run "" "$BUILD" "$results" "$again"
vendors_run "" "$BUILD" "$results"

if [ "$(id -u)" = 0 ]; then
    stage "black-box tests as an ordinary user"
    # Somebody whom the machine does not know, in a tree of their own: the clone may lie below a folder that they cannot pass.
    uid=61777
    while getent passwd "$uid" >/dev/null || getent group "$uid" >/dev/null; do uid=$((uid + 1)); done
    clone=$(mktemp -d /tmp/sandlot-clone.XXXXXX) || exit 2
    tar -cf - Makefile README.md core plugins sdk include tests config docs .clang-* | tar -xf - -C "$clone"
    mkdir "$clone/build"
    tar -C "$BUILD" -cf - --exclude=./sanitize --exclude=./fuzz --exclude=./test-logs . | tar -xf - -C "$clone/build"
    chown -R "$uid:$uid" "$clone"
    chmod 755 "$clone"
    : >"$clone/results"
    : >"$clone/results.failures"
    chown "$uid" "$clone/results" "$clone/results.failures"
    export -f black_box black_box_run vendors_run leave
    (
        cd "$clone" || exit 2
        # shellcheck disable=SC2016 # for the other shell
        all=$all jobs=$jobs once=$once exec setpriv --reuid="$uid" --regid="$uid" --clear-groups \
            bash -O nullglob -c 'black_box_run "user " build results "$once"
                ! $all || SANDLOT_TEST_SLOW="" vendors_run "user " build results'
    )
    [ -s "$clone/results" ] || echo "0 1 0" >"$clone/results" # the runner itself must have failed
    cat "$clone/results" >>"$results"
    cat "$clone/results.failures" >>"$results.failures"
    cp "$clone"/build/test-logs/* "$BUILD/test-logs/" 2>/dev/null
else
    stage "the second pass needs root: run make check as root to have the tests run as root and as an ordinary user"
fi

stage "with sanitizers"
# Without those that only look at the keeper and the inside of boxes, where no AddressSanitizer is (see the Makefile), and
# without the one that puts an allocator of its own in the sanitizer's place; nor twice what differs only in the sandbox's own tools.
mapfile -t programs < <({ unit "$BUILD/sanitize" && black_box "$BUILD/sanitize"; } |
    grep -v "kill9\|attack\|allocation\|busybox\|routes_agree" | leave "$once|operations/gnu")
tests/run.sh -b "$BUILD/sanitize" -j "$jobs" -t 600 -n "sanitize " -r "$results" "${programs[@]}"
! $all || SANDLOT_TEST_SLOW="" vendors_run "sanitize " "$BUILD/sanitize" "$results"

stage "lint"
mapfile -t programs < <(printf '%s\n' tests/lint/*.sh | leave 'clang_tidy') # minutes, for what the compilers mostly say too
tests/run.sh -b "$BUILD" -j "$jobs" -t 900 -r "$results" "${programs[@]}"

if $all; then
    stage "fuzzing and valgrind"
    tests/run.sh -b "$BUILD" -j "$jobs" -t 1200 -r "$results" tests/fuzz/run.sh tests/valgrind.sh
    stage "benchmark"
    tests/run.sh -b "$BUILD" -t 1800 -r "$results" tests/bench/bench.sh
    cat "$BUILD/test-logs/bench_bench.log"
fi

if [ -s "$results.failures" ]; then
    stage "what failed"
    cut -c 1-300 "$results.failures" | head -n 100
fi
read -r passed failed skipped < <(awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }' "$results")
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
