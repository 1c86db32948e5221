#!/bin/bash
# All tests, side by side; at the end what failed, a line each, and one closing line for them all.
#
#   tests/check.sh [--all] BUILD
#
# BUILD holds the normal build and the test programs, BUILD/sanitize the same with sanitizers. What a test can prove in either, it
# proves with sanitizers, as root; the normal build is tested as an ordinary user. --all adds what says the same in another way,
# all faults of all vendors, clang-tidy, fuzzing, valgrind, two hundred rounds of kill -9, the other release of
# Debian, and the benchmark. What proves the same once more comes last, for nothing begins any more from CHECK_UNTIL on (seconds since 1970).
# With CI=true up to eight programs that failed are run once more, alone; what passes then is told as unstable.
set -u

all=false
if [ "${1:-}" = --all ]; then
    all=true
    shift
    export SANDLOT_TEST_SLOW=1 KILL9_ROUNDS=${KILL9_ROUNDS:-200}
    # Here the fuzz targets prove that they start and that what was found once is not found again; `make fuzz` searches.
    export FUZZ_SECONDS=${FUZZ_SECONDS:-3}
    # The benchmark proves here that everything can be measured, and what does not depend on who else is at work: one turn does.
    export BENCH_TURNS=${BENCH_TURNS:-1} BOXES=${BOXES:-200} LARGE_MIB=${LARGE_MIB:-64}
fi
cd "$(dirname "$0")/.." || exit 2
BUILD=$(cd "${1:-build}" && pwd) || exit 2

results=$BUILD/test-logs/results
mkdir -p "$BUILD/test-logs" || exit 2
: >"$results"
: >"$results.failures"
: >"$results.unstable"
clone=
memory=$(mktemp -d /tmp/sandlot-memory.XXXXXX) && chmod 755 "$memory" || exit 2
trap 'rm -rf "$memory" ${clone:+"$clone"}' EXIT
trap 'exit 130' INT TERM
shopt -s nullglob

stage() { printf '\n== %s\n' "$1"; }
# without PATTERN, only PATTERN, unique: of the programs on standard input
without() { grep -vE "$1"; }
only() { grep -E "$1"; }
unique() { awk '!seen[$0]++'; }

# ---- what there is; what takes longest is first, so that nothing long is left over at the end ----

# What has changed, a path a line; all there is with --all, in continuous integration, and outside of a checkout.
all_changed=$(find core include sdk plugins config tests -type f -print0 | { if $all; then cat; else tests/changed_files.sh; fi; } | tr '\0' '\n')
changed() { grep -qE "^($1)" <<<"$all_changed"; }
# when PATTERN PROGRAM: the program, if something whose path begins so has changed, for it proves nothing else
when() { ! changed "$1" || echo "$2"; }

# All when something changed that all stand on; else those that changed, and one.
vendors() {
    printf '%s\n' tests/vendors/*/*_test.sh |
        if changed 'core/|include/|sdk/|tests/vendors/(common/|[^/]*$)'; then
            cat
        else
            grep -E "/($(sed -nE 's#^(plugins|tests/vendors)/([^/]*)/.*#\2#p' <<<"$all_changed" | sort -u | paste -sd '|')|runloop)/"
        fi
}
black_box() { # of the build $1
    local source long=(tests/cli/plugin_check*_test.sh)
    printf '%s\n' "${long[@]}" tests/operations/*_test.sh tests/local/*_test.sh tests/vfs/*_test.sh
    for source in tests/local/*_test.c; do
        source=${source##*/}
        echo "$1/tests/local/${source%.c}"
    done
    printf '%s\n' tests/mcp/*_test.sh tests/cli/*_test.sh | grep -vxF "$(printf '%s\n' "${long[@]}")"
}
projects() {
    when 'include/|sdk/|config/|core/cli/plugin' tests/plugin_project_test.sh
    when 'include/|sdk/|plugins/(deno|e2b|sandbox0|vfs)/|tests/shipped' tests/shipped_plugins_test.sh
    when 'include/|core/|sdk/python/|tests/python/' tests/python/python_test.sh
    when 'include/|core/|sdk/javascript/|tests/javascript/' tests/javascript/javascript_test.sh
    when 'include/|core/|tests/abi/' tests/abi/abi_test.sh
    printf '%s\n' tests/documented_commands_test.sh tests/mentioned_commands_test.sh tests/examples_test.sh tests/install_test.sh tests/demo/run.sh
}
unit() { # of the build $1
    local source
    for source in tests/unit/*_test.c; do
        source=${source##*/}
        echo "$1/tests/${source%.c}"
    done
}

failing_allocators() { # the unit tests of build $1 that are more than an allocator, and skip what needs theirs where there is another
    grep -l failing_allocator.h tests/unit/*_test.c | sed -n "/allocation/!s#tests/unit/\(.*\)\.c#$1/tests/\1#p"
}

# ---- who runs what ----

# No sanitizer is in the keeper nor inside of boxes (see the Makefile), the tests of allocation failures put an allocator of
# their own in its place, and others measure the command or look at its files.
unsanitized='kill9|attack|allocation|operations/(busybox|routes_agree|gnu|large_tree)|mcp/load'
# The same rows on further routes, and what only a vendor's own folder or tools could change.
further='operations/(text|routes_agree|in_process|worker|busybox)_test|cli/plugin_check_test|vendors/.*/(ways|own|engines)_test|^tests/examples_test'
# What is the same whoever asks: with sanitizers as root is enough, or as an ordinary user without.
same_for_user='operations/(large_tree|sparse|round_trips|processes_busybox|processes_derived|results_derived)|mcp/(conformance|inspector|langchain|stdio_client)'
same_for_root='operations/gnu'
same_with_sanitizers=
# Six minutes have no room for what two passes, or two routes, say in much the same way.
if ! $all; then
    further+='|operations/(gnu|processes_busybox|processes_derived)'
    same_for_user+='|operations/(native|processes)|tests/(cli|mcp)/|local/(tools|results|show|port)_test'
    same_with_sanitizers='|local/(credentials|image|network|provider|rootfs|snapshots|volumes)_test'
fi

with_sanitizers() { { black_box "$1" && unit "$1" && printf '%s\n' tests/python/python_test.sh tests/javascript/javascript_test.sh; } | grep -vE "$unsanitized$same_with_sanitizers"; }
root_black_box() { # what with_sanitizers leaves out
    { black_box "$1" && unit "$1"; } | grep -E "$unsanitized" | grep -vE "$same_for_root"
    failing_allocators "$1"
}
root_walls() { # what the walls and the installation are for root in the build that ships
    printf '%s\n' tests/install_test.sh tests/demo/run.sh && black_box "$1" | grep -E '/local/(box|credentials|network|provider)'
}
user_black_box() { { projects && black_box "$1"; } | grep -vE "$same_for_user"; }

# clone_for UID: a copy of the tree, built, that this user owns: the tree itself may lie below a folder that they cannot pass.
clone_for() {
    clone=$(mktemp -d /tmp/sandlot-clone.XXXXXX) || return 1
    tar -cf - Makefile *.md LICENSE core debian plugins sdk shell include tests config docs .clang-* | tar -xf - -C "$clone" && mkdir "$clone/build" &&
        tar -C "$BUILD" -cf - --exclude=./sanitize --exclude=./fuzz --exclude=./test-logs . | tar -xf - -C "$clone/build" &&
        chown -R "$1:$1" "$clone" && chmod 755 "$clone"
}

# add OPTION...: a pass, with the programs on standard input
add() {
    local programs
    mapfile -t programs
    passes+=("$@" "${programs[@]}")
}

rows=
! $all || rows=rows
passes=(-t 3000 -e "${CHECK_UNTIL:-}") # on a machine that is half as fast as others the other Debian takes half of that
normal=(-b "$BUILD" -n "" -u "" -C "" -T "$memory" -S "${SANDLOT_TEST_SLOW:-}")
sanitized=(-b "$BUILD/sanitize" -n "sanitize " -u "" -C "" -T "$memory" -S "${SANDLOT_TEST_SLOW:-}")
as_root=false
if [ "$(id -u)" = 0 ]; then
    as_root=true
    uid=61777 # somebody whom the machine does not know
    while getent passwd "$uid" >/dev/null || getent group "$uid" >/dev/null; do uid=$((uid + 1)); done
    clone_for "$uid" || exit 2
    user=(-b build -n "user " -u "$uid" -C "$clone" -T "" -S "")
else
    stage "run make check as root to have the tests run as root and as an ordinary user"
fi

# First what takes longest. The vendors, whom their emulators take most time: all their rows in the normal build, all their faults with sanitizers.
! $all || add "${normal[@]}" < <(printf '%s\n' tests/{debian,packages}_test.sh tests/lint/{clang_tidy,shellcheck,cppcheck}.sh)
! $as_root || add "${normal[@]}" < <(root_black_box "$BUILD" | without "$further")
add "${sanitized[@]}" < <(with_sanitizers "$BUILD/sanitize" | without "$further")
if $as_root; then
    add "${user[@]}" < <(user_black_box "$clone/build" | without "$further|kill9")
    add "${user[@]}" -T "$memory" -S "$rows" < <(vendors | without "$further")
else
    add "${normal[@]}" < <({ vendors | without "$further" && user_black_box "$BUILD" | without "$further|kill9" && root_black_box "$BUILD" | without "$further"; } | unique)
fi
add "${normal[@]}" < <(printf '%s\n' tests/lint/*.sh | if $all; then grep -vE 'clang_tidy|shellcheck|cppcheck'; else cat; fi)
if $all; then
    add "${sanitized[@]}" -S faults < <(vendors | without "$further" && vendors | only "$further")
    # and what says again what has been said, the most important first
    add "${sanitized[@]}" < <(with_sanitizers "$BUILD/sanitize" | only "$further")
    if $as_root; then
        add "${user[@]}" < <(user_black_box "$clone/build" | only "$further|kill9")
        add "${normal[@]}" < <({ root_black_box "$BUILD" | only "$further" && root_walls "$BUILD"; } | unique)
    else
        add "${normal[@]}" < <({ user_black_box "$BUILD" && root_black_box "$BUILD"; } | only "$further" | unique)
    fi
    add "${normal[@]}" < <(printf '%s\n' tests/valgrind.sh tests/fuzz/run.sh tests/bench/vendors.sh)
fi

# At least so many side by side; with --all most of the time belongs to the vendors, of whom each runs eight parts itself.
least=$((2 * $(nproc)))
! $all || least=$(nproc)
most_alone=0
[ -z "${CI:-}" ] || most_alone=8
# Where root has memory to spare, what programs lay out in TMPDIR is there, but for the black box of the ordinary user, which proves the same
# on a disk: where a test makes and removes many files that was almost a fifth of the work, because a file system without a journal looks long
# for a number that nobody has had lately.
start=()
if [ "$(id -u)" = 0 ] && [ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt $((12 << 20)) ] && unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016 # it is for that shell
    start=(unshare --mount sh -c 'mount -t tmpfs -o mode=755 sandlot-memory "$0"; exec "$@"' "$memory")
fi
stage "tests: wall time, processor time, program (as root; \"user\" as an ordinary user; \"sanitize\" with sanitizers)"
"${start[@]}" tests/run.sh -j "$least" -J 16 -a "$most_alone" -T "$memory" -r "$results" "${passes[@]}"
[ -z "$clone" ] || cp "$clone"/build/test-logs/* "$BUILD/test-logs/" 2>/dev/null

if $all; then
    stage "benchmark"
    BENCH_VENDORS=no tests/run.sh -b "$BUILD" -S "" -t 1800 -e "${CHECK_UNTIL:-}" -a "$((most_alone > 0))" -r "$results" tests/bench/bench.sh
    for log in "$BUILD"/test-logs/bench_{bench,vendors}.log; do [ ! -f "$log" ] || cat "$log"; done
fi

if [ -s "$results.unstable" ]; then
    stage "unstable: failed beside others, passed alone; each is a fault of a test or of the product, and to be found"
    cut -c 1-300 "$results.unstable" | head -n 100
fi
if [ -s "$results.failures" ]; then
    stage "what failed"
    cut -c 1-300 "$results.failures" | head -n 100
fi
read -r passed failed skipped < <(awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }' "$results")
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
