#!/bin/bash
# A vendor's way: a provider built outside the tree with include/ alone, dropped in, used, overridden, replaced.
# shellcheck disable=SC1091,SC2154 # lib.sh sets status, out, err and the folders
umask 022 # or the libraries would be refused
. "$(dirname "$0")/lib.sh"

vendor=$scratch/vendor
search=$scratch/search
mkdir -p "$vendor" "$search"
cp -r include sdk/examples/minimal "$vendor/" || exit 2
if ! make -s -C "$vendor/minimal" SANDLOT_INCLUDE="$vendor/include" CFLAGS="-O2 -Wall -Wextra -Wpedantic -Werror" \
    >"$scratch/out" 2>&1; then
    not_ok "the example builds with include/ alone" "$(cat "$scratch/out")"
    exit 1
fi
ok "the example builds with include/ alone"

tour=$(sed -n 's/^\(cc .*minimal\.c\).*/\1/p' README.md)
mkdir "$scratch/tour"
ln -s "$PWD/include" "$PWD/sdk" "$scratch/tour/"
(cd "$scratch/tour" && sh -c "$tour") >"$scratch/out" 2>&1
check "the line of the README builds it too" test -f "$scratch/tour/minimal.so" -a ! -s "$scratch/out"

# ---- found by dropping it in ----
usage "not there yet" "minimal" exec --sandbox minimal -- true
export SANDLOT_PLUGIN_PATH=$search
cp "$vendor/minimal/minimal.so" "$search/"
json "it is listed" 0 '.providers[] | select(.name == "minimal") | .source == "plugin" and .ready and
    .path == "'"$search"'/minimal.so" and .shadows == [] and .capabilities.streaming and
    (.capabilities.list | not) and .capabilities.sandbox_id' providers
json "its page" 0 '.providers | length == 1 and .[0].name == "minimal" and
    (.[0].parameters | map(.name) == ["start_timeout_s", "ttl_s", "hard_ttl_s"])' providers minimal
expect "it is used" 0 "hello" "*" exec --sandbox minimal -- echo hello
expect "exit codes pass through" 7 "" "*" exec --sandbox minimal 'exit 7'
expect "commands start in the sandbox's own folder" 0 "file" "*" exec --sandbox minimal 'touch file; ls'
expect "nothing of the caller's environment comes in" 0 "" "*" exec --sandbox minimal 'echo $HOME'
expect "but what --env adds does" 0 "yes" "*" exec --sandbox minimal --env ADDED=yes 'echo $ADDED'
expect "a time limit ends it" 124 "*" "*" exec --sandbox minimal --timeout 1 'sleep 3000 & sleep 3000'
expect "a background child holds nothing up" 0 "done" "*" exec --sandbox minimal 'sleep 70 & echo done'
usage "an unknown parameter" "no parameter .color.*its parameters are: start_timeout_s" \
    exec --sandbox minimal --param color=red -- true
json "it cannot list" 1 '.error == "not_supported" and (.message | contains("sandlot list --all"))' list --sandbox minimal
check "which stands on standard error too" grep -q "^sandlot: minimal: this provider cannot list" "$scratch/err"

run create --sandbox minimal
check "create" test "$status" = 0
id=$out
check "create prints the id alone" test -d "$id"
expect "attach" 0 "$id" "*" exec --sandbox minimal --sandbox-id "$id" -- pwd
expect "delete" 0 "*" "*" delete --sandbox minimal "$id"
check "it is gone" test ! -e "$id"
expect "deleting again works" 0 "*" "*" delete --sandbox minimal "$id"
json "an id that is not there" 3 '.error == "sandbox_not_found"' exec --sandbox minimal --sandbox-id "$id" -- true
check "nothing is recorded any more" no_ledger

# ---- listing runs nothing ----
cp "$BUILD/tests/plugins/constructor_writes.so" "$search/"
export SANDLOT_TEST_MARK=$scratch/mark
json "a plugin with a constructor is listed" 0 '.providers[] | select(.name == "constructor_writes") | .ready' providers
expect "another provider is used" 0 "x" "*" exec --sandbox minimal -- echo x
check "its constructor did not run" test ! -e "$SANDLOT_TEST_MARK"
json "used itself" 1 '.error == "not_supported"' exec --sandbox constructor_writes -- true
check "it did" test -e "$SANDLOT_TEST_MARK"

# ---- overridden by the config ----
mkdir -p "$XDG_CONFIG_HOME/sandlot/libraries"
cp "$vendor/minimal/minimal.so" "$XDG_CONFIG_HOME/sandlot/libraries/mine.so"
cat >"$config" <<'END'
[sandboxes.providers.minimal]
class_path = "libraries/mine.so:minimal"

[sandboxes.providers.second]
class_path = "minimal.so:minimal"

[sandboxes.providers.typo]
class_path = "minimal.so:maximal"
END
json "the config entry wins and shows what it hides" 0 '.providers[] | select(.name == "minimal") | .source == "config" and
    (.path | endswith("/libraries/mine.so")) and (.shadows | length == 1) and
    (.shadows[0] | tostring | test("search/minimal.so"))' providers
expect "it is used" 0 "hello" "*" exec --sandbox minimal -- echo hello
expect "a second name for one library, by search path" 0 "hello" "*" exec --sandbox second -- echo hello
json "a symbol that is not there" 3 '.error == "provider_unavailable" and (.message | test("minimal.so") and test("maximal"))' \
    exec --sandbox typo -- true
rm "$XDG_CONFIG_HOME/sandlot/libraries/mine.so"
json "it never falls back to what it hides" 3 '.error == "provider_unavailable"' exec --sandbox minimal -- true

printf '[sandboxes.providers.minimal.params]\nttl_s = "long"\n' >"$config"
usage "a wrong type has file and line" "config.toml:2: parameter .ttl_s. must be an integer" exec --sandbox minimal -- true
rm "$config"

# ---- a plugin that takes a built-in's name ----
sed 's/(minimal\([,)]\)/(local\1/; s/minimal_provider/local_provider/' "$vendor/minimal/minimal.c" >"$vendor/local.c"
"${CC:-gcc}" -std=c11 -D_GNU_SOURCE -fPIC -shared -I"$vendor/include" -o "$search/local.so" "$vendor/local.c" || exit 2
json "plugins beat built-ins" 0 '.providers[] | select(.name == "local") | .source == "plugin" and
    (.shadows | length == 1) and (.shadows[0] | tostring | test("builtin"))' providers
run exec -- pwd
check "it is what no --sandbox means then" test "${out#/tmp/sandlot-minimal-}" != "$out"
rm "$search/local.so"

# ---- those that are refused ----
# refused NAME PATTERN: listed as not ready with a reason, and using it fails with status 3 and the same.
refused() {
    cp "$BUILD/tests/plugins/$1.so" "$search/"
    run --json providers
    check "$1 stops no listing" test "$status" = 0
    json "$1 cannot be used" 3 '.error == "provider_unavailable" and (.message | test("'"$2"'"))' exec --sandbox "$1" -- true
    rm "$search/$1.so"
}
refused future_abi "ABI"
refused future_table "ABI.*install a newer Sandlot"
refused lying_name "somebody_else"
refused lying_capability 'list'
refused missing_symbol "missing_symbol"
refused missing_function "delete_sandbox"
refused broken_parameters "memory_mb"
refused refuses_host "upgrade Sandlot"
chmod 0777 "$search"
json "a folder that everybody may write" 3 '.error == "provider_unavailable" and (.message | test("writable by everybody"))' \
    exec --sandbox minimal -- true
chmod 0755 "$search"
expect "mended" 0 "x" "*" exec --sandbox minimal -- echo x
no_folders() { [ -z "$(find /tmp -maxdepth 1 -name 'sandlot-minimal-*' -user "$(id -u)" -newer "$vendor")" ]; }
check "no folder of the example is left" until_true 5 no_folders
