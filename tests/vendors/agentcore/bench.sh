# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# Sourced by tests/bench/vendors.sh after lib.sh.
. tests/vendors/agentcore/keys.sh
provider=(--sandbox agentcore --param "base_url=$url")
workspace=/tmp
