# shellcheck shell=bash disable=SC2034,SC2154
# Ports of sandboxes at every service that has URLs for them: what passes, who is let in, what is refused. Sourced by lib.sh.
#
# A test sets, besides what lib.sh needs:
#
#   port_url     a pattern of the URL of port 3000 of sandbox ID, ID in it as it is
#   port_header  the header that requests need; empty: whoever knows the URL gets in
#   port_making  options that make a sandbox whose ports are so
#   port_prepare a function that is called once the emulator runs; empty: none is needed
#   port_undeclared  what is said where port 8080 is refused because nobody declared it; empty: all ports have URLs
#   port_renamed not empty: each question gets another URL
#   port_stale   a function that makes the header of sandbox $1 a wrong one, after which its servers are gone; empty: none does

vendor_ports() { part_once ports; }

# port_serve: the web server of $box, at port 3000
port_serve() {
    "$aside" -q rm "${provider[@]}" --sandbox-id "$box" ready >/dev/null 2>&1
    "$aside" -q exec "${provider[@]}" --sandbox-id "$box" -- \
        '[ -p second ] || mkfifo second; (python3 server.py 3000 ready >/dev/null 2>&1 &)' </dev/null
    until_true 60 "$aside" -q read "${provider[@]}" --sandbox-id "$box" ready >/dev/null 2>&1
}

port_client() { timeout -k 5 200 "$node" "$js/common/port_client.mjs" "$1" "$local_port" >"$scratch/out" 2>"$scratch/err"; }

# passes NAME CASE TEXT: the client prints TEXT
passes() {
    port_client "$2"
    status=$? ran="port_client $2" out=$(cat "$scratch/out") err=$(cat "$scratch/err" "$scratch/port.err")
    if [ "$status" = 0 ] && [ "$out" = "$3" ]; then ok "$1"; else not_ok "$1" "wanted: $3
$(show)"; fi
}

is_port_host() { if [ -n "${port_renamed:-}" ]; then [[ http://$1 =~ $port_url ]]; else [ "$1" = "$port_host" ]; fi; }

port_address() {
    json "the URL of a port" 0 ".id == \"$box\" and .port == 3000 and (.url | test(\"${port_url//ID/$box}\")) and .header == $1 and .public == $2" \
        port "${provider[@]}" "$box" 3000 --url
    port_host=$("$fast_jq" -r '.url | ltrimstr("http://")' "$scratch/out")
    if [ "$2" = true ]; then
        check "that it is public is said" grep -q 'is public' "$scratch/err"
    else
        expect "its header is told when that is asked for" 0 "*" "*" port "${provider[@]}" "$box" 3000 --url --show-token
        check "with its value" grep -q "^$port_header: [^ ]" "$scratch/out"
    fi
    secret_is_kept "the URL of a port"
}

ports() {
    local forwarder header=null public=true
    [ -z "$port_header" ] || header="\"$port_header\"" public=false
    [ -z "$port_prepare" ] || "$port_prepare"
    box=$("$SANDLOT" -q create "${provider[@]}" "${port_making[@]}" </dev/null)
    "$aside" -q write "${provider[@]}" --sandbox-id "$box" server.py <"$js/common/port_server.py" >/dev/null
    port_serve
    port_address "$header" "$public"
    [ -z "$port_undeclared" ] || expect "a port that nobody declared" 1 "" "$port_undeclared" port "${provider[@]}" "$box" 8080 --url
    "$SANDLOT" port "${provider[@]}" "$box" 0:3000 >"$scratch/port.out" 2>"$scratch/port.err" </dev/null &
    forwarder=$!
    until_true 60 test -s "$scratch/port.out"
    local_port=$(sed -nE 's/^127\.0\.0\.1:([0-9]+) .*/\1/p' "$scratch/port.out")
    passes "a request reaches the server as it is" get '200 GET /a/b?c=%20d'
    passes "a second request is a connection of its own" twice 'close GET /two'
    port_client headers
    check "the Host is that of the URL" is_port_host "$(sed -n 's/^host: //p' "$scratch/out")"
    check "other headers are kept" grep -qx 'x-own: kept' "$scratch/out"
    check "one request a connection is announced" grep -qx 'connection: close' "$scratch/out"
    passes "an upload in chunks" upload same
    (until grep -q first "$scratch/events" 2>/dev/null; do sleep 0.05; done
        "$aside" -q exec "${provider[@]}" --sandbox-id "$box" -- ': >second' </dev/null) &
    local second=$!
    timeout -k 5 200 "$node" "$js/common/port_client.mjs" events "$local_port" >"$scratch/events" 2>&1
    wait "$second"
    check "events arrive as they are sent" diff "$scratch/events" <(printf 'data: first\ndata: second\n')
    passes "a WebSocket" socket $'one\ntwo\nended'
    passes "what is no HTTP is closed" redis closed
    passes "each time" redis closed
    check "with one warning" test "$(grep -c 'HTTP/1 and WebSockets only' "$scratch/port.err")" = 1
    if [ -n "$port_stale" ]; then
        "$port_stale" "$box"
        port_serve
        port_client get # the service says that it does not know the header
        passes "where the port is now is asked anew" get '200 GET /a/b?c=%20d'
    fi
    kill "$forwarder"
    wait "$forwarder"
    status=$?
    check "a signal ends it" test "$status" = 143
    gone "$box"
    service_empty "nothing is left at the service after: ports"
}

# Who talks to a port uses the sandbox, though all of it goes by the service's own way.
ports_prolong() {
    local forwarder _
    [ -z "${port_prepare:-}" ] || "$port_prepare"
    box=$("$SANDLOT" -q create "${provider[@]}" "${port_making[@]}" --param ttl_s=24 </dev/null)
    "$aside" -q write "${provider[@]}" --sandbox-id "$box" server.py <"$js/common/port_server.py" >/dev/null
    port_serve
    "$SANDLOT" port "${provider[@]}" "$box" 0:3000 >"$scratch/port.out" 2>"$scratch/port.err" </dev/null &
    forwarder=$!
    until_true 60 test -s "$scratch/port.out"
    local_port=$(sed -nE 's/^127\.0\.0\.1:([0-9]+) .*/\1/p' "$scratch/port.out")
    for _ in $(seq 30); do
        port_client get
        sleep 1
    done
    passes "a sandbox lives on while its port is used" get '200 GET /a/b?c=%20d'
    passes "and while a connection is open on which nothing is said" silent one
    kill "$forwarder"
    wait "$forwarder"
    gone "$box"
}

# ---- ports that carry any bytes: both ends are tests/local/port_rows.py ----------------------------------------------

# bytes_serve PORT: that server in $box
bytes_serve() {
    "$aside" -q write "${provider[@]}" --sandbox-id "$box" rows.py <tests/local/port_rows.py >/dev/null
    "$aside" -q exec "${provider[@]}" --sandbox-id "$box" -- "(/usr/bin/python3 rows.py server 127.0.0.1 $1 ready-$1 >/dev/null 2>&1 &)" </dev/null
    until_true 60 "$aside" -q read "${provider[@]}" --sandbox-id "$box" "ready-$1" >/dev/null 2>&1
}

# bytes_forward PORT...: begins to forward them. Sets $forwarder; what is said is in $scratch/port.out and .err.
bytes_forward() {
    : >"$scratch/port.out"
    timeout --foreground -k 60 "$LIMIT" "$SANDLOT" port "${provider[@]}" "$box" "${@/#/0:}" >"$scratch/port.out" 2>"$scratch/port.err" </dev/null &
    forwarder=$!
    until_true 60 test -s "$scratch/port.out"
}

# bytes_client CASE PORT: a client of port_rows.py
bytes_client() {
    timeout -k 5 "$LIMIT" python3 tests/local/port_rows.py "$1" 127.0.0.1 \
        "$(sed -nE "s/^127\.0\.0\.1:([0-9]+) -> $2\$/\1/p" "$scratch/port.out")" 2>"$scratch/client.err"
}

# bytes_rows NAME CASE...: to the server at port 7001, which is forwarded, and to port 7002, where none is
bytes_rows() {
    local name=$1 row
    check "$name: a server is reached" bytes_client echo 7001
    check "$name: what is sent after one's own end is answered" bytes_client half 7001
    for row in "${@:2}"; do check "$name: 64 MiB, $row" bytes_client "$row" 7001; done
    check "$name: a refused connection is ended" bytes_client refused 7002
    check "$name: and it is said what does listen" until_true 60 grep -q 'nothing listens on port 7002 in the sandbox; 7001 does' "$scratch/port.err"
}

# bytes_held COUNT [ID]: a connection that is held has a program in the sandbox, which the end of the forwarding ends. COUNT tells
# how many there are; $while_held is called meanwhile.
bytes_held() {
    check "no program of a connection is left" until_true 60 counts_to 0 "$@"
    bytes_client hold 7001 >"$scratch/held" &
    check "a connection is held" until_true 60 grep -qs held "$scratch/held"
    check "a connection has a program in the sandbox" until_true 60 counts_to 1 "$@"
    ${while_held:-true}
    bytes_ended
    check "and the program of a connection that was open ends" until_true 60 counts_to 0 "$@"
}
counts_to() { [ "$("${@:2}")" = "$1" ]; }

# bytes_ended: the forwarding ends by a signal
bytes_ended() {
    kill "$forwarder"
    wait "$forwarder"
    check "a signal ends the forwarding" test "$?" = 143
}
