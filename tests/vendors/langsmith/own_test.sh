#!/bin/bash
# What is LangSmith's own: snapshots by name, lists of old and new servers, sandboxes that sleep, the ways in to a command,
# what an error answer may look like, modes and broken transfers.
# shellcheck disable=SC1091,SC2016,SC2034,SC2119,SC2154
. tests/vendors/lib.sh
secret=lsv2_sk_5e1f0c77a2b94d0e_emulated
export LANGSMITH_API_KEY=$secret
workspace=/root
as_root=true

begin() { # VARIABLE=VALUE...: a fresh emulator with these
    vendor_stop
    local setting
    for setting; do export "${setting?}"; done
    vendor_start langsmith
    for setting; do unset "${setting%%=*}"; done
    provider=(--sandbox langsmith --param "base_url=$url")
    id=
}
made_with() { # ARGUMENT...: further options for create
    making=("$@")
    made
    making=()
}
shown_is() { state_is "[.sandboxes[] | select(.id == \"$id\")][0].settings | $1"; }
requests_are() { [ "$(ask GET requests | jq -r '[.requests[] | "\(.method) \(.path | sub("[?].*"; "") | sub("/v2/sandboxes"; "") | gsub("[0-9a-f-]{36}"; "ID"))"] | join(", ")')" = "$1" ]; }
exec_in() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "$@" </dev/null; }

# ---- snapshots -------------------------------------------------------------------------------------------------------

snapshots_by_name() {
    begin
    requests_reset
    made
    check "a missing snapshot is built from python:3 with 16 GiB, once" state_is \
        '.snapshots | length == 1 and .[0].name == "sandlot" and .[0].docker_image == "python:3" and .[0].fs_capacity_bytes == 17179869184'
    check "and started from" state_is ".sandboxes[0].settings.snapshot_id == .snapshots[0].id"
    gone "$id"
    requests_reset
    made
    check "one that is there costs no further request" requests_are "POST /boxes"
    gone "$id"
    made_with --sandbox-snapshot-name other --param image=debian:12 --param snapshot_gib=8
    check "by another name, from another image" state_is \
        '[.snapshots[] | select(.name == "other")] | length == 1 and .[0].docker_image == "debian:12" and .[0].fs_capacity_bytes == 8589934592'
    gone "$id"
    export LANGSMITH_SANDBOX_SNAPSHOT_NAME=third
    made
    check "the name in the environment" shown_is '.snapshot_name == "third" or .snapshot_id'
    gone "$id"
    made_with --sandbox-snapshot-name other
    check "the option goes before it" shown_is '.snapshot_name == "other"'
    gone "$id"
    LANGSMITH_SANDBOX_SNAPSHOT_ID=$(ask GET state | jq -r '[.snapshots[] | select(.name == "sandlot")][0].id')
    export LANGSMITH_SANDBOX_SNAPSHOT_ID
    requests_reset
    made_with --sandbox-snapshot-name other
    check "an id in the environment goes before all" shown_is ".snapshot_id == \"$LANGSMITH_SANDBOX_SNAPSHOT_ID\" and .snapshot_name == null"
    check "without a look" requests_are "POST /boxes"
    gone "$id"
    unset LANGSMITH_SANDBOX_SNAPSHOT_ID LANGSMITH_SANDBOX_SNAPSHOT_NAME
    for refusal in 408 409; do
        faults '[{"method":"POST","path":"/boxes$","action":{"status":'$refusal',"body":{"detail":{"error":"SandboxTimeout","message":"not ready in time"}}}}]'
        json "a creation that is refused ($refusal) and has left nothing tells why" 3 '.message | contains("not ready in time")' create "${provider[@]}"
    done
    json "an image that cannot be had" 3 '.message | contains("manifest unknown")' create "${provider[@]}" --sandbox-snapshot-name bad --param image=broken:1
    json "a snapshot that failed is not built again" 3 '.message | contains("exists but is not ready: it is failed")' create "${provider[@]}" --sandbox-snapshot-name bad
    check "there is one of it" state_is '[.snapshots[] | select(.name == "bad")] | length == 1'
    json "a build that takes longer than the time there is" 3 '.error == "timeout" and (.message | contains("still making"))' \
        create "${provider[@]}" --sandbox-snapshot-name slow --param image=slow:1 --param start_timeout_s=1
    json "one that is being built is not built again" 3 '.message | contains("it is building")' create "${provider[@]}" --sandbox-snapshot-name slow
    check "there is one of it too" state_is '[.snapshots[] | select(.name == "slow")] | length == 1'
    faults '[{"method":"POST","path":"/snapshots$","action":{"drop":"after"}}]'
    made_with --sandbox-snapshot-name lost
    check "a lost answer to a build is looked up, not built twice" state_is '[.snapshots[] | select(.name == "lost")] | length == 1'
    faults '[]'
    gone "$id"
    "$SANDLOT" -q gc >/dev/null 2>&1 </dev/null # a list does not settle what became of a creation that ran out of time
    service_empty "snapshots: no sandbox is left"
}

snapshot_calls() {
    begin
    made
    exec_in 'echo kept >kept; echo lost >/tmp/lost'
    check "capture" calls $ok snapshot "$id" "mine:v1"
    check "capture: its name" says '^result: mine:v1$'
    check "list" calls $ok snapshots
    check "list: both" says '^listed: mine:v1 ready'
    gone "$id"
    made_with --sandbox-snapshot-name mine:v1
    check "start from what was captured" test "$(exec_in 'cat kept; ls /tmp')" = kept
    check "stop" calls $ok pause "$id"
    check "stop: it is stopped" state_is '.sandboxes[0].status == "stopped"'
    check "stop again" calls $ok pause "$id"
    check "start" calls $ok resume "$id"
    check "start: it is ready" state_is '.sandboxes[0].status == "ready"'
    check "start again" calls $ok resume "$id"
    check "its files are there" test "$(exec_in 'cat kept')" = kept
    faults '[{"method":"POST","path":"/stop$","action":{"drop":"after"}}]'
    check "a lost answer to stop" calls $ok pause "$id"
    faults '[]'
    calls $ok resume "$id"
    faults '[{"method":"POST","path":"/snapshot$","action":{"drop":"after"}}]'
    check "a lost answer to capture" calls $ok snapshot "$id" again
    check "is looked up: there is one" state_is '[.snapshots[] | select(.name == "again")] | length == 1'
    faults '[]'
    gone "$id"
    check "no stopping of what is gone" calls $not_found pause "$id"
    check "delete a snapshot" calls $ok delete-snapshot mine:v1
    check "delete it again: not found" calls $not_found delete-snapshot mine:v1
    faults '[{"method":"DELETE","path":"/boxes/","times":2,"action":{"status":409,"body":{"detail":{"error":"Conflict","message":"in transition"}}}}]'
    made
    check "delete waits for a transition" calls $ok delete "$id"
    check "and it is gone" live_is 0
    faults '[]'
    gone "$id"
}

# ---- lists -----------------------------------------------------------------------------------------------------------

three_pages() { # NAME
    local number ids=()
    for number in 1 2 3 4 5; do
        made && ids+=("$id")
    done
    requests_reset
    json "$1: all sandboxes of three pages" 0 '.sandboxes | length == 5 and (map(.id) | unique | length == 5) and all(.[]; .mine)' list "${provider[@]}"
    check "$1: three requests" test "$(requests_count)" = 3
    gone "${ids[@]}"
    service_empty "$1: none is left"
}

lists() {
    begin EMULATOR_PAGE=2
    three_pages "a server of today"
    begin EMULATOR_PAGE=2 EMULATOR_OLD=1
    three_pages "an older server"
    json "a list that is not there" 3 '.message | contains("LANGSMITH_ENDPOINT")' list --sandbox langsmith --param "base_url=$url/wrong"
}

# ---- keys, addresses, lifetimes --------------------------------------------------------------------------------------

settings() {
    begin
    made_with --param vcpus=2 --param memory_mb=4096 --param disk_gib=20 --param 'environment={"COLOUR":"blue \"x\"","N":1}' --param 'labels={"team":"a b"}' \
        --param ttl_s=601 --param hard_ttl_s=86400
    check "resources" shown_is '.vcpus == 2 and .mem_bytes == 4294967296 and .fs_capacity_bytes == 21474836480'
    check "labels: the user's and ours" shown_is '.labels.team == "a b" and .labels.sandlot == "1" and (.labels["sandlot-run"] | length > 0)'
    check "lifetimes in whole minutes" shown_is '.idle_ttl_seconds == 660 and .delete_after_stop_seconds == 86400'
    check "environment of commands" test "$(exec_in 'echo "$COLOUR $N"')" = 'blue "x" 1'
    gone "$id"
    usage "a variable that is no text" "must be a text" create "${provider[@]}" --param 'environment={"A":[1]}'
    usage "too much memory" "memory_mb" create "${provider[@]}" --param memory_mb=99999999
    json "what the service finds wrong is told" 3 '.message | contains("CrashLoop") and contains("e-4711")' create "${provider[@]}" --param 'labels={"fail":"1"}'
    service_empty "what did not start is gone"
    unset LANGSMITH_API_KEY
    LANGCHAIN_API_KEY=$secret json "the old name of the key" 0 .sandboxes list "${provider[@]}"
    LANGSMITH_API_KEY=wrong-key-000 LANGSMITH_SANDBOX_API_KEY=$secret json "the sandboxes' own key goes first" 0 .sandboxes list "${provider[@]}"
    LANGSMITH_SANDBOX_API_KEY=' ' LANGSMITH_API_KEY='' LANGCHAIN_API_KEY=$secret json "a blank key is none" 0 .sandboxes list "${provider[@]}"
    export LANGSMITH_API_KEY=$secret
    LANGSMITH_ENDPOINT=$url/ json "the address in the environment" 0 .sandboxes list --sandbox langsmith
    LANGCHAIN_ENDPOINT=$url json "its old name" 0 .sandboxes list --sandbox langsmith
    LANGSMITH_ENDPOINT=http://127.0.0.1:9 json "the parameter goes first" 0 .sandboxes list "${provider[@]}"
}

# A key of several workspaces says on both planes which one is meant.
workspaces() {
    begin EMULATOR_WORKSPACE=w-1
    made_with --param workspace_id=w-1 || return
    provider+=(--param workspace_id=w-1)
    check "a command in a workspace" test "$(exec_in 'echo there')" = there
    check "a file" "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" tests/README.md /root/readme
    gone "$id"
}

# The service's error in each of its four forms.
error_forms() {
    local form
    begin
    for form in '{"detail":{"error":"Conflict","message":"words of the service","error_id":"e-99"}}' '{"detail":"words of the service"}' \
        '{"detail":[{"loc":["body","vcpus"],"msg":"words of the service","type":"value_error"}]}' '{"error":"words of the service"}'; do
        faults "[{\"path\":\"/boxes[?]\",\"action\":{\"status\":422,\"body\":$form}}]"
        json "an error as ${form:0:24}" 3 '.message | contains("words of the service")' list "${provider[@]}"
        case $form in
            *e-99*) check "with its number" grep -q e-99 "$scratch/out" ;;
            *vcpus*) check "with the parameter" grep -q vcpus "$scratch/out" ;;
        esac
    done
    faults '[{"path":"/boxes[?]","action":{"status":422,"body":"<html>no</html>"}}]'
    json "an error without words" 3 '.message | contains("422")' list "${provider[@]}"
    faults '[{"method":"POST","path":"/boxes$","times":-1,"action":{"status":429,"body":{"detail":{"error":"QuotaExceeded","message":"sandbox count limit reached"}}}}]'
    json "a quota" 3 '.message | contains("sandbox count limit reached")' create "${provider[@]}"
    faults '[{"method":"POST","path":"/boxes$","action":{"status":504}}]'
    made
    check "504 at creating: one sandbox" live_is 1
    gone "$id"
    faults '[{"method":"POST","path":"/boxes$","times":1,"action":{"delay_ms":300,"drop":"after"}},{"method":"POST","path":"/boxes$","times":1,"action":{"status":502}}]'
    made
    check "two lost answers at creating: one sandbox" live_is 1
    faults '[]'
    gone "$id"
}

# ---- commands --------------------------------------------------------------------------------------------------------

ways_to_a_command() {
    begin
    made
    calls $ok pause "$id"
    check "a stopped sandbox wakes for a command" test "$(exec_in 'echo awake')" = awake
    calls $ok pause "$id"
    head -c 3000000 /dev/urandom >"$scratch/big"
    run -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/big" /root/big
    check "for an upload" test "$status" = 0
    calls $ok pause "$id"
    run -q download "${provider[@]}" --sandbox-id "$id" /root/big "$scratch/back"
    check "for a download" test "$status" = 0
    check "whole" cmp "$scratch/big" "$scratch/back"
    faults '[{"path":"/execute/ws","action":{"status":429,"headers":{"Retry-After":"2"},"body":{"detail":{"error":"RateLimited","message":"later"}}}}]'
    requests_reset
    check "a service that wishes to be left alone" test "$(exec_in 'echo later')" = later
    check "is, for as long" test "$(ask GET requests | jq '[.requests[] | select(.path | endswith("/execute/ws")) | .at] | length == 2 and .[1] - .[0] >= 2000')" = true
    faults '[]'
    requests_reset
    run -q exec "${provider[@]}" --sandbox-id "$id" -- 'for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done'
    check "one message is enough" test "$(ask GET requests | jq '[.requests[].messages // 0] | add')" = 1
    for action in '{"drop":"during","bytes":300}' '{"drop":"after"}' '{"garbage":true}' '{"truncate_bytes":20}'; do
        faults "[{\"path\":\"/execute/ws\",\"action\":$action}]"
        run -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo x >>ran; i=0; while [ $i -lt 300 ]; do i=$((i + 1)); echo "line $i of the output"; done; exit 9'
        check "a socket with $action: all the output" test "$status $(wc -l <"$scratch/out") $(tail -n 1 "$scratch/out")" = "9 300 line 300 of the output"
    done
    faults '[]'
    check "each ran once" test "$(exec_in 'wc -l <ran')" = 4
    gone "$id"
    begin EMULATOR_NO_WEBSOCKET=1
    made
    requests_reset
    json "without WebSockets a POST does" 0 '.output == "out\nerr\n" and .exit_code == 5' exec "${provider[@]}" --sandbox-id "$id" -- 'echo out; echo err >&2; exit 5'
    check "and one look for the other way" requests_are "GET /boxes/$id, GET /r/ID/execute/ws, POST /r/ID/execute"
    gone "$id"
}

# ---- files -----------------------------------------------------------------------------------------------------------

files() {
    begin
    made
    printf '#!/bin/sh\necho program\n' >"$scratch/program"
    mkdir -p "$scratch/tree" && cp "$scratch/program" "$scratch/tree/program" && chmod 755 "$scratch/tree/program" && echo text >"$scratch/tree/text"
    run -q upload -r "${provider[@]}" --sandbox-id "$id" "$scratch/tree" "/root/a tree"
    check "a tree" test "$status" = 0
    check "programs stay programs" test "$(exec_in '"a tree/program"; [ -x "a tree/text" ] || echo text')" = $'program\ntext'
    exec_in 'chmod 640 "a tree/program"; ln -s program "a tree/link"'
    run -q upload -r "${provider[@]}" --sandbox-id "$id" "$scratch/tree" "/root/a tree"
    check "what is there keeps its mode" test "$(exec_in 'stat -c %a "a tree/program"')" = 640
    check "nothing else is left there" test "$(exec_in 'ls -A "a tree"' | tr '\n' ' ')" = "link program text "
    head -c 5000000 /dev/urandom >"$scratch/big"
    run -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/big" /root/big
    for action in '{"drop":"during"}' '{"drop":"during","bytes":10}' '{"status":503}'; do
        faults "[{\"path\":\"/download\",\"action\":$action}]"
        rm -f "$scratch/back"
        run -q download "${provider[@]}" --sandbox-id "$id" /root/big "$scratch/back"
        check "a download with $action" cmp "$scratch/big" "$scratch/back"
    done
    faults '[{"path":"/upload","action":{"drop":"before"}}]'
    run -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/big" /root/again
    check "an upload that broke" test "$status $(exec_in 'sha256sum <again')" = "0 $(sha256sum <"$scratch/big")"
    faults '[]'
    gone "$id"
    json "files of what is gone" 3 '.error == "sandbox_not_found"' download "${provider[@]}" --sandbox-id "$id" /root/big "$scratch/back"
}

many() {
    begin
    vendor_many
}

# ---- ports -----------------------------------------------------------------------------------------------------------

tokens() { ask GET requests | jq '[.requests[] | select(.path | endswith("/service-url"))] | length'; }
tokens_that_expire() {
    begin EMULATOR_TUNNEL_VERSION=2 EMULATOR_CLOCK_MS=86400000 # all of them seem to be over when they come
    made
    box=$id
    "$SANDLOT" -q write "${provider[@]}" --sandbox-id "$box" server.py <"$js/common/port_server.py" >/dev/null
    port_serve
    json "when a token expires is told" 0 '.expires_at | startswith("20")' port "${provider[@]}" "$box" 3000 --url
    "$SANDLOT" port "${provider[@]}" "$box" 0:3000 >"$scratch/port.out" 2>"$scratch/port.err" </dev/null &
    local forwarder=$!
    until_true 60 test -s "$scratch/port.out"
    local_port=$(sed -nE 's/^127\.0\.0\.1:([0-9]+) .*/\1/p' "$scratch/port.out")
    requests_reset
    timeout -k 5 200 "$node" "$js/common/port_client.mjs" events "$local_port" >"$scratch/events" 2>&1 &
    local events=$!
    until_true 60 grep -qs first "$scratch/events"
    passes "a request when the token's time is up" get '200 GET /a/b?c=%20d'
    check "has a new one" test "$(tokens)" = 2
    exec_in ': >second'
    wait "$events"
    check "the connection under way is untouched" diff "$scratch/events" <(printf 'data: first\ndata: second\n')
    kill "$forwarder"
    wait "$forwarder"
    gone "$box"
}

# Sends until nobody takes any more, waits for input, and reads all that it has sent.
cat >"$scratch/idle.py" <<'EOF'
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.sendall(b"e")
connection.settimeout(1)
sent = 0
try:
    while True:
        sent += connection.send(bytes(1 << 16))
except TimeoutError:
    print("blocked", flush=True)
sys.stdin.read()
connection.settimeout(None)
connection.shutdown(socket.SHUT_WR)
while got := connection.recv(1 << 18):
    sent -= len(got)
print("all" if sent == 0 else sent)
EOF
pings() { ask GET state | jq .pings.answered; }
pings_above() { [ "$(pings)" -gt "$1" ]; }

tunnels() {
    begin EMULATOR_PING_MS=200
    local forwarder box answered idle
    made || return
    box=$id
    bytes_serve 7001
    bytes_forward 7001 7002
    bytes_rows "through the tunnel" both
    requests_reset
    bytes_client echo 7001
    check "one request each" test "$(requests_count)" = 1
    mkfifo "$scratch/go"
    python3 "${scratch%/part-*}/idle.py" "$(sed -nE 's/^127\.0\.0\.1:([0-9]+) -> 7001$/\1/p' "$scratch/port.out")" <"$scratch/go" >"$scratch/idle" 2>&1 &
    idle=$!
    exec {go}>"$scratch/go"
    until_true 60 grep -qs blocked "$scratch/idle"
    answered=$(pings)
    check "the service hears of a client that reads nothing" until_true 60 pings_above $((answered + 3))
    exec {go}>&-
    wait "$idle"
    check "which gets all in the end" grep -qx all "$scratch/idle"
    calls $ok pause "$box"
    bytes_client refused 7001
    check "a connection wakes a sandbox: its servers are gone" until_true 60 state_is '.sandboxes[0].status == "ready"'
    bytes_serve 7001
    check "and one that listens again is reached" bytes_client echo 7001
    faults '[{"path":"/tunnel$","action":{"drop":"during","bytes":200}}]'
    ! bytes_client echo 7001
    faults '[{"path":"/tunnel$","action":{"drop":"before"}}]'
    check "no answer ends the connection" bytes_client refused 7001
    faults '[]'
    check "the next one is carried" bytes_client echo 7001
    bytes_ended
    bytes_forward 22
    bytes_client refused 22
    check "a port that is not allowed" until_true 60 grep -q 'lets nobody through to port 22' "$scratch/port.err"
    bytes_ended
    bytes_forward 7001
    gone "$box"
    check "a sandbox that has gone ends the connection" bytes_client refused 7001
    wait "$forwarder"
    check "and the forwarding" test "$?" = 3
}

no_ports() {
    begin EMULATOR_NO_PORTS=1
    made
    expect "a deployment without URLs of ports" 1 "" "ask its operator" port "${provider[@]}" "$id" 3000 --url
    gone "$id"
    begin
    made
    curl -sSf --noproxy '*' -o "$scratch/granted" -H "X-Api-Key: $secret" -H 'Content-Type: application/json' -d '{"port":3000,"access":"workspace"}' "$url/v2/sandboxes/boxes/$id/service-url"
    expect "a port that is granted to people" 1 "" "take that grant back" port "${provider[@]}" "$id" 3000 --url
    faults '[{"path":"/service-url$","action":{"replace":{"service_url":"http://localhost/below/a/path","token":"t"}}}]'
    expect "a URL with a path" 1 "" "below a path" port "${provider[@]}" "$id" 3001 --url
    faults '[]'
    gone "$id"
}

vendor_use langsmith
prepare=(:) # each begins with an emulator of its own
parts snapshots_by_name snapshot_calls lists settings workspaces error_forms ways_to_a_command files many tunnels tokens_that_expire no_ports
parts_run
vendor_sound
