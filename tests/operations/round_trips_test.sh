#!/bin/bash
# Where only commands reach the files, each operation is one command in the sandbox.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/derived.sh"

count=$scratch/count
provider=(--sandbox only_execute --param "count_file=$count")
id=$("$SANDLOT" -q create "${provider[@]}" </dev/null)
check "a sandbox" test -n "$id"

# one NAME COMMAND ARGUMENT...: it works, and takes one command
one() {
    local name=$1 command=$2
    shift 2
    : >"$count"
    run --json "$command" "${provider[@]}" --sandbox-id "$id" "$@"
    check "$name works" test "$status" = 0
    check "$name is one command" test "$(wc -l <"$count")" = 1
}

printf 'one\ntwo\n' >"$scratch/text"
input=$scratch/text one "write" write folder/file
one "read" read folder/file
one "edit" edit folder/file --old one --new 1
one "ls" ls folder
one "grep" grep two
one "glob" glob '*'
one "upload" upload "$scratch/text" /workspace/up
one "download" download /workspace/up "$scratch/down"
one "rm" rm folder
one "exec" exec -- true
: >"$count"
run --json read "${provider[@]}" --sandbox-id "$id" missing
check "a failure too" test "$status $(wc -l <"$count")" = "1 1"
"$SANDLOT" -q delete "${provider[@]}" "$id" >/dev/null
