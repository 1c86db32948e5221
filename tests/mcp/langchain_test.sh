#!/bin/bash
# LangChain's adapter for JavaScript, with a model that follows a script: what it reads is the text of the tools and nothing else.
. tests/cli/lib.sh
. tests/mcp/lib.sh
need_local
need_clients

script langchain "$SANDLOT" mcp
nothing_left "no sandbox is left once the client has closed"
