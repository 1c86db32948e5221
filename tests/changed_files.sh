#!/bin/bash
# Prints which of the given files a linter has to look at, each ended by NUL.
#
#   ... -print0 | tests/changed_files.sh
#
# In continuous integration, with SANDLOT_TEST_SLOW and outside of a git checkout: all of them. Else those that differ from
# what was last fetched (without a remote: from the last commit), and those that include a header that does.
set -u

all() { [ -n "${CI:-}${SANDLOT_TEST_SLOW:-}" ] || ! git rev-parse --git-dir >/dev/null 2>&1; }
if all; then exec cat; fi

base=$(git merge-base HEAD '@{upstream}' 2>/dev/null) || base=HEAD
changed=$({ git diff --name-only "$base" && git ls-files --others --exclude-standard; } | sort -u)
headers=$(sed -n 's|.*/\([^/]*\.h\)$|"[^"]*\1"|p; s|^include/\(.*\.h\)$|<\1>|p; s|^sdk/include/\(.*\.h\)$|<\1>|p' <<<"$changed" | paste -sd '|')
[ -n "$changed" ] || exit 0
declare -A is_changed
while IFS= read -r file; do is_changed[$file]=1; done <<<"$changed"
mapfile -d '' -t files
{
    for file in "${files[@]}"; do [ -z "${is_changed[${file#./}]:-}" ] || printf '%s\0' "$file"; done
    [ -z "$headers" ] || printf '%s\0' "${files[@]}" | xargs -0r grep -lZE "^#include ($headers)" --
} | sort -zu
