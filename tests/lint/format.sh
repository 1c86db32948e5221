#!/bin/bash
# The layout of the code is what .clang-format makes of it.
set -u

command -v clang-format >/dev/null || { echo "clang-format is not installed"; exit 77; }
failed=0
# The two public headers are laid out by hand: their comments and tables are the manual.
find core plugins sdk tests \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) -print0 >"$TMPDIR/files"
xargs -0 clang-format --dry-run -Werror --ferror-limit=3 <"$TMPDIR/files" || failed=1
# 10l looks like 101, and letters that are written from the right make a line look like another one.
misleading=$(LC_ALL=C.UTF-8 xargs -0 grep -nP '(?<![\w%\\])\d[\da-fA-FxX]*(\.\d+)?[uU]?ll?[uU]?\b|[\p{Hebrew}\p{Arabic}\p{Syriac}\p{Thaana}\p{Nko}]' <"$TMPDIR/files")
[ -z "$misleading" ] || { echo "$misleading" && failed=1; }
exit "$failed"
