#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
# The provider with a dockerd that an ordinary user starts as Docker's pages say, and that it finds by itself. Root becomes such a user,
# whom only a mount namespace of its own knows; anybody else needs ids of their own.
program=$(command -v dockerd-rootless.sh || echo /usr/share/docker.io/contrib/dockerd-rootless.sh)
user=sandlot-rootless uid=47110
skip() {
    echo "$1"
    exit 77
}
for need in dockerd:docker.io rootlesskit:rootlesskit newuidmap:uidmap busybox:busybox; do
    command -v "${need%:*}" >/dev/null || skip "${need#*:} is not installed (make deps)"
done
[ -r "$program" ] || skip "docker.io has no dockerd-rootless.sh here"

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
    as_user=(setpriv --reuid="$uid" --regid="$uid" --clear-groups)
    "${as_user[@]}" test -x "$SANDLOT" -a -r "$0" || skip "another user cannot reach this tree, or $SANDLOT"
    exec "${as_user[@]}" bash "$0"
fi
. tests/cli/lib.sh
. tests/vendors/docker/engines.sh
for table in subuid subgid; do
    grep -qE "^($(id -un 2>/dev/null)|$(id -u)):" "/etc/$table" || skip "rootless, dockerd needs ids for $(id -un 2>/dev/null || id -u) in /etc/$table"
done

# Their owners are ids that only the user's namespace may remove.
rootless_stop() {
    local result=$?
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    rootlesskit rm -rf "$HOME/data" "$engines" >/dev/null 2>&1
    rm -rf "$engines"
    (exit "$result")
    finish
}

unset DOCKER_HOST DOCKER_CONTEXT DOCKER_TLS DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION CONTAINER_HOST
export DOCKER_CONFIG=$scratch/docker
mkdir -p "$DOCKER_CONFIG"
socket=$XDG_RUNTIME_DIR/docker.sock
# Its containers need no network, so it needs none of the programs that make one.
DOCKERD_ROOTLESS_ROOTLESSKIT_NET=host DOCKERD_ROOTLESS_ROOTLESSKIT_PORT_DRIVER=none \
    sh "$program" --data-root "$HOME/data" --storage-driver vfs --iptables=false --ip6tables=false --bridge=none >"$scratch/log" 2>&1 </dev/null &
pid=$!
trap rootless_stop EXIT
end=$((SECONDS + 120))
until engine_answers "$socket"; do
    kill -0 "$pid" 2>/dev/null || skip "no dockerd can be started without root here: $(tail -n 1 "$scratch/log")"
    [ "$SECONDS" -lt "$end" ] || { not_ok "dockerd answers" "$(tail -n 20 "$scratch/log")"; exit 1; }
    sleep 0.1
done
image_import
check "it is rootless" test "$(api GET /info | jq -r '.SecurityOptions | contains(["name=rootless"])')" = true

making=(--param image=localhost/sandlot-test:one --param pull=never)
if [ "$(api GET /info | jq .PidsLimit)" = true ]; then
    expect "limits hold" 0 42 "*" -q exec --sandbox docker "${making[@]}" -- 'echo $((6 * 7))'
else
    expect "a limit that it does not keep is refused" 1 "" "does not keep the limit processes: .*set processes = 0" -q create --sandbox docker "${making[@]}"
    making+=(--param processes=0)
fi
expect "found by itself" 0 "0 / lo" "*" -q exec --sandbox docker "${making[@]}" --param working_dir=/ -- 'echo $(id -u) $(pwd) $(ls /sys/class/net)'
id=$("$SANDLOT" -q create --sandbox docker "${making[@]}" --volume cache:/cache </dev/null 2>"$scratch/err")
check "a sandbox with a volume" test -n "$id"
head -c 300000 /dev/urandom >"$scratch/bytes"
expect "files go up" 0 "*" "*" -q upload --sandbox docker --sandbox-id "$id" "$scratch/bytes" /cache/bytes
expect "and come back" 0 "*" "*" -q download --sandbox docker --sandbox-id "$id" /cache/bytes "$scratch/back"
check "as they were" cmp -s "$scratch/bytes" "$scratch/back"
json "it is listed" 0 ".sandboxes | length == 1 and .[0].id == \"$id\" and .[0].mine" list --sandbox docker
json "and deleted" 0 .deleted delete --sandbox docker -- "$id"
expect "a user who is not root finds the volume" 0 "1000 bytes mine" "*" -q exec --sandbox docker "${making[@]}" --param user=1000:1000 --volume cache:/cache -- 'echo mine >/cache/mine; echo $(id -u) $(ls /cache)'
json "volumes are deleted" 0 '.results[0].error == null' volumes delete --sandbox docker cache

# As dockerd-rootless-setuptool.sh leaves it.
hash=$(printf rootless | sha256sum | cut -d ' ' -f 1)
mkdir -p "$DOCKER_CONFIG/contexts/meta/$hash"
printf '{"Name":"rootless","Metadata":{},"Endpoints":{"docker":{"Host":"unix://%s","SkipTLSVerify":false}}}' "$socket" >"$DOCKER_CONFIG/contexts/meta/$hash/meta.json"
printf '{"currentContext":"rootless"}' >"$DOCKER_CONFIG/config.json"
XDG_RUNTIME_DIR=$scratch expect "by the context of its installation" 0 42 "*" -q exec --sandbox docker "${making[@]}" -- 'echo $((6 * 7))'
DOCKER_HOST=unix://$socket XDG_RUNTIME_DIR=$scratch expect "by DOCKER_HOST" 0 42 "*" -q exec --sandbox docker "${making[@]}" -- 'echo $((6 * 7))'
check "nothing is left" test "$(api GET '/containers/json?all=1' | jq length)" = 0
