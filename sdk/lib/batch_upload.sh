# shellcheck shell=sh disable=SC1007,SC1091,SC2034,SC2046,SC2086,SC2154
#
# Many small files, from an archive on standard input. Its entry `run` is the second script here, and a line D for each
# folder, F for each file after it; the files lie in folders that are numbered.

#= batch_unpacking_script

u=$(umask)
umask 077
s=$(mktemp -d /tmp/.sandlot-XXXXXXXXXXXX) || exit 1
trap 'rm -rf "$s"' 0
trap 'exit 1' 1 2 15
cd "$s" || exit 1
umask 0
tar xmof - 2>/dev/null || exit 1
umask "$u"
. ./run 2>/dev/null

# No process for a file: what each is shows by what the shell has built in; stat(1), chmod(1) and mv(1) get many at
# once. What is odd is passed over without a word. The variables of folder K: dK its path, xK the files that go there;
# of file I: fI where it is staged, gI its place, mI its mode.

#= batch_placing_script

export LC_ALL=C
set -f
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

set_mode() { [ ! "$c" ] || eval "chmod $a $c"; c=; }

# What is there keeps its mode; what has other names or another owner is not for this.
keep() {
    eval "set -- $ol"
    [ $# -gt 0 ] || return 0
    n=$#
    set -- $(stat -c '%u:%g' "$s") $(stat -c '%a %h %u:%g' "$@")
    [ $# -eq $((3 * n + 1)) ] || return 0
    me=$1 a= c=
    shift
    for i in $old; do
        eval "m=\$m$i f=\$f$i"
        if [ "$2" = 1 ] && [ "$3" = "$me" ]; then
            [ "$1" = "$a" ] || set_mode
            a=$1
            [ "$a" = "$m" ] || c="$c \"\$s/\$f$i\""
            eval "x${f%%/*}=\"\$x${f%%/*} $i\""
        fi
        shift 3
    done
    set_mode
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
