#!/bin/bash
# Ports of local boxes: what passes through `sandlot port`, with the provider in this process and in a worker's, and how it ends.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
need_local

here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
[ -x "$python" ] || { echo "no $python"; exit 77; }

client() { timeout -k 5 "$LIMIT" "$python" "$here/port_rows.py" "$@" >"$scratch/out" 2>"$scratch/err"; }

# serve ADDRESS PORT: a server in the box. Sets process.
serve() {
    process=$("$SANDLOT" exec -q --sandbox-id "$box" --detach -- "python3 rows.py server $1 $2 ready-$2")
    until_true 60 "$SANDLOT" read -q --sandbox-id "$box" "ready-$2" >/dev/null 2>&1
}

# How a forwarding is begun that a signal to this will end: without --foreground timeout adds a SIGCONT, which undoes the stop that
# LeakSanitizer needs at the end, and that end may take its time.
limited=(timeout --foreground -k 60 "$LIMIT")

# forward NAME ARGUMENT...: begins to forward. Sets forwarder; standard output and error are $scratch/NAME.out and .err.
forward() {
    local name=$1
    shift
    "${limited[@]}" "$SANDLOT" port "$@" >"$scratch/$name.out" 2>"$scratch/$name.err" &
    forwarder=$!
    until_true 60 test -s "$scratch/$name.out"
}
local_port() { sed -nE "s/^127\.0\.0\.1:([0-9]+) -> $2\$/\1/p" "$scratch/$1.out"; }

# end NAME STATUS: the forwarding ends by a signal
end() {
    kill -TERM "$forwarder"
    wait "$forwarder"
    status=$?
    check "$1" test "$status" = "$2"
}

box=$("$SANDLOT" create -q)
"$SANDLOT" write -q --sandbox-id "$box" rows.py <"$here/port_rows.py" >/dev/null
serve 127.0.0.1 7001
serve ::1 7002
serve 0.0.0.0 7003

# ---- what passes ----

rows() {
    forward "$1" "$box" 0:7001 0:7002 0:7003 0:7004
    for row in 7001 7002 7003; do
        check "$1: N2 a server is reached, $row" client echo 127.0.0.1 "$(local_port "$1" "$row")"
    done
    check "$1: N3 what is sent after one's own end is answered" client half 127.0.0.1 "$(local_port "$1" 7001)"
    check "$1: N3 64 MiB each way at once" client both 127.0.0.1 "$(local_port "$1" 7001)"
    check "$1: the server may close its half first" client closing 127.0.0.1 "$(local_port "$1" 7001)"
    heard() { "$SANDLOT" read -q --sandbox-id "$box" heard 2>/dev/null | grep -qF "$(cat "$scratch/out")"; }
    check "$1: and hears what comes then" until_true 60 heard
    check "$1: N1 a refused connection is ended" client refused 127.0.0.1 "$(local_port "$1" 7004)"
    check "$1: N1 and it is said what does listen" until_true 60 grep -q \
        'nothing listens on port 7004 in the sandbox; 7001, 7002 and 7003 do' "$scratch/$1.err"
    check "$1: again" client refused 127.0.0.1 "$(local_port "$1" 7004)"
    check "$1: but only once" test "$(grep -c 'nothing listens' "$scratch/$1.err")" = 1
}
if [ -e /proc/net/if_inet6 ] && "$python" -c 'import socket; socket.socket(socket.AF_INET6).bind(("::1", 0))' 2>/dev/null; then
    forward six "$box" 0:7001
    check "::1 here is listened on too" client echo ::1 "$(local_port six 7001)"
    end "it ends by a signal as everything does" 143
fi
rows here
check "N3 64 MiB each way, for a client that sends before it reads" client ahead 127.0.0.1 "$(local_port here 7001)"
serve 127.0.0.1 7004
check "N1: a server that starts later is reached" client echo 127.0.0.1 "$(local_port here 7004)"
check "N4: 300 connections at a time: 256 are served, the others wait" client many 127.0.0.1 "$(local_port here 7001)"
end "a signal ends the forwarding" 143
"$SANDLOT" kill -q --sandbox-id "$box" "$process"
"$SANDLOT" rm -q --sandbox-id "$box" heard

printf '[sandboxes.providers.local]\nisolation = "unconfined"\n' >"$config"
rows worker
workers() { pgrep -P "$(pgrep -P "$forwarder" | head -n 1)" -f sandlot-worker; }
"$python" "$here/port_rows.py" hold 127.0.0.1 "$(local_port worker 7001)" >"$scratch/held" 2>&1 &
holder=$!
until_true 60 test -s "$scratch/held"
worker=$(workers)
kill -KILL "$worker"
check "N12: a worker's death ends its connections" wait "$holder"
check "and is said" until_true 60 grep -q 'SIGKILL' "$scratch/worker.err"
check "N12: the next connection starts another" client echo 127.0.0.1 "$(local_port worker 7001)"
end "with a worker a signal ends it too" 143
rm -f "$config"

# ---- words ----

expect "a name for an address" 2 "" "no address" port "$box" --address localhost 0:7001
json "local boxes have no URL" 1 '.error == "not_supported" and (.message | contains("no URL with this provider; leave --url out"))' port "$box" --url 80
forward taken "$box" 0:7001
expect "N6: a local port that is taken" 1 "" "listens there already" port no-such-box "$(local_port taken 7001):7001"
end "the one that has it goes on" 143
if [ "$(id -u)" != 0 ] && [ "$(cat /proc/sys/net/ipv4/ip_unprivileged_port_start)" -gt 1 ]; then
    expect "N6: a local port below 1024 as a user" 1 "" "root's" port "$box" 1:7001
fi
"${limited[@]}" "$SANDLOT" port --json --address 127.0.0.1 "$box" 0:7001 >"$scratch/json.out" 2>"$scratch/json.err" &
forwarder=$!
until_true 60 test -s "$scratch/json.out"
cp "$scratch/json.out" "$scratch/out"
end "--json: the command stays" 143
status=0
judge_json "--json: where it listens" 0 \
    ".id == \"$box\" and .ports[0].port == 7001 and .ports[0].local_port > 0 and .ports[0].addresses == [\"127.0.0.1\"]"

number=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
forward same "$box" "$number"
check "without LOCAL: the same number, if it is free" test "$(local_port same "$number")" = "$number"
first=$forwarder
forward other "$box" "$number"
check "else a free one" test "$(local_port other "$number")" != "$number"
end "one ends" 143
forwarder=$first
end "and the other" 143

forward open --address 0.0.0.0 "$box" 0:7001
check "--address: who reaches it is said" grep -q "warning: everybody who reaches 0.0.0.0 reaches the sandbox" "$scratch/open.err"
end "and it ends as others do" 143

# ---- ends ----

landlock=$("$SANDLOT" create -q --param confinement=landlock 2>/dev/null)
if [ -n "$landlock" ]; then
    forward landlock "$landlock" 0:7001
    client refused 127.0.0.1 "$(local_port landlock 7001)"
    check "confinement landlock has no ports" until_true 60 grep -q 'landlock has no network of its own' "$scratch/landlock.err"
    end "and the command stays as it is" 143
    "$SANDLOT" delete -q "$landlock" >/dev/null
else
    echo "ok confinement landlock # SKIP there is no Landlock"
fi

leaving=$("$SANDLOT" create -q)
"$SANDLOT" write -q --sandbox-id "$leaving" rows.py <"$here/port_rows.py" >/dev/null
"$SANDLOT" exec -q --sandbox-id "$leaving" --detach -- "python3 rows.py server 127.0.0.1 7001 ready" >/dev/null
until_true 60 "$SANDLOT" read -q --sandbox-id "$leaving" ready >/dev/null 2>&1
forward gone "$leaving" 0:7001
"$python" "$here/port_rows.py" hold 127.0.0.1 "$(local_port gone 7001)" >"$scratch/held-leaving" 2>&1 &
holder=$!
until_true 60 test -s "$scratch/held-leaving"
"$SANDLOT" delete -q "$leaving" >/dev/null
check "N5: the end of a box ends its connections" wait "$holder"
wait "$forwarder"
status=$?
check "N5: and the forwarding, with status 3" test "$status" = 3
check "which is said" grep -q "has gone" "$scratch/gone.err"
nothing_left_but_the_box() { [ "$("$SANDLOT" list --json | jq -r '.sandboxes[].id')" = "$box" ]; }
check "no box is left but the one" until_true 60 nothing_left_but_the_box
