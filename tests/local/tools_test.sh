#!/bin/bash
# What people run works in a box that is allowed no more than the sets that ship: package managers, git, and what speaks HTTP, as they
# are installed here, against stand-ins on loopback for the hosts that the sets name (network_test.sh has the rules themselves).
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
need_local

here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
for program in sandlot-egress sandlot-egress-credentials; do
    [ -x "$BUILD/tests/local/$program" ] || { echo "not ok $program is not built; run make programs"; exit 1; }
done
command -v openssl >/dev/null || { echo "no openssl for certificates"; exit 77; }

# ---- the hosts ----

chmod 711 "$scratch" # root's proxies run as users of their own, who must reach the table
servers=$scratch/servers
hosts=$servers/hosts
names=(pypi.org files.pythonhosted.org registry.npmjs.org deb.debian.org crates.io index.crates.io static.crates.io proxy.golang.org github.com git.example.com)
mkdir -p "$hosts"
new_key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
# Python 3.13 takes no authority that does not say what its key is for, and no certificate that does not say whose key signed it.
openssl req -x509 "${new_key[@]}" -days 2 -subj /CN=authority -addext keyUsage=critical,keyCertSign -keyout "$servers/authority.key" -out "$servers/authority.pem" 2>/dev/null
openssl req "${new_key[@]}" -subj /CN=server -keyout "$servers/server.key" -out "$servers/server.request" 2>/dev/null
openssl x509 -req -in "$servers/server.request" -CA "$servers/authority.pem" -CAkey "$servers/authority.key" -set_serial 1 -days 2 \
    -extfile <(printf 'authorityKeyIdentifier=keyid\nsubjectAltName='; printf 'DNS:%s,' "${names[@]}" | sed 's/,$//') -out "$servers/server.crt" 2>/dev/null
cat "$servers/server.key" "$servers/server.crt" >"$servers/server.pem"
"$python" "$here/sample_packages.py" "$servers/packages" https://registry.npmjs.org/sandlot-sample/-/ https://files.pythonhosted.org/packages/
# at HOST PATH FILE: HOST has it there
at() {
    mkdir -p "$(dirname "$hosts/$1/$2")"
    cp -R "$servers/packages/$3" "$hosts/$1/$2"
}
at pypi.org simple/sandlot-sample/index simple/sandlot-sample/index
at files.pythonhosted.org packages simple/sandlot-sample
at registry.npmjs.org sandlot-sample/-/sandlot-sample-1.0.0.tgz npm/sandlot-sample-1.0.0.tgz
at index.crates.io . crates-index/.
at static.crates.io crates crates
at proxy.golang.org . go/.
mkdir -p "$hosts/deb.debian.org/debian/dists/stable/main/binary-all" "$hosts/github.com/team"
printf 'Package: sandlot-sample\nVersion: 1.0\nArchitecture: all\nMaintainer: x\nFilename: x.deb\nSize: 1\nSHA256: %064d\nDescription: a sample\n' 0 \
    >"$hosts/deb.debian.org/debian/dists/stable/main/binary-all/Packages"
(
    cd "$hosts/deb.debian.org/debian/dists/stable" || exit 2
    printf 'Suite: stable\nCodename: stable\nDate: %s\nArchitectures: all\nComponents: main\nNo-Support-for-Architecture-all: Packages\nSHA256:\n %s %s main/binary-all/Packages\n' \
        "$(LC_ALL=C date -Ru)" "$(sha256sum <main/binary-all/Packages | cut -d' ' -f1)" "$(stat -c %s main/binary-all/Packages)" >Release
)
git -c init.defaultBranch=main init -q "$scratch/clone"
# commits HOST MESSAGE: HOST has what is in that folder as team/app.git
commits() {
    git -C "$scratch/clone" add .
    git -C "$scratch/clone" -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m "$2"
    git clone -q --bare "$scratch/clone" "$hosts/$1/team/app.git"
    git -C "$hosts/$1/team/app.git" update-server-info
}
commits github.com "The first"
cp "$servers/packages/npm/lock" "$scratch/clone/package-lock.json"
echo '{"name":"x","version":"1.0.0","dependencies":{"sandlot-sample":"1.0.0"}}' >"$scratch/clone/package.json"
echo sandlot-sample >"$scratch/clone/requirements.txt"
commits git.example.com "A project"
printf 'hello\n' >"$hosts/github.com/hello"
cp "$hosts/github.com/hello" "$hosts/deb.debian.org/hello"
mkfifo "$servers/life"
"$python" "$here/tools_servers.py" "$servers" <"$servers/life" &
exec 9>"$servers/life"
until_true 60 test -s "$servers/ports"
port() { awk -v name="$1" '$1 == name { print $2 }' "$servers/ports"; }

# ---- a box with the sets ----

mkdir -p "$scratch/installation/builtins"
cp "$SANDLOT" "$scratch/installation/"
cp "$BUILD"/builtins/{local.so,sandlot-local-keeper,sandlot-worker,network-sets.toml} "$BUILD"/tests/local/sandlot-egress{,-credentials} "$scratch/installation/builtins/"
SANDLOT=$scratch/installation/sandlot
export XDG_STATE_HOME=$scratch/state # in which no keeper of another installation serves
(umask 077 && mkdir "$XDG_STATE_HOME")
{
    printf 'name %s 198.51.100.1\n' "${names[@]}"
    echo "dial 198.51.100.1:443 $(port https)"
    echo "dial 198.51.100.1:80 $(port http)"
} >"$scratch/installation/builtins/stand-ins"
is() { [ "$1" = "$2" ]; }
run create --param fake_root=true --allow @pypi --allow @npm --allow @debian --allow @crates --allow @go --allow @github
box=$out
check "a box is made with the sets" is "$status" 0
"$SANDLOT" -q write --sandbox-id "$box" authority.pem <"$servers/authority.pem"
# The real hosts are trusted by every machine: only for the stand-ins programs must be told of an authority.
trusting="export SSL_CERT_FILE=/workspace/authority.pem
export CURL_CA_BUNDLE=\$SSL_CERT_FILE GIT_SSL_CAINFO=\$SSL_CERT_FILE PIP_CERT=\$SSL_CERT_FILE REQUESTS_CA_BUNDLE=\$SSL_CERT_FILE \
NODE_EXTRA_CA_CERTS=\$SSL_CERT_FILE CARGO_HTTP_CAINFO=\$SSL_CERT_FILE"
in_box() { run exec --sandbox-id "$box" "$trusting
$1"; }
# lacks TEXT COMMAND: the box has no program for what TEXT is, which COMMAND finds out
lacks() {
    in_box "$2"
    [ "$status" = 0 ] && return 1
    echo "ok $1 # SKIP it is not on this machine"
}

# ---- what people run ----

lacks "pip install" "/usr/bin/python3 -m pip --version" || {
    in_box "PIP_ROOT_USER_ACTION=ignore /usr/bin/python3 -m pip install -q --disable-pip-version-check --no-cache-dir --target here sandlot-sample 2>&1; PYTHONPATH=here python3 -m sandlot_sample"
    check "pip install" is "$out" "the wheel"
}
lacks "npm ci" "npm --version && node --version" || {
    "$SANDLOT" -q write --sandbox-id "$box" package.json <<<'{"name":"x","version":"1.0.0","dependencies":{"sandlot-sample":"1.0.0"}}'
    "$SANDLOT" -q write --sandbox-id "$box" package-lock.json <"$servers/packages/npm/lock"
    in_box "npm ci --silent --cafile authority.pem --no-audit --no-fund --no-update-notifier 2>&1; node -e 'require(\"sandlot-sample\")'"
    check "npm ci" is "$out" "the package"
}
lacks "git clone" "git --version" || {
    in_box "git clone -q https://github.com/team/app.git && git -C app log --format=%s"
    check "git clone" is "$out" "The first"
}
lacks "apt update" "apt-get --version" || {
    in_box "mkdir -p apt/lists/partial apt/cache/archives/partial apt/parts && echo 'deb [trusted=yes arch=all] http://deb.debian.org/debian stable main' >apt/sources
for option in Dir::Etc::SourceList=/workspace/apt/sources Dir::Etc::SourceParts=/workspace/apt/parts Dir::State::Lists=/workspace/apt/lists \
Dir::Cache=/workspace/apt/cache; do echo \"\${option%%=*} \\\"\${option#*=}\\\";\"; done >apt/conf
export APT_CONFIG=/workspace/apt/conf; apt-get -q update 2>&1 && apt-cache show sandlot-sample | grep ^Description:"
    check "apt update, by a root that is none" is "$(tail -n 1 <<<"$out")" "Description: a sample"
}
lacks "cargo fetch" "cargo --version && rustc --version" || {
    if in_box "cargo --version | grep -qE ' 1[.](6[89]|[7-9][0-9]|[0-9]{3})[.]'" && [ "$status" = 0 ]; then
        in_box "mkdir -p crate/src && cd crate && touch src/lib.rs && printf '%s\n' '[package]' 'name = \"x\"' 'version = \"1.0.0\"' '[dependencies]' \
'sandlot-sample = \"1\"' >Cargo.toml && cargo fetch -q && ls ~/.cargo/registry/cache/*"
        check "cargo fetch" is "$out" "sandlot-sample-1.0.0.crate"
    else
        echo "ok cargo fetch # SKIP before 1.68 cargo has its index from a repository of git"
    fi
}
lacks "go mod download" "go version" || {
    in_box "mkdir module && cd module && printf 'module x\nrequire example.org/sample v1.0.0\n' >go.mod && GONOSUMDB='*' go mod download && ls ~/go/pkg/mod/example.org"
    check "go mod download" is "$out" "sample@v1.0.0"
}
for program in "curl -sS" "wget -qO-"; do
    lacks "$program" "${program%% *} --version" || {
        in_box "$program ${program:+$([ "${program%% *}" = wget ] && echo --ca-certificate=authority.pem)} https://github.com/hello; $program http://deb.debian.org/hello"
        check "$program" is "$out" "hello
hello"
    }
done
for heeding in "" "env -u http_proxy -u https_proxy -u HTTP_PROXY -u HTTPS_PROXY "; do
    in_box "${heeding}python3 -c 'import urllib.request as u
for address in \"https://github.com/hello\", \"http://deb.debian.org/hello\": print(u.urlopen(address).read().decode(), end=\"\")'"
    check "Python's urllib${heeding:+, without the proxy}" is "$out" "hello
hello"
    lacks "Python's requests${heeding:+, without the proxy}" "/usr/bin/python3 -c 'import requests'" || {
        in_box "${heeding}/usr/bin/python3 -c 'import requests
for address in \"https://github.com/hello\", \"http://deb.debian.org/hello\": print(requests.get(address).text, end=\"\")'"
        check "Python's requests${heeding:+, without the proxy}" is "$out" "hello
hello"
    }
done
lacks "Node's fetch" "node -e 'process.exit(typeof fetch == \"function\" ? 0 : 1)'" || {
    in_box "node --no-warnings -e '(async () => { for (const address of [\"https://github.com/hello\", \"http://deb.debian.org/hello\"])
process.stdout.write(await (await fetch(address)).text()); })()'"
    check "Node's fetch" is "$out" "hello
hello"
}
lacks "a JVM" "java --list-modules | grep -q jdk.compiler && keytool -help" || {
    "$SANDLOT" -q write --sandbox-id "$box" Hello.java <<'END_OF_JAVA'
public class Hello {
    public static void main(String[] addresses) throws Exception {
        for (String address : addresses)
            System.out.print(new String(new java.net.URL(address).openStream().readAllBytes()));
    }
}
END_OF_JAVA
    in_box "keytool -importcert -noprompt -file authority.pem -keystore trusted -storepass changeit 2>/dev/null
java -XX:TieredStopAtLevel=1 -Djavax.net.ssl.trustStore=trusted -Djavax.net.ssl.trustStorePassword=changeit Hello.java https://github.com/hello http://deb.debian.org/hello 2>&1 | grep -v warning"
    check "a JVM" is "$out" "hello
hello"
}

# ---- and nothing besides ----

in_box "curl -sS http://example.com/; curl -sS --noproxy '*' http://deb.debian.org.example.com/ 2>&1; python3 -c 'import socket
socket.create_connection((\"github.com\", 22), 60)' 2>&1 | tail -n 1"
check "what the sets do not name is refused" grep -q "Sandlot refused example.com:80: not on the list" "$scratch/out"
check "and does not exist without the proxy" grep -q "Could not resolve host" "$scratch/out"
check "nor do other ports" grep -q "ConnectionRefusedError" "$scratch/out"
check "of which no host has heard" is "$(grep -vcE " ($(IFS='|' && echo "${names[*]}")) " "$servers/seen")" 0

# ---- the project of README.md, by what is printed there: a private host with a token, and packages ----

export GIT_TOKEN=the-token-of-a-private-host
mkdir "$servers/authorization" "$scratch/trusted" "$scratch/build"
printf 'Basic %s' "$(printf 'me:%s' "$GIT_TOKEN" | base64 -w 0)" >"$servers/authorization/git.example.com"
# printed LANGUAGE: the blocks of that section
printed() { awk -v begin="\`\`\`$1" '/^## / { within = $0 == "## What a sandbox may reach" } /^```/ { block = $0 == begin; next } within && block' README.md; }
mkdir -p "$(dirname "$config")"
cp "$servers/authority.pem" "$(dirname "$config")/"
cp "$servers/authority.pem" "$scratch/trusted/"
printed toml | sed 's/^\[network\]$/&\nupstream_ca = "authority.pem"/' >"$config"
project=$(printed sh | grep 'git clone')
# The real indexes are trusted by every machine: only for the stand-ins pip and npm must be told of an authority.
cat >"$scratch/build/sandlot" <<END
#!/bin/sh
shift 2
exec "$SANDLOT" exec --param "show=$scratch/trusted" -- "export PIP_CERT=$scratch/trusted/authority.pem
export REQUESTS_CA_BUNDLE=\\\$PIP_CERT npm_config_cafile=\\\$PIP_CERT
\$*"
END
chmod 755 "$scratch/build/sandlot" "$scratch/trusted"
# types LINE: as somebody does who has built it there
types() {
    ran=$1
    (cd "$scratch" && timeout -k 5 "$LIMIT" bash -c "$1") >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    out=$(cat "$scratch/out")
    err=$(cat "$scratch/err")
}
check "README.md has a project, and the token that it needs" grep -q 'env = "GIT_TOKEN"' "$config"
check "in one line" is "$(wc -l <<<"$project")" 1
lacks "README's project" "pip --version && npm --version && git --version" || {
    types "$project"
    check "it is cloned, and has its packages" is "$status" 0
    check "those of Python" grep -q "Successfully installed sandlot-sample-1.0" "$scratch/out"
    check "and those of npm" grep -q "added 1 package" "$scratch/out"
    types "${project/git clone/env; git clone}"
    check "while the token is in no environment there" is "$status $(grep -c ^https_proxy= "$scratch/out") $(grep -cF "$GIT_TOKEN" "$scratch/out")" "0 1 0"
    sed -i '/^\[\[network.credentials\]\]/,$d; s/"@npm"/&, "git.example.com"/' "$config"
    types "$project"
    check "without which the host refuses it" is "$status" 128
}
exec 9>&-
