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
policies() { # FILTER: of those that are there for one pod alone
    state_is "[.policies[] | select(.metadata.name != \"sandlot-deny-all\")] | $1"
}
# Everything but what gives away the node's credentials, unless that is listed itself.
wide_networks() {
    made_allowed --allow 0.0.0.0/1 --allow 128.0.0.0/1 --allow 169.254.169.254:8080 --allow 8000::/1 || return
    reach "wide networks" "$id" yes 198.51.100.7:443 203.0.113.5:80 '[fdab::1]:443' 169.254.169.254:8080
    reach "wide networks" "$id" no 169.254.169.254:80 100.100.100.200:80 168.63.129.16:80 '[fd00:ec2::254]:80' 198.51.100.7:22
    json "a living sandbox keeps what it has" 1 '.error == "not_supported"' network allow "${provider[@]}" "$id" 203.0.113.6
    check "its policy is its own" policies 'length == 1 and .[0].metadata.name == "'"$id"'"'
    gone "$id"
    check "and goes with it" until_true 20 policies '. == []'
}
# An answer that is lost is no other policy; one that says something else is refused, and nothing is left.
policies_that_fail() {
    local allowed=(--allow 198.51.100.7)
    faults '[{"method":"POST","path":"/networkpolicies$","times":1,"action":{"drop":"during","bytes":20}}]'
    made_allowed "${allowed[@]}" && reach "an answer that was lost" "$id" yes 198.51.100.7:443 && gone "$id"
    faults '[{"method":"POST","path":"/networkpolicies$","times":1,"action":{"status":409,"body":{"kind":"Status","reason":"AlreadyExists","code":409}}},
        {"method":"GET","path":"/networkpolicies/sandlot-[a-z0-9]{12}","times":1,"action":{"status":200,"body":{"kind":"NetworkPolicy","spec":{"egress":[{}]}}}}]'
    json "somebody else's policy" 3 '.message | contains("says something else")' create "${provider[@]}" "${allowed[@]}"
    faults '[{"method":"POST","path":"/networkpolicies$","times":1,"action":{"status":422,"body":{"kind":"Status","reason":"Invalid","message":"no such block"}}}]'
    expect "a policy that the cluster refuses" 3 "" "no such block" create "${provider[@]}" "${allowed[@]}"
    faults '[]'
}
# Nothing tells whether a cluster enforces its policies; agent-sandbox has those of its templates.
kubernetes_network() {
    not_held "a list, where nobody vouches for the cluster" trust_network_policy --allow 198.51.100.7 --param trust_network_policy=false
    not_held "the metadata of a cloud, by its network" 169.254.0.0/16 --allow 169.254.0.0/16
    not_held "the metadata of a cloud, without its port" 169.254.169.254/32 --allow 169.254.169.254
    not_held "the network of links" fe80::/64 --allow fe80::/64
    usage "the node's own network" "hostNetwork: no NetworkPolicy holds" create "${provider[@]}" --param 'pod_spec={"hostNetwork":true}'
    wide_networks
    policies_that_fail
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
