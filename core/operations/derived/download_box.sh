# shellcheck shell=sh disable=SC2034,SC2046,SC2154
#
# A file, chunk by chunk (download.c).

#= download_box
# Chunks from $k on, at most $n. The state of the file before and after tells whether it has changed; of a file that is
# one chunk the sum tells that too. A file of /proc has no size and comes in small reads, which dd would take for its
# end.
[ -e "$f" ] || s_gone
[ ! -d "$f" ] || s_fail eisdir
[ -f "$f" ] || s_fail kind
[ -r "$f" ] || s_fail eacces
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
