# shellcheck shell=sh disable=SC2034,SC2154,SC3013,SC3045
#
# Background processes: what core has run in a sandbox. The prologue of every script (script.c) comes first and defines
# s_word, s_data, s_code and s_end; processes.c puts the sections that are needed behind the variables that they take.
# What two families of scripts share comes from shell/box.sh.
#
# THE FOLDER   .sandlot-processes in the first of /tmp, /var/tmp, /dev/shm and HOME where it can be made: private, ours,
# no link. In it `last`, the highest number that was there when folders were removed (numbers are never used again);
# t.TOKEN, the claim of a request to start, which is new for one of them alone, so that a request whose answer was lost
# starts nothing twice, and one that was taken back starts nothing at all; and the processes, pN, in each of which:
#
#   token      of the request
#   command    what runs
#   meta       start (seconds since 1970), bytes of log to keep, 1 if standard error has a log of its own
#   super      /proc/PID/stat of the supervisor: is it still the same process?
#   group      the command, leader of its group; empty once it has ended
#   o.OFFSET   output from that byte on: the newest grows, the oldest are removed; e.OFFSET: standard error
#   o.pump     the process that moves bytes from the pipe to the newest; o.eof: nobody can write any more
#   in, shut   pipes, with input only: what is written to the first is its input, a line in the second ends it, and
#              the second goes
#   exit       code, 1 if the time limit ended it, time (seconds since 1970); blanks until then
#   late       the time limit has passed; killed: it was asked to end before it had begun
#
# VARIABLES   s_cmd the command, or s_long the file that has it; s_cwd, s_env (commands that export its variables),
# s_limit its seconds or nothing, s_most bytes of log, s_in and s_two 1 or nothing, s_token. For what is there already:
# s_number; s_home, HOME where it is one of the places; s_log o, e or nothing; s_from; s_hold in hundredths of a second; s_size the most bytes of log in an answer.

#= process_box_tools s_tools

#+ mine
#+ alive
#+ family
#+ kill_family

# Who belongs to the process, for s_family_gets; false: its record does not tell.
s_aim() {
    read -r s_root <"$s_dir/group" || s_root=
    s_mark=SANDLOT_PROCESS=$s_token
    case $s_token in "" | *[!0-9a-f]*) return 1 ;; esac
}

# Ends the process with all that it started; its group by itself too, for who may not read /proc. s_ended: there was something.
s_kill() {
    s_ended=
    if s_aim; then
        s_kill_family
        [ "$s_hits" = 0 ] || s_ended=1
    fi
    if [ "$s_root" ] && { kill -9 "-$s_root" || kill -9 "$s_root"; }; then s_ended=1; fi
}

#= process_box_supervisor s_job

#+ nap

# The number of the process that this runs in: $$ is that of the shell that began.
s_self() { read -r s_pid s_x </proc/self/stat || s_pid=$(exec sh -c "echo \$PPID"); }

s_timer() {
    trap "kill \$!; exit" 15
    s_nap "$s_limit"
    trap "" 15
    : >"$s_dir/late"
    s_kill
}

# Has both ends of the pipe that is the input, so that the command sees its end only when this ends.
s_hold_open() {
    exec 4<>"$s_dir/in"
    read -r s_x <"$s_dir/shut"
    # Not before the command has it: to open a pipe that nobody writes to would be to wait for ever.
    until [ -s "$s_dir/group" ]; do sleep 0.02 || sleep 1; done
}

# The command. It gets what a shell with -c would give it, and nothing of ours but the mark.
s_run() (
    # Here: what the supervisor says of a killed command is not the command
    if [ "$s_two" ]; then exec 2>&6 6>&-; else exec 2>&1; fi
    if [ "$s_in" ]; then exec <"$s_dir/in"; fi
    s_self 2>/dev/null
    echo "$s_pid" >"$s_dir/group"
    [ ! -e "$s_dir/killed" ] || exit 137
    set -- "$s_shell" -c "$s_cmd" "${s_shell##*/}"
    [ -z "$s_long" ] || set -- "$@" "$s_dir/command"
    [ -z "$s_setsid" ] || set -- "$s_setsid" "$@"
    set -- "$s_env" "$@"
    SANDLOT_PROCESS=$s_token
    export SANDLOT_PROCESS
    if [ "$s_locale" ]; then LC_ALL=$s_locale; else unset LC_ALL; fi
    unset OLDPWD s_dir s_env s_cmd s_long s_limit s_in s_two s_most s_shell s_setsid s_token s_locale
    eval "$1"
    shift
    exec "$@"
)

# Waits until all that the command has printed is in the log $1. A child may hold the pipe for ever; then it is enough
# that the pump sleeps, for it sleeps only where there is nothing to read.
s_settle() {
    s_calm=0
    for s_x in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
        [ ! -e "$s_dir/$1.eof" ] && [ "$s_calm" -lt 3 ] || return
        sleep 0.02 || sleep 1
        s_calm=$((s_calm + 1))
        read -r s_pump <"$s_dir/$1.pump" && read -r s_line <"/proc/$s_pump/stat" || s_line="?) R"
        case ${s_line##*) } in S*) ;; *) s_calm=0 ;; esac
    done
}

s_supervise() {
    read -r s_line </proc/self/stat || { s_self; s_line=$s_pid; }
    echo "$s_line" >"$s_dir/super"
    s_alarm='' s_holder=''
    if [ "$s_in" ]; then s_hold_open </dev/null >/dev/null 6>&- & s_holder=$!; fi
    if [ "$s_limit" ]; then s_timer </dev/null >/dev/null 6>&- & s_alarm=$!; fi
    # For s_release: not the output of the command yet.
    echo
    s_run
    s_code=$?
    exec </dev/null >/dev/null 6>&-
    cd /
    : >"$s_dir/group"
    [ -z "$s_holder" ] || { kill "$s_holder"; rm -f "$s_dir/in" "$s_dir/shut"; }
    s_late=0
    if [ -e "$s_dir/late" ]; then s_late=1 s_code=124; wait "$s_alarm"; elif [ "$s_alarm" ]; then kill "$s_alarm"; fi
    s_settle o
    [ -z "$s_two" ] || s_settle e
    # Over the blanks that lie there: it needs no room, however full the disk is.
    echo "$s_code $s_late $(date +%s) " 1<>"$s_dir/exit"
}

# Takes the oldest segments away: those that are not needed for the bytes that are to be kept, and what is too many. One
# more is about to begin.
s_trim() {
    # shellcheck disable=SC2086
    set -- $s_list
    while [ "$#" -ge 256 ] || { [ "$#" -gt 1 ] && [ "$((s_at - $2))" -ge "$s_most" ]; }; do
        rm -f "$s_dir/$s_log.$1"
        shift
    done
    s_list="$*"
}

# Room is wanted: the newest part is what matters.
s_yield() {
    # shellcheck disable=SC2086
    set -- $s_list
    [ "$#" -gt 1 ] || return
    rm -f "$s_dir/$s_log.$1"
    shift
    s_list="$*"
}

# What dd says of its reads and writes, "3+61", to s_reads and s_writes; warnings may stand before it. By words, for no
# file may be needed on a disk that is full.
s_count() {
    s_reads='' s_writes=''
    for s_x; do
        case $s_x in
            *[!0-9+]* | +* | *+ | *+*+*) ;;
            *+*) if [ -z "$s_reads" ]; then s_reads=$s_x; elif [ -z "$s_writes" ]; then s_writes=$s_x; fi ;;
        esac
    done
    s_reads=${s_reads:-0+0} s_writes=${s_writes:-0+0}
    s_reads=$((${s_reads%+*} + ${s_reads#*+}))
    s_writes=$((${s_writes%+*} + ${s_writes#*+}))
}

# Whoever waits for the shell that began the pipe goes on: see s_begin. The last of the pipe does it, once the supervisor
# has said that it is there: were it the supervisor, that shell could die before it has begun what reads the output.
s_release() { read -r s_x; kill -9 "$$"; }

# From the pipe to files. What cannot be written is dropped, and counted as what is gone: a full disk never stops the
# process. (A read that was only part of a block counts as a whole one there: how long it was nobody can tell.)
s_pump() {
    cd /
    s_at=0 s_list=''
    while :; do
        s_said=$(s_self; echo "$s_pid" >"$s_dir/$s_log.pump"; exec dd bs=4096 count=4096 of="$s_dir/$s_log.$s_at" 2>&1)
        s_status=$?
        # shellcheck disable=SC2086
        s_count $s_said
        s_size=16777216
        case $s_status/$s_said in 0/4096+0*) ;; *) s_size=$(wc -c <"$s_dir/$s_log.$s_at") ;; esac
        s_list="$s_list $s_at"
        s_at=$((s_at + ${s_size:-0}))
        [ "$s_status" != 0 ] || [ "$s_reads" -ge 4096 ] || break
        if [ "$s_status" != 0 ]; then
            s_at=$((s_at + (s_reads - s_writes) * 4096))
            s_yield
            s_size=$(dd bs=4096 count=16 | wc -c)
            s_at=$((s_at + ${s_size:-0}))
            [ "${s_size:-0}" -gt 0 ] || { : >"$s_dir/$s_log.$s_at"; break; }
        fi
        s_trim
    done
    : >"$s_dir/$s_log.eof"
}

set +f
if [ "$s_two" ]; then
    { s_supervise 6>&1 >&5 5>&- | { exec >/dev/null 5>&-; s_log=e; s_pump; }; } 5>&1 | { s_release; s_log=o; s_pump; }
else
    s_supervise | { s_release; s_log=o; s_pump; }
fi

#= process_box_common

eval "$s_tools"
set +f

# Goes on with $1, a function, for each place of the folder that is there, in s_base, until it succeeds. Two may be one.
s_bases() {
    s_seen=
    for s_base in /tmp /var/tmp /dev/shm "$s_home"; do
        case $s_base in /*) ;; *) continue ;; esac
        s_base=${s_base%/}/.sandlot-processes
        s_dir=$s_base
        s_is_mine && s_is_new || continue
        s_seen="$s_seen $s_base"
        if "$1"; then return 0; fi
    done
    return 1
}
s_is_new() {
    for s_x in $s_seen; do [ ! "$s_x" -ef "$s_base" ] || return 1; done
}

# Is $1 a number as we write them?
s_is_number() { case $1 in "" | *[!0-9]* | 0?* | ???????????????????*) return 1 ;; esac; }

# Makes the empty file $1; fails if it is there.
s_make_new() {
    set -C
    true >"$1"
    set -- "$?"
    set +C
    return "$1"
}

# A value of file $1, to s_value; not of what only looks like a file.
s_value() { s_value=; [ -f "$1" ] && [ ! -L "$1" ] && read -r s_value <"$1"; }

# Has the process of s_dir ended? Then its end, to s_state, s_code, s_late, s_end_time.
s_has_ended() {
    s_value "$s_dir/exit"
    # shellcheck disable=SC2086
    set -- $s_value
    s_is_number "${1-}" && s_is_number "${3-}" || return 1
    s_state=exited s_code=$1 s_late=${2-} s_end_time=$3
}

# What became of the process of s_dir, to the same variables.
s_look() {
    s_code='' s_late=0 s_end_time=0 s_state=running
    s_has_ended || s_look_at_supervisor
    # It may have ended between the two looks: what it wrote before counts.
    [ "$s_state" != lost ] || s_has_ended || :
}
s_look_at_supervisor() {
    [ ! -L "$s_dir/super" ] && [ -f "$s_dir/super" ] || { s_look_at_age; return; }
    s_alive
    case $? in 0) ;; 1) s_state=lost ;; *) s_look_at_age; return ;; esac
    # Without /proc there is only its number.
    [ -e /proc/self/stat ] || { s_value "$s_dir/super"; kill -0 "${s_value%% *}" || s_state=lost; }
}

# The same, but what has ended is told only once its output is in the log: that is waited for.
s_look_to_end() {
    s_look
    for s_tries in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        [ "$s_state" = running ] && [ -e "$s_dir/group" ] && [ ! -s "$s_dir/group" ] || return 0
        sleep 0.1 || sleep 1
        s_look
    done
}

# The bytes of file $1, to s_bytes.
s_size_of() { s_bytes=$(wc -c <"$1"); s_bytes=$((${s_bytes:-0})); }

# Without a supervisor yet: it is about to begin, or whoever was to begin it has died.
s_look_at_age() { [ -z "$(find "$s_dir" -prune -mmin +1)" ] || s_state=lost; }

# The oldest and the newest byte of log $1 ("o", "e"), to s_first and s_total; s_newest is the last segment.
s_measure() {
    s_first='' s_newest=''
    for s_file in "$s_dir/$1".[0-9]*; do
        s_x=${s_file##*/"$1".}
        s_is_number "$s_x" && [ -f "$s_file" ] && [ ! -L "$s_file" ] || continue
        [ "$s_x" -gt "${s_newest:--1}" ] && s_newest=$s_x
        if [ -z "$s_first" ] || [ "$s_x" -lt "$s_first" ]; then s_first=$s_x; fi
    done
    s_first=${s_first:-0} s_total=0
    [ "$s_newest" ] || return 0
    s_size_of "$s_dir/$1.$s_newest"
    s_total=$((s_newest + s_bytes))
}

# All facts of the process of s_dir in one word, after s_look.
s_facts() {
    s_value "$s_dir/meta"
    # shellcheck disable=SC2086
    set -- $s_value
    s_start=${1-0} s_two=${3-}
    s_open=
    [ "$s_state" != running ] || [ ! -p "$s_dir/shut" ] || s_open=1
    s_errors=0,0
    [ "$s_two" != 1 ] || { s_measure e; s_errors=$s_first,$s_total; }
    s_measure o
    s_facts=$s_state,$s_code,$s_late,$s_start,$s_end_time,$s_open,$s_two,$s_first,$s_total,$s_errors
}

# The folder of process s_number, to s_dir, and its token.
s_is_here() { s_dir=$s_base/p$s_number; s_is_mine; }
s_find() {
    if s_bases s_is_here; then s_value "$s_dir/token"; s_token=$s_value; return 0; fi
    s_ids=
    s_bases s_name_all
    s_word refused "absent,$s_ids"
    s_end
}
s_name_all() {
    for s_dir in "$s_base"/p[1-9]*; do
        s_x=${s_dir##*/p}
        if s_is_number "$s_x" && s_is_mine && [ "${#s_ids}" -lt 200 ]; then s_ids=$s_ids,p$s_x; fi
    done
    return 1
}

s_refuse() { s_word refused "$1"; s_end; }

#= process_box_start

#+ program

# What begins here is waited for, and in a box each program takes longer to start than all that the shell itself does.
s_line_end="
"

# Looks at all processes: how many run (those before s_mine), which have ended, the highest number, and whether the token is one of theirs.
s_survey() { s_running=0 s_last=0 s_ended='' s_found=''; s_bases s_survey_base; }
s_survey_base() {
    s_value "$s_base/last"
    if s_is_number "$s_value" && [ "$s_value" -gt "$s_last" ]; then s_last=$s_value; fi
    for s_dir in "$s_base"/p[1-9]*; do
        s_x=${s_dir##*/p}
        s_is_number "$s_x" && s_is_mine || continue
        [ "$s_x" -le "$s_last" ] || s_last=$s_x
        s_value "$s_dir/token"
        [ "$s_value" != "$s_token" ] || s_found=$s_x
        s_number=$s_x
        s_look
        if [ "$s_state" != running ]; then s_ended="$s_ended $s_number:$s_end_time:$s_dir"
        elif [ -z "$s_mine" ] || [ "$s_number" -lt "$s_mine" ]; then s_running=$((s_running + 1)); fi
    done
    return 1
}

# Removes ended process $1 of the survey. Before the first: the numbers of those that go are not to be used again.
s_drop() {
    echo "$s_last" >"${s_dir%/*}/last"
    rm -rf "$s_dir"
}

# The newest 64 ended ones stay, each for a day, and of their logs 512 MiB in all.
s_clean_processes() {
    # shellcheck disable=SC2086
    set -- $s_ended
    # shellcheck disable=SC3028 # of bash alone, where it saves a program
    s_now=${BASH_VERSION:+${EPOCHSECONDS-}}
    s_is_number "$s_now" || s_now=$(date +%s)
    s_kept=''
    for s_x; do
        s_dir=${s_x#*:*:} s_end_time=${s_x#*:}
        s_end_time=${s_end_time%%:*}
        if [ "$s_end_time" = 0 ] && [ "$(find "$s_dir" -prune -mmin +1440)" ]; then s_drop
        elif [ "$s_end_time" != 0 ] && [ "$((s_now - s_end_time))" -gt 86400 ]; then s_drop
        else s_kept="$s_kept ${s_x%%:*}:$s_dir"; fi
    done
    s_clean_many
    s_clean_large
}

# Takes the one with the lowest number off s_kept, to s_dir.
s_take_oldest() {
    s_oldest=
    for s_x in $s_kept; do
        if [ -z "$s_oldest" ] || [ "${s_x%%:*}" -lt "${s_oldest%%:*}" ]; then s_oldest=$s_x; fi
    done
    s_dir=${s_oldest#*:}
    s_rest=
    for s_x in $s_kept; do [ "$s_x" = "$s_oldest" ] || s_rest="$s_rest $s_x"; done
    s_kept=$s_rest
}
s_clean_many() {
    while
        # shellcheck disable=SC2086
        set -- $s_kept
        [ "$#" -gt 64 ]
    do
        s_take_oldest
        s_drop
    done
}
# So many segments have no more than that in any case.
s_are_few() {
    for s_x in $s_kept; do
        for s_file in "${s_x#*:}"/[oe].[0-9]*; do [ ! -s "$s_file" ] || set -- "$@" .; done
        [ "$#" -le 32 ] || return 1
    done
}
s_clean_large() {
    ! s_are_few || return 0
    set --
    for s_x in $s_kept; do set -- "$@" "${s_x#*:}"; done
    s_sum=$(du -skc -- "$@")
    s_sum=${s_sum##*"$s_line_end"}
    s_sum=${s_sum%%[!0-9]*}
    while [ "${s_sum:-0}" -gt 524288 ] && [ "$s_kept" ]; do
        s_take_oldest
        s_x=$(du -sk "$s_dir")
        s_sum=$((s_sum - ${s_x%%[!0-9]*}))
        s_drop
    done
}

# A folder for processes that can take one, to s_base, and in it the claim of this request; fails if there is none, or
# if the claim is not ours.
s_claim() {
    for s_base in /tmp /var/tmp /dev/shm "$s_home"; do
        case $s_base in /*) ;; *) continue ;; esac
        s_base=${s_base%/}/.sandlot-processes
        s_dir=$s_base
        s_is_mine || mkdir -m 700 "$s_base" || s_is_mine || continue
        if s_make_new "$s_base/t.$s_token"; then return 0; fi
        [ ! -f "$s_base/t.$s_token" ] || { s_wait_for_other; return 1; }
    done
    s_refuse folder
}

# Somebody else makes this request, or has taken it back.
s_wait_for_other() {
    for s_tries in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        s_survey
        [ -z "$s_found" ] || return 0
        sleep 0.2 || sleep 1
    done
    s_refuse ended
}

# Half of what is left of the disk is what a log may grow to.
s_has_room() {
    s_left=$(df -Pk "$s_base")
    # shellcheck disable=SC2086
    set -- ${s_left##*"$s_line_end"}
    s_is_number "${4-}" || return 0
    [ "$((s_most / 1024))" -le "$(($4 / 2))" ]
}

s_enter() {
    if [ "$s_cwd" ] && ! cd -- "$s_cwd" >/dev/null; then
        if [ -d "$s_cwd" ]; then s_refuse closed; elif [ -e "$s_cwd" ]; then s_refuse file; else s_refuse missing; fi
    fi
}

# What is there before it begins. A disk that is full shows here.
s_fill() {
    echo "$s_token" >"$s_dir/token" &&
        echo "$s_now $s_most $s_two" >"$s_dir/meta" &&
        echo "                                                            " >"$s_dir/exit" || return 1
    if [ "$s_long" ]; then
        mv "$s_long" "$s_dir/command" || return 1
    else
        printf %s "$s_cmd" >"$s_dir/command" || return 1
    fi
    [ -z "$s_in" ] || mkfifo -m 600 "$s_dir/in" "$s_dir/shut"
}

# Old claims, once there are many: a look at the time of each is one more program to start.
s_forget() {
    set -- "$s_base"/t.*
    [ "$#" -gt 64 ] || return 0
    s_old=$(find "$s_base" -name "t.*" -prune -mmin +60)
    # shellcheck disable=SC2086
    [ -z "$s_old" ] || rm -f $s_old
}

s_begin() {
    # The mark of the command that this is must not be that of what goes on.
    unset SANDLOT_JOB SANDLOT_PROCESS
    s_program setsid
    s_setsid=$s_found
    s_program bash || s_program sh
    s_shell=$s_found
    [ -z "$s_long" ] || s_cmd=$s_from_file
    export s_dir s_token s_env s_cmd s_long s_limit s_in s_two s_most s_shell s_setsid s_locale
    # In the foreground, for what a shell starts in the background ignores SIGINT and SIGQUIT for ever. The shell that
    # we start begins a pipe and waits; it is killed as soon as that runs, and the pipe lives on.
    if [ "$s_setsid" ]; then "$s_setsid" sh -c "$s_tools$s_job" sh; else sh -c "trap '' 1; $s_tools$s_job" sh; fi \
        </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
    # Where setsid(1) is of the kind that forks, that was not waited for.
    for s_tries in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        [ ! -s "$s_dir/super" ] || return 0
        sleep 0.1 || sleep 1
    done
    return 1
}

# The first number whose folder nobody else has made, to s_number, and the folder, to s_dir.
s_take_number() {
    s_number=$s_last
    while [ "$s_number" -lt "$((s_last + 1000))" ]; do
        s_number=$((s_number + 1))
        s_dir=$s_base/p$s_number
        [ ! -e "$s_dir" ] || continue
        if mkdir -m 700 "$s_dir"; then return; fi
        [ -e "$s_dir" ] || break
    done
    s_refuse folder
}

# Others may have begun since the survey. Those before this one count: of many that come at once the first ones run.
s_is_too_many() {
    [ "$((s_running + s_number - s_last))" -gt 64 ] || return
    s_mine=$s_number s_started=$s_dir
    s_survey
    s_number=$s_mine s_dir=$s_started s_base=${s_started%/*}
    [ "$s_running" -ge 64 ]
}

s_start() {
    s_mine=
    s_enter
    [ -z "$s_in" ] || command -v mkfifo >/dev/null || s_need mkfifo
    s_survey
    [ -z "$s_found" ] || return 0
    [ "$s_running" -lt 64 ] || s_refuse many
    s_clean_processes
    s_claim || return 0
    s_has_room || { rm -f "$s_base/t.$s_token"; s_refuse room; }
    s_take_number
    if s_is_too_many; then
        rm -rf "$s_dir" "$s_base/t.$s_token"
        s_refuse many
    fi
    s_fill || { rm -rf "$s_dir" "$s_base/t.$s_token"; s_refuse folder; }
    s_found=$s_number s_started=$s_dir
    s_forget
    s_begin_here
}
# s_program has its own use for s_found.
s_begin_here() { s_id=$s_found; s_begin || s_refuse shell; s_found=$s_id; }

s_start
s_word id "p$s_found"
s_end

#= process_box_undo

# Takes a request to start back: what runs by it is ended, and what comes later finds the claim.
s_undo_base() {
    s_make_new "$s_base/t.$s_token"
    for s_dir in "$s_base"/p[1-9]*; do
        s_is_mine || continue
        s_value "$s_dir/token"
        if [ "$s_value" = "$s_token" ]; then : >"$s_dir/killed"; s_kill; fi
    done
    return 1
}
s_dir=/tmp/.sandlot-processes
s_is_mine || mkdir -m 700 "$s_dir"
s_bases s_undo_base
[ -z "$s_long" ] || rm -f "$s_long"
s_word ok 1
s_end

#= process_box_list

# One line of facts for each process, then the beginning of its command and NUL.
s_list_base() {
    for s_dir in "$s_base"/p[1-9]*; do
        s_number=${s_dir##*/p}
        s_is_number "$s_number" && s_is_mine && [ "$s_listed" -lt 1000 ] || continue
        s_listed=$((s_listed + 1))
        s_look
        [ "$s_all" ] || [ "$s_state" = running ] || continue
        s_facts
        echo "$s_number,$s_facts"
        [ ! -f "$s_dir/command" ] || [ -L "$s_dir/command" ] || head -c 4097 "$s_dir/command"
        printf "\000"
    done
    return 1
}
s_need head wc
s_code
s_listed=0
echo "list=-$s_k"
s_coder=$s_c
s_bases s_list_base | $s_coder
echo ";"
s_end

#= process_box_look

#+ clock

# The segment that byte s_at is in, to s_segment, and how much there is of it, to s_have. In a gap: what comes next.
s_place() {
    s_segment='' s_next=
    for s_file in "$s_dir/$s_log".[0-9]*; do
        s_x=${s_file##*/"$s_log".}
        s_is_number "$s_x" && [ -f "$s_file" ] && [ ! -L "$s_file" ] || continue
        if [ "$s_x" -le "$s_at" ]; then
            if [ -z "$s_segment" ] || [ "$s_x" -gt "$s_segment" ]; then s_segment=$s_x; fi
        elif [ -s "$s_file" ] && { [ -z "$s_next" ] || [ "$s_x" -lt "$s_next" ]; }; then s_next=$s_x; fi
    done
    s_have=0
    [ -z "$s_segment" ] || { s_size_of "$s_dir/$s_log.$s_segment"; s_have=$((s_segment + s_bytes - s_at)); }
    [ "$s_have" -le 0 ] || return 0
    s_have=0
    if [ -z "$s_next" ]; then
        [ "${s_newest:-0}" -le "$s_at" ] || s_at=$s_newest
        return 0
    fi
    s_at=$s_next
    s_segment=$s_next
    s_size_of "$s_dir/$s_log.$s_segment"
    s_have=$s_bytes
}

# Nothing is written any more to the segment that byte s_at is in, as far as it was seen; s_newest is of the log's last measure.
s_is_whole() { [ "$s_segment" != "$s_newest" ] || [ -e "$s_dir/$s_log.eof" ]; }

# Hands out what was there from s_at on, piece by piece; what is much, and does not change any more, is fetched as a file by
# whoever asks. What has come since then would have no end where it is printed as fast as it is handed out.
s_hand_out() {
    s_left=$s_size
    while [ "$s_left" -gt 0 ] && [ "$s_at" -lt "$s_total" ]; do
        s_place
        [ "$s_have" -gt 0 ] || break
        if [ "$s_left" = "$s_size" ] && [ "$s_have" -gt 1048576 ] && [ "$s_size" -ge 1048576 ] && s_is_whole; then
            s_word segment "$s_segment,$s_at,$s_dir/$s_log.$s_segment"
            return
        fi
        [ "$s_have" -le "$s_left" ] || s_have=$s_left
        s_word at "$s_at"
        tail -c "+$((s_at - s_segment + 1))" "$s_dir/$s_log.$s_segment" | head -c "$s_have" | s_data bytes
        s_at=$((s_at + s_have))
        s_left=$((s_left - s_have))
    done
    # After a gap at the very end nothing else tells of it.
    s_word at "$s_at"
}

s_find
s_need head tail wc
s_clock
s_until=$((s_now + s_hold))
s_pause=4
while :; do
    s_look
    s_facts
    if [ "$s_log" = e ] && [ "$s_two" != 1 ]; then s_refuse one; fi
    if [ "$s_log" ]; then
        s_measure "$s_log"
        if [ "$s_from" -lt 0 ]; then s_from=$((s_total + s_from)); fi
        [ "$s_from" -ge 0 ] || s_from=0
        [ "$s_looked" ] || [ "$s_from" -le "$s_total" ] || s_from=$s_total
        s_looked=1
        [ "$s_total" -le "$s_from" ] || break
    fi
    [ "$s_state" = running ] || break
    s_clock
    [ "$s_now" -lt "$s_until" ] || break
    s_rest
done
s_word facts "$s_facts"
if [ "$s_told" ] && [ -f "$s_dir/command" ] && [ ! -L "$s_dir/command" ]; then
    head -c 4097 "$s_dir/command" | s_data command
fi
if [ "$s_log" ]; then
    s_word at "$s_from"
    s_at=$s_from
    s_hand_out
fi
s_end

#= process_box_signal

#+ clock

s_group_gets() {
    for s_tries in 1 2 3 4 5 6 7 8 9 10; do
        [ ! -e "$s_dir/group" ] || break
        sleep 0.05 || sleep 1
    done
    s_value "$s_dir/group"
    [ "$s_value" ] || return 1
    kill "-$1" "-$s_value" || kill "-$1" "$s_value"
}

# Waits until it has ended, for s_hold at most.
s_await() {
    s_clock
    s_until=$((s_now + s_hold))
    s_pause=4
    while s_look; [ "$s_state" = running ] && [ "$s_now" -lt "$s_until" ]; do s_rest; s_clock; done
}

s_end_all() {
    : >"$s_dir/killed"
    s_kill
    [ -r /proc/self/environ ] && command -v grep >/dev/null || s_word unsearched 1
    s_hold=500
    s_await
}

s_find
s_look
if [ "$s_state" != running ]; then
    case $s_signal in "" | KILL) s_kill; [ "$s_ended" ] || s_refuse "ended,$s_state,$s_code" ;; *) s_refuse "ended,$s_state,$s_code" ;; esac
elif [ -z "$s_signal" ]; then
    # Whose parents end by the signal are nobody's children afterwards.
    ! s_aim || s_family_gets 0
    s_group_gets TERM
    s_group_gets CONT
    s_await
    s_end_all
elif [ "$s_signal" = KILL ]; then s_end_all
elif ! s_group_gets "$s_signal"; then
    sleep 0.1 || sleep 1
    s_look_to_end
    s_refuse "ended,$s_state,$s_code"
fi
s_word ok 1
s_end

#= process_box_write

#+ clock

# In pieces that a pipe takes as a whole or not at all. It is opened for both, so that nothing waits here but a write.
s_pour() {
    s_i=0
    while [ "$((s_i * 4096))" -lt "$s_length" ]; do
        dd if="$s_feed" bs=4096 skip="$s_i" count=1 1<>"$s_dir/in" &
        echo "$!" >"$s_feed.pid"
        wait "$!" || exit 1
        s_i=$((s_i + 1))
        echo "$s_i" >"$s_feed.at"
    done
}

s_count_taken() {
    s_value "$s_feed.at"
    s_taken=$((${s_value:-0} * 4096))
    [ "$s_taken" -le "$s_length" ] || s_taken=$s_length
}

s_take() {
    # Of this shell alone: others may feed the process at the same time.
    s_feed=$s_dir/feed.$$
    s_print >"$s_feed" || s_refuse folder
    s_size_of "$s_feed"
    s_length=$s_bytes s_taken=0
    rm -f "$s_feed.at"
    s_pour </dev/null >/dev/null &
    s_pouring=$!
    s_clock
    s_until=$((s_now + s_hold))
    s_pause=4
    while s_count_taken; [ "$s_taken" -lt "$s_length" ] && [ -p "$s_dir/in" ] && [ "$s_now" -lt "$s_until" ]; do
        s_rest
        s_clock
    done
    kill "$s_pouring"
    s_value "$s_feed.pid" && kill "$s_value"
    s_count_taken
    rm -f "$s_feed" "$s_feed.at" "$s_feed.pid"
}

# Refuses what has ended, also where it still seems to take input.
s_refuse_ended() {
    s_look_to_end
    [ "$s_state" = running ] || s_refuse "ended,$s_state,$s_code"
}

s_find
s_refuse_ended
[ -p "$s_dir/in" ] && [ -p "$s_dir/shut" ] || s_refuse shut
s_taken=0 s_length=0
[ -z "$s_feeding" ] || s_take
s_word taken "$s_taken"
[ "$s_taken" = "$s_length" ] || s_refuse_ended
if [ "$s_shut" ] && [ "$s_taken" = "$s_length" ]; then
    # Removed while it is open: who comes later finds none, who waits for it hears of it.
    { rm -f "$s_dir/shut"; echo .; } 1<>"$s_dir/shut"
fi
s_end
