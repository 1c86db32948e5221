# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by tests/bench/vendors.sh after lib.sh.
export RUNLOOP_API_KEY=ak_0123456789abcdefEMULATED
provider=(--sandbox runloop --param "base_url=$url")
workspace=/home/user
