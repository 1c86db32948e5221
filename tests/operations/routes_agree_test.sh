#!/bin/bash
# The same commands in two sandboxes with the same files, one reached directly and one by commands alone: every answer, errors and
# their texts too, is the same to the byte.
# shellcheck disable=SC1091,SC2034,SC2154,SC2016,SC2088
. "$(dirname "$0")/derived.sh"

first=$("$SANDLOT" -q create --sandbox local </dev/null)
second=$("$SANDLOT" -q create --sandbox only_execute </dev/null)
check "two sandboxes" test -n "$first" -a -n "$second"

# both SCRIPT: runs it in the two
both() {
    "$SANDLOT" -q exec --sandbox local --sandbox-id "$first" -- "$1" </dev/null >"$scratch/one" 2>&1 &&
        "$SANDLOT" -q exec --sandbox only_execute --sandbox-id "$second" -- "$1" </dev/null >"$scratch/two" 2>&1 ||
        not_ok "a script in both sandboxes" "$1
$(cat "$scratch/one" "$scratch/two")"
}

# agree COMMAND ARGUMENT...: as JSON and as text; the text on standard error too
agree() {
    local form
    for form in --json -q; do
        timeout 60 "$SANDLOT" $form "$1" --sandbox local --sandbox-id "$first" "${@:2}" \
            <"${input:-/dev/null}" >"$scratch/one" 2>"$scratch/one.err"
        echo "status $?" >>"$scratch/one"
        timeout 60 "$SANDLOT" $form "$1" --sandbox only_execute --sandbox-id "$second" "${@:2}" \
            <"${input:-/dev/null}" >"$scratch/two" 2>"$scratch/two.err"
        echo "status $?" >>"$scratch/two"
        if cmp -s "$scratch/one" "$scratch/two" && cmp -s "$scratch/one.err" "$scratch/two.err"; then
            ok "agree: $form $*"
        else
            not_ok "agree: $form $*" "$(diff <(cut -c 1-2000 "$scratch/one" "$scratch/one.err") <(cut -c 1-2000 "$scratch/two" "$scratch/two.err"))"
        fi
    done
}

both 'mkdir -p d/sub d/.hidden d/locked many odd && printf "a\nb\r\nc\rd" >d/mixed && printf "a\n\n" >d/lines && : >d/empty && printf "\n" >d/newline &&
    seq 3000 >d/long && printf "x\377\376\n" >d/bytes && { seq 4000; printf "bad \377\n"; } >d/late && printf "text\n" >d/picture.PNG &&
    head -c 600000 /dev/zero >d/large.bin && { head -c 700000 /dev/zero | tr "\0" y; printf "\nnext\n"; } >d/wide &&
    awk "BEGIN { for (i = 0; i < 60000; i++) printf \"line %d of a long file\\r\\n\", i }" >d/crlf &&
    awk "BEGIN { for (i = 0; i < 600000; i++) print \"line\", i, \"of a very long file\" }" >d/huge &&
    awk "BEGIN { for (i = 0; i < 90000; i++) printf \"line %d with CR\\r\", i }" >d/cr &&
    printf "a\000b\000\n" >d/nul && ln -s mixed d/link && ln -s nowhere d/broken && ln -s loop d/loop && mkfifo d/pipe && printf "s\n" >d/secret && chmod 000 d/secret &&
    : >d/locked/x && chmod 000 d/locked && : >"odd/new
line" && : >"odd/sp ace" && : >"odd/-x" && : >"$(printf "odd/\377")" && printf "one two\none two\r\n" >d/edit && printf "    deep indent\n" >d/indent &&
    ln -s ../d/sub odd/todir && ln -s ../d/empty odd/tofile && ln -s /etc odd/abs && ln -s ../../../../etc/passwd odd/up && seq 300 | sed "s/^/many\/f/" | xargs touch &&
    find . -exec touch -h -d "2026-01-02 03:04:05" {} + 2>/dev/null; true'

for path in d/mixed d/lines d/empty d/newline d/long d/bytes d/late d/picture.PNG d/large.bin d/wide d/crlf d/huge d/cr d/nul d/link d/broken d/loop d/pipe d/secret \
    d d/locked/x d/mixed/x d/mixde d/nothing/here missing many/f30x "$(printf 'n%.0s' {1..300})" '' . .. '~' /proc/version /proc/cpuinfo /dev/null /nowhere; do
    agree read "$path"
done
for offset in 1 2 1999 2999 3000 3001 59999 60000 600000 100000000; do
    agree read d/long --offset $offset --limit 3
    agree read d/huge --offset $offset --limit 3
    agree read d/crlf --offset $offset --limit 2
    agree read d/cr --offset $offset --limit 2
    agree read d/wide --offset $offset --limit 3
done
agree read d/late --offset 3998
agree read d/long --limit 0
agree read d/empty --limit 0
agree read d/bytes --limit 0
for path in . d odd many d/sub d/empty d/link d/broken d/locked d/loop d/missing odd/todir '' ..; do agree ls "$path"; done
for pattern in '*' '**' '*.PNG' 'd/*' '**/*' '.*' '**/.*/**' 'odd/?*' '[mn]*' '{d,odd}/*' 'many/f[0-9]' '/d/l*' 'd/' '..' '' '{a' '[z' 'f?0' '*e*'; do
    agree glob "$pattern"
    agree glob "$pattern" --dirs
    agree glob "$pattern" d
done
for path in d/empty d/locked d/missing odd/todir d/loop d/broken; do agree glob '*' "$path"; done
for text in line 'line 5999' a one '' 'x' 'no such text' '-x' '.*' 'long file'; do
    agree grep "--glob=*" --max-count=50 -- "$text"
    agree grep --glob 'd/l*' --max-count 20 -- "$text"
    agree grep --max-count 7 -- "$text" d/edit
done
for path in d/secret d/locked d/missing d/pipe d/link odd/todir d/nul d/bytes d/broken; do agree grep --max-count 5 -- a "$path"; done
agree edit d/edit --old one --new 1
agree edit d/edit --old absent --new 1
agree edit d/edit --old '' --new 1
agree edit d/edit --old 'one two
one' --new 1
agree edit d/indent --old '  	deep indent' --new 1
agree edit d/indent --old '1  deep indent' --new 1
agree edit d/indent --old 'deep indent

' --new 1
agree edit d/bytes --old x --new 1
agree edit d/huge --old 'line' --new 1
agree edit d/huge --old 'absent' --new 1
agree edit d/secret --old s --new 1
agree edit d --old s --new 1
agree edit d/missing --old s --new 1
agree edit d/pipe --old s --new 1
agree edit d/loop --old s --new 1
agree edit d/edit --old 'one' --new 'first' --replace-all
agree read d/edit
printf 'some content\n' >"$scratch/content"
input=$scratch/content
for path in w/new d d/locked/new d/mixed/x d/secret d/pipe d/loop d/broken "$(printf 'n%.0s' {1..300})" /proc/version /etc/new / '' .. '~/x' /dev/null; do agree write "$path"; done
input=
agree read w/new
agree ls w/new
for path in d/missing d/broken d/locked/x d/locked d/mixed/x / . .. '' /workspace /proc/version /etc/passwd odd many; do agree rm "$path"; done
agree glob '*'
for path in /workspace/d/missing /workspace/d /workspace/d/secret relative /workspace/d/pipe /workspace/d/loop; do agree download "$path" "$scratch/down"; done
for path in /workspace/d /workspace/d/locked/y relative /workspace/d/mixed/x /workspace/d/secret /workspace/d/pipe /proc/version /workspace/../x /workspace/new/deep; do agree upload "$scratch/content" "$path"; done

"$SANDLOT" -q delete --sandbox local "$first" >/dev/null
"$SANDLOT" -q delete --sandbox only_execute "$second" >/dev/null
