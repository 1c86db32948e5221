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
    check "its policy is its own" policies 'length == 1 and .[0].metadata.name == "'"$id"'"'
    gone "$id"
    check "and goes with it" until_true 20 policies '. == []'
}
# Warned of connections that may stay open: yes or no.
warned() { # NAME yes|no
    if [ "$2" = yes ]; then check "$1: open connections are told of" grep -q "network plugin ends them" "$scratch/err"
    else check "$1: nothing is told of open connections" test "$(grep -c "network plugin" "$scratch/err")" = 0; fi
}
# A living pod gets another policy in the place of its own, or its first.
policies_that_change() {
    made_allowed --network off || return
    json "an address for what was off" 0 '.mode == "allow" and .allow == ["203.0.113.5"]' network allow "${provider[@]}" "$id" 203.0.113.5
    warned "one more" no
    json "and another" 0 '.allow | length == 2' network allow "${provider[@]}" "$id" '198.51.100.0/24'
    warned "another" no
    reach "allowed while it lives" "$id" yes 203.0.113.5:443 198.51.100.7:80
    reach "allowed while it lives" "$id" no 203.0.113.6:443 203.0.113.5:22
    json "names are still not held" 1 '.error == "not_supported"' network allow "${provider[@]}" "$id" c.example
    json "one less" 0 '.allow | length == 1' network deny "${provider[@]}" "$id" 203.0.113.5
    warned "one less" yes
    reach "denied while it lives" "$id" no 203.0.113.5:443
    check "one policy, and the pod's" policies 'length == 1 and .[0].metadata.ownerReferences[0].name == "'"$id"'" and (.[0].spec.egress | length) == 1'
    json "off while it lives" 0 '.mode == "off"' network off "${provider[@]}" "$id"
    reach "off" "$id" no 198.51.100.7:80
    json "open while it lives" 0 '.mode == "open"' network open "${provider[@]}" "$id"
    warned "open" no
    reach "open" "$id" yes a.example:443 198.51.100.7:22
    json "nor a cluster that nobody vouches for" 1 '.message | contains("trust_network_policy")' network off "${provider[@]}" --param trust_network_policy=false "$id"
    faults '[{"method":"PUT","path":"/networkpolicies/","times":1,"action":{"drop":"during","bytes":20}}]'
    json "an answer that is lost" 0 '.mode == "off"' network off "${provider[@]}" "$id"
    warned "off, from open" yes
    reach "off again" "$id" no 198.51.100.7:80
    faults '[]'
    gone "$id"
    made_allowed --network open || return
    json "what began open" 0 '.mode == "off"' network off "${provider[@]}" "$id"
    warned "what began open" yes
    reach "what began open" "$id" no 198.51.100.7:80
    gone "$id"
    run -q create "${provider[@]}" --param network=open --param 'pod_spec={"hostNetwork":true}'
    id=$out
    json "the node's own network has no policy" 1 '.error == "not_supported" and (.message | contains("hostNetwork"))' network off "${provider[@]}" "$id"
    gone "$id"
    check "policies go with their pods" until_true 20 policies '. == []'
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
    policies_that_change
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
