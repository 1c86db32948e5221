#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
# The provider with engines that an ordinary user starts as their pages say, and that it finds by itself: Podman's service and dockerd. Root
# becomes such a user, whom only a mount namespace of its own knows. Anybody else needs ids of their own for dockerd; Podman does with the
# one that everybody has, and knows no user but root then.
program=$(command -v dockerd-rootless.sh || echo /usr/share/docker.io/contrib/dockerd-rootless.sh)
user=sandlot-rootless uid=47110
skip() {
    echo "$1"
    exit 77
}
command -v busybox >/dev/null || skip "busybox is not installed (make deps)"

if [ "$(id -u)" = 0 ] && [ -z "${ROOTLESS_TABLES:-}" ]; then
    unshare --mount true 2>/dev/null || skip "root may make no mount namespace here"
    ROOTLESS_TABLES=$(mktemp -d) exec unshare --mount bash "$0"
elif [ "$(id -u)" = 0 ]; then
    for table in passwd subuid subgid; do
        [ -e "/etc/$table" ] || skip "there is no /etc/$table that a line could be added to"
        cp "/etc/$table" "$ROOTLESS_TABLES/"
    done
    echo "$user:x:$uid:$uid::$HOME:/bin/sh" >>"$ROOTLESS_TABLES/passwd"
    echo "$user:$((1 << 24)):65536" | tee -a "$ROOTLESS_TABLES/subuid" >>"$ROOTLESS_TABLES/subgid"
    for table in passwd subuid subgid; do mount --bind "$ROOTLESS_TABLES/$table" "/etc/$table" || exit 2; done
    chown -R "$uid:$uid" "$HOME" "$XDG_CONFIG_HOME" "$XDG_DATA_HOME" "$XDG_STATE_HOME" "$XDG_CACHE_HOME" "$XDG_RUNTIME_DIR" "$TMPDIR" || exit 2
    as_user=(env "USER=$user" setpriv --reuid="$uid" --regid="$uid" --clear-groups) # Podman looks for the ids of who is called that
    "${as_user[@]}" test -x "$SANDLOT" -a -r "$0" || skip "another user cannot reach this tree, or $SANDLOT"
    exec "${as_user[@]}" bash "$0"
fi
. tests/cli/lib.sh
. tests/vendors/docker/engines.sh
unset DOCKER_HOST DOCKER_CONTEXT DOCKER_TLS DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION CONTAINER_HOST
export DOCKER_CONFIG=$scratch/docker
mkdir -p "$DOCKER_CONFIG"
name=$(id -un 2>/dev/null || id -u)
head -c 300000 /dev/urandom >"$scratch/bytes"

has_ids() {
    local table
    for table in subuid subgid; do grep -qsE "^($name|$(id -u)):" "/etc/$table" || return; done
    command -v newuidmap >/dev/null
}

# ---- the engines -----------------------------------------------------------------------------------------------------

# Why ENGINE cannot be had without root here; "" if it can.
lacks() { # ENGINE
    local need needs=(podman:podman)
    [ "$1" = podman ] || needs=(dockerd:docker.io rootlesskit:rootlesskit newuidmap:uidmap)
    for need in "${needs[@]}"; do
        command -v "${need%:*}" >/dev/null || { echo "${need#*:} is not installed (make deps)"; return; }
    done
    [ "$1" != podman ] || return
    [ -r "$program" ] || echo "docker.io has no dockerd-rootless.sh here"
    has_ids || echo "it needs ids for $name in /etc/subuid and /etc/subgid"
}

# Each at its usual socket.
podman_begin() {
    socket=$XDG_RUNTIME_DIR/podman/podman.sock
    mkdir -p "${socket%/*}"
    podman_configure
    (podman_in system service --time 0 "unix://$socket") >"$scratch/log" 2>&1 </dev/null &
}
# Its containers need no network, so it needs none of the programs that make one.
dockerd_begin() {
    socket=$XDG_RUNTIME_DIR/docker.sock
    DOCKERD_ROOTLESS_ROOTLESSKIT_NET=host DOCKERD_ROOTLESS_ROOTLESSKIT_PORT_DRIVER=none \
        sh "$program" --data-root "$HOME/data" --storage-driver vfs --iptables=false --ip6tables=false --bridge=none >"$scratch/log" 2>&1 </dev/null &
}
# begin ENGINE: sets $pid
begin() {
    local end=$((SECONDS + 120))
    "$1_begin"
    pid=$!
    until engine_answers "$socket"; do
        kill -0 "$pid" 2>/dev/null || { echo "ok $1 # SKIP it cannot be started without root here: $(tail -n 1 "$scratch/log")"; return 1; }
        [ "$SECONDS" -lt "$end" ] || { not_ok "$1 answers" "$(tail -n 20 "$scratch/log")"; return 1; }
        sleep 0.1
    done
    image_import
}

# Owners of what an engine leaves are ids that only the user's namespace may remove.
podman_remove() {
    podman_in unshare rm -rf "$engines/podman"
    kill "$(cat "$XDG_RUNTIME_DIR/libpod/tmp/pause.pid" "$XDG_RUNTIME_DIR"/*/pause.pid | head -n 1)"
}
dockerd_remove() { rootlesskit rm -rf "$HOME/data"; }
end() { # ENGINE
    local left
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    for left in $(ours_running); do kill -KILL "$left" 2>/dev/null; done
    ("$1_remove") >/dev/null 2>&1
    pid='' engine=''
}
rootless_stop() {
    local result=$?
    [ -z "${pid:-}" ] || end "$engine"
    rm -rf "$engines"
    (exit "$result")
    finish
}
trap rootless_stop EXIT

# ---- the rows --------------------------------------------------------------------------------------------------------

# limits_hold: the user has control groups for them
limits_hold() {
    if [ "$engine" = podman ]; then
        [[ "$(podman_in info --format '{{.Host.CgroupControllers}}' 2>/dev/null)" == *cpu*memory*pids* ]]
    else
        [ "$(api GET /info | jq .PidsLimit)" = true ]
    fi
}
limits() {
    if (limits_hold); then
        expect "$engine: limits hold" 0 42 "*" -q exec --sandbox docker "${making[@]}" -- 'echo $((6 * 7))'
    else
        expect "$engine: a limit that it does not keep is refused" 1 "" "does not keep the limit processes: .*set processes = 0" -q create --sandbox docker "${making[@]}"
        making+=(--param processes=0)
    fi
}

found_by_itself() {
    expect "$engine: found by itself" 0 "0 / lo" "*" -q exec --sandbox docker "${making[@]}" --param working_dir=/ -- 'echo $(id -u) $(pwd) $(ls /sys/class/net)'
    id=$("$SANDLOT" -q create --sandbox docker "${making[@]}" --volume cache:/cache </dev/null 2>"$scratch/err")
    check "$engine: a sandbox with a volume" test -n "$id"
    expect "$engine: files go up" 0 "*" "*" -q upload --sandbox docker --sandbox-id "$id" "$scratch/bytes" /cache/bytes
    rm -f "$scratch/back"
    expect "$engine: and come back" 0 "*" "*" -q download --sandbox docker --sandbox-id "$id" /cache/bytes "$scratch/back"
    check "$engine: as they were" cmp -s "$scratch/bytes" "$scratch/back"
    json "$engine: it is listed" 0 ".sandboxes | length == 1 and .[0].id == \"$id\" and .[0].mine" list --sandbox docker
    json "$engine: and deleted" 0 .deleted delete --sandbox docker -- "$id"
}

# With ids of the user's there are other users inside; without there are none, and who asks for one is told what to do.
users() {
    local as_user=("${making[@]}" --param user=1000:1000)
    if has_ids; then
        expect "$engine: a user who is not root finds the volume" 0 "1000 bytes mine" "*" -q exec --sandbox docker "${as_user[@]}" --volume cache:/cache -- 'echo mine >/cache/mine; echo $(id -u) $(ls /cache)'
        expect "$engine: and writes where its commands begin" 0 "/workspace 1000 1000" "*" -q exec --sandbox docker "${as_user[@]}" -- 'echo >file; echo $(pwd) $(stat -c "%u %g" file)'
    else
        expect "$engine: no id for another user" 1 "" "no user 1000:1000: .*/etc/subuid" -q create --sandbox docker "${as_user[@]}"
        expect "$engine: nor in a folder that is there" 1 "" "no user 1000:1000: .*/etc/subuid" -q create --sandbox docker "${as_user[@]}" --param working_dir=/tmp
    fi
    json "$engine: volumes are deleted" 0 '.results[0].error == null' volumes delete --sandbox docker cache
}

# By what the environment says, where the usual socket is not to be found.
elsewhere() {
    local hash variable
    for variable in DOCKER_HOST CONTAINER_HOST; do
        (export "$variable=unix://$socket" XDG_RUNTIME_DIR=$scratch && "$SANDLOT" -q exec --sandbox docker "${making[@]}" -- 'echo $((6 * 7))') >"$scratch/out" 2>"$scratch/err" </dev/null
        check "$engine: by $variable" test "$(cat "$scratch/out")" = 42
    done
    [ "$engine" = dockerd ] || return
    hash=$(printf rootless | sha256sum | cut -d ' ' -f 1) # as dockerd-rootless-setuptool.sh leaves it
    mkdir -p "$DOCKER_CONFIG/contexts/meta/$hash"
    printf '{"Name":"rootless","Metadata":{},"Endpoints":{"docker":{"Host":"unix://%s","SkipTLSVerify":false}}}' "$socket" >"$DOCKER_CONFIG/contexts/meta/$hash/meta.json"
    printf '{"currentContext":"rootless"}' >"$DOCKER_CONFIG/config.json"
    XDG_RUNTIME_DIR=$scratch expect "$engine: by the context of its installation" 0 42 "*" -q exec --sandbox docker "${making[@]}" -- 'echo $((6 * 7))'
}

for engine in podman dockerd; do
    lacking=$(lacks "$engine" | head -n 1)
    [ -z "$lacking" ] || { echo "ok $engine # SKIP $lacking"; continue; }
    begin "$engine" || continue
    making=(--param image=localhost/sandlot-test:one --param pull=never)
    check "$engine: it is rootless" test "$(api GET /info | jq '.Rootless or (.SecurityOptions | contains(["name=rootless"]))')" = true
    limits
    found_by_itself
    users
    elsewhere
    check "$engine: nothing is left" test "$(api GET '/containers/json?all=1' | jq length)" = 0
    end "$engine"
done
