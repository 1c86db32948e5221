# shellcheck shell=sh disable=SC2034,SC2089,SC2090,SC2154
#
# Lines with a text in them (search.c).

#= search_box
# Prints lines "PATH:LINE:TEXT" for paths without ":" and newline, many files at once; and for all others blocks: NUL,
# path, NUL, lines "LINE:TEXT", NUL, NUL. Neither kind of line begins with NUL. Files with a NUL among the first 32 KiB
# are binary; as most have none anywhere, those that matched are asked about together first, then in small groups, then
# one by one. No -exec stands in parentheses: BusyBox forgets the last files of such a one.
s_need cat grep head sh tr wc xargs
[ -e "$f" ] || s_gone
text='text() { [ $(head -c 32768 "$1" | tr -dc "\000" | wc -c) -eq 0 ]; }
text_only() { [ $(cat -- "$@" | tr -dc "\000" | wc -c) -eq 0 ]; }
'
some=$text'if text_only "$@"
then grep -aHnF -e "$p" -- "$@"
else for i; do ! text "$i" || grep -aHnF -e "$p" -- "$i"; done
fi
:'
export p some
one='for i; do
    grep -qaF -e "$p" -- "$i" && text "$i" || continue
    printf "\000%s\000" "$i"
    grep -anF -e "$p" -- "$i"
    printf "\000\000"
done
:'
many='IFS="
"
set -f
l=$(grep -laF -e "$p" -- "$@")
s=$?
set -- $l
# 2: a file that cannot be read, or a grep that knows no -a.
[ $# -gt 0 ] || exit $((s > 1))
if text_only "$@"
    then grep -aHnF -e "$p" -- "$@"
else printf "%s\000" "$@" | xargs -0 -n 32 sh -c "$some" x
fi
:'
s_code
if [ -d "$f" ]; then
    s_need find
    [ -r "$f" ] && [ -x "$f" ] && cd -P "$f" && true <. || s_fail eacces
    q=
    [ "$PWD" != / ] || q='( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run ) -prune -o'
    s_word begun 1
    echo "lines=-$s_k"
    {
        find . $q -type f -path '*:*' -exec sh -c "$text$one" x {} + -o -type f -path '*
*' -exec sh -c "$text$one" x {} + -o -type f -exec sh -c "$text$many" x {} +
        printf '!%d\n' $?
    } | $s_c
    echo ';'
    s_end
fi
[ -f "$f" ] || s_fail kind
[ -r "$f" ] && true <"$f" || s_fail eacces
s_word begun 1
echo "lines=-$s_k"
{
    eval "$text"
    grep -qaF -e "$p" -- "$f"
    s_x=$?
    if [ $s_x = 0 ] && text "$f"; then
        printf '\000%s\000' "$f"
        grep -anF -e "$p" -- "$f"
        printf '\000\000'
    fi
    printf '!%d\n' $((s_x > 1))
} | $s_c
echo ';'
s_end
