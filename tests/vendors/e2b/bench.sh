# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by tests/bench/vendors.sh after lib.sh.
export E2B_API_KEY=e2b_0123456789abcdef0123456789abcdef
provider=(--sandbox e2b --param "base_url=$url" --param "sandbox_url=$url")
workspace=/home/user
