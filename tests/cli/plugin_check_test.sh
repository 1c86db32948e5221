#!/bin/bash
# The conformance kit: good providers pass all of it, and every broken promise is found by its check.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh sets status, out, err and the folders, and uses ran
umask 022 # or the libraries would be refused
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/plugin_check_lib.sh"

sanitized=
nm -D "$kit" 2>/dev/null | grep -q __asan_init && sanitized=yes

# ---- usage ----
kit --help
check "help" test "$status" = 0 -a -n "$(grep -- --cycles "$scratch/tap")"
for words in "" "--static --only table x.so" "--cycles 0 x.so" "--only nothing x.so" "--param x x.so" "a.so b.so" "--nonsense x.so"; do
    # shellcheck disable=SC2086 # words
    kit $words
    check "usage: '$words'" test "$status" = 2 -a -z "$out" -a -n "$err"
done
kit "$scratch/missing.so"
check "a missing file" test "$status" = 3 -a -z "$out"
echo text >"$scratch/text.so"
kit "$scratch/text.so"
check "a file that is no library" test "$status" = 3 -a -z "$out"
kit --provider other "$faulty"
check "a provider that is not in the file" test "$status" = 2

# ---- good providers ----
mkdir "$scratch/minimal"
cp sdk/examples/minimal/minimal.c "$scratch/minimal/"
strict="-std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -Iinclude -O1 -shared"
hardened=-Wl,-z,relro,-z,now,-z,noexecstack
# build FILE FLAG...: the example, linked otherwise.
build() {
    local file=$1
    shift
    # shellcheck disable=SC2086 # words
    ${CC:-gcc} $strict "$@" "$scratch/minimal/minimal.c" -o "$scratch/minimal/$file" || not_ok "build $file" "gcc failed"
}
build minimal.so $hardened
if [ -z "$sanitized" ]; then
    passes "the minimal example passes all" --report "$scratch/report.md" "$scratch/minimal/minimal.so"
    check "TAP: a version, a plan that fits" test "$(head -1 "$scratch/tap")" = "TAP version 14" -a \
        "$(sed -n 's/^1\.\.//p' "$scratch/tap")" = "$(grep -c '^ok [0-9]' "$scratch/tap")"
    check "a summary" grep -q '^# result: passed' "$scratch/tap"
    check "the summary as Markdown" grep -q '^| execute | [0-9]* | 0 | [0-9]* |$' "$scratch/report.md"
    # nftw stops where a folder is gone before it was opened, as one that the provider's own process removes.
    cat >"$scratch/minimal/stops.c" <<'STOPS'
#include <dlfcn.h>
#include <errno.h>
#include <ftw.h>
__attribute__((visibility("default"))) int nftw(const char *path, __nftw_func_t each, int descriptors, int flags)
{
    static int calls;
    int (*walk)(const char *, __nftw_func_t, int, int) = dlsym(RTLD_NEXT, "nftw");

    errno = ENOENT;
    return calls++ == 0 ? -1 : walk(path, each, descriptors, flags);
}
STOPS
    # shellcheck disable=SC2086 # words
    ${CC:-gcc} $strict "$scratch/minimal/stops.c" -o "$scratch/minimal/stops.so" || not_ok "what stops a walk is built" "gcc failed"
    LD_PRELOAD=$scratch/minimal/stops.so passes "a walk that stops" --only table "$scratch/minimal/minimal.so"
    check "is begun again, and nothing is left" nothing_is_left
else
    passes "the minimal example passes the groups that need no heap" --static "$scratch/minimal/minimal.so"
fi
run exec -- true
if [ "$status" = 0 ]; then
    passes "local passes its life" --only lifecycle "$BUILD/builtins/local.so"
    passes "local passes all operations" --only operations "$BUILD/builtins/local.so"
    check "with no row skipped" test -z "$(grep SKIP "$scratch/tap")"
    for group in snapshots processes ports; do
        passes "local passes its $group" --only "$group" "$BUILD/builtins/local.so"
        check "with none skipped" test -z "$(grep SKIP "$scratch/tap")"
    done
else
    echo "ok local # SKIP there are no boxes here"
fi
for group in table lifecycle snapshots execute processes ports secrets; do
    passes "the faulty one without a fault: $group" --only "$group" --param folder="$scratch/boxes" "$faulty"
done
passes "a list of texts comes to the provider itself as JSON" --only lifecycle --param words='c, "d"' --param folder="$scratch/boxes" "$faulty"
passes "without a fault: robustness" --only robustness --cycles 60 --param folder="$scratch/boxes" "$faulty"
(
    unset CONFORMANCE_FAULTY_KEY
    kit --report "$scratch/report.md" --param folder="$scratch/boxes" "$faulty"
    check "without credentials the vendor's groups are skipped" grep -q \
        '^ok [0-9]* - lifecycle: all of it # SKIP set CONFORMANCE_FAULTY_KEY$' "$scratch/tap"
    check "nothing fails then" test "$status" = 0
    check "and the result says what is missing" grep -qxF \
        '# result: incomplete (lifecycle, snapshots, execute, processes, ports, network, operations, robustness not run: set CONFORMANCE_FAULTY_KEY)' "$scratch/tap"
    check "in the report too" grep -q '^- result: \*\*incomplete\*\* (lifecycle, .* not run: set CONFORMANCE_FAULTY_KEY)$' "$scratch/report.md"
    check "which has a row for each" grep -qxF '| operations | not run: set CONFORMANCE_FAULTY_KEY | | |' "$scratch/report.md"
    exit "$failures"
)
failures=$?
kit --static --report "$scratch/report.md" "$faulty"
check "what was asked for is all of it" grep -qxF '# result: passed (only: static)' "$scratch/tap"
check "and the report names the rest" grep -qxF '| execute | not run: not asked for | | |' "$scratch/report.md"
kit --only table --param folder="$scratch/boxes" "$faulty"
check "one group was asked for" grep -qxF '# result: passed (only: table)' "$scratch/tap"

# ---- the file ----
build lazy.so -Wl,-z,lazy,-z,norelro
finds "linked without RELRO" "static: full RELRO" --static "$scratch/minimal/lazy.so"
build stack.so $hardened -Wl,-z,execstack
refused= # since 2.41 the C library does not even load it
[ "$(printf 'glibc 2.41\n%s\n' "$(getconf GNU_LIBC_VERSION)" | sort -V | head -n 1)" != "glibc 2.41" ] ||
    refused="|static: it loads with all symbols bound"
finds "an executable stack" "static: no executable stack$refused" --static "$scratch/minimal/stack.so"
build path.so $hardened -Wl,-rpath,lib
finds "a relative RUNPATH" "static: safe library paths" --static "$scratch/minimal/path.so"
if printf 'extern int sandlot_thing(void); int minimal_lost(void); __attribute__((visibility("default"))) int minimal_lost(void) { return sandlot_thing(); }' >"$scratch/minimal/lost.c"; then
    build lost.so $hardened "$scratch/minimal/lost.c"
    finds "a symbol that nobody has" "static: needs nothing of the host|static: it loads with all symbols bound" --static "$scratch/minimal/lost.so"
fi
build open.so $hardened
chmod 666 "$scratch/minimal/open.so"
finds "a file that everybody can write" "static: nobody else can write it" --static "$scratch/minimal/open.so"
finds "a careless one" "static: [conformance_careless] working directory|static: [conformance_careless] known keys|static: [conformance_careless] known capabilities|static: [conformance_careless] names of variables|static: exports nothing of others|static: loading prints nothing|static: loading starts no thread" \
    --static "$BUILD/tests/plugins/conformance_careless.so"
check "a misspelt key, and what it should be" grep -A 3 "came: 'desciption'" "$scratch/tap" -q
check "the advice has the nearest" grep -q "advice: 'Write description; " "$scratch/tap"
finds "no note" "static: a note" --static "$BUILD/tests/plugins/no_note.so"
finds "a crash when it is loaded" "static: it loads with all symbols bound" --static "$BUILD/tests/plugins/crashes_loading.so"

finds "one that never loads" "static: it loads with all symbols bound" "$BUILD/tests/plugins/hangs_loading.so"
check "no other group tries" test "$(grep -c '# SKIP loading the library does not end$' "$scratch/tap")" = 10
finds "nor does a group that was asked for" "loading: it comes to an end" --only table "$BUILD/tests/plugins/hangs_loading.so"
"$BUILD/tests/local/without" pidfd_open -- "$kit" --only table --param folder="$scratch/boxes" "$faulty" >"$scratch/tap" 2>/dev/null
check "without pidfd_open, that is the error" grep -q "came: 'it cannot be started and watched: Function not implemented'" "$scratch/tap"

# ---- the table ----
kit --only table "$BUILD/tests/plugins/lying_capability.so"
check "a note that lies" grep -q '^not ok [0-9]* - table: capability pause' "$scratch/tap"
kit --only table "$BUILD/tests/plugins/lying_name.so"
check "another name" grep -q "^not ok [0-9]* - table: the table's name" "$scratch/tap"
kit --only table "$BUILD/tests/plugins/missing_function.so"
check "a function is missing" grep -q "^not ok [0-9]* - table: required functions" "$scratch/tap"
kit --only table "$BUILD/tests/plugins/conformance_careless.so"
check "a secret that is not declared" grep -q "^not ok [0-9]* - table: parameter api_key" "$scratch/tap"
check "a default that is no number" grep -q "^not ok [0-9]* - table: parameter memory_mb" "$scratch/tap"
fault "a missing key is not noticed" "table: the provider itself, without credentials" no_key_needed table

# ---- the life of a sandbox ----
fault "deleting twice fails" "lifecycle: the provider itself: delete again|lifecycle: the provider itself: delete of an unknown id" deletes_once lifecycle
fault "an unknown id makes one" "lifecycle: attach to a deleted sandbox|lifecycle: attach to an unknown id|lifecycle: attach to an id of another shape|lifecycle: closing deletes what the session made" makes_unknown lifecycle
fault "listings without label" "lifecycle: the run label is listed" unlabelled lifecycle
fault "any cursor is served" "lifecycle: an unknown cursor" any_cursor lifecycle
fault "another working directory" "lifecycle: the working directory|lifecycle: a command runs|lifecycle: a file is made|lifecycle: the file is still there|lifecycle: a file in the first|lifecycle: the first outlives the second|lifecycle: a setup script that fails" other_folder lifecycle
fault "creating takes its time" "lifecycle: the provider itself: create with a deadline at once|lifecycle: the provider itself: create, cancelled" late lifecycle
fault "all sandboxes are one" "lifecycle: two sandboxes at once|lifecycle: the first outlives the second" shares lifecycle
fault "deleting does nothing" "lifecycle: attach to a deleted sandbox|lifecycle: closing deletes what the session made|lifecycle: its sandbox is deleted|leftovers: the vendor lists none of them any more" never_deletes lifecycle
fault "deleting one deletes all" "lifecycle: the first outlives the second" deletes_all lifecycle
fault "a page comes twice" "lifecycle: it is listed once" lists_twice lifecycle
fault "listings without sandboxes" "lifecycle: a new sandbox is listed|lifecycle: its state is a word in lower case|lifecycle: the run label is listed" uncounted lifecycle

# ---- what a sandbox reaches ----
# The walls of the faulty one are lines in a file; this says what they let through.
cat >"$scratch/probe" <<'END'
[ -e "$PWD.network" ] || exit 1
while read -r kind text only; do
    case $kind in
        open) exit 0 ;;
        host) [ "$host" = "$text" ] ;;
        below) [ "$host" != "${host%."$text"}" ] ;;
        cidr) [ "$host/32" = "$text" ] ;;
    esac || continue
    [ "$only" = "$port" ] || { [ "$only" = 0 ] && { [ "$port" = 80 ] || [ "$port" = 443 ]; }; } || continue
    exit 0
done <"$PWD.network"
exit 1
END
walls=(--probe "export host port; sh '$scratch/probe'")
passes "walls that hold" --only network "${walls[@]}" --param folder="$scratch/boxes" "$faulty"
check "with none skipped" test -z "$(grep SKIP "$scratch/tap")"
wall() { fault "$1" "$2" "$3" network "${walls[@]}"; }
wall "no walls at all" "network: open no more: example.com:443 is not reached|network: off: example.com:443 is not reached|network: off: example.net:80 is not reached|network: off: 1.1.1.1:443 is not reached|network: hosts: example.org:443 is not reached|network: hosts: example.net:443 is not reached|network: hosts: 1.1.1.1:443 is not reached|network: changed: example.com:443 is not reached|network: changed to off: example.net:443 is not reached|network: one port: example.com:80 is not reached|network: addresses: 1.0.0.1:443 is not reached|network: addresses: example.com:443 is not reached|network: a credential: www.example.org:443 is not reached" no_walls
wall "a wildcard that covers the name itself" "network: hosts: example.org:443 is not reached" bare_too
wall "one port is all" "network: one port: example.com:80 is not reached" any_port
wall "more than the address" "network: addresses: 1.0.0.1:443 is not reached" near_too
wall "a change that changes nothing" "network: open no more: example.com:443 is not reached|network: changed: example.net:443 is reached|network: changed: example.com:443 is not reached" stands_still
wall "a secret in the sandbox" "network: a credential: its value is not in the sandbox" secret_inside
passes "a provider without any word" --only network "$scratch/minimal/minimal.so"
check "says so" grep -q '# SKIP the provider announces no word of it$' "$scratch/tap"

mkdir "$scratch/fake"
passes "pausing, snapshots and forks" --only snapshots --param folder="$scratch/fake" "$BUILD/tests/plugins/fake.so"
check "none of it skipped" grep -q "^ok [0-9]* - snapshots: the fork has the files$" "$scratch/tap"
untold="snapshots: the snapshot is listed as it was told|snapshots: it has the files"
finds "a snapshot that is told as it is not listed, with its base too" "$untold|$untold" \
    --only snapshots --param folder="$scratch/fake" --param other_snapshot_id=true "$BUILD/tests/plugins/fake.so"
finds "a fork without files" "snapshots: the fork has the files" --only snapshots --param folder="$scratch/fake" --param empty_fork=true \
    "$BUILD/tests/plugins/fake.so"

# ---- a provider that wants to pass for the kit ----
for group in table secrets lifecycle; do
    kit --only $group "$BUILD/tests/plugins/conformance_forger.so"
    check "no result is forged: $group" test "$status" = 1 -a "$(is_tap && echo yes)" = yes -a -z "$(grep -E '^(not )?ok [0-9]+ - forged|[^\\]# (SKIP|TODO).*forged' "$scratch/tap")"
    check "nor on standard error: $group" test -z "$(grep -v '^# ' "$scratch/err")"
done
kit --only secrets "$BUILD/tests/plugins/conformance_forger.so"
check "no failure drowns in what it prints" test "$(failed_checks | paste -sd '|')" = \
    "secrets: a made-up credential is refused in words|secrets: nothing is written to standard output"
check "what it prints is told as such" grep -qxF '# secrets printed: ok - forged: printed' "$scratch/err"

# ---- commands ----
fault "NUL is dropped" "execute: all 256 bytes|execute: NUL inside" drops_nul execute
fault "wrong exit codes" "execute: exit code 1|execute: exit code 2|execute: exit code 42|execute: exit code 126|execute: exit code 127|execute: exit code 255|execute: a command that is not there|execute: ended by SIGKILL|execute: ended by SIGTERM|execute: exit code 124 of its own|execute: a time limit|execute: calls at once in one sandbox|execute: calls at once in three sandboxes" adds_one execute
passes "one that feeds commands" --only execute --param folder="$scratch/boxes" --param fault=feeds "$faulty"
fault "input is cut" "execute: 1 MiB of input" short_input execute
fault "the environment is replaced" "execute: environment is added, not replaced" replaces execute
fault "a working directory ends at a blank" "execute: a working directory with an odd name" cuts_folder execute
fault "nobody looks at the clock while output comes" "execute: a time limit of one that prints all the time" busy execute
fault "an exit code is taken for the time limit" "execute: exit code 124 of its own" says_timeout execute
fault "output at the end" "execute: output as it appears" at_the_end execute
fault "children survive" "execute: a time limit: all processes are ended|execute: cancelling: all processes are ended" leaves_child execute
fault "a deaf one" "execute: cancelling|execute: cancelling: all processes are ended" deaf execute
fault "the key is in the box" "execute: no credential is in the sandbox" key_in_box execute
fault "standard output is written to" "lifecycle: nothing is written to standard output" prints lifecycle
kit --only operations --param folder="$scratch/boxes" --param fault=crash "$faulty"
check "a crash of the provider's process" grep -q "came: 'provider_crashed: .*crashed (SIG" "$scratch/tap"
check "is told once, where it was" test "$(grep -c '^not ok' "$scratch/tap")" = 1
check "and in whole lines" is_tap
check "it costs no more than results" grep -q '^ok [0-9]* - operations: ran to its end' "$scratch/tap"
check "a failed result has what was expected, what came, and advice" test "$(grep -c '^  expected: ' "$scratch/tap")" = \
    "$(grep -c '^not ok' "$scratch/tap")" -a "$(grep -c '^  advice: ' "$scratch/tap")" = "$(grep -c '^not ok' "$scratch/tap")"
fault "a crash in a call of many is told, and ends the group" "robustness: 8 threads in one sandbox" crash robustness --cycles 9
check "with what became of the call" grep -q "came: '0, and one that was not: provider_crashed: " "$scratch/tap"
fault "a crash in this process" "robustness: ran to its end" crash robustness --cycles 9 --in-process

# ---- files ----
copies=$BUILD/tests/plugins/conformance_copies.so
copies() { finds "$1" "$2" --only "$4" --param folder="$scratch/boxes" --param fault="$3" "$copies"; }
for group in lifecycle snapshots operations; do passes "files without a fault: $group" --only "$group" --param folder="$scratch/boxes" "$copies"; done
copies "a longer file keeps its end" "operations: upload: over a longer file" appends operations
copies "files beyond the 16th are lost" "operations: 100 files at once, and back" most operations
copies "a file of unknown length stays empty" "operations: upload: from a pipe" needs_length operations
copies "a file makes way for a folder" "operations: upload: below a file" makes_way operations
copies "a snapshot goes on" "snapshots: it has the files" live_snapshot snapshots
copies "a fork shares its files" "snapshots: the original has its files still" shared_fork snapshots
copies "a pause costs the files" "snapshots: the original has its files still" forgets_paused snapshots

# ---- many uses ----
fault "a descriptor is left" "robustness: attach, execute, close: descriptors|robustness: create, execute, delete: descriptors" descriptor robustness --cycles 60
# A thread costs memory too, about as much as is tolerated.
kit --only robustness --cycles 60 --param folder="$scratch/boxes" --param fault=thread "$faulty"
check "a thread is left" test "$(failed_checks | grep -c ': threads$')" = 2
if [ -z "$sanitized" ]; then # which keeps libraries loaded
    fault "a thread outlives its code" "robustness: ran to its end" thread_unloaded robustness --cycles 9
    check "the advice names threads" grep -q "^  advice: 'Join your threads in close: " "$scratch/tap"
fi
memory="robustness: attach, execute, close: memory|robustness: create, execute, delete: memory"
[ "$sanitized" ] || fault "memory is left" "$memory" memory robustness --cycles 60
fault "the process is left" "robustness: ran to its end" leave robustness --cycles 9 --in-process

"$kit" --only lifecycle --param folder="$scratch/boxes" "$faulty" 2>/dev/null | head -1 >/dev/null
check "nobody reads the results any more, and nothing is left" nothing_is_left

# ---- secrets ----
fault "the key in a message" "secrets: no message or log line shows it" shows_key secrets
fault "the key in an argument list" "secrets: no argument list shows it" key_argument secrets
check "nothing is left" nothing_is_left

mkdir -p "$scratch/boxes"
finds "a result that would show the key" "lifecycle: the provider itself: create|run: no result shows a credential" \
    --only lifecycle --param folder="$scratch/boxes" --param fault=shows_key_to_kit "$faulty"
check "it does not" test "$(grep -c "$CONFORMANCE_FAULTY_KEY" "$scratch/tap")" = 0
