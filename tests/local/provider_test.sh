#!/bin/bash
# What only the provider's own interface shows of local: leases, keepers that are killed, meet or are of another build, limits
# that end a box, and copies.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
need_local

driver=$BUILD/tests/local/provider_driver
library=$BUILD/builtins/local.so
state=$XDG_STATE_HOME/sandlot/local
[ -x "$driver" ] || { echo "not ok $driver is not built; run make programs"; exit 1; }

# A library with AddressSanitizer has to find its runtime in the program already. The driver ends without clearing up.
runtime=$(ldd "$library" | awk '$1 ~ /^libasan/ { print $3 }')
driver=(env ${runtime:+LD_PRELOAD="$runtime" ASAN_OPTIONS=detect_leaks=0} "$driver")

# drive ARGUMENT...: calls the provider. Sets status, out and err.
drive() {
    ran="provider_driver $*"
    timeout -k 5 "$LIMIT" "${driver[@]}" "$library" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    out=$(cat "$scratch/out")
    err=$(cat "$scratch/err")
}
# says TEXT: did the last call?
says() { [[ $err == *$1* ]]; }
silent() { ! says "$1"; }
is() { [ "$1" = "$2" ]; }
listed() { "${driver[@]}" "$library" list | wc -l; }
listed_are() { [ "$(listed)" = "$1" ]; }
no_box_folders() { [ -z "$(ls -A "$state/boxes")" ]; }
nothing_unpacked() { no_box_folders && [ -z "$(ls -A "$state/rootfs")" ]; }
keepers() {
    local process
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/fd/3" 2>/dev/null)" = "$state" ] && [ "$(cat "$process/comm")" = sandlot-local-k ] &&
            echo "${process#/proc/}"
    done
}
no_keeper() { [ -z "$(keepers)" ]; }
one_keeper() { [ "$(keepers | wc -l)" = 1 ]; }
groups_of() { find /sys/fs/cgroup -type d -name "*$1*" 2>/dev/null; }
no_groups_of() { [ -z "$(groups_of "$1")" ]; }
# Ten seconds without boxes end a keeper, which is not long on a busy machine: then there is another one.
serving() { [ -n "$(keepers)" ] || { "${driver[@]}" "$library" run true >/dev/null 2>&1 </dev/null && [ -n "$(keepers)" ]; }; }
kill_keeper() {
    until_true 60 serving && kill -9 "$(keepers)"
    until_true 5 no_keeper
}

# ---- many keepers at once: one stays ----

check "a keeper serves" until_true 60 serving
kill_keeper
for i in $(seq 12); do
    "${driver[@]}" "$library" run "echo fine" >"$scratch/race.$i" 2>"$scratch/trouble.$i" </dev/null &
done
wait
check "twelve that start a keeper at once are all served" is "$(sort "$scratch"/race.* | uniq -c | tr -s ' ')" " 12 fine"
check "and one keeper stays" until_true 5 one_keeper # the others may still be on their way out

# ---- leases ----

mkfifo "$scratch/hold"
"${driver[@]}" "$library" hold 3 <"$scratch/hold" >"$scratch/held" 2>&1 &
holder=$!
exec 7>"$scratch/hold"
check "three sandboxes are held" until_true 10 grep -q '3 sandboxes' "$scratch/held"
check "they are listed" is "$(listed)" 3
kill -9 "$holder"
wait "$holder" 2>/dev/null
exec 7>&-
check "they end with the process that held them" until_true 5 listed_are 0
check "nothing of them is left on disk" until_true 5 no_box_folders
drive create
kept=$out
check "one that is to live on does" listed_are 1

# ---- another build ----

before=$(keepers)
ran="a message of another build"
out=$("${driver[@]}" "$library" foreign "$state" 2>&1)
check "a keeper with sandboxes refuses another build" test -z "${out##*1 sandboxes of another version*}"
# That version may be there no longer.
check "and says how to end them without that one" is "$(grep -o 'kill [0-9]*' <<<"$out")" "kill $before"
drive exec "$kept" 'echo alive'
check "and goes on serving its own" is "$out" alive
drive delete "$kept"
check "the sandbox is deleted" is "$status" 0
out=$("${driver[@]}" "$library" foreign "$state" 2>&1)
check "a keeper without sandboxes makes way" is "$out" closed
drive create
kept=$out
check "for a new one" test "$status" = 0 -a "$(keepers)" != "$before"
kill "$(keepers)"
check "one that is told to end does, with its sandboxes" until_true 60 eval 'no_keeper && no_box_folders'
drive create
kept=$out

# ---- a keeper that is killed ----

init=$(sed -n 's/^pid=//p' "$state/boxes/$kept/record")
mkdir -p "$state/ended"
now=$(date +%s)
for i in $(seq 400); do
    echo old >"$state/ended/box-$i"
    touch -d "@$((now - i))" "$state/ended/box-$i" # each a time of its own: those that share one go or stay together
done
touch -d '2 days ago' "$state"/ended/box-{1..100}
kill_keeper
check "the box ends with its keeper" until_true 5 test ! -e "/proc/$init/root/."
drive exec "$kept" true
check "it is not found any more" test "$status" = 100 -a -z "${err##*status 1:*}"
drive run 'echo next'
check "the next keeper serves" is "$out" next
check "and has swept" test ! -e "$state/boxes/$kept"
check "control groups too" until_true 5 no_groups_of "$kept"
drive exec "$kept" true
check "why the box ended is known" says "crashed"
check "old ends are forgotten" test ! -e "$state/ended/box-100" -a "$(find "$state/ended" -type f | wc -l)" -le 258

# ---- what is made ahead, and what a box does not take along ----

until_true 5 test -S "$state/spare/socket"
check "the next box's folder is made ahead" is "$(ls -Am "$state/spare/storage")" "home, root, tmp, upper"
check "with the places that boxes like the last one need" \
    is "$(ls -A "$state/spare/storage/root")" "$(ls -A "$(find "$state/view" -mindepth 1 -maxdepth 1 -not -name '.*')")"
spare=$(stat -c %i "$state/spare/storage/upper")
places=$(stat -c %i "$state"/spare/storage/root/*)
drive create
kept=$out
check "and becomes that box's" is "$(stat -c %i "$state/boxes/$kept/storage/upper")" "$spare"
check "places too" is "$(stat -c %i "$state/boxes/$kept"/storage/root/*)" "$places"
drive exec "$kept" '{ rmdir /tmp /etc; rm -f /bin; mv /workspace /other; ls -d /other; } 2>/dev/null; touch /new; ls /new'
check "which that box can neither remove nor rename" is "$out" /new
check "another one takes its place" until_true 5 test -S "$state/spare/socket"
init=$(sed -n 's/^pid=//p' "$state/boxes/$kept/record")
check "a box has no copy of the stacks of the keeper's threads" \
    test "$(sed -n 's/^VmData:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$init/status")" -lt 4096
drive delete "$kept"
# Boxes one after the other, until one has a place that has been marked in another.
a_place_is_used_again() {
    drive create
    local place=$state/boxes/$out/storage/root/etc
    if [ "$(stat -c %Y "$place")" = 1 ]; then
        place=
    else
        touch -d @1 "$place"
    fi
    drive delete "$out"
    test -z "$place"
}
nothing_is_new() { test -z "$(find "$state" -name new)"; }
check "places of boxes that have ended serve the next ones" until_true 5 a_place_is_used_again
check "without what these boxes made beside them" until_true 5 nothing_is_new
rm -rf "$state/spare"
drive run 'echo without'
check "a box is made without one too" is "$out" without
check "and then there is one again" until_true 5 test -S "$state/spare/socket"

# ---- a keeper that does not start ----

mkdir "$scratch/broken"
cp "$library" "$scratch/broken/local.so"
real=$library
library=$scratch/broken/local.so
kill_keeper
printf '#!/bin/sh\necho no luck >&4\nexit 1\n' >"$scratch/broken/sandlot-local-keeper"
chmod 755 "$scratch/broken/sandlot-local-keeper"
drive start
check "a keeper that fails is told with its reason" says "no luck"
check "and leaves no zombie" is "$out" "no children"
printf '#!/bin/sh\nexec sleep 100\n' >"$scratch/broken/sandlot-local-keeper"
drive deadline_ms=300 start
check "a keeper that hangs is given up" says "status 6"
check "and ended" is "$out" "no children"

# ---- a kernel, or a filter around the keeper, without pidfd_send_signal ----

printf '#!/bin/sh\nexec "%s" pidfd_send_signal -- "%s" "$@"\n' "$(realpath "$BUILD/tests/local/without")" \
    "$(realpath "$(dirname "$real")/sandlot-local-keeper")" >"$scratch/broken/sandlot-local-keeper"
drive create
kept=$out
init=$(sed -n 's/^pid=//p' "$state/boxes/$kept/record")
drive delete "$kept"
check "without pidfd_send_signal a box is deleted" test "$status" = 0
check "and has ended" until_true 5 test ! -e "/proc/$init/root/."
check "with its files" until_true 5 no_box_folders
kill_keeper

# ---- too few files that may be open, at whatever step that shows ----

few_files() { # KEEPER
    local files
    for files in {32..50..2}; do
        printf '#!/bin/sh\nulimit -n %s && exec "%s" "$@"\n' "$files" "$1" >"$scratch/broken/sandlot-local-keeper"
        drive run 'echo made'
        [ "$out" = made ] || says "raise the limit (ulimit -n)" || return 1
        keepers | xargs -r kill
        until_true 10 no_keeper || return 1
    done
}
check "too few open files are told as that" few_files "$(realpath "$(dirname "$real")/sandlot-local-keeper")"
library=$real

# ---- a keeper that cannot remove what boxes have left: it may open too few files to go through the trash ----

kill_keeper
mkdir -p "$state"/trash/a/b/c/d/e
for files in {20..40}; do # the fewest with which one serves
    no_keeper || break
    (ulimit -n "$files" && exec "${driver[@]}" "$library" run true >/dev/null 2>&1 </dev/null)
done
check "it ends as any other" until_true 60 no_keeper
drive run 'echo after'
check "and the next one serves" is "$out" after
check "and removes it" until_true 10 test ! -e "$state"/trash/a

# ---- a network of its own for every box, also where root's keeper has made it ahead ----
network=$(readlink /proc/self/ns/net)
boxes=()
for i in 1 2 3 4; do
    drive create
    boxes+=("$out")
done
for box in "${boxes[@]}"; do
    drive exec "$box" 'readlink /proc/self/ns/net; grep -c . /proc/net/if_inet6'
    printf '%s\n' "$out"
done >"$scratch/networks"
check "of four boxes each has its own" is "$( (grep '^net:' "$scratch/networks"; echo "$network") | sort -u | wc -l)" 5
check "with its loopback up, and no more" is "$(grep -cx 1 "$scratch/networks")" 4
check "and the keeper keeps its own" is "$(readlink "/proc/$(keepers)"/task/*/ns/net | sort -u)" "$network"
drive confinement=landlock run 'readlink /proc/self/ns/net'
says "status 9" || check "a box without namespaces of its own is in that one" is "$out" "$network"
for box in "${boxes[@]}"; do drive delete "$box"; done

# ---- limits ----

drive cpus=1 create
kept=$out
limits=$(sed -n 's/^limits=//p' "$state/boxes/$kept/record")
case $limits in
    *" cpu"*) check "cpus holds for the box, and nothing is said" silent "cpus" ;;
    *) check "that cpus is weaker here is said" says "log 1: cpus:" ;;
esac
case $limits in
    "per process"*) check "that limits are per process is said" says "log 2: limits hold per process" ;;
esac
drive delete "$kept"

if [ "$(df --output=avail -B1M "$state" | tail -n 1)" -gt 4096 ]; then
    drive disk_mb=300 create
    kept=$out
    # A look in the middle ends the commands at the limit itself, and then the next ones go on from there. In small steps: a tmpfs takes
    # back what a fallocate(2) that is killed had already.
    for round in $(seq 20); do
        drive exec "$kept" "for i in \$(seq 75); do fallocate -l 16M file$round.\$i; done; sleep 3"
        [ ! -e "$state/ended/$kept" ] || break
    done
    until_true 10 test -e "$state/ended/$kept"
    drive exec "$kept" true
    check "far beyond its disk limit a box is ended" says "far beyond its disk limit"
    check "and its files are gone" test ! -e "$state/boxes/$kept"
fi

# ---- archives that take too long ----

mkdir "$scratch/many"
(cd "$scratch/many" && seq 30000 | xargs touch)
tar -C "$scratch" -cf "$scratch/many.tar" many
drive "rootfs=$scratch/many.tar" deadline_ms=150 start
check "unpacking keeps the deadline" says "status 6"
drive "rootfs=$scratch/many.tar" cancel_ms=150 start
check "unpacking can be cancelled" says "status 7"
check "and neither leaves anything" until_true 60 nothing_unpacked
check "not even in the listing" listed_are 0

# ---- a workspace without copy-on-write ----

project=$scratch/project
mkdir -p "$project/sub/readonly"
echo original >"$project/file"
chmod 4750 "$project/file"
ln -s /etc/hostname "$project/link"
mkfifo "$project/pipe"
truncate -s 1G "$project/sparse"
chmod 500 "$project/sub/readonly"
drive confinement=landlock "workspace=$project" run 'stat -c %a file; readlink link; cat file; stat -c "%s %b" sparse; ls -d *
    stat -c %a sub/readonly; echo changed >file; touch sub/added'
if says "status 9"; then
    echo "ok landlock copies # SKIP $err"
else
    check "landlock copies the workspace" is "$out" "750
/etc/hostname
original
1073741824 0
file
link
sparse
sub
500"
    check "and says so" says "log 1: workspace: $project was copied (2 files"
    check "and what it left out" says "log 1: workspace: 1 entries"
    check "the folder itself is not changed" test "$(cat "$project/file")" = original -a ! -e "$project/sub/added"
    head -c 5M /dev/zero >"$project/large"
    drive confinement=landlock "workspace=$project" disk_mb=3 run true
    check "a copy beyond the disk limit is refused" test "$status" = 100 -a -z "${err##*status 8: workspace:*}"
    check "and leaves no box" until_true 10 listed_are 0
fi
