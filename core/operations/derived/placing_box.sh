# shellcheck shell=sh disable=SC1007,SC2034,SC2046,SC2154
#
# Putting a new content into the place of a file; placing.h says what each function does.

#= placing_box
s_clean() { [ -z "$t" ] || rm -f "$t" "$t.0"; }
s_folders() {
    s_p=${s_g%/*}
    [ -d "${s_p:-/}" ] && return
    s_need mkdir
    s_m=$(mkdir -p "$s_p" 2>&1)
    [ -d "$s_p" ] || { eval "$s_no_folder"; s_reason "$s_m"; }
}
s_follow() {
    s_need mv rm
    s_g=$f s_mode= s_copy=
    if [ -L "$f" ]; then
        s_need readlink
        eval "$s_by_links"
        s_follow_links || { s_w=$f; s_lost; s_gone; }
    fi
    s_n=${s_g##*/}
    case $s_n in ..|.) s_fail eisdir;; esac
    [ ${#s_n} -le 255 ] && [ ${#s_g} -lt 4096 ] || s_fail enametoolong
    [ -e "$s_g" ] || { s_folders; return; }
    [ ! -d "$s_g" ] || s_fail eisdir
    [ -f "$s_g" ] || s_fail kind
    [ -w "$s_g" ] || s_fail eacces
}
s_beside() {
    s_p=${s_g%/*}
    t=${s_p:-/}/.sandlot-$s_a
    [ -w "${s_p:-/}" ] && [ -x "${s_p:-/}" ] && return
    [ -e "$s_g" ] || s_fail eacces
    t=${TMPDIR:-/tmp}/.sandlot-$s_a s_copy=1
}
s_target() {
    s_follow
    if [ -e "$s_g" ]; then
        s_need stat
        set -- $(exec stat -c '%a %h %u:%g' "$s_g")
        [ $# = 3 ] || s_need stat_with_-c
        s_mode=$1 s_owner=$3
        [ "$2" = 1 ] || s_copy=1
        # Each digit is at most 7, so nothing is borrowed.
        umask $((777 - s_mode % 1000))
    fi
    s_beside
}
# The shell's own message about a full disk does not say so; cat's does.
s_create() {
    "$@" >"$t" && return
    s_m=$({ "$@" | cat >"$t"; } 2>&1)
    s_reason "$s_m"
}
# Who changes a file waits for its turn, where there is flock(1): fd 5 is the file. Between a look at it and the new content, and while
# its old content is written over, it is nobody else's. After ten seconds it is a program's own lock, which keeps nobody from its file;
# and where flock(1) says anything, the file system has no locks.
s_turn() {
    s_left=100
    command -v flock >/dev/null || return 0
    until s_m=$(exec flock -n 5 2>&1); do
        s_left=$((s_left - 1))
        [ "$s_left" -gt 0 ] && [ -z "$s_m" ] || return 0
        sleep 0.1
    done
}
s_place() {
    [ "$s_mode" ] && [ -r "$s_g" ] || { s_replace; return; }
    { s_turn; s_replace; } 5<"$s_g" || s_replace
}
s_replace() {
    if [ "$s_mode" ] && [ -z "$s_copy" ]; then
        [ -O "$s_g" ] && [ -G "$s_g" ] || chown "$s_owner" "$t" || s_copy=1
        case $s_mode in *[1357]*|????*) chmod "$s_mode" "$t" || s_copy=1;; esac
    fi
    if [ -z "$s_copy" ]; then
        mv -f "$t" "$s_g" && { t=; return; }
        [ "$s_mode" ] || s_fail eacces
    fi
    eval "$s_over"
}

#= placing_box_over s_over
# Over the old content, which stays whole where there is no room for the new one: what is more than that comes first, and goes again.
# What has another length than it says, as under /proc, is for the kernel and comes in one piece, and so does all where a tool is missing.
# It is parsed when it is needed.
s_old=
if command -v dd && command -v tail; then s_old=$(wc -c <"$s_g"); fi >/dev/null
s_old=$((${s_old:-0}))
if [ "$s_old" -gt 0 ] && [ "$(stat -L -c %s "$s_g")" = "$s_old" ]; then
    s_new=$(($(wc -c <"$t")))
    if [ "$s_new" -gt "$s_old" ]; then
        s_m=$(tail -c "+$((s_old + 1))" "$t" 2>&1 >>"$s_g") || { dd if=/dev/null of="$s_g" bs=1 seek="$s_old" count=0; s_reason "$s_m"; }
    fi
    cat <"$t" 1<>"$s_g" || s_fail eio
    [ "$s_new" -ge "$s_old" ] || dd if=/dev/null of="$s_g" bs=1 seek="$s_new" count=0 || s_fail eio
else
    s_m=$(cat <"$t" 2>&1 >"$s_g") || s_reason "$s_m"
fi

#= placing_box_links s_by_links
# It is parsed when it is needed.
#+ follow_links

#= placing_box_no_folder s_no_folder
# Why the directories of $s_g cannot be made: a name that cannot be one is told apart from one that must not be made.
# It is parsed when it is needed.
s_r=${s_p#/} s_w=
while [ "$s_r" ]; do
    s_w=$s_w/${s_r%%/*}
    case $s_r in */*) s_r=${s_r#*/};; *) s_r=;; esac
    [ ! -e "$s_w" ] || [ -d "$s_w" ] || s_fail enotdir
    [ -e "$s_w" ] || [ ! -L "$s_w" ] || { s_lost; s_fail enoent; }
done
