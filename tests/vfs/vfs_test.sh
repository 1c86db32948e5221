#!/bin/bash
# The provider vfs: where its files are, what becomes of them, and what is left on machines with fewer walls.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/../cli/lib.sh"
need_local
vfs=(--sandbox vfs)
marker=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n') # found wherever a file of this test lies
without=$BUILD/tests/local/without

# All that lies in memory; each way has a state folder of its own, and so a keeper and a store of its own.
SANDLOT_VFS_FOLDER=$(mktemp -d /dev/shm/sandlot-test.XXXXXX) || exit 2
chmod 711 "$SANDLOT_VFS_FOLDER" # root's boxes without a view walk through it
export SANDLOT_VFS_FOLDER VFS_FOLDER=$SANDLOT_VFS_FOLDER
trap 'finish_in_memory' EXIT
finish_in_memory() {
    local result=$?
    rm -rf "$SANDLOT_VFS_FOLDER"
    (exit "$result")
    finish
}
nowhere() { ! grep -rsF "$marker" "$HOME" "$SANDLOT_VFS_FOLDER"; }
id_of() { jq -r .id <"$scratch/out"; }
way() { # NAME
    export XDG_STATE_HOME=$HOME/$1
    mkdir -p "$XDG_STATE_HOME"
    others=$(stores)
}
stores() { ls -d "$SANDLOT_VFS_FOLDER"/*/ 2>/dev/null; }
find_store() { store=$(comm -13 <(sort <<<"$others") <(stores | sort)) && [ -d "$store" ]; }

build_calls() {
    local flags=()
    nm -D "$BUILD/plugins/vfs.so" | grep -q __asan && flags=(-fsanitize=address)
    "${CC:-cc}" -std=c11 -D_GNU_SOURCE "${flags[@]}" -Iinclude -o "$scratch/calls" tests/vendors/common/calls.c -ldl -lffi
}
calls() { # STATUS WHAT...
    local wanted=$1
    shift
    out=$(${limited:-} "$scratch/calls" "$BUILD/plugins/vfs.so" vfs - "$@" 2>"$scratch/err")
    status=$?
    ran="calls $*" err=$(cat "$scratch/err")
    [ "$status" = "$wanted" ]
}
check "the program for calls that no command makes" build_calls

# ---- every way ----

new() { json "$1" 0 '.id and .provider == "vfs"' create "${vfs[@]}" "${@:2}" && id=$(id_of); }
reads() { run -q read "${vfs[@]}" --sandbox-id "$1" "$2"; [ "$status" = 0 ] && grep -qF "$3" <<<"$out"; }
same_files() { # what holds whatever the walls are
    new "$1: create with initial files" --param "files={\"/workspace/a/b.txt\":\"$marker\",\"c\":\"1\"}"
    check "$1: they are there" reads "$id" a/b.txt "$marker"
    check "$1: there is one folder in memory" find_store
    printf '%s\n' "$marker" >"$scratch/text"
    input=$scratch/text expect "$1: write" 0 "*" "*" -q write "${vfs[@]}" --sandbox-id "$id" d.txt
    unset input
    check "$1: on the disk there is nothing of it" on_disk_nothing
    expect "$1: delete" 0 "*" "*" delete "${vfs[@]}" "$id"
    check "$1: then there is nothing of it in memory either" until_true 10 nowhere
    json "$1: the list is empty" 0 '.sandboxes == []' list "${vfs[@]}"
    usage "$1: a path that leads out" "no path of a file" create "${vfs[@]}" --param 'files={"../x":"1"}'
    json "$1: an unknown id" 3 '.error == "sandbox_not_found"' read "${vfs[@]}" --sandbox-id mem-0123456789abcdef x
    forks "$1"
}
on_disk_nothing() { ! grep -rsF "$marker" "$HOME"; }
forks() { # WAY
    local first second
    new "$1: one to copy" --param 'files={"e/f":"original","g":"gone"}'
    first=$id
    check "$1: snapshot" calls 0 snapshot "$first" "base.$marker"
    expect "$1: no more than snapshots_mb" 3 "" "snapshots_mb" snapshot "${vfs[@]}" "$first" --name much --param snapshots_mb=0
    check "$1: a name once" calls 3 snapshot "$first" "base.$marker"
    check "$1: a name that is none" calls 3 snapshot "$first" ../x
    check "$1: it is listed" calls 0 snapshots
    check "$1: by its name" grep -qE "listed: base.$marker in memory(, [0-9.]+ mib)? dated" <<<"$out"
    KEEP=1 check "$1: fork" fork "$first"
    second=$id
    printf 'changed\n' >"$scratch/text"
    input=$scratch/text run -q write "${vfs[@]}" --sandbox-id "$first" e/f
    unset input
    check "$1: a fork has the files" reads "$second" e/f original
    run -q delete "${vfs[@]}" "$second"
    new "$1: from the snapshot" --sandbox-snapshot-name "base.$marker"
    second=$id
    check "$1: it has the files" reads "$second" e/f original
    input=$scratch/text run -q write "${vfs[@]}" --sandbox-id "$second" e/f
    unset input
    check "$1: its changes are its own" reads "$second" e/f changed
    check "$1: a snapshot is deleted while it is used" calls 0 delete-snapshot "base.$marker"
    check "$1: and once more" calls 0 delete-snapshot "base.$marker"
    check "$1: who uses it sees it still" reads "$second" g gone
    json "$1: nobody else does" 3 '.message | test("no snapshot")' create "${vfs[@]}" --sandbox-snapshot-name "base.$marker"
    run -q delete "${vfs[@]}" "$first"
    run -q delete "${vfs[@]}" "$second"
    check "$1: nothing is left of it" until_true 10 no_snapshot
}
no_snapshot() { [ -z "$(find "$store"/{moving,snapshots,state/sandlot/local/layers,state/sandlot/local/snapshots} -mindepth 1 2>/dev/null)" ]; }
fork() { KEEP=1 calls 0 fork "$1" "label-$RANDOM" && id=$(sed -n 's/^created: //p' <<<"$out"); }

# ---- full walls ----

way full
json "who only looks" 0 '.sandboxes == []' list "${vfs[@]}"
check "makes no folder" test -z "$(stores)"
same_files full
json "full: the state" 0 '.sandboxes == []' list "${vfs[@]}"
new "full: a small one" --param size_mb=8
expect "full: its commands have the size too" 137 "[the disk limit of the sandbox killed it; remove files, or give the sandbox more with disk_mb]" "*" exec "${vfs[@]}" --sandbox-id "$id" -- 'for i in 1 2 3 4 5; do head -c 4000000 /dev/zero >big$i; done; sleep 60'
expect "full: for each file too" 0 "small" "*" -q exec "${vfs[@]}" --sandbox-id "$id" -- 'rm big?; { sh -c "head -c 12000000 /dev/zero >big" || echo small; } 2>/dev/null; rm big; [ "$(stat -f -c %T .)" = tmpfs ]'
head -c 12000000 /dev/zero >"$scratch/big"
# How many files and folders there are, once nothing runs in the box: then snapshots and forks copy nothing.
is_idle() { ! pgrep -P "$(sed -n 's/^pid=//p' "$store/state/sandlot/local/boxes/$id/record")" >/dev/null; }
entries() { find "$store" | wc -l; }
few_more() {
    local now
    now=$(entries)
    echo "# first $before, then $now"
    [ "$now" -lt $((before + 250)) ]
}
run -q exec "${vfs[@]}" --sandbox-id "$id" -- "mkdir many; cd many; seq 1000 | split -l 1 -a 3 -; echo $marker >~/home"
check "full: nothing runs" until_true 20 is_idle
before=$(entries)
check "full: a snapshot of a thousand files" calls 0 snapshot "$id" many
check "full: copies none of them" few_more
original=$id
KEEP=1 check "full: a fork" fork "$id"
check "full: copies none either" few_more
expect "full: and has them all, with the home folder" 0 "1000 $marker" "*" -q exec "${vfs[@]}" --sandbox-id "$id" -- 'printf "%s %s" "$(cat many/* | wc -l)" "$(cat ~/home)"'
run -q delete "${vfs[@]}" "$id"
id=$original
check "full: what is not needed goes" calls 0 delete-snapshot many
run -q exec "${vfs[@]}" --sandbox-id "$id" -- "rm -r many; echo $marker >small"
json "full: it is listed as running" 0 '.sandboxes[0].state == "running"' list "${vfs[@]}"
# What belongs to this test's keeper alone.
kill_all() { { cat "$store"/state/sandlot/local/boxes/*/record | sed -n 's/^pid=//p' && keepers; } | xargs kill -9; }
keepers() { grep -lzs sandlot-local-keeper /proc/[0-9]*/cmdline | cut -d/ -f3 | while read -r pid; do
    readlink "/proc/$pid/fd/"* | grep -qF "$store/" && echo "$pid"
done; }
check "full: kill -9 of everything" kill_all
json "full: and there is no sandbox" 0 '.sandboxes == []' list "${vfs[@]}"
new "full: the next one"
check "full: removes what was left" until_true 10 nowhere
run -q delete "${vfs[@]}" "$id"
usage "sizes that make no sense" "size_mb must be" create "${vfs[@]}" --param size_mb=0
VFS_FOLDER=/usr SANDLOT_VFS_FOLDER=/usr json "a folder that is not in memory" 3 '.error == "provider_unavailable" and (.message | test("VFS_FOLDER"))' create "${vfs[@]}"
json "a provider local that is none" 3 '.message | test("not the provider local")' create "${vfs[@]}" --param local_library=/etc/passwd

# ---- Landlock alone: said, and where nothing else is allowed ----

way said
export SANDLOT_VFS_CONFINEMENT=landlock
same_files landlock
new "landlock: create"
json "landlock: the listing names it" 0 '.sandboxes[0].state == "landlock"' list "${vfs[@]}"
expect "landlock: commands run" 0 "yes" "weaker than a full sandbox" exec "${vfs[@]}" --sandbox-id "$id" -- 'echo yes'
run -q delete "${vfs[@]}" "$id"
unset SANDLOT_VFS_CONFINEMENT

way forbidden
real=$SANDLOT
printf '#!/bin/sh\nexec %s user_namespaces -- %s "$@"\n' "$without" "$real" >"$scratch/forbidden"
printf '#!/bin/sh\nexec %s user_namespaces landlock -- %s "$@"\n' "$without" "$real" >"$scratch/bare"
chmod +x "$scratch/forbidden" "$scratch/bare"
SANDLOT=$scratch/forbidden
new "no user namespaces: create"
json "no user namespaces: Landlock is in the listing" 0 '.sandboxes[0].state == "landlock"' list "${vfs[@]}"
expect "no user namespaces: commands run" 0 "yes" "*" -q exec "${vfs[@]}" --sandbox-id "$id" -- 'echo yes'
run -q delete "${vfs[@]}" "$id"

# ---- no walls: files alone ----

way bare
SANDLOT=$scratch/bare
limited="$without user_namespaces landlock --"
same_files none
new "none: create"
json "none: the listing says so" 0 '.sandboxes[0].state == "files-only"' list "${vfs[@]}"
json "none: there are no commands" 1 '.error == "not_supported"' exec "${vfs[@]}" --sandbox-id "$id" -- true
hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
ready='{"jsonrpc":"2.0","method":"notifications/initialized"}'
tools() { # what an agent is offered
    printf '%s\n' "$hello" "$ready" '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' |
        timeout -k 5 "$LIMIT" "$SANDLOT" -q mcp "${vfs[@]}" | jq -r 'select(.id == 2) | .result.tools[].name'
}
names=$(tools)
check "none: agents get tools for files" grep -qx read_file <<<"$names"
check "none: and none for commands" sh -c '[ -n "$1" ] && ! printf "%s\n" "$1" | grep -qx execute' sh "$names"
run -q delete "${vfs[@]}" "$id"
json "none: too many bytes are told" 0 .id create "${vfs[@]}" --param size_mb=1
id=$(id_of)
run -q upload "${vfs[@]}" --sandbox-id "$id" "$scratch/big" big
json "none: at the next use" 3 '.message | test("no space left")' ls "${vfs[@]}" --param size_mb=1 --sandbox-id "$id"
run -q delete "${vfs[@]}" "$id"
json "none: one for deep folders" 0 .id create "${vfs[@]}" --param size_mb=1
id=$(id_of)
run -q upload "${vfs[@]}" --sandbox-id "$id" "$scratch/big" "$(printf 'a/%.0s' {1..700})big"
json "none: they count however deep they are" 3 '.message | test("no space left")' ls "${vfs[@]}" --param size_mb=1 --sandbox-id "$id"
run -q delete "${vfs[@]}" "$id"
check "none: and are removed" test "$status:$(ls -A "$store/bare")" = 0:
# A sandbox that nobody is to keep goes with whoever made it, at the latest when somebody looks.
mkfifo "$scratch/pipe"
SANDLOT_VFS_CONFINEMENT=none "$real" -q mcp "${vfs[@]}" <"$scratch/pipe" >"$scratch/said" 2>&1 &
server=$!
exec 9>"$scratch/pipe"
printf '%s\n' "$hello" "$ready" '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write_file","arguments":{"file_path":"x","content":"y"}}}' >&9
check "none: an agent has a sandbox" until_true 10 sh -c 'ls "$1"/bare/mem-*/root/workspace/x >/dev/null 2>&1' sh "$store"
kill -9 "$server"
exec 9>&-
wait "$server" 2>/dev/null
json "none: kill -9, and the next one finds nothing" 0 '.sandboxes == []' list "${vfs[@]}"
check "none: nor is there anything" test -z "$(ls -A "$store/bare")"
SANDLOT=$real

# ---- no memory ----

# As for the providers of services, see tests/vendors/common/starved.c.
starved() {
    nm -D "$BUILD/plugins/vfs.so" | grep -q __asan && return # it has an allocator of its own
    "${CC:-cc}" -std=c11 -D_GNU_SOURCE -rdynamic -Iinclude -o "$scratch/starved" tests/vendors/common/starved.c -ldl -lffi || return
    timeout -k 5 200 "$scratch/starved" "$BUILD/plugins/vfs.so" vfs - 1 </dev/null
}
way starved
check "memory runs out at one place after the other" starved
json "then nothing is left" 0 '.sandboxes == []' list "${vfs[@]}"
