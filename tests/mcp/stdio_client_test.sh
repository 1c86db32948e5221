#!/bin/bash
# The official clients against `sandlot mcp` over standard input and output, in both eras of the protocol.
. tests/cli/lib.sh
. tests/mcp/lib.sh
need_local
need_clients

script stdio_client "$SANDLOT" mcp
nothing_left "no sandbox is left once the clients have closed"
