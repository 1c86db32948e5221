#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
# What is the engine's own: streams that break, versions, pulls and credentials.
. tests/vendors/lib.sh

secret=registry-secret-0123
unset DOCKER_HOST DOCKER_CONTEXT DOCKER_TLS DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION CONTAINER_HOST
export DOCKER_CONFIG=$scratch/docker
vendor_use docker
provider=(--sandbox docker --param "base_url=$url") making=(--param image=debian:stable) workspace=/workspace

start_rule() { faults "[{\"method\":\"POST\",\"path\":\"/exec/[^/]*/start\$\",\"times\":${2:-1},\"action\":$1}]"; }
sleeps() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "grep -lxz '7[0]7' /proc/[0-9]*/cmdline 2>/dev/null | wc -l" </dev/null; }
no_sleeps() { [ "$(sleeps)" = 0 ]; }
exec_in() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "$1" </dev/null; }

# A stream is never taken for whole that is not, and what was started is ended.
streams() {
    made || return
    start_rule '{"drop":"during","bytes":5}'
    json "half a frame, then a cut" 3 '.error == "network"' exec "${provider[@]}" --sandbox-id "$id" -- 'echo once >>ran1; echo out; sleep 707'
    check "it ran once at most" test "$(exec_in 'cat ran1 2>/dev/null | wc -l')" -le 1
    check "and does no more" until_true 10 no_sleeps
    start_rule '{"truncate_bytes":6}'
    json "a stream that ends before the command" 3 '.error == "network"' exec "${provider[@]}" --sandbox-id "$id" -- 'echo out; sleep 707'
    check "which is ended" until_true 10 no_sleeps
    faults '[{"method":"POST","path":"/exec/[^/]*/start$","times":1,"action":{"truncate_bytes":6}},{"method":"POST","path":"/containers/[^/]*/exec$","skip":1,"times":-1,"action":{"status":500,"body":{"message":"restarting"}}}]'
    json "which is not said where the engine does not do it" 3 '.error == "network" and (.message | contains("may still run") and (contains("was ended") | not))' \
        exec "${provider[@]}" --sandbox-id "$id" -- 'echo out; sleep 709'
    start_rule '{"truncate_bytes":9}'
    json "a stream that ends after it, but too soon" 3 '.error == "network" and (.message | contains("not all"))' \
        exec "${provider[@]}" --sandbox-id "$id" -- 'echo output'
    start_rule '{"garbage":true}'
    json "frames that are none" 3 '.error == "provider_error"' exec "${provider[@]}" --sandbox-id "$id" -- 'echo out; sleep 707'
    check "end the command" until_true 10 no_sleeps
    start_rule '{"drop":"before"}'
    json "no answer to the start" 3 '.error == "network"' exec "${provider[@]}" --sandbox-id "$id" -- 'echo once >>ran2; echo out'
    check "it is not started again" test "$(exec_in 'cat ran2 2>/dev/null | wc -l')" -le 1
    start_rule '{"status":500,"body":{"message":"no more processes"}}'
    json "a refusal is told in the engine's words" 3 '.message | contains("no more processes")' exec "${provider[@]}" --sandbox-id "$id" -- true
    start_rule '{"hang_ms":600000}'
    json "a start that hangs ends with --timeout" 3 '.error == "network" and (.message | contains("did not tell"))' \
        exec "${provider[@]}" --sandbox-id "$id" --timeout 1 -- true
    end_rule() { faults "[{\"method\":\"POST\",\"path\":\"/containers/[^/]*/exec\$\",\"skip\":1,\"times\":-1,\"action\":$1}]"; }
    end_rule '{"delay_ms":1500}'
    expect "an engine that is slow to end a command" 124 "*" "*" -q exec "${provider[@]}" --sandbox-id "$id" --timeout 1 -- 'sleep 707'
    faults '[]'
    check "ends it" until_true 10 no_sleeps
    end_rule '{"status":409,"body":{"message":"it is paused"}}'
    json "one that does not end it is told" 3 '.error == "network" and (.message | contains("may still run") and contains("it is paused"))' \
        exec "${provider[@]}" --sandbox-id "$id" --timeout 1 -- 'sleep 708'
    faults '[]'
    head -c 3000000 /dev/urandom >"$scratch/bytes"
    input=$scratch/bytes run -q exec --stdin "${provider[@]}" --sandbox-id "$id" -- cat
    check "three megabytes there and back through a command" cmp -s "$scratch/bytes" "$scratch/out"
    gone "$id"
    service_empty "nothing is left after the streams"
}

versions() {
    ping() { faults "[{\"path\":\"/_ping\$\",\"times\":-1,\"action\":{\"status\":200,\"headers\":$1,\"body\":\"OK\"}}]"; }
    ping '{"api-version":"1.40"}'
    run list "${provider[@]}"
    check "an older engine is spoken to in its version" grep -q 'GET /v1.40/containers/json' <(requests_show)
    ping '{"api-version":"1.24"}'
    json "one that is too old is refused" 1 '.error == "not_supported" and (.message | contains("1.24"))' list "${provider[@]}"
    ping '{}'
    json "what says no version is no engine" 3 '.message | contains("no container engine")' list "${provider[@]}"
    ping '{"api-version":"1.99"}'
    run -v list "${provider[@]}"
    check "one that is newer is spoken to in ours" grep -q 'GET /v1.51/containers/json' <(requests_show)
    faults '[]'
    requests_reset
    DOCKER_API_VERSION=1.40 run list "${provider[@]}"
    check "the version can be pinned" grep -q 'GET /v1.40/containers/json' <(requests_show)
    DOCKER_API_VERSION=1.24 expect "nor to one that is too old, which is not the engine's doing" 1 "*" "DOCKER_API_VERSION asks for version 1.24" -q list "${provider[@]}"
    DOCKER_API_VERSION=newest expect "to one that is none it cannot" 3 "*" "DOCKER_API_VERSION" -q list "${provider[@]}"
}

pulls() {
    export DOCKER_CONFIG=$scratch/docker
    mkdir -p "$DOCKER_CONFIG" "$scratch/bin"
    expect "a missing image is pulled" 0 here "*" -q exec "${provider[@]}" --param image=registry.test/some:one -- echo here
    check "by its tag" grep -q 'POST /v1.41/images/create?fromImage=registry.test%2Fsome&tag=one 200' <(requests_show)
    requests_reset
    expect "once" 0 here "*" -q exec "${provider[@]}" --param image=registry.test/some:one -- echo here
    check "is enough" test "$(requests_show | grep -c images/create)" = 0
    expect "always is always" 0 here "*" -q exec "${provider[@]}" --param image=registry.test/some:one --param pull=always -- echo here
    check "asked" test "$(requests_show | grep -c images/create)" = 1
    expect "never is never" 2 "*" "there is no image" -q create "${provider[@]}" --param image=registry.test/other:one --param pull=never
    expect "a name that no registry has" 2 "*" "could not be pulled" -q create "${provider[@]}" --param image=registry.test/nothing:one
    json "a limit of the registry" 3 '.error == "quota"' create "${provider[@]}" --param image=registry.test/limited:one
    json "an image that is somebody's" 3 '.error == "auth" and (.message | contains("docker login registry.test") and contains("no credentials came from '"$DOCKER_CONFIG/config.json"'"))' create "${provider[@]}" --param image=registry.test/private:one
    printf '{"auths":{"registry.test":{"auth":"%s"}}}' "$(printf 'me:%s' "$secret" | base64 -w 0)" >"$DOCKER_CONFIG/config.json"
    run -vv exec "${provider[@]}" --param image=registry.test/private:one -- echo here
    check "with docker's credentials it is ours" test "$status:$out" = 0:here
    secret_is_kept "credentials"
    check "nor are they in their other form" test "$(grep -c "$(printf 'me:%s' "$secret" | base64 -w 0)" "$scratch/err")" = 0
    printf '#!/bin/sh\nread -r host\n[ "$1 $host" = "get registry.test" ] && echo "{\\"Username\\":\\"me\\",\\"Secret\\":\\"%s\\"}"\n' "$secret" >"$scratch/bin/docker-credential-mine"
    chmod +x "$scratch/bin/docker-credential-mine"
    printf '{"credHelpers":{"registry.test":"mine"}}' >"$DOCKER_CONFIG/config.json"
    PATH=$scratch/bin:$PATH expect "a helper knows them too" 0 here "*" -q exec "${provider[@]}" --param image=registry.test/private:two -- echo here
    printf '{"credsStore":"mine"}' >"$DOCKER_CONFIG/config.json"
    PATH=$scratch/bin:$PATH expect "as does the store" 0 here "*" -q exec "${provider[@]}" --param image=registry.test/private:three -- echo here
    printf '{"auths":{"registry.test":{"auth":"%s"}}}' "$(printf 'me:another' | base64 -w 0)" >"$DOCKER_CONFIG/config.json"
    json "what is refused is told by where it stands" 3 '.error == "auth" and (.message | contains("credentials from '"$DOCKER_CONFIG/config.json"'"))' create "${provider[@]}" --param image=registry.test/private:four
    printf '{"credsStore":"none-of-that-name"}' >"$DOCKER_CONFIG/config.json"
    json "a helper that is not there is a warning" 3 '.error == "auth"' create "${provider[@]}" --param image=registry.test/private:four
    check "which names it" grep -q docker-credential-none-of-that-name "$scratch/err"
    service_empty "nothing is left after the pulls"
}

# A terminal has our size, also when that changes, and ends as its program does.
terminals() {
    local screen=$scratch/typescript
    made || return
    : >"$screen"
    {
        echo 'stty size'
        until_true 60 grep -q '33 99' "$screen"
        : >"$scratch/resize"
        echo 'until stty size | grep "44 [1]11"; do sleep 0.1; done; exit 7'
    } | timeout 150 script -qec "stty rows 33 cols 99; { until [ -e '$scratch/resize' ]; do sleep 0.1; done; stty rows 44 cols 111 </dev/tty; } &
        '$SANDLOT' -q shell ${provider[*]@Q} --sandbox-id $id" /dev/null >"$screen" 2>&1
    check "a terminal ends with its program" test "$?" = 7
    check "and has our size" grep -q '33 99' "$screen"
    check "also another one" grep -q '44 111' "$screen"
    gone "$id"
}

# What people make of a snapshot's image themselves is no sandbox.
made_by_hand() {
    made || return
    run -q snapshot "${provider[@]}" --name kept "$id"
    check "a snapshot" test "$status" = 0
    "$node" --input-type=module -e 'const answer = await fetch(process.argv[1] + "/containers/create?name=mine", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ Image: "localhost/sandlot-snapshot:kept" }) }); process.exit(answer.ok ? 0 : 1);' "$url"
    check "a container of it that somebody else makes" test "$?" = 0
    json "is not listed" 0 ".sandboxes | map(.id) == [\"$id\"]" list "${provider[@]}"
}

# What these parameters ask of the engine.
asked() { # PARAMETER=VALUE FILTER: of the container that it makes
    run -q create "${provider[@]}" "${making[@]}" --param "$1"
    id=$out
    check "$1" state_is "any(.sandboxes[]; .id == \"$id\" and ($2))"
}
parameters() {
    asked 'environment={"COLOUR":"blue","NUMBER":3}' '.body.Env | contains(["COLOUR=blue","NUMBER=3"])'
    usage "a variable that is none" "environment.A" create "${provider[@]}" --param 'environment={"A":[1]}'
    asked runtime=runsc '.body.HostConfig.Runtime == "runsc"'
    asked disk_gb=3 '.body.HostConfig.StorageOpt.size | tostring | test("^3(G|221225472$)")'
    json "a user namespace that dockerd passes over" 1 '.error == "not_supported" and (.message | contains("keep-id") and contains("userns"))' create "${provider[@]}" "${making[@]}" --param userns=keep-id
    usage "less than no processes" "processes is at least" create "${provider[@]}" "${making[@]}" --param processes=-1
    usage "more processors than there are" "cpus is from" create "${provider[@]}" "${making[@]}" --param cpus=5000
    asked userns=host '.body.HostConfig.UsernsMode == "host"'
    requests_reset
    asked platform=linux/arm64 '.body.HostConfig.Runtime == null'
    check "is asked for" test "$(requests_show | grep -c '^POST .*/containers/create.*[?&]platform=linux\(%2F\|/\)arm64')" = 1
}

# A user for whom a rootless engine has no id, in the words of Podman, runc and a newer runc; and what only sounds like it.
users() {
    local said
    start_refused() { faults "[{\"method\":\"POST\",\"path\":\"/containers/[^/]*/start\$\",\"times\":1,\"action\":{\"status\":500,\"body\":{\"message\":\"$1\"}}}]"; }
    for said in 'chowning container x workdir to container root: chown /y: invalid argument' \
        'runc create failed: unable to start container process: unable to setup user: invalid argument' 'cannot set uid to unmapped user in user namespace'; do
        start_refused "$said"
        json "no id for a user: $said" 1 '.error == "not_supported" and (.message | contains("no user 1000:1000: '"$said"'") and contains("/etc/subuid"))' \
            create "${provider[@]}" "${making[@]}" --param user=1000:1000
    done
    start_refused 'mount /x: invalid argument'
    json "where no user was asked for it is something else" 3 '.message | contains("does not start: mount /x: invalid argument")' create "${provider[@]}" "${making[@]}"
    service_empty "and nothing is left"
}

# A container that is shown as running while its init process has not become what it is to run; some never do.
beginnings() {
    local waits='{"Titles":["PID","CMD"],"Processes":[["1","/sbin/docker-init -- sleep 2592000"],["2","/sbin/docker-init -- sleep 2592000"]]}' lacking='the image needs the programs sh and sleep'
    shows() { faults "[{\"path\":\"/top\$\",\"times\":2,\"action\":{\"status\":200,\"body\":$1}}${2:-}]"; }
    tops() { requests_show | grep -c '/top '; }
    requests_reset
    shows "$waits"
    expect "what has not begun is waited for" 0 begun "*" -q exec "${provider[@]}" "${making[@]}" -- echo begun
    check "until it has" test "$(tops)" = 3
    shows "$waits" ',{"path":"/top$","action":{"status":409,"body":{"message":"it is not running"}}},{"path":"/json$","skip":1,"action":{"status":404,"body":{"message":"No such container"}}}'
    json "what ends instead is told" 3 ".message | contains(\"$lacking\")" create "${provider[@]}" "${making[@]}"
    for answer in '{"Processes":null}' '{"Processes":[[]]}' '{"Processes":[7]}' '{"Processes":{}}' '{}'; do
        shows "$answer"
        expect "processes that are none: $answer" 0 begun "*" -q exec "${provider[@]}" "${making[@]}" -- echo begun
    done
    faults '[{"path":"/top$","times":-1,"action":{"status":403,"body":"Request forbidden by administrative rules"}}]'
    expect "a proxy that lets only some calls through" 0 begun "*" -q exec "${provider[@]}" "${making[@]}" -- echo begun
    faults '[{"path":"/top$","times":-1,"action":{"drop":"before"}}]'
    json "an engine that is gone by then" 3 '.error == "network"' create "${provider[@]}" "${making[@]}"
    faults '[]'
    service_empty "nothing is left after the beginnings"
}

# Where commands begin, somebody who is not root can write too.
unlocked() { # NAME TIMES OPTION...: how often a new container's folder is written to
    requests_reset
    run -q create "${provider[@]}" "${making[@]}" "${@:3}"
    check "$1" test "$status:$(requests_show | grep -c '^PUT .*/archive?path=%2F 200')" = "0:$2"
    gone "$out"
}
working_folders() {
    unlocked "a working directory that the engine makes is everybody's" 1 --param user=1000:1000
    unlocked "root needs none of that" 0
    unlocked "one of the image stays as it is" 0 --param user=1000:1000 --param working_dir=/tmp
    unlocked "so does one in a mount" 0 --param user=1000:1000 --param 'mounts=[{"Type":"volume","Source":"kept","Target":"/workspace/"}]'
    unlocked "a mount elsewhere changes nothing" 1 --param user=1000:1000 --param 'mounts=[{"Type":"volume","Source":"kept","Target":"/work"}]'
    unlocked "and one in memory is everybody's already" 0 --param user=1000:1000 --param read_only=true
    faults '[{"path":"/changes$","times":1,"action":{"status":500,"body":{"message":"not here"}}}]'
    unlocked "where the engine cannot tell, it is left" 0 --param user=1000:1000
}

# What the engine takes and does not keep is no limit.
limits() { # PARAMETER: which the emulator of this part passes over
    json "$1: a limit that is not kept is refused" 1 ".error == \"not_supported\" and (.message | contains(\"limit $1:\") and contains(\"version 2\"))" \
        create "${provider[@]}" "${making[@]}" --param memory_mb=64 --param cpus=0.5 --param processes=100
    service_empty "$1: and its container is gone"
    expect "$1: those that are not asked for need not be" 0 made "*" -q exec "${provider[@]}" "${making[@]}" --param processes=0 -- echo made
}
unheld() { # OF-INFO
    export EMULATOR_UNHELD=$1
    vendor_again
}
passing_over() { # OF-HOSTCONFIG
    export EMULATOR_PASSES_OVER=$1
    vendor_again
}

# bare PROGRAM...: a container in which there are, of the programs that can carry a connection, only these; sets $box
bare() {
    local making=("${making[@]}")
    made || return
    exec_in "mkdir bin && cd bin && ln -s /usr/bin/* . && rm -f python* perl* nc* busybox && for p in $*; do
        case \$p in nc) ln -s /usr/bin/busybox nc ;; *) ln -s /usr/bin/\$p \$p ;; esac; done" || not_ok "programs: $*" "$out"
    "$SANDLOT" -q snapshot "${provider[@]}" --name "bare$*" "$id" >/dev/null </dev/null
    gone "$id"
    making+=(--param 'environment={"PATH":"/workspace/bin"}' --sandbox-snapshot-name "bare$*")
    made || return
    box=$id
    check "it has no other programs: $*" test "$(exec_in 'for f in python3 perl nc busybox; do command -v $f; done' | tr '\n' ' ')" = "${*/#//workspace/bin/}${*:+ }"
}

# Connections by whatever program the container has for them.
relays() { # PROGRAM
    local forwarder
    bare "$1" || return
    bytes_serve 7001
    bytes_forward 7001 7002
    if [ "$extent" = quick ] && [ "$1" != nc ]; then bytes_rows "$1"; else bytes_rows "$1" both; fi
    bytes_ended
    gone "$box"
    service_empty "$1: nothing is left"
}

# What goes wrong ends the connection, is told in one sentence, and the forwarding goes on.
connections() {
    local forwarder
    bare || return
    bytes_serve 7001
    bytes_forward 7001
    bytes_client refused 7001
    check "a container without a program for it: which it may be" until_true 60 grep -q 'neither python3 nor perl nor BusyBox' "$scratch/port.err"
    bytes_ended
    gone "$box"
    bare python3 || return
    bytes_serve 7001
    bytes_forward 7001
    start_rule '{"status":500,"body":{"message":"no more processes"}}'
    bytes_client refused 7001
    check "a refusal is told in the engine's words" until_true 60 grep -q 'no more processes' "$scratch/port.err"
    start_rule '{"drop":"before"}'
    check "no answer to the start ends the connection" bytes_client refused 7001
    start_rule '{"truncate_bytes":3}'
    check "so does half a frame" bytes_client refused 7001
    start_rule '{"garbage":true}'
    check "and what is no frame" bytes_client refused 7001
    faults '[]'
    check "the next one works" bytes_client echo 7001
    gone "$box"
    bytes_client refused 7001
    wait "$forwarder"
    check "a container that has gone ends the forwarding" test "$?" = 3
    service_empty "nothing is left after the connections"
}

# What may go wrong with volumes leaves no container, and no volume that is not wanted.
volumes() {
    local with=("${provider[@]}" "${making[@]}" --volume cache:/cache) mine first
    mine=sandlot-cache-OF-$(id -un 2>/dev/null || id -u)
    fault() { faults "[{\"method\":\"$1\",\"path\":\"$2\",\"times\":-1,\"action\":$3}]"; }
    fault POST '/volumes/create' '{"status":500,"body":{"message":"no space for it"}}'
    json "no volume, no sandbox" 3 '.message | contains("no space for it")' create "${with[@]}"
    fault GET '/containers/json[?]all=1&filters=%7B%22volume' '{"status":500,"body":{"message":"no list"}}'
    json "who else has it cannot be told" 3 '.message | contains("no list")' create "${with[@]}"
    service_empty "so nothing is made"
    faults '[]'
    expect "a volume" 0 "" "*" -q exec "${with[@]}" -- 'echo kept >/cache/file'
    faults '[{"method":"POST","path":"/start$","times":1,"action":{"delay_ms":3000}}]'
    "$SANDLOT" -q create "${with[@]}" >"$scratch/first" 2>/dev/null </dev/null &
    first=$!
    check "a writer that is not started yet" until_true 60 state_is '.sandboxes | length == 1'
    json "is one too" 3 '.error == "quota" and (.message | contains("one writer at a time"))' create "${with[@]}"
    wait "$first"
    id=$(cat "$scratch/first")
    check "and not ended by it" test "$(exec_in 'cat /cache/file')" = kept
    fault GET '/system/df' '{"status":500,"body":{"message":"cannot count"}}'
    json "sizes that cannot be told" 0 '.volumes | length == 1 and .[0].name == "cache" and .[0].bytes == null and .[0].writers == 1' volumes "${provider[@]}"
    fault GET '/volumes[?]' '{"status":200,"body":{"Volumes":7}}'
    json "a list that is none" 3 '.error == "provider_error"' volumes "${provider[@]}"
    faults '[]'
    json "in use" 3 '.error == "quota" and (.message | contains("sandbox '"$id"' has the volume cache"))' volumes delete "${provider[@]}" cache
    gone "$id"
    fault DELETE "/volumes/$mine" '{"status":409,"body":{"message":"volume is in use - [somewhere]"}}'
    json "in use by nobody who can be found" 3 '.error == "quota" and (.message | contains("somewhere") and contains("try again"))' volumes delete "${provider[@]}" cache
    faults '[]'
    json "it is deleted" 0 '.results[0].error == null' volumes delete "${provider[@]}" cache
    curl -s --max-time 60 -H 'Content-Type: application/json' -d "{\"Name\":\"$mine\"}" "$url/volumes/create" >/dev/null
    expect "one that is somebody else's is not used" 2 "" "$mine that Sandlot did not make" -q create "${with[@]}"
    json "nor deleted" 3 '.message | contains("'"$mine"' that Sandlot did not make")' volumes delete "${provider[@]}" cache
    json "nor listed" 0 '.volumes == []' volumes "${provider[@]}"
    service_empty "nothing is left after the volumes"
}

# The addresses that people write, before anything is sent.
addresses() {
    local said
    for said in nothing tcp:// 'ssh://a b' ssh://-oProxyCommand=x ssh://me:password@host 'ssh://host?x' unix://relative; do
        expect "the address $said" 3 "*" "container engine" -q list --sandbox docker --param "base_url=$said"
    done
    expect "a socket that is not there" 3 "*" "no container engine at /nowhere/docker.sock" -q list --sandbox docker --param base_url=unix:///nowhere/docker.sock
    expect "tcp is http" 0 "*" "*" -q list --sandbox docker --param "base_url=tcp://${url#http://}"
    DOCKER_TLS_VERIFY=1 expect "unless TLS is wanted" 3 "*" "*" -q list --sandbox docker --param "base_url=tcp://${url#http://}"
    expect "without a port it is docker's" 3 "*" 127.0.0.77:2375/ -q list --sandbox docker --param base_url=tcp://127.0.0.77
    expect "without a scheme it is tcp" 0 "*" "*" -q list --sandbox docker --param "base_url=${url#http://}"
    expect "nor is a port needed then" 3 "*" 127.0.0.77:2375/ -q list --sandbox docker --param base_url=127.0.0.77
    expect "without a host it is this machine" 3 "*" localhost:1/ -q list --sandbox docker --param base_url=tcp://:1
    DOCKER_TLS_VERIFY=1 expect "another one for TLS" 3 "*" "::1]:2376/" -q list --sandbox docker --param "base_url=tcp://[::1]"
}

for step in vendor_many streams versions pulls terminals made_by_hand parameters users beginnings working_folders addresses connections volumes; do part "$step"; done
for program in python3 perl nc busybox; do part relays "$program"; done
prepare=(passing_over Memory)
part limits memory_mb
prepare=(passing_over NanoCpus)
part limits cpus
prepare=(passing_over PidsLimit)
part limits processes
prepare=(unheld MemoryLimit)
part limits memory_mb
prepare=(unheld CpuCfsQuota)
part limits cpus
prepare=(unheld PidsLimit)
part limits processes
parts_run
vendor_sound
