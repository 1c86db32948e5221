# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by tests/bench/vendors.sh after lib.sh.
export MODAL_TOKEN_ID=ak-0123456789abcdefEMULATED MODAL_TOKEN_SECRET=as-0123456789abcdefEMULATED
provider=(--sandbox modal --param "base_url=$url")
workspace=/workspace
