# shellcheck shell=sh disable=SC1007,SC2034,SC2046,SC2154,SC2218,SC3010,SC3013,SC3045,SC3053,SC3060
#
# Replacing text in a file (edit.c): by bash itself, or by awk.

#= edit_box_checking
# Is the file UTF-8? Every byte above ASCII becomes a letter that says what it may be, everything else the end of a
# line; then a line is right if it is made of whole characters: a 80-8F, b 90-9F, c A0-BF continue; d C2-DF, e E0, f
# E1-EC EE EF, g ED, h F0, i F1-F3, j F4 begin; x is never right
s_valid() {
    s_need tr grep
    ! tr -s '\000-\177' '\n' <"$s_g" | tr '\200-\377' 'aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccccccccccccccccccxxddddddddddddddddddddddddddddddeffffffffffffgffhiiijxxxxxxxxxxx' | grep -qvxE '(d[abc]|ec[abc]|f[abc][abc]|g[ab][abc]|h[bc][abc][abc]|i[abc][abc][abc]|ja[abc][abc])*'
}

#= edit_box_replacing
# A program for awk: its input is the line of facts about the file, unless it is in $s_facts, and then the file, which
# is one record, for the byte that ends records is never part of UTF-8. A file that awk cannot hold (BusyBox's ends a
# text at NUL) is "odd". Prints the number of occurrences of the first string that occurs, and the number of that
# string, and the facts; and writes the new text to $t, if set, and reads it again, for not every awk notices a full
# disk. But it writes nothing if the file's mode is none of $s_modes, those which $t may get. Looks through the text by
# windows, because what awk does with a text costs time in proportion to its length.
s_awk='
BEGIN { ORS = ""; out = ENVIRON["t"]; facts = ENVIRON["s_facts"]; if (facts != "") RS = "\377" }
facts == "" { facts = $0; RS = "\377"; next }
{ records++ }
records == 1 { text = $0 }
function put(piece) { if (out != "") print piece > out }
function replace(old, new,    at, length_, window, keep, found, size) {
    length_ = length(old)
    keep = length_ - 1
    size = 8192 + int(whole / 1024)
    for (at = 1; at <= whole; ) {
        window = substr(text, at, size + keep)
        at += length(window)
        while ((found = index(window, old)) > 0) {
            put(substr(window, 1, found - 1))
            put(new)
            window = substr(window, found + length_)
            count++
        }
        if (at > whole) put(window)
        else if (length(window) > keep) { put(substr(window, 1, length(window) - keep)); at -= keep }
        else at -= length(window)
    }
}
function written(    piece, size, got) {
    if (out == "") return whole + growth
    close(out)
    while ((got = (getline piece < out)) > 0) size += length(piece)
    return got < 0 ? whole + growth : size
}
END {
    whole = length(text)
    if (facts !~ /^[0-7]+ [0-9]+ [0-9]+:[0-9]+ [0-9]+ [0-9.]+$/) { print "unknown"; exit }
    split(facts, fact, " ")
    facts = " " facts
    if (records > 1 || whole != fact[4] + 0) { print "odd 0 0" facts; exit }
    for (i = 1; i <= ENVIRON["s_strings"]; i++) if (index(text, ENVIRON["o" i])) break
    count = 0
    if (i <= ENVIRON["s_strings"]) {
        if (out != "" && index(ENVIRON["s_modes"], " " fact[1] " ") == 0) { print "mode 0 0" facts; exit }
        replace(ENVIRON["o" i], ENVIRON["n" i])
        growth = count * (length(ENVIRON["n" i]) - length(ENVIRON["o" i]))
        if (written() != whole + growth) { print "lost 0 0" facts; exit }
    }
    print (text ~ /[\200-\377]/ ? "high " : "plain ") count " " i facts
}
'

#= edit_box_holding s_holding
# Where the shell is bash it holds a small file of ASCII itself, and does without awk; otherwise this does nothing.
# What other shells cannot parse is in a variable.
# It is looked at before it is read: what changes from then on is noticed.
s_take plain 0 1 $(exec stat -L -c "%a %h %u:%g %s %Z.%i" "$s_g")
IFS= read -r -N 16385 s_x <"$s_g"
[ ${#s_x} -le 16384 ] && ! [[ $s_x =~ [^[:print:][:space:]] ]] || return
# NUL is not held, and there may be more than was read.
[ "$s_size" = ${#s_x} ] && [ "$s_state" ] || return
while [ $s_which -le $s_strings ]; do
    s_r=o$s_which s_n=n$s_which s_r=${!s_r} s_n=${!s_n} s_i=${s_x//"$s_r"}
    [ ${#s_i} = ${#s_x} ] || break
    s_which=$((s_which + 1))
done
[ $s_which -gt $s_strings ] || s_count=$(((${#s_x} - ${#s_i}) / ${#s_r}))
s_counted
if [ -z "$s_same" ]; then
    s_only
    s_x=${s_x//"$s_r"/"$s_n"}
    printf %s "$s_x" >"$t" || s_reason "$(cat <"$s_g" 2>&1 >"$t")"
fi
s_finish

#= edit_box_editing
# A process is most of what this takes, so that stat and awk run side by side, awk waiting for what stat says; the new
# file is made with the mode that a file usually has, and once more where this one has another.  Has the file changed
# since stat? It has not if it is the one that is open here and was last written before the mark, a pipe that is a
# little older than what stat said: for this the shell needs no process. The file system's clock may be behind that of
# pipes: then the new file too looks older than the mark. In doubt stat says it once more.
s_need stat
if [ -w "$f" ]; then s_follow; s_beside; else s_g=$f t=; fi
[ "$s_same" ] && t=
exec 5<"$s_g" 6<<.
mark
.
umask 022
s_take() { s_how=$1 s_count=$2 s_which=$3 s_mode=$4 s_links=$5 s_owner=$6 s_size=$7 s_state=$8; }
s_only() { s_modes=" $s_mode "; umask $((777 - s_mode % 1000)); }
s_stat() { stat -L -c '%a %h %u:%g %s %Z.%i' "$s_g"; }
s_changed() { s_word changed 1; s_end; }
s_send() { [ $s_size -gt $s_told ] || s_data text <"$s_g"; s_end; }
s_still() {
    [ "$s_g" -ef /proc/self/fd/5 ] && [ "$s_g" -ot /proc/self/fd/6 ] && [ ! "$t" -ot /proc/self/fd/6 ] && return
    if [ /proc/self/fd/5 -ef /proc/self/fd/5 ]; then [ "$s_g" -ef /proc/self/fd/5 ] || return; fi
    [ "$(s_stat)" = "$s_mode $s_links $s_owner $s_size $s_state" ]
}
s_counted() {
    s_word count $s_count
    if [ $s_count -eq 0 ] || [ $s_count -gt $s_most ]; then s_send; fi
    [ "$s_same" ] || [ "$t" ] || s_fail eacces
}
s_finish() {
    if [ -z "$s_same" ]; then
        s_turn
        s_still || s_changed
        [ "$s_links" = 1 ] || s_copy=1
        s_replace
    fi
    s_word edited 1
    s_end
}

#= edit_box_with_awk
# What is left for awk, which the shell need not parse where it holds the file itself.
s_need awk
s_facts= s_modes=' 644 755 '
export t s_strings s_facts s_modes
s_look() { s_take $(stat -L -c '%a %h %u:%g %s %Z.%i' "$s_g" | awk "$s_awk" - "$s_g"); }
s_odd=$s_nul
if [ "$s_odd" ]; then s_take odd 0 0 $(s_stat); else s_look; fi
if [ "$s_how" = mode ]; then s_only; s_look; fi
[ "$s_how" != unknown ] && [ "$s_state$s_nul" != 1 ] || s_need stat_with_-c
# Under /proc there is more in it; it is looked at outside.
[ "$s_size" != 0 ] || s_send
[ "$s_how" = odd ] && s_odd=1
if [ "$s_odd" ] || [ "$s_how" = high ]; then s_valid || { s_word binary 1; s_send; }; fi
if [ "$s_odd" ]; then
    s_only
    s_facts="$s_mode $s_links $s_owner $s_size $s_state"
    s_take $(tr '\000' '\376' <"$s_g" | awk "$s_awk" -)
fi
case $s_how in
    odd) s_send;;
    mode) s_changed;;
    plain|high) ;;
    *) s_reason "$(cat <"$s_g" 2>&1 >"$t")";;
esac
s_counted
if [ -z "$s_same" ] && [ "$s_odd" ]; then
    tr '\376' '\000' <"$t" >"$t.0" && mv -f "$t.0" "$t"
    eval "s_i=\$((s_size + s_count * (s_n$s_which - s_o$s_which)))"
    [ "$(stat -c %s "$t")" = $s_i ] || s_reason "$(cat <"$s_g" 2>&1 >"$t")"
fi
s_finish
