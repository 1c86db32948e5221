#!/bin/bash
# The man pages have no errors, and name every command of the program.
set -u

command -v man >/dev/null || { echo "man is not installed"; exit 77; }
failed=0
for page in config/man/*.[1-8]; do
    problems=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=100 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
    [ -z "$problems" ] || {
        echo "$page: $problems"
        failed=1
    }
done
for command in exec shell read write edit ls grep glob rm upload download create list delete gc port network mcp providers plugin doctor; do
    grep -q "^\.\(B\|BI\|BR\|SS\) .*\b$command\b\|\\\\fB$command\\\\fR\|\\\\fB$command " config/man/sandlot.1 || {
        echo "config/man/sandlot.1 does not describe the command $command"
        failed=1
    }
done
exit $failed
