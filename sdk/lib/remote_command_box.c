/*
 * What runs in the sandbox. POSIX sh with the programs of BusyBox; a fork costs about a millisecond, so whatever is
 * asked often is asked of the shell itself. All names begin with s_, for the script may run in somebody's shell.
 *
 * THE JOB   A private folder .sandlot-ID, made by the script whose mkdir succeeds. In it:
 *
 *   super     /proc/PID/stat of the supervisor: is it still the same process?
 *   pid       the command, leader of its group; empty once it has ended
 *   d.OFFSET  output from that byte on: the newest grows, those before the one that the reader is at are removed
 *   ack       up to here the reader has all
 *   code      exit code, and whether the time limit ended it
 *   eof, end  the output is complete: nobody can write any more, or the seal has come by
 *   late, killed, full   the time limit has passed; a cancellation; the disk has no room for the output
 *   free      nobody waits for the shell that began the pipe any more
 *   handed    the end was told: the folder may go
 *
 * THE SEAL  A background child may hold the pipe for ever. So the supervisor writes a line that nobody can guess behind
 * the command's output: what comes after it is not the command's.
 */
#include "remote_command_box.h"

const char remote_box_prologue[] =
    "[ -z \"${ZSH_VERSION-}\" ] || emulate sh\n" /* the shell of a service may be this one */
    "set +e +u +x +v +f\n"
    "exec 2>/dev/null\n"
    "unset IFS\n";

const char remote_box_common[] =
    /* In two halves, lest a shell that shows its commands shows an answer. */
    "s_say() { printf \"\\n%s\\n\" \"$s_a$s_b $*\"; }\n"

    /* The job's folder, to s_dir; fails if there is none. Somebody else's is not it. */
    "s_places() { set -- \"${TMPDIR:-/tmp}\" /tmp /var/tmp /dev/shm \"${HOME:-/}\"\n"
    "for s_dir; do\n"
    "case $s_dir in /*) ;; *) continue ;; esac\n"
    "s_dir=$s_dir/.sandlot-$s_id\n"
    "if $s_try; then return 0; fi\n"
    "done\n"
    "return 1\n"
    "}\n"
    /* s_new: it is ours to start. Two scripts may come at once, when the answer to the first is lost; one mkdir
       succeeds. */
    "s_make_job() { s_new=1; mkdir -m 700 \"$s_dir\" || { s_new=; s_is_job; }; }\n"
    "s_find() { s_try=s_is_job; s_places; }\n"
    "s_make() { s_try=s_make_job; s_places; }\n"
    "eval \"$s_tools\"\n";

/* Both the scripts and the supervisor have these. No single quotes: the text is a variable. */
const char remote_box_tools[] =
    "s_tools='\n"
    "s_is_job() { [ -d \"$s_dir\" ] && [ ! -L \"$s_dir\" ] && [ -O \"$s_dir\" ]; }\n"

    /* Is the supervisor still there? After a restart another process may have its number. */
    "s_alive() {\n"
    "[ -e /proc/self/stat ] || return 0\n"
    "read -r s_line <\"$s_dir/super\" || return 2\n"
    "read -r s_other <\"/proc/${s_line%% *}/stat\" || return 1\n"
    "set -- ${s_line##*) }\n"
    "s_line=${20}\n"
    "set -- ${s_other##*) }\n"
    "[ \"$1\" != Z ] && [ \"$s_line\" = \"${20}\" ]\n"
    "}\n"

    /* Without a supervisor somebody else has to remove the folder, after a while. */
    "s_remove() {\n"
    "s_setsid=\n"
    "if command -v setsid >/dev/null; then s_setsid=setsid; fi\n"
    "export s_dir s_linger\n"
    "$s_setsid sh -c \"sleep \\$s_linger; rm -rf \\\"\\$s_dir\\\"\" </dev/null >/dev/null 2>&1 &\n"
    "}\n"

    /* Ends the command with all that it started: its group, then whatever carries its mark, until nothing does. */
    "s_kill() {\n"
    "if read -r s_group <\"$s_dir/pid\"; then kill -9 \"-$s_group\" || kill -9 \"$s_group\"; fi\n"
    "for s_round in 1 2 3 4 5 6 7 8 9; do\n"
    "s_rest=\n"
    "for s_file in $(grep -lz \"^SANDLOT_JOB=$s_id\\$\" /proc/[0-9]*/environ ||\n"
    "grep -l \"SANDLOT_JOB=$s_id\" /proc/[0-9]*/environ); do\n"
    "s_file=${s_file#/proc/}\n"
    "kill -9 \"${s_file%%/*}\" && s_rest=1\n"
    "done\n"
    "[ \"$s_rest\" ] || break\n"
    "done\n"
    "}\n"
    "'\n";

const char remote_box_supervisor[] =
    "s_job='\n"
    /* Sleeps, though a command may kill every sleep that it sees. In the background, so that a trap ends it. */
    "s_nap() {\n"
    "s_whole=$((${1%.*} + 1))\n"
    "read -r s_begin s_x </proc/uptime\n"
    "sleep \"$1\" & wait \"$!\" && return\n"
    "s_left=$s_whole\n"
    "while [ \"$s_left\" -gt 0 ]; do\n"
    "sleep \"$s_left\" & wait \"$!\" && return\n"
    "read -r s_time s_x </proc/uptime || return\n"
    "s_left=$((${s_begin%.*} + s_whole - ${s_time%.*}))\n"
    "done\n"
    "}\n"

    /* Two things in one process: whoever waits for the shell that began this is let go after a moment, see s_start, and
       the command is ended when its time is up. */
    "s_timer() {\n"
    "trap \"kill \\$!; exit\" 15\n"
    "sleep 0.04 & wait \"$!\" || { sleep 1 & wait \"$!\"; }\n"
    "s_release\n"
    "[ \"$s_limit\" ] || exit\n"
    "s_nap \"$s_limit\"\n"
    "trap \"\" 15\n"
    ": >\"$s_dir/late\"\n"
    "s_kill\n"
    "}\n"

    /* The command. It gets what `bash -c` would give it, and nothing of ours but the mark. */
    "s_run() (\n"
    "exec 2>&1\n" /* here: what the supervisor's shell says of a killed command is not the command's */
    "read -r s_pid s_x </proc/self/stat || s_pid=$(exec sh -c \"echo \\$PPID\")\n"
    "echo \"$s_pid\" >\"$s_dir/pid\"\n"
    "[ ! -e \"$s_dir/killed\" ] || exit 137\n"
    "set -- \"$s_shell\" -c \"$s_cmd\" \"${s_shell##*/}\"\n"
    "[ -z \"$s_long\" ] || set -- \"$@\" \"$s_dir/command\"\n"
    "[ -z \"$s_setsid\" ] || set -- \"$s_setsid\" \"$@\"\n"
    "set -- \"$s_env\" \"$@\"\n"
    "SANDLOT_JOB=$s_id\n"
    "export SANDLOT_JOB\n"
    "unset OLDPWD s_dir s_id s_env s_cmd s_in s_long s_limit s_seal s_linger s_shell s_setsid\n"
    "eval \"$1\"\n"
    "shift\n"
    "exec \"$@\"\n"
    ")\n"

    /* What a restart of the sandbox left of others. */
    "s_sweep() {\n"
    "s_mine=$s_dir\n"
    "for s_dir in \"${s_mine%/*}\"/.sandlot-*/; do\n"
    "s_dir=${s_dir%/}\n"
    "if [ \"$s_dir\" != \"$s_mine\" ] && s_is_job && ! s_alive &&\n"
    "[ \"$(find \"$s_dir\" -prune -mmin +15)\" ]; then rm -rf \"$s_dir\"; fi\n"
    "done\n"
    "s_dir=$s_mine\n"
    "}\n"

    "s_supervise() {\n"
    "read -r s_line </proc/self/stat && echo \"$s_line\" >\"$s_dir/super\"\n"
    "s_timer >/dev/null & s_alarm=$!\n"
    "[ -z \"$s_long\" ] || mv \"$s_long\" \"$s_dir/command\"\n"
    "[ -z \"$s_in\" ] || { exec <\"$s_in\"; rm -f \"$s_in\"; }\n"
    "s_run\n"
    "s_code=$?\n"
    ": >\"$s_dir/pid\"\n"
    "cd /\n"
    "s_late=0\n"
    "if [ -e \"$s_dir/late\" ]; then s_late=1; wait \"$s_alarm\"; elif [ \"$s_limit\" ]; then kill \"$s_alarm\"; fi\n"
    "echo \"$s_code $s_late\" >\"$s_dir/code\"\n"
    "printf \"\\037\\n%s\\n\" \"$s_seal\"\n"
    "exec </dev/null >/dev/null\n"
    /* No end of the output: a child has the pipe. The end is where the seal is. */
    "s_pause=0.02\n"
    "until [ -e \"$s_dir/eof\" ] || [ -e \"$s_dir/end\" ]; do\n"
    "sleep \"$s_pause\" || sleep 1\n"
    "[ -d \"$s_dir\" ] || exit\n"
    "s_release\n" /* the timer may have been ended before it could */
    "[ -e \"$s_dir/eof\" ] || ! grep -q \"$s_seal\" \"$s_dir\"/d.* || : >\"$s_dir/end\"\n"
    "s_pause=0.2\n"
    "done\n"
    /* Nobody says that the end has arrived: it stays for a while after it was told, and much longer if it was not. */
    "s_nap 1\n"
    "s_sweep\n"
    "for s_x in 1 2 3 4 5 6 7 8 9 10 11 12; do\n"
    "s_handed=\n"
    "[ ! -e \"$s_dir/handed\" ] || s_handed=1\n"
    "s_nap \"$s_linger\"\n"
    "[ -z \"$s_handed\" ] || break\n"
    "done\n"
    "exec rm -rf \"$s_dir\"\n"
    "}\n"

    /* Whoever waits for the shell that began this pipe goes on: see s_start. */
    "s_release() { [ -e \"$s_dir/free\" ] || kill -9 \"$$\"; : >\"$s_dir/free\"; }\n"

    /* A reader that lives on keeps children from dying of a broken pipe. */
    "s_drain() { : >\"$s_dir/eof\"; exec cat >/dev/null; }\n"

    /*
     * From the pipe to files. One read takes all that a pipe can hold, so that the seal never lies in two files. While
     * too much is waiting to be fetched nothing is read, and the command waits as on any full pipe.
     */
    "s_pump() {\n"
    "cd /\n"
    "s_at=0\n"
    "s_ack=0\n"
    "while dd bs=1048576 count=64 of=\"$s_dir/d.$s_at\" 2>\"$s_dir/dd\"; do\n"
    /* "3+61 records in", perhaps after a warning: fewer reads than it may do mean the end. */
    "while read -r s_reads s_x; do case $s_reads in [0-9]*+[0-9]*) break ;; esac; done <\"$s_dir/dd\"\n"
    "s_whole=${s_reads%+*}\n"
    "s_parts=${s_reads#*+}\n"
    "[ \"$s_reads\" ] || [ ! -s \"$s_dir/d.$s_at\" ] || s_whole=64 s_parts=0\n"
    "if [ \"$((s_whole + s_parts))\" -lt 64 ]; then : >\"$s_dir/eof\"; s_release; exit; fi\n"
    "s_at=$((s_at + $(wc -c <\"$s_dir/d.$s_at\")))\n"
    "[ ! -e \"$s_dir/end\" ] || exec cat >/dev/null\n"
    "s_naps=0\n"
    "until [ \"$((s_at - ${s_ack:-0}))\" -lt 16777216 ]; do\n"
    "[ ! -e \"$s_dir/killed\" ] || s_drain\n"
    "sleep 0.02 || sleep 1\n"
    "s_naps=$((s_naps + 1))\n"
    "[ \"$s_naps\" -lt 30000 ] || { s_kill; s_drain; }\n" /* ten minutes, or more: nobody is there any more */
    "read -r s_ack <\"$s_dir/ack\"\n"
    "done\n"
    "done\n"
    ": >\"$s_dir/full\"\n"
    "s_kill\n"
    "s_drain\n"
    "}\n"
    "s_supervise | s_pump\n"
    "'\n";

const char remote_box_start[] =
    /* The file of program $1, to s_found: a command's PATH may be another. */
    "s_program() {\n"
    "s_found=\n"
    "command -v \"$1\" >/dev/null || return 1\n"
    "IFS=:\n"
    "for s_x in $PATH; do\n"
    "if [ -z \"$s_found\" ] && [ -f \"$s_x/$1\" ] && [ -x \"$s_x/$1\" ]; then s_found=$s_x/$1; fi\n"
    "done\n"
    "unset IFS\n"
    "case $s_found in /*) ;; *) s_found=$1 ;; esac\n"
    "}\n"

    "s_refuse() { s_say error \"$1\" 0 error \"$1\" 0; return 1; }\n"

    "s_start() {\n"
    "if [ \"$s_cwd\" ] && ! cd -- \"$s_cwd\" >/dev/null; then\n"
    "if [ -d \"$s_cwd\" ]; then s_refuse closed; elif [ -e \"$s_cwd\" ]; then s_refuse file; else s_refuse missing; "
    "fi\n"
    "return 1\n"
    "fi\n"
    "for s_x in \"$s_in\" \"$s_long\"; do\n"
    "[ -z \"$s_x\" ] || [ -r \"$s_x\" ] || s_refuse input || return 1\n"
    "done\n"
    "s_make || s_refuse folder || return 1\n"
    "[ \"$s_new\" ] || return 0\n"
    "s_program setsid\n"
    "s_setsid=$s_found\n"
    "s_program bash || s_program sh\n"
    "s_shell=$s_found\n"
    "export s_dir s_id s_env s_cmd s_in s_long s_limit s_seal s_linger s_shell s_setsid\n"
    /*
     * In the foreground, for what a shell starts in the background ignores SIGINT and SIGQUIT for ever. The shell that
     * we start begins a pipe and waits; the end of that pipe kills it when the output has ended, or after a moment, and
     * lives on. So a short command is waited for without asking again and again.
     */
    "if [ \"$s_setsid\" ]; then \"$s_setsid\" sh -c \"$s_tools$s_job\" sh; else sh -c \"trap '' 1; $s_tools$s_job\" "
    "sh; fi \\\n"
    "</dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-\n"
    "return 0\n"
    "}\n";

const char remote_box_watch[] =
    /* The time in hundredths of a second, to s_now. */
    "s_clock() {\n"
    "if read -r s_now s_x </proc/uptime; then\n"
    "case $s_now in 0.*) s_now=1.${s_now#0.} ;; esac\n"
    "s_now=${s_now%.*}${s_now#*.}\n"
    "else\n"
    "s_now=$(date +%s)00\n"
    "fi\n"
    "}\n"

    /* Milliseconds of s_pause, which grows. */
    "s_rest() {\n"
    "case ${#s_pause} in\n"
    "1) sleep \"0.00$s_pause\" ;;\n"
    "2) sleep \"0.0$s_pause\" ;;\n"
    "*) sleep \"0.$s_pause\" ;;\n"
    "esac || sleep 1\n"
    "s_pause=$((s_pause * 5 / 4 + 2))\n"
    "[ \"$s_pause\" -lt 100 ] || s_pause=100\n"
    "}\n"

    "if command -v base64 >/dev/null; then s_kind=b; else s_kind=o; fi\n"
    "s_encode() { if [ \"$s_kind\" = b ]; then base64; else od -An -v -tx1; fi; }\n"
    "if command -v cksum >/dev/null; then s_sum='cksum'\n"
    "elif command -v sha256sum >/dev/null; then s_sum='sha256sum'\n"
    "else s_sum='echo -'; fi\n"

    /* s_n bytes from s_at on; s_first is where the file begins that they are in. */
    "s_bytes() {\n"
    "if [ \"$s_at\" = \"$s_first\" ]; then head -c \"$s_n\" \"$s_dir/d.$s_first\"\n"
    "else tail -c \"+$((s_at - s_first + 1))\" \"$s_dir/d.$s_first\" | head -c \"$s_n\"; fi\n"
    "}\n"

    "s_frame() {\n"
    "s_n=$s_have\n"
    "[ \"$s_n\" -le 1048576 ] || s_n=1048576\n"
    "[ \"$s_n\" -le \"$((s_most - s_sent))\" ] || s_n=$((s_most - s_sent))\n"
    "s_say data \"$s_at\" \"$s_n\" \"$s_kind\"\n"
    "if [ \"$s_at\" = \"$s_first\" ] && [ \"$s_n\" = \"$s_have\" ] && [ \"$s_known\" = \"$s_first\" ]; then\n"
    "s_encode <\"$s_dir/d.$s_at\"\n"
    "[ \"$s_check\" ] || s_check=$($s_sum <\"$s_dir/d.$s_at\")\n"
    "s_say sum \"$s_check\"\n"
    "else\n"
    "s_bytes | s_encode\n"
    "s_say sum \"$(s_bytes | $s_sum)\"\n"
    "fi\n"
    "s_at=$((s_at + s_n))\n"
    "s_sent=$((s_sent + s_n))\n"
    "}\n"

    /* The size of the file, to s_size. Once no file grows any more it is asked once, of the program that also tells the
       sum, to s_check: after every short command that is all there is to ask. */
    "s_measure() {\n"
    "[ \"$s_known\" != \"$s_first\" ] || return 0\n"
    "s_check=\n"
    "if [ \"$s_final\" ] && [ \"$s_sum\" = cksum ]; then\n"
    "s_check=$(cksum <\"$s_dir/d.$s_first\")\n"
    "s_size=${s_check#* }\n"
    "else\n"
    "s_size=$(wc -c <\"$s_dir/d.$s_first\")\n"
    "fi\n"
    "[ -z \"$s_final\" ] || [ -z \"$s_size\" ] || s_known=$s_first\n"
    "}\n"

    /* How many bytes lie ready at s_at, to s_have. */
    "s_look() {\n"
    "s_have=0\n"
    "[ -s \"$s_dir/d.$s_first\" ] || return\n"
    "s_measure\n"
    "s_have=$((s_first + s_size - s_at))\n"
    "if [ \"$s_have\" -le 0 ] && [ \"$s_at\" != \"$s_first\" ] && [ -e \"$s_dir/d.$s_at\" ]; then\n"
    "s_first=$s_at\n"
    "s_look\n"
    "fi\n"
    "}\n"

    /* What the reader has is not needed any more. */
    "s_forget() {\n"
    "echo \"$s_at\" >\"$s_dir/ack\"\n"
    "s_first=0\n"
    "for s_x in \"$s_dir\"/d.*; do\n"
    "s_x=${s_x##*/d.}\n"
    "case $s_x in *[!0-9]*) continue ;; esac\n"
    "if [ \"$s_x\" -le \"$s_at\" ] && [ \"$s_x\" -gt \"$s_first\" ]; then s_first=$s_x; fi\n"
    "done\n"
    "for s_x in \"$s_dir\"/d.*; do\n"
    "if [ \"${s_x##*/d.}\" -lt \"$s_first\" ]; then rm -f \"$s_x\"; fi\n"
    "done\n"
    "}\n"

    /* Has it ended? Asked before looking for output: what is then there is all. */
    "s_ended() {\n"
    "s_final=\n"
    "[ ! -e \"$s_dir/eof\" ] || s_final=1\n"
    "if [ -e \"$s_dir/eof\" ] || [ -e \"$s_dir/end\" ]; then\n"
    "if [ -e \"$s_dir/full\" ]; then s_end='error full'; return; fi\n"
    "read -r s_code s_late <\"$s_dir/code\" && [ \"$s_late\" ] && s_end=\"end $s_code $s_late\" && return\n"
    "fi\n"
    "[ \"$s_pause\" -ge 100 ] || return\n"
    "[ -d \"$s_dir\" ] || { s_end=absent; return; }\n"
    "s_alive\n"
    "case $? in\n"
    "0) s_idle=0 ;;\n"
    "1) s_end=lost ;;\n"
    "*) s_idle=$((s_idle + 1)); [ \"$s_idle\" -lt 50 ] || s_end=lost ;;\n"
    "esac\n"
    "}\n"

    /* Is it time to hand out what is there? Without streaming more is awaited, within reason; not if it is there, in
       the next file. */
    "s_due() {\n"
    "[ -z \"$s_streams$s_going$s_end\" ] && [ \"$s_have\" -lt 262144 ] || return 0\n"
    "[ ! -s \"$s_dir/d.$((s_at + s_have))\" ] || return 0\n"
    "[ \"$s_since\" ] || s_since=$s_now\n"
    "[ \"$((s_now - s_since))\" -ge \"$s_patience\" ] || [ \"$s_now\" -ge \"$s_until\" ]\n"
    "}\n"

    "s_watch() {\n"
    "s_first=0 s_known='' s_sent=0 s_since='' s_going='' s_pause=4 s_idle=0\n"
    "[ -z \"$s_sealed\" ] || : >\"$s_dir/end\"\n"
    "[ \"$s_at\" = 0 ] || s_forget\n"
    "while :; do\n"
    "s_end=\n"
    "s_ended\n"
    "s_clock\n"
    "s_look\n"
    "if [ \"$s_have\" -gt 0 ] && s_due; then\n"
    "s_frame\n"
    "s_going=1 s_pause=4\n"
    "[ \"$s_sent\" -lt \"$s_most\" ] && [ \"$s_now\" -lt \"$((s_until + 50))\" ] && continue\n"
    "break\n"
    "fi\n"
    "if [ \"$s_end\" ]; then\n"
    "s_say $s_end \"$s_at\" $s_end \"$s_at\"\n"
    "if [ \"$s_end\" = lost ]; then s_kill; s_remove; fi\n"
    ": >\"$s_dir/handed\"\n"
    "return\n"
    "fi\n"
    "[ \"$s_now\" -lt \"$s_until\" ] || break\n"
    "[ -z \"$s_going\" ] || [ \"$s_streams\" ] || break\n"
    "s_rest\n"
    "done\n"
    "s_say more\n"
    "}\n";

const char remote_box_run[] =
    /* Asks for the job, and starts it if that is wanted and nobody has. */
    "s_main() {\n"
    "s_clock\n"
    "s_until=$((s_now + s_hold))\n"
    "if ! s_find; then\n"
    "[ \"$s_go\" ] || { s_say absent; return; }\n"
    "s_start || return\n"
    "fi\n"
    "s_watch\n"
    "}\n"
    "s_main\n"
    "exit 0\n";

const char remote_box_kill[] =
    /* A script that starts the job may arrive later than this one, so a folder is left for it to find. */
    "s_main() {\n"
    "if s_find; then s_new=; else s_make; fi\n"
    ": >\"$s_dir/killed\"\n"
    ": >\"$s_dir/handed\"\n"
    "[ \"$s_new\" ] || s_kill\n"
    "rm -f \"$s_dir\"/d.* $s_in $s_long\n"
    "s_say killed\n"
    "s_alive || s_remove\n"
    "}\n"
    "s_main\n"
    "exit 0\n";
