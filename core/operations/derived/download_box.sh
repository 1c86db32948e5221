# shellcheck shell=sh disable=SC1007,SC2034,SC2046,SC2154
#
# A file, chunk by chunk (download.c), and many small ones at once (download_some.c).

#= download_box
# Chunks from $k on, at most $n. The state of the file before and after tells whether it has changed; of a file that is
# one chunk the sum tells that too. A file of /proc has no size and comes in small reads, which dd would take for its
# end.
[ -e "$f" ] || s_gone
[ ! -d "$f" ] || s_fail eisdir
[ -f "$f" ] || s_fail kind
[ -r "$f" ] && true <"$f" || s_fail eacces
s_need dd wc
s_look() {
    set -- $(stat -L -c '%s %i.%y' "$f" || wc -c <"$f")
    s_t=$* z=$((${1:-0}))
}
if [ ! -s "$f" ]; then
    s_sum sum <"$f"
    s_flow chunk <"$f"
    s_word last 1
    s_end
fi
s_look
s_word before "$s_t"
s_word size $z
if [ $k = 0 ] && [ $z -le $c ]; then
    s_sum sum <"$f"
    s_flow chunk <"$f"
    s_word last 1
    s_end
fi
while [ $n -gt 0 ] && [ $((k * c)) -lt $z ]; do
    dd if="$f" bs=$c skip=$k count=1 | s_sum sum
    dd if="$f" bs=$c skip=$k count=1 | s_flow chunk
    k=$((k + 1)) n=$((n - 1))
done
if [ $((k * c)) -ge $z ]; then
    [ $z -le $c ] || s_sum whole <"$f"
    s_word last 1
fi
s_look
s_word after "$s_t"
s_end

#= download_box_some
# Of the files $p0, $p1 and so on, $m in all, those that are ordinary and have at most $c bytes each, one behind the other, until they would
# be more than $n. The others are passed over: alone they are told why. A look costs a process for all, and there is one more behind them, so
# that what changes meanwhile is not taken for its neighbour.
s_need stat
i=0 k= l=
while [ $i -lt $m ]; do
    eval "s_p=\$p$i"
    [ ! -f "$s_p" ] || [ ! -r "$s_p" ] || ! true <"$s_p" || k="$k $i" l="$l \"\$p$i\""
    i=$((i + 1))
done
[ "$l" ] || s_end
eval "set -- \$(stat -L -c %s $l)"
l= z=
for i in $k; do
    [ "$1" ] || s_end
    if [ $1 -le $c ]; then
        [ $1 -le $n ] || { s_word next $i; break; }
        s_word file $i
        s_word size $1
        n=$((n - $1)) l="$l \"\$p$i\"" z="$z $1"
    fi
    shift
done
[ "$l" ] || s_end
eval "cat $l" | s_sum sum
eval "cat $l" | s_flow bytes
eval "set -- \$(stat -L -c %s $l)"
[ " $*" != "$z" ] || s_word same 1
s_end
