#!/bin/sh
# What is special about the provider `scaffold`, beyond what `make check` looks at. Its argument is the sandlot command.
set -eu

sandlot=$1
folder=$(mktemp -d)
id=
trap '[ -z "$id" ] || "$sandlot" delete --sandbox scaffold "$id" >/dev/null; rm -rf "$folder"' EXIT
install -m 644 scaffold.so "$folder/"
export SANDLOT_PLUGIN_PATH="$folder"

equal() { # NAME WANTED GOT
    [ "$2" = "$3" ] || { echo "not ok $1: wanted '$2', got '$3'"; exit 1; }
    echo "ok $1"
}

equal "a command runs" 42 "$("$sandlot" exec --sandbox scaffold -- 'echo $((6 * 7))')"
id=$("$sandlot" create --sandbox scaffold)
"$sandlot" exec --sandbox scaffold --sandbox-id "$id" -- 'echo kept >file'
equal "files stay from command to command" kept "$("$sandlot" exec --sandbox scaffold --sandbox-id "$id" -- cat file)"
