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

# Many small files are not a command each: the listing, 256 together, the others, and one that is large.
mkdir "$scratch/many" "$scratch/many/sub"
for number in $(seq 300); do echo "number $number" >"$scratch/many/$number"; done
: >"$scratch/many/empty"
seq 100000 >"$scratch/many/large"
printf 'a\0\377' >"$scratch/many/sub/with 'quotes' and"$'\n'"lines"
run -q upload "${provider[@]}" --sandbox-id "$id" -r "$scratch/many" many
: >"$count"
run --json download "${provider[@]}" --sandbox-id "$id" -r many "$scratch/came"
check "many files come" test "$status" = 0
check "byte for byte" diff -r "$scratch/many" "$scratch/came"
check "by four commands" test "$(wc -l <"$count")" = 4
run -q exec "${provider[@]}" --sandbox-id "$id" -- 'mkdir few; cd few; for i in 1 2 3 4 5; do echo "number $i" >$i; done; echo >6'
run --json download "${provider[@]}" --sandbox-id "$id" -r --max-bytes 29 few "$scratch/few"
judge_json "within a bound come those that fit" 1 '[.results[] | select(.error == null).bytes] == [9, 9, 9, 1]'
check "and no byte more" test "$(cat "$scratch"/few/* | wc -c)" = 28
"$SANDLOT" -q delete "${provider[@]}" "$id" >/dev/null
