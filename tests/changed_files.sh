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
while IFS= read -r -d '' file; do
    if grep -qxF "${file#./}" <<<"$changed" || { [ -n "$headers" ] && grep -qE "^#include ($headers)" "$file"; }; then
        printf '%s\0' "$file"
    fi
done
