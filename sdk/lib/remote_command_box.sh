# shellcheck shell=sh disable=SC2034,SC2154
#
# What remote_command.c has run in a sandbox. POSIX sh with the programs of BusyBox; a fork costs about a millisecond, so
# whatever is asked often is asked of the shell itself. All names begin with s_, for the script may run in somebody's
# shell.
#
# The build makes a C string of each section (shell/embed.awk), into which a line "#+ NAME" takes what stands in shell/box.sh;
# remote_command_script.c puts those that are needed behind the variables that describe the job. Two sections are the text of a
# variable, for a shell that outlives the script.
#
# THE JOB   A private folder .sandlot-ID, made by the script whose mkdir succeeds. In it:
#
#   super     /proc/PID/stat of the supervisor: is it still the same process?
#   pid       the command, leader of its group; empty once it has ended
#   d.OFFSET  output from that byte on: the newest grows, those before the one that the reader is at are removed
#   ack       up to here the reader has all
#   code      exit code, and whether the time limit ended it
#   eof, end  the output is complete: nobody can write any more, or the seal has come by
#   late, killed, full   the time limit has passed; a cancellation; the disk has no room for the output
#   free      nobody waits for the shell that began the pipe any more
#   handed    the end was told, by which script: the folder may go, if nobody asks again
#
# THE SEAL  A background child may hold the pipe for ever. So the supervisor writes a line that nobody can guess behind
# the command's output: what comes after it is not the command's.
#
# VARIABLES OF A JOB   s_id; s_cmd the command, or s_long the file that has it; s_cwd where it starts; s_env commands that
# export its variables; s_in the file of its standard input; s_limit its seconds; s_seal; s_linger seconds for which its
# end is remembered.
#
# VARIABLES OF A SCRIPT   s_a and s_b, the halves of the word that begins each line of its answer; s_at the first byte of
# the output that is missing; s_go the job may be started; s_hold and s_patience, in hundredths of a second; s_most bytes
# in the answer; s_streams what is printed arrives at once; s_sealed the seal has arrived.

#= remote_box_prologue

# The shell of a service may be zsh.
[ -z "${ZSH_VERSION-}" ] || emulate sh
set +e +u +x +v +f
exec 2>/dev/null
unset IFS

#= remote_box_common

# In two halves, lest a shell that shows its commands shows an answer.
s_say() { printf "\n%s\n" "$s_a$s_b $*"; }

# The job's folder, to s_dir; fails if there is none. Somebody else's is not it.
s_places() {
    set -- "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm "${HOME:-/}"
    for s_dir; do
        case $s_dir in /*) ;; *) continue ;; esac
        s_dir=$s_dir/.sandlot-$s_id
        if $s_try; then return 0; fi
    done
    return 1
}

# s_new: it is ours to start. Two scripts may come at once, when the answer to the first is lost; one mkdir succeeds.
s_make_job() { s_new=1; mkdir -m 700 "$s_dir" || { s_new=; s_is_mine; }; }
s_find() { s_try=s_is_mine; s_places; }
s_make() { s_try=s_make_job; s_places; }

eval "$s_tools"

#= remote_box_tools s_tools

#+ mine
#+ alive
#+ family
#+ kill_family

# Without a supervisor somebody else has to remove the folder, after a while.
s_remove() {
    s_setsid=
    if command -v setsid >/dev/null; then s_setsid=setsid; fi
    export s_dir s_linger
    $s_setsid sh -c "sleep \$s_linger; rm -rf \"\$s_dir\"" </dev/null >/dev/null 2>&1 &
}

# Ends the command with all that it started; its group by itself too, for who may not read /proc.
s_kill() {
    read -r s_root <"$s_dir/pid" || s_root=
    s_mark=SANDLOT_JOB=$s_id
    s_kill_family
    [ -z "$s_root" ] || kill -9 "-$s_root" || kill -9 "$s_root"
}

#= remote_box_supervisor s_job

#+ nap

# Two things in one process: whoever waits for the shell that began this is let go after a moment, see s_start, and
# the command is ended when its time is up.
s_timer() {
    trap "kill \$!; exit" 15
    sleep 0.04 & wait "$!" || { sleep 1 & wait "$!"; }
    s_release
    [ "$s_limit" ] || exit
    s_nap "$s_limit"
    trap "" 15
    : >"$s_dir/late"
    s_kill
}

# The command. It gets what `bash -c` would give it, and nothing of ours but the mark.
s_run() (
    # Here: what the supervisor's shell says of a killed command is not the command's
    exec 2>&1
    { read -r s_pid s_x </proc/self/stat; } 2>/dev/null || s_pid=$(exec sh -c "echo \$PPID")
    echo "$s_pid" >"$s_dir/pid"
    [ ! -e "$s_dir/killed" ] || exit 137
    set -- "$s_shell" -c "$s_cmd" "${s_shell##*/}"
    [ -z "$s_long" ] || set -- "$@" "$s_dir/command"
    [ -z "$s_setsid" ] || set -- "$s_setsid" "$@"
    set -- "$s_env" "$@"
    SANDLOT_JOB=$s_id
    export SANDLOT_JOB
    unset OLDPWD s_dir s_id s_env s_cmd s_in s_long s_limit s_seal s_linger s_shell s_setsid
    eval "$1"
    shift
    exec "$@"
)

# What a restart of the sandbox left of others. Which are old enough one program tells for all: to read what each is takes as long as
# many a command, and where commands come fast there are hundreds that are still remembered.
s_sweep() {
    s_mine=$s_dir
    s_old="
$(find "${s_mine%/*}"/.sandlot-*/ -prune -mmin +15)
"
    for s_dir in "${s_mine%/*}"/.sandlot-*/; do
        case $s_old in *"
$s_dir
"*) ;; *) continue ;; esac
        s_dir=${s_dir%/}
        if [ "$s_dir" != "$s_mine" ] && s_is_mine && ! s_alive; then rm -rf "$s_dir"; fi
    done
    s_dir=$s_mine
}

s_supervise() {
    read -r s_line </proc/self/stat && echo "$s_line" >"$s_dir/super"
    s_timer >/dev/null & s_alarm=$!
    [ -z "$s_long" ] || mv "$s_long" "$s_dir/command"
    [ -z "$s_in" ] || { exec <"$s_in"; rm -f "$s_in"; }
    s_run
    s_code=$?
    : >"$s_dir/pid"
    cd /
    s_late=0
    if [ -e "$s_dir/late" ]; then s_late=1; wait "$s_alarm"; elif [ "$s_limit" ]; then kill "$s_alarm"; fi
    echo "$s_code $s_late" >"$s_dir/code"
    printf "\037\n%s\n" "$s_seal"
    exec </dev/null >/dev/null
    # No end of the output: a child has the pipe. The end is where the seal is.
    s_pause=0.02
    until [ -e "$s_dir/eof" ] || [ -e "$s_dir/end" ]; do
        sleep "$s_pause" || sleep 1
        [ -d "$s_dir" ] || exit
        # The timer may have been ended before it could
        s_release
        [ -e "$s_dir/eof" ] || ! grep -q "$s_seal" "$s_dir"/d.* || : >"$s_dir/end"
        s_pause=0.2
    done
    # Nobody says that the end has arrived: it stays for a while after it was told, and much longer if it was not.
    s_nap 1
    s_sweep
    for s_x in 1 2 3 4 5 6 7 8 9 10 11 12; do
        s_handed='' s_again=''
        read -r s_handed <"$s_dir/handed"
        s_nap "$s_linger"
        read -r s_again <"$s_dir/handed"
        [ -z "$s_handed" ] || [ "$s_handed" != "$s_again" ] || break
    done
    exec rm -rf "$s_dir"
}

# Whoever waits for the shell that began this pipe goes on: see s_start. On a busy machine that shell may not have begun the other end
# yet, which has a file as soon as it reads: without it nobody would ever hear of the command again.
s_release() {
    until [ -e "$s_dir/free" ] || [ -e "$s_dir/dd" ] || ! kill -0 "$$"; do sleep 0.02 || sleep 1; done
    [ -e "$s_dir/free" ] || kill -9 "$$"
    : >"$s_dir/free"
}

# A reader that lives on keeps children from dying of a broken pipe.
s_drain() { : >"$s_dir/eof"; exec cat >/dev/null; }

# From the pipe to files. One read takes all that a pipe can hold, so that the seal never lies in two files.
# While too much is waiting to be fetched nothing is read, and the command waits as on any full pipe.
s_pump() {
    cd /
    s_at=0
    s_ack=0
    while dd bs=1048576 count=64 of="$s_dir/d.$s_at" 2>"$s_dir/dd"; do
        # "3+61 records in", perhaps after a warning: fewer reads than it may do mean the end.
        while read -r s_reads s_x; do case $s_reads in [0-9]*+[0-9]*) break ;; esac; done <"$s_dir/dd"
        s_whole=${s_reads%+*}
        s_parts=${s_reads#*+}
        [ "$s_reads" ] || [ ! -s "$s_dir/d.$s_at" ] || s_whole=64 s_parts=0
        if [ "$((s_whole + s_parts))" -lt 64 ]; then : >"$s_dir/eof"; s_release; exit; fi
        s_at=$((s_at + $(wc -c <"$s_dir/d.$s_at")))
        [ ! -e "$s_dir/end" ] || exec cat >/dev/null
        s_naps=0
        until [ "$((s_at - ${s_ack:-0}))" -lt 16777216 ]; do
            [ ! -e "$s_dir/killed" ] || s_drain
            sleep 0.02 || sleep 1
            s_naps=$((s_naps + 1))
            # Ten minutes, or more: nobody is there any more
            [ "$s_naps" -lt 30000 ] || { s_kill; s_drain; }
            read -r s_ack <"$s_dir/ack"
        done
    done
    : >"$s_dir/full"
    s_kill
    s_drain
}

s_supervise | s_pump

#= remote_box_start

#+ program

s_refuse() { s_say error "$1" 0 error "$1" 0; return 1; }

s_start() {
    if [ "$s_cwd" ] && ! cd -- "$s_cwd" >/dev/null; then
        if [ -d "$s_cwd" ]; then s_refuse closed; elif [ -e "$s_cwd" ]; then s_refuse file; else s_refuse missing; fi
        return 1
    fi
    for s_x in "$s_in" "$s_long"; do
        [ -z "$s_x" ] || [ -r "$s_x" ] || s_refuse input || return 1
    done
    s_make || s_refuse folder || return 1
    [ "$s_new" ] || return 0
    s_program setsid
    s_setsid=$s_found
    s_program bash || s_program sh
    s_shell=$s_found
    export s_dir s_id s_env s_cmd s_in s_long s_limit s_seal s_linger s_shell s_setsid
    # In the foreground, for what a shell starts in the background ignores SIGINT and SIGQUIT for ever. The
    # shell that we start begins a pipe and waits; the end of that pipe kills it when the output has ended, or
    # after a moment, and lives on. So a short command is waited for without asking again and again.
    if [ "$s_setsid" ]; then "$s_setsid" sh -c "$s_tools$s_job" sh; else sh -c "trap '' 1; $s_tools$s_job" sh; fi \
        </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
    return 0
}

#= remote_box_watch

#+ clock

if command -v base64 >/dev/null; then s_kind=b; else s_kind=o; fi
s_encode() { if [ "$s_kind" = b ]; then base64; else od -An -v -tx1; fi; }
if command -v cksum >/dev/null; then s_sum='cksum'
elif command -v sha256sum >/dev/null; then s_sum='sha256sum'
else s_sum='echo -'; fi

# s_n bytes from s_at on; s_first is where the file begins that they are in.
s_bytes() {
    if [ "$s_at" = "$s_first" ]; then head -c "$s_n" "$s_dir/d.$s_first"
    else tail -c "+$((s_at - s_first + 1))" "$s_dir/d.$s_first" | head -c "$s_n"; fi
}

s_frame() {
    s_n=$s_have
    [ "$s_n" -le 1048576 ] || s_n=1048576
    [ "$s_n" -le "$((s_most - s_sent))" ] || s_n=$((s_most - s_sent))
    s_say data "$s_at" "$s_n" "$s_kind"
    if [ "$s_at" = "$s_first" ] && [ "$s_n" = "$s_have" ] && [ "$s_known" = "$s_first" ]; then
        s_encode <"$s_dir/d.$s_at"
        [ "$s_check" ] || s_check=$($s_sum <"$s_dir/d.$s_at")
        s_say sum "$s_check"
    else
        s_bytes | s_encode
        s_say sum "$(s_bytes | $s_sum)"
    fi
    s_at=$((s_at + s_n))
    s_sent=$((s_sent + s_n))
}

# The size of the file, to s_size. Once no file grows any more it is asked once, of the program that also tells the
# sum, to s_check: after every short command that is all there is to ask.
s_measure() {
    [ "$s_known" != "$s_first" ] || return 0
    s_check=
    if [ "$s_final" ] && [ "$s_sum" = cksum ]; then
        s_check=$(cksum <"$s_dir/d.$s_first")
        s_size=${s_check#* }
    else
        s_size=$(wc -c <"$s_dir/d.$s_first")
    fi
    [ -z "$s_final" ] || [ -z "$s_size" ] || s_known=$s_first
}

# How many bytes lie ready at s_at, to s_have.
s_look() {
    s_have=0
    [ -s "$s_dir/d.$s_first" ] || return
    s_measure
    s_have=$((s_first + s_size - s_at))
    if [ "$s_have" -le 0 ] && [ "$s_at" != "$s_first" ] && [ -e "$s_dir/d.$s_at" ]; then
        s_first=$s_at
        s_look
    fi
}

# What the reader has is not needed any more.
s_forget() {
    echo "$s_at" >"$s_dir/ack"
    s_first=0
    for s_x in "$s_dir"/d.*; do
        s_x=${s_x##*/d.}
        case $s_x in *[!0-9]*) continue ;; esac
        if [ "$s_x" -le "$s_at" ] && [ "$s_x" -gt "$s_first" ]; then s_first=$s_x; fi
    done
    for s_x in "$s_dir"/d.*; do
        if [ "${s_x##*/d.}" -lt "$s_first" ]; then rm -f "$s_x"; fi
    done
}

# Has it ended? Asked before looking for output: what is then there is all.
s_ended() {
    s_final=
    [ ! -e "$s_dir/eof" ] || s_final=1
    if [ -e "$s_dir/eof" ] || [ -e "$s_dir/end" ]; then
        if [ -e "$s_dir/full" ]; then s_end='error full'; return; fi
        read -r s_code s_late <"$s_dir/code" && [ "$s_late" ] && s_end="end $s_code $s_late" && return
    fi
    [ "$s_pause" -ge 100 ] || return
    [ -d "$s_dir" ] || { s_end=absent; return; }
    s_alive
    case $? in
        0) s_idle=0 ;;
        1) s_end=lost ;;
        *) s_idle=$((s_idle + 1)); [ "$s_idle" -lt 50 ] || s_end=lost ;;
    esac
}

# Is it time to hand out what is there? Without streaming more is awaited, within reason; not if it is there, in the
# next file.
s_due() {
    [ -z "$s_streams$s_going$s_end" ] && [ "$s_have" -lt 262144 ] || return 0
    [ ! -s "$s_dir/d.$((s_at + s_have))" ] || return 0
    [ "$s_since" ] || s_since=$s_now
    [ "$((s_now - s_since))" -ge "$s_patience" ] || [ "$s_now" -ge "$s_until" ]
}

s_watch() {
    s_first=0 s_known='' s_sent=0 s_since='' s_going='' s_pause=4 s_idle=0
    [ -z "$s_sealed" ] || : >"$s_dir/end"
    # Who asks again has not heard the end, and may get it piece by piece where lines break
    [ ! -e "$s_dir/handed" ] || echo "asked $s_b" >"$s_dir/handed"
    [ "$s_at" = 0 ] || s_forget
    while :; do
        s_end=
        s_ended
        s_clock
        s_look
        if [ "$s_have" -gt 0 ] && s_due; then
            s_frame
            s_going=1 s_pause=4
            [ "$s_sent" -lt "$s_most" ] && [ "$s_now" -lt "$((s_until + 50))" ] && continue
            break
        fi
        if [ "$s_end" ]; then
            s_say $s_end "$s_at" $s_end "$s_at"
            if [ "$s_end" = lost ]; then s_kill; s_remove; fi
            echo "told $s_b" >"$s_dir/handed"
            return
        fi
        [ "$s_now" -lt "$s_until" ] || break
        [ -z "$s_going" ] || [ "$s_streams" ] || break
        s_rest
    done
    s_say more
}

#= remote_box_run

# Asks for the job, and starts it if that is wanted and nobody has.
s_ask() {
    s_clock
    s_until=$((s_now + s_hold))
    if ! s_find; then
        [ "$s_go" ] || { s_say absent; return; }
        s_start || return
    fi
    s_watch
}

s_ask
exit 0

#= remote_box_kill

# A script that starts the job may arrive later than this one, so a folder is left for it to find.
s_abort() {
    if s_find; then s_new=; else s_make; fi
    : >"$s_dir/killed"
    echo killed >"$s_dir/handed"
    [ "$s_new" ] || s_kill
    rm -f "$s_dir"/d.* $s_in $s_long
    s_say killed
    s_alive || s_remove
}

s_abort
exit 0
