# shellcheck shell=bash disable=SC2034
# Helpers of the black-box tests of the command line. Sourced, never run.
#
# SANDLOT names the command (./build/sandlot), BUILD the build folder. Every test has folders of its own below $scratch, and
# leaves neither these nor a sandbox behind.

set -u
SANDLOT=${SANDLOT:-$PWD/build/sandlot}
BUILD=${BUILD:-$(dirname "$SANDLOT")}
LIMIT=${LIMIT:-240} # seconds for one run of the command: only what hangs takes so long, also on a busy machine
failures=0

scratch=$(mktemp -d "${TMPDIR:-/tmp}/sandlot-cli.XXXXXX") || exit 2
export HOME=$scratch/home
export XDG_CONFIG_HOME=$HOME/.config XDG_DATA_HOME=$HOME/.local/share XDG_STATE_HOME=$HOME/.local/state
export SANDLOT_NO_ENV_FILE=1 LC_ALL=C.UTF-8
unset SANDLOT_CONFIG SANDLOT_PLUGIN_PATH NO_COLOR
mkdir -p "$XDG_CONFIG_HOME/sandlot" "$XDG_DATA_HOME/sandlot/providers" "$XDG_STATE_HOME" "$scratch/work"
config=$XDG_CONFIG_HOME/sandlot/config.toml
plugins=$XDG_DATA_HOME/sandlot/providers

# jq 1.6 starts for longer than most commands run, gojq does not. They differ in the order of keys and a few more things.
fast_jq=$(type -P gojq) || fast_jq=jq

delete_all() {
    local id
    "$SANDLOT" list --json 2>/dev/null | "$fast_jq" -r '.sandboxes[]?.id' | while read -r id; do
        "$SANDLOT" -q delete -- "$id" >/dev/null
    done
}

finish() {
    local result=$?
    [ "$BASHPID" = "$$" ] || return # a background command that was hit before it became one
    [ ! -s "$config" ] || delete_all 2>/dev/null # some are reached only with what the test has said of their provider,
    rm -f "$config"                              # others only without
    delete_all
    "$SANDLOT" -q gc >/dev/null
    rm -rf "$scratch"
    [ "$result" = 0 ] && [ "$failures" -gt 0 ] && result=1
    exit "$result"
}
trap finish EXIT
trap 'exit 130' INT TERM

ok() { echo "ok $1"; }

# not_ok NAME WHY
not_ok() {
    failures=$((failures + 1))
    echo "not ok $1"
    printf '%s\n' "$2" | sed 's/^/# /'
}

# run ARGUMENT...: runs the command, with $input as standard input if that is set. Sets status, out and err; the bytes are in
# $scratch/out.
run() {
    ran="sandlot $*"
    timeout -k 5 "$LIMIT" "$SANDLOT" "$@" >"$scratch/out" 2>"$scratch/err" <"${input:-/dev/null}"
    status=$?
    { out=$(<"$scratch/out") err=$(<"$scratch/err"); } 2>/dev/null # bash says of NUL that it leaves it out
}

show_format='%s\nstatus %s\nout: %s\nerr: %s'
# shellcheck disable=SC2059
show() { printf "$show_format" "$ran" "$status" "${out:0:2000}" "${err:0:2000}"; }

# check NAME COMMAND...: the test command must succeed.
check() {
    local name=$1
    shift
    if "$@"; then ok "$name"; else not_ok "$name" "failed: $*
$(show)"; fi
}

# says_so PATTERN FILE: a line of the file has the pattern, in whatever case. Only grep, which takes as long to start as the command that is
# tested, may say no.
says_so() {
    local line found=false
    shopt -s nocasematch
    while ! $found && { IFS= read -r line || [ -n "$line" ]; }; do
        [[ $line =~ $1 ]] && found=true
    done <"$2"
    shopt -u nocasematch
    $found || grep -qiE -- "$1" "$2"
}

# expect NAME STATUS OUT ERR ARGUMENT...: runs the command; OUT is the exact output, ERR a pattern, both "*" for anything.
expect() {
    local name=$1 want_status=$2 want_out=$3 want_err=$4
    shift 4
    run "$@"
    if [ "$status" != "$want_status" ]; then
        not_ok "$name" "wanted status $want_status
$(show)"
    elif [ "$want_out" != "*" ] && [ "$out" != "$want_out" ]; then
        not_ok "$name" "wanted output: $want_out
$(show)"
    elif [ "$want_err" != "*" ] && ! says_so "$want_err" "$scratch/err"; then
        not_ok "$name" "wanted on standard error: $want_err
$(show)"
    else
        ok "$name"
    fi
}

# usage NAME PATTERN ARGUMENT...: a usage error: status 2, nothing on standard output, PATTERN on standard error.
usage() {
    local name=$1 pattern=$2
    shift 2
    expect "$name" 2 "" "$pattern" "$@"
}

# json NAME STATUS FILTER ARGUMENT...: one line that is an object for which the jq FILTER is true.
json() {
    run --json "${@:4}"
    judge_json "$1" "$2" "$3"
}

# one_line: what comes in is one line with its end
one_line() {
    local rest
    IFS= read -r rest && ! IFS= read -r rest && [ -z "$rest" ]
}

# is_true FILTER: the jq FILTER is true of what was printed last, which is one value, and says so once. Only jq may say no.
is_true() { is_true_of "$1" "$scratch/out"; }
is_true_of() { # FILTER FILE
    local true_once="[.[] | $1] == [true]"
    "$fast_jq" -es "$true_once" "$2" >/dev/null 2>&1 || jq -es "$true_once" "$2" >/dev/null 2>&1
}

# is_utf8 FILE: iconv, which takes as long to start as the command that is tested, is asked only where there is more than ASCII
is_utf8() {
    local LC_ALL=C text=
    if IFS= read -rd '' -n 65536 text <"$1" || [[ $text == *[$'\x80'-$'\xff']* ]]; then
        iconv -f UTF-8 -t UTF-8 "$1" >/dev/null 2>&1
    fi
}

# judge_json NAME STATUS FILTER: what was run last printed that
judge_json() {
    local name=$1 want_status=$2 filter="type == \"object\" and ($3)"
    if [ "$status" != "$want_status" ]; then
        not_ok "$name" "wanted status $want_status
$(show)"
    elif ! one_line <"$scratch/out" || ! is_utf8 "$scratch/out"; then
        not_ok "$name" "not one line of UTF-8
$(show)"
    elif together_keep "$name" "$filter"; then
        :
    elif ! is_true "$filter"; then
        not_ok "$name" "not true: $filter
$(show)"
    else
        ok "$name"
    fi
}

# shellcheck source=tests/cli/together.sh
. "${BASH_SOURCE[0]%/*}/together.sh"

# until_true SECONDS COMMAND...: waits until the command succeeds. What takes a minute longer on a busy machine is not wrong: only what never comes is.
until_true() {
    local end=$((SECONDS + $1 + 60))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.05
    done
}

# executes COMMAND: the request of a client of the MCP server
executes() {
    printf '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","arguments":{"command":"%s"}}}' "$1"
}

# mcp NAME PATTERN REQUEST ARGUMENT...: what a server, begun with the arguments, answers to the request, or to being begun
mcp() {
    local name=$1 pattern=$2 request=$3
    shift 3
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' ${request:+"$request"} >"$scratch/messages"
    : >"$scratch/answers"
    (cat "$scratch/messages"; until_true 60 grep -qF "$pattern" "$scratch/answers") |
        timeout "$LIMIT" "$SANDLOT" mcp "$@" >>"$scratch/answers" 2>"$scratch/err"
    check "$name" grep -qF "$pattern" "$scratch/answers"
}

sandbox_count() { "$SANDLOT" list --json | "$fast_jq" '.sandboxes | length'; }
no_sandboxes() { [ "$(sandbox_count)" = 0 ]; }
ledger_files() { find "$XDG_STATE_HOME/sandlot" -path '*/ledger/*' -type f ! -name '*lock*' 2>/dev/null; }
no_ledger() { [ -z "$(ledger_files)" ]; }

# nothing_left NAME: no sandbox and no record of one.
nothing_left() {
    if until_true 10 no_sandboxes && no_ledger; then ok "$1"; else
        not_ok "$1" "sandboxes: $(sandbox_count)
records: $(ledger_files)"
    fi
}

# The tests that need a sandbox are skipped only where the kernel does not offer what one is made of.
need_local() {
    run exec -- true
    [ "$status" = 0 ] && return
    if unshare --user true 2>/dev/null; then
        not_ok "the local sandbox works" "$(show)"
        exit 1
    fi
    echo "no user namespaces here: $err"
    exit 77
}
