#!/bin/bash
# LangChain's adapter for JavaScript, with a model that follows a script: what it reads is the text of the tools and nothing else. And
# what docs/agents.md prints for an agent that has tools of the same names already.
. tests/cli/lib.sh
. tests/mcp/lib.sh
need_local
need_clients

script langchain "$SANDLOT" mcp

# printed: the program, with this command, and then the names of the tools that it has
printed() {
    awk '/^```js$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/agents.md | sed "s|/usr/local/bin/sandlot|$SANDLOT|"
    echo 'console.log(tools.map(tool => tool.name).sort().join(" "))'
    echo 'await client.close()'
}
printed >"$js/printed.mjs"
names=$(timeout -k 5 "$LIMIT" "$node" "$js/printed.mjs" 2>"$scratch/err")
check "docs/agents.md: every tool has the prefix" test "$names" = "$(printf 'sandlot__%s ' delete edit_file execute glob grep ls process read_file write_file | sed 's/ $//')"
nothing_left "no sandbox is left once the client has closed"
