# shellcheck shell=sh disable=SC2034,SC2154
#
# The beginning of every script (script.c), and what only failures need.

#= script_box_prologue
# What the script itself says of its frame must not look like one to the parser, for a terminal may show the script
# before it runs: each mark is printed from two halves. Functions of the user's that bash inherits, and aliases, must
# not stand in for the programs that are meant.
set +x +v -f
exec 2>/dev/null
\unalias -a
unset -f awk base64 cat cd chmod chown cksum command cp cut dd echo exec exit find flock grep head ln ls mkdir mktemp mv od printf read readlink realpath rm rmdir sed set sleep sort stat tail test touch tr trap true uuencode wc xargs
s_locale=${LC_ALL-}
export LC_ALL=C
IFS=' 	
'
s_clean() { :; }
trap 's_clean; exit 143' 1 2 15
s_stop() { s_clean; echo "</$s_a$s_b"; exit 0; }
s_end() { echo 'done:0;'; s_stop; }
s_word() { echo "$1:$2;"; }
s_fail() { echo "fail:$1;"; s_stop; }
s_need() { for s_t; do command -v "$s_t" >/dev/null || { echo "missing:$s_t;"; s_stop; }; done; }
s_code() {
    if command -v base64; then s_c=base64 s_k=b
    elif command -v uuencode; then s_c='uuencode -m -' s_k=u
    elif command -v od; then s_c='od -An -v -to1' s_k=o
    else s_c=; fi >/dev/null
    [ "$s_c" ] || s_need base64
}
s_data() { s_code; s_d=$($s_c); echo "$1=${#s_d}$s_k$s_d;"; }
s_flow() { s_code; echo "$1=-$s_k"; $s_c; echo ';'; }
s_names() { eval "$s_rare"; s_names; }
s_reason() { eval "$s_rare"; s_reason "$1"; }
s_lost() { eval "$s_rare"; s_lost; }
s_gone() { eval "$s_rare"; s_gone; }

#= script_box_rare s_rare
# What only failures need. It lies in a variable, in single quotes, of which it has none itself: most of what the
# beginning of a script costs is that the shell parses it, and this is parsed when it is needed.
# The names beside $f, for a message that suggests one.
s_names() {
    s_p=${f%/*}
    cd "${s_p:-/}" && [ -r . ] || return
    set +f
    s_i=0
    for s_n in * .[!.]* ..?*; do
        [ -e "$s_n" ] || [ -L "$s_n" ] || continue
        printf "%s\0" "$s_n"
        s_i=$((s_i + 1))
        [ $s_i -le $s_near ] || break
    done | s_data names
}
# From what a program said to the name of an errno: of several lines the first tells the cause, but it may be part of a
# name.
s_reason() {
    for s_t in "${1%%
*}" "$1"; do
        case ${s_t##*: } in
            *[Pp]ermission*) s_fail eacces;; *"not permitted"*) s_fail eperm;; *[Rr]ead-only*) s_fail erofs;;
            *" space "*) s_fail enospc;; *[Qq]uota*) s_fail edquot;; *busy*) s_fail ebusy;;
            *"too long"*) s_fail enametoolong;; *[Ll]evels*|*[Ll]oop*) s_fail eloop;;
            *"ot a dir"*) s_fail enotdir;; *"s a dir"*) s_fail eisdir;;
        esac
    done
    s_fail eio
    }
    # A link whose end cannot be looked at: only the system knows whether that is because it is one of a ring.
    s_lost() {
        s_m=$(cat "$s_w" 2>&1)
        case ${s_m##*: } in
            *[Ll]evels*|*[Ll]oop*) s_fail eloop;; *[Pp]ermission*) s_fail eacces;; *"ot a dir"*) s_fail enotdir;;
        esac
    }
    # Walks down to the first name that is not there, as the system does.
    s_gone() {
        s_r=${f#/} s_w=
        [ ${#f} -lt 4096 ] || s_fail enametoolong
        while [ "$s_r" ]; do
            s_n=${s_r%%/*}
            [ -x "${s_w:-/}" ] || s_fail eacces
            [ ${#s_n} -le 255 ] || s_fail enametoolong
            s_w=$s_w/$s_n
            [ -e "$s_w" ] || { [ ! -L "$s_w" ] || s_lost; break; }
            case $s_r in */*) [ -d "$s_w" ] || s_fail enotdir; s_r=${s_r#*/};; *) s_r=;; esac
        done
        s_names
        s_fail enoent
    }
