#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2016,SC2034,SC2154,SC2163
# Kubernetes at a real API server with etcd, whose packages nobody has: it skips without a kube-apiserver (see build_api_server.sh)
# and an etcd on PATH. What a cluster has besides is played by cluster.mjs: each part has a namespace and a node of its own.
#
#   SANDLOT_TEST_KUBE_APISERVER   another program than the kube-apiserver of PATH
. tests/vendors/lib.sh

api_server=${SANDLOT_TEST_KUBE_APISERVER:-kube-apiserver}
for program in "$api_server" etcd openssl; do
    command -v "$program" >/dev/null || {
        echo "there is no $program; tests/vendors/kubernetes/build_api_server.sh builds a kube-apiserver, etcd is in etcd-server"
        exit 77
    }
done
unset KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT
certificates=$scratch/certificates workspace=/workspace group=extensions.agents.x-k8s.io
key_variable=KUBECONFIG unknown_id=sandlot-0000000000000000
declare -A requests_of=([create]='POST /pods$' [exec]='GET /exec[?].*command=sandlot$' [list]='GET /pods[?]labelSelector' [delete]='DELETE /pods/')

# ---- the server ------------------------------------------------------------------------------------------------------

make_certificates() { # an authority; a server on this machine, the administrator, and somebody
    mkdir -p "$certificates"
    (
        cd "$certificates" || exit 2
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem
        for name in server:/CN=server admin:/O=system:masters/CN=admin somebody:/CN=somebody; do
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "${name#*:}" -keyout "${name%%:*}.key" -out request
            openssl x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out "${name%%:*}.pem" \
                -extfile <(echo 'subjectAltName=DNS:localhost,IP:127.0.0.1')
        done
        openssl ecparam -name prime256v1 -genkey -noout -out account.key
    ) >"$certificates/log" 2>&1
    [ -s "$certificates/account.key" ] || { not_ok "certificates" "$(cat "$certificates/log")"; exit 1; }
}

# Three ports that were free a moment ago.
free_ports() {
    "$node" -e 'const net = require("net"); const all = [1, 2, 3].map(() => net.createServer().listen(0, "127.0.0.1"));
        setTimeout(() => { console.log(...all.map((one) => one.address().port)); process.exit(); }, 50);'
}

# api METHOD PATH [FILE [TYPE]]: as the administrator; FILE "-" is standard input. Prints the answer; false if it is a refusal.
api() {
    curl -sS --fail-with-body -X "$1" --cacert "$certificates/ca.pem" --cert "$certificates/admin.pem" --key "$certificates/admin.key" \
        -H "Content-Type: ${4:-application/json}" ${3:+--data-binary @"$3"} "$server$2"
}
is_ready() { [ "$(api GET /readyz 2>/dev/null)" = ok ]; }

start_server() {
    local ports
    make_certificates
    read -ra ports <<<"$(free_ports)"
    etcd=http://127.0.0.1:${ports[0]} server=https://127.0.0.1:${ports[2]}
    etcd --data-dir "$scratch/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" --listen-peer-urls "http://127.0.0.1:${ports[1]}" \
        --initial-advertise-peer-urls "http://127.0.0.1:${ports[1]}" --initial-cluster "default=http://127.0.0.1:${ports[1]}" >"$scratch/etcd.log" 2>&1 &
    servers=($!)
    "$api_server" --etcd-servers "$etcd" --bind-address 127.0.0.1 --advertise-address 127.0.0.1 --secure-port "${ports[2]}" --endpoint-reconciler-type none --watch-cache-sizes pods#0 \
        --tls-cert-file "$certificates/server.pem" --tls-private-key-file "$certificates/server.key" --client-ca-file "$certificates/ca.pem" \
        --cert-dir "$scratch" --authorization-mode RBAC --service-cluster-ip-range 10.0.0.0/24 --service-account-issuer https://cluster.example \
        --service-account-key-file "$certificates/account.key" --service-account-signing-key-file "$certificates/account.key" >"$scratch/server.log" 2>&1 &
    servers+=($!)
    until_true 240 is_ready || { not_ok "the API server is ready" "$(tail -n 20 "$scratch/server.log")"; exit 1; }
}
end_server() {
    local result=$?
    if [ "$BASHPID" = "$$" ]; then
        kill "${servers[@]}" 2>/dev/null
        wait "${servers[@]}" 2>/dev/null
    fi
    (exit "$result")
    finish_vendor
}
trap end_server EXIT

# ---- a namespace, and who may do what in it ----------------------------------------------------------------------------

object() { api POST "$1" - >/dev/null; } # PATH: of what comes in
write_kubeconfig() { # FILE USER
    cat >"$1" <<END
{apiVersion: v1, kind: Config, current-context: test, contexts: [{name: test, context: {cluster: test, user: test, namespace: $space}}],
 clusters: [{name: test, cluster: {server: '$server', certificate-authority: '$certificates/ca.pem'}}], users: [{name: test, user: {$2}}]}
END
}

# cluster VARIABLE=VALUE...: cluster.mjs with these, for a namespace in which the service account sandlot has the smallest Role
cluster() {
    space=space-$BASHPID
    jq -n --arg name "$space" '{metadata: {$name}}' | object /api/v1/namespaces
    core=/api/v1/namespaces/$space rights=/apis/rbac.authorization.k8s.io/v1/namespaces/$space
    for name in default sandlot; do jq -n --arg name "$name" '{metadata: {$name}, automountServiceAccountToken: false}' | object "$core/serviceaccounts"; done
    api POST "$rights/roles" config/kubernetes-role.yaml application/yaml >/dev/null
    jq -n --arg namespace "$space" '{metadata: {name: "sandlot"}, roleRef: {apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "sandlot"},
        subjects: [{kind: "ServiceAccount", name: "sandlot", $namespace}]}' | object "$rights/rolebindings"
    secret=$(echo '{"spec":{}}' | api POST "$core/serviceaccounts/sandlot/token" - | jq -r .status.token)
    export CLUSTER_API=$server CLUSTER_FOLDER=$certificates CLUSTER_NAMESPACE=$space EMULATOR_PROTOCOLS=v4.channel.k8s.io "$@"
    vendor_program=cluster vendor_start kubernetes
    export KUBECONFIG=$scratch/kubeconfig
    write_kubeconfig "$KUBECONFIG" "token: $secret"
    direct=(--sandbox kubernetes --param engine=pods --param trust_network_policy=true)
    provider=("${direct[@]}" --param "base_url=$url")
}
wrong_key() { write_kubeconfig "$scratch/wrong" "token: ${secret%?????}WRONG"; export KUBECONFIG=$scratch/wrong; }
no_key() { unset KUBECONFIG; }
pod() { api GET "$core/pods/$id"; }

# ---- credentials -------------------------------------------------------------------------------------------------------

credentials() {
    local file=$scratch/file
    run -q create "${direct[@]}"
    id=$out
    expect "a token, without anything between" 0 "4 2" "*" -q exec "${direct[@]}" --sandbox-id "$id" -- 'echo 4 2'
    printf %s "$secret" >"$scratch/token"
    write_kubeconfig "$file" "tokenFile: '$scratch/token'"
    KUBECONFIG=$file json "a file with the token" 0 ".sandboxes[0].id == \"$id\"" list "${direct[@]}"
    write_kubeconfig "$file" "client-certificate: '$certificates/admin.pem', client-key-data: $(base64 -w0 <"$certificates/admin.key")"
    KUBECONFIG=$file json "the administrator's certificate" 0 ".sandboxes[0].id == \"$id\"" list "${direct[@]}"
    KUBECONFIG=$file expect "and for a WebSocket" 0 yes "*" -q exec "${direct[@]}" --sandbox-id "$id" -- 'echo yes'
    KUBECONFIG=$file usage "a namespace that is not there" "no namespace nowhere" create "${direct[@]}" --param namespace=nowhere
    write_kubeconfig "$file" "client-certificate: '$certificates/somebody.pem', client-key: '$certificates/somebody.key'"
    KUBECONFIG=$file json "somebody's certificate" 3 '.error == "auth" and (.message | contains("does not let somebody list pods") and contains("the verb list on pods"))' list "${direct[@]}"
    KUBECONFIG=$file json "nor a WebSocket" 3 '.error == "auth"' exec "${direct[@]}" --sandbox-id "$id" -- true
    local admin="client-certificate: '$certificates/admin.pem', client-key: '$certificates/admin.key'"
    write_kubeconfig "$file" "$admin, as: 'system:serviceaccount:$space:sandlot'"
    KUBECONFIG=$file json "as somebody else" 0 ".sandboxes[0].id == \"$id\"" list "${direct[@]}"
    write_kubeconfig "$file" "$admin, as: stranger, as-groups: [strangers]"
    KUBECONFIG=$file json "whose rights are few" 3 '.error == "auth" and (.message | contains("stranger"))' list "${direct[@]}"
    write_kubeconfig "$file" "$admin, as: stranger, as-groups: ['system:masters']"
    KUBECONFIG=$file json "and in another group many" 0 .sandboxes list "${direct[@]}"
    write_kubeconfig "$file" "token: $secret, as: other"
    KUBECONFIG=$file json "who may not be somebody else" 3 '.error == "auth" and (.message | contains("ClusterRole"))' list "${direct[@]}"
    write_kubeconfig "$file" ""
    KUBECONFIG=$file json "nobody" 3 '.error == "auth" and (.message | contains("system:anonymous"))' list "${direct[@]}"
    wrong_key
    json "a token that is none" 3 '.error == "auth" and (.message | contains("KUBECONFIG"))' list "${direct[@]}"
    export KUBECONFIG=$scratch/kubeconfig
    json "another namespace" 3 '.error == "auth" and (.message | contains("default"))' list "${direct[@]}" --param namespace=default
    gone "$id"
    service_empty "nothing is left"
}

# ---- the smallest Role -------------------------------------------------------------------------------------------------

# The Role without VERB on RESOURCE; "" "": all of it.
role() {
    api GET "$rights/roles/sandlot" | jq --arg verb "$1" --arg resource "$2" --slurpfile whole "$scratch/role" \
        '.rules = ($whole[0].rules | map(if .resources == [$resource] then .verbs -= [$verb] else . end))' | api PUT "$rights/roles/sandlot" - >/dev/null
}
is_forbidden() { run --json "${@:2}"; is_true ".error == \"auth\" and (.message | contains(\"the verb $1\"))"; }
lacks() { # VERB RESOURCE COMMAND...
    role "$1" "$2"
    check "without $1 on $2" until_true 30 is_forbidden "$1 on $2" "${@:3}"
    role "" ""
    until_true 30 permitted "${1}" "$2"
}
permitted() { # VERB RESOURCE
    jq -n --arg verb "$1" --arg resource "${2%/*}" --arg space "$space" --arg sub "$(expr "$2" : '.*/\(.*\)')" \
        '{spec: {user: "system:serviceaccount:\($space):sandlot", resourceAttributes: {namespace: $space, $verb, $resource, subresource: $sub,
          group: (if $resource == "networkpolicies" then "networking.k8s.io" else "" end)}}}' |
        api POST /apis/authorization.k8s.io/v1/subjectaccessreviews - | jq -e .status.allowed >/dev/null
}
smallest_role() {
    api GET "$rights/roles/sandlot" >"$scratch/role"
    made || return
    lacks list pods list "${provider[@]}"
    lacks create pods create "${provider[@]}"
    lacks watch pods create "${provider[@]}"
    lacks get pods exec "${provider[@]}" --sandbox-id "$id" -- true
    lacks get pods/exec exec "${provider[@]}" --sandbox-id "$id" -- true
    lacks get networkpolicies create "${provider[@]}"
    lacks update networkpolicies network open "${provider[@]}" "$id"
    lacks delete pods delete "${provider[@]}" "$id"
    gone "$id"
    service_empty "nothing is left"
}

# ---- what it refuses ---------------------------------------------------------------------------------------------------

# Those who admit pods hear of new limits a little later.
admission_refuses() { # MEMORY
    jq -n --arg memory "$1" '{metadata: {name: "dry"}, spec: {containers: [{name: "main", image: "none", resources: {limits: {$memory}}}]}}' |
        api POST "$core/pods?dryRun=All" - >"$scratch/dry" 2>/dev/null
    [ "$(jq -r .reason "$scratch/dry" 2>/dev/null)" = Forbidden ]
}
refusals() {
    usage "a quantity that is none" "quantities must match" create "${provider[@]}" --param memory=lots --param 'environment={"KEY":"very secret"}'
    check "and nothing of the pod is told besides" test "$(grep -c 'very secret' "$scratch/err")" = 0
    usage "more asked for than there may be" "must be less than or equal to" create "${provider[@]}" --param memory=1Gi --param memory_request=2Gi
    usage "a runtime class that is not there" "RuntimeClass.* not found" create "${provider[@]}" --param runtime_class=none
    usage "a priority class that is not there" "PriorityClass" create "${provider[@]}" --param 'pod_spec={"priorityClassName":"none"}'
    usage "a service account that is not there" "service account" create "${provider[@]}" --param 'pod_spec={"serviceAccountName":"none"}'
    usage "a wrong type" "cannot" create "${provider[@]}" --param 'pod_spec={"tolerations":"all"}'
    echo '{"metadata":{"name":"small"},"spec":{"limits":[{"type":"Container","max":{"memory":"1Gi"},"min":{"memory":"8Mi"}}]}}' | object "$core/limitranges"
    until_true 30 admission_refuses 2Gi
    usage "more than a range allows" "maximum memory usage per Container is 1Gi.*change the parameters" create "${provider[@]}" --param memory=2Gi
    usage "and less" "minimum memory usage per Container is 8Mi.*change the parameters" create "${provider[@]}" --param memory=4Mi --param memory_request=4Mi
    api DELETE "$core/limitranges/small" >/dev/null
    echo '{"metadata":{"name":"none"},"spec":{"hard":{"pods":"0"}}}' | object "$core/resourcequotas"
    echo '{"status":{"hard":{"pods":"0"},"used":{"pods":"0"}}}' | api PATCH "$core/resourcequotas/none/status" - application/merge-patch+json >/dev/null
    until_true 30 admission_refuses 1Gi
    json "a quota" 3 '.error == "quota" and (.message | contains("exceeded quota: none"))' create "${provider[@]}"
    api DELETE "$core/resourcequotas/none" >/dev/null
    json "agent-sandbox is not there" 1 '.error == "not_supported" and (.message | contains("install agent-sandbox"))' create --sandbox kubernetes --param engine=agent-sandbox --param "base_url=$url"
    service_empty "nothing is left of all these"
}

# ---- networks ----------------------------------------------------------------------------------------------------------

policy_is() { api GET "/apis/networking.k8s.io/v1/namespaces/$space/networkpolicies/$1" | jq -e "$2" >/dev/null; }
networks() {
    made_allowed --allow 203.0.113.5 --allow 128.0.0.0/1 || return
    check "a policy that denies all" policy_is sandlot-deny-all '.spec == {podSelector: {matchLabels: {"sandlot-network": "none"}}, policyTypes: ["Ingress", "Egress"]}'
    check "one of its own, which the pod owns" policy_is "$id" ".metadata.ownerReferences[0].uid == $(pod | jq .metadata.uid) and (.spec.egress | length == 2)"
    reach "on the list" "$id" yes 203.0.113.5:443 198.51.100.7:80
    json "one less" 0 '.allow == ["203.0.113.5"]' network deny "${provider[@]}" "$id" 128.0.0.0/1
    check "is written there" until_true 20 policy_is "$id" '.spec.egress | length == 1'
    reach "one less" "$id" no 198.51.100.7:80
    json "off" 0 '.mode == "off"' network off "${provider[@]}" "$id"
    check "has no rule" policy_is "$id" '.spec | has("egress") | not'
    reach "off" "$id" no 203.0.113.5:443
    json "open" 0 '.mode == "open"' network open "${provider[@]}" "$id"
    reach "open" "$id" yes 198.51.100.7:22
    faults '[{"method":"PUT","path":"/networkpolicies/","times":1,"action":{"drop":"during","bytes":20}}]'
    json "an answer that is lost" 0 '.mode == "off"' network off "${provider[@]}" "$id"
    faults '[{"method":"POST","path":"/networkpolicies$","times":1,"action":{"drop":"during","bytes":20}}]'
    gone "$id"
    made_allowed --allow 198.51.100.7 --allow 128.0.0.0/1 && check "a policy that was made, and nobody knew" policy_is "$id" '.spec.egress | length == 2'
    faults '[]'
    gone "$id"
    check "policies go with their pods" until_true 20 no_policy "$id"
}
no_policy() { ! policy_is "$1" '.kind == "NetworkPolicy"' 2>/dev/null; }

# ---- lists -------------------------------------------------------------------------------------------------------------

# More than a page of them: nobody runs these, for they are another scheduler's.
many_pods() {
    local number
    for number in $(seq 501); do
        [ "$number" = 1 ] || echo next
        printf 'cacert = %s\ncert = %s\nkey = %s\n' "$certificates"/{ca.pem,admin.pem,admin.key}
        printf 'url = %s%s/pods\nheader = "Content-Type: application/json"\noutput = /dev/null\ndata = "%s"\n' "$server" "$core" \
            '{\"metadata\":{\"name\":\"many-'"$number"'\",\"labels\":{\"app.kubernetes.io/managed-by\":\"sandlot\"}},\"spec\":{\"schedulerName\":\"nobody\",\"containers\":[{\"name\":\"main\",\"image\":\"none\"}]}}'
    done | curl -sS -K -
}
pages() {
    many_pods
    json "a list of two pages, of which the server forgets the second" 3 '.error == "network" and (.message | contains("list anew"))' list "${provider[@]}"
    requests_reset
    json "and anew" 0 '.sandboxes | length == 501' list "${provider[@]}"
    check "by two requests" test "$(requests_count)" = 2
    requests_reset
    made || return
    check "a watch from a version that the server forgot" test "$(requests_show | grep -cE "watch=1|GET .*/pods/$id ")" -ge 2
    gone "$id"
}

# ---- agent-sandbox -----------------------------------------------------------------------------------------------------

install_agent_sandbox() {
    local name
    for name in tests/vendors/kubernetes/crds/*.yaml; do api POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions "$name" application/yaml >/dev/null; done
    for name in agents.x-k8s.io/v1beta1 "$group/v1beta1"; do until_true 60 api GET "/apis/$name" >/dev/null 2>&1; done
}
claim_is() { api GET "/apis/$group/v1beta1/namespaces/$space/sandboxclaims/${id#*/}" | jq -e "$1" >/dev/null; }
warm() { [ "$(api GET "/apis/agents.x-k8s.io/v1beta1/namespaces/$space/sandboxes" | jq '[.items[] | select(any(.status.conditions[]?; .type == "Ready" and .status == "True"))] | length')" = "$1" ]; }
agent_sandbox() {
    local number ids=()
    provider=(--sandbox kubernetes --param "base_url=$url")
    until_true 60 warm 2
    expect "a claim, a command, an end" 0 here "*" -v exec "${provider[@]}" -- 'echo here'
    check "warm" grep -q 'warm from the pool' "$scratch/err"
    service_empty "nothing is left of it"
    until_true 60 warm 2
    requests_reset
    run -q exec "${provider[@]}" --param engine=agent-sandbox -- true
    check "three requests from the claim to the command" test "$(requests_show | sed '/exec/q' | wc -l)" = 3
    until_true 60 warm 2
    made || return
    check "all that is asked for is known there" claim_is '.spec | .warmPoolRef.name == "sandlot" and .lifecycle.shutdownPolicy == "Delete" and (.lifecycle.shutdownTime | fromdate) > now
        and .additionalPodMetadata.labels["sandlot-run"] != null'
    json "it is listed" 0 "[.sandboxes[] | select(.mine) | .id] == [\"$id\"]" list "${provider[@]}"
    calls_url=$url
    check "pause" calls "$ok" pause "$id"
    json "it is listed as paused" 0 '[.sandboxes[].state] == ["paused"]' list "${provider[@]}"
    check "resume" calls "$ok" resume "$id"
    expect "it is found" 0 again "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo again'
    check "pause again" calls "$ok" pause "$id"
    expect "what is used is woken" 0 woken "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo woken'
    expect "a pool that is not there" 3 "" "WarmPoolNotFound" create "${provider[@]}" --param engine=agent-sandbox --param pool=none
    expect "without it, a pod" 0 pod "*" -q exec "${provider[@]}" --param pool=none -- 'echo pod'
    gone "$id"
    service_empty "all is gone"
}

vendor_use kubernetes
start_server
prepare=(cluster)
parts smallest_role credentials refusals networks
part life lives_and_dies is_not_there keys killed interrupted_create
part rows_of transfer
part rows_of execute
part faults_of "cut after" create exec list delete
prepare=(cluster "CLUSTER_ETCD=$etcd")
part pages
parts_run
install_agent_sandbox
prepare=(cluster CLUSTER_WARM=2)
part agent_sandbox
parts_run
vendor_sound
