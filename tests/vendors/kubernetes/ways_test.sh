#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2016,SC2034,SC2154,SC2163
# Kubernetes, what is its own: kubeconfigs and credentials, rights, old clusters, watches that break, pods that do not come up,
# agent-sandbox, terminals.
. tests/vendors/lib.sh
. tests/vendors/kubernetes/configuration.sh

secret=sa-0123456789abcdefEMULATED
good=$scratch/good.yaml
write_configuration "$good" "$secret"
unset KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT
vendor_use kubernetes
export KUBECONFIG=$good
workspace=/workspace
pods=(--sandbox kubernetes --param "base_url=$url" --param engine=pods)
provider=("${pods[@]}")

service() { # VARIABLE=VALUE...: an emulator with these
    export "$@"
    vendor_again
}

# ---- certificates ----------------------------------------------------------------------------------------------------

certificates() { # FOLDER: an authority, a server at localhost, a client called client-by-certificate
    local folder=$1
    mkdir -p "$folder"
    (
        cd "$folder" || exit 2
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem
        for name in server client; do
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name-by-certificate" -keyout $name.key -out $name.csr
            openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out $name.pem \
                -extfile <(echo 'subjectAltName=DNS:localhost,DNS:cluster.example')
        done
    ) 2>"$folder/log"
    [ -s "$folder/client.pem" ]
}

# write_tls FILE USER CLUSTER: a kubeconfig with these lines for the user and the cluster
write_tls() {
    cat >"$1" <<END
{apiVersion: v1, kind: Config, current-context: test, contexts: [{name: test, context: {cluster: test, user: test}}],
 clusters: [{name: test, cluster: {$3}}], users: [{name: test, user: {$2}}]}
END
}
secure=(--sandbox kubernetes --param engine=pods)
works_with() { # NAME FILE
    KUBECONFIG=$2 json "$1" 0 .sandboxes list "${secure[@]}"
}
asked_as() { check "$1" state_is ".users | index(\"$2\")"; }

by_tls() {
    local folder=$scratch/certificates server file=$scratch/tls.yaml secure_port said
    command -v openssl >/dev/null || { ok "TLS # SKIP openssl is not installed"; return; }
    certificates "$folder" || { not_ok "certificates" "$(cat "$folder/log")"; return; }
    service "EMULATOR_TLS=$folder"
    secure_port=$(ask GET state | jq .tls_port)
    server="server: 'https://localhost:$secure_port'"
    write_tls "$file" "token: $secret" "$server, certificate-authority: certificates/ca.pem"
    works_with "an authority in a file beside the kubeconfig, and a token" "$file"
    KUBECONFIG=$file expect "a command over TLS" 0 "42" "*" exec "${secure[@]}" -- 'echo $((6 * 7))'
    write_tls "$file" "client-certificate: '$folder/client.pem', client-key-data: $(base64 -w0 <"$folder/client.key")" \
        "$server, certificate-authority-data: $(base64 -w0 <"$folder/ca.pem")"
    works_with "a certificate of the client's, its key in the kubeconfig" "$file"
    asked_as "and it is the client's name that counts" client-by-certificate
    write_tls "$file" "token: $secret" "$server"
    KUBECONFIG=$file json "an authority that nobody knows" 3 '.error == "network" and (.message | contains("certificate"))' list "${secure[@]}"
    write_tls "$file" "token: $secret" "$server, insecure-skip-tls-verify: true"
    works_with "unless the kubeconfig does not want to know" "$file"
    for said in False FALSE no off '"false"' '""'; do
        write_tls "$file" "token: $secret" "$server, insecure-skip-tls-verify: $said"
        KUBECONFIG=$file json "which $said does not say" 3 '.error == "network" and (.message | contains("certificate"))' list "${secure[@]}"
    done
    write_tls "$file" "token: $secret" "$server, insecure-skip-tls-verify: True"
    works_with "and True does" "$file"
    write_tls "$file" "token: $secret" "server: 'https://127.0.0.1:$secure_port', certificate-authority: '$folder/ca.pem'"
    KUBECONFIG=$file json "a certificate for another name" 3 '.error == "network"' list "${secure[@]}"
    write_tls "$file" "token: $secret" "server: 'https://127.0.0.1:$secure_port', tls-server-name: cluster.example, certificate-authority: '$folder/ca.pem'"
    works_with "which is the right one by tls-server-name" "$file"
    KUBECONFIG=$file expect "and for a WebSocket" 0 yes "*" exec "${secure[@]}" -- 'echo yes'
    by_kubectl "$secure_port" "$folder"
    by_account "$secure_port" "$folder"
}

# kubectl, which is no part of the packages: where it is there, it must take the emulator for a cluster.
by_kubectl() { # PORT FOLDER
    local config=$scratch/kubectl.yaml version
    command -v kubectl >/dev/null || { ok "kubectl # SKIP it is not installed"; return; }
    write_tls "$config" "token: admin-0123456789abcdef" "server: 'https://localhost:$1', certificate-authority: '$2/ca.pem'"
    kube() { KUBECONFIG=$config HOME=$scratch timeout 60 kubectl "$@" 2>"$scratch/kubectl.err"; }
    version=$(kube version --client | sed -n 's/^Client Version: v1\.\([0-9]*\).*/\1/p')
    KUBECONFIG=$config made_for_kubectl || return
    check "kubectl lists the pod" test "$(kube get pods -o name)" = "pod/$id"
    check "kubectl reads its label" test "$(kube get pod "$id" -o 'jsonpath={.metadata.labels.app\.kubernetes\.io/managed-by}')" = sandlot
    check "kubectl reads the policy" test "$(kube get networkpolicy -o name)" = networkpolicy.networking.k8s.io/sandlot-deny-all
    if [ "${version:-0}" -ge 31 ]; then # those before speak SPDY
        kube exec -i "$id" -- sh -c 'cat; exit 5' <<<"by kubectl" >"$scratch/kubectl.out"
        check "kubectl runs a command in it, with input and exit code" test "$? $(cat "$scratch/kubectl.out")" = "5 by kubectl"
    else
        ok "kubectl exec # SKIP kubectl 1.$version speaks SPDY"
    fi
    KUBECONFIG=$config expect "which we see too" 0 seen "*" -q exec "${secure[@]}" --sandbox-id "$id" -- 'echo seen'
    kube delete pod "$id" >/dev/null
    KUBECONFIG=$config json "and what it deletes is gone" 3 '.error == "sandbox_not_found"' exec "${secure[@]}" --sandbox-id "$id" -- true
}
made_for_kubectl() {
    run -q create "${secure[@]}"
    id=$out
    [ "$status" = 0 ] || { not_ok "a sandbox for kubectl" "$(show)"; return 1; }
}

by_account() { # PORT FOLDER: as in a pod
    local folder=$scratch/account
    mkdir -p "$folder" && printf %s "$secret" >"$folder/token" && cp "$2/ca.pem" "$folder/ca.crt" && echo -n default >"$folder/namespace"
    (
        unset KUBECONFIG
        export KUBERNETES_SERVICE_HOST=localhost KUBERNETES_SERVICE_PORT=$1 KUBERNETES_SERVICE_ACCOUNT_FOLDER=$folder
        json "in a pod: its service account" 0 .sandboxes list "${secure[@]}"
        KUBECONFIG=$scratch/none.yaml json "also where KUBECONFIG names a file that is not there" 0 .sandboxes list "${secure[@]}"
        json "but not where the parameter does" 3 '.error == "auth" and (.message | contains("none.yaml"))' list "${secure[@]}" --param "kubeconfig=$scratch/none.yaml"
        echo stale >"$folder/token"
        json "a token that has expired" 3 '.error == "auth"' list "${secure[@]}"
        exit "$failures"
    )
    failures=$?
}

# ---- kubeconfigs -----------------------------------------------------------------------------------------------------

configurations() {
    local file=$scratch/file.yaml
    printf %s "$secret" >"$scratch/token"
    write_tls "$file" "token: wrong, tokenFile: token" "server: 'https://nowhere.invalid'"
    KUBECONFIG=$file json "a file with the token, which wins" 0 .sandboxes list "${provider[@]}"
    write_tls "$file" "username: somebody, password: pass word" "server: 'https://nowhere.invalid'"
    KUBECONFIG=$file json "a name and a password" 0 .sandboxes list "${provider[@]}"
    write_tls "$file" "token: admin-0123456789abcdef, as: 'system:serviceaccount:default:other', as-groups: [one]" "server: 'https://nowhere.invalid'"
    KUBECONFIG=$file json "as somebody else" 0 .sandboxes list "${provider[@]}"
    asked_as "with a group" "system:serviceaccount:default:other one"
    write_tls "$file" "token: $secret, as: other" "server: 'https://nowhere.invalid'"
    KUBECONFIG=$file json "who may not be somebody else" 3 '.error == "auth" and (.message | contains("impersonate users") and contains("ClusterRole") and (contains("namespace") | not))' list "${provider[@]}"
    echo '{contexts: [{name: test, context: {cluster: test, user: test}}], current-context: test}' >"$scratch/first.yaml"
    KUBECONFIG=$scratch/first.yaml:$scratch/none.yaml:$good json "several files, of which one is not there" 0 .sandboxes list "${provider[@]}"
    printf '\n' >"$scratch/empty.yaml"
    KUBECONFIG=$scratch/empty.yaml:/dev/null:$good json "and some that are empty" 0 .sandboxes list "${provider[@]}"
    KUBECONFIG=/dev/null json "none but an empty one" 3 '.error == "auth" and (.message | contains("/dev/null"))' list "${provider[@]}"
    echo '{contexts: [{name: test, context: {cluster: test, user: nobody}}], current-context: test}' >"$scratch/second.yaml"
    KUBECONFIG=$scratch/second.yaml:$good json "a user that is not there" 3 '.message | contains("no user '"'nobody'"'")' list "${provider[@]}"
    KUBECONFIG=$scratch/none.yaml json "a file that is not there" 3 '.error == "auth" and (.message | contains("none.yaml"))' list "${provider[@]}"
    json "a context that is not there" 3 '.message | contains("no context '"'nobody'"'")' list "${provider[@]}" --param context=nobody
    usage "a namespace that is not there" "no namespace nowhere: .* parameter namespace" create "${provider[@]}" --param namespace=nowhere
    json "another file by parameter" 0 .sandboxes list "${provider[@]}" --param "kubeconfig=$good" --param context=test
    printf 'a: [b\nc: }' >"$file"
    KUBECONFIG=$file json "a file that is no YAML" 3 '.message | contains("makes no sense") and contains("line")' list "${provider[@]}"
    write_tls "$file" "auth-provider: {name: gcp}" "server: 'https://nowhere.invalid'"
    KUBECONFIG=$file json "what Kubernetes gave up" 1 '.message | contains("auth-provider")' list "${provider[@]}"
    write_tls "$file" "token: $secret" "server: 'http://192.0.2.1:8080'"
    requests_reset
    KUBECONFIG=$file json "a token is not sent by plain HTTP" 3 '.message | contains("https")' list --sandbox kubernetes
    KUBECONFIG=$file run -vv list --sandbox kubernetes
    secret_is_kept "nor shown"
    mkdir -p "$HOME/.kube" && cp "$good" "$HOME/.kube/config"
    (
        unset KUBECONFIG
        json "the usual file" 0 .sandboxes list "${provider[@]}"
        mv "$HOME/.kube" "$scratch/.kube"
        SANDLOT_HOME=$scratch json "of another home" 0 .sandboxes list "${provider[@]}"
        exit "$failures"
    )
    failures=$?
}

programs() {
    local file=$scratch/program.yaml program=$scratch/credentials
    cat >"$program" <<'END'
#!/bin/sh
echo x >>"$COUNTER"
printf '%s' "$KUBERNETES_EXEC_INFO" >"$COUNTER.info"
[ "$1" != fail ] || { echo "you must log in" >&2; exit 1; }
token=$TOKEN
[ "$1" != later ] || [ -e "$COUNTER.second" ] || { token=stale; : >"$COUNTER.second"; }
printf '{"apiVersion":"%s","kind":"ExecCredential","status":{"token":"%s"}}' "$VERSION" "$token"
END
    chmod 755 "$program"
    local version=client.authentication.k8s.io/v1
    by_program() { # ARGUMENT VERSION MORE
        rm -f "$scratch/counter"
        write_tls "$file" "exec: {apiVersion: $version, command: ./credentials, args: [$1], interactiveMode: ${3:-Never}, env: [{name: TOKEN, value: $secret},
            {name: COUNTER, value: '$scratch/counter'}, {name: VERSION, value: $2}]}" "server: 'https://nowhere.invalid'"
    }
    by_program once $version
    KUBECONFIG=$file expect "a program that gives a token" 0 yes "*" exec "${provider[@]}" -- 'echo yes'
    check "asked once for all requests" test "$(wc -l <"$scratch/counter")" = 1
    check "and told what it is asked for" jq -e '.kind == "ExecCredential" and .spec.interactive == false' "$scratch/counter.info"
    sed -i "s|command:|provideClusterInfo: true, command:|; s|server: |certificate-authority-data: $(echo one | base64), server: |" "$file"
    KUBECONFIG=$file json "one that wants to know the cluster" 0 .sandboxes list "${provider[@]}"
    check "knows whom it is to trust" jq -e '.spec.cluster["certificate-authority-data"] == "'"$(echo one | base64)"'"' "$scratch/counter.info"
    by_program later $version
    KUBECONFIG=$file json "its token is refused: it is asked once more" 0 .sandboxes list "${provider[@]}"
    check "and not again" test "$(wc -l <"$scratch/counter")" = 2
    by_program fail $version
    KUBECONFIG=$file json "a program that fails says why" 3 '.error == "auth" and (.message | contains("you must log in"))' list "${provider[@]}"
    by_program once client.authentication.k8s.io/v1beta1
    KUBECONFIG=$file json "another version than was asked for" 3 '.error == "auth" and (.message | contains("apiVersion"))' list "${provider[@]}"
    by_program once $version Always
    KUBECONFIG=$file json "one that wants to ask somebody" 3 '.error == "auth" and (.message | contains("interactiveMode"))' list "${provider[@]}"
    run -vv list "${provider[@]}"
    secret_is_kept "the token of a program"
}

# ---- rights ----------------------------------------------------------------------------------------------------------

# What the Role lacks is named. Each verb that is taken from it must be missed: so it has none too many.
lacks() { # VERB RESOURCE COMMAND...
    local verb=$1 resource=$2 words=("$3")
    shift 2
    vendor_stop
    service "EMULATOR_WITHOUT=$verb $resource"
    provider=(--sandbox kubernetes --param "base_url=$url" --param "engine=${engine:-pods}")
    case $1 in pause | wake) made || return ;; esac
    [ "$1" != wake ] || { run pause "${provider[@]}" "$id" && set -- exec --sandbox-id "$id" -- true; words=(exec); }
    [ "$1" != pause ] || set -- pause "$id"
    [ "$1" != exec ] || [ "$#" -gt 1 ] || { made || return; set -- "$@" --sandbox-id "$id" -- true; }
    [ "$1" != network ] || { made && run network open "${provider[@]}" "$id" || return; words=(network open); set -- network "$id"; }
    json "without $verb on $resource" 3 '.error == "auth" and (.message | contains("the verb '"$verb on $resource"'"))' "${words[@]}" "${provider[@]}" "${@:2}"
}
rights() {
    lacks create pods create
    lacks list pods list
    lacks delete pods delete some-pod
    lacks create pods/exec exec
    lacks get networkpolicies create
    lacks create networkpolicies create
    lacks update networkpolicies network
    lacks watch pods create
}
rights_to_claims() {
    local engine=agent-sandbox
    export EMULATOR_AGENT_SANDBOX=1
    lacks create sandboxclaims create
    lacks watch sandboxclaims create
    lacks patch sandboxclaims exec
    lacks delete sandboxclaims delete sandboxclaim/some
    lacks get sandboxclaims pause
    lacks patch sandboxes pause
    lacks watch sandboxes pause
    lacks get sandboxes wake
    vendor_stop
    service "EMULATOR_WITHOUT=list sandboxclaims,get sandboxwarmpools"
    provider=(--sandbox kubernetes --param "base_url=$url")
    run -q create "${provider[@]}" --param engine=agent-sandbox
    json "without list on sandboxclaims none is listed" 0 '.sandboxes == []' list "${provider[@]}"
    expect "without get on sandboxwarmpools auto means pods" 0 pod "*" -q exec "${provider[@]}" -- 'ls -d /tmp/.sandlot-last-used >/dev/null && echo pod'
}

# ---- old clusters ----------------------------------------------------------------------------------------------------

before_half_close() {
    made || return
    expect "v4: a command" 0 "42" "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo $((6 * 7))'
    head -c 3000000 /dev/urandom >"$scratch/big"
    input=$scratch/big expect "v4: standard input" 0 "$(sha256sum <"$scratch/big")" "*" -q exec --stdin "${provider[@]}" --sandbox-id "$id" -- sha256sum
    expect "v4: a file goes up" 0 "*" "*" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/big" big
    expect "v4: whole" 0 "$(sha256sum <"$scratch/big")" "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'sha256sum <big'
    expect "v4: and down" 0 "*" "*" -q download "${provider[@]}" --sandbox-id "$id" big "$scratch/back"
    check "v4: as it was" cmp "$scratch/big" "$scratch/back"
    head -c 2500000 "$scratch/big" | "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" - piped 2>"$scratch/err"
    expect "v4: what comes by a pipe, in pieces" 0 "$(head -c 2500000 "$scratch/big" | sha256sum)" "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'sha256sum <piped'
    local forwarder box=$id
    bytes_serve 7001
    bytes_forward 7001
    check "v4: a server is reached" bytes_client echo 7001
    ! bytes_client half 7001
    check "v4: one's own end cannot be told, and is the end of a connection that is silent" test "$?" = 0
    check "v4: of its program, too" until_true 60 counts_to 0 carriers
    bytes_ended
}

# ---- watches ---------------------------------------------------------------------------------------------------------

watches() {
    local action
    for action in '{"drop":"before"}' '{"drop":"during","bytes":40}' '{"status":410,"body":{"kind":"Status","reason":"Expired","code":410}}' \
        '{"replace":"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}\n"}' '{"replace":""}' \
        '{"status":429,"headers":{"retry-after":"1"}}' '{"garbage":true}'; do
        faults "[{\"path\":\"watch=1\",\"times\":1,\"action\":$action}]"
        expect "a watch that meets $action" 0 up "*" -q exec "${provider[@]}" -- 'echo up'
    done
    faults '[]'
    service_empty "nothing is left after all these watches"
}

# ---- pods that do not come up ----------------------------------------------------------------------------------------

troubles() {
    json "an image that is not there" 3 '.message | contains("ImagePullBackOff")' create "${provider[@]}" --param image=missing:1
    service_empty "its pod is deleted"
    json "no node" 3 '.error == "timeout" and (.message | contains("Insufficient cpu"))' create "${provider[@]}" --param image=unschedulable --param start_timeout_s=1
    service_empty "nor waits for one for ever"
    expect "a runtime class that is not there" 2 "" "RuntimeClass" create "${provider[@]}" --param runtime_class=none
    expect "a priority class that is not there" 2 "" "PriorityClass.*change the parameters" create "${provider[@]}" --param 'pod_spec={"priorityClassName":"none"}'
    expect "a service account that is not there" 2 "" "service account.*change the parameters" create "${provider[@]}" --param 'pod_spec={"serviceAccountName":"none"}'
    faults '[{"method":"POST","path":"/pods$","times":1,"action":{"status":403,"body":{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,
        "message":"pods \"sandlot-x\" is forbidden: failed quota: compute: must specify limits.memory"}}}]'
    expect "a quota that wants a limit" 2 "" "must specify limits.memory; change the parameters" create "${provider[@]}"
    faults '[]'
    expect "a quantity that is none" 2 "" "quantities" create "${provider[@]}" --param memory=lots
}
quotas() {
    json "a quota" 3 '.error == "quota" and (.message | contains("exceeded quota"))' create "${provider[@]}" --param runtime_class=gvisor
}

shapes() {
    made || return
    check "no privileges" state_is '.sandboxes[0].pod.spec.containers[0].securityContext == {allowPrivilegeEscalation: false, readOnlyRootFilesystem: false, capabilities: {drop: ["ALL"]}}'
    check "no token of the cluster" state_is '.sandboxes[0].pod.spec.automountServiceAccountToken == false'
    check "not root" state_is '.sandboxes[0].pod.spec.securityContext | .runAsNonRoot and .runAsUser == 1000 and .seccompProfile.type == "RuntimeDefault"'
    check "a last wall" state_is '.sandboxes[0].pod.spec.activeDeadlineSeconds == 2592000'
    check "a policy that denies all" state_is '.policies | length == 1 and .[0].spec == {podSelector: {matchLabels: {"sandlot-network": "none"}}, policyTypes: ["Ingress", "Egress"]}'
    check "which is the pod's" state_is '.sandboxes[0].labels["sandlot-network"] == "none"'
    gone "$id"
    run -q create "${provider[@]}" --param network=open --param runtime_class=kata --param read_only=true --param user=0 \
        --param 'environment={"GREETING":"it'"'"'s me","NUMBER":3}' --param 'labels={"team":"blue"}' --param 'pod_spec={"nodeSelector":{"disk":"ssd"}}'
    id=$out
    check "by parameters" test "$status" = 0
    check "as they say" state_is '.sandboxes[0].pod | .spec.runtimeClassName == "kata" and .spec.containers[0].securityContext.readOnlyRootFilesystem
        and .spec.securityContext.runAsUser == 0 and .metadata.labels.team == "blue" and .spec.nodeSelector.disk == "ssd" and .metadata.labels["sandlot-network"] == "open"'
    expect "variables" 0 "it's me 3" "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo "$GREETING $NUMBER"'
    requests_reset
    PARAMETER_engine=pods check "a program makes two pods" calls "$ok" make one two
    check "and looks at the policy before each" test "$(requests_show | sed 's/ [0-9]*$//' | grep -c 'GET .*/networkpolicies/sandlot-deny-all\|POST .*/pods$')" = 4
    gone sandlot-one
    gone sandlot-two
    expect "a label that is none" 2 "" "no label" create "${provider[@]}" --param 'labels={"team":"a b"}'
    expect "a network that is none" 2 "" "none or open" create "${provider[@]}" --param network=off
    "$node" --input-type=module -e "const [, url] = process.argv; const headers = { authorization: 'Bearer admin-0123456789abcdef', 'content-type': 'application/merge-patch+json' };
        const answer = await fetch(url + '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/sandlot-deny-all', { method: 'PATCH', headers, body: JSON.stringify({ spec: { egress: [{}] } }) });
        const evicted = await fetch(url + '/api/v1/namespaces/default/pods/$id/eviction', { method: 'POST', headers, body: '{}' });
        process.exit(answer.ok && evicted.ok ? 0 : 1);" "$url"
    check "somebody opens the policy, and evicts the pod" test $? = 0
    expect "the policy is not trusted any more" 2 "" "sandlot-deny-all" create "${provider[@]}"
    json "the pod has ended" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$id" -- true
    json "and is listed so" 0 ".sandboxes[] | select(.id == \"$id\") | .state == \"ended\"" list "${provider[@]}"
}

# As the cluster's administrator: patched POD JSON ends with 0 if the API takes it
patched() {
    "$node" --input-type=module -e "const [, url, pod, body] = process.argv;
        const headers = { authorization: 'Bearer admin-0123456789abcdef', 'content-type': 'application/merge-patch+json' };
        const answer = await fetch(url + '/api/v1/namespaces/default/pods/' + pod, { method: 'PATCH', headers, body });
        console.error((await answer.json()).message ?? ''); process.exit(answer.ok ? 0 : 1);" "$url" "$1" "$2" 2>"$scratch/patched"
}

# The end that the cluster keeps, whatever becomes of us: it can be put forward, never off.
deadlines() {
    local command making=(--param hard_ttl_s=90m)
    made || return
    check "the last wall is hard_ttl_s" state_is '.sandboxes[0].pod.spec.activeDeadlineSeconds == 5400'
    usage "which pod_spec does not move" "activeDeadlineSeconds: the parameter hard_ttl_s" create "${provider[@]}" --param 'pod_spec={"activeDeadlineSeconds":null}'
    check "nobody puts it off" test "$(patched "$id" '{"spec":{"activeDeadlineSeconds":5401}}' || cat "$scratch/patched")" = \
        'Pod "'"$id"'" is invalid: spec.activeDeadlineSeconds: must be less than or equal to previous value'
    "$SANDLOT" --json exec "${provider[@]}" --sandbox-id "$id" -- ': >runs; sleep 3000' >"$scratch/ended" 2>"$scratch/ended.err" </dev/null &
    command=$!
    expect "a command runs" 0 "" "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'until [ -e runs ]; do sleep 0.1; done'
    check "it is put forward" patched "$id" '{"spec":{"activeDeadlineSeconds":1}}'
    wait "$command"
    status=$? out=$(cat "$scratch/ended") err=$(cat "$scratch/ended.err") ran="the command that ran"
    cp "$scratch/ended" "$scratch/out"
    judge_json "which ends what runs" 3 '.error == "sandbox_not_found" and (.message | contains("ended"))'
    check "by the cluster" state_is '.sandboxes[0].pod.status.reason == "DeadlineExceeded"'
    json "and it is told why" 3 '.error == "sandbox_not_found" and (.message | contains("DeadlineExceeded") and (contains("did you mean") | not))' exec "${provider[@]}" --sandbox-id "$id" -- true
    json "as the list says" 0 '.sandboxes[0].state == "ended"' list "${provider[@]}"
    gone "$id"
    service_empty "its object goes with delete"
}

pages() {
    local number
    for number in 1 2 3 4 5; do made || return; done
    requests_reset
    json "five sandboxes by pages of two" 0 '.sandboxes | length == 5' list "${provider[@]}"
    faults '[{"method":"GET","path":"/pods[?]","times":1,"action":{"status":200,"headers":{"warning":"299 - \"this goes away\""},"body":{"kind":"PodList","metadata":{},"items":[]}}}]'
    run list "${provider[@]}"
    check "a warning of the server is passed on" grep -q 'Kubernetes warns: 299 - "this goes away"' "$scratch/err"
    check "and is no error" test "$status" = 0
    faults '[{"path":"continue=","times":1,"action":{"status":410,"body":{"kind":"Status","reason":"Expired","message":"too old"}}}]'
    json "a list that was read too slowly" 3 '.error == "network" and (.message | contains("list anew"))' list "${provider[@]}"
}

# ---- agent-sandbox ---------------------------------------------------------------------------------------------------

claims=(--sandbox kubernetes --param "base_url=$url")
warm_sandboxes() {
    local forwarder box
    provider=(--sandbox kubernetes --param "base_url=$url")
    until_true 20 state_is '.boxes | length == 3 and all(.status.conditions[0].status == "True")'
    expect "a claim, a command, an end" 0 "here" "*" -v exec "${provider[@]}" -- 'echo here'
    check "warm" grep -q 'warm from the pool' "$scratch/err"
    service_empty "nothing is left of it"
    requests_reset
    run -q exec "${provider[@]}" --param engine=agent-sandbox -- true
    check "three requests from the claim to the command" test "$(requests_show | sed '/exec/q' | wc -l)" = 3
    for _ in 1 2 3; do made || return; done # one of them has a pod of another name
    json "they are listed" 0 '[.sandboxes[] | select(.mine)] | length == 3' list "${provider[@]}"
    check "without anything that is not warm" state_is '[.sandboxes[].claim.spec | has("env") or has("volumeClaimTemplates")] | any | not'
    for id in $("$SANDLOT" -q --json list "${provider[@]}" 2>/dev/null | jq -r '.sandboxes[].id'); do
        expect "a command in $id" 0 "it's me" "*" -q exec "${provider[@]}" --param 'environment={"GREETING":"it'"'"'s me"}' --sandbox-id "$id" -- 'echo "$GREETING"'
    done
    head -c 300000 /dev/urandom >"$scratch/bytes"
    expect "a file goes up" 0 "*" "*" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/bytes" bytes
    expect "and down" 0 "*" "*" -q download "${provider[@]}" --sandbox-id "$id" bytes "$scratch/back"
    check "as it was" cmp "$scratch/bytes" "$scratch/back"
    box=$id
    bytes_serve 7001
    bytes_forward 7001
    check "a server is reached" bytes_client echo 7001
    bytes_ended
    calls_url=$url
    check "pause" calls "$ok" pause "$id"
    check "its pod is gone" state_is "[.boxes[] | select(.spec.operatingMode == \"Suspended\")] | length == 1 and all(.[0].status.conditions[]; .type != \"Ready\" or .status == \"False\")"
    json "it is listed as paused, and no other" 0 '[.sandboxes[] | select(.state == "paused") | .id] == ["'"$id"'"]' list "${provider[@]}"
    check "resume" calls "$ok" resume "$id"
    json "and as running" 0 '[.sandboxes[].state] == ["running", "running", "running"]' list "${provider[@]}"
    expect "under another name it is found" 0 again "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo again'
    check "pause again" calls "$ok" pause "$id"
    expect "what is used is woken" 0 woken "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo woken'
    check "nothing stays after its end" state_is '[.sandboxes[].claim.spec.lifecycle.shutdownPolicy == "Delete"] | all'
    check "pods cannot be paused" calls "$unsupported" pause some-pod
    for id in $(ask GET ids); do gone "$id"; done
    service_empty "all is gone"
}
# One command, one terminal and one slow upload, all begun once, of claims that end 40 s after they were put off last.
ends_of_claims() { ask GET state | jq -c '[.sandboxes[] | {key: .id, value: .claim.spec.lifecycle.shutdownTime}] | from_entries'; }
lasting_uses() {
    local first pipe uses=()
    provider=(--sandbox kubernetes --param "base_url=$url" --param ttl_s=40)
    made || return
    mkfifo "$scratch/pipe" && exec {pipe}<>"$scratch/pipe"
    "$SANDLOT" -q exec "${provider[@]}" -- 'sleep 3000' >"$scratch/use" 2>&1 </dev/null &
    uses+=($!)
    script -qfec "$(printf '%q ' "$SANDLOT" -q shell "${provider[@]}")" /dev/null <&"$pipe" >"$scratch/screen" 2>&1 &
    uses+=($!)
    "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" - piped <&"$pipe" >"$scratch/upload" 2>&1 &
    uses+=($!)
    check "three uses that last" until_true 20 state_is '.sandboxes | length == 3'
    check "of which one is an upload" until_true 20 eval 'requests_show | grep -q command=sandlot-upload'
    first=$(ends_of_claims)
    check "a command, a terminal and an upload put off the end" until_true 60 state_is \
        "$first as \$first | [.sandboxes[] | .claim.spec.lifecycle.shutdownTime > \$first[.id]] | length == 3 and all"
    check "not behind the end that is for ever" state_is '[.sandboxes[].claim | (.metadata.annotations["sandlot-end"] | fromdate) - (.metadata.creationTimestamp | fromdate) - 2592000 | fabs < 300] | all'
    check "and are not cut by that" test "$(ps -o pid= -p "$(IFS=,; echo "${uses[*]}")" | wc -l)" = 3
    kill "${uses[@]}" 2>/dev/null
    exec {pipe}>&-
    wait "${uses[@]}" 2>/dev/null
}
# hard_ttl_s, and a ttl_s that is longer: no use puts off that end, also not one that only knows the claim's name.
last_ends() {
    local last
    provider=(--sandbox kubernetes --param "base_url=$url")
    run -q create "${provider[@]}" --param ttl_s=24h --param hard_ttl_s=2h
    id=$out last='.sandboxes[0].claim | .spec.lifecycle.shutdownTime == .metadata.annotations["sandlot-end"]'
    check "the end is hard_ttl_s" state_is "$last"
    check "as it was asked" state_is '.sandboxes[0].claim | (.spec.lifecycle.shutdownTime | fromdate) - (.metadata.creationTimestamp | fromdate) - 7200 | fabs < 60'
    expect "a use" 0 used "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo used'
    check "which does not put it off" state_is "$last"
    run -q create "${provider[@]}" --param ttl_s=24h
    id=$out
    expect "another use" 0 used "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo used'
    check "puts off by ttl_s of the creation" state_is "[.sandboxes[] | select(.id == \"$id\")][0].claim.spec.lifecycle.shutdownTime | fromdate > now + 80000"
}
# What can go wrong with a request for a claim, as with that for a pod.
claims_at_fault() {
    requests_of=([create]='POST /sandboxclaims$' [attach]='PATCH /sandboxclaims/' [list]='GET /sandboxclaims[?]' [delete]='DELETE /sandboxclaims/')
    provider=(--sandbox kubernetes --param "base_url=$url" --param engine=agent-sandbox)
    faults_of "429 once|503 once|cut before|cut after|cut in the middle|garbage|wrong types" create attach list delete
}
cold_sandboxes() {
    provider=(--sandbox kubernetes --param "base_url=$url")
    expect "a pool without sandboxes makes one" 0 cold "*" -v exec "${provider[@]}" -- 'echo cold'
    check "and that is told" grep -q 'cold' "$scratch/err"
    expect "a pool that is not there" 3 "" "WarmPoolNotFound" create "${provider[@]}" --param engine=agent-sandbox --param pool=none
    service_empty "no claim is left"
    expect "without it, a pod" 0 pod "*" -q exec "${provider[@]}" --param pool=none -- 'echo pod'
}
not_installed() {
    provider=(--sandbox kubernetes --param "base_url=$url")
    expect "where it is not installed, a pod" 0 pod "*" -q exec "${provider[@]}" -- 'echo pod'
    json "unless it must be" 1 '.error == "not_supported" and (.message | contains("install agent-sandbox"))' create "${provider[@]}" --param engine=agent-sandbox
    expect "another word" 2 "" "agent-sandbox or auto" create "${provider[@]}" --param engine=jobs
}

# ---- terminals -------------------------------------------------------------------------------------------------------

terminals() {
    local line screen=$scratch/screen
    made || return
    : >"$screen"
    line="{ until [ -e $scratch/resize ]; do sleep 0.1; done; stty rows 44 cols 111 </dev/tty; : >$scratch/resized; } & "
    line+=$(printf '%q ' "$SANDLOT" -q shell "${provider[@]}" --sandbox-id "$id")
    {
        until_true 20 grep -q '[$#]' "$screen"
        : >"$scratch/resize"
        until_true 20 test -e "$scratch/resized"
        printf 'tty && echo "in a ter""minal"; echo $TERM; pwd; echo "$GREETING"; grep -qs SANDLOT_CONNECTION= /proc/$$/environ && echo "in"" use"\nexit 6\n'
        until_true 20 grep -q 'it ended' "$screen"
    } | TERM=vt100 timeout 150 script -qfec "$line; echo it ended with \$?" "$screen" >/dev/null 2>&1
    check "a terminal" grep -q 'in a terminal' "$screen"
    check "whose size changes with ours" state_is '.terminals | any(.Width == 111 and .Height == 44)'
    check "which is a use of the pod" grep -q '^in use' "$screen"
    check "with its type" grep -q '^vt100' "$screen"
    check "in its folder" grep -q '^/workspace' "$screen"
    check "its exit code" grep -q 'it ended with 6' "$screen"
    check "nothing is shown before" test "$(sed 1d "$screen" | grep -c 'SANDLOT_JOB\|stty')" = 0
}

# What the keeper of a pod looks for, which see stays_while_connected.
lasting_in_pods() {
    local box pipe transfer
    made || return
    box=$id
    mkfifo "$scratch/pipe" && exec {pipe}<>"$scratch/pipe"
    "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" - piped <"$scratch/pipe" 2>"$scratch/upload" {pipe}>&- &
    transfer=$!
    check "an upload is a use of the pod" until_true 60 eval '[ "$(carriers)" -gt 0 ]'
    echo all >&"$pipe"
    exec {pipe}>&-
    wait "$transfer"
    check "which ends well" test "$? $(cat "$scratch/upload")" = "0 "
    check "no longer than it lasts" until_true 60 counts_to 0 carriers
    expect "and it is whole" 0 all "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'cat piped; truncate -s 100M zeros'
    exec {pipe}<>"$scratch/pipe"
    "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" zeros - >"$scratch/pipe" 2>"$scratch/download" {pipe}>&- &
    transfer=$!
    check "a download is one, too" until_true 60 eval '[ "$(carriers)" -gt 0 ]'
    exec {pipe}>&- # who reads has gone
    wait "$transfer"
    check "which ends" until_true 60 counts_to 0 carriers
    expect "work that a command leaves" 0 "*" "*" -q exec --detach "${provider[@]}" --sandbox-id "$id" -- 'sleep 3000'
    check "is a use as long as it runs" until_true 60 eval '[ "$(carriers)" -gt 0 ]'
}

# Nothing is typed nor printed for longer than a connection may be silent. (With this ttl_s each is looked after every three seconds.)
silent_terminals() {
    local making=(--param ttl_s=12)
    : >"$scratch/screen"
    {
        until_true 20 grep -q '[$#]' "$scratch/screen"
        sleep 18
        echo 'echo still"" here; exit 6'
        until_true 20 grep -q 'it ended' "$scratch/screen"
    } | script -qfec "$(printf '%q ' "$SANDLOT" -q shell "${provider[@]}" "${making[@]}"); echo it ended with \$?" "$scratch/screen" >/dev/null 2>&1
    check "a silent terminal is no forgotten one" grep -q 'still here' "$scratch/screen"
    check "it ends as it is told" grep -q 'it ended with 6' "$scratch/screen"
}

# ---- ports -----------------------------------------------------------------------------------------------------------

carriers() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$box" -- 'grep -ls SANDLOT_CONNECTIO[N]= /proc/[0-9]*/environ | wc -l' </dev/null; }

# A pod that is to end when nobody has used it for a minute, and was used last two hours ago. (A command is a use when it begins.)
stays_while_connected() {
    expect "an open connection is a use of the pod" 0 "renewed" "*" -q exec "${provider[@]}" --sandbox-id "$box" -- \
        'touch -d "2 hours ago" /tmp/.sandlot-last-used; until [ "$(find /tmp/.sandlot-last-used -mmin -5)" ]; do sleep 1; done; echo renewed'
}
connections() {
    local forwarder box while_held making=(--param ttl_s=60)
    made || return
    box=$id
    bytes_serve 7001
    bytes_forward 7001 7002
    bytes_rows "by v5" both
    requests_reset
    bytes_client echo 7001
    check "one request each" test "$(requests_count)" = 1
    [ -z "${SANDLOT_TEST_SLOW:-}" ] || while_held=stays_while_connected
    bytes_held carriers
    bytes_forward 7001
    faults '[{"path":"/exec","action":{"status":500,"body":{"kind":"Status","status":"Failure","message":"no more processes"}},"times":8}]'
    bytes_client refused 7001
    check "a refusal is told in the words of Kubernetes" until_true 60 grep -q 'no more processes' "$scratch/port.err"
    faults '[{"path":"/exec","action":{"drop":"before"}}]'
    check "no answer ends the connection" bytes_client refused 7001
    faults '[]'
    check "and the next one is carried" bytes_client echo 7001
    gone "$box"
    until_true 60 state_is '.sandboxes == []'
    check "a pod that has gone ends the connection" bytes_client refused 7001
    wait "$forwarder"
    check "and the forwarding" test "$?" = 3
}

# 409 is not always that the name is taken: others may have changed what the request counts on, as a quota does.
conflicts() {
    faults '[{"method":"POST","path":"/pods$","times":2,"action":{"status":409,"body":{"kind":"Status","status":"Failure","reason":"Conflict","message":"Operation cannot be fulfilled on resourcequotas: the object has been modified","code":409}}}]'
    requests_reset
    run -q create "${provider[@]}"
    id=$out
    check "a creation in conflict with others" test "$status" = 0
    check "is asked for again" test "$(requests_show | grep -c '^POST .*/pods ')" = 3
    faults '[{"method":"POST","path":"/pods$","times":-1,"action":{"status":409,"body":{"kind":"Status","status":"Failure","reason":"Conflict","message":"modified again","code":409}}}]'
    json "and not for ever" 3 '.error == "sandbox_not_found" or (.message | contains("modified") or contains("not found"))' create "${provider[@]}"
    faults '[]'
    gone "$id"
    service_empty "nothing is left of conflicts"
}

prepare=(service EMULATOR_HISTORY=2000)
part by_tls
parts vendor_many conflicts configurations programs watches shapes deadlines terminals lasting_in_pods connections not_installed
prepare=(service EMULATOR_IDLE_MS=15000)
part_once silent_terminals
prepare=(true)
parts rights rights_to_claims
prepare=(service EMULATOR_PROTOCOLS=v4.channel.k8s.io EMULATOR_EXEC_VERB=get EMULATOR_LATE_EXEC=1)
part before_half_close
prepare=(service EMULATOR_RUNTIME_CLASSES=gvisor)
part troubles
prepare=(service EMULATOR_QUOTA=0)
part quotas
prepare=(service EMULATOR_PAGE=2)
part pages
prepare=(service EMULATOR_AGENT_SANDBOX=3)
parts warm_sandboxes lasting_uses last_ends
part_once claims_at_fault
prepare=(service EMULATOR_AGENT_SANDBOX=0)
part cold_sandboxes
parts_run
vendor_sound
