#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2034,SC2154
# Kubernetes, pods: its own client against the emulator first, then our provider, by the tables that all providers must pass; under
# the rights of config/kubernetes-role.yaml, and no others.
. tests/vendors/lib.sh
. tests/vendors/kubernetes/configuration.sh

secret=sa-0123456789abcdefEMULATED
unknown_id=sandlot-0000000000000000
key_variable=KUBECONFIG
good=$scratch/good.yaml wrong=$scratch/wrong.yaml
write_configuration "$good" "$secret"
write_configuration "$wrong" sa-ffffffffffffffffSTRANGER
wrong_key() { export KUBECONFIG=$wrong secret=sa-ffffffffffffffffSTRANGER; }
no_key() { unset KUBECONFIG; }
declare -A requests_of=(
    [create]='POST /pods$' [exec]='GET /exec[?].*command=sandlot$'
    [upload]='GET /exec[?].*command=sandlot-upload' [download]='GET /exec[?].*command=sandlot-download'
    [list]='GET /pods[?]labelSelector' [delete]='DELETE /pods/'
)
paused() { :; } # what is a pod cannot

unset KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT
vendor_use kubernetes
[ "${1:-}" = no-sdk ] || part vendor_script sdk "$url"
export KUBECONFIG=$good
provider=(--sandbox kubernetes --param "base_url=$url" --param engine=pods --param trust_network_policy=true) workspace=/workspace

if [ -n "${SANDLOT_TEST_SLOW:-}" ]; then
    vendor_lifecycle
    vendor_faults
    vendor_rows
else # one of each: the rest says of pods what it says of others
    part life lives_and_dies keys
    part faults_of "cut after" create exec upload download
    part rows_of transfer
fi
# Nothing tells whether a cluster enforces its policies; agent-sandbox has those of its templates.
kubernetes_network() {
    not_held "off, where nobody vouches for the cluster" trust_network_policy --network off --param trust_network_policy=false
    not_held "a policy at agent-sandbox" agent-sandbox --network open --param engine=agent-sandbox
    usage "its own parameter beside a policy" "parameter network and a network policy" create "${provider[@]}" --network off --param network=open
}
vendor_network kubernetes_network
# As kubectl does, whose exec and cp look at the pod first.
vendor_counts 3 2 2 3 2 2 21 21 1 1 5
export PARAMETER_engine=pods
vendor_starved
parts_run
vendor_sound
