#!/bin/bash
# Static analysis of every shell script.
set -u

command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
find tests config sdk .ci \( -name '*.sh' -o -path '.ci/run' \) ! -path '*/template*' -print0 2>/dev/null |
    xargs -0 shellcheck -S warning
