#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
# The provider with real engines that this test starts, Podman's service and dockerd: what an emulator can only claim.
# ENGINES names those to be tried. Each part has one of its own.
. tests/vendors/lib.sh
. tests/vendors/docker/engines.sh
unset DOCKER_HOST DOCKER_CONTEXT DOCKER_TLS DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION CONTAINER_HOST
engines_owner=$BASHPID

vendor=docker calls_program=$scratch/engine-calls way=cloud as_root=true workspace=/workspace utf8_names=true
image=localhost/sandlot-test:one
# What the first engine that there is tells for all: where an engine is found, which is ours alone to know, and what wants no more of one than the
# rows and the kit that are asked of each.
found=(elsewhere) further=()
[ -z "${SANDLOT_TEST_SLOW:-}" ] || further=(read edit grep glob list delete)
making=(--param "image=$image" --param pull=never)

exec_in() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$@" </dev/null; } # ID -- COMMAND
inspect() { api GET "/containers/$id/json"; }
containers() { api GET '/containers/json?all=1' | jq length; }
made() { # OPTION...
    id=$("$SANDLOT" -q create "${provider[@]}" "${making[@]}" "$@" </dev/null 2>"$scratch/err")
    [ -n "$id" ] || not_ok "a sandbox of $*" "$(cat "$scratch/err")"
}

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
    check "$engine: what was asked for can be had" test "$(exec_in "$id" -- 'grep CapBnd /proc/self/status; echo "$SAID"; id -u; pwd; echo written >file; cat file' | tr '\n\t' '  ')" = "CapBnd: 0000000000000001 a b 1000 /tmp/here written "
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
    head -c 3000000 /dev/urandom >"$scratch/bytes"
    input=$scratch/bytes run -q exec --stdin "${provider[@]}" --sandbox-id "$id" -- cat
    check "$engine: standard input to its end, and as much output" cmp -s "$scratch/bytes" "$scratch/out"
    run -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/bytes" /workspace/bytes
    check "$engine: a large file can be read by others, as small ones can" test "$(exec_in "$id" -- 'stat -c %a bytes')" = 644
    long=$(inspect | jq -r .Id)
    check "$engine: the id is what people use" test "${long:0:12}" = "$id"
    expect "$engine: attach by the whole id" 0 "here" "*" -q exec "${provider[@]}" --sandbox-id "$long" -- echo here
    expect "$engine: attach by name" 0 "here" "*" -q exec "${provider[@]}" --sandbox-id "$(inspect | jq -r '.Name | ltrimstr("/")')" -- echo here
    json "$engine: it is listed as ours" 0 ".sandboxes | length == 1 and .[0].id == \"$id\" and .[0].mine" list "${provider[@]}"
    others_folder
    exec_in "$id" -- 'echo kept >kept'
    api POST "/containers/$id/pause" >/dev/null
    expect "$engine: what is paused is woken" 0 kept "*" -q exec "${provider[@]}" --sandbox-id "$id" -- cat kept
    api POST "/containers/$id/pause" >/dev/null
    json "$engine: what is paused can be deleted" 0 .deleted delete "${provider[@]}" -- "$id"
    check "$engine: it is gone" test "$(containers)" = 0
    json "$engine: delete again" 0 .deleted delete "${provider[@]}" -- "$id"
    json "$engine: an unknown id" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$id" -- true
    expect "$engine: an image that is not there" 2 "*" "there is no image" -q create "${provider[@]}" --param image=localhost/nothing:here --param pull=never
    check "$engine: leaves nothing" test "$(containers)" = 0
    strangers
    killed
    empty_image
    beneath
    unmarked
}

# P19 of the table of processes: only here a sandbox has more than one user.
others_folder() {
    local process
    mkdir -p "$scratch/theirs" && mkdir -m 777 "$scratch/theirs/.sandlot-processes"
    tar -C "$scratch/theirs" --owner=4242 -c .sandlot-processes | api PUT "/containers/$id/archive?path=/tmp" -H 'Content-Type: application/x-tar' --data-binary @-
    check "$engine: P19 another user's folder of processes" test "$(exec_in "$id" -- 'stat -c %u /tmp/.sandlot-processes')" = 4242
    # That is /dev/shm in this image, which holds 64 MiB.
    process=$("$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" --detach --log-limit 1 -- 'echo elsewhere' </dev/null)
    expect "$engine: P19 the next place serves" 0 "" "*" -q wait "${provider[@]}" --sandbox-id "$id" "$process"
    expect "$engine: P19 with what it printed" 0 elsewhere "*" -q logs "${provider[@]}" --sandbox-id "$id" "$process"
    check "$engine: P19 nothing is in the other's" test "$(exec_in "$id" -- 'ls -A /tmp/.sandlot-processes')" = ""
    exec_in "$id" -- 'rm -r /tmp/.sandlot-processes'
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

# An init process starts, and has nothing to run.
empty_image() {
    : >"$scratch/nothing"
    tar -C "$scratch" -c nothing | api POST '/images/create?fromSrc=-&repo=localhost/empty&tag=latest' -H 'Content-Type: application/x-tar' --data-binary @- >/dev/null
    run -q create "${provider[@]}" --param image=localhost/empty:latest --param pull=never
    check "$engine: an image without programs" grep -q "needs the programs sh and sleep" "$scratch/err"
    check "$engine: is no sandbox" test "$status:$out" = 3:
    usage "$engine: nor is no image" "image is empty" create "${provider[@]}" --param image=
    api DELETE '/images/localhost%2Fempty:latest?force=1' >/dev/null
}

# A command whose container is removed has not been killed by a limit of its own.
beneath() {
    local pid
    made
    "$SANDLOT" exec "${provider[@]}" --sandbox-id "$id" -- 'echo begun; sleep 1000' >"$scratch/beneath" 2>"$scratch/beneath.err" </dev/null &
    pid=$!
    timeout 60 sh -c "until grep -q begun '$scratch/beneath'; do sleep 0.05; done"
    api DELETE "/containers/$id?force=1" >/dev/null
    wait "$pid"
    check "$engine: a container that is removed while a command runs: status 3" test "$?" = 3
    check "$engine: and is told" grep -q "ended or was removed while the command ran" "$scratch/beneath.err"
}

# A time limit ends what has given up its variables, its parent or its session too.
unmarked() {
    made
    expect "$engine: a time limit of programs without their variables" 124 "*" "*" -q exec "${provider[@]}" --sandbox-id "$id" --timeout 1 -- \
        'env -i /bin/sleep 3001 & (env -i /bin/sleep 3002 &); env -i /bin/setsid /bin/sleep 3003 & env -i /bin/sh -c "trap : TERM; while :; do /bin/sleep 3004; done"'
    # Who asks is not what is looked for.
    expect "$engine: ends them all" 0 "" "*" -q exec "${provider[@]}" --sandbox-id "$id" -- \
        'n=0; while s=$(ps | grep "sleep 300[1-4]$") && [ "$n" -lt 300 ]; do n=$((n + 1)); sleep 0.1; done; echo "$s" | grep . || :'
    gone "$id"
}

# Snapshots and what is made of them; pausing, by the calls themselves, whose statuses count here.
snapshots() {
    local calls_url=unix://$socket
    made
    exec_in "$id" -- 'echo before >file'
    check "$engine: a snapshot" calls "$ok" snapshot "$id" First.1
    check "$engine: is told by its name" says '^result: First.1$'
    check "$engine: and not made twice" calls "$invalid" snapshot "$id" First.1
    check "$engine: nor under a name that is none" calls "$invalid" snapshot "$id" a/b
    exec_in "$id" -- 'echo after >file'
    calls "$ok" snapshots
    check "$engine: it is listed" says '^listed: First.1 complete dated$'
    check "$engine: a sandbox of it has its files" \
        test "$("$SANDLOT" -q exec "${provider[@]}" --sandbox-snapshot-name First.1 -- cat file </dev/null)" = before
    expect "$engine: one that is not there" 3 "*" "no snapshot nothing" -q exec "${provider[@]}" --sandbox-snapshot-name nothing -- true
    engine_by_hand=$(curl -s --unix-socket "$socket" -H "Content-Type: application/json" -d "{\"Image\":\"localhost/sandlot-snapshot:First.1\",\"Cmd\":[\"true\"]}" http://engine/containers/create | "$fast_jq" -r .Id)
    check "$engine: what is made of it by hand is listed by nobody" eval '[ "${#engine_by_hand}" = 64 ] && ! "$SANDLOT" -q list "${provider[@]}" | grep "${engine_by_hand:0:12}"'
    curl -s --unix-socket "$socket" -X DELETE "http://engine/containers/$engine_by_hand" >/dev/null
    check "$engine: it is deleted" calls "$ok" delete-snapshot First.1
    check "$engine: twice" calls "$ok" delete-snapshot First.1
    calls "$ok" snapshots
    check "$engine: it is gone" test "$out" = ""
    check "$engine: pause" calls "$ok" pause "$id"
    check "$engine: the engine knows" test "$(inspect | jq .State.Paused)" = true
    check "$engine: pause again" calls "$ok" pause "$id"
    check "$engine: resume" calls "$ok" resume "$id"
    check "$engine: resume again" calls "$ok" resume "$id"
    check "$engine: its files are there" test "$(exec_in "$id" -- cat file)" = after
    gone "$id"
}

# A terminal of the engine, which has the size of ours and ends with its program's status. The program ends once what it has written has come:
# Podman may lose the last of that (its issue 9096).
terminals() {
    made
    : >"$scratch/typescript"
    {
        printf 'stty size; echo "$TERM" $((6 * 7)); tty\n'
        until_true 60 grep -q '^/dev/pts/' "$scratch/typescript"
        echo 'exit 7'
    } | timeout 200 script -qec "stty rows 33 cols 99; TERM=vt220 '$SANDLOT' -q shell ${provider[*]@Q} --sandbox-id $id" /dev/null \
        >"$scratch/typescript" 2>&1
    check "$engine: a terminal ends with its program" test "$?" = 7
    check "$engine: it has our size" grep -q '33 99' "$scratch/typescript"
    check "$engine: and our TERM" grep -q 'vt220 42' "$scratch/typescript"
    check "$engine: it is one" grep -q '^/dev/pts/' "$scratch/typescript"
    gone "$id"
}

# relays ID: how many programs in container ID carry a connection, besides the server, which is an nc as well
relays() { exec_in "$1" -- 'echo $(($(grep -l "^nc$" /proc/[0-9]*/comm | wc -l) - 1))'; }

# Bytes to a server of BusyBox, by BusyBox, in a container without a network.
ports() {
    local forwarder
    made
    box=$id
    "$SANDLOT" -q write "${provider[@]}" --sandbox-id "$id" server >/dev/null <<'SERVER'
#!/bin/sh
case $(dd bs=1 count=1 2>/dev/null) in
    e) exec cat ;;
    h) sha256sum | { read -r digest rest; printf %s "$digest"; } ;;
esac
SERVER
    exec_in "$id" -- 'chmod 755 server; (nc -ll -p 7001 -e /workspace/server >/dev/null 2>&1 &)'
    bytes_forward 7001 7002
    bytes_rows "$engine" through
    bytes_held relays "$id"
    gone "$id"
}

# The conformance kit. Its table of operations needs the capability of a root whom no permission stops.
kit() {
    kit_of operations --param capabilities=DAC_OVERRIDE
    kit_of lifecycle
    kit_of snapshots
}
kit_of() { # GROUP OPTION...
    "$SANDLOT" plugin check --only "$1" "$BUILD/builtins/docker.so" "${provider[@]:2}" "${making[@]}" "${@:2}" \
        >"$scratch/kit" 2>&1 </dev/null
    check "$engine: the conformance kit's $1" grep -q "^# result: passed (only: $1)" "$scratch/kit"
    grep -A 5 "^not ok" "$scratch/kit" | sed "s/^/# /"
}

# Volumes of the engine, of which only ours are touched.
volumes() {
    local with=("${provider[@]}" "${making[@]}") owner mine as_user=(--param user=1000:1000) writer
    owner=$(id -un 2>/dev/null || id -u) mine=sandlot-cache-OF-$owner
    json "$engine: no volumes at first" 0 '.volumes == []' volumes "${provider[@]}"
    expect "$engine: one is written to" 0 "" "*" -q exec "${with[@]}" --volume cache:/cache -- 'mkdir /cache/sub && echo kept >/cache/sub/file'
    check "$engine: it is labelled" test "$(api GET "/volumes/$mine" | jq -c '[.Labels."sandlot-volume", .Labels."sandlot-owner"]')" = "[\"cache\",\"$owner\"]"
    expect "$engine: the next sandbox finds it, elsewhere" 0 kept "*" -q exec "${with[@]}" --volume cache:/other/place -- 'cat /other/place/sub/file'
    expect "$engine: a user who is not root writes to it" 0 "" "*" -q exec "${with[@]}" "${as_user[@]}" --volume cache:/cache -- 'echo more >/cache/more'
    expect "$engine: and to a new one" 0 mine "*" -q exec "${with[@]}" "${as_user[@]}" --volume users:/home/user/.cache -- 'cd /home/user/.cache && echo mine >file && cat file'
    expect "$engine: another one too" 0 "mine theirs" "*" -q exec "${with[@]}" --param user=1001 --volume users:/u -- 'echo theirs >/u/more; echo $(cat /u/file /u/more)'
    expect "$engine: to read only" 0 kept "*" -q exec "${with[@]}" --volume cache:/cache:ro -- 'cat /cache/sub/file; { touch /cache/new || rm /cache/more; } 2>/dev/null && echo written; true'
    made --volume cache:/cache
    writer=$id
    expect "$engine: a second writer is refused" 3 "" "one writer at a time, and the sandbox $writer writes" -q create "${with[@]}" --volume cache:/cache
    check "$engine: and its container is gone" test "$(containers)" = 1
    exec_in "$writer" -- 'echo fresh >/cache/fresh'
    expect "$engine: a reader beside the writer sees what it writes" 0 fresh "*" -q exec "${with[@]}" "${as_user[@]}" --volume cache:/cache:ro -- cat /cache/fresh
    head -c 100000 /dev/urandom >"$scratch/bytes"
    rm -f "$scratch/back"
    expect "$engine: files go up to it" 0 "*" "*" -q upload "${provider[@]}" --sandbox-id "$writer" "$scratch/bytes" /cache/bytes
    expect "$engine: and come back" 0 "*" "*" -q download "${provider[@]}" --sandbox-id "$writer" /cache/bytes "$scratch/back"
    check "$engine: as they were" cmp -s "$scratch/bytes" "$scratch/back"
    json "$engine: the list" 0 '[.volumes[] | select(.name == "cache")][0] | .bytes >= 100000 and .writers == 1 and .readers == 0 and (.used_at | startswith("20"))' volumes "${provider[@]}"
    expect "$engine: one in use is not deleted" 3 "" "sandbox $writer has the volume cache" -q volumes delete "${provider[@]}" cache
    gone "$writer"
    check "$engine: gc leaves it" "$SANDLOT" -q gc
    expect "$engine: so its files are there" 0 fresh "*" -q exec "${with[@]}" --volume cache:/cache:ro -- cat /cache/fresh
    volumes_shared
    volumes_refused
    json "$engine: another owner has none" 0 '.volumes == []' volumes "${provider[@]}" --param owner=somebody-else
    json "$engine: they are deleted" 0 '.results == [{"name":"cache","error":null}]' volumes delete "${provider[@]}" cache
    json "$engine: twice" 0 '.results == [{"name":"cache","error":null}]' volumes delete "${provider[@]}" cache
    json "$engine: each" 0 '.results == [{"name":"users","error":null}]' volumes delete "${provider[@]}" users
    json "$engine: and are gone" 0 '.volumes == []' volumes "${provider[@]}"
    check "$engine: also at the engine" test "$(api GET /volumes | jq '.Volumes | length')" = 0
    check "$engine: and no container is left" test "$(containers)" = 0
}

# Of many that come at once one writes, unless all say that they share it.
volumes_shared() {
    local i ids=()
    for i in 1 2 3; do "$SANDLOT" -q create "${with[@]}" --volume cache:/cache >"$scratch/created-$i" 2>"$scratch/refused-$i" </dev/null & ids+=($!); done
    wait "${ids[@]}"
    check "$engine: of three at once one writes" test "$(cat "$scratch"/created-? | wc -l):$(containers)" = 1:1
    check "$engine: the others are told" test "$(grep -l "one writer at a time" "$scratch"/refused-? | wc -l)" = 2
    gone "$(cat "$scratch"/created-?)"
    printf '[sandboxes.volumes.cache]\nwriters = "many"\n' >"$config"
    made --volume cache:/cache
    expect "$engine: with many writers a second one writes" 0 "" "*" -q exec "${with[@]}" --volume cache:/cache -- 'echo second >/cache/second'
    check "$engine: and both see it" test "$(exec_in "$id" -- cat /cache/second)" = second
    rm -f "$config"
    expect "$engine: but not one that does not share" 3 "" "one writer at a time" -q create "${with[@]}" --volume cache:/cache
    gone "$id"
}

volumes_refused() {
    local place strange=sandlot-theirs-OF-$owner
    for place in /proc/x /dev /workspace /workspace/in/it; do
        expect "$engine: no volume at $place" 2 "" "cannot be at $place" -q create "${with[@]}" --volume "cache:$place"
    done
    printf '[sandboxes.volumes.cache]\nlimit_mb = 10\n' >"$config"
    expect "$engine: a limit that no engine holds" 1 "" "leave its limit_mb out" -q create "${with[@]}" --volume cache:/cache
    rm -f "$config"
    expect "$engine: an owner that is none" 2 "" "parameter owner" -q create "${with[@]}" --param 'owner=a b' --volume cache:/cache
    api POST /volumes/create -H 'Content-Type: application/json' -d "{\"Name\":\"$strange\"}" >/dev/null
    expect "$engine: somebody else's is not used" 2 "" "$strange that Sandlot did not make" -q create "${with[@]}" --volume theirs:/cache
    expect "$engine: nor deleted" 3 "" "$strange that Sandlot did not make" -q volumes delete "${provider[@]}" theirs
    check "$engine: and still there" test "$(api GET "/volumes/$strange" | jq -r .Name)" = "$strange"
    api DELETE "/volumes/$strange"
}

# From a registry that wants to know who asks: by docker's configuration, and by a program for credentials.
pulls() {
    local from=$registry_address/team/app:one
    local pulling=(--param "image=$from" --param pull=always)
    auth() { printf '%s:%s' "$registry_user" "$1" | base64 -w 0; }
    auths() { printf '{"auths":{"%s":{"auth":"%s"}}}' "$registry_address" "$(auth "$1")" >"$DOCKER_CONFIG/config.json"; }
    json "$engine: a registry that does not know us" 3 '.error == "auth" and (.message | contains("no credentials came from '"$DOCKER_CONFIG/config.json"'") and
        contains("docker login '"$registry_address"'"))' create "${provider[@]}" "${pulling[@]}"
    auths another-password
    json "$engine: a wrong password is told by where it stands" 3 '.error == "auth" and (.message | contains("credentials from '"$DOCKER_CONFIG/config.json"'"))' \
        create "${provider[@]}" "${pulling[@]}"
    auths "$registry_password"
    run -vv exec "${provider[@]}" "${pulling[@]}" -- 'echo pulled'
    check "$engine: an image by the credentials of docker login" test "$status:$out" = 0:pulled
    check "$engine: with progress by layers" grep -Eq 'pulling the image: [A-Z].* [0-9a-f]{12}' "$scratch/err"
    [ "$engine" = podman ] || check "$engine: and bytes" grep -Eq 'pulling the image: .* [0-9a-f]{12} ([0-9]+)/\1$' "$scratch/err"
    check "$engine: and without a word of the password" test "$(grep -c -e "$registry_password" -e "$(auth "$registry_password")" "$scratch/err")" = 0
    expect "$engine: one that the registry does not have" 2 "" "could not be pulled: .*; check its name and tag" \
        -q create "${provider[@]}" --param "image=$registry_address/team/app:none"
    by_helper
    expect "$engine: what is there is not asked for" 0 there "*" -q exec "${provider[@]}" --param "image=$from" -- 'echo there'
    check "$engine: nothing is left after the pulls" test "$(containers)" = 0
    rm -f "$DOCKER_CONFIG/config.json"
}

by_helper() {
    local helper=$scratch/bin/docker-credential-mine
    mkdir -p "$scratch/bin"
    printf '#!/bin/sh\nread -r host\n[ "$1 $host" = "get %s" ] && printf \x27{"Username":"%s","Secret":"%%s"}\x27 "$(cat %q)"\n' \
        "$registry_address" "$registry_user" "$scratch/secret" >"$helper"
    chmod +x "$helper"
    printf '{"credHelpers":{"%s":"mine"}}' "$registry_address" >"$DOCKER_CONFIG/config.json"
    echo "$registry_password" >"$scratch/secret"
    PATH=$scratch/bin:$PATH expect "$engine: a helper knows them too" 0 pulled "*" -q exec "${provider[@]}" "${pulling[@]}" -- 'echo pulled'
    echo another-password >"$scratch/secret"
    PATH=$scratch/bin:$PATH json "$engine: it is told when it is wrong" 3 '.error == "auth" and (.message | contains("docker-credential-mine, which '"$DOCKER_CONFIG/config.json"'"))' \
        create "${provider[@]}" "${pulling[@]}"
    check "$engine: but not the password" test "$(grep -c another-password "$scratch/out" "$scratch/err" | paste -sd ' ')" = "$scratch/out:0 $scratch/err:0"
}

# In a process of its own, and by what the environment says.
elsewhere() {
    printf '[sandboxes.providers.docker]\nisolation = "unconfined"\n[sandboxes.providers.docker.params]\nimage = "%s"\n' "$image" >"$config"
    expect "$engine: in a worker" 0 42 "*" -q exec "${provider[@]}" -- 'echo $((6 * 7))'
    rm -f "$config"
    (
        export DOCKER_HOST=unix://$socket
        provider=(--sandbox docker)
        expect "$engine: by DOCKER_HOST" 0 42 "*" -q exec "${provider[@]}" "${making[@]}" -- 'echo $((6 * 7))'
        unset DOCKER_HOST
        hash=$(printf mine | sha256sum | cut -d ' ' -f 1)
        mkdir -p "$DOCKER_CONFIG/contexts/meta/$hash"
        printf '{"Name":"mine","Metadata":{},"Endpoints":{"docker":{"Host":"unix://%s","SkipTLSVerify":false}}}' "$socket" >"$DOCKER_CONFIG/contexts/meta/$hash/meta.json"
        expect "$engine: by the parameter context" 0 42 "*" -q exec "${provider[@]}" "${making[@]}" --param context=mine -- 'echo $((6 * 7))'
        DOCKER_CONTEXT=mine expect "$engine: by DOCKER_CONTEXT" 0 42 "*" -q exec "${provider[@]}" "${making[@]}" -- 'echo $((6 * 7))'
        printf '{"currentContext":"mine"}' >"$DOCKER_CONFIG/config.json"
        expect "$engine: by the current context" 0 42 "*" -q exec "${provider[@]}" "${making[@]}" -- 'echo $((6 * 7))'
        CONTAINER_HOST=unix:///nowhere/at/all expect "$engine: but not for the parameter context=default" 3 "*" "no container engine at /nowhere" -q list "${provider[@]}" --param context=default
        DOCKER_HOST=unix:///nowhere/at/all expect "$engine: DOCKER_HOST beats it" 3 "*" "no container engine at /nowhere" -q exec "${provider[@]}" "${making[@]}" -- true
        DOCKER_CONTEXT=other expect "$engine: a context that is not there" 2 "*" 'no context "other"' -q exec "${provider[@]}" "${making[@]}" -- true
        exit "$failures"
    )
    failures=$?
    rm -rf "${DOCKER_CONFIG:?}"/*
}

# Over TCP with certificates, which only dockerd serves.
by_tls() {
    local folder=$engines/dockerd/certificates url
    url=tcp://$(sed -n 's/.*API listen on \(127\.0\.0\.1:[0-9]*\).*/\1/p' "$engines/dockerd.log" | head -n 1)
    expect "TLS: a command" 0 42 "*" -q exec --sandbox docker --param "base_url=$url" --param "cert_path=$folder" "${making[@]}" -- 'echo $((6 * 7))'
    DOCKER_HOST=$url DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH=$folder expect "TLS: by the variables of docker" 0 42 "*" -q exec --sandbox docker "${making[@]}" -- 'echo $((6 * 7))'
    input=$scratch/bytes DOCKER_HOST=$url DOCKER_CERT_PATH=$folder run -q exec --stdin --sandbox docker "${making[@]}" -- cat
    check "TLS: standard input to its end" cmp -s "$scratch/bytes" "$scratch/out"
    mkdir -p "$scratch/strange" && certificates_make "$scratch/strange"
    expect "TLS: an authority that is not ours" 3 "*" "*" -q list --sandbox docker --param "base_url=$url" --param "cert_path=$scratch/strange"
    check "TLS: is told" grep -qi certificate "$scratch/err"
    expect "TLS: nor without" 3 "*" "*" -q list --sandbox docker --param "base_url=$url"
}

# By ssh, through whatever docker command the far side has.
by_ssh() {
    local url
    if ! command -v docker >/dev/null || [ ! -x /usr/sbin/sshd ]; then
        echo "ok $engine by ssh # SKIP there is no docker command, or no openssh-server (make deps)"
        return
    fi
    sshd_start || { not_ok "$engine: sshd starts" "$(cat "$engines/sshd.log")"; return; }
    url=ssh://$(id -un)@127.0.0.1:$ssh_port$socket
    (
        export PATH=$engines/ssh/bin:$PATH
        expect "$engine by ssh: a command" 0 42 "*" -q exec --sandbox docker --param "base_url=$url" "${making[@]}" -- 'echo $((6 * 7))'
        input=$scratch/bytes run -q exec --stdin --sandbox docker --param "base_url=$url" "${making[@]}" -- cat
        check "$engine by ssh: standard input to its end" cmp -s "$scratch/bytes" "$scratch/out"
        expect "$engine by ssh: a host that does not answer" 3 "*" "ssh" -q list --sandbox docker --param "base_url=ssh://127.0.0.1:1"
        check "$engine by ssh: no ssh is left" test "$(pgrep -f "ssh.*-p $ssh_port" | wc -l)" = 0
        exit "$failures"
    )
    failures=$?
}

registry_user=puller registry_password=registry-secret-0123
registry_lacks() {
    local program
    for program in docker-registry skopeo umoci; do command -v "$program" >/dev/null || { echo "$program is not installed (make deps)"; return; }; done
}
pulls_lack=$(registry_lacks)
[ -n "$pulls_lack" ] || registry_fill || not_ok "a registry with an image" "$(cat "$engines/registry.log" "$engines/registry/log")"

# engine_begin ENGINE: one for this part alone, because its rows look at all containers and volumes that there are.
engine_begin() {
    local folder options=()
    folder=$(mktemp -d /tmp/sandlot-engines.XXXXXX) && ln "$engines/image.tar" "$folder/" || return # Podman refuses names of more than 50 characters
    engines=$folder engines_owner=$BASHPID engine=$1 registry_pid=
    export DOCKER_CONFIG=$scratch/docker
    mkdir -p "$DOCKER_CONFIG"
    if [ "$engine" = dockerd ]; then
        certificates_make "$engines/dockerd/certificates"
        options=(-H tcp://127.0.0.1:0 --tlsverify --tlscacert "$engines/dockerd/certificates/ca.pem"
            --tlscert "$engines/dockerd/certificates/server.crt" --tlskey "$engines/dockerd/certificates/server.key")
    fi
    "${engine}_start" "${options[@]}" && image_import && provider=(--sandbox docker --param "base_url=unix://$socket")
}
# How every part ends, and the test.
vendor_end() { [ "$engines_owner" != "$BASHPID" ] || engines_stop; }

steps() { # STEP...
    local step
    for step; do "$step"; done
}
pulls_if() { if [ -z "$pulls_lack" ]; then pulls; else echo "ok $engine: pulls # SKIP $pulls_lack"; fi; }
by_tls_if() { [ "$engine" != dockerd ] || by_tls; }
# The table knows root as somebody whom no permission stops, which takes a capability.
rows() { # GROUP...
    making+=(--param capabilities=DAC_OVERRIDE)
    rows_run "$@"
}

[ -e "$engines/image.tar" ] || image_make "$engines/image.tar"
for engine in ${ENGINES:-podman dockerd}; do
    lacking=$(engine_lacks "$engine")
    if [ -n "$lacking" ]; then
        if [ -n "${CI:-}" ] && [ "$(id -u)" = 0 ]; then not_ok "$engine is there" "$lacking"; else echo "ok $engine # SKIP $lacking"; fi
        continue
    fi
    # The first that a machine starts frees the locks of all, which is not to be in the middle of another's work.
    [ "$engine" = dockerd ] || { podman_configure && (podman_in info) >"$engines/podman.log" 2>&1; }
    prepare=(engine_begin "$engine")
    part steps walls lives snapshots terminals ports
    part steps volumes kit "${found[@]}" pulls_if by_tls_if by_ssh
    part rows execute lifecycle write transfer
    [ "${#further[@]}" = 0 ] || part rows "${further[@]}"
    found=() further=()
done
parts_run
