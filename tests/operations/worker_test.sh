#!/bin/bash
# The rows on `local` once more, with the provider in a process of its own: nothing may be different.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/rows.sh"
printf '[sandboxes.providers.local]\nisolation = "process"\n' >"$config"
need_local

way=native
provider=(--sandbox local)
making=()
rows_run execute read write edit list grep glob delete transfer lifecycle
nothing_left "nothing is left"
