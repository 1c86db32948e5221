#!/bin/bash
# A file of a few blocks that says it is large takes no more room on this machine than it does in the box, and a download
# never more than it was allowed. First where this machine opens the box's files itself, then through commands alone.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/derived.sh"

# round NAME SCRIPT: what SCRIPT makes in the box as `sparse` comes back as it is, holes and all
round() {
    local name="$way: $1"
    run exec "${provider[@]}" --sandbox-id "$id" -- "rm -f sparse; $2; sha256sum <sparse"
    check "$name: made" test "$status" = 0
    local sum=$out
    rm -f "$scratch/sparse"
    expect "$name: it comes" 0 "*" "*" download "${provider[@]}" --sandbox-id "$id" /workspace/sparse "$scratch/sparse"
    check "$name: as it was" test "$(sha256sum <"$scratch/sparse")" = "$sum"
    check "$name: with its holes" test "$(du -k "$scratch/sparse" | cut -f 1)" -lt 2000
}

# SIZE: of the holes, in MiB
holes() {
    round "a hole at the end" "echo beginning >sparse; truncate -s $1M sparse"
    round "a hole before data" "truncate -s $1M sparse; echo end >>sparse"
    round "holes between data" "for i in 1 2 3; do head -c 5000 /dev/urandom >>sparse; truncate -s +$(($1 / 4))M sparse; done; echo end >>sparse"
    round "nothing but a hole" "truncate -s $1M sparse"
}

# get ARGUMENT...: downloads to $scratch/got
get() {
    rm -rf "$scratch/got"
    mkdir "$scratch/got"
    run download "${provider[@]}" --sandbox-id "$id" --json "$@"
}

# What has come, by name and size, with whatever else lies about.
came() { (cd "$scratch/got" && find . -type f -printf '%P:%s\n' | sort | paste -sd ' '); }

bounds() {
    local to=$scratch/got
    run exec "${provider[@]}" --sandbox-id "$id" -- 'mkdir -p few; cd few; for n in 1000 3000 1048 900; do head -c $n /dev/urandom >b$n; done; truncate -s 1G huge'
    get --max-bytes 2K few/b1000 "$to/a" few/b3000 "$to/b" few/b1048 "$to/c" few/b900 "$to/d"
    check "$way: a file beyond the bound is an error" test "$status" = 1
    check "$way: of its own" test "$(jq -c '[.results[].error]' <<<"$out")" = '[null,"too_large",null,"too_large"]'
    check "$way: in words" test "$(jq -r '.results[1].message' <<<"$out" | grep -c '2048 bytes.*max-bytes')" = 1
    check "$way: and the others come" test "$(came)" = "a:1000 c:1048"
    get -r --max-bytes 10M few "$to/few"
    check "$way: one of a folder" test "$(came)" = "few/b1000:1000 few/b1048:1048 few/b3000:3000 few/b900:900"
    check "$way: is told" test "$status:$(jq -c '[.results[] | select(.error == "too_large") | .path]' <<<"$out")" = '1:["/workspace/few/huge"]'
    get --max-bytes 1M few/huge "$to/huge"
    check "$way: a hole counts" test "$status:$(jq -r '.results[0].error' <<<"$out"):$(came)" = "1:too_large:"
    get --max-bytes 10 /proc/version "$to/version"
    check "$way: a file that says it is empty" test "$status:$(jq -r '.results[0].error' <<<"$out"):$(came)" = "1:too_large:"
    rm -f "$scratch/out"
    "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" --max-bytes 2K few/b1000 - few/b3000 - >"$scratch/out" 2>/dev/null
    check "$way: to standard output" test "$?:$(wc -c <"$scratch/out")" = 1:1000
}

way=native
provider=(--sandbox local)
id=$("$SANDLOT" -q create --sandbox local </dev/null)
holes 80
expect "up again" 0 "*" "*" upload --sandbox-id "$id" "$scratch/sparse" /workspace/again
expect "with its hole" 0 "yes" "*" exec --sandbox-id "$id" -- '[ "$(du -k again | cut -f 1)" -lt 2000 ] && cmp sparse again && printf yes'
rm -f "$scratch/holes"
echo beginning >"$scratch/holes" && truncate -s 80M "$scratch/holes" && echo end >>"$scratch/holes"
expect "a file with two names" 0 "" "*" -q exec --sandbox-id "$id" -- 'head -c 3000000 /dev/urandom >one; ln one two'
expect "is written over" 0 "*" "*" upload --sandbox-id "$id" "$scratch/holes" /workspace/one
expect "with the holes, as one file" 0 "yes" "*" exec --sandbox-id "$id" -- '[ "$(du -k one | cut -f 1)" -lt 2000 ] && [ one -ef two ] && printf yes'
expect "and nothing of the old content" 0 "$(sha256sum <"$scratch/holes")" "*" exec --sandbox-id "$id" -- 'sha256sum <two'
head -c 100 /dev/zero >"$scratch/full"
expect "to a file that is there" 0 "*" "*" download --sandbox-id "$id" /workspace/sparse "$scratch/full"
check "which is replaced" cmp "$scratch/sparse" "$scratch/full"
bounds
expect "cp knows the bound" 1 "*" "more than the 2048 bytes" cp --max-bytes 2K "$id:few/b3000" "$scratch/copy"
check "cp leaves nothing" test ! -e "$scratch/copy"
for wrong in 0 -1 5X K 1KK 9999999999G; do
    expect "--max-bytes $wrong" 2 "" "max-bytes takes a whole number" download "--max-bytes=$wrong" a b
done
expect "not for uploads" 2 "" "not for what goes into it" cp --max-bytes 1 "$scratch/sparse" "$id:up"
"$SANDLOT" -q delete "$id" >/dev/null

way=derived
provider=(--sandbox only_execute)
id=$("$SANDLOT" -q create --sandbox only_execute </dev/null)
holes 8
bounds
"$SANDLOT" -q delete --sandbox only_execute "$id" >/dev/null
