# shellcheck shell=sh disable=SC2016,SC2034,SC2089,SC2090,SC2154
#
# Walking a tree (walk.c).

#= walk_box
# One stream of texts that end with NUL: a directory is printed twice, a file once, so that one walk tells both with what every find has;
# then "/STATUS" of find; directories that cannot be read, where find has failed, for it matters which they are; "//"; and all links in
# one text, each followed by "//", which no path has in it. They wait (3) until then because find's own output, which it buffers, must
# not mix with that of commands that it starts.
# $f is the directory, $d what it has to be entered for alone, if it is set, $m what is as deep as anything that matters; $s_links: links
# are told too; $s_old: find does not know -print0.
[ ! "$s_links" ] || s_need readlink xargs
s_need find sh
[ -e "$f" ] || s_gone
[ -d "$f" ] || s_fail kind
[ -r "$f" ] && [ -x "$f" ] && cd -P "$f" && true <. || s_fail eacces
# Behind a link to "/" bash begins what it says with two slashes.
b=${PWD%/}
case $b in //*) b=${b#/};; esac
s_word begun 1
s_code
# Many links share one process. Where the lines are not as many as the links, one of them has a newline in its target, or has gone, or
# there is no realpath: then each is asked about alone.
t='IFS="
"
set -f
r=$(realpath "$@")
n=0
for i in $r; do n=$((n + 1)); done
if [ $n = $# ]; then
    for i in $r; do
        case $i in "$b"/*) printf "%s//" "$1";; esac
        shift
    done
else for i; do case $(readlink -f "$i") in "$b"/*) printf "%s//" "$i";; esac; done
fi'
export b t
l='exec >&3
for i; do [ ! -f "$i" ] || printf "%s\000" "$i"; done | xargs -0 -n 1000 sh -c "$t" x'
s_look() {
    if [ "$s_old" ]; then
        set -- "$@" -type d -exec sh -c 'for i; do printf "%s\000%s\000" "$i" "$i"; done' x '{}' + -o -type f -exec sh -c 'printf "%s\000" "$@"' x '{}' +
    else
        set -- "$@" -type d -print0 -print0 -o -type f -print0
    fi
    [ ! "$s_links" ] || set -- "$@" -o -type l -exec sh -c "$l" x '{}' +
    find . "$@"
}
set --
# Nothing is entered but what leads to the directory $d and lies in it.
if [ "$d" ]; then
    set -- -path "./$d/*" -o -path .
    while set -- "$@" -o -path "./$d"; do case $d in */*) d=${d%/*};; *) break;; esac; done
    set -- ! '(' "$@" ')' -prune -o
fi
# Told, but not entered: what is as deep as anything that matters, and the kernel's own trees and devices.
[ ! "$m" ] || set -- "$@" '(' ! -path "$m" -o -prune ')'
[ "$b" ] || set -- "$@" '(' ! '(' -path ./proc -o -path ./sys -o -path ./dev -o -path ./run ')' -o -prune ')'
echo "paths=-$s_k"
{
    w=$(s_look "$@" 3>&1 >&4)
    s_x=$?
    printf '/%d\000' $s_x
    [ $s_x = 0 ] || find . "$@" -type d -exec sh -c 'for i; do [ -r "$i" ] && [ -x "$i" ] && true <"$i" || printf "%s\000" "$i"; done' x '{}' +
    printf '//\000%s\000' "$w"
} 4>&1 | $s_c
echo ';'
s_end
