# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by tests/bench/vendors.sh after lib.sh.
export LANGSMITH_API_KEY=lsv2_sk_5e1f0c77a2b94d0e_emulated
provider=(--sandbox langsmith --param "base_url=$url")
workspace=/root
