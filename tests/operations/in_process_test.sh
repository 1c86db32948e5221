#!/bin/bash
# The rows by commands alone once more, with the plugin in the process of the host: nothing may be different.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/derived.sh"
printf '[sandboxes.providers.only_execute]\nisolation = "none"\n' >"$config"

way=gnu
provider=(--sandbox only_execute)
making=()
rows_run execute read write edit list grep glob delete transfer lifecycle
