#!/bin/bash
# Static analysis of the shell scripts: of what has changed, or of all (changed_files.sh).
set -u

command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
find tests config core sdk shell plugins debian .ci \( -name '*.sh' -o -path '.ci/run' -o -path 'debian/*.p[or]*' \) ! -path '*/template*' -print0 2>/dev/null >"$TMPDIR/all"
tests/changed_files.sh <"$TMPDIR/all" >"$TMPDIR/files"
# The second of two functions of one name takes the place of the first, wherever that is called; shellcheck has no word for it. A test's own
# may do so: it knows what it replaces.
repeated=$(grep -hoE '^[a-z_0-9]+\(\)' tests/cli/lib.sh tests/vendors/*.sh | sort | uniq -d)
[ -z "$repeated" ] || { echo "in two of the files that a vendor's tests source: $repeated"; exit 1; }
# What a script sources is read again with each that sources it, which takes most of the time: so not for those that say themselves that
# their names come from there.
xargs -0r grep -lZ '^# shellcheck .*SC2154' <"$TMPDIR/files" >"$TMPDIR/alone"
xargs -0r grep -LZ '^# shellcheck .*SC2154' <"$TMPDIR/files" >"$TMPDIR/followed"
check() { xargs -0r -n "$1" -P "$(nproc)" shellcheck -S warning "${@:3}" <"$TMPDIR/$2"; }
check 1 alone
failed=$?
check 8 followed -x && [ "$failed" = 0 ]
