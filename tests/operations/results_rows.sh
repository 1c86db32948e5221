# shellcheck shell=bash disable=SC1091,SC2034,SC2154,SC2016
# What comes home of a folder that was imported, on any provider: NAME_test.sh chooses the kind of sandbox ($provider, $making) and calls
# results_rows.

results_in_box() {
    "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "cd '$results_place' && $1" </dev/null >"$scratch/in_box" 2>&1 ||
        not_ok "a script in the sandbox: $1" "$(cat "$scratch/in_box")"
}

results_rows() {
    local base=$scratch/imported results_place
    mkdir -p "$base/src/deep" "$base/left/out"
    printf 'one\n' >"$base/a.txt"
    printf 'two\n' >"$base/src/b c.txt"
    printf 'deep\n' >"$base/src/deep/c.txt"
    printf 'a\0b' >"$base/binary"
    printf 'x\n' >"$base/left/out/x"
    printf '#!/bin/sh\n' >"$base/tool" && chmod 755 "$base/tool"
    printf 'odd\n' >"$base/$(printf 'new\nline')"
    printf 'back\n' >"$base/back\\slash"
    ln -s a.txt "$base/link"
    mkdir "$base/empty"
    run -q --json create "${provider[@]}" "${making[@]}"
    id=$("$fast_jq" -r .id <"$scratch/out") results_place=$("$fast_jq" -r .working_dir <"$scratch/out")
    json "without an import nothing tells what was there" 1 '.error == "not_supported" and (.message | contains("sandlot import"))' diff "${provider[@]}" "$id"
    json "import" 0 '.files == 7 and .bytes == 35 and .id != ""' import "${provider[@]}" "$id" "$base" --exclude left
    check "what is remembered is the user's alone" test "$(stat -c %a "$XDG_STATE_HOME"/sandlot/ledger/*.base)" = 600
    json "nothing has changed (C1)" 0 '.changes == []' diff "${provider[@]}" "$id"
    results_in_box "cat 'src/b c.txt' tool >/dev/null && [ -x tool ] && [ \"\$(readlink link)\" = a.txt ] && [ -d empty ] && [ ! -e left ]"
    results_in_box 'rm a.txt && printf "one\n" >a.txt && touch tool'
    json "the same bytes are no change (C2)" 0 '.changes == []' diff "${provider[@]}" "$id"
    results_in_box 'echo more >>a.txt; printf "a\0c" >binary; rm -r src/deep; echo new >"src/n w.txt"; chmod -x tool; rm link; ln -s tool link; mkdir -p left && echo no >left/no; rmdir empty; printf "ODD\n" >"$(printf "new\nline")"'
    json "what has changed" 0 \
        '(.changes | map([.path, .kind])) == [["link","modified"],["new\nline","modified"],["tool","mode"],["a.txt","modified"],["binary","modified"],["empty","removed"],["src/deep","removed"],["src/deep/c.txt","removed"],["src/n w.txt","added"]] and
         (.changes[] | select(.path == "binary") | .binary)' diff "${provider[@]}" "$id"
    json "only some paths" 0 '.changes | map(.path) == ["src/deep","src/deep/c.txt","src/n w.txt"]' diff "${provider[@]}" "$id" src
    cp -R "$base" "$scratch/patched"
    run -q export "${provider[@]}" "$id" --output "$scratch/work.patch"
    check "a patch" test "$status" = 0
    if command -v git >/dev/null; then
        (cd "$scratch/patched" && git apply "$scratch/work.patch") >"$scratch/out" 2>&1 || not_ok "git applies it" "$(show)"
        check "the patch has the bytes" test "$(cat "$scratch/patched/a.txt")" = "$(printf 'one\nmore')" -a ! -e "$scratch/patched/src/deep"
    fi
    expect "a tar" 0 "*" "" export "${provider[@]}" "$id" --output "$scratch/work.tar"
    check "the tar has the bytes" test "$(tar -xOf "$scratch/work.tar" "src/n w.txt")" = new
    json "no folder to apply to, by its reason" 1 '.error == "file_not_found" and (.message | contains("No such file"))' apply "${provider[@]}" "$id" "$scratch/nowhere"
    json "nor is a file one" 1 '.error == "not_a_directory"' apply "${provider[@]}" "$id" "$base/a.txt"
    echo host >"$base/a.txt"
    json "a file that was changed here too (C13)" 1 '.error == "conflict" and (.left_out | map(.path) == ["a.txt"])' apply "${provider[@]}" "$id" --risky
    check "nothing was written" test -d "$base/src/deep"
    json "apply, with that one forced" 0 '.left_out == [] and (.applied | length == 9)' apply "${provider[@]}" "$id" --risky --force a.txt
    check "the bytes are there" test "$(cat "$base/a.txt")" = "$(printf 'one\nmore')" -a ! -e "$base/src/deep" -a ! -x "$base/tool" -a "$(readlink "$base/link")" = tool
    check "what was left out stays as it is" test "$(ls "$base/left")" = out
    json "what was applied differs no more" 0 '.changes == []' diff "${provider[@]}" "$id"
    results_in_box 'echo again >>a.txt'
    json "work goes on, and applies again without a conflict" 0 '.applied | map(.path) == ["a.txt"]' apply "${provider[@]}" "$id"
    results_in_box 'rm binary; echo box >"src/b c.txt"'
    rm "$base/binary" "$base/src/b c.txt"
    expect "a patch of what went here" 0 "*" "*" export "${provider[@]}" "$id"
    check "brings that back, and has nothing of what went on both sides" test "$(grep -E '^(diff|new|\+box)' "$scratch/out")" = "$(printf '%s\n' 'diff --git a/src/b c.txt b/src/b c.txt' 'new file mode 100644' +box)"
    results_in_box 'echo box >a.txt; rm "src/n w.txt" && mkdir "src/n w.txt" && echo >"src/n w.txt/1"'
    rm "$base/a.txt" "$base/src/n w.txt" && mkdir -p "$base/a.txt/kept"
    json "a folder of this machine that stands in the way stays, also with --force; where nothing stands nothing is in the way" 1 \
        '(.left_out | map(.path) == ["a.txt"]) and (.applied | map(.path) == ["binary","src/b c.txt","src/n w.txt","src/n w.txt/1"])' \
        apply "${provider[@]}" "$id" --risky --force a.txt --force "src/b c.txt"
    results_in_box 'mkdir shut && echo 1 >shut/1 && chmod 0 shut && echo new >open.txt'
    json "a folder that cannot be looked into hides nothing else" 0 \
        '(.changes | map(.path)) as $paths | ($paths | index("open.txt")) and ($paths | index("shut")) and ($paths | index("shut/1") | not) and (.changes[] | select(.path == "shut") | .risk | contains("cannot be looked into"))' diff "${provider[@]}" "$id"
    results_in_box 'chmod 755 shut && rm -r shut open.txt'
    results_in_box 'mkdir barred && ln -s barred way'
    rm -rf "$scratch/again" && mkdir "$scratch/again" && ln -s target "$scratch/again/barred"
    json "no link is imported into a folder of its name" 3 '.message | contains("barred")' import "${provider[@]}" "$id" "$scratch/again"
    results_in_box '[ -z "$(ls barred)" ]'
    rm "$scratch/again/barred" && mkdir "$scratch/again/way" && echo 1 >"$scratch/again/way/1"
    json "what is imported through a link of the sandbox is not there" 1 '.error == "conflict" and (.message | contains("way"))' import "${provider[@]}" "$id" "$scratch/again"
    run -q delete "${provider[@]}" "$id"
    check "what was remembered goes with the sandbox" test -z "$(find "$XDG_STATE_HOME/sandlot/ledger" -name '*.base')"
}
