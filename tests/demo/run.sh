#!/bin/bash
# The demo of `make run`: a C program is written, compiled and run in a sandbox, by commands that you can type yourself.
#
#   tests/demo/run.sh [SANDLOT]
#
# It keeps its configuration and state in a folder of its own, so yours are neither read nor changed.
set -eu

cd "$(dirname "$0")/../.."
sandlot=$(realpath "${1:-${SANDLOT:-build/sandlot}}")
private=$(mktemp -d)
id=
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cleanup() {
    [ -z "$id" ] || "$sandlot" delete -q "$id" >/dev/null || echo "the sandbox $id could not be deleted" >&2
    rm -rf "$private"
}
export XDG_CONFIG_HOME=$private/config XDG_STATE_HOME=$private/state XDG_DATA_HOME=$private/data
unset SANDLOT_CONFIG SANDLOT_PLUGIN_PATH

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    bold=$(printf '\033[1m') plain=$(printf '\033[0m')
else
    bold='' plain=''
fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
show() { printf '  $ %s\n' "$*"; }
indent() { sed 's/^/    /'; }
fail() {
    printf '\nThe demo failed: %s\n' "$*" >&2
    printf 'What this machine lacks is said by: %s doctor\n' "$sandlot" >&2
    exit 1
}
# in_box COMMAND: shows it, runs it in the sandbox, shows its output
in_box() {
    show "sandlot exec --sandbox-id $id -- '$1'"
    "$sandlot" exec --sandbox-id "$id" -- "$1" >"$private/output" 2>&1 || {
        indent <"$private/output"
        return 1
    }
    indent <"$private/output"
}

say "A sandbox on this machine, with nothing of yours in it:"
show "sandlot create"
created=$("$sandlot" create --json) || fail "no sandbox could be created: $created"
id=$(printf '%s' "$created" | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p')
[ -n "$id" ] || fail "create did not say the sandbox's id: $created"
printf '%s\n' "$id" | indent

say "A program is written into it, compiled there and run there:"
show "sandlot exec --sandbox-id $id --stdin -- 'cat > primes.c' < tests/demo/primes.c"
"$sandlot" exec --sandbox-id "$id" --stdin -- 'cat > primes.c' <tests/demo/primes.c || fail "primes.c could not be written"
in_box 'gcc -O2 -Wall -o primes primes.c && ls -l && ./primes' || fail "the program could not be compiled and run in the sandbox"
grep -q '^9592 primes' "$private/output" || fail "the program gave another answer than 9592 primes"

say "What it cannot do there: change the system, see your processes, reach the network:"
in_box 'touch /usr/bin/intruder 2>&1; ls /proc | grep -c "^[0-9]"; cat /proc/net/route | wc -l; grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/self/status' ||
    fail "the look around failed"
if "$sandlot" exec --sandbox-id "$id" -- 'touch /usr/bin/intruder' >/dev/null 2>&1; then
    fail "the sandbox could write to /usr/bin"
fi

say "A sandbox for one command only is made and deleted on the way:"
show "sandlot exec -- 'echo hello from \$(hostname), in \$PWD; ls -A | wc -l'"
# shellcheck disable=SC2016 # for the shell in the sandbox
"$sandlot" exec -- 'echo hello from $(hostname), in $PWD; ls -A | wc -l' >"$private/output" || fail "exec without a sandbox failed"
indent <"$private/output"

say "And away with it:"
show "sandlot delete $id"
"$sandlot" delete "$id" | indent
gone=$id
id=
if "$sandlot" exec --sandbox-id "$gone" -- true 2>"$private/output"; then
    fail "the sandbox $gone is still there after delete"
fi
show "sandlot exec --sandbox-id $gone -- true"
indent <"$private/output"
left=$("$sandlot" list --json | grep -c '"id":' || :)
[ "$left" = 0 ] || fail "sandboxes are left: $("$sandlot" list)"
[ ! -e /usr/bin/intruder ] || fail "the sandbox wrote to the host's /usr/bin"

say "Done. Try it yourself: build/sandlot exec -- 'uname -a; id; ls -la /'"
