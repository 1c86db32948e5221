# shellcheck shell=sh disable=SC2034,SC2086,SC2154
#
# The entries of a directory (list.c).

#= list_box
# One line per entry: "/MODE SIZE TIME NAME". A name may hold newlines, but no "/", so that "/" at the beginning of a
# line begins an entry ("-" comes as "./-"); when it is done $s_again, the last line is "/STATUS" of stat. A pattern that nothing matches
# stays as it is. Names that are too many for one command line go through xargs. Of the links only those to directories
# are told: they are what "*" with a "/" matches too.
[ -e "$f" ] || s_gone
[ -d "$f" ] || s_fail kind
cd "$f" && [ -r . ] && [ -x . ] || s_fail eacces
s_need stat
s_code
set +f
set --
for s_n in '[!-]*' '-?*' '.[!.]*' '..?*'; do
    set -- $s_n "$@"
    [ "$1" != "$s_n" ] || [ -e "$1" ] || [ -L "$1" ] || shift
done
# As it stands stat would take it for its standard input.
[ -e - ] || [ -L - ] && set -- ./- "$@"
# A wall that test(1) does not know, such as Landlock, looks like an empty directory.
[ $# -gt 0 ] || true <. || s_fail eacces
s_word count $#
if [ $# -gt 0 ]; then
    [ $# -lt 2000 ] && [ -z "$s_again" ] || s_need xargs
    echo "entries=-$s_k"
    if [ "$s_again" ]; then
        { printf '%s\0' "$@" | xargs -0 stat -c '/%f %s %Y %n' --; echo "/$?"; } | $s_c
    elif [ $# -lt 2000 ]; then stat -c '/%f %s %Y %n' -- "$@" | $s_c
    else printf '%s\0' "$@" | xargs -0 stat -c '/%f %s %Y %n' -- | $s_c
    fi
    echo ';'
    s_l=
    for s_n in */ .[!.]*/ ..?*/; do
        s_n=${s_n%/}
        [ ! -L "$s_n" ] || [ ! -d "$s_n" ] || s_l=$s_l$s_n/
    done
    [ -z "$s_l" ] || printf %s "$s_l" | s_data linked
fi
s_end
