#!/bin/bash
# The layout of the code is what .clang-format makes of it.
set -u

command -v clang-format >/dev/null || { echo "clang-format is not installed"; exit 77; }
# The two public headers are laid out by hand: their comments and tables are the manual.
find core plugins sdk tests \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) -print0 |
    xargs -0 clang-format --dry-run -Werror --ferror-limit=3
