#!/bin/bash
# A root file system that is an archive: what is used of it, what a hostile one can do, and what is left behind.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
need_local
# shellcheck disable=SC2034 # lib.sh uses it
LIMIT=120

busybox=$(command -v busybox) || { echo "busybox is not installed"; exit 77; }
kept=$XDG_STATE_HOME/sandlot/local/rootfs
tree=$scratch/tree
outside=$scratch/outside
mkdir -p "$tree/bin" "$tree/etc" "$tree/tmp" "$outside"
cp "$busybox" "$tree/bin/busybox"
for name in sh cat ls id touch stat; do ln -s busybox "$tree/bin/$name"; done
echo 'ID=mini' >"$tree/etc/os-release"
ln "$tree/etc/os-release" "$tree/etc/same"
chmod 700 "$tree"

# pack NAME [OPTION...]: an archive of the tree, one that was never there before
pack() {
    local name=$1
    shift
    tar -C "$tree" "$@" -cf "$scratch/$name" .
}

# set_type ARCHIVE LETTER: makes the first entry of another kind, such as a device, which only root could pack
set_type() {
    local sum old
    sum=$((8#$(dd if="$1" bs=1 skip=148 count=6 status=none)))
    old=$(dd if="$1" bs=1 skip=156 count=1 status=none)
    sum=$((sum - $(printf '%d' "'$old") + $(printf '%d' "'$2")))
    printf '%06o\0 ' "$sum" | dd of="$1" bs=1 seek=148 conv=notrunc status=none
    printf '%s' "$2" | dd of="$1" bs=1 seek=156 conv=notrunc status=none
}

# archive_expect NAME STATUS OUT ERR ARCHIVE ARGUMENT...: as expect, in a sandbox whose root file system is the archive
archive_expect() {
    local name=$1 want_status=$2 out=$3 err=$4 archive=$5
    shift 5
    expect "$name" "$want_status" "$out" "$err" -q exec --param "rootfs=$scratch/$archive" "$@"
}
kept_count() { find "$kept" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }
no_boxes() { [ -z "$(ls -A "$XDG_STATE_HOME/sandlot/local/boxes")" ]; }
forget_archives() {
    chmod -R u+rwx "$kept" && rm -rf "${kept:?}"/*
}

# ---- what it is good for ----

pack plain.tar
pack gzip.tar.gz --gzip
pack misleading_name.zip --xz
for archive in plain.tar gzip.tar.gz misleading_name.zip; do
    archive_expect "$archive is the root file system" 0 "ID=mini" "*" "$archive" -- cat /etc/os-release
done
if command -v zstd >/dev/null; then
    pack zstd.tar.zst --zstd
    archive_expect "zstd.tar.zst is the root file system" 0 "ID=mini" "*" zstd.tar.zst -- cat /etc/os-release
fi
# shellcheck disable=SC2016
archive_expect "SHELL is one that is there" 0 /bin/sh "*" plain.tar -- 'echo $SHELL'
check "each is kept once" test "$(kept_count)" = "$(find "$scratch" -maxdepth 1 -name '*.tar*' -o -maxdepth 1 -name '*.zip' | wc -l)"
archive_expect "the root can be written to" 0 "new" "*" plain.tar -- \
    'echo new >/etc/os-release && cat /etc/os-release && rm /etc/same && touch /added'
archive_expect "what was kept is not changed by that" 0 "ID=mini ID=mini" "*" plain.tar -- \
    '[ ! -e /added ] && echo $(cat /etc/os-release /etc/same)'
archive_expect "everything belongs to the user of the box" 0 "1000:1000" "*" plain.tar -- stat -c %u:%g /etc/os-release
archive_expect "fake_root owns it" 0 "0:0" "*" plain.tar --param fake_root=true -- stat -c %u:%g /etc/os-release
check "unpacking leaves no box" until_true 5 no_boxes
nothing_left "unpacking leaves no sandbox"

count=$(kept_count)
touch "$scratch/plain.tar"
echo 'ID=other' >"$tree/etc/os-release"
pack plain.tar
archive_expect "an archive that was changed is unpacked again" 0 "ID=other" "*" plain.tar -- cat /etc/os-release
check "beside the old one" test "$(kept_count)" = $((count + 1))

touch -d '8 days ago' "$kept"/*
pack fresh.tar
archive_expect "another archive" 0 "*" "*" fresh.tar -- true
check "those that nobody used for a week are removed" test "$(kept_count)" = 1

pack race.tar
for i in 1 2 3 4; do
    "$SANDLOT" -q exec --param "rootfs=$scratch/race.tar" -- cat /etc/os-release >"$scratch/race.$i" 2>&1 &
done
wait
check "four at once all get it" test "$(cat "$scratch"/race.? | sort | uniq -c | tr -s ' ')" = " 4 ID=other"
check "and it is kept once" test "$(kept_count)" = 2

# ---- what it must not do ----

: >"$scratch/evil"
ln -sfn "$outside/secret" "$scratch/link"
echo secret >"$outside/secret"
chmod 600 "$outside/secret"

tar -C "$scratch" --format=ustar -cf "$scratch/device.tar" evil
set_type "$scratch/device.tar" 4
tar -C "$tree" -rf "$scratch/device.tar" .
archive_expect "a device is left out" 0 "" "*" device.tar -- '[ -e /bin/cat ] && [ ! -e /evil ]'

cp "$tree/bin/busybox" "$tree/bin/su"
chmod 6755 "$tree/bin/su"
pack setuid.tar
archive_expect "set-user-id bits go" 0 "755" "*" setuid.tar -- stat -c %a /bin/su
rm "$tree/bin/su"

tar -C "$scratch" -P --transform "s,^evil,../../../../..$outside/evil," -cf "$scratch/dots.tar" evil
archive_expect "a path with .. is an error" 2 "" "could not be unpacked: .*Member name contains" dots.tar -- true

tar -P -cf "$scratch/absolute.tar" "$scratch/evil" && tar -P -C "$tree" -rf "$scratch/absolute.tar" .
mv "$scratch/evil" "$scratch/evil.moved"
archive_expect "an absolute path" 0 "" "*" absolute.tar -- true
check "is one inside" test -e "$(find "$kept" -path "*/upper$scratch/evil")"
check "and none outside" test ! -e "$scratch/evil"
mv "$scratch/evil.moved" "$scratch/evil"

tar -P -C "$scratch" --format=ustar -cf "$scratch/hard.tar" link
set_type "$scratch/hard.tar" 1
tar -P -C "$tree" -rf "$scratch/hard.tar" .
archive_expect "a hard link to a file outside is an error" 2 "" "Cannot hard link" hard.tar -- true

# Its own folders as links: what is made and mounted there must not be made and mounted on this machine.
linked() {
    rm -rf "$scratch/linked" && cp -R "$tree" "$scratch/linked" && mkdir -p "$scratch/linked$outside" "$outside/sys" || return 1
    for name in "$@"; do rm -rf "$scratch/linked/${name:?}" && ln -s "$outside" "$scratch/linked/$name" || return 1; done
    chmod -R go+rX "$scratch/linked"
}
for name in proc dev; do
    linked "$name"
    archive_expect "a root file system whose /$name is a link" 3 "" "has a link at /$name" linked -- true
done
linked run
archive_expect "another link leads nowhere but into it" 0 "*" "*" linked -- 'echo x >/run/x || true'
for name in tmp run; do
    linked "$name" && rm "$scratch/linked/$name" && : >"$scratch/linked/$name"
    archive_expect "a root file system whose /$name is a file" 3 "" "at /$name .*has a file there.*use one with a folder" linked -- true
    ln -sf /nowhere "$scratch/linked/$name"
    archive_expect "or a link that leads nowhere" 3 "" "at /$name .*leads nowhere" linked -- true
done
check "nothing is made behind it on this machine" test ! -e "$outside/shm" -a ! -e "$outside/x" -a ! -e "$outside/fd"
rmdir "$outside/sys"

mkdir "$scratch/through"
ln -s "$outside" "$scratch/through/door"
tar -C "$scratch/through" -cf "$scratch/through.tar" door
rm "$scratch/through/door"
mkdir "$scratch/through/door"
echo broken >"$scratch/through/door/secret"
tar -C "$scratch/through" -rf "$scratch/through.tar" door/secret
tar -C "$tree" -rf "$scratch/through.tar" .
run -q exec --param "rootfs=$scratch/through.tar" -- true
check "a link that leads outside is no way to write there" test "$(cat "$outside/secret")" = secret

pack links.tar
ln -s "$outside/secret" "$scratch/through/out" && tar -C "$scratch/through" -rf "$scratch/links.tar" out
archive_expect "a link that leads outside leads nowhere" 1 "" "*" links.tar -- '[ -L /out ] && cat /out 2>/dev/null'

# ---- what cannot work ----

truncate -s 300M "$scratch/zeros"
count=$(kept_count)
tar -C "$scratch" -czf "$scratch/large.tar.gz" zeros
archive_expect "a file beyond the disk limit" 3 "" "disk_mb" large.tar.gz --param disk_mb=16 -- true
truncate -s 12M "$scratch/zeros"
for i in 1 2 3 4 5 6 7 8; do
    mkdir -p "$scratch/many/$i" && cp --sparse=always "$scratch/zeros" "$scratch/many/$i/"
done
tar -C "$scratch" -czf "$scratch/many.tar.gz" many
archive_expect "many files beyond the disk limit" 3 "" "disk_mb" many.tar.gz --param disk_mb=16 -- true
rm -rf "$scratch/zeros" "$scratch/many"
if [ -n "${SANDLOT_TEST_SLOW:-}" ]; then
    mkdir "$scratch/many"
    (cd "$scratch/many" && seq 150000 | xargs touch)
    tar -C "$scratch" -czf "$scratch/entries.tar.gz" many
    rm -rf "$scratch/many"
    archive_expect "more files than the disk limit allows" 3 "" "disk_mb" entries.tar.gz --param disk_mb=16 -- true
fi

head -c 300000 "$scratch/gzip.tar.gz" >"$scratch/cut.tar.gz"
archive_expect "a compressed archive that is cut" 2 "" "could not be unpacked: .*unexpected end" cut.tar.gz -- true
head -c 1000000 "$scratch/plain.tar" >"$scratch/cut.tar"
archive_expect "an archive that is cut" 2 "" "could not be unpacked: .*Unexpected EOF" cut.tar -- true
yes "no archive" | head -c 100000 >"$scratch/noise.tar"
archive_expect "a file that is no archive" 2 "" "does not look like a tar" noise.tar -- true
: >"$scratch/empty.tar"
archive_expect "an empty file" 2 "" "does not look like a tar" empty.tar -- true
tar -cf "$scratch/nothing.tar" -T /dev/null
archive_expect "an archive of nothing" 2 "" "holds no files" nothing.tar -- true
mkfifo "$scratch/pipe.tar"
archive_expect "a pipe" 2 "" "is not a folder" pipe.tar -- true
archive_expect "a path where nothing is" 2 "" "cannot be opened" missing.tar -- true
if [ "$(id -u)" != 0 ]; then
    cp "$scratch/plain.tar" "$scratch/secret.tar" && chmod 000 "$scratch/secret.tar"
    archive_expect "an archive that may not be read" 2 "" "Permission denied" secret.tar -- true
fi
check "nothing is kept of what failed" test "$(kept_count)" = "$count"
check "failures leave no box" until_true 5 no_boxes
nothing_left "failures leave no sandbox"
forget_archives
