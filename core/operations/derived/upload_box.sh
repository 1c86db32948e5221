# shellcheck shell=sh disable=SC1007,SC2034,SC2046,SC2086,SC2154
#
# Files that are put in place: several by one script, one in whole, one piece by piece (upload.c).

#= upload_box_some
# They are staged in folders that are numbered, looked at together, and put into their places together: no process for each, but for
# what base64 decodes. shell/box.sh has the second half, and says which names are taken. What is odd is passed over, and comes alone
# then. Behind this come a line that makes the numbered folders, a line N for each, and for each file the function s_put that
# prints it, and a line P.
s_need mkdir mv rm
case ${TMPDIR-} in /*) s=$TMPDIR ;; *) s=/tmp ;; esac
s=$s/.sandlot-$s_a u=$(umask)
s_clean() { cd / && rm -rf "$s"; }
mkdir -m 700 "$s" && cd "$s" || s_end
#+ place_many
numbers= new= staged= paths= modes=
# FOLDER PATH
N() {
    eval "n$1=\$2"
    numbers="$numbers $1"
    [ -d "$2" ] || new="$new \"\$n$1\""
}
# NUMBER FOLDER NAME MODE UMASK SUMS, which are those that cksum and md5sum print. cMODE is what needs chmod for that.
P() {
    umask "$5"
    s_put >"$2/$3" || return 0
    staged="$staged $1" paths="$paths \"\$p$1\""
    eval "p$1=\$2/\$3 o$1=\$4 q$1=\$2 e$1=\$6"
    case $4 in
        *[1357]* | ????*)
            case " $modes " in *" $4 "*) ;; *) modes="$modes $4" ;; esac
            eval "c$4=\"\${c$4-} \\\"\\\$p$1\\\"\"" ;;
    esac
}
set_modes() { for a in $modes; do eval "eval \"chmod $a \$c$a || rm -f \$c$a\""; done; }
# What has another sum than it should have is taken away.
look() {
    eval "set -- $paths"
    [ $# -gt 0 ] || return 0
    t=$($s_q "$@")
    IFS='
'
    set -- $t
    unset IFS
    for i in $staged; do
        eval "e=\$e$i t=\$p$i"
        case ${1%% *} in "${e% *}" | "${e#* }") ;; *) rm -f "$t" ;; esac
        [ $# = 0 ] || shift
    done
}
folders() {
    umask "$u"
    [ ! "$new" ] || eval "mkdir -p $new"
    for i in $numbers; do eval "D $i \"\$n$i\""; done
}
files() { for i in $staged; do eval "F $i \$q$i \"\${p$i#*/}\" \$o$i"; done; }

#= upload_box_some_end
# disks may leave its shell.
{ set_modes; look; folders; disks; files; keep; move; } | while read -r s_n s_x; do s_word moved "$s_n"; done
s_end

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
