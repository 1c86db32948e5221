#!/bin/bash
# Static analysis of the shell scripts: of what has changed, or of all (changed_files.sh).
set -u

command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
find tests config core sdk shell plugins debian .ci \( -name '*.sh' -o -path '.ci/run' -o -path 'debian/*.p[or]*' \) ! -path '*/template*' -print0 2>/dev/null >"$TMPDIR/all"
tests/changed_files.sh <"$TMPDIR/all" >"$TMPDIR/files"
# What a script sources is known where it is among the files; to follow it costs as much again for each.
follow=-x
! cmp -s "$TMPDIR/all" "$TMPDIR/files" || follow=
# shellcheck disable=SC2086 # none or one
xargs -0r shellcheck $follow -S warning <"$TMPDIR/files"
