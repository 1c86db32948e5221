# shellcheck shell=sh disable=SC2034,SC2154
#
# Ends what has NAME=VALUE $1 in its environment, with all that has come of it. $2 is the first signal: TERM, after which it has two
# seconds, or KILL. See shell/embed.awk for the lines that begin with "#=" and "#+".

#= end_marked_script

exec 2>/dev/null

#+ family

s_mark=$1 s_root='' s_family='' s_n=0
if [ "$2" = TERM ]; then
    s_family_gets TERM
    while [ "$s_n" -lt 20 ]; do
        s_family_gets 0
        [ "$s_hit" != 0 ] || exit 0
        s_n=$((s_n + 1))
        sleep 0.1 || sleep 1
    done
fi
while [ "$s_n" -lt 30 ]; do
    s_family_gets KILL
    [ "$s_hit" != 0 ] || exit 0
    s_n=$((s_n + 1))
done
