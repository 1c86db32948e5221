# shellcheck shell=sh disable=SC2034,SC2254
#
# Connects standard input and output with port $2 of this sandbox. The first line, behind the mark $1, tells how it went: "open", "closed"
# (nothing listens) or "lacking" (no program). Who listens is what the kernel says, whose words are 127.0.0.1 and ::1 in hexadecimal digits
# as this machine's processor has them. A server of all addresses is asked at 127.0.0.1. See shell/embed.awk for the lines that begin with
# "#=" and "#<".

#= port_program_script

at='' p=$(printf %04X "$2")
while read -r n l r s e; do
    case $s:$l in
        0A:0100007F:$p | 0A:7F000001:$p | 0A:00000000:$p | 0A:00000000000000000000000000000000:$p) at=127.0.0.1;;
        0A:0000000000000000FFFF00000100007F:$p | 0A:00000000000000000000FFFF7F000001:$p) at=127.0.0.1;;
        0A:00000000000000000000000001000000:$p | 0A:00000000000000000000000000000001:$p) at=${at:-::1};;
    esac
done 2>/dev/null <<END
$(cat /proc/self/net/tcp /proc/self/net/tcp6 2>/dev/null)
END
[ "$at" ] || { echo "$1 closed"; exit; }
if command -v python3 >/dev/null; then
    echo "$1 open"
    exec python3 -c '
#< sdk/lib/port_program.py
' "$at" "$2"
elif command -v perl >/dev/null; then
    echo "$1 open"
    exec perl -e '
#< sdk/lib/port_program.pl
' "$at" "$2"
elif nc --help 2>&1 | grep -q BusyBox; then
    echo "$1 open"
    exec nc "$at" "$2"
elif busybox nc --help 2>&1 | grep -q BusyBox; then
    echo "$1 open"
    exec busybox nc "$at" "$2"
else
    echo "$1 lacking"
fi
