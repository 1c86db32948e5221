#!/bin/bash
# Snapshots and forks of local boxes: what they keep, what they share, what they may take, and what is left when somebody is killed.
# shellcheck disable=SC1091,SC2154,SC2016
. tests/cli/lib.sh
need_local
state=$XDG_STATE_HOME/sandlot/local
create() { "$SANDLOT" -q create --sandbox local "$@" </dev/null; }
box() { # ID SCRIPT: runs it there, and shows what it prints
    "$SANDLOT" -q exec --sandbox-id "$1" -- "$2" </dev/null
}
end() { "$SANDLOT" -q delete "$@" >/dev/null; }
is() { [ "$1" = "$2" ]; }
layers() { find "$state/layers" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }
layers_are() { [ "$(layers)" = "$1" ]; }
# fails NAME STATUS CODE TEXT ARGUMENT...: an error of that code, whose message has the text
fails() { json "$1" "$2" ".error == \"$3\" and (.message | test(\"$4\"))" "${@:5}"; }

# ---- what is kept ----
id=$(create) || exit 2
box "$id" 'echo one >f; ln f same; ln -s f link; mkfifo pipe; mkdir -p closed/in; echo z >closed/in/z; echo s >secret
    chmod 0 closed/in/z secret closed/in closed; truncate -s 100M hole; echo h >~/h; echo t >/tmp/t; mkdir /data; echo r >/data/r; chmod 750 /data
    [ -L /libx32 ] || ln -s workspace /libx32' || exit 2
stopping='for p in /proc/[0-9]*; do grep -lxz 7000.25 $p/cmdline >/dev/null 2>&1 && '
box "$id" 'for i in 1 2; do sleep 7000.25 & done'
box "$id" "$stopping"'kill -STOP ${p#/proc/} && break; done' || exit 2
"$SANDLOT" -q exec --sandbox-id "$id" --detach -- 'while :; do echo x >>~/grows; sleep 0.01; done' >/dev/null || exit 2
# A writer whose two files differ by one at most, at any moment; between them there is much to be copied.
"$SANDLOT" -q exec --sandbox-id "$id" --detach -- 'mkdir ~/between; (cd ~/between && seq 1000 | split -l 1 -a 4 -)
    while :; do i=$((i+1)); echo $i >one.new; mv one.new second; echo $i >/tmp/one.new; mv /tmp/one.new /tmp/first; done' >/dev/null || exit 2
writes() { box "$id" '[ -s /tmp/first ]'; }
until_true 60 writes
expect "a snapshot" 0 one "*" snapshot "$id" --name one
grown=$(box "$id" 'wc -l <~/grows')
test_grown() { [ "$(box "$id" 'wc -l <~/grows')" -gt "$grown" ]; }
check "what ran goes on" until_true 10 test_grown
check "what was stopped stays so, and nothing else is" \
    is "$(box "$id" "$stopping"'cut -d" " -f3 $p/stat; done' | sort | tr -d '\n')" ST
box "$id" 'echo later >f; rm link; echo later >/data/later'
check "modes are what they were" is "$(box "$id" 'stat -c %a closed secret | tr "\n" " "')" "0 0 "
end "$id"
first=$(create --sandbox-snapshot-name one) || not_ok "a box from the snapshot" "none"
check "L4: its files are there" is "$(box "$first" 'cat f same link ~/h /tmp/t /data/r; stat -c "%h %i" f same | uniq | cut -d" " -f1; stat -c "%A %F" /data; stat -c "%A %s" hole; [ -p pipe ] && echo pipe')" \
    "$(printf 'one\none\none\nh\nt\nr\n2\ndrwxr-x--- directory\n-rw-r--r-- 104857600\npipe')"
check "a link of its own in / too, named as one of a system that has more" is "$(box "$first" 'readlink /libx32')" "$(readlink /libx32 || echo workspace)"
check "none of the system's" is "$(find "$state/layers" -path '*/root/*' -prune -type l ! -name libx32)" ""
difference=$(box "$first" 'echo $(($(cat /tmp/first) - $(cat second)))')
check "of one moment" test "${difference#-}" -le 1
box "$first" 'rm -f second one.new'
check "closed ones too, as closed" is "$(box "$first" 'stat -c %a closed secret; chmod 700 closed closed/in; chmod 600 closed/in/z secret; cat closed/in/z secret' | tr '\n' ' ')" "0 0 z s "
check "and no process" is "$(box "$first" 'ls -d /proc/[0-9]* | wc -l' | awk '{ print ($1 < 8) }')" 1
box "$first" 'rm f same; echo mine >n; rm -r closed; echo other >~/h'
second=$(create --sandbox-snapshot-name one)
check "what one changes another does not see" is "$(box "$second" 'cat f ~/h; ls | grep -v one.new | tr "\n" " "')" "$(printf 'one\nh\nclosed f hole link pipe same second secret ')"
check "the hole is one still" test "$(du -sm "$state/layers" 2>/dev/null | cut -f1)" -lt 50

# ---- names and the list ----
json "they are listed, with their size" 0 '.snapshots | length == 1 and .[0].id == "one" and (.[0].state | test("^kept, [0-9.]+ mib$")) and .[0].created_at' snapshots --sandbox local
fails "L3: a name that is taken" 1 conflict replace snapshot "$first" --name one
expect "is replaced when that is wanted" 0 one "*" snapshot "$first" --name one --replace
check "its boxes keep what they began with" is "$(box "$second" 'cat f')" one
third=$(create --sandbox-snapshot-name one)
check "and new ones begin with the new one" is "$(box "$third" 'cat n ~/h; ls -d f closed 2>/dev/null')" "$(printf 'mine\nother')"
fails "a name that is none" 3 provider_error "no name for a snapshot" snapshot "$first" --name ../x
fails "a snapshot that is not there" 3 sandbox_not_found "no snapshot" create --sandbox local --sandbox-snapshot-name nothing
fails "a box that is not there" 3 sandbox_not_found "not found" snapshot box-aaaaaaaaaaaa --sandbox local
expect "deleting" 0 "*" "*" snapshots delete --sandbox local one nothing
check "boxes still have theirs" is "$(box "$second" 'cat f')$(box "$third" 'cat n')" onemine
end "$first" "$second" "$third"
check "what nobody needs goes with its last box" until_true 10 layers_are 0

# ---- forks ----
base=$scratch/base
mkdir -p "$base/sub" "$base/whole"
for name in kept removed sub/a sub/b whole/old; do echo "$name" >"$base/$name"; done
id=$(create --param "workspace=$base") || exit 2
box "$id" 'rm removed sub/a; rm -r whole; mkdir whole; echo new >whole/new; echo changed >kept; echo 0 >generation'
run snapshot "$id" --name over
check "a snapshot over a folder says so" grep -q "refers to the folder .*$base" "$scratch/err"
"$SANDLOT" -q export "$id" >"$scratch/original.patch"
ids=("$id")
failed=
for ((i = 1; i <= 34; i++)); do
    next=$("$SANDLOT" -q fork "$id" </dev/null) || failed="fork $i"
    [ "$i" = 1 ] || end "$id"
    id=$next
    box "$id" "[ \$(cat generation) = $((i - 1)) ] && echo $i >generation && echo $i >only.$i && { [ $i = 1 ] || rm only.$((i - 1)); }" || failed="generation $i"
done
check "forks of forks" is "$failed" ""
check "the last of many has what it ought to" is "$(box "$id" 'cat generation kept whole/* sub/*; ls . sub whole | tr "\n" " "')" \
    "$(printf '34\nchanged\nnew\nsub/b\n.: generation kept only.34 sub whole  sub: b  whole: new ')"
check "chains do not grow without end" test "$(sed -n 's/^layers=//p' "$state/boxes/$id/record" | wc -w)" -le 32
json "its changes are those to the folder" 0 '[.changes[].path] | sort == ["generation","kept","only.34","removed","sub/a","whole/new","whole/old"]' diff "$id"
check "the folder is as it was" is "$(cd "$base" && cat kept removed sub/a whole/old | tr '\n' ' ')" "kept removed sub/a whole/old "
end "$id"
id=$(create --sandbox-snapshot-name over)
"$SANDLOT" -q export "$id" >"$scratch/copy.patch"
check "a box from the snapshot has the patch of its original" cmp -s "$scratch/original.patch" "$scratch/copy.patch"
echo since >"$base/since"
check "what the folder gets shows through" is "$(box "$id" 'cat since')" since
end "$id"
mv "$base" "$base.away"
mkdir "$base"
expect "another folder in its place is not taken" 2 "" "another one" -q create --sandbox local --sandbox-snapshot-name over
fails "for a fork neither" 3 provider_error "another one" fork "${ids[0]}"
rmdir "$base"
mv "$base.away" "$base"
id=$("$SANDLOT" create --sandbox local --sandbox-snapshot-name over --param "workspace=$scratch/work" 2>"$scratch/err" </dev/null)
check "a parameter that counts for nothing is told of" grep -q "workspace: not used" "$scratch/err"
check "and does" is "$(box "$id" 'cat generation')" 0
expect "so is fake_root" 0 1000 "fake_root: not used" exec --sandbox-snapshot-name over --param fake_root=true -- id -u
end "$id" "${ids[0]}"
"$SANDLOT" -q snapshots delete --sandbox local over

# ---- with what it began as ----
mkdir -p "$scratch/began/sub" "$scratch/began/gone"
for name in kept removed sub/old gone/old secret; do echo "$name" >"$scratch/began/$name"; done
ln "$scratch/began/kept" "$scratch/began/same"
ln -s kept "$scratch/began/link"
mkfifo "$scratch/began/pipe"
chmod 750 "$scratch/began/sub"
chmod 640 "$scratch/began/kept"
truncate -s 100M "$scratch/began/hole"
before=$(cd "$scratch/began" && find . -printf '%p %m %i %n %l\n' | sort)
id=$(create --param "workspace=$scratch/began") || exit 2
box "$id" 'rm -r removed gone; echo new >sub/new; echo changed >link; echo h >~/h'
expect "a snapshot with its base" 0 whole "warning: local: 1 entries of the folder .*not in the snapshot*" snapshot "$id" --name whole --with-base
check "the folder is as it was" is "$(cd "$scratch/began" && find . -printf '%p %m %i %n %l\n' | sort)" "$before"
check "and so is the box" is "$(box "$id" 'ls; cat sub/new' | tr '\n' ' ')" "hole kept link pipe same secret sub new "
json "whose changes are those to the folder" 0 '[.changes[].path] | sort == ["gone","gone/old","kept","removed","sub/new"]' diff "$id"
fails "one for which there is no room" 3 quota "snapshots_mb" snapshot "$id" --name wide --with-base --param snapshots_mb=0
end "$id"
mv "$scratch/began" "$scratch/began.away"
copy=$(create --sandbox-snapshot-name whole) || not_ok "a box from it" "none"
check "it needs nothing outside" is "$(box "$copy" 'ls; cat kept same link sub/* ~/h; stat -c "%a %h" kept sub | cut -d" " -f1; stat -c %h same; stat -c "%s %b" hole' | tr '\n' ' ')" \
    "hole kept link same secret sub changed kept changed new sub/old h 640 750 1 104857600 0 "
check "which says so where it is looked at" grep -q "did not begin as a folder" <<<"$("$SANDLOT" -q diff "$copy" 2>&1)"
expect "a snapshot of that is one as any other" 0 next "*" -q snapshot "$copy" --name next --with-base
end "$copy"
id=$(create --sandbox local) || exit 2
box "$id" 'echo one >f'
expect "of a box that began as no folder" 0 plain "*" -q snapshot "$id" --name plain --with-base
copy=$(create --sandbox-snapshot-name plain)
check "it is a snapshot as any other" is "$(box "$copy" 'cat f')" one
end "$id" "$copy"
"$SANDLOT" -q snapshots delete --sandbox local whole next plain
mkdir "$scratch/began"
seq 4000 | (cd "$scratch/began" && split -l 1 -a 4 -)
id=$(create --param "workspace=$scratch/began") || exit 2
# killed_copying: the command was killed before it had copied all.
killed_copying() {
    for _ in 1 2 3 4 5; do
        "$SANDLOT" -q snapshot "$id" --name half --with-base >/dev/null 2>&1 </dev/null &
        until_true 20 layers_are 1
        kill -KILL "$!"
        wait "$!" 2>/dev/null
        [ -e "$state/snapshots/half" ] || return 0
        "$SANDLOT" -q snapshots delete --sandbox local half
        until_true 20 layers_are 0
    done
    return 1
}
check "kill -9 while the folder is copied" killed_copying
check "leaves nothing" until_true 20 layers_are 0
rm -r "$scratch/began"
fails "a folder that has gone" 3 provider_error "no longer there" snapshot "$id" --name none --with-base
check "and leaves no layer" until_true 10 layers_are 0
end "$id"

# ---- what runs ----
id=$(create) || exit 2
process=$("$SANDLOT" -q exec --sandbox-id "$id" --detach -- 'echo said; sleep 7001.25' </dev/null) || exit 2
said() { is "$("$SANDLOT" -q logs --sandbox-id "$id" "$process" </dev/null)" said; }
until_true 20 said
copy=$("$SANDLOT" -q fork "$id" </dev/null)
json "P6: in a fork nothing of it runs" 0 '.processes | map([.id, .state]) == [["'"$process"'", "lost"]]' ps --all --sandbox-id "$copy"
expect "P6: its log is there" 0 said "*" -q logs --sandbox-id "$copy" "$process"
json "P6: nobody saw its end" 3 '.state == "lost" and .error == "provider_error"' wait --sandbox-id "$copy" "$process"
json "P6: it goes on where it began" 0 '.processes[0].state == "running"' ps --sandbox-id "$id"
fails "L1: local does not pause" 1 not_supported "local cannot pause" pause "$id"
fails "L1: nor resume" 1 not_supported "local cannot pause and resume" resume "$id"
end "$id" "$copy"

# ---- how much ----
id=$(create) || exit 2
box "$id" 'head -c 30000000 /dev/urandom >big'
fails "more than the budget" 3 quota "would be larger than what is left .* 20 MiB.*snapshots_mb" snapshot "$id" --name large --param snapshots_mb=20
fails "for a fork too" 3 quota "snapshots_mb" fork "$id" --param snapshots_mb=20
check "nothing is left of either" until_true 10 layers_are 0
expect "what fits" 0 large "*" -q snapshot "$id" --name large
box "$id" 'head -c 30000000 /dev/urandom >more'
fails "all together are counted" 3 quota "snapshots_mb" snapshot "$id" --name second --param snapshots_mb=50
small=$(create --sandbox-snapshot-name large --param disk_mb=20)
check "what is shared does not count as the box's own" is "$(box "$small" 'head -c 10000000 /dev/zero >own; sleep 1; wc -c <big')" 30000000
end "$id" "$small"
"$SANDLOT" -q snapshots delete --sandbox local large
check "deleted, it takes no space" until_true 10 layers_are 0

if [ "$(id -u)" = 0 ] && mkdir "$scratch/full" && mount -t tmpfs -o size=16m sandlot "$scratch/full" 2>/dev/null; then
    export XDG_STATE_HOME=$scratch/full
    id=$(create) || exit 2
    head -c 20000000 /dev/zero >"$scratch/full/fill" 2>/dev/null
    fails "a full disk is told as one, not as a network" 3 quota "No space left.*free some disk space" snapshot "$id" --name none
    rm "$scratch/full/fill"
    expect "with room it is made" 0 roomy "*" -q snapshot "$id" --name roomy
    end "$id"
    for pid in $(pgrep -f -u 0 sandlot-local-keeper); do
        [ "$(readlink "/proc/$pid/fd/3")" != "$scratch/full/sandlot/local" ] || kill "$pid"
    done
    umount -l "$scratch/full"
    export XDG_STATE_HOME=$HOME/.local/state
else
    ok "a full disk # SKIP no file system of its own can be mounted here"
fi

# ---- what is turned, because nothing runs, and what is copied ----
record() { sed -n "s/^$2=//p" "$state/boxes/$1/record"; }
lies_on() { is "$(record "$1" layers | wc -w)" "$2"; }
is_idle() { ! pgrep -P "$(record "$1" pid)" >/dev/null; }
# snapshot ID NAME: of a box whose last command is wholly gone
turned_as() { until_true 20 is_idle "$1" && "$SANDLOT" -q snapshot "$1" --name "$2" --replace >/dev/null 2>"$scratch/err" </dev/null; }
id=$(create --param "workspace=$base" --param disk_mb=40) || exit 2
box "$id" 'rm removed; echo changed >kept; mkdir d; echo one >d/f; chmod 751 d . /tmp; head -c 15000000 /dev/urandom >~/big
    cksum <~/big >~/sum; mkdir /data; echo r >/data/r; ln d/f d/same' || exit 2
looks='cd /workspace; ls -R . ~ /data /tmp; stat -c "%a %n" . d /tmp; cat kept d/f /data/r; stat -c %h d/f; cksum <~/big | cmp - ~/sum'
before=$(box "$id" "$looks")
changes() { "$SANDLOT" diff "$id" --json </dev/null | jq -c '[.changes[] | {path, change: (.change // .kind // .status)}] | sort_by(.path)'; }
changed=$(changes)
check "a snapshot of an idle box" turned_as "$id" turned
check "makes what it has written a layer as it is" lies_on "$id" 1
check "it looks as before" is "$(box "$id" "$looks")" "$before"
check "its changes are the same" is "$(changes)" "$changed"
box "$id" 'head -c 30000000 /dev/urandom >~/second; echo more >>d/f; rm -r /data kept; echo back >removed; sleep 1'
check "what is in a layer does not count as its disk" is "$(box "$id" 'stat -c %s ~/second ~/big | tr "\n" " "')" "30000000 15000000 "
check "no way leads to what is covered" is "$(box "$id" 'ls -d /proc/upper /proc/own-* /proc/kept-* /proc/1/fd/* /proc/1/cwd/* 2>/dev/null; umount /proc 2>/dev/null && ls /proc')" ""
copy=$(create --sandbox-snapshot-name turned)
check "a box from it looks as the first did" is "$(box "$copy" "chmod 751 . /tmp; $looks")" "$before"
end "$copy"
now=$(box "$id" 'cat d/f removed; ls')
check "a second one" turned_as "$id" turned
check "is a second layer" lies_on "$id" 2
copy=$(create --sandbox-snapshot-name turned)
check "a box from it has what was changed, and what was removed in / is gone" is "$(box "$copy" 'cat d/f removed; ls; ls -d /data 2>/dev/null')" "$now"
end "$copy"
expect "apply after that" 0 "*" "*" -q apply "$id"
check "brings home what the box had" is "$(cat "$base/d/f" "$base/removed" && [ ! -e "$base/kept" ] && echo gone)" "$(printf 'one\nmore\nback\ngone')"
forked=$("$SANDLOT" -q fork "$id" </dev/null)
box "$forked" 'echo again >>d/f'
json "a fork's work on what was applied before is no conflict" 0 '.applied | map(.path) == ["d/f"]' apply "$forked"
end "$forked"
check "one of which nothing is new makes the box no deeper" eval 'turned_as "$id" turned && lies_on "$id" 2'
"$SANDLOT" -q exec --sandbox-id "$id" --detach -- 'exec 3>>~/open; echo begun >&3; while :; do sleep 0.1; done' >/dev/null
begun() { [ "$(box "$id" 'cat ~/open')" = begun ]; }
check "with a process in the working directory, and an open file," until_true 20 begun
"$SANDLOT" -q snapshot "$id" --name turned --replace >/dev/null 2>&1 </dev/null
check "it is copied" lies_on "$id" 2
copy=$(create --sandbox-snapshot-name turned)
check "and has the same" is "$(box "$copy" 'cat d/f ~/open')" "$(printf 'one\nmore\nbegun')"
end "$id" "$copy"

id=$(create) || exit 2
box "$id" 'echo one >f; echo h >~/h; echo t >/tmp/t; chmod 555 . ~ /tmp'
check "a snapshot of folders that their owner may not write to" turned_as "$id" closed
copy=$(create --sandbox-snapshot-name closed)
check "the box is as before" is "$(box "$id" 'stat -c %a . ~ /tmp; cat f ~/h /tmp/t' | tr '\n' ' ')" "555 555 555 one h t "
check "and another one has its files" is "$(box "$copy" 'cat f ~/h /tmp/t' | tr '\n' ' ')" "one h t "
end "$id" "$copy"
"$SANDLOT" -q snapshots delete --sandbox local closed

# ---- who has something open meanwhile ----
id=$(create) || exit 2
python=/usr/bin/python3
if [ -x "$python" ] && box "$id" "$python -c 'import mmap'" 2>/dev/null; then
    box "$id" 'head -c 8192 /dev/zero >mapped'
    "$SANDLOT" -q exec --sandbox-id "$id" --detach -- "exec $python -c '
import mmap, os, time
with open(\"mapped\", \"r+b\") as file: pages = mmap.mmap(file.fileno(), 8192)
pages[0:5] = pages[5000:5005] = b\"dirty\"
open(os.path.expanduser(\"~/mapped\"), \"w\").close()
while not os.path.exists(\"go\"): time.sleep(0.01)
pages[0:5] = b\"later\"; time.sleep(1000)'" >/dev/null
    check "a process has a file mapped, and has written to it" until_true 20 box "$id" '[ -e ~/mapped ]'
    expect "a snapshot meanwhile" 0 "mapped" "*" -q snapshot "$id" --name mapped
    box "$id" 'touch go'
    check "the process goes on writing to the box's file" until_true 20 box "$id" '[ "$(head -c 5 mapped)" = later ]'
    copy=$(create --sandbox-snapshot-name mapped)
    check "the snapshot has what it had written before" is "$(box "$copy" 'tr -d "\0" <mapped')" dirtydirty
    end "$copy"
    "$SANDLOT" -q snapshots delete --sandbox local mapped
else
    echo "ok a file that is mapped # SKIP there is no python3 that a sandbox can run"
fi
end "$id"
id=$(create) || exit 2
box "$id" 'echo before >f; mkdir d; echo in >d/f'
mkfifo "$scratch/ask"
"$SANDLOT" -q mcp --sandbox-id "$id" <"$scratch/ask" >"$scratch/said" 2>&1 &
server=$!
exec 9>"$scratch/ask"
asked=1
answered() { jq -r "select(.id == $asked) | .result.content[0].text" <"$scratch/said" 2>/dev/null | grep -q "$1"; }
ask() { # TEXT TOOL ARGUMENTS: the answer has the text
    asked=$((asked + 1))
    printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$asked" "$2" "$3" >&9
    until_true 20 answered "$1"
}
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&9
check "a session of the host has read in the box" ask before read_file '{"file_path":"f"}'
check "a snapshot meanwhile" turned_as "$id" session
check "copies nothing" lies_on "$id" 1
box "$id" 'echo after >f'
check "the session sees what the box writes then" ask after read_file '{"file_path":"f"}'
check "and writes to the box" ask "" write_file '{"file_path":"d/g","content":"by the host"}'
check "which sees it" is "$(box "$id" 'cat d/g; ls d | tr "\n" " "')" "by the hostf g "
copy=$(create --sandbox-snapshot-name session)
check "the snapshot has nothing of either" is "$(box "$copy" 'cat f; ls d')" "$(printf 'before\nf')"
exec 9>&-
wait "$server"
end "$id" "$copy"
"$SANDLOT" -q snapshots delete --sandbox local session

# ---- a box of many snapshots ----
mkdir -p "$scratch/deep/sub" "$scratch/deep/again"
echo gone >"$scratch/deep/gone"
echo old | tee "$scratch/deep/sub/old" >"$scratch/deep/again/old"
chmod -R go+rX "$scratch/deep"
id=$(create --param "workspace=$scratch/deep") || exit 2
box "$id" 'echo 0 >generation; echo kept >first; rm -r gone sub; mkdir sub; echo new >sub/new'
# What is removed, and made again, in another layer than that which has it; with the folder below it, and without.
early=([1]='mkdir mine ~/mine; touch mine/a mine/b ~/mine/a ~/mine/b; rm -r again' [2]='rm mine/a ~/mine/a; mkdir again; touch again/new')
failed=
for ((i = 1; i <= 36; i++)); do
    box "$id" "[ \$(cat generation) = $((i - 1)) ] && echo $i >generation && echo $i >only.$i && { [ $i = 1 ] || rm only.$((i - 1)); }; ${early[i]-}" || failed="generation $i"
    [ $i = 32 ] && name=full || name=deep
    turned_as "$id" $name || failed="snapshot $i: $(cat "$scratch/err")"
done
check "many snapshots of one box" is "$failed" ""
copy=$(create --sandbox-snapshot-name deep)
for each in "$copy" "$id"; do
    check "the last has what it ought to, and the box too" is "$(box "$each" 'cat generation first; ls | tr "\n" " "')" \
        "$(printf '36\nkept\nagain first generation mine only.36 sub ')"
    check "what was removed is not to be seen" is "$(box "$each" 'for i in again mine sub ~/mine; do ls -A $i 2>&1; done | tr "\n" " "')" "new b new b "
done
# The 33rd lays all together and the box on that: the next ones are layers upon it.
check "on the layer that the 33rd made of all, and three more" lies_on "$id" 4
named() { for layer in "$state"/layers/*; do grep -qs "${layer##*/}" "$state"/boxes/*/record "$state"/snapshots/* || return 1; done; }
check "none of the others is left" until_true 10 named
json "its changes are those to the folder" 0 '[.changes[].path] | sort == ["again/new","again/old","first","generation","gone","mine","mine/b","only.36","sub/new","sub/old"]' diff "$id"
check "which is as it was" is "$(cd "$scratch/deep" && cat gone sub/old | tr '\n' ' ')" "gone old "
end "$copy"
# One that runs has to be copied; its owner may not read this folder, and a socket is left out.
copy=$(create --param "workspace=$scratch/deep")
"$SANDLOT" -q exec --sandbox-id "$copy" --detach -- 'rm -r sub gone; mkdir -m 0 sub
    perl -MSocket -e "socket(S, AF_UNIX, SOCK_STREAM, 0) && bind(S, pack_sockaddr_un(qq(gone))); sleep(1000)"' >/dev/null || exit 2
until_true 20 box "$copy" '[ "$(stat -c %a sub)" = 0 ] && [ -S gone ]'
run snapshot "$copy" --name deep --replace
end "$copy"
copy=$(create --sandbox-snapshot-name deep)
check "a closed folder in place of another hides what that had" is "$(box "$copy" 'chmod 700 sub; ls -A sub')" ""
check "and so does a socket in place of a file" is "$(box "$copy" 'ls -A')" "$(printf 'again\nsub')"
end "$id" "$copy"
"$SANDLOT" -q snapshots delete --sandbox local turned deep

# ---- killed while a box is laid on the layer that was made of all ----
keeper() { pgrep -f -u "$(id -u)" sandlot-local-keeper | while read -r pid; do [ "$(readlink "/proc/$pid/fd/3")" = "$state" ] && echo "$pid"; done; }
no_keeper() { [ -z "$(keeper)" ]; }
kill_keeper() {
    keeper | xargs -r kill -KILL
    until_true 20 no_keeper
}
stopped() { [ -e "$scratch/stopped" ]; }
no_trash() { [ -z "$(ls -A "$state/trash")" ]; }
# What there was before is there, and nothing of the box ID and of the layer.
is_clean() { layers_are 32 && no_trash && [ -z "$(ls -A "$state/boxes")" ] && is "$(ls -A "$state/snapshots")" full; }
# stop_at STEP: a box on 32 layers, whose keeper stops there while the next snapshot is made. Sets id, and client.
stop_at() {
    kill_keeper
    printf '#!/bin/sh\nexec %s %s %s -- %s "$@"\n' "$(realpath "$BUILD/tests/local/stopped")" "$1" "$scratch/stopped" "$(realpath "$SANDLOT")" >"$scratch/stopping"
    chmod +x "$scratch/stopping"
    id=$(SANDLOT=$scratch/stopping create --sandbox-snapshot-name full) || return
    box "$id" '[ "$(cat generation sub/new)" = "$(printf "32\nnew")" ] && echo 33 >generation && echo 33 >~/own' || return
    until_true 20 is_idle "$id"
    "$SANDLOT" -q snapshot "$id" --name killed >/dev/null 2>&1 </dev/null &
    client=$!
    until_true 60 stopped
}
failed=
# The layer is lent (1 to 3); it is tried whether names can change (4); mounts come (5 to 10); it is given back (11 to
# 13), the record changes (14), and the folders of the box do (15 to 17).
for step in 1 4 8 12 14 16; do
    stop_at $step || failed+=" not reached: $step"
    kill -KILL "$client"
    kill_keeper
    rm -f "$scratch/stopped"
    wait "$client" 2>/dev/null
    "$SANDLOT" -q gc >/dev/null
    until_true 20 is_clean || failed+=" left at step $step: $(ls -A "$state"/{boxes,layers,snapshots,trash} | tr '\n' ' ')"
done
check "kill -9 of keeper and command on the way: what was kept is, and nothing else after gc" is "$failed" ""
stop_at 8 || not_ok "of the command alone" "not reached"
kill -KILL "$client"
rm -f "$scratch/stopped"
wait "$client" 2>/dev/null
check "kill -9 of the command alone: the box lies on that layer" until_true 20 lies_on "$id" 1
check "and works" is "$(box "$id" 'cat generation sub/new ~/own; echo 34 >generation; cat generation' | tr '\n' ' ')" "33 new 33 34 "
end "$id"
check "which is gone with it" until_true 20 is_clean
"$SANDLOT" -q snapshots delete --sandbox local full
check "as the others are with their snapshot" until_true 10 layers_are 0

# ---- before Linux 6.5: new mounts come above the old ones ----
mounts() { box "$1" 'grep -c " /workspace " /proc/self/mountinfo'; }
id=$(create) || exit 2
box "$id" 'echo 1 >f'
check "one mount of a box that was turned shows" eval 'turned_as "$id" newer && is "$(mounts "$id")" 1'
end "$id"
"$SANDLOT" -q snapshots delete --sandbox local newer
newer=$SANDLOT
export XDG_STATE_HOME=$HOME/older
state=$XDG_STATE_HOME/sandlot/local
SANDLOT=$scratch/older
printf '#!/bin/sh\nexec %s mounts_beneath -- %s "$@"\n' "$(realpath "$BUILD/tests/local/without")" "$newer" >"$SANDLOT"
chmod +x "$SANDLOT"
id=$(create) || exit 2
failed=
for i in 1 2 3; do
    box "$id" "echo $i >f; mkdir d.$i; rm -rf d.$((i - 1)); echo $i >>~/all"
    turned_as "$id" older || failed="snapshot $i: $(cat "$scratch/err")"
done
check "an older kernel: snapshots" is "$failed" ""
check "are layers too" lies_on "$id" 3
check "and leave the mounts before them" is "$(mounts "$id")" 4
box "$id" 'echo 4 >f; echo more >d.3/more'
copy=$(create --sandbox-snapshot-name older)
check "the last has what it ought to" is "$(box "$copy" 'cat f ~/all; ls . d.3 | tr "\n" " "')" "$(printf '3\n1\n2\n3\n.: d.3 f  d.3: ')"
check "and the box" is "$(box "$id" 'cat f ~/all; ls . d.3 | tr "\n" " "')" "$(printf '4\n1\n2\n3\n.: d.3 f  d.3: more ')"
end "$id" "$copy"
"$SANDLOT" -q snapshots delete --sandbox local older
check "nothing is left" until_true 10 layers_are 0
SANDLOT=$newer
export XDG_STATE_HOME=$HOME/.local/state
state=$XDG_STATE_HOME/sandlot/local

# ---- where there are none ----
id=$(create --param storage=memory) || exit 2
fails "of files in memory" 1 not_supported "memory" snapshot "$id"
fails "no fork either" 1 not_supported "memory" fork "$id"
end "$id"
if id=$(create --param confinement=landlock 2>/dev/null); then
    fails "of landlock" 1 not_supported "landlock" snapshot "$id"
    end "$id"
fi

# ---- another root file system ----
busybox=$(command -v busybox)
if [ -n "$busybox" ]; then
    mkdir -p "$scratch/tree/bin"
    cp "$busybox" "$scratch/tree/bin/busybox"
    ln -s busybox "$scratch/tree/bin/sh"
    echo old >"$scratch/tree/old"
    id=$(create --param "rootfs=$scratch/tree" --param fake_root=true) || exit 2
    box "$id" '/bin/busybox rm /old; echo new >/bin/new; echo w >w'
    copy=$("$SANDLOT" -q fork "$id" </dev/null)
    check "what was changed in a root file system" is "$(box "$copy" '/bin/busybox cat /bin/new w; [ -e /old ] || echo gone; /bin/busybox id -u' | tr '\n' ' ')" "new w gone 0 "
    end "$id" "$copy"
fi

# ---- killed ----
id=$(create) || exit 2
box "$id" 'mkdir many; cd many; i=0; while [ $i -lt 2000 ]; do echo $i >$i; i=$((i+1)); done' || exit 2
torn=
for ((i = 0; i < 15; i++)); do
    box "$id" "echo $i >round" || torn="written, round $i"
    "$SANDLOT" -q snapshot "$id" --name killed >/dev/null 2>&1 </dev/null &
    pid=$!
    sleep "$(printf '0.%03d' $((i * 8)))"
    kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    if [ -e "$state/snapshots/killed" ]; then
        copy=$(create --sandbox-snapshot-name killed)
        [ "$(box "$copy" 'cat many/* | wc -l; cat round')" = "$(printf '2000\n%s' $i)" ] || torn="round $i"
        end "$copy"
        "$SANDLOT" -q snapshots delete --sandbox local killed
    fi
    [ "$(box "$id" 'cat many/* | wc -l; cat round')" = "$(printf '2000\n%s' $i)" ] || torn="the box, round $i"
done
check "kill -9 of the command: a whole snapshot or none, and a box that works" is "$torn" ""
expect "a snapshot afterwards" 0 after "*" -q snapshot "$id" --name after
box "$id" 'echo 16 >round'
"$SANDLOT" -q snapshot "$id" --name killed >/dev/null 2>&1 </dev/null &
pid=$!
kill -KILL "$(keeper | head -n 1)"
wait "$pid" 2>/dev/null
id=$(create --sandbox-snapshot-name after)
check "kill -9 of the keeper: what was kept is" is "$(box "$id" 'cat many/* | wc -l')" 2000
if [ -e "$state/snapshots/killed" ]; then "$SANDLOT" -q snapshots delete --sandbox local killed; fi
end "$id"
# Somebody who makes a snapshot holds the lock on the layers: the keeper does not ask for it all the time.
looks() { awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$(keeper | head -n 1)/status"; }
is_quiet() { local before; before=$(looks) && sleep 1 && [ "$(($(looks) - before))" -lt 20 ]; }
exec 8<"$state/layers" && flock -s 8
"$SANDLOT" -q snapshots delete --sandbox local after
check "while the lock on the layers is held the keeper rests" until_true 10 is_quiet
check "and they stay" test "$(layers)" -gt 0
exec 8<&-
check "when it is not any more they go, and nothing else is there" until_true 10 layers_are 0
check "the trash is emptied" until_true 10 no_trash
# ---- what a killed keeper had not removed yet, or a killed program had not fetched to its end ----
left_over() {
    mkdir -p "$state/trash/box-left/d" "$state/downloads/left/blobs" && touch "$state/trash/box-left/d/f" "$state/downloads/left/blobs/x"
}
none_left() { no_trash && [ -z "$(ls -A "$state/downloads")" ]; }
no_boxes() { [ -z "$(ls -A "$state/boxes")" ]; }
until_true 10 no_boxes && kill_keeper
left_over
run list
check "goes with the next list, where no keeper runs" until_true 10 none_left
id=$(create)
left_over
rm -r "$state/trash/box-left"
run list
check "and where one runs" until_true 10 none_left
end "$id"
