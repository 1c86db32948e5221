#!/bin/bash
# The MCP server over its pipes: both eras, what is refused, limits, ends of every kind. Nothing but printf and jq drives it.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh sets the folders
. "$(dirname "$0")/lib.sh"

version='"io.modelcontextprotocol/protocolVersion":"2026-07-28"'
modern="\"_meta\":{$version,\"io.modelcontextprotocol/clientCapabilities\":{}}"
initialize='{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}'

# call ID TOOL ARGUMENTS [META]: a request for a tool.
call() { printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s%s}}' "$1" "$2" "$3" "${4:+,\"_meta\":$4}"; }

# talk ARGUMENT... <MESSAGES: one run of the server. Sets status; the answers are in $scratch/out.
talk() {
    ran="sandlot mcp $*"
    timeout -k 5 "$LIMIT" "$SANDLOT" mcp "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    out=$(head -c 4000 "$scratch/out")
    err=$(head -c 4000 "$scratch/err")
}

# said NAME FILTER: the jq FILTER is true for the array of all that came.
said() {
    if [ "$(jq -s "$2" "$scratch/out" 2>&1)" = true ]; then ok "$1"; else
        not_ok "$1" "not true: $2
$(show)"
    fi
}

# answers NAME FILTER MESSAGE...: what the messages get, without initialize before them.
answers() {
    local name=$1 filter=$2
    shift 2
    talk < <(printf '%s\n' "$@")
    if [ "$status" = 0 ] && [ "$(wc -l <"$scratch/out")" = "$(jq -c . "$scratch/out" | wc -l)" ]; then
        said "$name" "$filter"
    else
        not_ok "$name" "status $status, or not one line for each message
$(show)"
    fi
}

# ---- parts of Sandlot's own that are loaded when they are asked for ----

# A copy of the command, with modules that something is wrong with.
copy=$scratch/copy
module=$copy/modules/sandlot-mcp-http.so
mkdir -p "$copy/builtins" "$copy/modules"
cp "$SANDLOT" "$copy/sandlot"
lacks() {
    local SANDLOT=$copy/sandlot
    run mcp --http 127.0.0.1:0
    test "$status" = 3 -a -z "${err##*"$1"*}"
}
check "a module that is not installed" lacks "$module is not there; install all of Sandlot, or serve over standard input"
echo nothing >"$module"
check "one that is none" lacks "the HTTP transport cannot be loaded: $module: "
LC_ALL=C sed 's/libmicrohttpd\.so\.../libmicrohttpd.so.99/' "$BUILD/modules/sandlot-mcp-http.so" >"$module"
check "one whose library is not installed" lacks "--http needs the library libmicrohttpd (libmicrohttpd.so.99: "
installed=$("$SANDLOT" --version | grep -o '[0-9.]*')
LC_ALL=C sed "s/\x00$installed\x00/\x00${installed%?}x\x00/" "$BUILD/modules/sandlot-mcp-http.so" >"$module"
check "one of another version" lacks "$module is of version ${installed%?}x and this is sandlot $installed; install both"

# ---- without a sandbox ----

answers "ping before initialize, the id to the digit" '. == [{"jsonrpc":"2.0","id":"a","result":{}}]' '{"jsonrpc":"2.0","id":"a","method":"ping"}'
check "a large id keeps its digits" grep -qF '"id":9007199254740993,' <(printf '%s\n' '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}' | "$SANDLOT" mcp)
for each in 2024-11-05 2025-03-26 2025-06-18 2025-11-25; do
    answers "initialize with $each" ".[0].result | .protocolVersion == \"$each\" and .capabilities == {tools:{}} and
        .serverInfo.name == \"sandlot\" and (.instructions | length < 1500) and (has(\"resultType\") | not)" "${initialize/2025-06-18/$each}"
done
instructions() { printf '%s\n' "$initialize" | "$SANDLOT" mcp "$@" | jq -r .result.instructions; }
check "instructions say who, where and what" grep -q "uid 1000.* Linux .*may write in .*no network .*working directory is /workspace" <(instructions)
for each in off:false open:true; do
    talk --network "${each%:*}" < <(printf '%s\n' "$initialize" '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    said "commands without a network reach no world outside, ${each%:*}" '.[1].result.tools | map(select(.name == "execute").annotations.openWorldHint) == ['"${each#*:}]"
done
for each in fake_root=true confinement=landlock; do
    check "and with $each how to find out" grep -q "execute tells: id; " <(instructions --param "$each")
done
for each in 2026-07-28 1.0 nonsense; do
    answers "initialize with $each gets the newest" '.[0].result.protocolVersion == "2025-11-25"' "${initialize/2025-06-18/$each}"
done
answers "initialize without a version" '.[0].error.code == -32602 and .[0].id == 1' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
answers "initialize twice" 'map(.id) == ["init","init"] and all(.result)' "$initialize" "$initialize"
answers "a legacy request before initialize names the ways in" '.[0].error | .code == -32602 and (.message | contains("initialize"))' '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
answers "the list of tools" '.[1].result | (.tools | map(.name)) == ["ls","read_file","write_file","edit_file","glob","grep","execute","process","delete"]
    and (.tools[1].description | contains("Long lines are split") and contains("independent reads"))
    and (has("nextCursor") | not) and (has("ttlMs") | not)' "$initialize" '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
answers "no cursor is known" '.[1].error.code == -32602' "$initialize" '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}'
answers "methods of what is not announced" 'map(.error.code) == [null,-32601,-32601,-32601]' "$initialize" \
    '{"jsonrpc":"2.0","id":1,"method":"resources/list"}' '{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}' \
    '{"jsonrpc":"2.0","id":3,"method":"completion/complete"}'
answers "calls that only a programmer can mend" '.[1:] | map(.error.code) == [-32602,-32602,-32602,-32602,-32602]' "$initialize" \
    "$(call 1 nope '{}')" "$(call 2 ls '[]')" "$(call 3 ls '"x"')" '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{}}' "$(call 5 ls '{}' '{"progressToken":1.5}')"

answers "discover" ".[0].result | .resultType == \"complete\" and .supportedVersions == [\"2026-07-28\"] and .capabilities == {tools:{}} and
    (.ttlMs | type) == \"number\" and .cacheScope == \"public\" and ._meta[\"io.modelcontextprotocol/serverInfo\"].name == \"sandlot\"" \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{$modern}}"
answers "modern list without any beginning" '.[0].result | .ttlMs == 3600000 and .resultType == "complete" and (.tools | length) == 9' \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{$modern}}"
answers "modern requests are checked in order" 'map(.error.code) == [-32602,-32602,-32602,-32022,-32601,-32601]' \
    '{"jsonrpc":"2.0","id":1,"method":"server/discover"}' "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"x\",\"params\":{\"_meta\":{$version}}}" \
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"x\",\"params\":{${modern/\"2026-07-28\"/7}}}" \
    "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"x\",\"params\":{${modern/2026-07-28/2999-01-01}}}" \
    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"x\",\"params\":{$modern}}" "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\",\"params\":{$modern}}"
answers "what is served is told" '.[0].error.data == {"supported":["2026-07-28"],"requested":"2999-01-01"}' \
    "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"x\",\"params\":{${modern/2026-07-28/2999-01-01}}}"
answers "a subscription stands until the end" '(.[0] | .method == "notifications/subscriptions/acknowledged" and
    .params == {"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":7}}) and .[1].id == 7 and .[1].result.resultType == "complete"' \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"subscriptions/listen\",\"params\":{$modern}}"

answers "notifications are never answered" 'map(.id) == ["end"]' '{"jsonrpc":"2.0","method":"nope"}' '{"jsonrpc":"2.0","method":"tools/call","params":3}' \
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}' '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
    '{"jsonrpc":"2.0","id":5,"result":{}}' '{"jsonrpc":"2.0","id":"end","method":"ping"}'
answers "what is no JSON" 'map(.error.code) == [-32700,-32700,-32700] and all(has("id") | not)' 'junk' '{"jsonrpc":"2.0","id":1,' '"'$'\xff''"'
answers "what is no request" 'map(.error.code) == [-32600,-32600,-32600,-32600] and map(.id) == [null,9,null,null] and (.[0] | has("id") | not)' '17' \
    '{"id":9,"method":"ping"}' '{"jsonrpc":"2.0","id":null,"method":"ping"}' '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'
answers "a batch in its own revision" '.[1] | type == "array" and map(.id) == [1,null,2] and .[1].error.code == -32600' "${initialize/2025-06-18/2025-03-26}" \
    '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},5,{"jsonrpc":"2.0","id":2,"method":"ping"}]'
many_pings() { printf '[%s{"jsonrpc":"2.0","id":0,"method":"ping"}]' "$(printf '{"jsonrpc":"2.0","id":%d,"method":"ping"},' $(seq "$1"))"; }
answers "a batch of 1000" '.[1] | map(.id) == [range(1; 1000), 0]' "${initialize/2025-06-18/2025-03-26}" "$(many_pings 999)"
answers "a batch whose answers nobody could hold" 'map(.id) == ["init",null,8] and (.[1].error.message | test("at most 1000"))' "${initialize/2025-06-18/2025-03-26}" \
    "$(many_pings 1000)" '{"jsonrpc":"2.0","id":8,"method":"ping"}'
talk < <(printf '\r\n\n{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n{"jsonrpc":"2.0","id":2,"method":"pi\0ng"}\n{"jsonrpc":"2.0","id":3,"method":"ping"}')
said "CR, empty lines, NUL, a last line without newline" 'map(.id) == [1,null,3] and .[1].error.code == -32700'
talk < <(head -c 200000 /dev/zero | tr '\0' '[' && echo && head -c 20000000 /dev/zero | tr '\0' x && echo && echo '{"jsonrpc":"2.0","id":1,"method":"ping"}')
said "deep nesting and a line that is too long" 'map(.error.code) == [-32700,-32600,null] and .[2].id == 1'
check "no sandbox was made for all that" no_ledger

usage "an unknown provider" "no provider|unknown" mcp --sandbox nope
usage "an unknown parameter" "colour" mcp --param colour=red
usage "a missing setup script" "missing.sh" mcp --sandbox-setup "$scratch/missing.sh"
usage "a wrong way to create" "lazy or start" mcp --create later
usage "a wrong host" "claude" mcp --print-config emacs
usage "no configuration for an unknown provider" "no provider|unknown" mcp --print-config claude --sandbox nope
usage "nor with an unknown parameter" "colour" mcp --print-config claude --param colour=red
usage "nor with a bad value" "memory_mb" mcp --print-config codex --param memory_mb=much
usage "a volume without its place" "nosuch.*absolute" mcp --volume nosuch:relative
usage "nor with it" "nosuch.*absolute" mcp --print-config claude --volume nosuch:relative
usage "nor with a network that there is not" "off, allow or open" mcp --print-config claude --network nonsense
usage "nor with hosts that there are not" "no set @nosuch" mcp --print-config claude --allow @nosuch
usage "nor without its setup script" "missing.sh" mcp --print-config claude --sandbox-setup "$scratch/missing.sh"
usage "arguments" "takes no argument" mcp x
for each in claude cursor vscode; do
    run mcp --scope "a b" --print-config "$each"
    said "the configuration for $each" '.[0] | (.mcpServers // .servers).sandlot | .args == ["mcp","--scope","a b"] and (.command | startswith("/"))'
done
expect "the configuration for codex" 0 "*" "*" mcp --print-config codex
check "is TOML with a table" grep -qxF '[mcp_servers.sandlot]' "$scratch/out"
expect "the configuration for langchain" 0 "*" "*" mcp --print-config langchain
check "is a program with one session" grep -q "client.session" "$scratch/out"
check "the watcher is not in the help" test -z "$("$SANDLOT" help | grep -F mcp-watch)"

# ---- with a sandbox ----

need_local
answers "a command and its meta" '.[-1] | .id == 1 and .result.isError == false and (.result.content[0].text | startswith("hello\n")) and
    .result.content[-1]._meta["sandlot/exit_code"] == 0 and (.result | has("resultType") or has("_meta") | not)' "$initialize" "$(call 1 execute '{"command":"echo hello"}')"
nothing_left "the sandbox is deleted at the end of input"
answers "commands in another directory" 'map({(.id | tostring): .result}) | add | (.["1"].content[0].text | startswith("/tmp\n")) and
    (.["2"] | .isError and .content[-1]._meta["sandlot/error"] == "invalid_path")' "$initialize" \
    "$(call 1 execute '{"command":"pwd","cwd":"/tmp/"}')" "$(call 2 execute '{"command":"pwd","cwd":"../x"}')"
answers "a directory that is not there" '.[-1].result | .isError and (.content[0].text | contains("/nowhere")) and .content[-1]._meta["sandlot/error"] == "invalid_path"' \
    "$initialize" "$(call 1 execute '{"command":"true","workdir":"/nowhere"}')"
answers "a modern call" '.[0].result | .resultType == "complete" and ._meta["io.modelcontextprotocol/serverInfo"].name == "sandlot" and
    (._meta | has("sandlot/exit_code") | not) and .content[-1]._meta["sandlot/exit_code"] == 3' \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"execute\",\"arguments\":{\"command\":\"exit 3\"},$modern}}"
answers "calls in a batch" '.[1] | type == "array" and (map(.id) | sort) == [1,2] and all(.result.isError == false)' "${initialize/2025-06-18/2025-03-26}" \
    "[$(call 1 execute '{"command":"sleep 0.1"}'),$(call 2 ls '{}')]"
answers "a call that outlives the input is cut" '.[-1] | .id == 1 and .result.isError' "$initialize" "$(call 1 execute '{"command":"sleep 60"}')"
talk < <(printf '%s\n' "$initialize" "$(call 1 execute '{"command":"sleep 0.2; printf \"\\033[1mstep\\033[m\\n\"; sleep 2"}' '{"progressToken":"t"}')"; sleep 2.5)
said "progress, strictly growing, none after the answer" '(map(select(.method == "notifications/progress").params)) as $p | ($p | length) >= 1 and
    $p[0].progressToken == "t" and $p[0].progress >= 1 and $p[0].message == "step" and ($p | map(.progress)) == ($p | map(.progress) | unique) and .[-1].id == 1'
printf 'PASSPHRASE=correct horse\nSHORT=abc\n' >"$XDG_CONFIG_HOME/sandlot/.env"
answers "values of .env files are masked" '.[-1].result.content[0].text | startswith("*** abc")' "$initialize" "$(call 1 execute '{"command":"echo correct horse abc"}')"
rm "$XDG_CONFIG_HOME/sandlot/.env"
talk -v < <(printf '%s\n' "$initialize" "$(call 1 execute '{"command":"echo contents"}')")
check "-v notes calls" grep -q "execute, [0-9]* bytes of arguments: done" "$scratch/err"
check "but never contents" test -z "$(grep contents "$scratch/err")"

# A server that is spoken to while it runs: serve ARGUMENT..., say MESSAGE, hear FILTER, then an end.
serve() {
    rm -f "$scratch/in"
    mkfifo "$scratch/in"
    "$SANDLOT" mcp "$@" <"$scratch/in" >"$scratch/out" 2>"$scratch/err" &
    server=$!
    exec 7>"$scratch/in"
    say "$initialize"
}
say() { printf '%s\n' "$@" >&7; }
heard() { [ "$(jq -s "any(.[]; $1)" "$scratch/out" 2>/dev/null)" = true ]; }
hear() { until_true 20 heard "$1" || not_ok "waiting for an answer" "$1: $(cat "$scratch/out")"; }
ended() {
    exec 7>&-
    wait "$server" 2>/dev/null
    status=$?
}
running() { [ -n "$(pgrep -f "^sleep $1\$")" ]; }
sandbox_is_there() { [ "$(sandbox_count)" = 1 ]; }
not_running() { ! running "$1"; }

nap=87$$ # a number of seconds that nobody else sleeps
serve
say "$(call 1 execute '{"command":"echo ready"}')"
hear '.id == 1'
say "$(call 2 execute "{\"command\":\"sleep $nap & exec sleep $nap\"}")"
check "a command runs" until_true 10 running "$nap"
say "$(call 2 ls '{}')" "$(call 3 ls '{}')" '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"2"}}'
hear '.id == 3'
check "another call overtakes it" running "$nap"
hear '.id == 2 and .error.code == -32600'
say '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}'
check "cancelling ends the command and what it started" until_true 3 not_running "$nap"
for id in $("$SANDLOT" list --json | jq -r '.sandboxes[].id'); do "$SANDLOT" -q delete "$id" >/dev/null; done
say "$(call 4 ls '{}')"
hear '.id == 4'
say "$(call 5 ls '{}')"
hear '.id == 5'
ended
check "the end of input is status 0" test "$status" = 0
said "a cancelled call has no answer" 'map(select(.id == 2)) | length == 1 and .[0].error != null'
said "a lost sandbox is told once, then there is a new one" '(map(select(.id == 4))[0].result | .isError and .content[-1]._meta["sandlot/error"] == "sandbox_not_found") and
    (map(select(.id == 5))[0].result.isError | not)'
nothing_left "nothing is left after that"

for signal in TERM INT HUP KILL; do
    serve
    say "$(call 1 execute "{\"command\":\"echo x; exec sleep $nap\"}")"
    check "a command runs before SIG$signal" until_true 10 running "$nap"
    kill -"$signal" "$server"
    { sleep 0.05; } 2>/dev/null
    kill -TERM "$server" 2>/dev/null # hosts send more than one
    ended
    check "SIG$signal is status 128 + n" test "$status" = $((128 + $(kill -l "$signal")))
    nothing_left "nothing is left after SIG$signal"
    check "no command is left after SIG$signal" until_true 5 not_running "$nap"
done

# As some hosts do: the whole group gets SIGTERM, and the server SIGKILL a moment later.
set -m
serve
set +m
say "$(call 1 ls '{}')"
hear '.id == 1'
kill -TERM -- "-$server"
sleep 0.005
kill -KILL "$server" 2>/dev/null
ended
nothing_left "nothing is left when the host gives no time"

mkfifo "$scratch/answers"
"$SANDLOT" mcp <"$scratch/in" >"$scratch/answers" 2>"$scratch/err" &
server=$!
exec 7>"$scratch/in" 8<"$scratch/answers"
say "$initialize" "$(call 1 execute "{\"command\":\"exec sleep $nap\"}")"
check "a command runs before the reader goes" until_true 10 running "$nap"
exec 8<&-
ended
check "a reader that is gone is status 141" test "$status" = 141
nothing_left "nothing is left after the reader went"

# The parent ends without a word, and somebody keeps the pipe open.
rm -f "$scratch/in"
mkfifo "$scratch/in"
exec 7<>"$scratch/in"
say "$initialize" "$(call 1 ls '{}')"
# shellcheck disable=SC2016 # expanded by that shell
bash -c '"$1" mcp <"$2" >"$3" 2>/dev/null & echo $! >"$4"; sleep 0.5' - "$SANDLOT" "$scratch/in" "$scratch/out" "$scratch/pid"
gone() { ! kill -0 "$(cat "$scratch/pid")" 2>/dev/null; }
check "an orphan goes on for a moment" kill -0 "$(cat "$scratch/pid")"
check "an orphan ends" until_true 15 gone
exec 7>&-
nothing_left "nothing is left after the orphan"

serve --idle-timeout 1
say "$(call 1 execute '{"command":"sleep 1.5"}')"
hear '.id == 1'
said "work is not idleness" '.[-1].result.isError == false'
wait "$server"
status=$?
check "an idle server ends by itself" test "$status" = 0
exec 7>&-
nothing_left "nothing is left of an idle server"

# ---- background processes ----

serve
say "$initialize" "$(call 1 execute '{"command":"echo early; exit 3","background":true}')"
hear '.id == 1'
said "P24 what fails at once is answered at once" '.[-1].result | .isError == false and
    .content[0].text == "early\n[Command failed with exit code 3]" and .content[0]._meta["sandlot/exit_code"] == 3'
say "$(call 0 execute '{"command":"echo early; exit 3"}')"
hear '.id == 0'
said "P24 as without background" '[.[].result | select(.content) | .isError, .content[0].text, .content[0]._meta["sandlot/exit_code"]] | .[:3] == .[3:]'
say "$(call 2 execute '{"command":"echo one; read x; echo \"got $x\"; sleep 3000","run_in_background":true,"stdin":true}')"
hear '.id == 2'
said "a process goes on in the background" '.[-1].result.content[0] | .text == "one\n[Running in the background as p2. Use process to see more.]" and
    ._meta["sandlot/process"] == "p2" and ._meta["sandlot/next_offset"] == 4'
say "$(call 3 process '{}')"
hear '.id == 3'
said "P25 a list for who forgot the id" '.[-1].result.content[0].text | test("^p1 failed with exit code 3: echo early; exit 3\np2 is running, [0-9]+ s: echo one")'
say "$(call 4 process '{"id":"p2","wait":50}')"
say '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}'
say "$(call 5 process '{"id":"p2","wait":0,"offset":0}')"
hear '.id == 5'
said "P26 a look that is cancelled is not answered" 'all(.id != 4)'
say "$(call 6 process '{"id":"p2","input":"word\n","wait":50}')"
hear '.id == 6'
said "input arrives" '.[-1].result.content[0].text | startswith("got word\n[p2 is running")'
say "$(call 7 process '{"id":"p2","signal":"KILL"}')"
hear '.id == 7'
said "a signal ends it" '.[-1].result.content[0] | .text == "[p2 failed with exit code 137]" and ._meta["sandlot/exit_code"] == 137'
say "$(call 8 process '{"id":"p2","signal":"TERM","input":"x"}')" "$(call 9 process '{"id":"p7"}')"
hear '.id == 9'
hear '.id == 8'
said "what has ended can be sent anything" '.[] | select(.id == 8).result | .isError == false and .content[0].text == "[p2 failed with exit code 137]"'
# What is there already may be on its way when the cancellation comes: then it was told, else the next look tells it.
say "$(call 20 execute '{"command":"mkfifo bell; exec <>bell; while read x; do echo $x; done","background":true}')"
hear '.id == 20'
for number in 21 22 23 24 25 26; do
    say "$(call "${number}0" execute "{\"command\":\"echo word$number >bell; until grep -q word$number /tmp/.sandlot-processes/p3/o.0; do sleep 0.05; done\"}")"
    hear ".id == ${number}0"
    say "$(call "${number}1" process '{"id":"p3","wait":0}')" "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":${number}1}}"
    say "$(call "${number}2" process '{"id":"p3","wait":0}')"
    hear ".id == ${number}2"
    said "P26 nothing is lost by it, nor told twice" "[.[].result.content[0].text // \"\" | scan(\"(?m)^word$number\$\")] | length == 1"
done
say "$(call 30 process '{"id":"p3","input":"x"}')"
hear '.id == 30'
said "input for a process that takes none: how to start one that does" '.[-1].result | .isError and (.content[0].text | contains("stdin"))'
say "$(call 31 execute '{"command":"true","stdin":true}')"
hear '.id == 31'
said "stdin without background" '.[-1].result | .isError and (.content[0].text | contains("background"))'
say "$(call 32 execute '{"command":"cat; echo over","background":true,"stdin":true}')"
hear '.id == 32'
say "$(call 33 process '{"id":"p4","input":"last ","close_input":true,"wait":0}')"
hear '.id == 33'
said "the end of the input" '.[-1].result | .isError == false'
say "$(call 34 execute '{"command":"until [ -s /tmp/.sandlot-processes/p4/exit ] && read -r code x </tmp/.sandlot-processes/p4/exit && [ \"$code\" ]; do sleep 0.05; done"}')"
hear '.id == 34'
say "$(call 35 process '{"id":"p4","wait":0,"offset":0}')"
hear '.id == 35'
said "ends the process" '.[-1].result.content[0].text == "last over\n[p4 succeeded with exit code 0]"'
say "$(call 135 process '{"id":"p4","wait":0,"offset":-5}')"
hear '.id == 135'
said "an offset from the end leaves nothing out" '.[-1].result.content[0].text == "over\n[p4 succeeded with exit code 0]"'
say "$(call 36 execute '{"command":"sleep 3001","background":true}')"
hear '.id == 36'
say "$(call 37 execute '{"command":"read -r super x </tmp/.sandlot-processes/p5/super; kill -9 $super"}')"
hear '.id == 37'
say "$(call 38 process '{"id":"p5","wait":50}')"
hear '.id == 38'
said "one whose end nobody saw" '.[-1].result.content[0].text | test("^\\[p5 was lost: .*\\]$")'
say "$(call 140 execute '{"command":"printf \"caf\\303\"; until [ -e /tmp/go ]; do sleep 0.05; done; printf \"\\251\"; sleep 3001","background":true}')"
hear '.id == 140'
in_log='until [ \"$(wc -c </tmp/.sandlot-processes/p6/o.0)\" = '
say "$(call 141 execute "{\"command\":\"$in_log 4 ]; do sleep 0.05; done\"}")"
hear '.id == 141'
say "$(call 142 process '{"id":"p6","wait":0,"offset":0}')"
hear '.id == 142'
said "a character that has come in part is not told" '.[-1].result.content[0] | (.text | startswith("caf\n[p6 is running")) and ._meta["sandlot/next_offset"] == 3'
say "$(call 143 execute "{\"command\":\": >/tmp/go; $in_log 5 ]; do sleep 0.05; done\"}")"
hear '.id == 143'
say "$(call 144 process '{"id":"p6","wait":50}')"
hear '.id == 144'
said "but whole" '.[-1].result.content[0].text | startswith("é\n[p6 is running")'
calls=9
for each in '"input":"x"' '"close_input":true' '"signal":"TERM"' '"offset":0'; do
    calls=$((calls + 1))
    say "$(call "$calls" process "{$each}")"
    hear ".id == $calls"
    said "$each without an id" '.[-1].result | .isError and (.content[0].text | contains("needs id"))'
done
said "an unknown process" '.[] | select(.id == 9).result | .isError and (.content[0].text | contains("p1, p2"))'
ended
nothing_left "nothing is left of the processes"

# ---- more calls than run at a time ----

serve
mapfile -t many < <(for number in {1..192}; do call "$number" execute '{"command":"sleep 0.5"}' && echo; done)
say "${many[@]}"
all_answered() { [ "$(jq -s 'map(select(.id | numbers)) | length' "$scratch/out" 2>/dev/null)" = 192 ]; }
check "all of 192 calls are answered" until_true 60 all_answered
said "they wait, and none is refused" 'map(select(.id | numbers)) | all(.result.isError == false)'
ended

serve --create start
check "a sandbox is made at the start if wanted" until_true 10 sandbox_is_there
ended
nothing_left "and deleted at the end"

id=$("$SANDLOT" create)
talk --sandbox-id "$id" < <(printf '%s\n' "$initialize" "$(call 1 write_file '{"file_path":"note","content":"kept"}')")
said "an attached sandbox is used" '.[-1].result.isError == false'
expect "and stays" 0 "kept" "*" exec --sandbox-id "$id" -- cat note
"$SANDLOT" -q delete "$id" >/dev/null
talk --sandbox-id "$id" < <(printf '%s\n' "$initialize" "$(call 1 ls '{}')")
said "one that is gone is a result that says so" '.[-1].result | .isError and .content[-1]._meta["sandlot/error"] == "sandbox_not_found"'
talk --scope mcp-test < <(printf '%s\n' "$initialize" "$(call 1 write_file '{"file_path":"note","content":"kept"}')")
talk --scope mcp-test < <(printf '%s\n' "$initialize" "$(call 1 execute '{"command":"cat note"}')")
said "a scope keeps its files" '.[-1].result.content[0].text | startswith("kept")'

# ---- a slow vendor, and one that fails ----

delete_all
cp "$BUILD/tests/plugins/fake.so" "$plugins/" || exit 2
vendor=$scratch/vendor journal=$scratch/journal
mkdir "$vendor"
fake() { printf '%s\n' --sandbox fake --param "folder=$vendor" --param "journal=$journal" "$@"; }
created() { grep -c '^create ' "$journal" 2>/dev/null; }
vendor_is_empty() { [ -z "$(ls -A "$vendor")" ] && no_ledger; }

mapfile -t slow < <(fake --param create_delay_ms=1500)
serve "${slow[@]}"
say "$(call 1 execute '{"command":"echo one"}' '{"progressToken":7}')" "$(call 2 execute '{"command":"echo two"}')" "$(call 3 ls '{}')"
sleep 0.3
say '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}' '{"jsonrpc":"2.0","id":"now","method":"ping"}'
hear '.id == "now"'
said "ping is answered while the sandbox is made" 'map(.id | values) | .[:2] == ["init","now"]'
hear '.id == 1'
hear '.id == 2'
said "its making is told" 'any(.[]; .method == "notifications/progress" and .params.progressToken == 7 and (.params.message | startswith("creating sandbox")))'
said "a cancelled call does not cancel what others wait for" '(map(select(.id == 1 or .id == 2)) | all(.result.isError == false)) and all(.[]; .id != 3)'
check "concurrent first calls share one sandbox" test "$(created)" = 1
ended
check "it is deleted at the vendor" until_true 5 vendor_is_empty

rm "$journal"
serve "${slow[@]}" --param secret=hush-hush-4711
say "$(call 1 ls '{}')"
check "its making has begun" until_true 5 test -s "$journal"
sleep 0.3
kill -KILL "$server"
ended
check "killed while it was being made, the watcher finds it by its label" until_true 20 vendor_is_empty

rm "$journal"
mapfile -t failing < <(fake --param fail_create=exhausted)
serve "${failing[@]}"
say "$(call 1 ls '{}')"
hear '.id == 1'
say "$(call 2 ls '{}')"
hear '.id == 2'
ended
check "a failure is no end" test "$status" = 0
said "it is told as a result" '.[1:] | length == 2 and all(.result | .isError and .content[-1]._meta["sandlot/error"] == "quota")'
# opened at the start, to check its parameters, and for each call
check "the next call tried again" test "$(grep -c '^open' "$journal")" = 3
check "and nothing is left" vendor_is_empty
rm "$plugins/fake.so"

# ---- calls over HTTP whose clients have gone, which go on ----

"$SANDLOT" mcp --http 127.0.0.1:0 --no-auth --port-file "$scratch/port" </dev/null >/dev/null 2>&1 &
server=$!
until_true 10 test -s "$scratch/port"
port=$(cat "$scratch/port")
connections=()
for i in {1..10}; do
    message=$(call "$i" execute '{"command":"sleep 300"}')
    exec {connection}<>"/dev/tcp/127.0.0.1/$port"
    printf 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\nContent-Length: %s\r\n\r\n%s' \
        "$port" "${#message}" "$message" >&"$connection"
    connections+=("$connection")
done
streams() { for connection in "${connections[@]}"; do IFS= read -rt 60 line <&"$connection" && [[ $line == *" 200 "* ]] || return 1; done; }
held() { find "/proc/$server/fd" -lname '*\[eventfd\]' | wc -l; }
check "ten calls are told that they run" streams
waited=$(held)
for connection in "${connections[@]}"; do exec {connection}>&-; done
fewer() { [ "$(held)" -le $((waited - 10)) ]; }
check "without their clients nothing is held by which these were woken" until_true 20 fewer
kill "$server"
wait "$server"
check "the server ends, and its sandbox" test $? = 143
nothing_left "with what ran there"
