#!/bin/bash
# The rows where only commands reach the files, with the tools of this machine.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/derived.sh"

way=gnu
provider=(--sandbox only_execute)
making=()
rows_run execute read write edit list grep glob delete transfer lifecycle
