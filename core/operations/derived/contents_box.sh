# shellcheck shell=sh disable=SC2034,SC2154
#
# Everything below the directory $f with its kind, mode, length and digest, for who compares it with what was there before
# (contents.c). The prologue of every script (script.c) comes first.
#
# The answer is a flow of texts that end with NUL: for each path its facts, the path, and of a link its target. Facts are
# "HEXMODE,LENGTH" as stat has them, and of a file ",DIGEST" behind that; "!" for a directory that cannot be read. Files come
# together: "#" and their number, then all their facts, all digests (a backslash may stand before one), all paths. In the end
# "/STATUS" of find. Names may hold anything: what sha256sum and stat print is only counted and taken by its order; where it is not one
# line for each file, one of them has a newline in its name, or is gone, and each is asked for alone.

#= contents_box_files s_files

# A call of find costs three processes, however many files it is for.
IFS="
"
set -f
s_count() { s_n=0; for s_x in $1; do s_n=$((s_n + 1)); done; }
s_one() { printf "%s,%s\000%s\000" "$(stat -c %f,%s "$1")" "$(sha256sum <"$1" | cut -c1-64)" "$1"; }
s_m=$(stat -c %f,%s "$@")
s_h=$(sha256sum "$@" | cut -d " " -f 1)
s_count "$s_m"
s_y=$s_n
s_count "$s_h"
if [ "$s_y" = $# ] && [ "$s_n" = $# ]; then
    printf "#%s\000" $#
    printf "%s\000" $s_m $s_h "$@"
else
    for s_i; do s_one "$s_i"; done
fi

#= contents_box_others s_others

for s_i; do
    if [ -L "$s_i" ]; then
        s_t=$(readlink "$s_i"; echo x)
        s_t=${s_t%x}
        printf "%s\000%s\000%s\000" "$(stat -c %f,%s "$s_i")" "$s_i" "${s_t%?}"
    elif [ -d "$s_i" ] && { [ ! -r "$s_i" ] || [ ! -x "$s_i" ] || ! true <"$s_i"; }; then
        printf "!\000%s\000" "$s_i"
    else
        printf "%s\000%s\000" "$(stat -c %f,%s "$s_i")" "$s_i"
    fi
done

#= contents_box

s_need find stat sha256sum cut readlink sh
[ -d "$f" ] || s_gone
[ -r "$f" ] && [ -x "$f" ] && cd -P "$f" && true <. || s_fail eacces
stat -c %f . >/dev/null || s_need stat_with_-c
s_code
echo "contents=-$s_k"
{
    find . -type f -exec sh -c "$s_files" x {} + -o ! -name . -exec sh -c "$s_others" x {} +
    printf '/%d\000' $?
} | $s_c
echo ';'
s_end
