# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# Helpers of the tests of the cloud providers, each against an emulator of its service. Sourced, never run. See README.md.
#
# A test sets these before the tables (vendor_rows, vendor_faults, vendor_lifecycle, vendor_counts), which run as parts (see
# parts.sh) when it calls parts_run:
#
#   provider   the options that choose the provider, an array: (--sandbox acme --param "base_url=$url")
#   making     further options for create, an array; () unless set
#   workspace  the working directory of its sandboxes
#   as_root    true if commands in its sandboxes run as root; false unless set
. tests/cli/lib.sh
. tests/operations/rows.sh
. tests/operations/process_rows.sh
. tests/operations/results_rows.sh
. tests/vendors/parts.sh
. tests/vendors/lifecycle.sh
. tests/vendors/ports.sh
. tests/vendors/faults.sh
. tests/vendors/network.sh

# What is asked of a vendor's whole test: "quick" (some faults, some rows), with SANDLOT_TEST_SLOW=1 everything, "rows" all rows and
# no faults, "faults" all faults and few rows. What every build answers alike, only one of the two last asks: "rows" the vendor's own
# SDK, and numbers of requests; "faults" what is a part by part_once, below.
extent=${SANDLOT_TEST_SLOW:-quick}
[ "$extent" != rows ] || unset SANDLOT_TEST_SLOW
making=() making_forkable=()
LIMIT=240 # only what hangs takes so long, also on a busy machine
emulator_pid=
js=$scratch/js
# What prepares a case, and what looks at what came of it, is not what is tested: where $BUILD has sanitizers the normal build beside
# it does that, in a third of the time. A test whose provider only $BUILD has sets it back to $SANDLOT.
aside=$SANDLOT
[ ! -f "$BUILD/../sandlot" ] || aside=$(cd "$BUILD/.." && pwd)/sandlot
calls_program=$scratch/calls

# Skips, or where CI is set fails, without the packages of `make clients` or without bubblewrap. Sets $node, $packages, $box_agent, $js.
need_vendors() {
    local folder missing=
    for folder in "$BUILD" "$BUILD/.."; do
        [ -e "$folder/vendors/installed" ] && [ -e "$folder/node/installed" ] && break
    done
    [ -x "$folder/tests/vendors/box-agent" ] || missing="no agent for boxes: 'make clients' builds it"
    [ -e "$folder/vendors/installed" ] && [ -e "$folder/node/installed" ] ||
        missing="no SDKs of vendors: 'make clients' fetches them from the registry of npm"
    command -v bwrap >/dev/null || missing="bubblewrap is not installed (make deps)"
    if [ -n "$missing" ]; then
        if [ -n "${CI:-}" ]; then
            not_ok "what the emulators need is there" "$missing"
            exit 1
        fi
        echo "$missing"
        exit 77
    fi
    folder=$(cd "$folder" && pwd)
    node=$(compgen -G "$folder/node/node_modules/node-linux-*/bin/node" | head -n 1)
    packages=$folder/vendors/node_modules box_agent=$folder/tests/vendors/box-agent
}

# vendor_use NAME: whose emulator every part starts, anew. $url, which is none yet, is its own one in each part, also where a
# word of $provider or of the part's command has it.
vendor_use() {
    need_vendors
    vendor=$1
    url=http://emulator.invalid
    mkdir -p "$js" && cp -R tests/vendors/common "tests/vendors/$1" "$js/" && ln -sfn "$packages" "$js/node_modules" &&
        ln -sfn "$box_agent" "$js/" || exit 2
}

# vendor_start NAME: starts tests/vendors/NAME/emulator.mjs, or another $vendor_program; sets $port, $url and $control. Its errors are in $scratch/emulator.err.
vendor_start() {
    [ "${vendor:-}" = "$1" ] || vendor_use "$1"
    rm -f "$scratch/emulator.in" "$scratch/emulator.out"
    mkfifo "$scratch/emulator.in" || exit 2
    # The emulator ends with its input, so also when this shell is killed.
    "$node" "$js/$1/${vendor_program:-emulator}.mjs" <"$scratch/emulator.in" >"$scratch/emulator.out" 2>>"$scratch/emulator.err" &
    emulator_pid=$!
    exec {emulator_input}>"$scratch/emulator.in"
    if ! until_true 60 grep -qs '^listening ' "$scratch/emulator.out"; then
        not_ok "the emulator of $1 listens" "$(cat "$scratch/emulator.err")"
        exit 1
    fi
    port=$(sed -n 's/^listening //p' "$scratch/emulator.out")
    url=http://127.0.0.1:$port
    control=$url/__control
}

# Ends the emulator and its boxes. A test may have a function before_stop, to look at the emulator once more.
vendor_stop() {
    [ -n "$emulator_pid" ] || return
    ! declare -F before_stop >/dev/null || before_stop
    kill "$emulator_pid" 2>/dev/null
    wait "$emulator_pid" 2>/dev/null
    emulator_pid=
    exec {emulator_input}>&-
}

# Those of all parts must not have failed by themselves: what one could not do, it says on its standard error.
vendor_sound() {
    local errors
    errors=$(cat "$scratch"/emulator.err "$scratch"/part-*/emulator.err 2>/dev/null | head -n 20)
    if [ -z "$errors" ]; then ok "the emulator made no mistake"; else not_ok "the emulator made no mistake" "$errors"; fi
}

# Deletes what is left at the emulator, which may be held up by faults, and ends it.
vendor_end() {
    [ -n "$emulator_pid" ] || return
    asked_for DELETE faults
    for id in $(ask GET ids); do
        timeout -k 5 30 "$aside" -q delete "${provider[@]}" -- "$id" >/dev/null 2>&1 </dev/null
    done
    vendor_stop
}

finish_vendor() {
    local result=$?
    [ "$BASHPID" = "$$" ] || return # a background command that was hit before it became one
    parts_end
    vendor_end
    (exit "$result") # finish looks at it
    finish
}
trap finish_vendor EXIT

# vendor_script NAME ARGUMENT...: runs tests/vendors/$vendor/NAME.mjs, which prints its own results as ok and not ok.
vendor_script() {
    local name=$1
    [ "$name $extent" != "sdk faults" ] || return 0
    shift
    timeout -k 5 600 "$node" "$js/$vendor/$name.mjs" "$@" </dev/null || failures=$((failures + 1))
}

# part_once COMMAND ARGUMENT...: a part that "rows" leaves to "faults", which has sanitizers too
part_once() { [ "$extent" = rows ] || part "$@"; }

# ---- the control interface of the emulators --------------------------------------------------------------------------

# ask METHOD PATH [BODY]: prints the answer
ask() {
    asked_for "$@"
    printf '%s' "$control_answer"
}

# asked_for METHOD PATH [BODY]: the answer is in $control_answer. Every case asks several times: so no process is begun for it.
asked_for() {
    local LC_ALL=C body=${3:-} connection piece=
    control_answer=
    exec {connection}<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf '%s /__control/%s HTTP/1.1\r\nHost: emulator\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' \
        "$1" "$2" "${#body}" "$body" >&"$connection"
    while IFS= read -rN 65536 -u "$connection" piece; do control_answer+=$piece; done # without -N bash reads byte by byte
    exec {connection}>&-
    control_answer+=$piece
    control_answer=${control_answer#*$'\r\n\r\n'}
}

# faults JSON: an array of rules, see common/faults.mjs; they replace those that there are
faults() {
    asked_for DELETE faults
    [ "$1" = '[]' ] && return
    asked_for POST faults "$1"
    [[ $control_answer = '['* ]] || not_ok "the faults are taken" "$1: $control_answer"
}
requests_reset() { asked_for DELETE requests; }
requests_count() { ask GET count; }
requests_show() { ask GET requests | "$fast_jq" -r '.requests[] | "\(.method) \(.path) \(.status)"'; }
# state_is FILTER: whether the jq filter is true for the emulator's state. Only jq may say no; to nothing at all jq 1.6 says yes.
state_is() {
    asked_for GET state
    printf '%s' "$control_answer" >"$scratch/state"
    [ -s "$scratch/state" ] || return
    "$fast_jq" -e "$1" "$scratch/state" >/dev/null 2>&1 || jq -e "$1" "$scratch/state" >/dev/null
}
# live: how many sandboxes there are at the emulator
live() { ask GET live; }
live_is() { asked_for GET live && [ "$control_answer" = "$1" ]; }

# answered: whether nothing that was asked is still under way, though whoever asked may be gone
answered() { asked_for GET statuses && [[ $'\n'$control_answer$'\n' != *$'\n'null$'\n'* ]]; }

# waited MS: whether what was refused with 429 was asked again, and not before this time; later is not wrong
waited() {
    ask GET requests | "$fast_jq" -e '.requests | map(select(.method == "POST")) | (map(.status) | index(429)) as $refused |
        .[$refused + 1].at - .[$refused].at >= '"$1" >/dev/null
}

# service_empty NAME: no sandbox at the emulator, no record here
service_empty() {
    if until_true 15 live_is 0 && no_ledger; then ok "$1"; else
        not_ok "$1" "at the emulator: $(ask GET state)
records: $(ledger_files)"
    fi
}

# made: creates a sandbox; sets $id
made() {
    run -q create "${provider[@]}" "${making[@]}"
    id=$out
    [ "$status" = 0 ] && [ -n "$id" ] && return
    not_ok "a sandbox" "$(show)"
    return 1
}
gone() { "$aside" -q delete "${provider[@]}" -- "$@" >/dev/null 2>&1 </dev/null; }

# ---- the table of operations -----------------------------------------------------------------------------------------

# vendor_rows: every row that a service can be asked for, or the short groups only
vendor_rows() {
    local some
    local groups=("execute lifecycle" "write transfer")
    [[ $extent == [qf]* ]] || groups=(read "grep glob" "execute lifecycle" "edit delete" "list" "write transfer")
    for some in "${groups[@]}"; do
        # shellcheck disable=SC2086 # groups, one word each
        part rows_of $some
    done
}

rows_of() { # GROUP...
    way=cloud
    rows_run "$@"
    service_empty "nothing is left at the service after the rows: $*"
}

# ---- requests per operation ------------------------------------------------------------------------------------------

# vendor_counts CREATE EXEC READ EDIT UPLOAD DOWNLOAD UPLOAD20 DOWNLOAD20 LIST DELETE ALL: what the vendor's own SDK needs for each,
# one process per operation; ours must not need more. "-" where there is nothing to compare.
vendor_counts() { [ "$extent" = faults ] || part requests_of_each "$@"; }
requests_of_each() {
    local number files=() pairs=()
    for number in $(seq 20); do
        echo "$number" >"$scratch/small$number"
        files+=("$scratch/small$number" "$workspace/counted/$number")
        pairs+=("$workspace/counted/$number" "$scratch/back$number")
    done
    head -c 1048576 /dev/urandom >"$scratch/mebibyte"
    made && gone "$id" || return # what only the first one costs, an image say, is not compared
    requests_reset
    made || return
    counted create "$1"
    "$aside" -q write "${provider[@]}" --sandbox-id "$id" text >/dev/null <<<"one two"
    count_one "$2" exec -- true
    count_one "$3" read text
    count_one "$4" edit text --old one --new 1
    count_one "$5" upload "$scratch/mebibyte" "$workspace/mebibyte"
    count_one "$6" download "$workspace/mebibyte" "$scratch/back"
    count_as "upload 20" "$7" upload "${provider[@]}" --sandbox-id "$id" "${files[@]}"
    count_as "download 20" "$8" download "${provider[@]}" --sandbox-id "$id" "${pairs[@]}"
    count_as list "$9" list "${provider[@]}"
    count_as delete "${10}" delete "${provider[@]}" "$id"
    count_as "create, exec, delete" "${11}" exec "${provider[@]}" "${making[@]}" -- true
}

# vendor_many: a folder of many small files goes up and comes down in one request more for each hundred than a single file, $many_more
# (5) in all, none of them spoils the others, and none has a process of its own that puts it in its place
vendor_many() {
    local number begun one_up one_down from=$scratch/many back=$scratch/many-back odd sum
    made || return
    mkdir -p "$from/a b/c" "$from/it's"
    for number in $(seq 230); do
        echo "$number" >"$from/a b/$number"
        echo "x$number" >"$from/a b/c/$number x"
    done
    for number in $(seq 30); do head -c "$number" /dev/zero >"$from/it's/-$number\"q\""; done
    : >"$from/empty"
    head -c 200000 /dev/urandom >"$from/large"
    echo 'echo ran' >"$from/program"
    chmod 755 "$from/program"
    echo umlaut >"$from/ü"
    requests_reset
    run -q upload "${provider[@]}" --sandbox-id "$id" "$from/large" "$workspace/one"
    one_up=$(requests_count)
    requests_reset
    run -q download "${provider[@]}" --sandbox-id "$id" "$workspace/one" "$scratch/one"
    one_down=$(requests_count)
    begun=$(newest_process)
    requests_reset
    run -q upload "${provider[@]}" --sandbox-id "$id" -r "$from" "$workspace/many"
    check "494 files go up" test "$status" = 0
    number=$(requests_count)
    begun=$(($(newest_process) - begun))
    echo "# 494 files up: $begun processes in the box"
    check "without a process for each" test "$begun" -gt 0 -a "$begun" -lt 494
    echo "# 494 files up: $number requests, one: $one_up"
    check "in no more than one more for each hundred" test "$number" -le $((one_up + 5))
    sum='cd many && find . -type f | LC_ALL=C sort | while IFS= read -r f; do printf "%s " "$f"; cksum <"$f"; done | cksum'
    check "all are there, whole" test "$("$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "$sum" </dev/null)" = "$(cd "$scratch" && eval "$sum")"
    expect "with their modes" 0 $'755\n644' "*" -q exec "${provider[@]}" --sandbox-id "$id" -- "stat -c %a many/program 'many/a b/1'"
    requests_reset
    run -q download "${provider[@]}" --sandbox-id "$id" -r "$workspace/many" "$back"
    check "and come down" test "$status" = 0
    number=$(requests_count)
    echo "# 494 files down: $number requests, one: $one_down"
    check "in no more than that too" test "$number" -le $((one_down + ${many_more:-5}))
    check "as they were" diff -r "$from" "$back"
    run -q exec "${provider[@]}" --sandbox-id "$id" -- "cd 'many/a b' && chmod 600 1 && ln 2 other && ln -s 5 link && rm 3 && mkdir 3 && rm 4 && ln -s ../empty 4"
    for number in 1 2 3 4 5; do echo "new $number" >"$from/a b/$number"; done
    run --json upload "${provider[@]}" --sandbox-id "$id" -r "$from" "$workspace/many"
    odd=$("$fast_jq" -c '[.results[] | select(.error) | .path | sub(".*/"; "")]' <<<"$out")
    check "again: only where a folder is now it fails" test "$odd" = '["3"]'
    expect "what was there keeps its mode, its names and its link" 0 $'600\nnew 1\nnew 2\nnew 4\nnew 5' "*" -q exec "${provider[@]}" --sandbox-id "$id" -- \
        "cd 'many/a b' && stat -c %a 1 && cat 1 other ../empty link"
    expect "nothing of ours is left" 0 0 "*" -q exec "${provider[@]}" --sandbox-id "$id" -- \
        "find /tmp many -name '.sandlot-????????????*' ! -name '*-*-*' | wc -l"
    rm -rf "$back"
    mkdir -p "$back/a b/7"
    run --json download "${provider[@]}" --sandbox-id "$id" -r "$workspace/many" "$back"
    odd=$("$fast_jq" -c '[.results[] | select(.error) | .path | sub(".*/"; "")] | sort' <<<"$out")
    check "a folder in the way here spoils one file" test "$odd" = '["7"]'
    gone "$id"
}

# A box has process numbers of its own, which go up by one for each.
newest_process() { "$aside" -q exec "${provider[@]}" --sandbox-id "$id" -- 'sh -c "echo \$\$"' </dev/null; }

# count_one LIMIT COMMAND ARGUMENT...: one command on the sandbox
count_one() {
    local limit=$1 command=$2
    shift 2
    count_as "$command" "$limit" "$command" "${provider[@]}" --sandbox-id "$id" "$@"
}

# count_as NAME LIMIT ARGUMENT...
count_as() {
    local name=$1 limit=$2
    shift 2
    requests_reset
    run -q "$@"
    [ "$status" = 0 ] || not_ok "$name works" "$(show)"
    counted "$name" "$limit"
}
# How often it is looked whether a sandbox is made or gone depends on how busy the machine is: there one look after another
# counts once. What looks besides GET, the vendor's test says in $looks: Modal's worker is asked for the command until it is up.
looks='^GET '
counted() {
    local count same=null
    case $1 in create* | delete) same='.[0]' ;; esac
    count=$(ask GET requests | "$fast_jq" --arg looks "$looks" '[.requests[] | "\(.method) \(.path)"] | [., .[1:] + [""]] | transpose
        | map(select((.[0] | test($looks) | not) or .[1] != '"$same"')) | length')
    echo "# $1: $count requests, the vendor's own SDK: $2"
    [ "$2" = - ] && return
    if [ "$count" -le "$2" ]; then ok "requests of $1"; else
        not_ok "requests of $1" "$count, the vendor's own SDK needs $2
$(requests_show)"
    fi
}

# ---- the conformance kit ---------------------------------------------------------------------------------------------

# vendor_kit: the provider of $vendor keeps what provider.h promises, in a worker and, of what is done in sandboxes, without one.
# The group "execute" is left out: it looks at the clock, and what the tables say of commands is more.
vendor_kit() { kit_groups_without ""; }
kit_groups_without() { # GROUP: all others
    local group
    for group in "operations --in-process" operations "lifecycle --in-process" lifecycle snapshots "robustness --cycles 5" secrets table network; do
        # shellcheck disable=SC2086 # a group and its options
        [ "$group" = "$1" ] || part kit_group $group
    done
}
kit_group() { # GROUP OPTION...
    local library=${library:-$BUILD/builtins/$vendor.so} name="conformance: $*" probe='curl -sgp -m 60 -x http://127.0.0.1:3128 "http://$host:$port/"'
    [ -e "$library" ] || library=$BUILD/plugins/$vendor.so
    if timeout -k 5 900 "$SANDLOT" plugin check --probe "$probe" --only "$@" "$library" "${provider[@]:2}" >"$scratch/kit" 2>"$scratch/err" </dev/null &&
        grep -q "^# result: passed (only: $1)" "$scratch/kit"; then
        ok "$name"
    else
        not_ok "$name" "$(grep -A 5 -E '^(not ok|Bail out)|result:' "$scratch/kit"; cat "$scratch/err")"
    fi
    service_empty "$name: nothing is left"
}

# ---- calls that no command makes -------------------------------------------------------------------------------------

# calls STATUS WHAT...: as common/calls.c says; what the provider answers is in $out. $calls_url, where it is not $url.
calls() {
    local wanted=$1 library
    shift
    library=$BUILD/builtins/$vendor.so
    [ -e "$library" ] || library=$BUILD/plugins/$vendor.so # a project of its own
    [ -x "$calls_program" ] || build_calls
    out=$("$calls_program" "$library" "$vendor" "${calls_url:-$url}" "$@" 2>"$scratch/err")
    status=$?
    ran="calls $*" err=$(cat "$scratch/err")
    [ "$status" = "$wanted" ]
}
says() { grep -q -- "$1" <<<"$out"; } # what they answered last
# shellcheck disable=SC2034 # of enum sandlot_status
readonly ok=0 not_found=1 auth=2 invalid=3 unsupported=4

# ---- no memory -------------------------------------------------------------------------------------------------------

# vendor_starved: memory runs out while the provider works, see common/starved.c; at more places where everything is asked for.
# What parameters it needs besides base_url is in the environment, as PARAMETER_NAME.
vendor_starved() { part starved; }
starved() {
    local library=$BUILD/builtins/$vendor.so stride=53
    [ -e "$library" ] || library=$BUILD/plugins/$vendor.so
    nm -D "$library" | grep -q __asan && return # it has an allocator of its own
    [ -z "${SANDLOT_TEST_SLOW:-}" ] || stride=7
    if ! ${CC:-cc} -std=c11 -D_GNU_SOURCE -rdynamic -Iinclude -o "$scratch/starved" tests/vendors/common/starved.c -ldl -lffi 2>"$scratch/err"; then
        not_ok "the program whose memory runs out is built" "$(cat "$scratch/err")"
        return
    fi
    # It says itself what it found.
    timeout -k 5 900 "$scratch/starved" "$library" "$vendor" "${calls_url:-$url}" "$stride" </dev/null || failures=$((failures + 1))
    service_empty "nothing is left at the service after: memory runs out"
}

# ---- many calls, one process -----------------------------------------------------------------------------------------

# Where rows differ in what the service does alone, a process for each takes most of the time and proves nothing more:
#
#   series_begin        the program of common/series.c, for sandbox $id of $provider
#   asked WORD...       one line for it; what it answers is in $answer, nothing where it has ended or says nothing
#   series_end NAME     its end, which the sanitizers do not object to
series_begin() {
    local word words=() flags=
    for word in "${provider[@]:2}"; do [ "$word" = --param ] || words+=("$word"); done
    nm -D "$BUILD/libsandlot.so" | grep -q __asan && flags=-fsanitize=address
    # shellcheck disable=SC2086 # none or one
    ${CC:-cc} -std=c11 -D_GNU_SOURCE $flags -Iinclude -o "$scratch/series" tests/vendors/common/series.c -L"$BUILD" -lsandlot \
        -Wl,-rpath,"$BUILD" 2>"$scratch/series.err" || { not_ok "the program of a series is built" "$(cat "$scratch/series.err")"; return 1; }
    trap '' PIPE # when it ends, the row says so
    mkfifo "$scratch/series.in" "$scratch/series.out" || return
    timeout -k 5 1200 "$scratch/series" "$vendor" "$id" "${words[@]}" <"$scratch/series.in" >"$scratch/series.out" 2>"$scratch/series.err" &
    series=$!
    exec {series_input}>"$scratch/series.in" {series_output}<"$scratch/series.out"
}
series_ask() {
    answer=
    { printf '%s\n' "$*" >&"$series_input"; } 2>/dev/null && IFS= read -rt "$LIMIT" -u "$series_output" answer
}
series_end() { # NAME
    exec {series_input}>&-
    wait "$series"
    status=$? ran=series out='' err=$(cat "$scratch/series.err")
    check "$1" test "$status" = 0
    exec {series_output}<&-
    rm "$scratch/series.in" "$scratch/series.out"
}

# A provider with sanitizers needs a program that begins with them.
build_calls() {
    local flags=
    nm -D "$library" | grep -q __asan && flags=-fsanitize=address
    # shellcheck disable=SC2086 # none or one
    ${CC:-cc} -std=c11 -D_GNU_SOURCE $flags -Iinclude -o "$scratch/calls" tests/vendors/common/calls.c -ldl -lffi 2>"$scratch/err" &&
        mv "$scratch/calls" "$calls_program" || # other parts may build it, too
        not_ok "the program that calls is built" "$(cat "$scratch/err")"
}
