#!/bin/bash
# What comes home of a box that began as a folder of this machine: diff, export and apply over its overlay, row by row
# (C1 to C18), and that applying to the folder below a living box changes nothing that the box sees.
# shellcheck disable=SC1091,SC2154,SC2016
. tests/cli/lib.sh
need_local
command -v git >/dev/null || { echo "git is not installed"; exit 77; }

# begin NAME [COMMAND]: a folder, in which COMMAND is run, and a box over it; sets $base and $id
begin() {
    base=$scratch/base.$1
    mkdir -p "$base/src/deep" "$base/gone/sub" "$base/half"
    printf 'one\n' >"$base/a.txt"
    printf 'two\n' >"$base/src/b.txt"
    printf 'deep\n' >"$base/src/deep/c.txt"
    printf '1\n' >"$base/gone/1"
    printf '2\n' >"$base/gone/sub/2"
    printf 'h1\n' >"$base/half/1"
    printf 'h2\n' >"$base/half/2"
    printf 'run\n' >"$base/tool"
    printf 'a\0b' >"$base/binary"
    printf '{"scripts":{"a":"b"},"dependencies":{}}' >"$base/package.json"
    chmod -R u=rwX,go=rX "$base"
    (cd "$base" && eval "${2:-}")
    id=$("$SANDLOT" -q create --param "workspace=$base") || exit 2
}
in_box() { "$SANDLOT" -q exec --sandbox-id "$id" -- "$1" </dev/null >"$scratch/in_box" 2>&1 || not_ok "a script in the box: $1" "$(cat "$scratch/in_box")"; }
end() { "$SANDLOT" -q delete "$id" >/dev/null; }
# All that the box sees, and all of a folder: names, kinds, execute bits, digests, targets.
tree='find . -mindepth 1 ! -path "./.sandlot*" \( -type f -perm -u+x -printf "%P x " -exec sha256sum {} \; -o -type f -printf "%P f " -exec sha256sum {} \; -o -type l -printf "%P l %l\n" -o -type d -printf "%P d\n" -o -printf "%P %y\n" \) | sort'
# The same without folders, of which git knows none.
files=${tree/'-o -type d -printf "%P d\n"'/-o -type d}
box_tree() { "$SANDLOT" -q exec --sandbox-id "$id" -- "${1:-$tree}"; }
tree_of() { (cd "$1" && sh -c "${2:-$tree}"); }
changes() { jq -c '[.changes[] | [.path, .kind]]' <"$scratch/out"; }
# change PATH FILTER: the change of PATH in what was listed last
change() { jq -e --arg path "$1" ".changes[] | select(.path == \$path) | $2" <"$scratch/out" >/dev/null; }

# ---- C1, C2 ----
begin first
json "C1: nothing has changed" 0 '.changes == [] and (.base | endswith("base.first"))' diff "$id"
expect "C1: and no patch" 0 "" "*" export "$id"
expect "C1: nothing to apply" 0 "" "*" apply "$id"
in_box 'rm a.txt && printf "one\n" >a.txt && touch src/b.txt && mv src/deep src/other && mv src/other src/deep'
json "C2: the same bytes are no change, whatever was done in between" 0 '.changes == []' diff "$id"

# ---- C3 ----
in_box 'rm -r gone half && mkdir half && printf "h1\n" >half/1 && mv src/deep moved && mkdir -p new/empty'
json "C3: folders that were replaced, removed and renamed" 0 true diff "$id"
wanted='[["gone","removed"],["gone/1","removed"],["gone/sub","removed"],["gone/sub/2","removed"],["half/2","removed"],["moved","added"],["moved/c.txt","added"],["new","added"],["new/empty","added"],["src/deep","removed"],["src/deep/c.txt","removed"]]'
check "C3: each path once, and what is missing as removed" test "$(changes)" = "$wanted"
box_tree >"$scratch/before"
expect "C3: applied" 0 "*" "*" apply "$id"
tree_of "$base" >"$scratch/folder"
check "C3: the folder is what the box sees" cmp -s "$scratch/before" "$scratch/folder"
box_tree >"$scratch/after"
check "to apply changes nothing that the living box sees" cmp -s "$scratch/before" "$scratch/after"
json "what was applied differs no more" 0 '.changes == []' diff "$id"
in_box 'echo more >>moved/c.txt'
json "ruling 2: work goes on, and applies again" 0 '.applied == [] or (.applied | length == 1)' apply "$id"
in_box 'echo more >>moved/c.txt'
json "ruling 2: and again, without a conflict" 0 '.applied | map(.path) == ["moved/c.txt"]' apply "$id"
in_box 'mkdir -p made/deep && echo 1 >made/deep/1 && echo 2 >made/2'
json "a folder of the box's own is applied" 0 '.applied | length == 4' apply "$id"
in_box 'rm -r made/deep made/2 && echo 3 >made/3'
json "what was removed of it since is told" 0 '.changes | map([.path, .kind]) == [["made/2","removed"],["made/3","added"],["made/deep","removed"],["made/deep/1","removed"]]' diff "$id"
json "and applied" 0 '.applied | length == 4' apply "$id"
check "the folder has what the box has" test "$(ls -A "$base/made")" = 3
end

# ---- C4, C5, C8, C9, C10 ----
begin risks
in_box 'chmod +x tool; ln -s /etc/passwd out; ln -s ../x up; ln -s src/b.txt in; rm a.txt; ln -s tool a.txt
    mkdir -p sub bare/objects bare/refs; ln -s .. sub/parent; ln -s sub/parent/../x through; echo "ref: x" >bare/HEAD
    mkdir -p .git/hooks && echo x >.git/hooks/pre-commit; mkfifo pipe; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"listener\")"; echo s >setuid; chmod 4755 setuid
    printf %s "{\"scripts\":{\"a\":\"b\"},\"dependencies\":{\"x\":\"1\"}}" >package.json'
json "C4 to C10: what to look at" 0 true diff "$id"
check "C4: an execute bit is a change of mode" change tool '.kind == "mode" and .old_mode == "0644" and .new_mode == "0755" and .risk != null'
check "C5: a link out by an absolute target" change out '.type == "symlink" and .link_target == "/etc/passwd" and (.risk | contains("leads out"))'
check "C5: a link out by .." change up '.risk | contains("leads out")'
check "C5: a link out by another link" change through '.risk | contains("leads out")'
check "C8: what makes a folder a repository" change bare/HEAD '.risk | contains("repository")'
check "C5: a link within" change in '.risk == "a symbolic link"'
check "C5: a file became a link" change a.txt '.kind == "type" and .type == "symlink"'
check "C8: what lies in .git comes first" test "$(jq -r '.changes[0].path' <"$scratch/out")" = .git
check "C9: other parts of package.json are harmless" change package.json '.risk == null'
check "C10: a pipe is listed" change pipe '.type == "fifo" and .risk != null'
check "C10: so is a socket" change listener '.type == "socket" and .risk != null'
check "C10: a set-user-id file" change setuid '.new_mode == "0755"'
in_box 'printf %s "{\"scripts\":{\"a\":\"c\"},\"dependencies\":{\"x\":\"1\"}}" >package.json'
json "C9: scripts are not" 0 '.changes[] | select(.path == "package.json") | .risk | contains("scripts")' diff "$id"
in_box 'cp package.json kept; (printf "{\"scripts\":["; yes {}, | head -c 8000000 | tr -d "\n"; printf "{}]}") >package.json'
"$SANDLOT" -q diff "$id" --stat >"$scratch/out"
check "C9: one that is larger than any counts as different" grep -q "^! .*package.json.*scripts" "$scratch/out"
mebibytes=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)' "$SANDLOT" -q diff "$id" --stat)
check "C9: and is not read into memory" test "$mebibytes" -lt 800
in_box 'mv kept package.json'
json "risks are left out, status 1" 1 '(.applied | all(.type == "directory")) and (.left_out | length > 5) and .error == "permission_denied"' apply "$id"
check "and nothing was written" test ! -e "$base/in"
expect "--dry-run tells" 1 "*" "" apply "$id" --dry-run --risky
check "and writes nothing" test ! -e "$base/in"
json "C5, C8, C10: --risky leaves out what is never taken over" 1 \
    '(.left_out | map(.path) | sort) == [".git",".git/hooks",".git/hooks/pre-commit","listener","out","pipe","through","up"]' apply "$id" --risky
check "C5: the link within is there" test "$(readlink "$base/in")" = src/b.txt
check "C5: and the one that was a file" test "$(readlink "$base/a.txt")" = tool
check "C4: the bit is there" test -x "$base/tool"
check "C10: the file without its bit" test "$(stat -c %a "$base/setuid")" = 755
check "C8: no .git" test ! -e "$base/.git"
end

# ---- files are opened together: what becomes of one is not another's ----
begin many
in_box 'mkdir many && for i in $(seq 70); do echo $i >many/f$i; done && chmod 0 many/f40'
json "of seventy one cannot be read" 0 \
    '[.changes[] | select(.risk != null)] | map(.path) == ["many/f40"] and (.[0].risk | contains("cannot be opened in the sandbox"))' diff "$id"
json "and that one is left out" 1 '(.applied | length == 70) and (.left_out | map(.path) == ["many/f40"])' apply "$id"
check "each of the others has its own bytes" test "$(cd "$base/many" && seq 70 | grep -vx 40 | while read -r i; do [ "$(cat "f$i")" = "$i" ] || echo "$i"; done)" = ""
end

# ---- a folder that the box closed hides nothing else ----
begin closed
in_box 'echo box >a.txt; mkdir new && echo 1 >new/1 && chmod 0 new; echo box >src/b.txt && chmod 444 src; rm gone/1 && chmod 0 gone'
json "what a folder has that cannot be looked into is not told as removed; all else is" 0 \
    '.changes | map([.path, .kind, .risk == null]) == [["a.txt","modified",true],["gone","modified",false],["new","added",false],["src","modified",false]]' diff "$id"
check "it is said" change new '.risk | contains("cannot be looked into")'
json "also where only what lies in it is asked for" 0 '.changes | map(.path) == ["src"]' diff "$id" src/b.txt
expect "in a patch it is left out, as is said" 0 "*" "src" export "$id"
json "and so in the folder" 1 '(.applied | map(.path) == ["a.txt"]) and (.left_out | map(.path) == ["gone","new","src"])' apply "$id"
check "where it stays as it was" test -e "$base/gone/1" -a ! -e "$base/new"
in_box 'chmod 755 new src gone'
json "until it is opened" 0 '.applied | map(.path) | sort == ["gone/1","new","new/1","src/b.txt"]' apply "$id"
end

# ---- C6, C13 ----
begin conflicts
in_box 'echo box >src/b.txt; echo box >a.txt; echo box >half/1; rm half/2'
mv "$base/src" "$base/elsewhere" && ln -s "$base/elsewhere" "$base/src"
json "C6: a path through a link of this machine is refused, the others go on" 1 \
    '(.left_out | map(.path) | index("src/b.txt")) and (.applied | map(.path) | index("a.txt"))' apply "$id" --risky
check "C6: nothing was written through it" grep -qx two "$base/elsewhere/b.txt"
rm "$base/src" && mv "$base/elsewhere" "$base/src" && touch "$base/src"
in_box 'echo again >a.txt'
until_true 60 sh -c 'echo host >"$1/a.txt"; echo host >"$1/half/1"; true' sh "$base"
json "C13: a conflict" 1 '.error == "conflict" and .applied == [] and (.left_out | map(.path) == ["a.txt","half/1"])' apply "$id"
check "C13: nothing was written" grep -qx host "$base/a.txt"
json "C13: it is said" 0 '[.changes[] | select(.conflict) | .path] == ["a.txt","half/1"]' diff "$id"
json "C13: single ones can be forced" 1 '.error == "conflict" and (.left_out | map(.path) == ["half/1"])' apply "$id" --force a.txt
json "C13: all of them" 0 '.applied | map(.path) | index("half/1") != null' apply "$id" --force a.txt --force half/1
check "C13: written" grep -qx again "$base/a.txt"
end

# ---- an older folder in the place of one that the box changed ----
begin moved 'echo old >half/c.txt'
in_box 'echo box >src/b.txt; echo box >src/deep/c.txt; echo new >src/deep/new; rm gone/1; echo box >a.txt'
mv "$base/src" "$base/was" && mkdir "$base/src" && mv "$base/half" "$base/src/deep"
touch "$base/gone/3" && mv "$base/was/deep" "$scratch/elsewhere"
expect "applied are: what comes, what lies beside what came in the folder, and no file of another one that lies there now" 1 "*" "c.txt" apply "$id"
json "that is a conflict" 0 '.changes | map(select(.conflict).path) == ["src/deep/c.txt"]' diff "$id"
rm -r "$base/src/deep" && mv "$scratch/elsewhere" "$base/src/deep"
json "also of the folder that was there, put back" 0 '.changes | map(select(.conflict).path) == ["src/deep/c.txt"]' diff "$id"
json "which can be forced" 0 '.applied | length == 5' apply "$id" --force src/deep/c.txt
end

# ---- what stands or falls together ----
begin together 'ln a.txt twin; ln -s src way; chmod +x tool'
in_box 'chmod +x a.txt'
json "a mode is applied" 0 '.applied | map(.path) == ["a.txt"]' apply "$id" --risky
check "and the file's other name, which the box left alone, keeps its own" test -x "$base/a.txt" -a ! -x "$base/twin"
in_box 'rm way && mkdir way && echo 1 >way/1'
json "a link that became a folder" 0 '.applied | map([.path, .kind]) == [["way","type"],["way/1","added"]]' apply "$id"
check "stands there" test ! -L "$base/way" -a -e "$base/way/1" -a ! -e "$base/src/1"
in_box 'rm -r half gone && ln -s src half && ln -s / gone && rm tool && mkdir tool && echo 1 >tool/1 && echo new >src/b.txt'
json "what came or went only with a risk is left out with it, the others go on" 1 \
    '(.left_out | map(.path) | sort == ["gone","gone/1","gone/sub","gone/sub/2","half","half/1","half/2","tool","tool/1"]) and (.applied | map(.path) == ["src/b.txt"])' apply "$id"
check "and all of it is as it was" test -f "$base/half/1" -a -f "$base/gone/sub/2" -a -x "$base/tool"
json "so is what is named alone" 1 '.applied == [] and (.left_out | map(.path) == ["tool/1"])' apply "$id" "$base" tool/1
json "--risky takes it, but not what goes with a link that leads out" 1 \
    '(.left_out | map(.path) | sort == ["gone","gone/1","gone/sub","gone/sub/2"]) and (.applied | length == 5)' apply "$id" --risky
check "the rest is there" test -L "$base/half" -a -e "$base/tool/1" -a -f "$base/gone/1"
expect "nor has a patch the half of it" 0 "" "*" export "$id"
end

# ---- C7 ----
begin names
odd=$(printf 'od\377')
in_box 'echo box >"$(printf "od\377")"'
echo host >"$base/$odd"
json "ruling 6: a name that is no UTF-8, in base64 too" 1 '.error == "conflict" and any(.left_out[]; .path_base64 == "b2T/")' apply "$id" --risky
json "ruling 6: --force takes that" 0 'any(.applied[]; .path_base64 == "b2T/")' apply "$id" --risky --force b2T/
in_box 'echo more >"$(printf "od\377")"'
until_true 60 sh -c 'echo host >"$1"; true' sh "$base/$odd"
json "ruling 6: and the bytes" 0 'any(.applied[]; .path_base64 == "b2T/")' apply "$id" --risky --force "$odd"
rm "$base/$odd"
end
begin names
in_box 'printf x >"$(printf "new\nline")"; printf x >"$(printf "esc\033[31m")"; printf x >"$(printf "bidi\342\200\256")"; printf x >"$(printf "bad\377")"; printf x >Case; printf x >case'
expect "C7: names are shown escaped" 0 "*" "*" diff "$id" --stat
check "C7: no escape sequence" test "$(grep -c "$(printf '\033')" "$scratch/out")" = 0
json "C7: all are risky, and told whole" 0 \
    '(.changes | length == 6) and all(.changes[]; .risk != null) and any(.changes[]; .path_base64 == "YmFk/w==")' diff "$id"
"$SANDLOT" -q export "$id" --format tar 2>/dev/null | tar -C "$(mkdir -p "$scratch/names" && echo "$scratch/names")" -xf -
check "C7: a tar has them right" test -e "$scratch/names/$(printf 'bad\377')" -a -e "$scratch/names/$(printf 'new\nline')"
mkdir "$scratch/patched" && cp -R "$base/." "$scratch/patched" && (cd "$scratch/patched" && "$SANDLOT" -q export "$id" 2>/dev/null | git apply)
check "C7: and a patch" test -e "$scratch/patched/$(printf 'bad\377')" -a -e "$scratch/patched/$(printf 'new\nline')"
end

# ---- C11, C12 ----
begin patches
in_box 'mkdir "sp " && : >"sp /empty"; printf "a\0c" >binary; echo three >>src/b.txt; rm gone/1; printf "no end" >src/deep/c.txt; : >empty; chmod +x tool; mkdir -p new && echo n >new/n; echo 2 >"two words"
    rm -r half && echo file >half; rm a.txt && mkdir a.txt && echo in >a.txt/in'
mkdir "$scratch/git" && cp -R "$base/." "$scratch/git"
expect "C11: a patch, with what is binary" 0 "*" "*" export "$id" --output "$scratch/work.patch"
(cd "$scratch/git" && git apply "$scratch/work.patch") >"$scratch/out" 2>&1 || not_ok "C12: git applies it" "$(show)"
box_tree "$files" >"$scratch/box"
tree_of "$scratch/git" "$files" >"$scratch/folder"
check "C12: the folder is what the box has, modes too" cmp -s "$scratch/box" "$scratch/folder"
check "C12: a tab ends a name with a space, for patch(1)" grep -q "^+++ b/two words$(printf '\t')\$" "$scratch/work.patch"
mkfifo "$scratch/pipe"; : >"$scratch/kept"; chmod 600 "$scratch/kept"; ln -s kept "$scratch/way"
exec 9<>"$scratch/pipe"
expect "export into a pipe" 0 "*" "*" export "$id" --output "$scratch/pipe"
expect "export onto a file that a link leads to" 0 "*" "*" export "$id" --output "$scratch/way"
check "a link stays one, and the file keeps who may read it" test "$(readlink "$scratch/way") $(stat -c %a "$scratch/kept")" = "kept 600"
check "a pipe stays one" test -p "$scratch/pipe"
dd bs=64k count=1 <&9 >"$scratch/piped" 2>/dev/null
exec 9<&-
"$SANDLOT" -q export "$id" --output /dev/stdout 2>/dev/null </dev/null | cmp -s - "$scratch/piped" || not_ok "a pipe without a name" "it got nothing, or other bytes"
check "and gets the same bytes" cmp -s "$scratch/piped" "$scratch/kept"
cp -R "$base/." "$scratch/copy"
expect "apply to a copy" 0 "*" "*" apply "$id" "$scratch/copy" --risky
box_tree >"$scratch/box"
tree_of "$scratch/copy" >"$scratch/folder"
check "apply to a copy: the same" cmp -s "$scratch/box" "$scratch/folder"
check "and the folder below the box is untouched" grep -qx one "$base/a.txt"
in_box 'truncate -s 100M large'
expect "C11: too large for a patch, by name" 1 "" "'large' is larger than 64 MiB" export "$id"
expect "C11: nor does what it has no blocks for fill this disk" 0 "*" "*" apply "$id" "$(mkdir "$scratch/holes" && echo "$scratch/holes")" large
check "C11: its holes stay holes" test "$(stat -c '%s %b' "$scratch/holes/large")" = "104857600 0"
json "C11: which the list has all the same" 0 '.changes[] | select(.path == "large") | .new_bytes == 104857600' diff "$id"
expect "C11: a tar takes it" 0 "*" "*" export "$id" --output "$scratch/work.tar" large
check "C11: whole" test "$(tar -tvf "$scratch/work.tar" large | awk '{print $3}')" = 104857600
check "C11: with holes" test "$(stat -c %b "$scratch/work.tar")" -lt 1000
check "the tar begins with its list" test "$(tar -tf "$scratch/work.tar" | head -n 1)" = SANDLOT-CHANGES.json
in_box 'rm large'

# ---- C17 ----
mv "$base" "$base.away"
expect "C17: the folder is gone" 1 "" "$base" diff "$id"
json "C17: by its code" 1 '.error == "file_not_found"' apply "$id"
expect "C17: a tar needs none" 0 "*" "*" export "$id" --format tar --output "$scratch/gone.tar"
check "C17: with the changed files" sh -c 'tar -xOf "$1" src/b.txt | grep -qx three' sh "$scratch/gone.tar"
mv "$base.away" "$base"
end

# ---- C14 ----
if [ "$(id -u)" = 0 ] && mkdir "$scratch/small" && mount -t tmpfs -o size=512k sandlot "$scratch/small" 2>/dev/null; then
    begin full
    cp -R "$base/." "$scratch/small"
    in_box "yes | head -c 300000 >1.bin; cp 1.bin 2.bin"
    json "C14: a full disk stops it, and it says what was written" 1 '.error == "no_space" and (.applied | map(.path) == ["1.bin"])' apply "$id" "$scratch/small"
    check "C14: whole files only" test "$(find "$scratch/small" -name "*.bin" -o -name ".sandlot-*" | wc -l)" = 1
    umount "$scratch/small"
    end
else
    ok "C14 # SKIP no file system of its own can be mounted here"
fi

# ---- what was fetched does not outlive whoever fetched it ----
export TMPDIR=$scratch/temporary
mkdir -p "$TMPDIR/sandlot-stage-killed" "$TMPDIR/sandlot-stage-in-use"
echo fetched >"$TMPDIR/sandlot-stage-killed/0"
exec 9<"$TMPDIR/sandlot-stage-in-use" && flock 9
expect "gc" 0 "*" "*" gc
check "removes what a killed command has fetched, not what one works with" test "$(ls "$TMPDIR")" = sandlot-stage-in-use
exec 9<&-
begin staged
in_box 'echo more >>a.txt'
expect "so does the next one that fetches" 0 "*" "*" apply "$id"
check "and leaves nothing itself" test -z "$(ls "$TMPDIR")"
end
unset TMPDIR

# ---- C16, C18 ----
begin large
in_box 'd=.; for i in 1 2 3 4 5; do for j in 1 2 3 4 5 6 7 8 9 0; do d=$d/dddddddd; mkdir $d; done; done; cd $d; for i in 1 2 3 4 5; do for j in 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0; do mkdir e && cd e || exit; done; done'
expect "C18: too deep, by the path" 1 "" "too deep.*dddddddd|dddddddd.*too deep" diff "$id"
in_box 'rm -r dddddddd; echo x >>a.txt'
# A folder that cannot be read and in which nothing was changed: whoever walked the base would stumble over it.
mkdir "$base/locked" && chmod 0 "$base/locked"
if [ "$(id -u)" = 0 ]; then ok "C16 # SKIP nothing is locked for root"; else
    json "C16: of the base only what the box covers is looked at" 0 '.changes | map(.path) == ["a.txt"]' diff "$id"
fi
chmod 755 "$base/locked"
end

# ---- a box that swaps paths while it is looked at ----
begin swapping
"$SANDLOT" -q exec --sandbox-id "$id" --detach -- 'while :; do rm -rf s; echo file >s; rm -f s; ln -s /etc/passwd s; rm -f s; mkdir s; echo in >s/in; rm -rf s; mkfifo s; done' >"$scratch/process"
cp "$base/a.txt" "$scratch/wanted"
sound=true
for round in 1 2 3 4 5 6 7 8; do
    timeout -k 5 "$LIMIT" "$SANDLOT" -q diff "$id" --stat >"$scratch/out" 2>"$scratch/err" </dev/null
    [ $? -le 3 ] || sound=false
    timeout -k 5 "$LIMIT" "$SANDLOT" -q apply "$id" --risky --force s --force s/in >"$scratch/out" 2>"$scratch/err" </dev/null
    [ $? -le 3 ] || sound=false
    [ ! -L "$base/s" ] && [ ! -p "$base/s" ] || sound=false
done
check "paths that are swapped all the time: no link and no pipe comes out ($round rounds)" $sound
check "and all else is as it was" cmp -s "$base/a.txt" "$scratch/wanted"
check "no temporary file is left" test -z "$(find "$base" -name '.sandlot-*')"
end

# ---- random edits, the same for each seed ----
for seed in 1 2 3 4 5 6; do
    base=$scratch/random.$seed
    mkdir "$base" "$scratch/git.$seed" "$scratch/copy.$seed"
    python3 tests/local/results_edits.py "$base" "$seed" 60
    cp -R "$base/." "$scratch/git.$seed" && cp -R "$base/." "$scratch/copy.$seed"
    id=$("$SANDLOT" -q create --param "workspace=$base") || exit 2
    "$SANDLOT" -q exec --sandbox-id "$id" --stdin -- "cat >/tmp/edits.py && python3 /tmp/edits.py . 10$seed 80" <tests/local/results_edits.py >"$scratch/out" 2>&1 ||
        not_ok "seed $seed: edits in the box" "$(cat "$scratch/out")"
    box_tree >"$scratch/box"
    run -q export "$id" --output "$scratch/random.patch"
    (cd "$scratch/git.$seed" && { [ ! -s "$scratch/random.patch" ] || git apply "$scratch/random.patch"; }) >"$scratch/out" 2>&1 || not_ok "seed $seed: git applies it" "$(show)"
    tree_of "$scratch/git.$seed" "$files" >"$scratch/folder"
    box_tree "$files" >"$scratch/box_files"
    check "seed $seed: git apply of the patch gives what the box has" cmp "$scratch/box_files" "$scratch/folder"
    run -q apply "$id" "$scratch/copy.$seed" --risky
    tree_of "$scratch/copy.$seed" >"$scratch/folder"
    check "seed $seed: so does apply to a copy" cmp "$scratch/box" "$scratch/folder"
    run -q apply "$id" --risky
    tree_of "$base" >"$scratch/folder"
    check "seed $seed: and apply to the folder below the box" cmp "$scratch/box" "$scratch/folder"
    box_tree >"$scratch/after"
    check "seed $seed: of which the box notices nothing" cmp "$scratch/box" "$scratch/after"
    end
done

# ---- other ways to make a box ----
expect "without a folder there is no base" 1 "" "sandlot import" diff --scope results-none
run -q delete --scope results-none
base=$scratch/base.memory
mkdir "$base" && echo one >"$base/a" && echo two >"$base/b"
id=$("$SANDLOT" -q create --param "workspace=$base" --param storage=memory)
in_box 'echo more >>a; rm b'
json "in memory: all is compared" 0 '.changes | map([.path, .kind]) == [["a","modified"],["b","removed"]]' diff "$id"
end
