#!/bin/bash
# shellcheck disable=SC1090,SC1091,SC2034,SC2086,SC2154
# kit.sh NAME LIBRARY: all groups of the conformance kit that look at no clock, on the provider NAME of LIBRARY in a worker, at the
# emulator of its service. For plugins that were built away from the tree: shipped_plugins_test.sh.
. tests/vendors/lib.sh
vendor_use "$1"
library=$2
. "tests/vendors/$1/bench.sh" # its key, and how it is called

at_service() {
    vendor_again
    case $vendor in
        e2b) export E2B_DOMAIN && E2B_DOMAIN=localhost:$(ask GET state | "$fast_jq" .edge) ;; # ports have hosts of their own
        deno) provider+=(--param public_ports=true) ;;
        sandbox0) provider+=(--param team_credentials=true) ;;
    esac
}
prepare=(at_service)
for group in operations lifecycle ports network "robustness --cycles 5" processes secrets table; do
    part kit_group $group
done
parts_run
vendor_sound
