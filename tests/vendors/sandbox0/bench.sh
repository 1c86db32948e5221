# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by tests/bench/vendors.sh after lib.sh.
export SANDBOX0_TOKEN=s0_emulated_0123456789abcdef0123456789abcdef
provider=(--sandbox sandbox0 --param "base_url=$url") workspace=/workspace as_root=true
LARGE_MIB=64 # the service, and so its SDK, takes 100 MiB at a time
