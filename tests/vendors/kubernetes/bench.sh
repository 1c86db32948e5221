# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# Sourced by tests/bench/vendors.sh after lib.sh.
. tests/vendors/kubernetes/configuration.sh
export KUBECONFIG=$scratch/kubeconfig
write_configuration "$KUBECONFIG" sa-0123456789abcdefEMULATED
provider=(--sandbox kubernetes --param "base_url=$url" --param engine=pods)
making=(--param network=open) # the official client makes no policy either
workspace=/workspace
