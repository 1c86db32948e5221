#!/bin/bash
# Who makes, finds and deletes a sandbox, and what happens in between: create, attach, scope, setup script, ownership.
# shellcheck disable=SC1091,SC2154 # lib.sh sets status, out, err and the folders
. "$(dirname "$0")/lib.sh"
need_local

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
run list
check "list shows it" grep -q "^$id .*local" "$scratch/out"
check "list has a head" grep -q "^ID  *STATE  *AGE  *PROVIDER  *MINE" "$scratch/out"
expect "delete prints the id" 0 "$id" "*" delete "$id"
expect "delete is idempotent" 0 "$id" "*" delete "$id"
expect "list is empty" 0 "" "*" list
expect "it is gone" 3 "" "." exec --sandbox-id "$id" -- true
nothing_left "no record stays"
first=$("$SANDLOT" create)
second=$("$SANDLOT" create)
check "two creations are two sandboxes" test "$first" != "$second"
expect "several are deleted" 0 "$first
$second" "*" delete "$first" "$second"
nothing_left "both are gone"

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
