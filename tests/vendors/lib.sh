# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# Helpers of the tests of the cloud providers, each against an emulator of its service. Sourced, never run. See README.md.
#
# A test sets these before the tables (vendor_rows, vendor_faults, vendor_lifecycle, vendor_counts):
#
#   provider   the options that choose the provider, an array: (--sandbox acme --param "base_url=$url")
#   making     further options for create, an array; () unless set
#   workspace  the working directory of its sandboxes
#   as_root    true if commands in its sandboxes run as root; false unless set
. tests/cli/lib.sh
. tests/operations/rows.sh
. tests/vendors/lifecycle.sh
. tests/vendors/faults.sh

making=()
LIMIT=120
emulator_pid=

# Skips, or where CI is set fails, without the packages of `make clients` or without bubblewrap. Sets $node, $packages, $js.
need_vendors() {
    local folder missing=
    for folder in "$BUILD" "$BUILD/.."; do
        [ -e "$folder/vendors/installed" ] && [ -e "$folder/node/installed" ] && break
    done
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
    packages=$folder/vendors/node_modules
    js=$scratch/js
}

# vendor_start NAME: starts tests/vendors/NAME/emulator.mjs; sets $port, $url and $control. Its errors are in $scratch/emulator.err.
vendor_start() {
    need_vendors
    vendor=$1
    mkdir -p "$js" && cp -R tests/vendors/common "tests/vendors/$1" "$js/" && ln -sfn "$packages" "$js/node_modules" || exit 2
    rm -f "$scratch/emulator.in" "$scratch/emulator.out"
    mkfifo "$scratch/emulator.in" || exit 2
    # The emulator ends with its input, so also when this shell is killed.
    "$node" "$js/$1/emulator.mjs" <"$scratch/emulator.in" >"$scratch/emulator.out" 2>>"$scratch/emulator.err" &
    emulator_pid=$!
    exec {emulator_input}>"$scratch/emulator.in"
    if ! until_true 20 grep -qs '^listening ' "$scratch/emulator.out"; then
        not_ok "the emulator of $1 listens" "$(cat "$scratch/emulator.err")"
        exit 1
    fi
    port=$(sed -n 's/^listening //p' "$scratch/emulator.out")
    url=http://127.0.0.1:$port
    control=$url/__control
}

# Ends the emulator and its boxes.
vendor_stop() {
    [ -n "$emulator_pid" ] || return
    kill "$emulator_pid" 2>/dev/null
    wait "$emulator_pid" 2>/dev/null
    emulator_pid=
    exec {emulator_input}>&-
}

# It must not have failed by itself: what it could not do, it says on its standard error.
vendor_sound() {
    check "the emulator made no mistake" test ! -s "$scratch/emulator.err"
    [ ! -s "$scratch/emulator.err" ] || sed 's/^/# /' "$scratch/emulator.err" | head -n 20
}

finish_vendor() {
    local result=$?
    [ "$BASHPID" = "$$" ] || return # a background command that was hit before it became one
    if [ -n "$emulator_pid" ]; then
        ask DELETE faults >/dev/null
        for id in $(ask GET state | jq -r '.sandboxes[]?.id' 2>/dev/null); do
            timeout -k 5 30 "$SANDLOT" -q delete "${provider[@]}" -- "$id" >/dev/null 2>&1 </dev/null
        done
    fi
    vendor_stop
    (exit "$result") # finish looks at it
    finish
}
trap finish_vendor EXIT

# vendor_script NAME ARGUMENT...: runs tests/vendors/$vendor/NAME.mjs, which prints its own results as ok and not ok.
vendor_script() {
    local name=$1
    shift
    timeout -k 5 240 "$node" "$js/$vendor/$name.mjs" "$@" </dev/null || failures=$((failures + 1))
}

# ---- the control interface of the emulators --------------------------------------------------------------------------

# ask METHOD PATH [BODY]: prints the answer
ask() {
    local LC_ALL=C body=${3:-} connection
    exec {connection}<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf '%s /__control/%s HTTP/1.1\r\nHost: emulator\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' \
        "$1" "$2" "${#body}" "$body" >&"$connection"
    sed '1,/^\r$/d' <&"$connection"
    exec {connection}>&-
}

# faults JSON: an array of rules, see common/faults.mjs; they replace those that there are
faults() {
    local answer
    ask DELETE faults >/dev/null
    [ "$1" = '[]' ] && return
    answer=$(ask POST faults "$1")
    jq -e 'type == "array"' >/dev/null 2>&1 <<<"$answer" || not_ok "the faults are taken" "$1: $answer"
}
requests_reset() { ask DELETE requests >/dev/null; }
requests_count() { ask GET requests | jq .count; }
requests_show() { ask GET requests | jq -r '.requests[] | "\(.method) \(.path) \(.status)"'; }
# state_is FILTER: whether the jq filter is true for the emulator's state
state_is() { ask GET state | jq -e "$1" >/dev/null; }
# live: how many sandboxes there are at the emulator
live() { ask GET state | jq '.sandboxes | length'; }
live_is() { [ "$(live)" = "$1" ]; }

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
gone() { "$SANDLOT" -q delete "${provider[@]}" -- "$@" >/dev/null 2>&1 </dev/null; }

# ---- the table of operations -----------------------------------------------------------------------------------------

# vendor_rows: every row that a service can be asked for; SANDLOT_TEST_SLOW=1, or the short groups only
vendor_rows() {
    local groups=(execute write transfer lifecycle)
    way=cloud
    [ -z "${SANDLOT_TEST_SLOW:-}" ] || groups=(execute read write edit list grep glob delete transfer lifecycle)
    [ $# -eq 0 ] || groups=("$@")
    rows_run "${groups[@]}"
    service_empty "nothing is left at the service after the rows"
}

# ---- requests per operation ------------------------------------------------------------------------------------------

# vendor_counts CREATE EXEC READ EDIT UPLOAD DOWNLOAD UPLOAD20 DOWNLOAD20 LIST DELETE ALL: what the vendor's own SDK needs for each,
# one process per operation; ours must not need more. "-" where there is nothing to compare.
vendor_counts() {
    local number files=() pairs=()
    for number in $(seq 20); do
        echo "$number" >"$scratch/small$number"
        files+=("$scratch/small$number" "$workspace/counted/$number")
        pairs+=("$workspace/counted/$number" "$scratch/back$number")
    done
    head -c 1048576 /dev/urandom >"$scratch/mebibyte"
    requests_reset
    made || return
    counted create "$1"
    "$SANDLOT" -q write "${provider[@]}" --sandbox-id "$id" text >/dev/null <<<"one two"
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
counted() {
    local count
    count=$(requests_count)
    echo "# $1: $count requests, the vendor's own SDK: $2"
    [ "$2" = - ] && return
    if [ "$count" -le "$2" ]; then ok "requests of $1"; else
        not_ok "requests of $1" "$count, the vendor's own SDK needs $2
$(requests_show)"
    fi
}

# ---- calls that no command makes -------------------------------------------------------------------------------------

# calls STATUS WHAT...: as common/calls.c says; what the provider answers is in $out. $calls_url, where it is not $url.
calls() {
    local wanted=$1
    shift
    [ -x "$scratch/calls" ] || build_calls
    out=$("$scratch/calls" "$BUILD/builtins/$vendor.so" "$vendor" "${calls_url:-$url}" "$@" 2>"$scratch/err")
    status=$?
    ran="calls $*" err=$(cat "$scratch/err")
    [ "$status" = "$wanted" ]
}
says() { grep -q -- "$1" <<<"$out"; } # what they answered last
# shellcheck disable=SC2034 # of enum sandlot_status
readonly ok=0 not_found=1 auth=2 invalid=3 unsupported=4

# A provider with sanitizers needs a program that begins with them.
build_calls() {
    local flags=
    nm -D "$BUILD/builtins/$vendor.so" | grep -q __asan && flags=-fsanitize=address
    # shellcheck disable=SC2086 # none or one
    ${CC:-cc} -std=c11 -D_GNU_SOURCE $flags -Iinclude -o "$scratch/calls" tests/vendors/common/calls.c -ldl -lffi 2>"$scratch/err" ||
        not_ok "the program that calls is built" "$(cat "$scratch/err")"
}
