#!/bin/bash
# The cloud providers beside their vendors' own SDKs, whole processes, at the same emulator, in turns within one run.
#
#   tests/bench/vendors.sh [BUILD [NAME...]]    every vendor that has tests/vendors/NAME/bench.mjs, but the made-up one
#
# Each line: what, measured, at most, unit, ok or over, details. A time may be over: a busy machine does that. What is the same on every
# machine (requests, memory) is BROKEN then, and told in a line "not ok ...", as is what could not be measured; status 1 after these,
# 77 without what is measured against.
# shellcheck disable=SC1091,SC2034,SC2154
set -u
cd "$(dirname "$0")/../.." || exit 2
BUILD=$(realpath "${1:-${BUILD:-build}}")
export BUILD SANDLOT=$BUILD/sandlot
names=("${@:2}")
if [ "${#names[@]}" -eq 0 ]; then
    for file in tests/vendors/*/bench.mjs; do
        name=$(basename "$(dirname "$file")")
        [ ! -f "$file" ] || [ "$name" = acme ] || names+=("$name")
    done
fi
ROUNDS=${BENCH_TURNS:-5}
LARGE_MIB=${LARGE_MIB:-256}

# One vendor per process: lib.sh has one emulator, and cleans up at the end.
if [ "${#names[@]}" -ne 1 ]; then
    result=0
    for name in "${names[@]}"; do
        status=0
        "$0" "$BUILD" "$name" || status=$?
        [ "$status" != 0 ] && [ "$result" != 1 ] && result=$((status == 77 ? 77 : 1))
    done
    exit "$result"
fi

. tests/vendors/lib.sh
export EMULATOR_CHANGE_MS=10 # what a service itself takes is not measured
vendor_start "${names[0]}"
# shellcheck disable=SC1090
. "tests/vendors/$vendor/bench.sh"
broken=0
# What the vendor's file may set: options that make a sandbox whose port 3000 has a URL, where the relay is measured.
[ -n "${relay_making[*]-}" ] || relay_making=()

# row WHAT MEASURED AT-MOST UNIT DETAIL: a time
row() {
    awk -v what="$vendor: $1" -v measured="$2" -v most="$3" -v unit="$4" -v detail="$5" -v otherwise="${6:-over}" 'BEGIN {
        word = measured + 0 <= most + 0 ? "ok" : otherwise
        printf "%-58s %9.2f %9.2f %-4s %-5s %s\n", what, measured, most, unit, word, detail
        exit word != "ok"
    }'
}
# steady_row WHAT MEASURED AT-MOST UNIT DETAIL: what no other work on the machine has a part in
steady_row() {
    row "$@" BROKEN || {
        echo "not ok $vendor: $1: $2 $4, at most $3"
        broken=1
    }
}
give_up() {
    echo "not ok $vendor: $1"
    exit 1
}

ours() { "$SANDLOT" -q "$@" </dev/null; }
theirs() { "$node" "$js/$vendor/bench.mjs" "$1" "$url" "${@:2}" </dev/null; }

# The operations, each as a whole process, by us and by them.
ours_exec() { ours exec "${provider[@]}" --sandbox-id "$id" -- 'echo done'; }
theirs_exec() { theirs exec "$id"; }
ours_upload() { ours upload "${provider[@]}" --sandbox-id "$id" "$scratch/$1" "$workspace/$1"; }
theirs_upload() { theirs upload "$id" "$scratch/$1" "$workspace/$1"; }
ours_download() { ours download "${provider[@]}" --sandbox-id "$id" "$workspace/$1" "$scratch/back"; }
theirs_download() { theirs download "$id" "$workspace/$1" "$scratch/back"; }
ours_list() { ours list "${provider[@]}"; }
theirs_list() { theirs list; }
ours_cycle() { ours exec "${provider[@]}" "${making[@]}" -- 'echo done'; }
theirs_cycle() { theirs cycle; }

# once WHO OPERATION ARGUMENT...: sets $took (microseconds) and $count (requests)
once() {
    local begin
    requests_reset
    begin=${EPOCHREALTIME/[.,]/}
    "$1_$2" "${@:3}" >"$scratch/bench.out" 2>"$scratch/bench.err" || give_up "$2 by $1 failed: $(tail -n 3 "$scratch/bench.err")"
    took=$((${EPOCHREALTIME/[.,]/} - begin))
    count=$(requests_count)
}
median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

# compare WHAT LIMIT OPERATION ARGUMENT...: requests and time of both, in turns
compare() {
    local what=$1 limit=$2 round us them us_count them_count
    shift 2
    : >"$scratch/us"
    : >"$scratch/them"
    for round in $(seq $((ROUNDS == 1)) "$ROUNDS"); do # the first turn of each does not count, if there is another
        once ours "$@"
        us_count=$count
        [ "$round" = 0 ] || echo "$took" >>"$scratch/us"
        once theirs "$@"
        them_count=$count
        [ "$round" = 0 ] || echo "$took" >>"$scratch/them"
    done
    us=$(median <"$scratch/us") them=$(median <"$scratch/them")
    steady_row "requests of $what" "$us_count" "$them_count" "" "by the SDK: $them_count"
    row "time of $what, of the SDK's" "$(awk "BEGIN { print $us / $them }")" "$limit" x "$((us / 1000)) ms, the SDK: $((them / 1000)) ms"
}

exec {never}<> <(:) # nothing comes from it: to wait for a moment without a process
# peak COMMAND ARGUMENT...: runs it and sets $peak, the most memory in KiB that it and those it starts had
peak() {
    local pid child children name value now
    peak=0
    "$@" >"$scratch/bench.out" 2>"$scratch/bench.err" &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do # without a process of its own, for it looks often
        now=0 children=
        read -r children 2>/dev/null <"/proc/$pid/task/$pid/children"
        for child in "$pid" $children; do
            # The shell's own copy is there first.
            [ ! "/proc/$child/exe" -ef "/proc/$$/exe" ] || continue
            while read -r name value _; do
                [ "$name" != VmHWM: ] || now=$((now + value))
            done 2>/dev/null <"/proc/$child/status"
        done
        [ "$now" -le "$peak" ] || peak=$now
        read -rt 0.02 <&"$never"
    done
    wait "$pid" || give_up "it failed: $* $(tail -n 3 "$scratch/bench.err")"
}

# large OPERATION: peak memory of moving a large file
large() {
    local begin seconds us them
    begin=${EPOCHREALTIME/[.,]/}
    case $1 in
        upload) peak "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/large" "$workspace/large" ;;
        download) peak "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" "$workspace/large" "$scratch/back" ;;
    esac
    us=$peak
    seconds=$(awk "BEGIN { printf \"%.1f\", (${EPOCHREALTIME/[.,]/} - $begin) / 1e6 }")
    case $1 in
        upload) peak "$node" "$js/$vendor/bench.mjs" upload "$url" "$id" "$scratch/large" "$workspace/large" ;;
        download)
            cmp -s "$scratch/large" "$scratch/back" || give_up "the downloaded file is another one"
            peak "$node" "$js/$vendor/bench.mjs" download "$url" "$id" "$workspace/large" "$scratch/back"
            ;;
    esac
    them=$peak
    steady_row "memory of $1, $LARGE_MIB MiB" "$(awk "BEGIN { print $us / 1024 }")" 40 MiB "in $seconds s; the SDK: $((them / 1024)) MiB"
}

# fetch URL: the large answer; sets $took (microseconds)
fetch() {
    local begin=${EPOCHREALTIME/[.,]/} count
    count=$(curl -sf "$1/large" | wc -c)
    took=$((${EPOCHREALTIME/[.,]/} - begin))
    [ "$count" = $((LARGE_MIB << 20)) ] || give_up "of a large answer from $1 came $count bytes: $(cat "$scratch/relay.err")"
}

# relayed OPTION...: a large answer of a server in a sandbox, through `sandlot port` and by the service's URL, in turns
relayed() {
    local box round direct through forwarder us them
    box=$(ours create "${provider[@]}" "$@") || give_up "no sandbox with a port could be made"
    ours exec "${provider[@]}" --sandbox-id "$box" -- "head -c $((LARGE_MIB << 20)) /dev/zero >large && (python3 -m http.server 3000 >/dev/null 2>&1 &)"
    direct=$(ours port "${provider[@]}" "$box" 3000 --url 2>/dev/null)
    until_true 60 curl -sfI "$direct/large" >"$scratch/bench.out" || give_up "the server in the sandbox does not answer at $direct"
    "$SANDLOT" port "${provider[@]}" "$box" 0:3000 >"$scratch/relay.out" 2>"$scratch/relay.err" </dev/null &
    forwarder=$!
    until_true 60 test -s "$scratch/relay.out"
    through=http://$(sed -nE 's/^(127\.0\.0\.1:[0-9]+) .*/\1/p' "$scratch/relay.out")
    : >"$scratch/us"
    : >"$scratch/them"
    for round in $(seq "$ROUNDS"); do
        fetch "$through"
        echo "$took" >>"$scratch/us"
        fetch "$direct"
        echo "$took" >>"$scratch/them"
    done
    kill "$forwarder"
    wait "$forwarder"
    ours delete "${provider[@]}" "$box" >"$scratch/bench.out"
    us=$(median <"$scratch/us") them=$(median <"$scratch/them")
    row "$LARGE_MIB MiB through the relay, of curl by the URL" "$(awk "BEGIN { print $us / $them }")" 1.25 x "$((us / 1000)) ms, by the URL: $((them / 1000)) ms"
}

head -c 1048576 /dev/urandom >"$scratch/small"
head -c $((LARGE_MIB << 20)) /dev/zero >"$scratch/large"
id=$(ours create "${provider[@]}" "${making[@]}") || give_up "no sandbox could be made"
ours_exec >"$scratch/bench.out" || give_up "no command ran" # what only the first in a sandbox costs is not compared
compare "create, exec, delete" 0.5 cycle
compare "exec" 1 exec
compare "upload, 1 MiB" 1 upload small
compare "download, 1 MiB" 1 download small
compare "list" 1 list
large upload
large download
[ "${#relay_making[@]}" = 0 ] || relayed "${relay_making[@]}"
exit "$broken"
