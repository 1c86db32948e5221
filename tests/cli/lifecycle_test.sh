#!/bin/bash
# Who makes, finds and deletes a sandbox, and what happens in between: create, attach, scope, setup script, ownership.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh sets status, out, err and the folders
. "$(dirname "$0")/lib.sh"
need_local
sandboxes_are() { [ "$(sandbox_count)" = "$1" ]; }

# ---- ownership ----
nothing_left "exec leaves nothing"
expect "exec that fails" 9 "" "*" exec 'exit 9'
nothing_left "leaves nothing either"
id=$("$SANDLOT" create)
check "create prints an id" test -n "$id"
expect "the id can be used" 0 "a" "*" exec --sandbox-id "$id" 'echo a | tee file'
expect "the files are there" 0 "a" "*" exec --sandbox-id "$id" -- cat file
expect "a failure does not end a sandbox that was attached to" 3 "" "*" exec --sandbox-id "$id" 'exit 3'
expect "it lives" 0 "a" "*" exec --sandbox-id "$id" -- cat file
expect "gc leaves it alone" 0 "" "*" gc
expect "it lives still" 0 "a" "*" exec --sandbox-id "$id" -- cat file
# A clock that is set does not end what the provider ends by one that nobody sets.
age_records() { ledger_files | xargs sed -i 's/"expires_at_ms":[0-9]*/"expires_at_ms":1000/'; }
age_records
expect "gc leaves it alone where the clock is years ahead" 0 "" "*" gc
expect "it lives then too" 0 "a" "*" exec --sandbox-id "$id" -- cat file
mkfifo "$scratch/go"
"$SANDLOT" exec --stdin -- 'read word; echo "$word"' <"$scratch/go" >"$scratch/word" 2>&1 &
command=$!
exec 7>"$scratch/go"
check "a command runs" until_true 10 sandboxes_are 2
age_records
expect "gc leaves its sandbox alone too" 0 "" "*" gc
echo finished >&7
exec 7>&-
wait "$command"
check "and the command goes on" test "$(cat "$scratch/word")" = finished
run list
check "list shows it" grep -q "^$id .*local" "$scratch/out"
check "list has a head" grep -q "^ID  *STATE  *AGE  *PROVIDER  *MINE" "$scratch/out"
expect "delete prints the id" 0 "$id" "*" delete "$id"
expect "delete of what is gone" 3 "" "nothing was deleted: neither the ledger nor 'local' knows a sandbox $id" delete "$id"
expect "delete is idempotent where one is asked" 0 "$id" "*" delete --sandbox local "$id"
expect "and with --if-exists" 0 "$id" "*" delete --if-exists "$id"
expect "list is empty" 0 "" "there are no sandboxes" list
expect "it is gone" 3 "" "." exec --sandbox-id "$id" -- true
nothing_left "no record stays"
first=$("$SANDLOT" create)
second=$("$SANDLOT" create)
check "two creations are two sandboxes" test "$first" != "$second"
expect "several are deleted" 0 "$first
$second" "*" delete "$first" "$second"
nothing_left "both are gone"

# ---- the ledger knows whose an id is ----
cp "$BUILD/tests/plugins/fake.so" "$plugins/" || exit 2
vendor=$scratch/vendor
journal=$scratch/journal
mkdir "$vendor"
fake=(--sandbox fake --param "folder=$vendor" --param "journal=$journal")
run create "${fake[@]}"
id=$out
expect "exec asks the provider that made the sandbox" 0 "there" "*" exec --sandbox-id "$id" -- echo there
expect "a file command too" 0 "*" "*" write --sandbox-id "$id" file
expect "a near miss is no sandbox" 3 "" "did you mean $id?" delete "${id}x"
expect "nor is the beginning of an id" 3 "" "did you mean $id?" delete "${id%?}"
expect "nor a pattern" 3 "" "nothing was deleted" delete '*'
expect "the near id is told to others" 3 "" "did you mean $id?" exec --sandbox-id "${id%?}" -- true
check "none of that deletes it" test -d "$vendor/$id"
expect "another provider that is named is asked" 0 "$id" "*" delete --sandbox local "$id"
check "and this one is not" test -d "$vendor/$id"
expect "one that is known and one that is not" 3 "$id" "knows a sandbox other" delete other "$id"
check "the known one is deleted at its provider" test ! -e "$vendor/$id"
nothing_left "and forgotten"
printf '[sandboxes.providers.fake.params]\nfolder = "%s"\n' "$vendor" >"$scratch/other.toml"
run create --config "$scratch/other.toml" --sandbox fake
id=$out
expect "with the configuration of that run" 0 "$id" "*" delete "$id"
check "it is deleted" test ! -e "$vendor/$id"

# ---- delete --all, --scope ----
run create "${fake[@]}"
first=$out
second=$("$SANDLOT" create --scope mine)
mkfifo "$scratch/go"
"$SANDLOT" exec --stdin -- cat <"$scratch/go" >/dev/null &
exec 9>"$scratch/go"
three_boxes() { [ "$(ledger_files | wc -l)" = 3 ] && [ "$(sandbox_count)" = 2 ]; }
until_true 10 three_boxes
expect "--all with a provider is that provider's" 0 "$first" "*" delete --all --sandbox fake
expect "a scope that nobody has" 3 "" "no sandbox of the scope 'other'" delete --scope other
expect "if it exists" 0 "" "*" delete --scope other --if-exists
json "a scope" 0 ". == {\"deleted\": \"$second\"}" delete --scope mine
second=$("$SANDLOT" create)
json "--all is all that the ledger owns" 0 ".results == [{id: \"$second\", error: null}]" delete --all
check "but what a running command uses stays" grep -q "1 sandbox in use" "$scratch/err"
check "and is there" test "$(sandbox_count)" = 1
exec 9>&-
wait
json "nothing is left to delete" 0 '.results == []' delete --all
usage "ids and --all" "exclude each other" delete --all x
usage "--scope and ids" "exclude each other" delete --scope k x
nothing_left "all are gone"

# ---- cp, and paths as cp has them ----
printf 'some\nbytes' >"$scratch/one"
printf 'other bytes' >"$scratch/two"
id=$("$SANDLOT" create)
expect "exec ID COMMAND is told what it is called" 127 "*" "$id is a sandbox; .*exec --sandbox-id $id -- COMMAND" exec "$id" true
"$SANDLOT" create --name exec-me >"$scratch/named"
expect "and exec NAME COMMAND" 127 "*" "exec-me is a sandbox; .*exec --sandbox-id exec-me -- COMMAND" exec exec-me true
"$SANDLOT" -q delete exec-me >"$scratch/named"
expect "cp into the working directory" 0 "*" "*" cp "$scratch/one" "$id:"
expect "under another name" 0 "*" "*" cp "$scratch/one" "$id:folder/name"
expect "into a folder that is there" 0 "*" "*" cp "$scratch/two" "$id:folder"
expect "all is where it belongs" 0 "/workspace/folder/name
/workspace/folder/two
/workspace/one" "*" exec --sandbox-id "$id" 'find "$PWD" -type f | sort'
expect "cp out of it, by a relative path" 0 "*" "*" cp "$id:folder/name" "$scratch/back"
check "the bytes are the same" cmp "$scratch/one" "$scratch/back"
expect "cp into a folder of this machine" 0 "*" "*" cp "$id:one" "$scratch/work"
check "takes the file's name" cmp "$scratch/one" "$scratch/work/one"
mkdir "$scratch/tree" && cp "$scratch/one" "$scratch/tree/"
head -c 3000000 /dev/zero >"$scratch/large"
expect "progress has units" 0 "*" "^2\.9 MiB of 2\.9 MiB" -v upload --sandbox-id "$id" "$scratch/large" large
check "and one verb" test "$(grep -ci upload "$scratch/err")" = 1
expect "cp -r" 0 "*" "*" cp -r "$scratch/tree" "$id:tree"
expect "and back" 0 "*" "*" cp -r "$id:tree" "$scratch/back.tree"
check "is the same" diff -r "$scratch/tree" "$scratch/back.tree"
expect "upload of several into a folder" 0 "*" "*" upload --sandbox-id "$id" "$scratch/one" new/ "$scratch/two" ./new/
json "download by relative paths" 0 '.results == [{path: "/workspace/new/one", error: null, bytes: 10}, {path: "/workspace/new/two", error: null, bytes: 11}]' \
    download --sandbox-id "$id" new/one "$scratch/a" new/two "$scratch/b"
# shellcheck disable=SC2088 # as it is
json "what is refused is refused still" 1 '[.results[].error] == ["invalid_path", "invalid_path"]' \
    upload --sandbox-id "$id" "$scratch/one" ../up "$scratch/one" '~/x'
expect "an id that is not there" 3 "" "did you mean $id" cp "$scratch/one" "${id}x:"
"$SANDLOT" -q delete "$id" >/dev/null

# ---- gc --forget ----
run create "${fake[@]}"
id=$out
rm "$plugins/fake.so"
expect "a provider that is gone" 3 "" "not there any more" delete "$id"
expect "what nobody knows cannot be forgotten" 3 "" "did you mean $id" gc --forget "${id}x"
expect "what a provider that is gone has left can" 0 "fake $id" "forgotten; if it still runs .* costs" gc --forget "$id"
check "the ledger has nothing of it" no_ledger
expect "an option that gc does not heed is not advised" 3 "" "list --all' prints those there are$" gc --forget nobody-knows-it
echo '{"cut' >"$XDG_STATE_HOME/sandlot/ledger/damaged.kept" && chmod 600 "$XDG_STATE_HOME/sandlot/ledger/damaged.kept"
run list --all
check "a command that reads the ledger several times warns once of a damaged file" test "$(grep -c "damaged.kept is damaged" "$scratch/err")" = 1
rm "$XDG_STATE_HOME/sandlot/ledger/damaged.kept"
json "twice is an error" 3 '.error == "sandbox_not_found" and .results == []' gc --forget "$id"
json "forgetting by the label" 3 '.error == "sandbox_not_found"' gc --forget sandlot-abc --forget sandlot-abd
rm -rf "${vendor:?}"

# ---- what is written into a box that is thrown away ----
input=$scratch/other.toml
echo 'echo a >/workspace/file' >"$scratch/file.sh"
expect "write without a sandbox says that it is lost" 0 "*" "warning: this was done in a new sandbox, which is deleted again" write file
expect "upload too" 0 "*" "which is deleted again" upload "$scratch/other.toml" /workspace/file
expect "rm too" 0 "*" "which is deleted again" rm --sandbox-setup "$scratch/file.sh" file
expect "edit too" 0 "*" "which is deleted again" edit --sandbox-setup "$scratch/file.sh" file --old a --new b
expect "once" 0 "*" "*" write file
check "in one line" test "$(wc -l <"$scratch/err")" = 1
run -q write file
check "but not with -q" test -z "$err"
run write --scope lost file
check "nor where it stays" test -z "$err"
run write --sandbox-id "$("$SANDLOT" list --json | jq -r '.sandboxes[0].id')" file
check "nor in one that is named" test "$status$err" = 0
run ls
check "nor where nothing was written" test "$status$err" = 0
unset input
delete_all

# ---- standard output that cannot take the id ----
"$SANDLOT" create >/dev/full 2>"$scratch/err"
status=$?
check "create to a full disk: status 1" test "$status" = 1
nothing_left "its sandbox is gone: nobody knows it"
"$SANDLOT" create >&- 2>"$scratch/err"
status=$?
check "create without standard output: status 1" test "$status" = 1
nothing_left "its sandbox is gone too"

# ---- scope ----
expect "scope makes a sandbox" 0 "" "*" exec --scope turn 'echo first >file'
expect "and finds it again" 0 "first" "*" exec --scope turn -- cat file
expect "another scope is another sandbox" 1 "*" "*" exec --scope other -- cat file
check "both are there" test "$(sandbox_count)" = 2
expect "gc leaves them alone" 0 "" "*" gc
run create --scope turn
id=$out
expect "create with a scope finds it too" 0 "first" "*" exec --sandbox-id "$id" -- cat file
expect "delete ends it" 0 "$id" "*" delete "$id"
expect "the scope starts anew" 1 "*" "*" exec --scope turn -- cat file
delete_all
nothing_left "the scopes are gone"
for number in 1 2 3 4; do
    "$SANDLOT" exec --scope together "echo $number >>file" &
done
wait
expect "four at once share one sandbox" 0 "4" "*" exec --scope together 'wc -l <file'
check "only one was made" test "$(sandbox_count)" = 1
delete_all

# ---- setup script ----
setup=$scratch/setup.sh
echo 'echo made by setup >/workspace/file; echo shown' >"$setup"
expect "the setup script runs first" 0 "made by setup" "*" exec --sandbox-setup "$setup" -- cat file
check "what it prints is no result" test "${err#*shown}" = "$err"
expect "with -v it is shown" 0 "made by setup" "shown" exec -v --sandbox-setup "$setup" -- cat file
(cd "$scratch" && "$SANDLOT" exec --sandbox-setup setup.sh -- cat file) >"$scratch/out" 2>"$scratch/err"
check "a relative path" grep -q "made by setup" "$scratch/out"
cp "$setup" "$HOME/mine.sh"
# shellcheck disable=SC2088 # the tilde is for sandlot
expect "a path with a tilde" 0 "made by setup" "*" exec --sandbox-setup '~/mine.sh' -- cat file
echo 'echo "reason"; exit 7' >"$setup"
expect "a setup script that fails" 1 "" "reason" exec --sandbox-setup "$setup" -- echo never
check "its status is in the message" grep -q 7 "$scratch/err"
nothing_left "the sandbox is gone"
id=$("$SANDLOT" create)
expect "on an attached sandbox it fails too" 1 "" "reason" exec --sandbox-id "$id" --sandbox-setup "$setup" -- echo never
expect "which is not deleted" 0 "x" "*" exec --sandbox-id "$id" -- echo x
run delete "$id"
echo 'echo once >>/workspace/count' >"$setup"
expect "with a scope it runs when the sandbox is made" 0 "1" "*" exec --scope s --sandbox-setup "$setup" 'wc -l <count'
expect "and not when it is found" 0 "1" "*" exec --scope s --sandbox-setup "$setup" 'wc -l <count'
delete_all
{ head -c 300000 /dev/zero | tr '\0' '#' && printf '\necho big >/workspace/file\n'; } >"$setup"
expect "a script of 300 kB" 0 "big" "*" exec --sandbox-setup "$setup" -- cat file

# ---- the end of its time ----
run create --param ttl_s=1
ended=$out
check "create with a short life" test "$status" = 0
until_true 10 test -e "$HOME/.local/state/sandlot/local/ended/$ended"
expect "attaching says that it has expired" 3 "" "idle|expired|time" exec --sandbox-id "$ended" -- true
run gc
check "gc forgets it" test "$status$(ledger_files | wc -l)" = 00

# ---- what is expanded in it ----
export TOKEN=se/cret EMPTY='' NESTED='${TOKEN}'
unset ABSENT
# expands NAME TEXT WANTED: what TEXT becomes inside the sandbox, read back from a here-document without expansion
expands() {
    printf "cat >/workspace/file <<'SANDLOT-END'\n%s\nSANDLOT-END\n" "$2" >"$setup"
    expect "expansion: $1" 0 "$3" "*" exec --sandbox-setup "$setup" -- cat file
}
expands "a name that is set" 'a${TOKEN}b' 'ase/cretb'
expands "in single quotes and comments too" "'\${TOKEN}' # \${TOKEN}" "'se/cret' # se/cret"
expands "a name that is empty" '[${EMPTY}]' '[]'
expands "a name that is not set" '${ABSENT}' '${ABSENT}'
expands "without braces" '$TOKEN $TOKENx' '$TOKEN $TOKENx'
expands "two dollars" '$$ $$TOKEN' '$$ $$TOKEN'
expands "two dollars before braces" '$${TOKEN}' '$se/cret'
expands "other forms" '${TOKEN:-x} ${#TOKEN} ${ TOKEN } ${} ${TOKEN%x}' '${TOKEN:-x} ${#TOKEN} ${ TOKEN } ${} ${TOKEN%x}'
expands "what belongs to the sandbox" '${HOME} ${PATH} ${USER} ${PWD} ${LC_ALL} ${_}' '${HOME} ${PATH} ${USER} ${PWD} ${LC_ALL} ${_}'
expands "values are not scanned again" '${NESTED}' '${TOKEN}'
expands "a backslash" '\${TOKEN}' '\se/cret'
expands "no end" '${TOKEN' '${TOKEN'
echo ': ${TOKEN}' >"$setup"
run exec -v --sandbox-setup "$setup" -- true
check "-v tells the name" grep -q TOKEN "$scratch/err"
check "and never the value" test "${err#*se/cret}" = "$err"
nothing_left "nothing is left"
