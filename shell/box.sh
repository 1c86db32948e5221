# shellcheck shell=sh disable=SC1007,SC2034,SC2046,SC2086,SC2154
#
# What scripts for sandboxes have in common, section by section: embed.awk puts them where a script has a line "#+ NAME".
# POSIX sh with the programs of BusyBox; a fork costs about a millisecond, so whatever is asked often is asked of the
# shell itself. All names but those of place_many begin with s_, for a script may run in somebody's shell. No line is a
# single quote's beginning or end, for some become the text of a variable.

#= mine

# Is $s_dir a folder of ours, and no link?
s_is_mine() { [ -d "$s_dir" ] && [ ! -L "$s_dir" ] && [ -O "$s_dir" ]; }

#= alive

# Is the supervisor still there? After a restart another process may have its number.
s_alive() {
    [ -e /proc/self/stat ] || return 0
    read -r s_line <"$s_dir/super" || return 2
    read -r s_other <"/proc/${s_line%% *}/stat" || return 1
    set -- ${s_line##*) }
    s_line=${20}
    set -- ${s_other##*) }
    [ "$1" != Z ] && [ "$s_line" = "${20}" ]
}

#= family

# The processes, "PID:START:PARENT:SESSION" each, to s_table; not those that have ended. A program's name may have blanks, brackets and
# line breaks in it.
s_processes() {
    s_table=
    for s_file in /proc/[0-9]*/stat; do
        s_line=
        while read -r s_x; do s_line="$s_line $s_x"; done <"$s_file" || continue
        set -- ${s_line##*) }
        s_x=${s_file#/proc/}
        case $1 in ?) [ "$1" = Z ] || s_table="$s_table ${s_x%/*}:${20}:$2:$4" ;; esac
    done
}

# What of s_table belongs to the family, to s_live; s_family has it as "PID.START" for the next time too, for who has lost a parent is
# nobody's child, and another process may have got its number.
s_join() {
    s_live=' ' s_more=1
    while [ "$s_more" ]; do
        s_more=
        for s_x in $s_table; do
            s_pid=${s_x%%:*} s_x=${s_x#*:}
            s_self=$s_pid.${s_x%%:*} s_x=${s_x#*:}
            case $s_live in *" $s_pid "*) continue ;; esac
            case "$s_family$s_marked$s_live" in
                *" $s_self "* | *" =$s_pid "* | *" ${s_x%:*} "* | *" ${s_x#*:}."*) s_live="$s_live$s_pid " s_family="$s_family$s_self " s_more=1 ;;
            esac
        done
    done
}

# Sends signal $1 to a family: the process s_root (if any), whatever has s_mark, NAME=VALUE, in its environment, and, for a program may give
# up its variables, their children and who is in a session that one of them leads, and theirs. s_hit: how many there were.
s_family_gets() {
    s_marked=" =$s_root "
    for s_file in $(grep -lz "^$s_mark\$" /proc/[0-9]*/environ || grep -l "$s_mark" /proc/[0-9]*/environ); do
        s_file=${s_file#/proc/}
        s_marked="$s_marked=${s_file%%/*} "
    done
    s_family=${s_family:- }
    s_processes
    s_join
    s_hit=0
    for s_x in $s_live; do ! kill "-$1" "$s_x" || s_hit=$((s_hit + 1)); done
}

#= kill_family

# Kills a family, see s_family_gets, until nothing of it is there. s_hits: how many there were.
s_kill_family() {
    s_hits=0
    for s_round in 1 2 3 4 5 6 7 8 9; do
        s_family_gets KILL
        [ "$s_hit" != 0 ] || break
        s_hits=$((s_hits + s_hit))
    done
}

#= follow_links

# Goes on from the link $s_g, link by link, to where its file is or is to be; fails where it goes in a ring. Not by readlink -f: that of
# BusyBox looks for a target that is not there in the working directory of the shell.
s_follow_links() {
    s_left=40
    while [ -L "$s_g" ]; do
        s_left=$((s_left - 1))
        [ "$s_left" -gt 0 ] && s_link=$(readlink "$s_g" && echo .) || return 1
        s_link=${s_link%??}
        while case $s_link in ?*/) ;; *) false ;; esac; do s_link=${s_link%/}; done
        case $s_link in /*) s_g=$s_link ;; *) s_g=${s_g%/*}/$s_link ;; esac
    done
}

#= nap

# Sleeps, though a command may kill every sleep that it sees. In the background, so that a trap ends it.
s_nap() {
    s_whole=$((${1%.*} + 1))
    read -r s_begin s_x </proc/uptime
    sleep "$1" & wait "$!" && return
    s_left=$s_whole
    while [ "$s_left" -gt 0 ]; do
        sleep "$s_left" & wait "$!" && return
        read -r s_time s_x </proc/uptime || return
        s_left=$((${s_begin%.*} + s_whole - ${s_time%.*}))
    done
}

#= program

# The file of program $1, to s_found: a command's PATH may be another.
s_program() {
    s_found=
    command -v "$1" >/dev/null || return 1
    IFS=:
    for s_x in $PATH; do
        if [ -z "$s_found" ] && [ -f "$s_x/$1" ] && [ -x "$s_x/$1" ]; then s_found=$s_x/$1; fi
    done
    unset IFS
    case $s_found in /*) ;; *) s_found=$1 ;; esac
}

#= clock

# The time in hundredths of a second, to s_now.
s_clock() {
    if read -r s_now s_x </proc/uptime; then
        case $s_now in 0.*) s_now=1.${s_now#0.} ;; esac
        s_now=${s_now%.*}${s_now#*.}
    else
        s_now=$(date +%s)00
    fi
}

# Milliseconds of s_pause, which grows.
s_rest() {
    case ${#s_pause} in
        1) sleep "0.00$s_pause" ;;
        2) sleep "0.0$s_pause" ;;
        *) sleep "0.$s_pause" ;;
    esac || sleep 1
    s_pause=$((s_pause * 5 / 4 + 2))
    [ "$s_pause" -lt 100 ] || s_pause=100
}

#= place_many

# Puts many staged files into their places: a line "D" for each folder, "disks", a line "F" for each file, "keep" and "move",
# which prints "NUMBER placed" for each that is. $s is where they are staged, in folders that are numbered. For a shell with
# set -f that does nothing else, so these names may be short: D and F travel for every file.
#
# No process for a file: what each is shows by what the shell has built in; stat(1), chmod(1) and mv(1) get many at
# once. What is odd is passed over without a word. The variables of folder K: dK its path, xK the files that go there;
# of file I: fI where it is staged, gI its place, mI its mode.
k= l= old= ol= far=

# D K PATH
D() {
    if [ -d "$2" ] && [ -w "$2" ] && [ -x "$2" ]; then
        eval "d$1=\$2 x$1="
        k="$k $1" l="$l \"\$d$1\""
    else eval "d$1="; fi
}

# Which folders lie on another disk?
disks() {
    eval "set -- $l"
    [ $# -gt 0 ] || exit 0
    set -- $(stat -c %d "$s" "$@")
    own=$1
    for i in $k; do shift; [ "$1" = "$own" ] || far="$far $i "; done
}

# F I K NAME MODE
F() {
    eval "d=\$d$2"
    g=${d%/}/$3
    [ "$d" ] && [ -f "$s/$2/$3" ] && [ ! -L "$g" ] && [ ${#g} -lt 4096 ] || return 0
    if [ -e "$g" ]; then
        [ -f "$g" ] && [ -w "$g" ] || return 0
        eval "f$1=\$2/\$3 g$1=\$g m$1=$4"
        old="$old $1" ol="$ol \"\$g$1\""
    else eval "f$1=\$2/\$3 x$2=\"\$x$2 $1\""; fi
}

# The files of $ids, which are to have the mode $a and do not all have it: $c. Where that cannot be they are passed over.
take() {
    if [ ! "$c" ] || eval "chmod $a $c"; then
        for j in $ids; do eval "f=\$f$j"; eval "x${f%%/*}=\"\$x${f%%/*} $j\""; done
    fi
    c= ids=
}

# What is there keeps its mode; what has other names or another owner is not for this.
keep() {
    eval "set -- $ol"
    [ $# -gt 0 ] || return 0
    n=$#
    set -- $(stat -c '%u:%g' "$s") $(stat -c '%a %h %u:%g' "$@")
    [ $# -eq $((3 * n + 1)) ] || return 0
    me=$1 a= c= ids=
    shift
    for i in $old; do
        if [ "$2" = 1 ] && [ "$3" = "$me" ]; then
            [ "$1" = "$a" ] || take
            a=$1 ids="$ids $i"
            eval "[ \"\$m$i\" = $a ]" || c="$c \"\$s/\$f$i\""
        fi
        shift 3
    done
    take
}

move() {
    for i in $k; do
        eval "d=\$d$i x=\$x$i"
        [ "$x" ] || continue
        b=$s
        case $far in *" $i "*)
            b=${d%/}/${s##*/}
            mkdir -m 700 "$b" && cp -pR "$s/$i" "$b/" || { rm -rf "$b"; continue; } ;;
        esac
        l=
        for j in $x; do l="$l \"\$b/\$f$j\""; done
        eval "mv -f $l \"\${d%/}/\""
        for j in $x; do eval "f=\$f$j"; [ -e "$b/$f" ] || echo "$j placed"; done
        [ "$b" = "$s" ] || rm -rf "$b"
    done
}
