# shellcheck shell=bash disable=SC2034,SC2154
# Helpers of the tests with real MCP clients. Sourced, never run; after tests/cli/lib.sh, whose $scratch, $SANDLOT and
# results it uses.

# Sets $node, and $js: a folder with the scripts of tests/mcp where they find their packages.
need_clients() {
    local folder
    for folder in "$BUILD/node" "$BUILD/../node"; do
        [ -e "$folder/installed" ] && break
    done
    if [ ! -e "$folder/installed" ]; then
        if [ -n "${CI:-}" ]; then
            not_ok "the MCP clients are installed" "make clients"
            exit 1
        fi
        echo "no MCP clients: 'make clients' fetches them from the registry of npm"
        exit 77
    fi
    folder=$(cd "$folder" && pwd)
    node=$(compgen -G "$folder/node_modules/node-linux-*/bin/node" | head -n 1)
    packages=$folder/node_modules
    js=$scratch/js
    mkdir "$js" && cp tests/mcp/*.mjs "$js/" && ln -s "$packages" "$js/node_modules" || exit 2
    if ! "$node" --version >/dev/null; then
        not_ok "the Node.js of the tests runs" "$node"
        exit 1
    fi
}

# script NAME ARGUMENT...: runs tests/mcp/NAME.mjs, which prints its own results.
script() {
    local name=$1
    shift
    timeout -k 5 600 "$node" "$js/$name.mjs" "$@" || failures=$((failures + 1))
}

server_pid=
# serve ARGUMENT...: starts `sandlot mcp --http`; sets $server_pid and $url.
serve() {
    rm -f "$scratch/port"
    "$SANDLOT" mcp --http 127.0.0.1:0 --port-file "$scratch/port" "$@" </dev/null >"$scratch/server.out" 2>"$scratch/server.err" &
    server_pid=$!
    if ! until_true 10 test -s "$scratch/port"; then
        not_ok "the server listens" "$(cat "$scratch/server.err")"
        exit 1
    fi
    url=http://127.0.0.1:$(cat "$scratch/port")/mcp
}

# stop_server NAME: SIGTERM ends it with 143, and nothing is left.
stop_server() {
    local status
    kill -TERM "$server_pid"
    wait "$server_pid"
    status=$?
    if [ "$status" = 143 ] && [ ! -e "$scratch/port" ]; then ok "$1"; else
        not_ok "$1" "status $status
$(cat "$scratch/server.err")"
    fi
}

# A test that fails half-way must not leave its server behind.
finish_server() {
    local result=$?
    [ "$BASHPID" = "$$" ] || return # a background command that was hit before it became one
    if [ -n "$server_pid" ] && kill "$server_pid" 2>/dev/null; then wait "$server_pid"; fi
    (exit "$result") # finish looks at it
    finish
}
trap finish_server EXIT
