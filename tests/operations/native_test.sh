#!/bin/bash
# The rows on `local`, whose files are reached directly.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/rows.sh"
need_local

way=native
provider=(--sandbox local)
making=()
rows_run execute read write edit list grep glob delete transfer lifecycle
nothing_left "nothing is left"
