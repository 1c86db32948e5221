# shellcheck shell=sh disable=SC2034,SC2046,SC2154
#
# A page of a file (read.c). $f is the file; sizes are numbers from C. The sections follow one another, the middle ones where they
# are needed.

#= read_box_looking
[ -e "$f" ] || s_gone
[ -r "$f" ] || s_fail eacces
[ ! -d "$f" ] || s_fail eisdir
[ -f "$f" ] || s_fail kind
# There are walls that test(1) does not know, such as Landlock.
true <"$f" || s_fail eacces
s_need head stat
s_code

#= read_box_front
# The first bytes, where they are wanted, through a descriptor whose position then tells how many these were: to ask
# for the size before would take a process more, and a process is most of what this takes. A shell that cannot tell
# whether head failed goes the other way.
if command set -o pipefail && read -r s_n </proc/self/fdinfo/0; then
    {
        echo "front=-$s_k"
        head -c $((s_window + 1)) <&3 | $s_c
        s_x=$?
        echo ';'
        read -r s_n s_size </proc/self/fdinfo/3
    } 3<"$f"
    [ "$s_x" = 0 ] || s_fail eio
    s_word size $s_size
    [ $s_size -gt $s_whole ] || s_end
    s_size=$(stat -L -c %s "$f")
else

#= read_box_whole
# A file that says how long it is. If what came has another length, because the file has changed since, or is one of
# those under /sys, it is sent once more and counted.
s_size=$(stat -L -c %s "$f")
if [ ${s_size:-0} -gt 0 ] && [ $s_size -le $s_whole ]; then
    s_word size $s_size
    s_flow whole <"$f"
    s_end
fi

#= read_box_counted
# One that says that it is empty, as those under /proc, or too much.
if [ ${s_size:-0} -le $s_whole ]; then
    s_d=$(head -c $((s_whole + 1)) "$f" | $s_c)
    # Text of so many characters may stand for more than is to be sent as a whole.
    if [ ${#s_d} -lt $s_whole ] || [ ${s_size:-0} -gt 0 ]; then
        echo "whole=${#s_d}$s_k$s_d;"
        s_end
    fi
    s_d=
fi
head -c $s_head "$f" | s_data head

#= read_box_front_end
fi

#= read_box_finding
# Finds where the wanted line begins, and counts lines. A record of awk is what lies between two "\n"; it holds a line
# more for every "\r" but one at its end. BusyBox's awk ends a text at NUL, so that another byte stands in for it; only
# lengths count here.
s_need awk tr tail
set -- $(tr '\000' '\001' <"$f" | awk -v wanted=$s_wanted -v size=$s_size -v counted=$s_counted '
BEGIN { at = -1; lines = 0; bytes = 0 }
{
    here = 1
    pieces = index($0, "\r") ? split($0, piece, "\r") : 0
    if (pieces) here = piece[pieces] == "" ? pieces - 1 : pieces
    if (at < 0 && wanted < lines + here) {
        at = bytes
        for (i = 1; i <= wanted - lines; i++) at += length(piece[i]) + 1
    }
    lines += here
    bytes += length($0) + 1
    if (at >= 0 && (size > counted || bytes > counted)) { cut = 1; exit }
}
END { printf "%.0f %.0f", at, cut ? -1 : lines }')
[ $# = 2 ] || s_fail eio
[ $2 -lt 0 ] || s_word lines $2
[ $1 -lt 0 ] || [ "$s_n" = pos: ] || tail -c +$(($1 + 1)) "$f" | head -c $((s_window + 1)) | s_data window
