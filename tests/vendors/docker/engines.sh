# shellcheck shell=bash disable=SC2034,SC2154
# Real engines for the tests, each in a folder of its own: Podman's service and dockerd. Sourced after tests/cli/lib.sh.
#
# What they are given lets them live in a container too: storage of plain copies where layers cannot be mounted, no network but none,
# limits of processes that an ordinary superuser may set.
# shellcheck source=tests/registry.sh
. tests/registry.sh
engines=$(mktemp -d /tmp/sandlot-engines.XXXXXX) || exit 2 # Podman refuses a folder whose name has more than 50 characters
engine_pids=()
ssh_port=

# Of plain copies a container takes half a second of a processor, for every file of its image.
storage=vfs
mkdir "$engines"/{lower,upper,work,layers} || exit 2
if mount -t overlay -o "lowerdir=$engines/lower,upperdir=$engines/upper,workdir=$engines/work" overlay "$engines/layers" 2>/dev/null; then
    umount "$engines/layers" && storage=overlay
fi

# Why ENGINE cannot be had here; "" if it can.
engine_lacks() {
    case $1 in
        podman)
            if ! command -v podman >/dev/null; then
                echo "podman is not installed (make deps)"
            elif [ "$(id -u)" != 0 ]; then
                rootless_lacks
            fi
            ;;
        dockerd)
            if ! command -v dockerd >/dev/null; then
                echo "docker.io is not installed (make deps)"
            elif [ "$(id -u)" != 0 ]; then
                echo "dockerd needs root"
            fi
            ;;
    esac
}

engine_answers() { [ "$(curl -s --max-time 5 --unix-socket "$1" http://engine/_ping)" = OK ]; }

# engine_ready NAME: waits for it; sets $socket
engine_ready() {
    local end=$((SECONDS + 120))
    socket=$engines/$1.sock
    until engine_answers "$socket"; do
        if [ "$SECONDS" -ge "$end" ] || ! kill -0 "${engine_pids[-1]}" 2>/dev/null; then
            not_ok "$1 starts" "$(tail -n 20 "$engines/$1.log")"
            return 1
        fi
        sleep 0.1
    done
}

# What Podman is told of the machine. After each command that has ended it starts a program that tidies up, which takes as long as the
# command did: not while the test lasts, at whose end all is killed.
podman_configure() {
    local runtime=crun
    command -v runc >/dev/null && runtime=runc # crun refuses machines with both kinds of control groups
    mkdir -p "$engines/podman"
    cat >"$engines/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
events_logger = "none"
cgroup_manager = "cgroupfs"
exit_command_delay = 3600
runtime = "$runtime"
CONF
    printf 'unqualified-search-registries = []\n[[registry]]\nlocation = "%s"\ninsecure = true\n' "${registry_address:-127.0.0.1:5000}" \
        >"$engines/registries.conf"
}

# In a folder of ours, for its watchers leave files where they were started.
podman_in() { # ARGUMENT...: becomes it; for a subshell
    cd "$engines" || return
    unset DOCKER_CONFIG # it is read for credentials, and must have them then
    export CONTAINERS_CONF=$engines/containers.conf CONTAINERS_REGISTRIES_CONF=$engines/registries.conf
    exec podman --root "$engines/podman/root" --runroot "$engines/podman/run" --storage-driver "$storage" "$@"
}

# Why Podman cannot have containers with limits for an ordinary user; "" if it can. It needs names, ranges of ids and control
# groups that the machine has or not.
rootless_lacks() {
    local name
    name=$(getent passwd "$(id -u)" | cut -d : -f 1)
    if [ -z "$name" ]; then
        echo "rootless, it needs a user whom the machine knows; $(id -u) is none"
    elif ! command -v newuidmap >/dev/null; then
        echo "rootless, it needs newuidmap (package uidmap)"
    elif ! grep -qE "^($name|$(id -u)):" /etc/subuid || ! grep -qE "^($name|$(id -u)):" /etc/subgid; then
        echo "rootless, it needs ids for $name in /etc/subuid and /etc/subgid"
    else
        rootless_fails
    fi
}

# Tries it: without control groups that are delegated to the user, Podman takes limits and passes them over.
rootless_fails() {
    local controllers
    podman_configure
    image_make "$engines/image.tar"
    controllers=$(podman_in info --format '{{.Host.CgroupControllers}}' 2>"$engines/probe.log")
    if ! [[ "$controllers" == *cpu*memory*pids* ]]; then
        echo "rootless, it needs control groups of cpu, memory and pids that are the user's; there are: ${controllers:-none}"
        return
    fi
    { (podman_in import "$engines/image.tar" localhost/probe:one) &&
        (podman_in run --rm --network none --memory 64m --cpus 0.5 --user 1000:1000 --workdir /tmp/here localhost/probe:one true); } \
        >"$engines/probe.log" 2>&1 </dev/null || echo "rootless, it has no containers with limits: $(tail -n 1 "$engines/probe.log")"
}

podman_start() {
    podman_configure
    (podman_in system service --time 0 "unix://$engines/podman.sock" >"$engines/podman.log" 2>&1 </dev/null) &
    engine_pids+=($!)
    engine_ready podman
}

dockerd_start() {
    mkdir -p "$engines/dockerd"
    dockerd --data-root "$engines/dockerd/data" --exec-root "$engines/dockerd/exec" --pidfile "$engines/dockerd/pid" \
        -H "unix://$engines/dockerd.sock" --storage-driver "${storage/overlay/overlay2}" --iptables=false --ip6tables=false --bridge=none "$@" \
        >"$engines/dockerd.log" 2>&1 </dev/null &
    engine_pids+=($!)
    engine_ready dockerd
}

# api METHOD TARGET [CURL-OPTION...]: asks the engine at $socket directly, for what the provider's own word is not enough
api() {
    local method=$1 target=$2
    shift 2
    curl -s --max-time 120 --unix-socket "$socket" -X "$method" "http://engine/v1.41$target" "$@"
}

# An image of BusyBox alone, in a tar; $1 is the file.
image_make() {
    local root=$engines/image program
    mkdir -p "$root/bin" "$root/tmp" "$root/etc" "$root/root" "$root/proc" "$root/dev" "$root/sys"
    cp "$(command -v busybox)" "$root/bin/busybox"
    for program in $("$root/bin/busybox" --list); do
        [ "$program" = busybox ] || ln -sf busybox "$root/bin/$program"
    done
    chmod 1777 "$root/tmp"
    printf 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\nuser:x:1000:\n' >"$root/etc/group"
    tar -C "$root" --owner=0 --group=0 -cf "$1" .
}

# Imports it as localhost/sandlot-test:one. Podman passes over the tag.
image_import() {
    [ -e "$engines/image.tar" ] || image_make "$engines/image.tar"
    api POST '/images/create?fromSrc=-&repo=localhost/sandlot-test&tag=one' -H 'Content-Type: application/x-tar' \
        --data-binary "@$engines/image.tar" >"$engines/import.log"
    api POST '/images/localhost%2Fsandlot-test:latest/tag?repo=localhost/sandlot-test&tag=one' >/dev/null
    api GET '/images/localhost%2Fsandlot-test:one/json' | jq -e .Id >/dev/null || not_ok "an image" "$(cat "$engines/import.log")"
}

# Serves that image at $registry_address as team/app:one, to $registry_user with $registry_password and to nobody else; before any engine
# starts, for Podman must know that it speaks plain HTTP.
registry_fill() {
    local layout=$engines/layout
    [ -e "$engines/image.tar" ] || image_make "$engines/image.tar"
    registry_start "$engines/registry" "$registry_user" "$registry_password" &&
        umoci init --layout "$layout" && umoci new --image "$layout:one" && umoci insert --rootless --image "$layout:one" "$engines/image" / &&
        skopeo copy -q --insecure-policy --dest-tls-verify=false --dest-creds "$registry_user:$registry_password" \
            "oci:$layout:one" "docker://$registry_address/team/app:one"
} >"$engines/registry.log" 2>&1

# Podman's watchers of commands and containers stay for a while: all processes that have our folder among their words.
ours_running() { grep -lsF -e "$engines/" /proc/[0-9]*/cmdline | sed 's|/proc/||; s|/cmdline||'; }

# Ends the engines and the registry, with all that is theirs.
engines_stop() {
    local pid name
    registry_stop
    for name in podman dockerd; do
        socket=$engines/$name.sock
        [ -S "$socket" ] || continue
        for id in $(api GET '/containers/json?all=1' | jq -r '.[].Id'); do api DELETE "/containers/$id?force=1&v=1" >/dev/null; done
    done
    for pid in "${engine_pids[@]}"; do kill "$pid" 2>/dev/null; done
    for pid in "${engine_pids[@]}"; do wait "$pid" 2>/dev/null; done
    engine_pids=()
    for pid in $(ours_running); do kill -KILL "$pid" 2>/dev/null; done
    awk -v folder="$engines/" 'index($2, folder) == 1 {print $2}' /proc/self/mounts | sort -r | while read -r mount; do
        umount -l "$mount" 2>/dev/null
    done
    rm -rf "$engines"
}

# Certificates of an authority of our own in FOLDER: that of the engine, for 127.0.0.1, and ours.
certificates_make() { # FOLDER
    local name
    mkdir -p "$1"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -keyout "$1/authority.key" -out "$1/ca.pem" 2>/dev/null
    for name in server client; do
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" -keyout "$1/$name.key" -out "$1/$name.csr" 2>/dev/null
        openssl x509 -req -in "$1/$name.csr" -CA "$1/ca.pem" -CAkey "$1/authority.key" -CAcreateserial -days 2 -out "$1/$name.crt" \
            -extfile <(echo subjectAltName=IP:127.0.0.1) 2>/dev/null
    done
    mv "$1/client.crt" "$1/cert.pem"
    mv "$1/client.key" "$1/key.pem"
}

# A server of ssh for who runs this test, on a port of its own, one for all engines; sets $ssh_port and makes an ssh that finds it in
# $engines/ssh/bin.
sshd_start() {
    local folder=$engines/ssh end=$((SECONDS + 60))
    [ -z "${ssh_port:-}" ] || return 0
    mkdir -p "$folder/bin" && chmod 700 "$folder"
    [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
    ssh-keygen -q -t ed25519 -N '' -f "$folder/host" && ssh-keygen -q -t ed25519 -N '' -f "$folder/own" || return 1
    ssh_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    cat >"$folder/config" <<CONF
ListenAddress 127.0.0.1:$ssh_port
HostKey $folder/host
AuthorizedKeysFile $folder/own.pub
StrictModes no
PidFile $folder/pid
UsePAM no
SetEnv PATH=$PATH
CONF
    /usr/sbin/sshd -D -e -f "$folder/config" >"$engines/sshd.log" 2>&1 </dev/null &
    engine_pids+=($!)
    printf '#!/bin/sh\nexec /usr/bin/ssh -F /dev/null -i %q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "$@"\n' "$folder/own" >"$folder/bin/ssh"
    chmod +x "$folder/bin/ssh"
    until (exec 3<>"/dev/tcp/127.0.0.1/$ssh_port") 2>/dev/null; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}
