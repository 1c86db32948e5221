#!/bin/bash
# What a fleet of sandboxes costs its client, at an emulated cluster: no pods of a real one, so no time of its own.
#
#   tests/vendors/kubernetes/fleet.sh BUILD [SANDBOXES [CLIENTS]]
#
# Three ways (pods; agent-sandbox with a warm pool, and without), each while watches are cut, the service says 429, and pods are
# evicted. Prints a line for each; ends with 1 if something leaked, ran twice, or did not work in the end.
# shellcheck disable=SC1091,SC2034,SC2154
cd "$(dirname "$0")/../../.." || exit 2
BUILD=$(realpath "${1:?BUILD}")
export BUILD SANDLOT=$BUILD/sandlot EMULATOR_BARE=1
sandboxes=${2:-1000} clients=${3:-64}
. tests/vendors/lib.sh
. tests/vendors/kubernetes/configuration.sh
export KUBECONFIG=$scratch/kubeconfig LD_LIBRARY_PATH=$BUILD SANDLOT_BUILTINS=$BUILD/builtins
write_configuration "$KUBECONFIG" sa-0123456789abcdefEMULATED
${CC:-cc} -O2 -D_GNU_SOURCE -Iinclude -o "$scratch/fleet" tests/vendors/kubernetes/fleet.c -L"$BUILD" -lsandlot -lpthread || exit 2
result=0

# Every seventeenth watch is cut in the middle, every fortieth creation is told to come later.
make_faults() {
    jq -cn --argjson n "$sandboxes" '[range(0; $n / 17 | floor) | {path: "watch=1", skip: (. * 17), times: 1, action: {drop: "during", bytes: 60}}]
        + [range(0; $n / 40 | floor) | {method: "POST", skip: (. * 40), times: 1, action: {status: 429, headers: {"retry-after": "1"}}}]'
}
# Takes a pod away now and then, until it is ended.
evict() {
    local name
    while sleep 1; do
        name=$(ask GET state | jq -r '[.pods[] | select(.status.phase == "Running" and .metadata.labels["sandlot-run"])][-1].metadata.name // empty')
        [ -z "$name" ] || post "/api/v1/namespaces/default/pods/$name/eviction"
    done
}
post() {
    local connection
    exec {connection}<>"/dev/tcp/127.0.0.1/$port" || return
    printf 'POST %s HTTP/1.1\r\nHost: emulator\r\nConnection: close\r\nAuthorization: Bearer admin-0123456789abcdef\r\nContent-Length: 2\r\n\r\n{}' "$1" >&"$connection"
    cat <&"$connection" >/dev/null
    exec {connection}>&-
}

# one NAME VARIABLE=VALUE PARAMETER...
one() {
    local name=$1 variable=$2 evicter twice requests
    shift 2
    export FLEET_LOG=$scratch/log "${variable?}"
    : >"$FLEET_LOG"
    vendor_start kubernetes
    faults "$(make_faults)"
    requests_reset
    evict &
    evicter=$!
    "$scratch/fleet" "$sandboxes" "$clients" "base_url=$url" working_dir=/tmp "$@" >"$scratch/fleet.out" 2>"$scratch/fleet.err" || result=1
    kill "$evicter"
    wait "$evicter" 2>/dev/null
    twice=$(sort "$FLEET_LOG" | uniq -d | wc -l)
    requests=$(ask GET requests | jq '[.requests[] | select(.method != "DELETE" and (.path | contains("eviction") | not))] | length')
    [ -z "${FLEET_SHOW:-}" ] || ask GET requests | jq -r '.requests[] | .method + " " + (.path | sub("[?].*"; "") | gsub("[-a-z0-9]*sandlot-[^/]*"; "NAME")) + " \(.status)"' | sort | uniq -c
    until_true 20 live_is 0
    printf '%s: %s ran=%s twice=%s left=%s records=%s requests=%s\n' "$name" "$(cat "$scratch/fleet.out")" "$(wc -l <"$FLEET_LOG")" "$twice" "$(live)" \
        "$(ledger_files | wc -l)" "$(awk -v r="$requests" -v n="$sandboxes" 'BEGIN { printf "%.2f", r / n }')"
    [ "$twice" = 0 ] && live_is 0 && no_ledger || result=1
    [ -z "${FLEET_SHOW:-}" ] || sort "$scratch/fleet.err" | cut -c1-160 | uniq -c | sort -rn | head -n "$FLEET_SHOW"
    vendor_stop
}

vendor_use kubernetes
one "agent-sandbox, 64 warm" EMULATOR_AGENT_SANDBOX=64 engine=agent-sandbox
one "agent-sandbox, none warm" EMULATOR_AGENT_SANDBOX=0 engine=agent-sandbox
one "pods" EMULATOR_START_MS=0 engine=pods
exit "$result"
