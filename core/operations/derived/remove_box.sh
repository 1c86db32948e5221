# shellcheck shell=sh disable=SC2034,SC2154,SC3045,SC3028,SC2164
#
# Removing a file or a directory with all that is in it (remove.c).

#= remove_box
# $f goes, unless $w, the working directory, lies in it. What counts is whether it is gone, not what rm says: BusyBox's says nothing of a
# directory that it cannot read.
[ -e "$f" ] || [ -L "$f" ] || s_gone
s_need rm
if [ -d "$f" ] && [ ! -L "$f" ] && cd -P "$f"; then
    # Behind a link to "/" bash begins what it says with two slashes.
    s_p=${PWD#/} s_p=/${s_p#/}
    if cd -P "$w"; then
        s_w=${PWD#/}
        case /${s_w#/}/ in "${s_p%/}/"*) s_fail working;; esac
    fi
    # A mount cannot be removed, but rm notices only when all below it is gone.
    if [ -r /proc/self/mountinfo ]; then
        # bash has a quick way to see that there is none: read goes back to where a line ends, and for each the system makes the whole list
        # anew.
        s_w=
        [ -z "$BASH_VERSION" ] || read -r -N 1048576 s_w </proc/self/mountinfo
        [ ${#s_w} -lt 1048576 ] || s_w=
        case $s_p in *[!A-Za-z0-9/._-]*) s_w=;; esac
        case $s_w in
            ''|*" $s_p "*|*" $s_p/"*)
                while read -r s_n s_n s_n s_n s_w s_n; do
                    case $s_w in *\\*) s_w=$(printf '%b.' "$s_w") s_w=${s_w%.};; esac
                    case $s_w in "$s_p"|"$s_p"/*) s_fail ebusy;; esac
                done </proc/self/mountinfo;;
        esac
    fi
    cd /
fi
rm -rf "$f"
[ ! -e "$f" ] && [ ! -L "$f" ] && s_end
# Once more for what it says: to catch that takes a process more.
s_m=$(rm -rf "$f" 2>&1)
[ ! -e "$f" ] && [ ! -L "$f" ] && s_end
[ "$s_m" ] || s_fail eacces
s_reason "$s_m"
