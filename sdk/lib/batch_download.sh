# shellcheck shell=sh disable=SC1007,SC2034,SC2086,SC2154
#
# chunk FIRST PATH...: prints "files N..." and "sizes N..." of those that are ordinary, then what is in them, then
# "same", or "changed" if the sizes are others by then. Three processes for all. Odd ones, and those that are larger than
# most, are passed over.

#= batch_chunk_script

export LC_ALL=C
set -f
chunk() {
    n=$1 l= k=
    shift
    for p in "$@"; do
        eval "p$n=\$p"
        [ ! -f "$p" ] || [ ! -r "$p" ] || k="$k $n" l="$l \"\$p$n\""
        n=$((n + 1))
    done
    [ "$l" ] || return 0
    eval "set -- \$(stat -L -c %s $l)"
    ids=$k k= l= sizes=
    for i in $ids; do
        [ "$1" ] || return 0
        [ "$1" -gt $most ] || k="$k $i" l="$l \"\$p$i\"" sizes="$sizes $1"
        shift
    done
    [ "$l" ] || return 0
    echo "files$k"
    echo "sizes$sizes"
    eval "cat $l"
    eval "set -- \$(stat -L -c %s $l)"
    [ " $*" = "$sizes" ] && echo same || echo changed
}
