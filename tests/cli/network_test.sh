#!/bin/bash
# What a sandbox may reach, from outside: which wish counts, what is refused before anything is made, what a provider is handed, and
# where secrets never are.
# shellcheck disable=SC1091,SC2154,SC2016 # lib.sh sets status, out, err and the folders; $ in single quotes is for the command
. "$(dirname "$0")/lib.sh"
cp "$BUILD/tests/plugins/network.so" "$plugins/" || exit 2

folder=$scratch/box
mkdir "$folder"
policy=$folder/policy
base="[sandboxes.providers.network]
isolation = \"none\"
[sandboxes.providers.network.params]
folder = \"$folder\""
configure() { printf '%s\n%s\n' "$1" "$base" >"$config"; }
asks() { run exec --sandbox network "$@" -- true; }
# holds NAME POLICY ARGUMENT...: what the provider was asked for
holds() {
    local name=$1 want=$2
    shift 2
    rm -f "$policy"
    asks "$@"
    check "$name" test "$status" = 0 -a "$(cat "$policy" 2>/dev/null)" = "$want"
}
# refused NAME PATTERN ARGUMENT...: status 2, before anything is made
refused() {
    local name=$1 pattern=$2
    shift 2
    rm -f "$policy"
    usage "$name" "$pattern" exec --sandbox network "$@" -- true
    check "$name: nothing was made" test ! -e "$policy"
}
configure ""

# ---- the command line ----
holds "nothing asked" "mode 0 trusted -"
holds "off" "mode 1 trusted -" --network off
holds "open" "mode 3 trusted -" --network open
holds "an empty list is off" "mode 1 trusted -" --network allow
holds "entries, canonical and once" "mode 2 trusted -
entry 1 example.com 0
entry 2 xn--mnchen-3ya.example 0
entry 1 db.example.com 5432
entry 3 10.0.0.5/32 5432
entry 3 2001:db8::/32 0" --allow EXAMPLE.com. --allow example.com --allow '*.münchen.example' --allow db.example.com:5432 \
    --allow 10.0.0.5:5432 --allow 2001:db8::/32
holds "a set" "mode 2 trusted -
entry 1 pypi.org 0
entry 1 files.pythonhosted.org 0" --allow @pypi
refused "open with a list" "contradict" --network open --allow x
refused "a mode that is none" "off, allow or open" --network closed
refused "a set that is none" "did you mean @pypi" --allow @pypy
while read -r entry pattern; do
    [ "$entry" = EMPTY ] && entry=
    refused "--allow '$entry'" "$pattern" --allow "$entry"
done <<'END'
* mode open
a.*.com alone in front
https://x scheme
x/y path
u@x user
*.com below com
*.co.uk below co.uk
x:0 port
x:70000 port
EMPTY empty
10.0.0.1/8 10.0.0.0/8
0x7f.1 number
END
usage "with --sandbox-id" "sandlot network" exec --sandbox network --sandbox-id the-box --network off -- true
run exec --sandbox network --scope s --allow example.com -- true
check "a new scope takes a policy" test "$status" = 0
usage "a living scope does not" "sandlot network" exec --sandbox network --scope s --allow example.com -- true
run delete --sandbox network the-box

# ---- the configuration: which level counts ----
common='[network]
mode = "allow"
allow = ["common.example.com"]'
own='[sandboxes.providers.network.network]
mode = "off"'
configure "$common"
holds "[network]" "mode 2 trusted -
entry 1 common.example.com 0"
holds "the command line beats it, and adds nothing to it" "mode 2 trusted -
entry 1 x.example.com 0" --allow x.example.com
configure "$common
$own"
holds "the provider's table beats it" "mode 1 trusted -"
configure "$common
[sandboxes.providers.network.network]
upstream_ca = \"ca.pem\""
holds "what the provider's table does not say goes on from below; paths begin at the file" \
    "mode 2 trusted $(dirname "$config")/ca.pem
entry 1 common.example.com 0"
configure "$common
$own"
holds "the command line beats the provider's table too" "mode 2 trusted -
entry 1 x.example.com 0" --allow x.example.com
configure "$common
[[network.credentials]]
host = \"common.example.com\"
header = \"A\"
env = \"NOT_SET_ANYWHERE\"
[[sandboxes.providers.network.network.credentials]]
host = \"own.example.com\"
header = \"B\"
command = \"echo own-value\""
holds "the table's credentials replace those of [network], whose list goes on" "mode 2 trusted -
entry 1 common.example.com 0
credential own.example.com B own-value - - 0"
configure '[network]
allow = ["@mine"]
[network.sets]
mine = ["mine.example.com"]
pypi = []'
holds "a set of one's own" "mode 2 trusted -
entry 1 mine.example.com 0"
json "sets are printed" 0 '.sets.mine == ["mine.example.com"] and .sets.pypi == [] and (.sets.npm | length > 0)' network sets
expect "one of them" 0 "mine: mine.example.com" "*" network sets mine

# ---- a mistake opens nothing ----
while IFS='|' read -r toml pattern; do
    configure "$(printf '%b' "$toml")"
    refused "$toml" "$pattern"
done <<'END'
[network]\nmod = "off"|config.toml:2: .network. has the unknown key .mod.
[network]\nmode = "of"|mode is .of.
[network]\nmode = 1|mode is an integer
[network]\nallow = "x"|allow is a string
[network]\nallow = [1]|allow holds an integer
[network]\nallow = ["x y"]|blank
[network]\nmode = "open"\nallow = ["x"]|one of them must go
[network.sets]\nA = []|cannot be the name
[network.sets]\na = ["x/y"]\n[network]\nallow=["@a"]|
[[network.credential]]\nhost = "x"|unknown key .credential.
[[network.credentials]]\nhost = "x.example.com"|no header
[[network.credentials]]\nhost = "*.example.com"\nheader = "A"\nenv = "E"|one host
[[network.credentials]]\nhost = "x.example.com"\nheader = "A"|one of env, file and command
[[network.credentials]]\nhost = "x.example.com"\nheader = "A"\nenv = "E"\nfile = "F"|several
[[network.credentials]]\nhost = "x.example.com"\nheader = "Host"\nenv = "E"|belongs to the connection
[[network.credentials]]\nhost = "x.example.com"\nheader = "A"\nenv = "E"\nplaceholder = "LD_PRELOAD"|changes what programs do
[network]\ncredentials = "x"|credentials is a string, but must be an array of tables
[network]\ncredentials = ["x"]|but must be an array of tables
[[network.credentials]]\nhost = "x.example.com"\nheader = "A"\nenv = "E"\nplaceholders = "P"|unknown key .placeholders., did you mean placeholder
[[network.credentials]]\nhost = "x.example.com"\nheader = "A"\nenv = "E"\nplain = "yes"|true or false, without quotes
[[network.credentials]]\nhost = "x.example.com"\nheader = 1\nenv = "E"|header is an integer, but must be a string
[[network.credentials]]\nhost = "x.example.com"\nheader = "A"\nenv = ""|env is a string, but must be a string that is not empty
[[network.credentials]]\nhost = "x.example.com"\nheader = "A"\nenv = "E"\nbasic = "a:b"|the user of .basic. holds a colon
[[network.credentials]]\nhost = "x.example.com"\nheader = "A"\nenv = "E"\n[[network.credentials]]\nhost = "X.example.com."\nheader = "a"\nenv = "F"|there are two for the header a of x.example.com
[network]\nsets = 1|sets is an integer, but must be a table of arrays
[network.sets]\na = "x"|a is a string, but must be an array of strings
[network]\nupstream_ca = 1|upstream_ca is an integer, but must be a string
[netwrok]\nmode = "off"|netwrok
[sandboxes.providers.network.network]\nmod = "off"|unknown key
network = 5|must be a table
[sandboxes.provider.network.network]\nmode = "off"|config.toml:1: .sandboxes.: by the key .provider. there is a table network where none is read
[sandbox.providers.network.network]\nmode = "off"|top level: by the key .sandbox.
[providers.network]\nmode = "off"|top level: by the key .providers.
[sandboxes.network]\nmode = "off"|sandboxes.: by the key .network.
[[sandboxes]]\n[sandboxes.providers.other.network]\nmode = "off"|top level: by the key .sandboxes.
[[sandboxes.providers.other]]\nnetwork = {mode = "off"}|sandboxes.providers.: by the key .other.
[sandboxes.providers.netwrk.network]\nmode = "off"|no provider netwrk for .sandboxes.providers.netwrk.network.; did you mean network
[network]\nmode = "off|could not be used
END
configure '[sandboxes.providers.elsewhere.network]
mode = "off"
[sandboxes.providers.nettwork]
class_path = "'"$plugins"'/elsewhere.so:x"
[sandboxes.providers.nettwork.network]
mode = "off"'
asks
check "that of a provider which is not here, or has a like name, is no mistake" test "$status" = 0
printf '[sandboxes.volumes]\nnetwork = "/n"\n[sandboxes.providers.other.params.network]\nmode = "off"\n%s\n' "$base" >"$config"
asks
check "what else is called network is no mistake" test "$status" = 0
configure "$(printf '[network]\nallow = [%s]' "$(seq -f '"h%g.example.com",' 4096)")"
asks
check "4,096 entries are no mistake" test "$status" = 0
configure "$(printf '[network]\nallow = [%s]' "$(seq -f '"h%g.example.com",' 4097)")"
refused "one more is" "more than 4096 entries"
configure '[network]
mod = "off"'
run list --sandbox network
check "it stops nothing that makes nothing" test "$status" = 1 # the provider has no list

# ---- what a provider cannot hold ----
configure '[[network.credentials]]
host = "a.example.com"
header = "A"
command = "echo x"'
json "a credential needs a word" 1 '.error == "not_supported" and (.message | test("the credential for a.example.com;"))' exec --sandbox daytona -- true
configure '[network]
mode = "off"'
json "a provider without the words" 1 '.error == "not_supported" and (.message | test("config.toml.*off"))' \
    exec --sandbox agentcore -- true
json "each entry is named" 1 '.error == "not_supported" and (.message | test("a.example.com, 10.0.0.0/8"))' \
    exec --sandbox agentcore --allow a.example.com --allow 10.0.0.0/8 -- true
json "open is a word too" 1 '.error == "not_supported" and (.message | test("every host"))' exec --sandbox agentcore --network open -- true
json "so is a port of a host" 1 '.error == "not_supported" and (.message | test("a.example.com:8443;"))' \
    exec --sandbox daytona --allow a.example.com:8443 --allow b.example.com -- true
run create --config /dev/null
box=$out
refused="[The network refused: example.com:80 (not on the list). Ask the user to allow it: sandlot network allow $box example.com]"
"$SANDLOT" -q write --sandbox-id "$box" ask.py <<<'import urllib.request as web; web.urlopen("http://example.com/")'
run exec --sandbox-id "$box" -- python3 ask.py
check "what local refuses where nothing was asked is told" grep -qxF "sandlot: $refused" "$scratch/err"
mcp "also an agent" "$refused" "$(executes 'python3 ask.py')" --sandbox-id "$box"
"$SANDLOT" -q write --sandbox-id "$box" ask.py <<'END'
import urllib.request as web
for url in ("http://[fe80::1]:443/", "http://169.254.169.254/"):
    try:
        web.urlopen(url)
    except web.HTTPError as refusal:
        print(refusal.read().decode())
raise SystemExit(1)
END
run exec --sandbox-id "$box" -- python3 ask.py
check "an address is advised with its port, without which some stay closed" grep -qF "sandlot network allow $box 169.254.169.254:80" "$scratch/out"
check "by the line about refusals too" grep -qF "sandlot network allow $box '[fe80::1]:443' 169.254.169.254:80" "$scratch/err"
timeout -k 5 "$LIMIT" "$SANDLOT" network log -f "$box" >"$scratch/followed" 2>"$scratch/follow-err" &
follower=$!
check "its log is followed" until_true 60 grep -q 169.254.169.254 "$scratch/followed"
run delete "$box"
wait "$follower"
check "until it is deleted, which is told" test "$?" = 3
check "by its name" grep -qF "$box was not found" "$scratch/follow-err"

# While its setup runs another command may change what the sandbox may reach; neither forgets what the other did.
printf 'until [ -e go ]; do sleep 0.05; done\n' >"$scratch/wait.sh"
"$SANDLOT" create --config /dev/null --name setting-up --allow @go --sandbox-setup "$scratch/wait.sh" >"$scratch/id" &
creation=$!
until_true 60 "$SANDLOT" -q network allow setting-up b.example.com >/dev/null 2>&1
json "a change during the setup" 0 '.allow == ["@go", "b.example.com"]' network show setting-up
run write --sandbox-id setting-up go
wait "$creation"
json "is remembered behind it" 0 '.allow == ["@go", "b.example.com"]' network show setting-up
sed -i 's/"b.example.com"/"c.example.com"/' "$XDG_STATE_HOME"/sandlot/ledger/*.kept
json "what is remembered and does not hold is not told" 0 '(.allow | contains(["go.dev", "b.example.com"])) and
    .source == "the provider"' \
    network show setting-up
run delete setting-up
expect "local is off, and may be asked to be" 0 "1" "*" exec --network off -- 'wc -l </proc/net/route'
json "so may one with confinement landlock, which has no sockets" 0 '.exit_code == 0' exec --param confinement=landlock -- true

# ---- credentials ----
secret=s3cr3t-Value-0123456789
credential() { printf '[[network.credentials]]\nhost = "Git.Example.com"\nheader = "Authorization"\n%s\n' "$1"; }
printf '%s\n' "$secret" >"$scratch/secret"
configure "$(credential "file = \"$scratch/secret\"")"
holds "of a file" "mode 2 trusted -
credential git.example.com Authorization $secret - - 0"
configure "$(credential "command = \"printf '%s' $secret\"
basic = \"me\"
plain = true")"
holds "of a command, as Basic" "mode 2 trusted -
credential git.example.com Authorization Basic $(printf 'me:%s' "$secret" | base64 -w0) - - 1"
configure "$(credential 'env = "THE_SECRET"')"
THE_SECRET=$secret holds "of a variable" "mode 2 trusted -
credential git.example.com Authorization $secret - - 0"
holds "off needs none" "mode 1 trusted -" --network off
configure "$(credential 'env = "THE_SECRET"
placeholder = "GIT_HUB_TOKEN"')"
usage "a placeholder in a variable of git's" "changes what programs do" exec --sandbox network -- true
configure "$(credential 'env = "THE_SECRET"
placeholder = "HUB_TOKEN"')"
rm -f "$policy"
THE_SECRET=$secret asks
read -r _ _ _ value name placeholder _ < <(grep credential "$policy")
check "a placeholder is made" test "$value" = "$secret" -a "$name" = HUB_TOKEN -a "${#placeholder}" = "${#secret}" -a \
    "$placeholder" != "$secret"
check "of the same alphabet" test "$(tr a-z a <<<"$placeholder" | tr A-Z A | tr 0-9 0)" = "$(tr a-z a <<<"$secret" | tr A-Z A | tr 0-9 0)"
THE_SECRET=short asks
read -r _ _ _ _ _ placeholder _ < <(grep credential "$policy")
check "one for a short secret has 16 characters, so that nothing else is taken for it" test "${#placeholder}" = 16
configure "$(credential 'env = "THE_SECRET"
placeholder = "HUB_TOKEN"')
$(credential 'env = "THE_SECRET"
placeholder = "HUB_TOKEN"' | sed s/Git/Api/)"
THE_SECRET=$secret asks
check "two of one variable have one placeholder, for it holds one text" test "$(awk '$1 == "credential" { print $6 }' "$policy" | sort | uniq -c |
    awk '{ print $1, length($2) }')" = "2 ${#secret}"
for shown in 'пароль-ключ-от-дома' '%$&/()=?+*#~;:.!,-_' 'p@$$w0rd!' "${secret}ключ"; do
    THE_SECRET=$shown asks
    read -r _ _ _ _ _ placeholder _ < <(grep credential "$policy")
    check "the placeholder for $shown shows nothing of it but signs between enough letters" \
        test -n "$placeholder" -a -z "$(tr -d 'a-zA-Z0-9\n-' <<<"$placeholder")"
done
while IFS='|' read -r source pattern; do
    configure "$(credential "$source")"
    rm -f "$policy"
    json "$source" 3 ".error == \"auth\" and (.message | test(\"git.example.com\")) and (.message | test(\"$pattern\"))" \
        exec --sandbox network -- true
    check "$source: nothing was made" test ! -e "$policy"
    check "$source: its output is nowhere" sh -c '! grep -q leaks "$1" "$2"' sh "$scratch/out" "$scratch/err"
done <<'END'
command = "printf l; printf eaks; exit 3"|failed
command = "printf 'l''eaks' >&2; exit 3"|failed
command = "true"|gives nothing
command = "printf 'l''eaks\\nx'"|more than one line
env = "NOT_SET_ANYWHERE"|is not set
file = "not-there"|is not there
END
configure "$(credential "file = \"$scratch/secret\"")
[network.sets]
one = [\"one.example.com\"]"
id=$("$SANDLOT" -vv create --sandbox network 2>"$scratch/err")
check "a secret is not in the log" sh -c '! grep -q s3cr3t "$1"' sh "$scratch/err"
check "and not in the ledger" sh -c '! grep -rq s3cr3t "$1"' sh "$XDG_STATE_HOME"

# ---- a living sandbox ----
json "show" 0 '.id == "the-box" and .mode == "allow" and .allow == [] and .credentials == [{"host":"git.example.com",
    "header":"Authorization"}] and (.source | test("config.toml"))' network show "$id"
json "allow" 0 '.mode == "allow" and .allow == ["@pypi", "x.example.com"] and (.credentials | length) == 1 and
    .source == "sandlot network"' network allow "$id" @pypi x.example.com
check "the provider has it" test "$(grep -c entry "$policy")" = 3
check "without the secret" sh -c '! grep -q credential "$1"' sh "$policy"
usage "deny what only a set allows" "@pypi" network deny "$id" pypi.org
usage "deny what is not there" "not on the list" network deny "$id" nowhere.example.com
usage "deny a host with a credential" "credential" network deny "$id" git.example.com
json "deny" 0 '.allow == ["@pypi"]' network deny "$id" x.example.com
json "entries are kept canonical, each once" 0 '.allow == ["@pypi", "y.example.com", "xn--mnchen-3ya.example", "*.z.example.com",
    "10.0.0.5:5432"]' network allow "$id" Y.Example.com. y.example.com münchen.example '*.Z.example.com' 10.0.0.5:5432 @pypi
json "and denied in any spelling" 0 '.allow == ["@pypi"]' network deny "$id" y.EXAMPLE.com münchen.example. '*.z.example.com' 10.0.0.5:5432
run network allow "$id" @one
usage "deny all that a set allows is not to deny the set" "is allowed by @one" network deny "$id" one.example.com
json "deny a set; the host with the credential stays allowed" 0 '.mode == "allow" and .allow == ["@one"]' network deny "$id" @pypi
json "deny the last one" 0 '.mode == "allow" and .allow == [] and (.credentials | length) == 1' network deny "$id" @one
usage "deny a set that is not there" "not on the list" network deny "$id" @one
json "off" 0 '.mode == "off" and .allow == []' network off "$id"
check "the provider is off" test "$(cat "$policy")" = "mode 1 trusted -"
json "open" 0 '.mode == "open"' network open "$id"
usage "a list where all is open" "open" network allow "$id" x.example.com
expect "for people" 0 "mode: open (from sandlot network)
credential: git.example.com, in the header Authorization" "*" network show "$id"
printf '3 1 example.com 443 -\n5 0 files.example.com 443 not on the list\n' >"$folder/log"
json "log" 0 '.skipped == 3 and (.decisions | map([.decision, .host, .port, .rule, .reason, .bytes_in, .bytes_out, .ms]) ==
    [["allowed","example.com",443,"example.com",null,10,20,30], ["denied","files.example.com",443,null,"not on the list",10,20,30]])' \
    network log "$id"
run network log --denied "$id"
check "denials alone" grep -q '^[^ ]* denied  files.example.com:443 (not on the list), 10 bytes in, 20 out, 30 ms$' "$scratch/out"
check "and nothing else but how many are gone" test "$(wc -l <"$scratch/out")" = 2
# ---- what agents and people are told ----
refusal="[The network refused: files.example.com:443 (not on the list). Ask the user to allow it: sandlot network allow the-box \
files.example.com]"
tells() { # NAME LINE
    run exec --sandbox-id "$id" -- false
    check "$1" grep -qxF "sandlot: $2" "$scratch/err"
}
tells "a command that fails tells what the network refused it" "$refusal"
expect "one that works does not" 0 "" "*" exec --sandbox-id "$id" -- true
check "one that works does not say a word" test -z "$err"
printf '1 0 10.0.0.1 25 private address\n2 0 a.example.com 8443 port not on the list\n3 0 a.example.com 8443 x\n' >"$folder/log"
tells "each once, with advice where a list could help" "[The network refused: 10.0.0.1:25 (private address), a.example.com:8443 \
(port not on the list). Ask the user to allow it: sandlot network allow the-box a.example.com:8443]"
printf '%s\n' '1 0 files.example.com 443 not on the list' '2 0 example.com 443 not on the list' '3 0 10.0.0.1 8080 private address' \
    '4 0 10.0.0.1 80 private address' '5 0 10.0.0.1 80 private address' '6 0 files.example.com 443 not on the list' >"$folder/log"
tells "also one whose name another ends with, and each once however many there are" "[The network refused: files.example.com:443 (not on the list), \
example.com:443 (not on the list), 10.0.0.1:8080 (private address) and 1 more. Ask the user to allow it: sandlot network allow the-box files.example.com \
example.com]"
printf '%s\n' '1 0 a.example.com 443 not on the list' '2 0 a.example.com 80 not on the list' '3 0 b.example.com 8443 port not on the list' >"$folder/log"
tells "the advice has each entry once, too" "[The network refused: a.example.com:443 (not on the list), a.example.com:80 (not on the list), b.example.com:8443 \
(port not on the list). Ask the user to allow it: sandlot network allow the-box a.example.com b.example.com:8443]"
long=$(printf 'a%.0s' {1..60}).$(printf 'b%.0s' {1..60}).example.com
printf '1 0 %s 443 not on the list\n' "$long" >"$folder/log"
tells "of a long name a hundred characters, and no advice, which would be another name" "[The network refused: ${long:0:100}:443 (not on the list).]"
printf '1 0 10.0.0.1 25 private address\n' >"$folder/log"
tells "and none where it could not" "[The network refused: 10.0.0.1:25 (private address).]"
printf '1 0 a.example.com 0 not on the list\n' >"$folder/log"
tells "a name that was only looked up has no port" "[The network refused: a.example.com (not on the list). Ask the user to allow it: \
sandlot network allow the-box a.example.com]"
run network log "$id"
check "in the log neither" grep -q ' denied  a.example.com (not on the list), ' "$scratch/out"
run exec --sandbox network -- 'for name in a b; do echo 1 0 $name.example.com 443 not on the list; done >log; false'
check "for a sandbox that goes, options for the next one" grep -qF "(not on the list). To allow it: --allow a.example.com --allow b.example.com]" \
    "$scratch/err"
rm "$folder/log"
for isolation in unconfined none; do
    sed -i "s/^isolation = .*/isolation = \"$isolation\"/" "$config"
    echo "only half of the programs" >"$folder/lacks"
    run exec --sandbox-id "$id" -- false
    check "$isolation: what a network lacks is no word of a command that fails" test "$status:$err" = "1:"
    json "$isolation: it is shown" 0 '.note == "only half of the programs" and .broken == false' network show "$id"
    echo "the proxy has gone" >"$folder/broken"
    tells "$isolation: what has broken is told by each" "[Its network: the proxy has gone]"
    json "$isolation: and shown" 0 '.note == "the proxy has gone" and .broken' network show "$id"
    rm "$folder/lacks" "$folder/broken"
done
# follows NAME SEEN LATER OPTION...: what is there is printed, then what comes, and no decision twice; a signal ends it
follows() {
    local name=$1 seen=$2 later=$3
    shift 3
    printf '1 1 example.com 443 -\n' >"$folder/log"
    "$SANDLOT" network log -f "$@" "$id" >"$scratch/followed" 2>"$scratch/err" &
    local follower=$!
    check "$name: what is there" until_true 60 grep -q "$seen" "$scratch/followed"
    echo '2 0 later.example.com 443 not on the list' >>"$folder/log"
    check "$name: what comes" until_true 60 grep -q "$later" "$scratch/followed"
    kill -TERM "$follower"
    wait "$follower"
    check "$name: a signal ends it" test "$?" = 143 -a "$(wc -l <"$scratch/followed")" = 2
}
follows "log -f" "example.com:443 (example.com)" "denied  later.example.com:443"
follows "log -f --json" '"host":"example.com"' '"host":"later.example.com"' --json
printf '1 0 10.0.0.1 25 private address\n' >"$folder/log"
mcp "an agent's command too" "$(sed 's/files.example.com:443 (not on the list).*/10.0.0.1:25 (private address).]/' <<<"$refusal")" \
    "$(executes false)" --sandbox-id "$id"
mcp "an agent is told of a list" "Of the network it reaches these and nothing else: @pypi, x.example.com, git.example.com." "" \
    --sandbox network --allow @pypi --allow x.example.com
many=()
for number in {1..22}; do many+=(--allow "h$number.example.com"); done
mcp "of a long one, to which the host with the credential counts, the first twenty" ", h19.example.com, h20.example.com and 3 more." "" --sandbox network "${many[@]}"
mcp "of a network that is off" "Its network is off: nothing outside can be reached." "" --sandbox network --network off
mcp "and, where nothing was asked, what the provider says" "There is no network but the sandbox's own loopback." "" --config /dev/null
run exec --sandbox network --scope s --allow living.example.com -- true
mcp "of a scope whose sandbox lives, what that has" "living.example.com" "" --sandbox network --scope s
usage "which makes no nonsense of today right" "off, allow or open" mcp --print-config claude --sandbox network --scope s --network nonsense
run -q exec --scope plain --config /dev/null -- true
mcp "also where nothing was asked of it" "There is no network but the sandbox's own loopback." "" --scope plain --allow other.example.com
run -q delete --scope plain
delete_network() { "$SANDLOT" -q delete --sandbox network the-box >/dev/null; }
delete_network

# ---- a fork may reach what its original may, asked anew ----
# forks NAME POLICY: what was asked for the fork of $id
forks() {
    rm -f "$policy"
    run fork "$id"
    check "$1" test "$status" = 0 -a "$(cat "$policy" 2>/dev/null)" = "$2"
    run delete --sandbox network the-fork
}
id=$("$SANDLOT" create --sandbox network --allow '*.example.com:8443')
forks "a fork has the list, and the credential as the configuration has it" "mode 2 trusted -
entry 2 example.com 8443
credential git.example.com Authorization $secret - - 0"
run network off "$id"
forks "and what was changed since" "mode 1 trusted -"
delete_network
id=$("$SANDLOT" create --sandbox network --config /dev/null --param "folder=$folder")
forks "of one for which nothing was asked nothing is asked" "mode 0 trusted -"
delete_network

# ---- the same across a process ----
sed -i 's/isolation = "none"/isolation = "unconfined"/' "$config"
holds "a provider in a process of its own is asked for the same" "mode 2 trusted -
entry 2 example.com 8443
credential git.example.com Authorization $secret - - 0" --allow '*.example.com:8443'
id=$("$SANDLOT" create --sandbox network)
json "and changed, too" 0 '.mode == "off"' network off "$id"
json "and tells its log" 0 '.decisions | length == 1' network log "$id"
delete_network

cp "$BUILD/tests/plugins/fake.so" "$plugins/" || exit 2
mkdir "$scratch/vendor"
printf '[sandboxes.providers.fake]\nisolation = "none"\n[sandboxes.providers.fake.params]\nfolder = "%s"\n' "$scratch/vendor" >"$config"
id=$("$SANDLOT" create --sandbox fake)
json "a provider that cannot change it" 1 '.error == "not_supported"' network allow "$id" x.example.com
json "and shows what it remembers: nothing was asked" 0 '.mode == null and .allow == [] and .source == null' network show "$id"
json "and has no log" 1 '.error == "not_supported"' network log "$id"
