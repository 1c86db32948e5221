#!/bin/bash
# Background processes where only commands reach them, with the tools of this machine.
# shellcheck disable=SC1091,SC2034,SC2154,SC2016
. "$(dirname "$0")/derived.sh"
. "$(dirname "$0")/process_rows.sh"

way=derived
provider=(--sandbox only_execute)
making=()
process_rows
