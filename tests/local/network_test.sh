#!/bin/bash
# The network policy of local boxes: what leaves a box, what does not, and what is told of it. Names and public addresses are
# stand-ins on loopback: the proxy is a build that has a table of them (plugins/local/egress/stand_in.h), all else is as shipped.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
need_local

here=$(cd "$(dirname "$0")" && pwd)
driver=$BUILD/tests/local/provider_driver
python=/usr/bin/python3
for program in "$driver" "$BUILD/tests/local/sandlot-egress"; do
    [ -x "$program" ] || { echo "not ok $program is not built; run make programs"; exit 1; }
done
command -v openssl >/dev/null || { echo "no openssl for a certificate"; exit 77; }
runtime=$(ldd "$BUILD/builtins/local.so" | awk '$1 ~ /^libasan/ { print $3 }')
driver=(env ${runtime:+LD_PRELOAD="$runtime" ASAN_OPTIONS=detect_leaks=0} "$driver")

# An address of this machine that is no loopback; where it has none, one that is refused anyway.
own_address() {
    "$python" -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("198.51.100.1", 9)); print(s.getsockname()[0])' \
        2>/dev/null || echo 127.0.0.1
}

# ---- the stand-ins ----

# Root's proxies run as users of their own, who must reach the table.
chmod 711 "$scratch"
servers=$scratch/servers
mkdir "$servers"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=example.com -keyout "$servers/key.pem" \
    -out "$servers/certificate" 2>/dev/null
cat "$servers/key.pem" "$servers/certificate" >"$servers/certificate.pem"
mkfifo "$servers/life"
"$python" "$here/network_servers.py" "$servers" <"$servers/life" &
exec 9>"$servers/life"
until_true 60 test -s "$servers/ports"
port() { awk -v name="$1" '$1 == name { print $2 }' "$servers/ports"; }

# installation NAME TABLE: a copy of the built-in provider whose proxy has these stand-ins, with a state of its own. Sets library.
installation() {
    library=$scratch/$1/local.so
    mkdir -p "$scratch/$1"
    cp "$BUILD/builtins/local.so" "$BUILD/builtins/sandlot-local-keeper" "$BUILD/tests/local/sandlot-egress" "$scratch/$1/"
    printf '%s\n' "$2" >"$scratch/$1/stand-ins"
    export XDG_STATE_HOME=$scratch/state.$1
    (umask 077 && mkdir "$XDG_STATE_HOME")
}
drive() {
    ran="provider_driver $*"
    timeout -k 5 "$LIMIT" "${driver[@]}" "$library" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    out=$(cat "$scratch/out")
    err=$(cat "$scratch/err")
}
is() { [ "$1" = "$2" ]; }
says() { [[ $err == *"$1"* ]]; }
prints() { [[ $out == *"$1"* ]]; }
has() { grep -qxF -- "$2" <<<"$1"; }
# in_box ID COMMAND: what it prints
in_box() { drive exec "$1" "$2"; }

names="name example.com 198.51.100.1
name wild.example 198.51.100.1
name a.wild.example 198.51.100.1
name a.b.wild.example 198.51.100.1
name evilwild.example 198.51.100.1
name xn--mnchen-3ya.example 198.51.100.1
name xn--mnchen-9ta.example 198.51.100.1
name denied.example 198.51.100.1
name tcp.example 198.51.100.1
name loop.example 127.0.0.1
name private.example 10.0.0.1
name metadata.example 169.254.169.254
name mapped.example ::ffff:127.0.0.1
name mixed.example 10.0.0.1 198.51.100.1
name later.example 198.51.100.2 10.0.0.2
name raw.example 198.51.100.3
name nowhere.example
name hung.example never
name closed.example 198.51.100.2
name nat64.example 64:ff9b::7f00:1
name 6to4.example 2002:7f00:1::1
name zero.example 0.0.0.0
name link.example fe80::1
name multicast.example 224.0.0.1
name own.example $(own_address)
name silent.example 198.51.100.1
name db.example 10.0.0.5
name otherdb.example 10.0.0.5
dial 198.51.100.1:80 $(port http)
dial 198.51.100.1:443 $(port https)
dial 198.51.100.1:2222 $(port echo)
dial 198.51.100.2:80 $(port closed)
dial 10.0.0.5:5432 $(port echo)
dial 127.0.0.1:80 $(port http)
dial 198.51.100.3:80 $(port echo)
dial 198.51.100.3:443 $(port echo)
dial 10.0.0.1:80 $(port echo)
dial 10.0.0.2:80 $(port http)
dial 169.254.169.254:80 $(port http)
dial fd00:5::7:5432 $(port echo)
dial 2600:5::7:5432 $(port echo)"
installation usual "$names"

list="host example.com 0,below wild.example 0,host xn--mnchen-3ya.example 0,host tcp.example 2222,host loop.example 0"
list+=",host private.example 0,host metadata.example 0,host mapped.example 0,host mixed.example 0,host nowhere.example 0,host hung.example 0"
list+=",host later.example 0,host raw.example 0,host closed.example 0,host nat64.example 0,host 6to4.example 0,host zero.example 0,host link.example 0"
list+=",cidr fd00:5::/64 5432,cidr 2600:5::7/128 5432,host multicast.example 0,host own.example 0,cidr 10.0.0.5/32 5432,host db.example 5432"

# What the keeper of this state has started last.
newest_proxy() {
    local process keeper=
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/fd/3" 2>/dev/null)" = "$XDG_STATE_HOME/sandlot/local" ] && keeper=${process#/proc/}
    done
    for process in /proc/[0-9]*; do
        awk -v keeper="$keeper" '$2 == "(sandlot-egress)" && $4 == keeper { print $22, $1 }' "$process/stat" 2>/dev/null
    done | sort -n | awk 'END { print $2 }'
}
rows() { "${driver[@]}" "$library" exec "$1" "python3 - ${*:2}" <"$here/network_rows.py" 2>"$scratch/err"; }

# ---- nothing asked: everything is refused, and told ----

drive create
box=$out
drive network-show "$box"
check "nothing was asked" is "$out" "nothing asked"
in_box "$box" "env | grep -i _proxy= | sort | tr '\n' ' '"
check "the variables name the proxy" is "$out" "HTTPS_PROXY=http://127.0.0.1:3128 HTTP_PROXY=http://127.0.0.1:3128 \
NO_PROXY=localhost,127.0.0.1,::1 http_proxy=http://127.0.0.1:3128 https_proxy=http://127.0.0.1:3128 \
no_proxy=localhost,127.0.0.1,::1 "
drive network-log "$box"
check "there is no log before anybody asked" is "$status $out" "0 "
result=$(rows "$box" host host-tls loopback udp udp-6 dns tcp tcp-6)
for row in "host	403" "host-tls	403" "loopback	403" "udp	refused" "udp-6	refused" "dns	refused" "tcp	refused" "tcp-6	refused"; do
    check "nothing asked, $row" has "$result" "$row"
done
in_box "$box" "python3 -c 'import urllib.request as u; u.urlopen(\"http://example.com/\")' 2>&1; curl -sS http://example.com/"
check "the answer says how to allow it" prints "Ask the user to allow it: sandlot network allow $box example.com"
drive network-log "$box"
check "denials are in the log" is "$(head -n 2 <<<"$out")" "1 denied example.com 80 rule=- reason=not on the list in=0 out=0
2 denied example.com 443 rule=- reason=not on the list in=0 out=0"
in_box "$box" "python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & for i in \$(seq 300); do \
curl -sS -o /dev/null http://127.0.0.1:8123/ 2>/dev/null && { echo fine; break; }; sleep 0.1; done"
check "a server of the box's own is reached without the proxy" is "$out" "fine"

# ---- a list, given to that living box ----

drive network "$box" "$list"
check "a living box is given a list" is "$status $err" "0 "
drive network-show "$box"
check "which is told" is "$out" "allow,$list"
check "the proxy runs confined" is "$(awk '/^(CapEff|CapPrm|NoNewPrivs|Seccomp):/ { print $1 $2 }' "/proc/$(newest_proxy)/status" | tr '\n' ' ')" "CapPrm:0000000000000000 CapEff:0000000000000000 NoNewPrivs:1 Seccomp:2 "
: >"$servers/seen"
result=$(rows "$box")
while read -r name want; do
    check "$name: $want" has "$result" "$name	$want"
done <<'ROWS'
echoed 200 the same 8388608
host 200
host-upper 200
host-absent 403
host-tls 200+200
host-22 403
host-8443 403
wild-bare 403
wild-one 200
wild-two 200
wild-evil 403
idn 200
idn-homograph 403
idn-raw 400
port 200+ping
port-other 403
loopback-name 403
private-name 403
metadata-name 403
mapped-name 403
mixed-name 200
mixed-later 502
no-name 502
closed 502
address 200+ping
address-port 403
address-other 403
address-listed-name 200+ping
address-unlisted-name 403
loopback 403
loopback-6 403
loopback-mapped 403
metadata 403
hex 400
decimal 400
octal 400
zone 400
user 400
sni-other 200+closed
sni-none 200+closed
no-tls 200+closed
ssh-on-443 200+closed
tls-on-80 200+closed
hello-on-80 200+closed
http-in-tunnel 200+200
http-in-tunnel-other 200+closed
http-to-443 403
host-differs 400
host-twice 400
length-twice 400
length-and-chunked 400
bare-feed 400
folded 400
nul 400
large 400
slow 408 408 502
bad-chunk closed
chunk-before 200
chunk-blank closed
chunk-hex closed
chunk-sign closed
chunk-huge closed
chunk-no-end closed
trailer-nul closed
trailer-request closed
origin-form 400
early 413
pipelined 200 1
redirect 302
chunked 200
until-end 200
garbage 502
switch 502
socks 400
connect-user 400
connect-user-reversed 400
connect-escape 400
connect-backslash 400
connect-dots 400
connect-slash 400
connect-star 400
connect-no-port 400
connect-port-zero 400
connect-port-large 400
connect-port-sign 400
connect-port-twice 400
connect-host-differs 400
connect-in-connect 200+closed
url-in-connect 200+closed
long-name 400
url-fragment 400
url-question 400
url-backslash 400
url-other-port 403
url-https 400
url-file 400
host-list 400
host-absent-field 400
field-blank 400
field-control 400
field-return 400
coding-unknown 400
coding-list 400
coding-control 400
length-sign 400
length-hex 400
length-huge 400
version-2 400
version-none 400
connection-names-length 200
nat64 403
6to4 403
nat64-name 403
6to4-name 403
unspecified-name 403
link-local-name 403
multicast-name 403
own-name 403
sni-longer 200+closed
sni-below 200+closed
icmp refused
raw refused
packet refused
listener refused
udp refused
udp-6 refused
dns refused
tcp refused
tcp-6 refused
ROWS
check "nothing of what was refused has come to a server" is "$(grep -c "smuggled" "$servers/seen")" 0
check "nor a host that was denied" is "$(grep -ciE 'denied|evil|9ta|/second' "$servers/seen")" 0
drive network-log "$box"
check "the log names the rule" prints "allowed a.wild.example 80 rule=*.wild.example reason=- "
check "and the address's class" prints "denied metadata.example 80 rule=metadata.example reason=its address is forbidden: cloud metadata address"
check "which for the machine's own goes before any other" prints \
    "denied own.example 80 rule=own.example reason=its address is forbidden: address of this machine"
check "and the server that TLS named" prints "denied example.com 443 rule=example.com reason=TLS names another server than the tunnel: denied.example"
check "and no path" is "$(grep -c '/x\|/first' <<<"$out")" 0
in_box "$box" "curl -sS http://example.com/body -d @/etc/passwd -H 'Transfer-Encoding: chunked' && curl -sSk https://example.com/y && \
curl -sS http://example.com/chunked && echo && curl -sS http://example.com/until-end && echo && curl -sS http://example.com/continue && echo && \
curl -sS -I http://example.com/h | head -n 1 && curl -sSL http://example.com/redirect"
check "curl posts, and reads all kinds of bodies" is "$(sed -n '2,5p' <<<"$out" | tr '\n' '|')" "hello /y 0|abcdef|until the end|after hints|"
check "a redirect to another host is refused there" prints "Sandlot refused denied.example:80: not on the list"
in_box "$box" "curl -sS http://example.com/big/300000000 | cksum; curl -sSk https://example.com/big/100000000 | cksum"
check "large answers come whole" is "$out" "$(head -c 300000000 /dev/zero | tr '\0' x | cksum)
$(head -c 100000000 /dev/zero | tr '\0' x | cksum)"

# ---- programs that know no proxy ----

direct() { "${driver[@]}" "$library" exec "$1" "python3 - ${*:2}" <"$here/network_direct_rows.py" 2>"$scratch/err"; }
: >"$servers/seen"
result=$(direct "$box")
while read -r name want; do
    check "without a proxy, $name: $want" has "$result" "$name	$want"
done <<'ROWS'
name 0 1
name-upper 0 1
name-below 0 1
name-bare 3 0
name-evil 3 0
name-absent 3 0
name-carrying 3 0
name-6 0 0
name-6-absent 3 0
name-text 0 0
name-any 0 0
name-class 3 0
name-root 3 0
name-address 3 0
name-reverse 3 0
name-dot-within 3 0
name-nul-within 3 0
name-extended 0 1
name-tcp 0 1 + 3 0
dns-pointer 1 0
dns-long-label 1 0
dns-long-name 1 0
dns-cut-name 1 0
dns-two-questions 1 0
dns-no-question 1 0
dns-update 4 0
dns-short 0 1
dns-answer 0 1
dns-tcp-garbage closed
http 200
http-other-host closed
https 200
https-other-name closed
https-no-name closed
https-no-tls closed
ssh-on-443 closed
port ping
port-other closed
port-of-another closed
port-unlisted refused
address ping
address-port 403
address-other unreachable
address-public unreachable
metadata unreachable
loopback refused
stands-for-nothing 403
gate 403
gate-other refused
loopback-name 403
private-name 403
metadata-name 403
own-name 403
no-such-name 502
unknown-name unknown
udp refused
udp-gate refused
route -1
own-server mine ping
flood 1500 False 403 200
ROWS
if [ -e /proc/net/if_inet6 ]; then
    result=$(direct "$box" network-6 address-6 port-6 beside-6 other-6 metadata-6 translated-6 loopback-6 gate-6 link-6 udp-6)
    for row in "network-6	ping" "address-6	ping" "port-6	403" "beside-6	unreachable" "other-6	unreachable" "metadata-6	unreachable" \
        "translated-6	unreachable" "loopback-6	refused" "gate-6	403" "link-6	unreachable" "udp-6	refused"; do
        check "without a proxy, $row" has "$result" "$row"
    done
    in_box "$box" "grep -c '^fe80.* listed$' /proc/net/if_inet6"
    check "the device there makes itself no address" is "$out" 0
else
    echo "ok addresses of version 6 # SKIP this kernel has none"
fi
check "nothing of what was refused there has come to a server" is "$(grep -ciE 'denied|evil' "$servers/seen")" 0
drive network-log "$box"
check "the log has what the address stood for" prints "allowed example.com 80 rule=example.com reason=- "
check "and names that were asked for in vain" prints "denied denied.example 0 rule=- reason=not on the list"

# ---- changes while something runs ----

"${driver[@]}" "$library" exec "$box" "curl -sSN http://example.com/drip >drip 2>/dev/null; echo \$? >drip.end" >/dev/null 2>&1 </dev/null &
running() { in_box "$box" "cat drip 2>/dev/null | wc -c" && [ "$out" -gt "$1" ]; }
check "a download runs" until_true 60 running 3
drive network "$box" "$list,host more.example 0"
in_box "$box" "wc -c <drip"
check "it goes on when something more is allowed" until_true 60 running "$((out + 3))"
drive network "$box" ""
in_box "$box" "for i in \$(seq 300); do [ -s drip.end ] && break; sleep 0.1; done; cat drip.end"
check "and is cut when nothing is allowed any more" is "$out" 18
drive network-log "$box"
check "which the log tells" prints "reason=cut: the list was changed"
check "with what had come by then" grep -qE "reason=cut: the list was changed in=[1-9]" <<<"$out"
check "nothing is reached after that" is "$(rows "$box" host host-tls address)" "host	403
host-tls	403
address	403"
check "nor without the proxy" is "$(direct "$box" unknown-name http address)" "unknown-name	unknown
http	unknown
address	unreachable"
drive network "$box" "$list"
check "and it is when it is allowed again" is "$(rows "$box" host)" "host	200"
check "without the proxy too" is "$(direct "$box" http https port address)" "http	200
https	200
port	ping
address	ping"
# A tunnel to a name that stays on the list, to a private address that does not.
"${driver[@]}" "$library" exec "$box" "python3 -c '
import socket
tunnel = socket.create_connection((\"127.0.0.1\", 3128))
tunnel.sendall(b\"CONNECT db.example:5432 HTTP/1.1\\r\\nHost: db.example:5432\\r\\n\\r\\n\")
tunnel.recv(99)
tunnel.sendall(b\"ping\")
open(\"held\", \"wb\").write(tunnel.recv(99))
tunnel.settimeout(60)
open(\"held.end\", \"wb\").write(tunnel.recv(99) or b\"cut\")'" >/dev/null 2>&1 </dev/null &
holds() { in_box "$box" "cat $1 2>/dev/null" && is "$out" "$2"; }
check "a tunnel to a private address on the list is open" until_true 60 holds held ping
drive network "$box" "${list/cidr 10.0.0.5\/32 5432,/}"
check "and is cut when the address goes, though its name stays" until_true 60 holds held.end cut
drive network "$box" "host example.com 0,host tcp.example 2224,cidr 10.0.0.6/32 5432"
check "what is new on the list is reached, and what has gone is not" is "$(direct "$box" http port address)" "http	200
port	refused
address	unreachable"
check "which the box sees at once" is "$(in_box "$box" "ip route | cut -d' ' -f1 | tr '\n' ' '"; echo "$out")" \
    "10.0.0.6 192.0.0.0/29 192.0.0.3 198.18.0.0/15 "
ports=$(printf 'host ports.example %s,' {3001..3022})
drive network "$box" "host example.com 0,${ports}host tcp.example 2222"
check "the twenty-fifth port of a list is for the proxy alone" is "$(direct "$box" port) $(rows "$box" port)" "port	refused port	200+ping"
drive network "$box" "host example.com 0,${ports#*,}host tcp.example 2222"
check "the twenty-fourth is not" is "$(direct "$box" port)" "port	ping"
drive network "$box" "$list"

# ---- many ----

in_box "$box" "cat >many.py <<'END'
import socket, threading
sockets = [socket.create_connection((\"127.0.0.1\", 3128)) for _ in range(1000)]
request = b\"GET http://example.com/many HTTP/1.1\\r\\nHost: example.com\\r\\n\\r\\n\"
for one in sockets: one.sendall(request)
fine = 0
for one in sockets:
    data = b\"\"
    while more := one.recv(4096): data += more
    fine += data.startswith(b\"HTTP/1.1 200\")
print(fine)
END
python3 many.py"
check "a thousand connections at once are all served" is "$out" 1000
drive network-log "$box"
check "of the log the last thousand are kept" is "$(wc -l <<<"$out")" 1024
drive network-log "$box" "$(tail -n 1 <<<"$out" | cut -d' ' -f1)"
check "and read on from a number" is "$out" ""

# ---- much ----

descriptors() { ls "/proc/$proxy/fd" | wc -l; }
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$proxy/status"; }
proxy=$(newest_proxy) in_a_row=1000 mebibytes=256
# What sanitizers keep of memory grows.
[ -z "${SANDLOT_TEST_SLOW:-}" ] || [ -n "$runtime" ] || in_a_row=10000 mebibytes=10240
in_box "$box" "cat >row.py <<'END'
import socket, sys
fine = 0
for _ in range(int(sys.argv[1])):
    with socket.create_connection((\"127.0.0.1\", 3128)) as one:
        one.sendall(b\"GET http://example.com/row HTTP/1.1\\r\\nHost: example.com\\r\\nConnection: close\\r\\n\\r\\n\")
        data = b\"\"
        while more := one.recv(4096): data += more
        fine += data.startswith(b\"HTTP/1.1 200\")
print(fine)
END
python3 row.py 100"
check "a hundred connections in a row are all served" is "$out" 100
few=$(descriptors) small=$(resident)
as_few() { [ "$(descriptors)" -le "$few" ]; }
in_box "$box" "python3 row.py $in_a_row"
check "$in_a_row in a row are all served" is "$out" "$in_a_row"
check "and leave no descriptor at the proxy" until_true 60 as_few
in_box "$box" "curl -sS -o /dev/null -w '%{size_download}' http://example.com/big/$((mebibytes << 20))"
check "$mebibytes MiB come through" is "$out" "$((mebibytes << 20))"
in_box "$box" "head -c $((256 << 20)) /dev/zero | curl -sS -T - -H 'Expect:' -H 'Transfer-Encoding:' -H 'Content-Length: $((256 << 20))' http://example.com/swallow"
check "and 256 go out" is "$out" "swallowed $((256 << 20))"
[ -n "$runtime" ] || check "of all that the proxy keeps nothing in memory" test "$(resident)" -le "$((small + 2048))"

# ---- a box has its own way and no other's; a proxy that is killed opens nothing ----

drive network="host example.com 0" create
other=$out
check "a box is made with a list" is "$(rows "$other" host port)" "host	200
port	403"
check "and has both ways from the first" is "$(direct "$other" http port)" "http	200
port	unknown"
check "its proxy is killed" kill -9 "$(newest_proxy)"
dead() { in_box "$other" "curl -sS http://example.com/ 2>&1"; prints "Failed to connect to 127.0.0.1"; }
check "then nothing leaves the box" until_true 60 dead
drive network "$other" "host example.com 0"
check "which a change of the list tells" says "the proxy of this sandbox has ended"
drive network-show "$other"
check "and so does what is told of it, as what has broken" prints "broken: allow,host example.com 0; its proxy has ended"
check "the other box's goes on" is "$(rows "$box" host)" "host	200"
drive network-show "$box"
original=$out
drive fork "$box"
fork=$out
drive network-show "$fork"
check "a fork for which nothing is asked has the list of its original" test "$out" = "$original" -a "${out%%,*}" = allow
check "which is held" is "$(rows "$fork" host host-absent)" "host	200
host-absent	403"
drive delete "$fork"
drive network= fork "$box"
fork=$out
drive network-show "$fork"
check "and one for which something is asked has that" is "$out" off
drive delete "$fork"
drive delete "$box"
drive delete "$other"
check "with its box the proxy ends" until_true 60 is "$(newest_proxy)" ""

# ---- what cannot be held is refused ----

drive "network=host *.example 0" create
check "a name that is none is refused" says "host or network"
drive confinement=landlock "network=host example.com 0" create
check "confinement landlock refuses a list" says "landlock"
drive confinement=landlock network=open create
check "and an open network" says "landlock"
drive confinement=landlock network= create
check "and takes none" is "$status" 0
box=$out
drive network "$box" "host example.com 0"
check "nor one while it lives" says 'confinement "landlock" has no network that could be allowed'
drive network-show "$box"
check "which is not told to have one" is "$out" "off"
drive delete "$box"

# ---- where the kernel gives no gate ----

# without WORD: an installation whose keeper runs where the kernel lacks this
without() {
    installation "without.$1" "$names"
    usual_driver=("${driver[@]}")
    driver=("$BUILD/tests/local/without" "$1" -- "${driver[@]}")
    drive "network=host example.com 0" create
    box=$out
    driver=("${usual_driver[@]}")
}
heeding="what is on the list is reached by programs that heed http_proxy, and by no others: "
without network_namespaces
check "where no gate can be made a box is made, and that is told" says "$heeding"
check "with what to do" says "raise the sysctl user.max_net_namespaces"
drive network-show "$box"
check "who asks later is told too" prints "$heeding"
check "the proxy is the only way" is "$(rows "$box" host)$(direct "$box" http)" "host	200http	unknown"
drive network "$box" ""
drive network-show "$box"
check "without a list nothing is the matter" is "$out" "off"
drive network "$box" "host example.com 0"
check "and with the next one it is told" says "$heeding"
drive delete "$box"
without rtnetlink
check "where the kernel has no such devices the advice is to load them" says "modprobe veth"
drive delete "$box"
installation doctor "$names"
"$BUILD/tests/local/without" rtnetlink -- "$SANDLOT" --json doctor >"$scratch/out" 2>/dev/null
check "doctor says so" jq -e '.local.works and (.machine.listed_network.advice | contains("modprobe veth"))' "$scratch/out"
"$BUILD/tests/local/without" rtnetlink -- "$SANDLOT" exec --allow example.com false >"$scratch/out" 2>"$scratch/err"
check "who makes a box with a list is warned" grep -qF "$heeding" "$scratch/err"
check "and a command that fails does not put it down to that" sh -c '! grep -qF "Its network" "$1"' sh "$scratch/err"
installation doctor.content "$names"
"$SANDLOT" --json doctor >"$scratch/out" 2>/dev/null
check "or that all is well" jq -e '.machine.listed_network == {value: "for all programs", advice: null}' "$scratch/out"

# ---- deadlines ----

installation hurried "$names
idle 1500"
drive "network=host example.com 0,host silent.example 0" create
box=$out
in_box "$box" "curl -sS -o /dev/null -w '%{http_code}' http://silent.example/silent"
check "a server that never answers has a deadline" prints "000"
drive network-log "$box"
check "which the log tells" prints "nothing moved for too long"
drive delete "$box"
exec 9>&-
