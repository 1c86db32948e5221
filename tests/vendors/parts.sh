# shellcheck shell=bash disable=SC2034,SC2154
# Parts of a test that know nothing of each other and mostly wait: they run side by side. Sourced by lib.sh.
#
#   prepare=(service EMULATOR_PAGE=2)   what each part from here on begins with; unless set, it starts the emulator of vendor_use
#   part COMMAND ARGUMENT...            one, for later
#   parts NAME...                       one of each of these functions
#   parts_run                           runs those that there are, and prints what they say in the order in which they stand
#
# A part is a subshell: what it sets, nobody else sees. It has an emulator, $scratch, $HOME and records of sandboxes of its own.
prepare=(vendor_again)
PARTS=${PARTS:-8} # at once
queue=()
running_parts=()

part() { queue+=("$(printf '%q ' "${prepare[@]}")&& $(printf '%q ' "$@")"); }
parts() {
    local name
    for name; do part "$name"; done
}

# The emulator of vendor_use, for what was written with the address of another one.
vendor_again() {
    local before=$url
    vendor_start "$vendor"
    provider=("${provider[@]//"$before"/"$url"}")
}

parts_run() {
    local number shown=0
    for number in "${!queue[@]}"; do
        while [ "${#running_parts[@]}" -ge "$PARTS" ]; do part_awaited; done
        run_part "$number" >"$scratch/part-$number.out" 2>&1 &
        running_parts[$!]=$number
    done
    while [ "${#running_parts[@]}" -gt 0 ]; do part_awaited; done
    queue=()
}

# One of those that run has ended: all that are next in turn are shown.
part_awaited() {
    local pid
    wait -n -p pid "${!running_parts[@]}"
    unset "running_parts[$pid]"
    while [ "$shown" -lt "${#queue[@]}" ] && [ -e "$scratch/part-$shown.out" ] && [[ " ${running_parts[*]} " != *" $shown "* ]]; do
        cat "$scratch/part-$shown.out"
        failures=$((failures + $(cat "$scratch/part-$shown/failures" 2>/dev/null || echo 1)))
        [ -s "$scratch/part-$shown/failures" ] || echo "not ok it comes to its end: ${queue[shown]}"
        shown=$((shown + 1))
    done
}

run_part() { # NUMBER
    part_pid=$BASHPID part=$1 part_ended=no SECONDS=0
    scratch=$scratch/part-$1 failures=0 running_parts=()
    mkdir -p "$scratch/work" && cp -R "$HOME" "$scratch/home" || exit 2
    export HOME=$scratch/home
    export XDG_CONFIG_HOME=$HOME/.config XDG_DATA_HOME=$HOME/.local/share XDG_STATE_HOME=$HOME/.local/state
    config=$XDG_CONFIG_HOME/sandlot/config.toml plugins=$XDG_DATA_HOME/sandlot/providers
    trap finish_part EXIT
    eval "${queue[$1]//http:\/\/emulator.invalid/\$url}"
    part_ended=yes
}

finish_part() {
    [ "$BASHPID" = "$part_pid" ] || return
    [ "$part_ended" = yes ] || not_ok "it comes to its end: ${queue[part]}" "it ended by itself" # as with a variable that is not set
    vendor_end
    "$aside" -q gc >/dev/null 2>&1
    times >"$scratch/times" # in a pipe it would be that of another process
    echo "# $SECONDS s, $(sed 's/[ms]/ /g' "$scratch/times" | awk '{ used += 60 * ($1 + $3) + $2 + $4 } END { printf "%.1f", used }') s of a processor: ${queue[part]#*&& }"
    echo "$failures" >"$scratch/failures"
}

# What still runs when the test ends before its time.
parts_end() {
    [ "${#running_parts[@]}" -eq 0 ] && return
    kill "${!running_parts[@]}" 2>/dev/null
    wait "${!running_parts[@]}" 2>/dev/null
}
