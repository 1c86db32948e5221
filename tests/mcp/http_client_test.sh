#!/bin/bash
# The official clients against `sandlot mcp --http`, in both eras of the protocol; what it refuses; how it ends.
. tests/cli/lib.sh
. tests/mcp/lib.sh
need_local
need_clients

usage "--port-file without --http" "goes with --http" mcp --port-file "$scratch/port"
usage "an address that is none" "ADDRESS:PORT" mcp --http nowhere:1
usage "an origin that is none" "--allow-origin takes" mcp --http --allow-origin agent.example
printf 'short\n' >"$scratch/token"
usage "a token that can be guessed, by other machines" "needs 16 at least" mcp --http 0.0.0.0:0 --token-file "$scratch/token"
: >"$scratch/empty"
usage "an empty token" "needs 1 to" mcp --http --token-file "$scratch/empty"

token=0123456789abcdef-of-the-test
printf '%s\n' "$token" >"$scratch/token"
serve --token-file "$scratch/token" --allow-origin https://agent.example
check "the URL is on standard error" grep -qx "sandlot: MCP server at $url" "$scratch/server.err"
check "a token that was given is not printed" test -z "$(grep -F "$token" "$scratch/server.err" "$scratch/server.out")"
script http_client "$url" "$token"
expect "a port that is taken" 1 "" "cannot listen on .*in use" mcp --http "127.0.0.1:$(cat "$scratch/port")" --no-auth
stop_server "SIGTERM ends it with 143"
check "nothing is on standard output" test ! -s "$scratch/server.out"
nothing_left "no sandbox is left"

unset SANDLOT_MCP_TOKEN
serve
made=$(sed -n 's/.*Authorization: Bearer \([0-9a-f]\{64\}\)$/\1/p' "$scratch/server.err")
ask() { script ping "$url" "$@"; } # the HTTP status of a ping, with a token or without
check "a token is made up, and wanted" test "$(ask) $(ask "$made")" = "401 200"
stop_server "SIGTERM ends a server that has no sandbox"

SANDLOT_MCP_TOKEN=$token serve
check "the token of the environment is wanted" test "$(ask) $(ask "$token")" = "401 200"
check "and not printed" test -z "$(grep -F "$token" "$scratch/server.err")"
stop_server "SIGTERM ends it"

SANDLOT_MCP_TOKEN=short serve
check "a short one is wanted where only this machine can try" test "$(ask) $(ask short)" = "401 200"
check "with a warning" grep -q "can guess it" "$scratch/server.err"
stop_server "SIGTERM ends that too"

serve --no-auth --idle-timeout 8 # what the first request takes at most on a busy machine
check "without --no-auth there is a token, with it there is none" test "$(ask)" = 200
check "a page of another port of this machine is refused then" test "$(ORIGIN=http://localhost:5173 ask)" = 403
check "an idle server ends by itself" until_true 5 eval "! kill -0 $server_pid 2>/dev/null"
wait "$server_pid"
check "with status 0" test $? = 0
