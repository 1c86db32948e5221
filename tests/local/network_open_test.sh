#!/bin/bash
# The open network of local boxes, attacked. The machine of these boxes is a network namespace of this test's own, with a wire
# to another one, the outside, which also has the addresses that must stay closed: nothing leaves the real machine.
# shellcheck disable=SC2016,SC2031 # what runs in boxes; functions are called by their names
open_lacks() {
    if [ "$(id -u)" != 0 ]; then
        echo "it needs root, for networks of its own; its rows for ordinary users run then, too"
    elif [ ! -x /usr/bin/pasta ]; then
        echo "passt is not installed (make deps)"
    elif ! command -v ip >/dev/null; then
        echo "iproute2 is not installed (make deps)"
    elif ! unshare -m -n true 2>/dev/null || ! unshare -U true 2>/dev/null; then
        echo "namespaces cannot be made here"
    elif ! unshare -m sh -c 'mount -t tmpfs none /dev && mknod /dev/tun c 10 200 && : <>/dev/tun' 2>/dev/null; then
        echo "this kernel has no tun device"
    fi
}
if [ -z "${SANDLOT_TEST_MACHINE:-}" ]; then
    lacking=$(open_lacks)
    [ -z "$lacking" ] || { echo "$lacking"; exit 77; }
    SANDLOT_TEST_MACHINE=own exec unshare -m -n bash "$0"
fi
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
outside=

# ---- the machine and the outside ----

# Between the real machine's /dev and ours there is one difference: a tun device that is open to everybody.
machine_make() {
    local address
    mount -t tmpfs -o mode=755 none /dev/net 2>/dev/null || { mkdir -p /dev/net && mount -t tmpfs -o mode=755 none /dev/net; } || exit 2
    mknod -m 666 /dev/net/tun c 10 200
    printf 'nameserver 127.0.0.1\n' >"$scratch/resolv.conf"
    mount --bind "$scratch/resolv.conf" "$(realpath /etc/resolv.conf)"
    unshare -n sleep 100000 &
    outside=$!
    until_true 60 sh -c '[ "$(readlink /proc/'"$outside"'/ns/net)" != "$(readlink /proc/self/ns/net)" ]'
    ip link set lo up
    ip link add wire type veth peer name wire netns "$outside"
    for address in 203.0.113.1/24 192.168.77.1/24 2001:db8::1/64; do ip addr add "$address" dev wire nodad 2>/dev/null || ip addr add "$address" dev wire; done
    ip link set wire up
    ip route add local 10.77.0.0/16 dev lo
    nsenter -t "$outside" -n sh -e <<'END'
ip link set lo up
for address in 203.0.113.2/24 10.9.0.1/24 169.254.169.254/32 169.254.1.1/16 100.100.100.200/32 168.63.129.16/32 203.0.113.9/32; do ip addr add $address dev wire; done
for address in 2001:db8::2/64 fd00:ec2::254/128 fe80::77/64; do ip addr add $address dev wire nodad; done
ip link set wire up
END
    ip route add default via 203.0.113.2
    ip -6 route add default via 2001:db8::2
    /usr/bin/python3 "$here/network_open_servers.py" machine "$scratch" dns &
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=named.example -addext subjectAltName=DNS:named.example \
        -keyout "$scratch/key.pem" -out "$scratch/authority.pem" 2>/dev/null
    cat "$scratch/key.pem" "$scratch/authority.pem" >"$scratch/server.pem"
    nsenter -t "$outside" -n /usr/bin/python3 "$here/network_open_servers.py" outside "$scratch" tls &
    until_true 60 test -e "$scratch/machine" -a -e "$scratch/outside" || not_ok "the servers listen" ""
}
machine_end() {
    local pid
    for pid in $(jobs -p); do kill "$pid" 2>/dev/null; done
    rm -rf "${copy:-}"
    finish
}
trap machine_end EXIT

# What pasta and its guards run for this machine: told by the network namespace from those of other tests.
pastas() {
    local pid
    for pid in $(pgrep -x pasta; pgrep -f '^pasta --foreground'); do
        [ "$(readlink "/proc/$pid/ns/net")" != "$(readlink /proc/self/ns/net)" ] || echo "$pid"
    done | sort -u
}
no_pasta() { [ -z "$(pastas)" ]; }

# ---- who asks ----

# by ARGUMENT...: sandlot as $who, from a copy that anybody can reach
by() {
    ran="sandlot $* (as $who)"
    timeout -k 5 "$LIMIT" setpriv --reuid "$uid" --regid "$uid" --clear-groups env HOME="$copy/$who" XDG_STATE_HOME="$copy/$who/state" \
        XDG_CONFIG_HOME="$copy/$who" XDG_DATA_HOME="$copy/$who" XDG_RUNTIME_DIR="$copy/$who" "$copy/sandlot" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    out=$(cat "$scratch/out")
    err=$(cat "$scratch/err")
}
copy_make() {
    copy=$(mktemp -d /tmp/sandlot-open.XXXXXX) && chmod 755 "$copy" || exit 2
    cp -R "$BUILD/sandlot" "$BUILD/builtins" "$copy/" && cp "$BUILD"/*.so* "$copy/" 2>/dev/null
    cp "$here/network_open_probe.py" "$copy/builtins/"
    for who in root user; do
        mkdir -p "$copy/$who/state"
        cp "$here/network_open_probe.py" "$copy/$who/probe.py"
    done
    chown -R 61777:61777 "$copy/user"
}

# probe WISH...: what the box hears within $patience seconds, a line for each; by itself, as if it had no proxy
patience=60
probe() {
    by exec --sandbox-id "$id" -- "LIMIT=$patience python3 probe.py $(printf "'%s' " "$@")"
    heard=$out
}
# hears WISH...: each comes to the outside; closed WISH...: none comes anywhere
hears() {
    local wish
    probe "$@"
    for wish; do check "$who: $wish is open" grep -qxF "$wish: outside" <<<"$heard"; done
}
closed() {
    local wish patience=2
    probe "$@"
    for wish; do check "$who: $wish is closed" grep -qxF "$wish: closed" <<<"$heard"; done
}
is_closed() {
    local patience=2
    probe "$1"
    [ "$heard" = "$1: closed" ]
}
made() { # OPTION...
    by create "$@"
    id=$out
    check "$who: a box $*" test "$status" = 0
    by upload --sandbox-id "$id" "$copy/$who/probe.py" probe.py
}
gone() { by delete "$id"; }

# ---- the rows ----

reaches() {
    made --network open
    hears "tcp 203.0.113.2" "udp 203.0.113.2" "device_tcp 203.0.113.2" "device_udp 203.0.113.2" "named_udp 203.0.113.2" "tcp 2001:db8::2" "udp 2001:db8::2" "tcp 10.9.0.1" "tcp named.example"
    by exec --sandbox-id "$id" -- 'curl -sS -m 60 http://203.0.113.2:7777/; echo; curl -sS -m 60 --noproxy "*" http://named.example:7777/'
    check "$who: programs get out, by the proxy that their variables name and without" test "$out" = $'outside\noutside'
    by network show "$id"
    check "$who: it is shown as open" grep -q '^mode: open' <<<"$out"
}

walls() {
    closed "tcp 203.0.113.1" "udp 203.0.113.1" "tcp 192.168.77.1" "tcp 2001:db8::1" "udp 2001:db8::1" "tcp 10.77.1.2" \
        "tcp 127.0.0.1" "tcp ::1" "tcp ::ffff:127.0.0.1" "tcp 192.0.0.1" "tcp 192.0.0.3" "tcp 192.0.0.2" "tcp 0.0.0.0" \
        "tcp 169.254.169.254" "udp 169.254.169.254" "tcp 169.254.1.1" "tcp 100.100.100.200" "tcp 168.63.129.16" "tcp fd00:ec2::254" \
        "tcp fe80::77%outside" "udp fe80::77%outside" "udp 224.0.0.251" "udp ff02::1%outside" "udp 203.0.113.255" "udp 255.255.255.255" \
        "tcp 64:ff9b::cb00:7101" "tcp 64:ff9b::7f00:1" "tcp 64:ff9b::a9fe:a9fe" "tcp 2002:cb00:7101::1" "raw 203.0.113.2" \
        "device_tcp 203.0.113.1" "device_udp 203.0.113.1" "named_udp 203.0.113.1" "device_tcp 10.77.1.2" "device_tcp 169.254.169.254" \
        "named_udp 169.254.169.254" "device_tcp 127.0.0.1" "device_udp 224.0.0.251" "device_udp 255.255.255.255" "device_tcp 2001:db8::1" \
        "device_udp 2001:db8::1" "device_tcp fd00:ec2::254" "device_tcp fe80::77%outside" "device_tcp 64:ff9b::cb00:7101"
    by exec --sandbox-id "$id" -- 'curl -sS -m 60 http://203.0.113.1:7777/; curl -sS -m 60 http://169.254.169.254:7777/; curl -sS -m 60 http://127.0.0.1:7777/ -x http://127.0.0.1:3128 --noproxy ""'
    check "$who: nor do they by the proxy" test "$(grep -c '^Sandlot refused' <<<"$out")" = 3
    probe "routes -" "namespaces -"
    check "$who: the box cannot open them" grep -qxF "routes -: Operation not permitted" <<<"$heard"
    check "$who: nor make itself a place where it could" grep -qE '^namespaces -: E(PERM|NOSPC|USERS)$' <<<"$heard"
    check "$who: nobody gets in" test "$(ss -Hltn | grep -v ':7777 ')" = ""
}

# What the machine gets later is closed as well.
later() {
    hears "tcp 203.0.113.9"
    nsenter -t "$outside" -n ip addr del 203.0.113.9/32 dev wire
    ip addr add 203.0.113.9/32 dev wire
    ip addr add 2001:db8::9/128 dev wire nodad
    check "$who: an address that the machine gets is closed" until_true 60 is_closed "tcp 203.0.113.9"
    check "$who: one of version 6 too" until_true 60 is_closed "tcp 2001:db8::9"
    ip addr del 203.0.113.9/32 dev wire
    ip addr del 2001:db8::9/128 dev wire
    nsenter -t "$outside" -n ip addr add 203.0.113.9/32 dev wire
}

changes() {
    by network off "$id"
    check "$who: it can be closed" test "$status" = 0
    closed "tcp 203.0.113.2"
    check "$who: with that pasta is gone" no_pasta
    by network open "$id"
    check "$who: and opened again" test "$status" = 0
    hears "tcp 203.0.113.2"
    closed "tcp 203.0.113.1" "tcp 169.254.169.254"
    gone
    made
    by network open "$id"
    if [ "$who" = root ]; then # whose boxes have networks that were made ahead, for all
        check "root: a box that began without is not opened" grep -q 'create one with --network open' <<<"$err"
        closed "tcp 203.0.113.2"
    else
        check "$who: a box that began without is opened" test "$status" = 0
        hears "tcp 203.0.113.2"
        closed "tcp 203.0.113.1"
    fi
    gone
    check "$who: with the box pasta is gone" until_true 60 no_pasta
}

# Credentials: added to requests of programs that heed the proxy, and to those for their host alone; all else is open.
credentials() {
    local secret=secret-of-$who-0123456789 seen
    seen=$(rev <<<"$secret")
    mkdir -p "$copy/$who/sandlot"
    cp "$scratch/authority.pem" "$copy/$who/sandlot/"
    printf '[network]\nupstream_ca = "authority.pem"\n[[network.credentials]]\nhost = "named.example"\nheader = "Authorization"\ncommand = "echo %s"\n' "$secret" \
        >"$copy/$who/sandlot/config.toml"
    chmod 600 "$copy/$who/sandlot/config.toml"
    [ "$who" = root ] || chown -R "$uid:$uid" "$copy/$who/sandlot"
    made --network open
    asks() { by exec --sandbox-id "$id" -- "$@"; }
    asks 'curl -sS -m 60 https://named.example/; echo; curl -sS -m 60 -k https://other.example/; echo; curl -sS -m 60 http://other.example:7777/'
    check "$who: a credential is added for its host alone" test "$out" = "$seen"$'\n-\noutside'
    asks 'curl -sS -m 60 -k --noproxy "*" https://named.example/; curl -sS -m 60 -o /dev/null -w " %{http_code}" http://named.example/
curl -sS -m 60 -k --connect-to other.example:443:named.example:443 https://other.example/ 2>/dev/null || echo " closed"'
    check "$who: not past the proxy, without TLS or for another name within" test "$out" = "- 502 closed"
    closed "tcp 203.0.113.1" "tcp 169.254.169.254"
    asks 'env; cat /proc/[0-9]*/environ; cat /etc/ssl/certs/ca-certificates.crt'
    check "$who: and the box has it nowhere" test "$(grep -acF -e "$secret" -e PRIVATE "$scratch/out")" = 0
    by --json network show "$id"
    check "$who: what is shown says both" jq -e '.mode == "open" and .credentials == [{host: "named.example", header: "Authorization"}]' <<<"$out"
    by network off "$id"
    asks 'curl -sS -m 60 -o /dev/null -w "%{http_connect}" https://named.example/ 2>/dev/null; curl -sS -m 2 -k --noproxy "*" https://203.0.113.2/ 2>/dev/null'
    check "$who: off is off for all" test "$out" = 403
    by network open "$id"
    asks 'curl -sS -m 60 https://named.example/; echo; curl -sS -m 60 -k --noproxy "*" https://203.0.113.2/'
    check "$who: and open again it is as before" test "$out" = "$seen"$'\n-'
    gone
    rm "$copy/$who/sandlot/config.toml"
}

# killed WHAT: of pasta and its guard either one takes the network with it
killed() {
    local pid
    made --network open
    pid=$(pastas)
    [ "$1" = pasta ] || pid=$(awk '$1 == "PPid:" { print $2 }' "/proc/$pid/status")
    kill -KILL "$pid"
    check "$who: kill -9 of $1 closes the network" until_true 60 is_closed "tcp 203.0.113.2"
    check "$who: kill -9 of $1 leaves no pasta" until_true 60 no_pasta
    check "$who: kill -9 of $1 is told" until_true 60 told
    by exec --sandbox-id "$id" -- 'curl -sS -m 60 http://203.0.113.2:7777/'
    check "$who: kill -9 of $1 closes the proxy too" test "$status:$out" != "0:outside"
    check "$who: kill -9 of $1 is told by a command that fails" grep -qF "[Its network: its proxy has ended, so nothing leaves it any more;" "$scratch/err"
    gone
}
told() {
    by network show "$id"
    [[ $out$err == *"nothing leaves it any more"* ]]
}

# refused NAME TEXT: what is lacking is said, and by doctor too
refused() {
    by --json create --network open
    check "$who: without $1 nothing is made" test "$status:$(jq -r .error <<<"$out")" = 3:provider_unavailable
    check "$who: and $1 is named" grep -qF "$2" <<<"$out"
    by --json doctor
    check "$who: doctor names $1" jq -e --arg text "$2" '.machine.open_network.advice | contains($text)' <<<"$out"
}
lacking() {
    chmod 600 /dev/net/tun
    refused "an open device" "/dev/net/tun"
    chmod 666 /dev/net/tun
    mount --bind "$scratch/resolv.conf" "$(realpath /usr/bin/pasta)"
    refused passt "package passt"
    umount "$(realpath /usr/bin/pasta)"
    by --json doctor
    check "$who: doctor names the authorities that a box with credentials adds to" \
        jq -e '.machine.authorities == {value: "/etc/ssl/certs/ca-certificates.crt", advice: null}' <<<"$out"
    mount --bind /dev/null "$(realpath /etc/ssl/certs/ca-certificates.crt)"
    by --json doctor
    check "$who: and tells that there are none" jq -e '.machine.authorities.advice | contains("package ca-certificates")' <<<"$out"
    umount "$(realpath /etc/ssl/certs/ca-certificates.crt)"
    by --json doctor
    check "$who: doctor is content with both" jq -e '.machine.open_network.advice == null' <<<"$out"
    by create --network open --param confinement=landlock
    check "$who: landlock alone has no such network" grep -q landlock <<<"$err"
}

copy_make
machine_make
for who in root user; do
    uid=0
    [ "$who" = root ] || uid=61777
    for step in reaches walls later changes credentials "killed pasta" "killed guard" lacking; do
        $step
        echo "# $who: $step, after $SECONDS s"
    done
    by gc
done
check "nothing is left" no_pasta
