#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
# The provider with real engines that this test starts, Podman's service and dockerd: what an emulator can only claim.
# ENGINES names those to be tried; ROWS the groups of the table of operations.
. tests/cli/lib.sh
. tests/operations/rows.sh
. tests/vendors/docker/engines.sh
unset DOCKER_HOST DOCKER_CONTEXT DOCKER_TLS DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION CONTAINER_HOST
export DOCKER_CONFIG=$scratch/docker
mkdir -p "$engines" "$DOCKER_CONFIG"
trap 'engines_stop; finish' EXIT

way=cloud as_root=true workspace=/workspace
image=localhost/sandlot-test:one
making=(--param "image=$image" --param pull=never)
groups=(execute lifecycle "write transfer")
[ -z "${SANDLOT_TEST_SLOW:-}" ] || groups+=(read edit "grep glob" "list delete")

exec_in() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$@" </dev/null; } # ID -- COMMAND
inspect() { api GET "/containers/$id/json"; }
containers() { api GET '/containers/json?all=1' | jq length; }
made() {
    id=$("$SANDLOT" -q create "${provider[@]}" "${making[@]}" "$@" </dev/null 2>"$scratch/err")
    [ -n "$id" ] || not_ok "a sandbox of $*" "$(cat "$scratch/err")"
}
gone() { "$SANDLOT" -q delete "${provider[@]}" -- "$@" >/dev/null 2>&1 </dev/null; }

walls() {
    local status
    made --param memory_mb=64 --param cpus=0.5
    status=$(exec_in "$id" -- 'cat /proc/self/status; ls /sys/class/net; id -u')
    check "$engine: no capability" grep -q '^CapEff:.0000000000000000$' <<<"$status"
    check "$engine: nor can one be had" grep -q '^CapBnd:.0000000000000000$' <<<"$status"
    check "$engine: no new privileges" grep -q '^NoNewPrivs:.1$' <<<"$status"
    check "$engine: the system calls are filtered" grep -q '^Seccomp:.2$' <<<"$status"
    check "$engine: no network but the loop" test "$(sed -n '/^lo$/,$p' <<<"$status" | tr '\n' ' ')" = "lo 0 "
    check "$engine: the limits are the engine's" \
        test "$(inspect | jq -c '[.HostConfig.Memory, .HostConfig.MemorySwap, .HostConfig.NanoCpus, .HostConfig.PidsLimit]')" = '[67108864,67108864,500000000,1024]'
    check "$engine: too much memory ends the command" test "$(exec_in "$id" -- 'head -c 200000000 /dev/zero | tail | wc -c'; exec_in "$id" -- 'echo lives')" != 200000000$'\n'lives
    check "$engine: it ends by itself" test "$(inspect | jq -c '[.HostConfig.AutoRemove, .Config.Cmd]')" = '[true,["2592000"]]'
    gone "$id"
    made --param 'capabilities=["CHOWN"]' --param 'environment={"SAID":"a b"}' --param 'labels={"team":"x"}' --param user=1000:1000 --param working_dir=/tmp/here
    check "$engine: what was asked for can be had" test "$(exec_in "$id" -- 'grep CapBnd /proc/self/status; echo "$SAID"; id -u; pwd' | tr '\n\t' '  ')" = "CapBnd: 0000000000000001 a b 1000 /tmp/here "
    check "$engine: labels" test "$(inspect | jq -r '.Config.Labels.team')" = x
    gone "$id"
    made --param read_only=true
    check "$engine: a root that is read-only" test "$(exec_in "$id" -- 'touch /bin/x 2>&1 | grep -o "Read-only"; echo ok >file; cat file')" = Read-only$'\n'ok
    head -c 3000000 /dev/urandom >"$scratch/bytes"
    rm -f "$scratch/back"
    expect "$engine: files go up to it" 0 "*" "*" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/bytes" /workspace/bytes
    expect "$engine: and come back" 0 "*" "*" -q download "${provider[@]}" --sandbox-id "$id" /workspace/bytes "$scratch/back"
    check "$engine: as they were" cmp -s "$scratch/bytes" "$scratch/back"
    gone "$id"
}

lives() {
    local long
    made
    long=$(inspect | jq -r .Id)
    check "$engine: the id is what people use" test "${long:0:12}" = "$id"
    expect "$engine: attach by the whole id" 0 "here" "*" -q exec "${provider[@]}" --sandbox-id "$long" -- echo here
    expect "$engine: attach by name" 0 "here" "*" -q exec "${provider[@]}" --sandbox-id "$(inspect | jq -r '.Name | ltrimstr("/")')" -- echo here
    json "$engine: it is listed as ours" 0 ".sandboxes | length == 1 and .[0].id == \"$id\" and .[0].mine" list "${provider[@]}"
    exec_in "$id" -- 'echo kept >kept'
    api POST "/containers/$id/pause" >/dev/null
    expect "$engine: what is paused is woken" 0 kept "*" -q exec "${provider[@]}" --sandbox-id "$id" -- cat kept
    api POST "/containers/$id/pause" >/dev/null
    json "$engine: what is paused can be deleted" 0 .deleted delete "${provider[@]}" -- "$id"
    check "$engine: it is gone" test "$(containers)" = 0
    json "$engine: delete again" 0 .deleted delete "${provider[@]}" -- "$id"
    json "$engine: an unknown id" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$id" -- true
    expect "$engine: an image that is not there" 2 "*" "*there is no image*" -q create "${provider[@]}" --param image=localhost/nothing:here --param pull=never
    check "$engine: leaves nothing" test "$(containers)" = 0
    strangers
    killed
}

# A container of somebody else is used, woken and left alone; it is not listed.
strangers() {
    api POST '/containers/create?name=stranger' -H 'Content-Type: application/json' \
        -d "{\"Image\":\"$image\",\"Cmd\":[\"sleep\",\"1000\"],\"WorkingDir\":\"/tmp\",\"HostConfig\":{\"NetworkMode\":\"none\"}}" >/dev/null
    expect "$engine: a container of somebody else, which has not run" 0 /tmp "*" -q exec "${provider[@]}" --sandbox-id stranger -- pwd
    json "$engine: is not listed" 0 '.sandboxes == []' list "${provider[@]}"
    expect "$engine: nor collected" 0 "*" "*" gc
    check "$engine: and lives on" test "$(containers)" = 1
    api DELETE '/containers/stranger?force=1' >/dev/null
}

killed() {
    local pid
    "$SANDLOT" -q exec "${provider[@]}" "${making[@]}" -- 'echo begun; sleep 1000' >"$scratch/begun" 2>&1 </dev/null &
    pid=$!
    timeout 60 sh -c "until grep -q begun '$scratch/begun'; do sleep 0.05; done"
    check "$engine: a command runs" grep -q begun "$scratch/begun"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    check "$engine: kill -9 leaves its container" test "$(containers)" = 1
    run gc
    check "$engine: until gc" test "$status:$(containers)" = 0:0
}

for engine in ${ENGINES:-podman dockerd}; do
    lacking=$(engine_lacks "$engine")
    if [ -n "$lacking" ]; then
        if [ -n "${CI:-}" ] && [ "$(id -u)" = 0 ]; then not_ok "$engine is there" "$lacking"; else echo "SKIP $engine: $lacking"; fi
        continue
    fi
    "${engine}_start" || continue
    image_import
    provider=(--sandbox docker --param "base_url=unix://$socket")
    walls
    lives
    # shellcheck disable=SC2086 # groups, one word each
    rows_run ${ROWS:-${groups[*]}}
    delete_all
done
