# shellcheck shell=sh disable=SC2034,SC2046,SC2154
#
# Files that are put in place: several by one script, one in whole, one piece by piece (upload.c).

#= upload_box_some
# Each file has a process of its own, which ends where the file cannot be put, and says nothing. What its process left
# undone is then tried again alone.
s_one() {
    trap 's_clean; exit 143' 1 2 15
    s_stop() { s_clean; exit 1; }
    s_target
    s_create s_put
    s_same $1 $2 <"$t"
    [ "$s_mode" ] || [ $3 = 0 ] || chmod $3 "$t"
    s_place
    s_clean
} >/dev/null

#= upload_box_feed
s_need base64 dd tail
s_target
s_create base64 -d
set -- $(tail -c 69 "$t")
[ "$1" = "$m" ] && [ $# = 4 ] || s_fail damaged
dd if=/dev/null of="$t" bs=1 seek="$4" count=0 || s_fail damaged
s_same "$2" "$3" <"$t"

#= upload_box_piece
# Appends a piece at its offset, whatever an earlier try has left behind it, and looks at what stands there then. So it
# may be run again and again.
s_need dd wc
size() { stat -c %s "$u" || wc -c <"$u" || echo 0; }
z=$(size)
[ $((z)) -ge $((o * c)) ] || s_fail damaged
[ $((z)) -le $((o * c)) ] || dd if=/dev/null of="$u" bs=$c seek=$o count=0 || s_fail eio
s_m=$(s_put 2>&1 >>"$u") || s_reason "$s_m"
s_x=$(dd if="$u" bs=$c skip=$o count=1 | $s_q)
case " $k " in *" ${s_x%% *} "*) ;; *) s_fail damaged;; esac
[ $(size) -eq $((o * c + n)) ] || s_fail damaged
s_end
