# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by tests/bench/vendors.sh after lib.sh.
export DENO_DEPLOY_TOKEN=ddo_5e1f0c77a2b94d0e_emulated
provider=(--sandbox deno --param "base_url=$url")
workspace=/home/app
