#!/bin/bash
# A thousand calls, many at once, some cancelled: nothing is lost, mixed up or left behind.
. tests/cli/lib.sh
. tests/mcp/lib.sh
need_local
need_clients

script load "$SANDLOT" mcp
nothing_left "no sandbox is left"
