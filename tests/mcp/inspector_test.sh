#!/bin/bash
# The MCP inspector, which passes all arguments as it was given them, over both transports.
. tests/cli/lib.sh
. tests/mcp/lib.sh
need_local
need_clients

# shellcheck disable=SC2034 # show prints them
inspect() { # inspect ARGUMENT...: runs the inspector; sets $out as run does
    ran="inspector $*"
    timeout -k 5 "$LIMIT" "$node" "$packages/@modelcontextprotocol/inspector/clients/launcher/build/index.js" --cli "$@" \
        >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    out=$(cat "$scratch/out")
    err=$(cat "$scratch/err")
}

answers() { # answers NAME FILTER: the inspector was content, and the jq FILTER is true of what it printed
    if [ "$status" = 0 ] && [ "$(jq -r "$2" <"$scratch/out" 2>&1)" = true ]; then ok "$1"; else not_ok "$1" "$(show)"; fi
}

cases() { # cases LABEL TARGET...
    local label=$1
    shift
    inspect "$@" --method tools/list
    answers "$label: tools/list" '[.tools[].name] | sort == ["delete","edit_file","execute","glob","grep","ls","process","read_file","write_file"]'
    inspect "$@" --method tools/call --tool-name execute --tool-arg 'command=echo "a  b" | tr a-z A-Z'
    answers "$label: execute" '.content[0].text == "A  B\n[Command succeeded with exit code 0]"'
    inspect "$@" --method tools/call --tool-name execute --tool-arg 'command=exit 0' --tool-arg timeout=5
    answers "$label: a number that was typed" '(.isError // false) == false'
}

cases stdio "$SANDLOT" mcp

token=0123456789abcdef-of-the-test
printf '%s' "$token" >"$scratch/token"
serve --token-file "$scratch/token"
cases http "$url" --transport http --header "Authorization: Bearer $token"
stop_server "the server ends"
nothing_left "no sandbox is left"
