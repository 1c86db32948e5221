#!/bin/bash
# cppcheck over what ships and is C: over what has changed, or all (changed_files.sh).
set -u

command -v cppcheck >/dev/null || { echo "cppcheck is not installed"; exit 77; }
find core plugins sdk -name '*.c' -print0 | tests/changed_files.sh | tr '\0' '\n' >"$TMPDIR/files"
[ -s "$TMPDIR/files" ] || exit 0
cppcheck -q -j "$(nproc)" --std=c11 --language=c --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
    --suppressions-list=tests/lint/cppcheck.suppressions --library=posix -D_GNU_SOURCE -D__GNUC__=12 \
    -Iinclude -Icore -Iplugins/local -Isdk/include --file-list="$TMPDIR/files"
