# shellcheck shell=bash
# A registry of images on loopback (docker-registry), for whoever pulls from one. Sourced.
#
# registry_start FOLDER [USER PASSWORD]: serves what FOLDER has, by plain HTTP on a port that is free; with a user to nobody else. Sets
# $registry_address and $registry_pid, which is to be ended by registry_stop.
registry_pid=

registry_start() {
    local folder=$1 user=${2:-} password=${3:-} port
    mkdir -p "$folder"
    for port in $(shuf -i 20000-60000 -n 20); do
        registry_configure "$folder" "$port" "$user" "$password"
        : >"$folder/log"
        docker-registry serve "$folder/registry.yml" >"$folder/log" 2>&1 </dev/null &
        registry_pid=$!
        until grep -q 'listening on' "$folder/log" || ! kill -0 "$registry_pid" 2>/dev/null; do sleep 0.05; done
        # shellcheck disable=SC2034 # for who sources this
        grep -q 'listening on' "$folder/log" && registry_address=127.0.0.1:$port && return 0
    done
    return 1
}

registry_configure() { # FOLDER PORT USER PASSWORD
    cat >"$1/registry.yml" <<CONF
version: 0.1
storage: {filesystem: {rootdirectory: "$1/images"}}
http: {addr: "127.0.0.1:$2"}
CONF
    [ -n "$3" ] || return 0
    echo "auth: {htpasswd: {realm: test, path: $1/htpasswd}}" >>"$1/registry.yml"
    # bcrypt, the only form that it takes; of all programs for it only Perl is on every Debian
    printf '%s:%s\n' "$3" "$(perl -e 'print crypt($ARGV[0], "\$2y\$05\$" . "sandlotsandlotsandlotu")' "$4")" >"$1/htpasswd"
}

registry_stop() {
    [ -n "$registry_pid" ] || return 0
    kill "$registry_pid"
    wait "$registry_pid" 2>/dev/null
    registry_pid=
}
