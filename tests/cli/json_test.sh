#!/bin/bash
# The JSON of every command: one object in one line, always valid.
# shellcheck disable=SC1091,SC2154 # lib.sh sets status, out, err and the folders
. "$(dirname "$0")/lib.sh"

# ---- without a sandbox ----
: >"$scratch/empty"
json "version" 0 '.version | test("^[0-9]+[.][0-9]+[.][0-9]+$")' --version
json "providers" 0 '.providers | length > 5 and all(has("name") and has("path") and has("reason") and has("shadows"))' providers
json "capabilities are booleans" 0 '.providers | all(.capabilities | [.sandbox_id, .snapshot_name, .list, .upload, .download,
    .files, .pause, .snapshot, .fork, .terminal, .streaming] | all(type == "boolean"))' providers
json "sources" 0 '.providers | all(.source == if .path | contains("/builtins/") then "builtin" else "plugin" end)' providers
json "all that ship say what a sandbox has of the network where nothing is asked" 0 '[.providers[] | select(.source == "builtin" or .name == "vfs")] |
    length > 5 and all(.inside_network | length > 10)' providers
run providers docker
check "so they do to people" grep -q "where nothing is asked: There is no network, unless " "$scratch/out"
json "names are sorted" 0 '[.providers[].name] | . == sort' providers
json "a plugin that ships with Sandlot is one of the plugins" 0 '[.providers[] | select(.name == "vfs") | .source] == ["plugin"]' providers
if command -v script >/dev/null; then
    columns=$(script -qec "stty cols 80; $SANDLOT providers" /dev/null </dev/null | tr -d '\r' | wc -L)
    check "providers fits a terminal of 80 columns ($columns)" test "$columns" -le 80 -a "$columns" -gt 40
fi
run providers
check "and has a line for each elsewhere" test "$(wc -l <"$scratch/out")" = "$("$SANDLOT" providers --json | jq '.providers | length + 1')"
# Where credentials are, some providers alone know; they look without a request.
export AWS_EC2_METADATA_DISABLED=true
ready() { json "$1" 0 "[.providers[] | select(.name == \"$2\") | .ready] == [$3]" providers; }
unset "${!AWS_@}" "${!MODAL_@}"
export AWS_EC2_METADATA_DISABLED=true
ready "agentcore without credentials is not ready" agentcore false
ready "nor is modal" modal false
json "the reason says what to set" 0 '.providers[0].reason | test("AWS_ACCESS_KEY_ID")' providers agentcore
json "doctor says so too" 0 '[.providers[] | select(.name == "agentcore" or .name == "modal") | .ready] == [false, false]' doctor
run -v list --all
check "list --all does not ask them" grep -q "Not asking 'agentcore': .*AWS_ACCESS_KEY_ID" "$scratch/err"
AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b ready "keys in the environment make it ready" agentcore true
AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:9 AWS_EC2_METADATA_DISABLED=false ready "so may the machine" agentcore true
AWS_PROFILE=nobody ready "a profile that is named and missing does not" agentcore false
mkdir "$HOME/.aws"
printf '[default]\ncredential_process = /no/such/program\n' >"$HOME/.aws/config"
ready "a program that would be asked is not run" agentcore true
rm -r "$HOME/.aws"
MODAL_TOKEN_ID=a MODAL_TOKEN_SECRET=b ready "a token makes modal ready" modal true
printf '[default]\ntoken_id = "a"\ntoken_secret = "b"\n' >"$HOME/.modal.toml"
ready "so does one in its file" modal true
rm "$HOME/.modal.toml"
json "nor is what has no key" 0 '.providers[] | select(.name == "daytona") | .ready == false and
    (.reason | contains("DAYTONA_API_KEY")) and .working_dir == "/home/daytona"' providers
json "one provider" 0 '.providers | length == 1 and .[0].name == "local" and .[0].working_dir == "/workspace"' providers local
json "every parameter is described" 0 '.providers[0].parameters | length > 3 and all(has("default") and (.name | length > 0) and
    (.type | IN("string", "integer", "float", "boolean", "array", "table")) and (.required | type == "boolean") and
    (.secret | type == "boolean") and (.help | length > 0))' providers local
json "defaults have the type" 0 '.providers[0].parameters | map(select(.name == "ttl_s" or .name == "memory_mb")) |
    length == 2 and all(.default | type == "number")' providers local
# Whatever is asked of a provider without credentials: all that would do is named, with the prefixed forms.
while read -ra words; do
    json "without credentials: ${words[*]}" 3 '.error == "auth" and (.message | contains("set DAYTONA_API_KEY") and
        contains("SANDLOT_DAYTONA_API_KEY"))' "${words[@]}" --sandbox daytona
done <<END
create
list
delete x
pause x
snapshots
END
check "that stands on standard error too" grep -q "^sandlot: daytona: .*SANDLOT_DAYTONA_API_KEY" "$scratch/err"
json "where a provider alone knows of keys" 3 '.error == "auth" and (.message | contains("SANDLOT_MODAL_TOKEN_ID"))' list --sandbox modal
json "and of several names" 3 '.error == "auth" and (.message | contains("SANDLOT_AWS_ACCESS_KEY_ID"))' list --sandbox agentcore
printf '[sandboxes.providers.nobody]\n' >"$scratch/broken.toml"
json "a provider that cannot be used" 3 '.error == "provider_unavailable" and (.message | length > 10)' --config "$scratch/broken.toml" --sandbox nobody list
json "gc without leftovers" 0 '. == {"results": []}' gc
json "list --all with nothing" 0 '. == {"sandboxes": [], "cursor": null}' list --all
chmod o+w "$XDG_STATE_HOME/sandlot/ledger"
expect "one that cannot be told does not say that there is nothing" 1 "" "warning: cannot read the ledger" list --all
check "indeed" test -z "${err##*warning*}" -a -n "${err##*there are no sandboxes*}"
chmod o-w "$XDG_STATE_HOME/sandlot/ledger"

# ---- with a sandbox ----
need_local
json "exec" 0 '.exit_code == 0 and .output == "x\n" and .truncated == false and .timed_out == false and
    (.sandbox_id | length > 0) and (keys | length == 5)' exec -- echo x
json "the command's own status" 0 '.exit_code == 42 and .output == ""' exec 'exit 42'
json "bytes that are no UTF-8" 0 '.output == "a\ufffd\ufffdb" and .exit_code == 3' exec 'printf "a\377\376b"; exit 3'
json "NUL" 0 '.output == "a\u0000b"' exec 'printf "a\0b"'
json "controls" 0 '.output == "\u001b[31m\u0007\"\\"' exec 'printf "\033[31m\a\"\\\\"'
json "line separators" 0 '.output == "\u2028\u2029/"' exec 'printf "\342\200\250\342\200\251/"'
json "a character in pieces" 0 '.output == "€"' exec 'printf "\342"; sleep 0.2; printf "\202"; sleep 0.2; printf "\254"'
json "2 MiB" 0 '.truncated == false and (.output | length) == 2097152' exec 'head -c 2097152 /dev/zero | tr "\0" x'
json "30 MB are cut with a word about it" 0 '.truncated == true and .exit_code == 5 and (.output | length) < 11000000 and
    (.output | startswith("head") and endswith("tail\n"))' exec 'echo head; yes | head -c 30000000; echo tail; exit 5'
json "time limit" 0 '.timed_out == true and .exit_code == 124 and (.output | startswith("before\n")) and
    (.output | test("timed out"))' exec --timeout 3 'echo before; sleep 3000'
# Every command that works in a sandbox says the same of one that is not there. NO stands for its id.
while read -ra words; do
    json "unknown id: ${words[*]}" 3 '.error == "sandbox_not_found" and (.message | length > 5)' "${words[@]/#NO/no-such-sandbox}"
done <<END
exec --sandbox-id NO -- true
ps --sandbox-id NO
logs --sandbox-id NO p-1
wait --sandbox-id NO p-1
kill --sandbox-id NO p-1
input --sandbox-id NO p-1
read --sandbox-id NO file
write --sandbox-id NO file
edit --sandbox-id NO file --old a --new b
ls --sandbox-id NO /
grep --sandbox-id NO x
glob --sandbox-id NO x
rm --sandbox-id NO x
upload --sandbox-id NO $scratch/empty x
download --sandbox-id NO x $scratch/x
cp $scratch/empty NO:x
import NO $scratch/work
diff NO
export NO --output $scratch/x
apply NO $scratch/work
fork NO
snapshot NO
port NO 80
network show NO
network allow NO example.com
network deny NO example.com
network off NO
network open NO
network log NO
END

json "create" 0 '(.id | length > 0) and .provider == "local" and .working_dir == "/workspace"' create
id=$(jq -r .id <"$scratch/out")
json "list" 0 ".cursor == null and (.sandboxes | length == 1) and (.sandboxes[0] | .id == \"$id\" and .provider == \"local\" and
    .mine == true and (.state | length > 0) and (.created_at | test(\"^20[0-9-]+T[0-9:]+Z\$\")))" list
json "list --all" 0 ".sandboxes | length == 1 and .[0].id == \"$id\"" list --all
json "attach" 0 ".sandbox_id == \"$id\" and .exit_code == 0" exec --sandbox-id "$id" -- true
json "delete" 0 ". == {\"deleted\": \"$id\"}" delete "$id"
json "delete again" 3 '.error == "sandbox_not_found" and (.message | test("nothing was deleted"))' delete "$id"
json "delete again, where one is asked" 0 ". == {\"deleted\": \"$id\"}" delete --sandbox local "$id"
json "delete again, if it exists" 0 ". == {\"deleted\": \"$id\"}" delete --if-exists "$id"
json "delete several" 0 '.results | length == 2 and all(.error == null and (.id | length > 0))' delete --if-exists "$id" other
json "delete several that nobody knows" 3 '.error == "sandbox_not_found" and (.results | length == 2 and all(.error == "sandbox_not_found"))' \
    delete "$id" other
json "doctor" 0 '.local.works == true and (.local.create_ms > 0) and (.machine | has("kernel")) and (.providers | length > 5)' doctor
printf 'echo "why it failed"; exit 7\n' >"$scratch/setup.sh"
json "a failed setup script" 1 '.error == "setup_failed" and (.message | test("7"))' exec --sandbox-setup "$scratch/setup.sh" -- true
check "what it printed is on standard error" grep -q "why it failed" "$scratch/err"
nothing_left "nothing is left"
