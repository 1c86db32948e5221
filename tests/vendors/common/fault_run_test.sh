#!/bin/bash
# A run of random work under random faults, on `local` and at an emulated service whose provider lives in a worker: sandboxes are made,
# written to, given background processes, paused, forked, kept as snapshots, filled from a folder and emptied into it, and deleted, while
# the command, the keeper of `local` or the worker is killed with SIGKILL, or the disk with all state is full (as root). What a command
# reported with status 0 must be true for ever after, and when all is deleted nothing may be left.
#
# FAULT_SECONDS long, or of FAULT_ROUNDS (40) steps. FAULT_SEED repeats the choices of a run, if not its moments.
# A verb that a provider does not have is not asked for; one that it gets some day is.
# shellcheck disable=SC1091,SC2034,SC2154
if [ "$(id -u)" = 0 ] && [ -z "${FAULT_INSIDE:-}" ]; then
    # Mounts of its own, so that the small disk goes with it.
    FAULT_INSIDE=1 exec unshare --mount --propagation private -- "$BASH" "$0" "$@"
fi
. tests/vendors/lib.sh
need_local
seed=${FAULT_SEED:-1}
rounds=${FAULT_ROUNDS:-40}
seconds=${FAULT_SECONDS:-0}
RANDOM=$seed
LIMIT=120
export TMPDIR=$scratch/temporary # to see what stays there
mkdir "$TMPDIR"
small_disk=false
if [ -n "${FAULT_INSIDE:-}" ] && mount -t tmpfs -o size=192m,mode=700 sandlot "$XDG_STATE_HOME"; then small_disk=true; fi
echo "# seed $seed, $([ "$seconds" -gt 0 ] && echo "$seconds s" || echo "$rounds rounds"), full disks: $small_disk"

end_all() {
    local result=$?
    [ "$BASHPID" = "$$" ] || return
    vendor_end
    delete_all
    ! $small_disk || umount -l "$XDG_STATE_HOME" # the last that has a file there open lets it go
    (exit "$result")
    finish_vendor
}
trap end_all EXIT
vendor_start sandbox0
export SANDBOX0_TOKEN=s0_emulated_0123456789abcdef0123456789abcdef
emulated=(--sandbox sandbox0 --param "base_url=$url")
local=(--sandbox local)

# What was reported, by "WORLD ID". files: the files that must be there; tasks: the processes that must run; pictures: of a
# snapshot, the files. maybe: sandboxes that may be there.
declare -A files tasks pictures maybe
declare -A done_well done_badly has
number=0 lost=0 kills=0 left_by_apply=0 spared=false step=

# use WORLD: the following is about that one
use() {
    world=$1
    if [ "$world" = local ]; then provider=("${local[@]}") slowness=80; else provider=("${emulated[@]}") slowness=400; fi
}
random() { result=$((RANDOM % $1)); }
can() {
    local key="$world $1"
    [ -n "${has[$key]:-}" ] || has[$key]=$("$SANDLOT" providers "${provider[1]}" --json | jq -r ".providers[0].capabilities.\"$1\"")
    [ "${has[$key]}" = true ]
}
# ids: the sandboxes of this world that must be there, to $ids
ids() {
    local key
    ids=()
    for key in "${!files[@]}"; do [ "${key% *}" != "$world" ] || ids+=("${key#* }"); done
    mapfile -t ids < <(printf '%s\n' "${ids[@]}" | sort) # an order that the seed decides
}
# pick: one of them, to $id and $key; fails where there is none
pick() {
    ids
    [ -n "${ids[0]:-}" ] || return 1
    random "${#ids[@]}"
    id=${ids[result]} key="$world $id"
}
forget() { maybe[$1]=1; unset "files[$1]" "tasks[$1]"; }

wrong() { lost=$((lost + 1)); not_ok "$1" "round $round, step $step${fault:+, fault $fault}
$2"; }

# ---- faults ----

keeper() { # whoever holds the lock
    local inode pid
    inode=$(stat -c %i "$XDG_STATE_HOME/sandlot/local/keeper.lock" 2>/dev/null) || return
    pid=$(awk -v inode="$inode" '{ split($6, place, ":"); if (place[3] == inode) print $5 }' /proc/locks)
    case $(readlink "/proc/${pid:-0}/exe") in "$BUILD"/*) echo "$pid" ;; esac
}
workers() { pgrep -P "$1" -f sandlot-worker; }

choose_fault() {
    fault=
    random 100
    if $spared; then spared=false
    elif [ "$result" -lt 30 ]; then fault=client
    elif [ "$result" -lt 38 ] && [ "$world" != local ]; then fault=worker
    elif [ "$result" -lt 38 ]; then fault=keeper
    elif [ "$result" -lt 46 ] && $small_disk; then fault=disk; fi
}
strike() { # at client PID
    local victim=
    case $fault in
        client) victim=$1 ;;
        worker) victim=$(workers "$1") ;;
        keeper) victim=$(keeper) ;;
        *) return ;;
    esac
    [ -z "$victim" ] || kill -KILL $victim 2>/dev/null
    kills=$((kills + 1))
}
# All boxes of `local` end with its keeper: that is what they are promised to do.
after_keeper() {
    local key
    [ "$fault" = keeper ] || return
    for key in "${!files[@]}"; do [ "${key% *}" != local ] || forget "$key"; done
}

# attempt STEP ARGUMENT...: the command, struck by what choose_fault chose. Sets status and out.
attempt() {
    step=$1
    shift
    choose_fault
    [ "$fault" != disk ] || head -c 400M /dev/zero >"$XDG_STATE_HOME/fill" 2>/dev/null
    "$SANDLOT" -q "$@" >"$scratch/out" 2>"$scratch/err" </dev/null &
    local client=$!
    case $fault in
        "" | disk) ;;
        *) random "$slowness"; sleep "0.$(printf %03d "$result")"; strike "$client" ;;
    esac
    wait "$client" 2>/dev/null
    status=$? ran="sandlot $*" out=$(cat "$scratch/out") err=$(cat "$scratch/err")
    rm -f "$XDG_STATE_HOME/fill"
    if [ "$status" = 0 ]; then done_well[$step]=$((${done_well[$step]:-0} + 1)); else done_badly[$step]=$((${done_badly[$step]:-0} + 1)); fi
    [ "$status" = 0 ] || [ -n "$fault" ] || wrong "what nothing disturbs works: $step" "$(show)"
    after_keeper
}

# ---- steps: each is one command under a fault, and what it promised ----

# born FILES: a sandbox was made that has these
born() {
    [ -n "$out" ] || return
    maybe["$world $out"]=1
    [ "$status" != 0 ] || [ "$fault" = keeper ] || { files["$world $out"]=$1 tasks["$world $out"]=''; }
}
step_create() {
    attempt create create "${provider[@]}"
    born ''
}
step_write() {
    number=$((number + 1))
    attempt write exec "${provider[@]}" --sandbox-id "$id" -- "echo $number >k.$number"
    [ "$status" != 0 ] || [ -z "${files[$key]+x}" ] || files[$key]+=" $number"
}
step_detach() {
    attempt detach exec "${provider[@]}" --sandbox-id "$id" --log-limit 1 --detach -- 'exec sleep 86400'
    [ "$status" != 0 ] || [ -z "${files[$key]+x}" ] || tasks[$key]+=" $out"
}
step_delete() {
    forget "$key"
    attempt delete delete "${provider[@]}" -- "$id"
    [ "$status" != 0 ] || unset "maybe[$key]"
}
step_pause() {
    tasks[$key]='' # whether they go on is the service's to say
    attempt pause pause "${provider[@]}" -- "$id"
}
# The service takes no label for a fork, so that one of which nobody heard cannot be found: no fault for those.
step_fork() {
    [ "$world" = local ] || spared=true
    attempt fork fork "${provider[@]}" -- "$id"
    born "${files[$key]:-}"
}
step_snapshot() {
    number=$((number + 1))
    attempt snapshot snapshot "${provider[@]}" --name "s-$number" -- "$id"
    [ "$status" != 0 ] || [ -z "${files[$key]+x}" ] || pictures["$world $out"]=${files[$key]}
}
step_start() { # from a snapshot
    local picture
    for picture in "${!pictures[@]}"; do
        [ "${picture% *}" = "$world" ] || continue
        attempt "start from a snapshot" create "${provider[@]}" --sandbox-snapshot-name "${picture#* }"
        born "${pictures[$picture]}"
        return
    done
}
step_drop() { # a snapshot
    local picture
    for picture in "${!pictures[@]}"; do
        [ "${picture% *}" = "$world" ] || continue
        unset "pictures[$picture]"
        attempt "delete a snapshot" snapshots delete "${provider[@]}" -- "${picture#* }"
        return
    done
}
# A folder goes in, is changed there, and what has changed comes home: whole files only, nothing else.
step_apply() {
    local folder=$scratch/folder new
    number=$((number + 1))
    new=new.$number # what was there when the folder came in is no change
    rm -rf "$folder"
    mkdir -p "$folder/src"
    seq 100 >"$folder/src/a" && seq 200 >"$folder/src/b"
    attempt import import "${provider[@]}" "$id" "$folder"
    [ "$status" = 0 ] && [ -n "${files[$key]+x}" ] || return
    attempt change exec "${provider[@]}" --sandbox-id "$id" -- "seq 300 >src/a; rm src/b; mkdir $new && seq 5000 >$new/c"
    [ "$status" = 0 ] && [ -n "${files[$key]+x}" ] || return
    attempt apply apply "${provider[@]}" "$id"
    cmp -s "$folder/src/a" <(seq 100) || cmp -s "$folder/src/a" <(seq 300) || wrong "apply writes whole files" "src/a is neither the old one nor the new one"
    [ ! -e "$folder/$new/c" ] || cmp -s "$folder/$new/c" <(seq 5000) || wrong "apply writes whole files" "$new/c is cut"
    [ "$status" != 0 ] || { cmp -s "$folder/src/a" <(seq 300) && [ ! -e "$folder/src/b" ] && [ -e "$folder/$new/c" ]; } ||
        wrong "what was reported as applied is there" "$(show)"
    [ -z "$(find "$folder" -name '.sandlot-*')" ] || left_by_apply=$((left_by_apply + 1))
}
step_gc() { attempt gc gc; }

# ---- what was promised ----

# verify: sandbox $id of $key has all that was reported
verify() {
    local file task
    [ -n "${files[$key]+x}" ] || return
    run -q exec "${provider[@]}" --sandbox-id "$id" -- 'cat k.* 2>/dev/null; echo end'
    [ "$status" = 0 ] && [ "${out##*$'\n'}" = end ] || { wrong "a sandbox that was reported is there" "$(show)"; forget "$key"; return; }
    for file in ${files[$key]}; do
        grep -qx "$file" "$scratch/out" || wrong "what was written is there" "file $file of $key: $(show)"
    done
    [ -n "${tasks[$key]}" ] || return
    run -q --json ps "${provider[@]}" --sandbox-id "$id"
    for task in ${tasks[$key]}; do
        jq -e --arg task "$task" 'any(.processes[]; .id == $task and .state == "running")' "$scratch/out" >/dev/null ||
            wrong "what was started runs" "process $task of $key: $(show)"
    done
}
verify_all() {
    fault='' step="the end"
    for world in local emulated; do
        use "$world"
        ids
        for id in ${ids[@]+"${ids[@]}"}; do [ -z "$id" ] || { key="$world $id"; verify; }; done
        for key in "${!pictures[@]}"; do
            [ "${key% *}" = "$world" ] || continue
            run -q exec "${provider[@]}" --sandbox-snapshot-name "${key#* }" -- 'cat k.* 2>/dev/null; echo end'
            for file in ${pictures[$key]} end; do
                grep -qx "$file" "$scratch/out" || wrong "a snapshot has what it was made of" "$file of $key: $(show)"
            done
        done
    done
}

one_round() {
    local count
    random 3
    if [ "$result" = 0 ]; then use emulated; else use local; fi
    pick || { step_create; return; }
    count=${#ids[@]}
    random 100
    if [ "$count" -gt 5 ]; then step_delete
    elif [ "$result" -lt 15 ]; then step_create
    elif [ "$result" -lt 40 ]; then step_write
    elif [ "$result" -lt 50 ]; then step_detach
    elif [ "$result" -lt 58 ]; then step_delete
    elif [ "$result" -lt 64 ]; then if can pause; then step_pause; fi
    elif [ "$result" -lt 70 ]; then if can snapshot; then step_snapshot; fi
    elif [ "$result" -lt 74 ]; then if can snapshot; then step_start; fi
    elif [ "$result" -lt 77 ]; then if can snapshot; then step_drop; fi
    elif [ "$result" -lt 83 ]; then if can fork; then step_fork; fi
    elif [ "$result" -lt 93 ]; then step_apply
    else step_gc; fi
    random 3
    if [ "$result" = 0 ] && pick; then fault='' verify; fi
}

round=0
more() { if [ "$seconds" -gt 0 ]; then [ "$SECONDS" -lt "$seconds" ]; else [ "$round" -lt "$rounds" ]; fi; }
while more; do
    round=$((round + 1))
    one_round
done
verify_all
echo "# $round rounds, $kills kills"
for step in "${!done_well[@]}"; do echo "# $step: ${done_well[$step]} reported, ${done_badly[$step]:-0} not"; done | sort
check "nothing that was reported is lost" test "$lost" = 0

# ---- what is left ----

step="the end"
run -q gc
check "gc works" test "$status" = 0
run gc
check "a second one finds nothing" test "$status$out" = 0
for world in local emulated; do
    use "$world"
    for id in $("$SANDLOT" list --json "${provider[@]}" | jq -r '.sandboxes[].id'); do
        [ -n "${maybe["$world $id"]:-}" ] || wrong "what is there was told" "$world $id"
        run -q delete "${provider[@]}" -- "$id"
        [ "$status" = 0 ] || wrong "what is there can be deleted" "$(show)"
    done
    for key in "${!pictures[@]}"; do [ "${key% *}" != "$world" ] || run -q snapshots delete "${provider[@]}" -- "${key#* }"; done
done
use emulated
service_empty "nothing is left at the service"
use local
nothing_left "nothing is left here"

# Processes of this run: they hold something below $scratch, or have it in their environment.
ours() {
    local pid
    for pid in /proc/[0-9]*; do
        pid=${pid#/proc/}
        [ "$pid" != "$$" ] && [ "$pid" != "$BASHPID" ] || continue
        case $(readlink "/proc/$pid/exe" 2>/dev/null) in "$SANDLOT" | "$BUILD"/builtins/* | "$BUILD"/modules/*) ;; *) continue ;; esac
        if { tr '\0' '\n' <"/proc/$pid/environ"; cat "/proc/$pid/mountinfo"; } 2>/dev/null | grep -qF "$scratch" ||
            find "/proc/$pid/fd" -lname "$scratch/*" 2>/dev/null | grep -q .; then echo "$pid"; fi
    done
}
no_process() { [ -z "$(ours)" ]; }
mounts() { grep -F "$scratch" /proc/self/mountinfo | grep -vcF " $XDG_STATE_HOME "; }
listeners() { grep -F "$scratch" /proc/net/unix | grep -v '/state/sandlot/local/keeper.socket$'; }
state() { find "$XDG_STATE_HOME/sandlot" \( -path '*/boxes/*' -o -path '*/trash/*' -o -path '*/ledger/*' ! -name '*lock*' \) 2>/dev/null; }
no_state() { [ -z "$(state)" ]; }
check "no process is left" until_true 30 no_process
check "no mount is left" test "$(mounts)" = 0
check "no listener is left" test -z "$(listeners)"
until_true 30 no_state || not_ok "no state is left" "$(state)"
check "apply left nothing beside what it wrote" test "$left_by_apply" = 0
vendor_end
check "no temporary file is left" test -z "$(find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'sandlot-*')"
vendor_sound
