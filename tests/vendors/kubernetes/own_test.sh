#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2034,SC2154,SC2163
# Kubernetes by the conformance kit, with either engine: in a worker, and in the kit's own process.
. tests/vendors/lib.sh
. tests/vendors/kubernetes/configuration.sh

export KUBECONFIG=$scratch/good.yaml
write_configuration "$KUBECONFIG" sa-0123456789abcdefEMULATED
unset KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT
vendor_use kubernetes

service() { # VARIABLE=VALUE...: an emulator with these
    export "$@"
    vendor_again
}

provider=(--sandbox kubernetes --param "base_url=$url" --param engine=pods --param trust_network_policy=true)
vendor_kit
part kit_group ports
parts_run
# What is suspended keeps the volume claims of its template, so this one has some.
prepare=(service EMULATOR_AGENT_SANDBOX=3 EMULATOR_CLAIM=yes)
# Its network is that of its template too, whatever else is asked for.
provider=(--sandbox kubernetes --param "base_url=$url" --param engine=agent-sandbox)
kit_groups_without network
parts_run
vendor_sound
