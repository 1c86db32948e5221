#!/bin/bash
# Every operation on files, by commands alone, in a tree with thousands of links: nothing may be missing, within the time that the
# operation itself allows. With SANDLOT_TEST_SLOW a tree of 100,000 entries, 10,000 of them links.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/derived.sh"
LIMIT=900 # the tree itself takes a while to make, and so does bringing all of it down

folders=80 files=100 flat=1000 flat_links=1000 some=100
[ -z "${SANDLOT_TEST_SLOW:-}" ] || folders=100 files=900 flat=100000 flat_links=10000
links=$((folders * 100))

# tree: each of the folders has files and, in l, a hundred links to them. flat: files, and links to nothing.
make_tree="mkdir -p tree flat && cd flat && seq $flat | xargs touch && seq 200001 $((200000 + flat_links)) | sed s,^,x/, | xargs sh -c 'ln -s \"\$@\" .' x || exit
cd ../tree
i=0
while [ \$((i += 1)) -le $folders ]; do
mkdir -p \$i/l && cd \$i && touch \$(seq $files) && echo needle >1 && ln -s \$(seq 100 | sed s,^,../,) l && cd .. || exit
done"

# What is about one file of a folder with all these: the folder must not be gone through for it, or in time.
one_of_many() {
    input=$scratch/text op 0 '.path == "flat/text"' "$way: write makes a file" write flat/text
    op 0 '.content == "one\ntwo"' "$way: read has it" read flat/text
    op 0 '.occurrences == 1' "$way: edit changes it" edit flat/text --old two --new 2
    op 0 '.content == "one\n2"' "$way: by its change" read flat/text
    error_row file_not_found flat/texd "$way: what is not there is not found" read flat/texd
    op 0 '.error == null' "$way: rm removes it" rm flat/text
}

# Small files that go up into that folder, a command for many of them.
some_beside_many() {
    local number pairs=()
    for number in $(seq $some); do pairs+=("$scratch/text" "flat/new$number"); done
    run -q upload "${provider[@]}" --sandbox-id "$id" "${pairs[@]}"
    check "$way: files go up beside them" test "$status" = 0
    op 0 "(.entries | length) == $((flat + flat_links + some)) and ([.entries[] | select((.path | contains(\"/new\")) and .size == 8)] | length) == $some" "$way: all of these are there" ls flat
}

# tree ARGUMENT...: looks at both, and brings $down down, unless it is empty
tree() {
    id=$("$SANDLOT" -q create "${provider[@]}" "$@" </dev/null)
    run -q exec "${provider[@]}" --sandbox-id "$id" -- "$make_tree"
    check "$way: the tree is made" test "$status" = 0
    op 0 ".truncated == false and (.matches | length) == $links" "$way: glob finds all links" glob '*/l/*' tree
    op 0 ".truncated == false and (.matches | length) == $((folders * 2))" "$way: glob finds a file and the links to it" glob 7 tree
    op 0 ".truncated == false and (.matches | length) == $folders" "$way: grep finds each file once" grep needle tree
    op 0 "(.entries | length) == $((flat + flat_links)) and (.entries | map(select(.is_symlink)) | length) == $flat_links" "$way: ls lists all" ls flat
    one_of_many
    [ -z "$down" ] || run -q download "${provider[@]}" --sandbox-id "$id" -r "$down" "$scratch/$way"
    [ -z "$down" ] || check "$way: all come down" test "$status $(find "$scratch/$way" -type f | wc -l)" = "0 $flat"
    some_beside_many
    for each in tree flat; do op 0 '.error == null' "$way: rm removes $each" rm "$each"; done
    run -q exec "${provider[@]}" --sandbox-id "$id" -- '[ -z "$(ls)" ]'
    check "$way: and nothing is left" test "$status" = 0
    "$SANDLOT" -q delete "${provider[@]}" "$id" >/dev/null
}

provider=(--sandbox only_execute)
printf 'one\ntwo\n' >"$scratch/text"
way=gnu down=
tree
way=busybox down=flat # once: the host's side is the same
busybox_root "$scratch/root"
tree --param "rootfs=$scratch/root"

# How many lines there are may be for somebody in a sandbox to say: as JSON each takes no more memory than what is written.
where=--sandbox=local
id=$("$SANDLOT" -q create "$where" </dev/null)
"$SANDLOT" -q exec "$where" --sandbox-id "$id" -- 'yes x | head -c 1000000 >short' </dev/null
# of_lines KIB: "STATUS LINES" of all of them as JSON, within so much memory
of_lines() {
    (ulimit -v "$1" && exec "$SANDLOT" --json grep "$where" --sandbox-id "$id" x short >"$scratch/out" 2>"$scratch/err" </dev/null)
    echo "$? $(grep -o '"line"' "$scratch/out" | wc -l)"
}
check "the memory of many lines" test "$(of_lines 400000)" = "0 500000"
for memory in 80000 70000 60000 50000 40000; do
    counted=$(of_lines "$memory")
    check "$memory KiB are enough for all, or for none: $counted" grep -qxE '0 500000|1 0' <<<"$counted"
done
check "which is told" grep -q "memory" "$scratch/err"
