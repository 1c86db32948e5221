#!/bin/bash
# The conformance suite of the protocol, with all that each revision requires of a server.
. tests/cli/lib.sh
. tests/mcp/lib.sh
need_local
need_clients

serve --no-auth # the suite cannot send a token
suite=$packages/@modelcontextprotocol/conformance/dist/index.js
for revision in 2025-11-25 2026-07-28; do
    # Its status is of no use: it counts the scenarios that a server of tools alone cannot take part in.
    timeout -k 5 "$LIMIT" "$node" "$suite" server --url "$url" --requirements "$revision" -o "$scratch/$revision" \
        >"$scratch/$revision.log" 2>&1
    check "$revision: the suite has run" grep -q '=== SUMMARY ===' "$scratch/$revision.log"
    script conformance "$scratch/$revision" "$revision"
done
stop_server "the server ends"
nothing_left "no sandbox is left"
