#!/bin/bash
# Credentials of local boxes: what the proxy adds to requests, to which and to none besides; that no byte of a secret is in the box;
# and that real programs work with it. Through the whole command line, with hosts that are stand-ins on loopback (network_test.sh).
# shellcheck disable=SC2016 # $ in single quotes is for the box
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
need_local

here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
for program in sandlot-egress sandlot-egress-credentials; do
    [ -x "$BUILD/tests/local/$program" ] || { echo "not ok $program is not built; run make programs"; exit 1; }
done
command -v openssl >/dev/null || { echo "no openssl for certificates"; exit 77; }

# ---- the stand-ins ----

chmod 711 "$scratch" # root's proxies run as users of their own, who must reach the table
servers=$scratch/servers
mkdir "$servers"
random() { od -An -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }
bearer="Bearer $(random 16)"
key=sk-$(random 12)
password=$(random 12)
second=$(random 10)
plain=$(random 10)
secrets=("${bearer#Bearer }" "$key" "$password" "$second" "$plain")
basic="Basic $(printf 'user:%s' "$password" | base64 -w 0)"
printf '%s\n' "bearer $bearer" "key $key" "password $password" "second $second" "plain $plain" "basic $basic" >"$servers/tokens"

cd "$servers" || exit 2
# authority NAME, certificate FILE AUTHORITY HOSTS DAYS
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.crt" 2>/dev/null
}
certificate() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=server -keyout new.key -out new.csr 2>/dev/null
    openssl x509 -req -in new.csr -CA "$2.crt" -CAkey "$2.key" -set_serial "0x$(random 8)" -days "$4" -out new.crt \
        -extfile <(echo "subjectAltName=$3") 2>/dev/null
    cat new.key new.crt >"$1.pem"
}
authority trusted
authority unknown
certificate https trusted DNS:api.example,DNS:key.example,DNS:basic.example,DNS:plain.example,DNS:open.example,DNS:pkg.example 2
certificate expired trusted DNS:expired.example 0
certificate elsewhere unknown DNS:unknown.example 2
certificate named trusted DNS:*.example.com,DNS:*.other.example 2
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=self.example -addext subjectAltName=DNS:self.example \
    -keyout new.key -out new.crt 2>/dev/null
cat new.key new.crt >self.pem
mkfifo life
cd - >/dev/null || exit 2

# What pip, npm and git ask for.
files=$servers/files
mkdir -p "$servers/git"
"$python" "$here/sample_packages.py" "$files" https://pkg.example/files/npm/
git -c init.defaultBranch=main init -q --bare "$servers/git/sample.git"
mkdir "$scratch/clone"
git -c init.defaultBranch=main init -q "$scratch/clone"
git -C "$scratch/clone" -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m "The first"
git -C "$scratch/clone" push -q "$servers/git/sample.git" HEAD:main
git -C "$servers/git/sample.git" config http.receivepack true

"$python" "$here/credentials_servers.py" "$servers" <"$servers/life" &
exec 9>"$servers/life"
until_true 60 test -s "$servers/ports"
port() { awk -v name="$1" '$1 == name { print $2 }' "$servers/ports"; }

# The command with its provider, whose proxies have the stand-ins.
mkdir -p "$scratch/installation/builtins"
cp "$SANDLOT" "$scratch/installation/"
cp "$BUILD"/builtins/{local.so,sandlot-local-keeper,sandlot-worker,network-sets.toml} "$scratch/installation/builtins/"
cp "$BUILD"/tests/local/sandlot-egress{,-credentials} "$scratch/installation/builtins/"
SANDLOT=$scratch/installation/sandlot
export XDG_STATE_HOME=$scratch/state # in which no keeper of another installation serves
(umask 077 && mkdir "$XDG_STATE_HOME")
stand_ins() {
    local number=1 name server
    while read -r name server; do
        echo "name $name 198.51.100.$number"
        echo "dial 198.51.100.$number:443 $(port "$server")"
        echo "dial 198.51.100.$number:80 $(port http)"
        number=$((number + 1))
    done
}
stand_ins >"$scratch/installation/builtins/stand-ins" <<'END'
api.example https
key.example https
basic.example https
plain.example https
pkg.example https
open.example https
expired.example expired
self.example self
unknown.example elsewhere
other.example named
notls.example echo
mute.example mute
END
cat >>"$scratch/installation/builtins/stand-ins" <<END
name code.example 198.51.100.99
dial 198.51.100.99:9418 $(port git)
dial 198.51.100.99:22 $(port ssh)
END

# ---- the configuration: each way to say a secret ----

printf '%s\n' "$password" >"$XDG_CONFIG_HOME/sandlot/password"
cp "$servers/trusted.crt" "$XDG_CONFIG_HOME/sandlot/corporation.pem"
export TEST_BEARER=$bearer TEST_KEY=$key
credential() { printf '[[network.credentials]]\nhost = "%s"\nheader = "%s"\n%s\n' "$@"; }
{
    printf '[network]\nmode = "allow"\nallow = ["open.example", "code.example:9418", "code.example:22"]\nupstream_ca = "corporation.pem"\n'
    credential api.example Authorization 'env = "TEST_BEARER"'
    credential api.example X-Second "command = \"echo $second\""
    credential key.example X-Api-Key 'env = "TEST_KEY"
placeholder = "API_KEY"'
    credential basic.example Authorization 'file = "password"
placeholder = "HUB_TOKEN"'
    credential plain.example X-Token "command = \"echo $plain\"
plain = true"
    credential pkg.example Authorization 'file = "password"
basic = "user"'
    for host in expired self unknown other notls mute; do credential $host.example Authorization 'env = "TEST_BEARER"'; done
} >"$config"

is() { [ "$1" = "$2" ]; }
has() { grep -qxF -- "$2" <<<"$1"; }
in_box() { run exec --sandbox-id "$box" "$1"; }

run create
box=$out
check "a box is made with credentials" is "$status" 0
"$SANDLOT" -q write --sandbox-id "$box" rows.py <"$here/credentials_rows.py"
late=()
for row in hung junk-after-hello huge-record; do
    "$SANDLOT" exec --sandbox-id "$box" "python3 rows.py $row" >"$scratch/late.$row" 2>/dev/null </dev/null &
    late+=($!)
done
: >"$servers/seen"
in_box "python3 rows.py"
rows=$out
long=${#bearer}
while IFS='|' read -r name want; do
    check "$name: $want" has "$rows" "$name	$want"
done <<ROWS
set|200 authorization=bearer x-second=second
own-replaced|200 authorization=bearer x-second=second
own-twice|200 authorization=bearer x-second=second
own-named-by-connection|200 authorization=bearer x-second=second
other-fields-stay|200 authorization=bearer x-second=second x-other=other cookie=other
body-stays|200 authorization=bearer x-second=second a body
by-http|403
by-http-plain|200 x-token=plain
by-http-plain-own|200 x-token=plain
by-http-to-443|403
by-https-plain|200 x-token=plain
other-port|403
http-in-tunnel|403
host-above|403
host-below|403
host-longer|403
host-like|403
not-intercepted|untrusted
compression|200 identity none
placeholder|200 x-api-key=key
placeholder-any-case|200 x-api-key=key
placeholder-other-field|200 x-other=other
placeholder-cookie|200 cookie=other
placeholder-absent|200
placeholder-own|200 x-api-key=other
placeholder-part|200 x-api-key=other
placeholder-url|True
placeholder-body|True
placeholder-other-host|200 x-api-key=other
placeholder-many|200
placeholder-twice|200 value= $((2 * ${#key}))
basic|200 authorization=basic
basic-any-case|200 authorization=basic
basic-own|200 authorization=other
basic-malformed|200 authorization=other
basic-empty|200 authorization=other
basic-nul|200 authorization=other
basic-without|200 authorization=password
mask-body|200 value= $long
mask-field|$(printf '%*s' "$long" '' | tr ' ' '*')
mask-part|200 token= $((long - 7))
mask-chunks-1|200 before  after $long
mask-chunks-3|200 before  after $long
mask-chunks-16|200 before  after $long
mask-until-end|200 value= $long
mask-beginnings|200 $(printf "${bearer:0:12}%.0s" {1..50})${bearer::-1} $long
mask-held|whole
mask-many|$(((997 + long) * 400)) $((long * 400)) 0
mask-hints|after hints
mask-basic|200 value= ${#basic}
mask-plain|200 x-token=plain x-other=other
zip|200 value=
zip-all-the-same|200 value=hidden
host-twice|400
host-other|400
host-none|400
host-other-port|400
host-blank|400
url|400
url-http|400
connect-within|400
star|400
length-and-chunked|400
length-twice|400
length-sign|400
coding-twice|400
coding-unknown|400
bare-feed|400
bare-return|400
folded|400
nul|400
large|400
fields|400
fields-almost|400
version-2|400
version-0|400
bad-chunk|closed
kept|200:1 200:2 200:3
kept-body|200:authorization=bearer x-second=second abc 200:2
kept-close|200:1 closed
kept-old|200:1 closed
kept-host-other|200:1 400 closed
kept-pipelined|200:1 200:2 200:3
kept-server-closes|200:hello /bye 0 closed
kept-server-adds|200:first closed
kept-thousand|1000
garbage|502
switch|502
twice-length|502
bad-answer-chunk|closed
cut|broken
expired|502 Sandlot refused expired.example:443: its certificate cannot be trusted: certificate has expired. Nothing was sent to it.
self-signed|502 Sandlot refused self.example:443: its certificate cannot be trusted: self-signed certificate. Nothing was sent to it.
unknown-authority|502 Sandlot refused unknown.example:443: its certificate cannot be trusted: unable to get local issuer certificate. Nothing was sent to it.
other-name|502 Sandlot refused other.example:443: its certificate cannot be trusted: hostname mismatch. Nothing was sent to it.
no-tls|502
sni-other|closed
sni-below|closed
protocol-2|None 200
protocol-both|http/1.1 200
old-version|closed
alert-after-hello|closed
many-records|closed
ROWS

check "of what was refused nothing has come to a server" is "$(grep -c "GET /smuggled" "$servers/seen") $(grep -c smuggled-late "$servers/seen")" "0 0"
check "the frames of an answer are masked" has "$(cut -d' ' -f1-5 <<<"$rows" | grep -c '^mask-frames.before  after')$(grep '^mask-frames' <<<"$rows" | grep -cE "${secrets[0]}")" 10
check "a pair of Basic is masked" has "$(cut -d' ' -f1,2 <<<"$rows")" "mask-pair	200 user:"

# ---- what is told ----

json "the policy names hosts and headers" 0 '.mode == "allow" and .allow == ["open.example", "code.example:9418", "code.example:22"] and (.credentials | length) == 12
    and .credentials[0] == {host: "api.example", header: "Authorization"}' network show "$box"
run network log "$box"
check "the log tells why a server was refused" grep -qF "expired.example:443 (its certificate cannot be trusted: certificate has expired)" "$scratch/out"
check "and why a program was" grep -qF "the program did not agree: TLS failed" "$scratch/out"
check "and no path" is "$(grep -c '/saw\|/echo' "$scratch/out")" 0

# ---- no byte of a secret is in the box, or where the machine keeps something ----

reversed=()
for secret in "${secrets[@]}"; do reversed+=("$(rev <<<"$secret")"); done
cat >"$scratch/scan.py" <<'END'
import glob, os, re, sys
wanted = [text[::-1].encode() for text in sys.argv[1:]]
found = []
def look(name, data):
    found.extend(name for text in wanted if text in data)
def read(name):
    try:
        with open(name, "rb") as opened:
            return opened.read(1 << 24)
    except OSError:
        return b""
own = f"/proc/{os.getpid()}/"
for process in glob.glob("/proc/[0-9]*/"):
    if process == own:
        continue
    for name in ("environ", "cmdline", "comm"):
        look(process + name, read(process + name))
    for line in read(process + "maps").decode().splitlines():
        start, end = (int(text, 16) for text in line.split()[0].split("-"))
        try:
            with open(process + "mem", "rb") as memory:
                memory.seek(start)
                look(process + "mem", memory.read(min(end - start, 1 << 26)))
        except (OSError, ValueError, OverflowError):
            pass
look("environment", b"\n".join(os.environb.values()))
for top in ("/workspace", "/home", "/tmp", "/run", "/dev/shm", "/var", "/etc"):
    for folder, _, names in os.walk(top):
        for name in names:
            if os.path.isfile(os.path.join(folder, name)):
                look(os.path.join(folder, name), read(os.path.join(folder, name)))
print(f"found {sorted(set(found))}")
END
"$SANDLOT" -q write --sandbox-id "$box" scan.py <"$scratch/scan.py"
in_box "sleep 60 & python3 scan.py ${reversed[*]}; kill %1"
check "no process and no file of the box holds a secret" is "$out" "found []"
in_box "echo \$API_KEY \$HUB_TOKEN | wc -c"
check "placeholders are as long as what they stand for" is "$out" "$((${#key} + ${#password} + 2))"
in_box "grep -c PRIVATE /etc/ssl/certs/ca-certificates.crt; echo x 2>/dev/null >>/etc/ssl/certs/ca-certificates.crt; echo \$?"
check "what is trusted holds no key and cannot be changed" is "$out" "0
1"
in_box 'echo $SSL_CERT_FILE $REQUESTS_CA_BUNDLE $PIP_CERT $NODE_EXTRA_CA_CERTS $CARGO_HTTP_CAINFO $CURL_CA_BUNDLE $GIT_SSL_CAINFO | tr " " "\n" | sort | uniq -c'
check "all seven variables name it" is "$(tr -s ' ' <<<"$out")" " 7 /etc/ssl/certs/ca-certificates.crt"
leaks() { grep -rlaF -f <(printf '%s\n' "${secrets[@]}") "$XDG_STATE_HOME" "$XDG_DATA_HOME" 2>/dev/null; }
check "nor does a file of Sandlot's" is "$(leaks)" ""
# The keeper of this state, and what it has started; the program of a confined process cannot be read by its user.
keeper() {
    local process
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/fd/3" 2>/dev/null)" = "$XDG_STATE_HOME/sandlot/local" ] && echo "${process#/proc/}"
    done
}
own_keeper=$(keeper)
processes() { cat /proc/[0-9]*/stat 2>/dev/null | awk -v keeper="$own_keeper" '$1 == keeper || $4 == keeper { print $1 }'; }
told() { for process in $(processes); do tr '\0' '\n' <"/proc/$process/environ"; tr '\0' '\n' <"/proc/$process/cmdline"; done 2>/dev/null; }
check "nor an argument or environment of its processes" is "$(told | grep -cF -f <(printf '%s\n' "${secrets[@]}"))" 0
proxy() { cat /proc/[0-9]*/stat 2>/dev/null | awk -v keeper="$own_keeper" '$2 == "(sandlot-egress)" && $4 == keeper { print $1 }'; }
own_proxy=$(proxy)
check "the proxy is confined like any" is "$(awk '/^(CapEff|CapPrm|NoNewPrivs|Seccomp):/ { print $2 }' "/proc/$own_proxy/status" | tr '\n' ' ')" \
    "0000000000000000 0000000000000000 1 2 "

# ---- real programs ----

in_box "curl -sS https://api.example/saw; echo; wget -qO- https://api.example/saw; echo; wget -qO- --header \"X-Api-Key: \$API_KEY\" \
https://key.example/saw; echo; curl -sSL https://api.example/redirect/plain.example; echo; curl -sS --data-binary @rows.py https://api.example/saw | wc -c
curl -sS https://api.example/big/20000000 | cksum"
check "curl and wget" is "$out" "authorization=bearer x-second=second 
authorization=bearer x-second=second 
x-api-key=key 
x-token=plain 
$((37 + $(wc -c <"$here/credentials_rows.py")))
$(head -c 20000000 /dev/zero | tr '\0' x | cksum)"
in_box "curl -sS -o /dev/null -w '%{http_code}' -L https://api.example/redirect/open.example -k; curl -sSkL https://api.example/redirect/open.example"
check "a redirect takes no credential along" is "$out" "200 "
in_box "python3 -c 'import urllib.request as u; print(u.urlopen(\"https://api.example/saw\").read().decode())'"
check "Python's urllib" is "$out" "authorization=bearer x-second=second "
in_box "git clone -q https://pkg.example/git/sample.git one && git -C one log --format=%s && git -C one -c user.name=x -c user.email=x@example.com \
commit -q --allow-empty -m 'The second' && git -C one push -q origin main; git clone -q https://user:\$HUB_TOKEN@basic.example/git/sample.git two && \
git -C two log --format=%s"
check "git clones and pushes, with a header and with a placeholder" is "$out" "The first
The second
The first"

# Of programs that know no proxy: those that cannot be told of one, and those that were told to do without.
in_box "curl -sS --noproxy '*' https://api.example/saw; echo; env -u https_proxy -u HTTPS_PROXY python3 -c 'import urllib.request as u; \
print(u.urlopen(\"https://api.example/saw\").read().decode())'"
check "without the proxy a credential is added as well" is "$out" "authorization=bearer x-second=second 
authorization=bearer x-second=second "
in_box "python3 - <<'END'
import http.client
connection = http.client.HTTPConnection('plain.example')
connection.request('GET', '/saw')
print(connection.getresponse().read().decode())
END
curl -sS --noproxy '*' -o /dev/null https://expired.example/ -w '%{http_code}\n'; curl -sS --noproxy '*' https://more.example/ 2>&1"
check "and where that is wanted by plain HTTP" is "$out" "x-token=plain 
502
curl: (6) Could not resolve host: more.example"
if [ -x /usr/bin/node ]; then
    in_box "/usr/bin/node -e 'require(\"https\").get(\"https://api.example/saw\", r => r.pipe(process.stdout))'"
    check "Node, whatever its version" is "$out" "authorization=bearer x-second=second "
else
    echo "# Node is not on this machine: not tried"
fi
if [ -e /etc/ssl/certs/java/cacerts ] && [ -x /usr/bin/keytool ]; then
    in_box "keytool -list -cacerts -storepass changeit 2>/dev/null | grep -c trustedCertEntry"
    check "Java trusts what all others do" is "$out" "$(($(grep -c BEGIN /etc/ssl/certs/ca-certificates.crt) + 1))"
    "$SANDLOT" -q write --sandbox-id "$box" Saw.java <<'END'
public class Saw {
    public static void main(String[] words) throws Exception {
        java.io.InputStream answer = new java.net.URL("https://api.example/saw").openStream();
        System.out.println(new String(answer.readAllBytes()));
    }
}
END
    if in_box "java --list-modules | grep -q jdk.compiler" && [ "$status" = 0 ]; then
        in_box "java -XX:TieredStopAtLevel=1 Saw.java 2>&1 | grep -v warning"
        check "and reaches it, knowing no proxy" is "$out" "authorization=bearer x-second=second "
    else
        echo "# this Java has no compiler: not tried"
    fi
else
    echo "# Java is not on this machine: not tried"
fi
in_box "git clone -q git://code.example/sample.git three && git -C three log --format=%s"
check "git by its own protocol" is "$out" "The second
The first"
if [ -x /usr/bin/ssh ]; then
    in_box "ssh -v -o BatchMode=yes code.example 2>&1 | grep -o 'remote software version [A-Za-z-]*'"
    check "ssh" is "$out" "remote software version Stand-in"
else
    echo "# ssh is not on this machine: not tried"
fi
for module in pip requests; do
    in_box "/usr/bin/python3 -c 'import $module'"
    [ "$status" = 0 ] || { echo "# $module is not on this machine: not tried"; continue; }
    case $module in
    pip)
        in_box "/usr/bin/python3 -m pip install -q --disable-pip-version-check --no-cache-dir --target here \
--index-url https://pkg.example/files/simple/ sandlot-sample 2>&1; PYTHONPATH=here python3 -m sandlot_sample"
        check "pip from an index that wants a password" is "$out" "the wheel"
        ;;
    requests)
        in_box "/usr/bin/python3 -c 'import requests; print(requests.get(\"https://api.example/saw\").text)'"
        check "Python's requests" is "$out" "authorization=bearer x-second=second "
        ;;
    esac
done
if command -v npm >/dev/null && in_box "npm --version" && [ "$status" = 0 ]; then
    "$SANDLOT" -q write --sandbox-id "$box" package.json <<<'{"name":"x","version":"1.0.0","dependencies":{"sandlot-sample":"1.0.0"}}'
    "$SANDLOT" -q write --sandbox-id "$box" package-lock.json <"$files/npm/lock"
    in_box "npm ci --silent --no-audit --no-fund --no-update-notifier --registry https://pkg.example/files/npm/ 2>&1; node -e 'require(\"sandlot-sample\")'"
    check "npm ci from a registry that wants a password" is "$out" "the package"
else
    echo "# npm is not on this machine: not tried"
fi

# ---- another box has another authority and other placeholders ----

run create
other=$out
trusted_by() { "$SANDLOT" exec --sandbox-id "$1" "head -n 12 /etc/ssl/certs/ca-certificates.crt; echo \$API_KEY"; }
check "no two boxes have the same" [ "$(trusted_by "$box" | sort)" != "$(trusted_by "$other" | sort)" ]
first_of() { "$SANDLOT" exec --sandbox-id "$1" 'sed "/^-----END/q" /etc/ssl/certs/ca-certificates.crt' >"$scratch/first" && "$SANDLOT" -q write --sandbox-id "$box" first.pem <"$scratch/first"; }
first_of "$box"
in_box "curl -sS --cacert first.pem https://api.example/saw"
check "its own authority is the first" is "$out" "authorization=bearer x-second=second "
first_of "$other"
in_box "curl -sS --cacert first.pem https://api.example/saw"
check "who trusts that of another box gets nothing" is "$status" 60
in_box "curl -sS http://asked-by-one.example/"
asked() { run network log "$1"; grep -c asked-by-one "$scratch/out"; }
check "nor does one use the other's listener" is "$(asked "$box") $(asked "$other")" "1 0"
in_box "echo \$API_KEY"
run exec --sandbox-id "$other" "curl -sS https://key.example/saw -H 'X-Api-Key: $out'"
check "the placeholder of one is not replaced for another" is "$out" "x-api-key=other "

# ---- what begins with a box's files has none of its secrets but asks for its own ----

kept() { run exec --sandbox-id "$1" "curl -sS https://api.example/saw; echo; curl -sS https://key.example/saw -H \"X-Api-Key: \$API_KEY\"; echo
curl -sS https://key.example/saw -H \"X-Api-Key: \$(cat noted)\"; curl -sS -o /dev/null -w '%{http_code}' https://more.example/ 2>/dev/null"; }
in_box "echo \$API_KEY >noted"
run fork "$box"
fork=$out
check "a box with credentials is forked" is "$status" 0
kept "$fork"
check "the copy's requests have them from the first on, its placeholder is its own, and what was denied is" is "$out" \
    "authorization=bearer x-second=second 
x-api-key=key 
x-api-key=other 000"
check "and its authority" [ "$(trusted_by "$box")" != "$(trusted_by "$fork")" ]
json "its policy is the original's" 0 '.mode == "allow" and (.credentials | length) == 12' network show "$fork"
run snapshot "$box" --name kept
check "a snapshot is made of it" is "$status" 0
check "in which no secret is" is "$(leaks)" ""
run create --sandbox-snapshot-name kept --network off
begun=$out
kept "$begun"
check "a box from it reaches what is asked for it, here nothing" is "$(grep -c 'response 403' "$scratch/out")" 3
run delete "$fork" "$begun"
TEST_KEY='' run fork "$box"
check "without a secret there is no copy" is "$status" 3
run snapshots delete kept

# ---- a living box ----

wait "${late[@]}"
late_rows=$(sed 's/ .*//' "$scratch"/late.*)
for row in "hung	504" "junk-after-hello	closed" "huge-record	closed"; do check "$row" has "$late_rows" "$row"; done
run network allow "$other" more.example
check "more is allowed to a living box" is "$status" 0
run exec --sandbox-id "$other" "curl -sS https://api.example/saw"
check "which keeps its credentials" is "$out" "authorization=bearer x-second=second "
run network off "$other"
run exec --sandbox-id "$other" "curl -sS -o /dev/null -w '%{http_connect}' https://api.example/saw 2>/dev/null"
check "off is off for their hosts too" is "$out" 403
check "a proxy that is killed" kill -9 "$own_proxy"
dead() { in_box "curl -sS https://api.example/ 2>&1"; grep -qF "Failed to connect to 127.0.0.1" "$scratch/out"; }
check "opens nothing" until_true 60 dead
ended="[Its network: its proxy has ended, so nothing leaves it any more; create another sandbox]"
in_box "curl -sS https://api.example/"
check "which the next command that fails tells" grep -qF "$ended" "$scratch/err"
mcp "and that of an agent" "$ended" "$(executes false)" --sandbox-id "$box"
in_box true
check "one that works says nothing" is "$err" ""
run network show "$box"
check "which is told" grep -qF "its proxy has ended" "$scratch/out"
run delete "$box" "$other"

# ---- what cannot be ----

run create --param confinement=landlock
check "confinement landlock takes no credentials" grep -qF 'confinement "landlock" has no network that could be allowed' "$scratch/err"
cp "$config" "$XDG_CONFIG_HOME/sandlot/corporation.pem"
expect "authorities that are none are refused" 2 "" "upstream_ca: .*corporation.pem is no file of certificates" create
printf -- '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' >"$XDG_CONFIG_HOME/sandlot/corporation.pem"
expect "and those that only look like some" 3 "" "upstream_ca holds no certificate" create
rm "$XDG_CONFIG_HOME/sandlot/password"
expect "a secret that cannot be read ends it before anything is made" 3 "" "basic.example" create
