#!/bin/bash
# Volumes: storage that outlives boxes. What is kept, who may write, how much, and what hostile boxes leave in it.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
need_local
chmod 711 "$scratch" "$HOME" 2>/dev/null

state=$XDG_STATE_HOME/sandlot/local
at=/home/sandlot/.cache/tool

if [ "$(id -u)" = 0 ]; then
    run -q exec --volume probe:$at -- true
    case $err in *"no idmapped mounts"*)
        echo "SKIP: the file system of the state cannot show files under another owner"
        exit 77
        ;;
    esac
    "$SANDLOT" -q volumes delete probe
fi

# ---- kept between boxes ----

expect "there are none at first" 0 "" "no volumes" volumes
json "as JSON too" 0 '.volumes == []' volumes
expect "a box writes to one" 0 "" "*" -q exec --volume npm:$at -- "mkdir $at/sub && echo kept >$at/sub/file && chmod 600 $at/sub/file"
expect "the next one finds it, at another place" 0 "kept" "*" -q exec --volume npm:/cache/of/npm -- "cat /cache/of/npm/sub/file"
expect "its user owns what is in it" 0 "sandlot 600" "*" -q exec --volume npm:$at -- "stat -c '%U %a' $at/sub/file"
expect "in a box in memory" 0 "kept" "*" -q exec --param storage=memory --volume npm:$at -- "cat $at/sub/file"
expect "as root of the box" 0 "kept" "*" -q exec --param fake_root=true --volume npm:$at -- "cat $at/sub/file"
expect "in folders of the system that are made for it" 0 "kept" "*" -q exec --volume npm:/var/cache/npm -- "cat /var/cache/npm/sub/file"
expect "the path's form does not matter" 0 "kept" "*" -q exec --volume npm://home/./sandlot//x/ -- 'cat /home/sandlot/x/sub/file'
json "the listing" 0 '.volumes | length == 1 and .[0].name == "npm" and .[0].bytes > 0 and .[0].limit_bytes == 8589934592 and
    .[0].writers == 0 and .[0].readers == 0 and (.[0].used_at | startswith("20"))' volumes
expect "and for people" 0 "*" "*" volumes
check "with sizes" grep -qE '^npm +[0-9.]+ MiB +8192.0 MiB +0 / 0' "$scratch/out"
check "gc leaves it" "$SANDLOT" -q gc
expect "so it is still there" 0 "kept" "*" -q exec --volume npm:$at -- "cat $at/sub/file"
mkdir "$scratch/tree"
if busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1; then
    mkdir "$scratch/tree/bin"
    cp "$busybox" "$scratch/tree/bin/sh"
    ln -s /bin/sh "$scratch/tree/bin/cat"
    expect "with another root file system" 0 "kept" "*" -q exec --param "rootfs=$scratch/tree" --volume npm:/a/b -- "cat /a/b/sub/file"
    ln -s /bin "$scratch/tree/link"
    expect "but not where a link of it leads" 3 "" "link or a file is on the way" -q exec --param "rootfs=$scratch/tree" \
        --volume npm:/link/x -- true
else
    echo "SKIP: no static busybox for another root file system"
fi

# ---- files come and go by every way ----

id=$("$SANDLOT" create --volume npm:$at)
echo from-outside >"$scratch/file"
expect "upload into it" 0 "*" "*" -q upload --sandbox-id "$id" "$scratch/file" $at/uploaded
expect "read from it" 0 "*" "*" -q read --sandbox-id "$id" $at/uploaded
check "what came" grep -q from-outside "$scratch/out"
expect "download from it" 0 "*" "*" -q download --sandbox-id "$id" $at/uploaded "$scratch/back"
check "the same bytes" cmp "$scratch/file" "$scratch/back"
"$SANDLOT" -q delete "$id"
expect "and it stays after delete" 0 "from-outside" "*" -q exec --volume npm:$at -- "cat $at/uploaded"
mkdir "$scratch/project"
echo one >"$scratch/project/a"
id=$("$SANDLOT" create --param "workspace=$scratch/project" --volume npm:$at)
"$SANDLOT" -q exec --sandbox-id "$id" -- "echo two >a; echo cached >$at/more"
expect "the work that comes home has nothing of it" 0 "  modified  a  4 -> 4 bytes" "*" -q diff --stat --sandbox-id "$id"
"$SANDLOT" -q delete "$id"

# ---- reading only, and who may write ----

expect "to read only" 0 "kept" "*" -q exec --volume npm:$at:ro -- "cat $at/sub/file; { echo x >$at/new || rm $at/sub/file ||
    chmod 777 $at || mkdir $at/d; } 2>/dev/null && echo written; true"
writer=$("$SANDLOT" create --volume npm:$at)
expect "a second writer is refused, and told who writes" 3 "" "one writer at a time, and the sandbox $writer writes" create --volume npm:/other
nothing_more() { [ "$(sandbox_count)" = 1 ]; }
check "and nothing is made" nothing_more
first=$("$SANDLOT" create --volume npm:$at:ro)
second=$("$SANDLOT" create --volume npm:$at:ro)
"$SANDLOT" -q exec --sandbox-id "$writer" -- "echo fresh >$at/fresh"
expect "readers beside the writer see what it writes" 0 "fresh" "*" -q exec --sandbox-id "$second" -- "cat $at/fresh"
json "they are counted" 0 '.volumes[0] | .writers == 1 and .readers == 2' volumes
expect "no living box loses its volume" 3 "" "the sandbox box-[a-z0-9]+ has the volume npm" volumes delete npm
json "as JSON" 3 '.error == "quota" and .results[0].name == "npm" and .results[0].error == "quota"' volumes delete npm
"$SANDLOT" -q delete "$writer" "$first" "$second"
expect "with the writer gone the next one may" 0 "" "*" -q exec --volume npm:$at -- "rm $at/fresh"

# ---- places and names that are refused ----

# refused PATH PATTERN: as the place of a volume, before anything is made
refused() { usage "no volume at $1" "$2" exec --volume "npm:$1" -- true; }

for own in /proc /proc/self /dev /dev/shm/x /sys /usr /usr/local/bin /bin /etc/x /run /lib64/x /var /var/tmp/x /tmp /home /home/sandlot /var/lib/dpkg; do
    refused "$own" "which a sandbox has of its own"
done
refused /workspace "work that comes home"
refused /workspace/node_modules "work that comes home"
refused / "whole sandbox"
refused relative "not absolute"
refused /a/../etc "upwards"
refused "$(printf '/a\nb')" "control"
refused /a:rw "colon"
refused "" "not absolute"
usage "no path at all" "has no path" exec --volume npm -- true
for name in .. . '' A -x a/b 'a b' "$(printf 'x%.0s' {1..64})"; do
    usage "no volume is called '$name'" "name that" exec --volume "$name:/x" -- true
    usage "and none is deleted" "name" volumes delete -- "$name"
done
usage "the same one twice" "second time" exec --volume a:/a --volume a:/b -- true
usage "one within another" "lies in it" exec --volume a:/a --volume b:/a/b -- true
mapfile -t nine < <(for i in {1..9}; do printf -- "--volume\nv%d:/v%d\n" "$i" "$i"; done)
usage "too many" "too many" exec "${nine[@]}" -- true
usage "with landlock" "need confinement" exec --param confinement=landlock --volume a:/a -- true
usage "where a folder is shown" "show" exec --param "show=$scratch/project" --volume "a:$scratch/project/b" -- true
usage "for a living sandbox" "keeps what it has" exec --sandbox-id box-x --volume a:/a -- true
ln -s "$BUILD/tests/plugins/fake.so" "$plugins/"
expect "a provider without volumes, before anything is sent" 1 "" "fake has no volumes.*local" \
    exec --sandbox fake --param "folder=$scratch/fake" --param "journal=$scratch/journal" --volume a:/a -- true
check "so it was asked for nothing" test ! -e "$scratch/journal"
expect "nor does it list any" 1 "" "cannot list volumes" volumes --sandbox fake --param "folder=$scratch"
json "none of these was made" 0 '[.volumes[].name] == ["npm"]' volumes

# ---- the configuration ----

cat >"$config" <<END
[sandboxes.volumes]
pip = "/home/sandlot/.cache/pip"

[sandboxes.volumes.cargo]
path = "/opt/cargo"
writers = "many"
limit_mb = 64

[sandboxes.volumes.shared]
writers = "many"
limit_mb = 5
END
expect "a cache that every box gets" 0 "" "*" -q exec -- 'echo wheel >/home/sandlot/.cache/pip/w; echo crate >/opt/cargo/c'
expect "and finds again" 0 "wheel
crate" "*" -q exec -- 'cat /home/sandlot/.cache/pip/w /opt/cargo/c'
expect "an option gives it another place" 0 "crate" "*" -q exec --volume cargo:/c -- 'cat /c/c; ls /opt/cargo 2>/dev/null; true'
one=$("$SANDLOT" create --volume pip:/p:ro --volume shared:/s)
two=$("$SANDLOT" create --volume pip:/p --volume shared:/s)
json "many writers where it says so, and limits" 0 '[.volumes[] | select(.name == "shared" or .name == "cargo") |
    [.writers, .limit_bytes / 1048576]] | sort == [[2, 5], [2, 64]]' volumes
"$SANDLOT" -q delete "$one" "$two"
mkdir "$scratch/fake"
expect "a provider that has none goes without" 0 "fine" "*" -q exec --sandbox fake --param "folder=$scratch/fake" -- echo fine
# wrong ENTRY PATTERN: nothing is made with a mistake in the table
wrong() {
    printf '[sandboxes.volumes]\n%s\n' "$1" >"$config"
    usage "a mistake in the configuration: $1" "config.toml:2: .sandboxes.volumes. .*$2" exec -- true
}
wrong 'a = 5' "a is an integer"
wrong 'a = "relative"' "not absolute"
wrong 'a = { path = "/a", limit_mib = 5 }' "unknown key limit_mib, did you mean limit_mb"
wrong 'a = { writers = "two" }' "neither"
wrong 'a = { limit_mb = 0 }' "whole number"
wrong 'a = { read_only = "yes" }' "neither true nor false"
wrong '"A b" = "/a"' "cannot be a volume's name"
rm "$config"

# ---- with the provider in a process of its own ----

printf '[sandboxes.providers.local]\nisolation = "unconfined"\n' >"$config"
one=$("$SANDLOT" create --volume apart:/v)
expect "it is asked for in the same way" 0 "" "*" -q exec --sandbox-id "$one" -- 'echo x >/v/file'
json "listed" 0 '.volumes[] | select(.name == "apart") | .writers == 1 and .readers == 0 and .bytes > 0 and .limit_bytes > 0' volumes
expect "refused" 3 "" "sandbox $one has the volume" volumes delete apart
"$SANDLOT" -q delete "$one"
expect "read" 0 "x" "*" -q exec --volume apart:/v:ro -- 'cat /v/file; touch /v/new 2>/dev/null && echo written; true'
expect "and deleted" 0 "" "*" -q volumes delete apart
rm "$config"

# ---- what it may hold ----

printf '[sandboxes.volumes.small]\nlimit_mb = 20\n' >"$config"
full() {
    expect "$1" 137 "*" "*" exec "${@:2}"
    check "... by what limit" grep -q "limit of a volume killed it" "$scratch/out" "$scratch/err"
}
full "a box that writes too much is told" --volume small:/s -- 'head -c 60M /dev/zero >/s/large; sleep 3000'
full "many small files count as well" --volume small:/s -- 'rm -f /s/large; cd /s; i=0; while :; do i=$((i + 1)); head -c 1M /dev/zero >f$i; done'
expect "what is too much can be removed" 0 "0" "*" -q exec --volume small:/s -- 'rm -f /s/f* /s/large; ls /s | wc -l'
expect "and then there is room again" 0 "" "*" -q exec --volume small:/s -- 'head -c 10M /dev/zero >/s/fits'
expect "the box's own limit is another one" 0 "" "*" -q exec --param disk_mb=15 --volume small:/s -- \
    'head -c 10M /dev/zero >/s/again && head -c 10M /dev/zero >/tmp/own && rm /s/again'
rm "$config"

# ---- hostile boxes ----

cat >"$scratch/deep.py" <<'END'
import os, socket, sys
os.chdir(sys.argv[1])
for i in range(10000):
    os.mkdir("d")
    os.chdir("d")
END
# Such a tree counts as more than any volume may hold, so that nothing can grow behind it.
input=$scratch/deep.py run -q exec --volume deep:/h --stdin -- 'python3 - /h'
expect "a box with a tree 10,000 deep in a volume is ended, and hears why" 3 "*" "too deep to be counted.*volumes delete" \
    exec --volume deep:/h -- 'sleep 3000'
json "in a listing too it is not counted" 0 '.volumes[] | select(.name == "deep") | .bytes == null' volumes
expect "modes of 000, links that lead out, pipes and sockets" 0 "" "*" -q exec --volume hostile:/h -- '
    mkdir /h/closed && echo x >/h/closed/f && chmod 000 /h/closed
    ln -s / /h/root; ln -s ../../.. /h/up; ln -s /proc/self/root /h/magic; mkfifo /h/pipe; mkdir -m 1777 /h/record
    python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"/h/socket\")"; chmod 000 /h'
expect "no device can be made in it, and no program gets rights by it" 0 "nosuid,nodev" "*" -q exec --volume hostile:/h -- \
    'mknod /h/null c 1 3 2>/dev/null; [ -c /h/null ] && echo device; grep " /h " /proc/mounts | grep -o nosuid,nodev | sort -u'
expect "a folder whose mode is 000 is usable again" 0 "closed" "*" -q exec --volume hostile:/h -- 'ls -d /h/closed | cut -c4-'
touch "$scratch/outside"
expect "all of this can be deleted" 0 "" "*" -q volumes delete hostile deep
gone() { [ -z "$(ls -A "$state/trash")" ]; }
check "all of it goes" until_true 60 gone
check "and nothing else" test -e "$scratch/outside" -a -d /proc/self
json "it is not listed any more" 0 'all(.volumes[]; .name != "hostile" and .name != "deep")' volumes
expect "deleting what is not there is fine" 0 "" "*" -q volumes delete hostile hostile
expect "a new one of that name is empty" 0 "" "*" -q exec --volume hostile:/h -- 'ls -A /h'
expect "and can go at once again" 0 "" "*" -q volumes delete hostile

# ---- whose it is ----

check "the folders are the user's alone" test "$(stat -c '%a %u' "$state/volumes" "$state/volumes/npm" | sort -u)" = "700 $(id -u)"
chmod 755 "$state/volumes/npm"
expect "one that others may enter is not used" 3 "" "belongs to you alone" exec --volume npm:$at -- true
chmod 700 "$state/volumes/npm"
mv "$state/volumes/npm" "$state/volumes/moved"
ln -s "$scratch/project" "$state/volumes/npm"
expect "nor a link" 3 "" "belongs to you alone" exec --volume npm:$at -- true
rm "$state/volumes/npm"
if [ "$(id -u)" = 0 ]; then
    chown 65534 "$state/volumes/moved"
    mv "$state/volumes/moved" "$state/volumes/npm"
    expect "nor another user's" 3 "" "belongs to you alone" exec --volume npm:$at -- true
    chown 0 "$state/volumes/npm"
    check "on the disk its files are nobody's who has an account" test "$(stat -c %u "$state/volumes/npm/files")" = 2147483632
else
    mv "$state/volumes/moved" "$state/volumes/npm"
fi

# ---- the keeper is killed ----

keeper() { fuser "$state/keeper.lock" 2>/dev/null | tr -d ' '; }
holder=$("$SANDLOT" create --volume npm:$at)
"$SANDLOT" -q exec --sandbox-id "$holder" -- "echo before >$at/before"
mkdir -p "$state/trash/volume-half"
kill -9 "$(keeper)"
expect "after kill -9 of the keeper it is there, and may be written to" 0 "before" "*" -q exec --volume npm:$at -- "cat $at/before; rm $at/before"
check "what was half removed is cleared" until_true 60 gone
json "and nobody has it" 0 'all(.volumes[]; .writers == 0 and .readers == 0)' volumes
"$SANDLOT" -q gc >/dev/null

# ---- a package manager ----

run -q exec -- npm --version
if [ "$status" = 0 ]; then
    mkdir "$scratch/package"
    echo '{"name":"sandlot-tiny","version":"1.0.0"}' >"$scratch/package/package.json"
    tar -C "$scratch" -czf "$scratch/project/tiny.tgz" package
    expect "npm puts a package into its cache" 0 "*" "*" -q exec --param "workspace=$scratch/project" --volume npm:/home/sandlot/.npm -- \
        'npm cache add ./tiny.tgz'
    expect "where npm of the next box has it" 0 "*" "*" -q exec --volume npm:/home/sandlot/.npm -- 'npm cache ls && npm cache verify'
    check "by name" grep -q 'tiny.tgz' "$scratch/out"
    check "and unharmed" grep -q 'Content verified: 1 ' "$scratch/out"
else
    echo "SKIP: npm is not among the machine's programs"
fi
expect "all can go" 0 "" "*" -q volumes delete npm pip cargo shared small
json "all are gone" 0 '.volumes == []' volumes
nothing_left "no sandbox is left"
