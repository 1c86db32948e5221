#!/bin/bash
# sandlot plugin new, check, install, remove, list.
# shellcheck disable=SC1091,SC2034,SC2154,SC2016 # lib.sh sets status, out, err and the folders, and shows them; jq's variables are jq's
umask 022
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 2
so=$BUILD/tests/plugins
modes() { stat -c '%a %U' "$@"; }
me=$(id -un 2>/dev/null || id -u)
[ "$(stat -c %U "$scratch")" = UNKNOWN ] && me=UNKNOWN

# ---- words ----
usage "which command" "what about plugins" plugin
usage "a command that is none" "did you mean 'list'" plugin lits
usage "an option of another one" "takes no --replace" plugin remove --replace x
usage "new without a name" "name of the provider is missing" plugin new
usage "install without a file" "file to install is missing" plugin install
usage "remove without a name" "name of the plugin is missing" plugin remove
usage "check without a file" "file to check is missing" plugin check
usage "check knows no --json of ours" "takes no --json" --json plugin check x.so
expect "help of the second word" 0 "*" "*" plugin install --help
check "names its own options" grep -q -- "--replace " "$scratch/out"
expect "help of the first" 0 "*" "*" plugin --help
check "names all five" grep -c "plugin \(new\|check\|install\|remove\|list\)" "$scratch/out"

# ---- new ----
expect "new" 0 "$PWD/acme" "make check" plugin new acme
check "its files" test "$(find acme -type f -printf '%P\n' | sort | grep -v sandlot.mk | tr '\n' ' ')" = \
    ".gitignore Makefile README.md acme.c test.sh "
check "its name everywhere" sh -c '! grep -rilE "scaffold" acme && grep -q "SANDLOT_ENTRY_POINT(acme, ACME_METADATA" acme/acme.c'
check "nobody else may write to it" sh -c '! find acme -perm /022 | grep .'
usage "not over something" "acme is not empty; choose another place" plugin new acme
usage "nor into a folder with a file" "is not empty" plugin new other --directory acme
usage "nor over a file" "is there already; choose" plugin new other --directory acme/acme.c
mkdir empty
json "into an empty folder" 0 '.name == "other" and .language == "c" and (.path | endswith("/empty")) and
    (.files | index("other.c"))' plugin new other --directory empty
expect "below folders that are not there" 0 "$PWD/a b/c d/e" "*" plugin new deep --directory "a b/c d/e"
check "they are made" test -f "a b/c d/e/deep.c"
check "a path with a blank is quoted" sh -c "cd 'a b/c d/e' && { [ ! -f sandlot.mk ] || make -n check | grep -qF 'plugin check ./deep.so'; }"
for name in "" Acme 1x a-b "a b" ../x int printf malloc none sandlot_x "$(printf '%039d' 0 | tr 0 x)"; do
    usage "no name: '$name'" "name" plugin new "$name"
done
expect "38 bytes are a name" 0 "*" "*" plugin new "$(printf '%038d' 0 | tr 0 x)"
usage "no language" "choose c, c.. or rust" plugin new lang --language cobol
check "nothing of that is there" test ! -e lang -a ! -e none -a ! -e int
expect "C++" 0 "*" "*" plugin new plus --language c++
check "its source" test -f plus/plus.cc -a -f plus/plus.map
expect "Rust" 0 "*" "*" plugin new rusty --language rust
check "its source, with the binding" test -f rusty/rusty.rs -a -f rusty/sandlot.rs
usage "a keyword of Rust" "to rust" plugin new crate --language rust
expect "which is a name in C" 0 "*" "*" plugin new crate
usage "a keyword of C++" "to c[+][+]" plugin new template --language c++
expect "the name of a built-in" 0 "*" "takes its place" plugin new vfs
check "is told before anything else" sh -c 'head -n 1 "$1" | grep -q "takes its place"' sh "$scratch/err"
expect "a quiet one" 0 "$PWD/quiet" "*" -q plugin new quiet
check "says nothing more" test -z "$err"
if [ "$(id -u)" != 0 ]; then
    mkdir closed
    chmod 555 closed
    json "a folder that cannot be written to" 1 '.error == "permission_denied"' plugin new x1 --directory closed/x1
    chmod 755 closed
else
    json "a folder that cannot be written to" 1 '.error | length > 0' plugin new x1 --directory /proc/x1
fi
expect "the disk is full" 1 "" "cannot be written" plugin new x2 --directory /dev/full/x2
check "nothing half-written remains" test ! -e closed/x1

# ---- check ----
run plugin check --no-such-option-of-the-kit
check "check hands all words to the kit, or says where it is missed" test "$status" != 0
mkdir alone
cp "$SANDLOT" alone/sandlot
SANDLOT=$PWD/alone/sandlot run plugin check x.so
SANDLOT_BEFORE=$SANDLOT
SANDLOT=$PWD/alone/sandlot
expect "without the kit" 3 "" "sandlot-plugin-check is not there; install the package libsandlot-dev" plugin check x.so
json "without the scaffold" 3 '.error == "provider_unavailable" and (.message | test("make install"))' plugin new x3
check "no folder is left" test ! -e x3
SANDLOT=$SANDLOT_BEFORE

# ---- install ----
rm -rf "$XDG_DATA_HOME"
cp "$so/only_execute.so" one.so
json "install makes the folder" 0 '.name == "only_execute" and (.path | endswith("/sandlot/providers/one.so")) and
    .shadows == [] and .shadowed_by == null and .ready' plugin install one.so
check "private" test "$(stat -c %a "$XDG_DATA_HOME/sandlot/providers")" = 700
check "the file is the user's, and only theirs to write" test "$(modes "$plugins/one.so")" = "644 $me"
check "the same bytes" cmp -s one.so "$plugins/one.so"
expect "it is used" 0 "*" "*" providers only_execute
expect "again, as an update" 0 "$plugins/one.so" "try it with" plugin install one.so
cp one.so two.so
usage "the same provider from another file" "installed already, from the file .*one.so; pass --replace" plugin install two.so
check "nothing has changed" test -f "$plugins/one.so" -a ! -e "$plugins/two.so"
expect "--replace" 0 "$plugins/two.so" "*" plugin install --replace two.so
check "the other one is gone" test ! -e "$plugins/one.so"
cp "$so/note_two.so" two.so
usage "another provider under the same file name" "provides only_execute, which two.so does not" plugin install two.so
expect "is lost with --replace" 0 "*" "*" plugin install --replace two.so
json "a file with several providers" 0 '.results | length > 1 and all(.path | endswith("/two.so"))' plugin install two.so
check "nothing else lies there" test "$(ls -A "$plugins")" = two.so

expect "no such file" 1 "" "nowhere.so cannot be read" plugin install nowhere.so
json "no such file, as JSON" 1 '.error == "file_not_found"' plugin install nowhere.so
mkdir dir.so
json "a folder" 1 '.error == "not_a_file"' plugin install dir.so
mkfifo fifo.so
json "a pipe" 1 '.error == "not_a_file"' plugin install fifo.so
usage "no name of a plugin" "ends in .so" plugin install /etc/passwd
echo text >text.so
expect "no ELF" 3 "" "text.so cannot be installed" plugin install text.so
expect "no plugin" 3 "" "no entry points of Sandlot" plugin install "$so/no_note.so"
expect "another ABI" 3 "" "ABI" plugin install "$so/future_abi.so"
expect "a symbol that is not exported" 3 "" "symbol" plugin install "$so/missing_symbol.so"
head -c 5000 one.so >cut.so
expect "half a file" 3 "" "cut.so cannot be installed" plugin install cut.so
printf '\xb7\x00' | dd of=one.so bs=1 seek=18 conv=notrunc 2>/dev/null # its machine
expect "of another machine" 3 "" "one.so cannot be installed" plugin install one.so
cp "$so/only_execute.so" one.so
check "nothing of these stays" test "$(ls -A "$plugins")" = two.so
chmod 666 one.so
expect "somebody else could have written it" 0 "*" "writable by everybody" plugin install one.so
check "the copy is safe" test "$(modes "$plugins/one.so")" = "644 $me"
chmod g+w "$plugins"
expect "a folder in which it would not be loaded" 3 "" "could have written" plugin install one.so
chmod g-w "$plugins"
if [ "$(id -u)" != 0 ]; then
    chmod a-w "$plugins"
    expect "a folder that cannot be written to" 1 "" "providers cannot be written to: Permission denied" plugin install one.so
    chmod u+w "$plugins"
fi

# ---- what hides what ----
mkdir "$scratch/first"
cp "$so/only_execute.so" "$scratch/first/"
export SANDLOT_PLUGIN_PATH=$scratch/first
json "an earlier folder hides it" 0 '.shadowed_by.path | endswith("/first/only_execute.so")' plugin install one.so
expect "in words" 0 "*" "not used, because the plugin .*first" plugin install one.so
printf '[sandboxes.providers.only_execute]\nclass_path = "%s:only_execute"\n' "$PWD/one.so" >"$config"
chmod 644 one.so
expect "the configuration does" 0 "*" "not used, because the entry \[sandboxes.providers.only_execute\]" plugin install one.so
json "list has both, and what hides them" 0 '.plugins | map(select(.name == "only_execute")) | length == 2 and
    all(.shadowed_by.source == "config" and .abi == "1.4")' plugin list
rm "$config"
expect "remove takes the one of this user" 0 "$plugins/one.so" "*" plugin remove only_execute
usage "the other one is not touched" "it is .*first/only_execute.so" plugin remove only_execute
unset SANDLOT_PLUGIN_PATH
cp "$BUILD/builtins/local.so" .
json "in the place of a built-in" 0 '.shadows | length == 1 and .[0].source == "builtin"' plugin install local.so
expect "remove it again" 0 "$plugins/local.so" "*" plugin remove local

# ---- credentials ----
expect "what is missing is named" 0 "*" "echo_parameters is installed but not ready yet: credentials are missing: set ECHO_API_KEY" \
    plugin install "$so/echo_parameters.so"
rm -f "$plugins"/*.so

# ---- remove and list ----
cp "$so/note_two.so" two.so
"$SANDLOT" -q plugin install two.so >/dev/null
several=$("$SANDLOT" plugin list --json | jq -r --arg folder "$plugins" '[.plugins[] | select(.path | startswith($folder))][0].name')
usage "a file with more than that" "also provides .*; pass --all" plugin remove "$several"
json "--all" 0 '.providers | length > 1' plugin remove --all "$several"
check "it is gone" test -z "$(ls -A "$plugins")"
usage "unknown, with the nearest" "there is no plugin" plugin remove "$several"
usage "a built-in" "comes with Sandlot" plugin remove local
printf '[sandboxes.providers.mine]\nclass_path = "x.so:mine"\n' >"$config"
usage "a configuration entry" "take \[sandboxes.providers.mine\] out" plugin remove mine
rm "$config"
cp one.so "$plugins/one.so"
usage "a typo" "did you mean only_execute" plugin remove only_exceute
# All listings judge alike whether a provider is ready, without any code of a plugin; who names one asks the plugin, too.
cp "$so/every_function.so" every.so
json "what asks for its credentials itself is installed without being asked" 0 '.name == "every_function" and .ready' plugin install every.so
ready_of() { "$SANDLOT" --json "$@" | "$fast_jq" -c '[.plugins // .providers | .[] | select(.path and .name) | {name, path, ready, reason}] | sort_by(.path)'; }
check "list and providers judge alike" test "$(ready_of plugin list)" = "$(ready_of providers | "$fast_jq" -c --argjson listed "$(ready_of plugin list)" 'map(select(.path | IN($listed[].path)))')"
json "who names it asks it" 0 '.providers[0] | (.ready | not) and (.reason | contains("EVERY_DECLARED is not set"))' providers every_function
rm "$plugins/every.so"
cp text.so "$plugins/broken.so"
json "list has what cannot be used" 0 '.plugins | map(select(.name == null)) | length == 1 and
    (.[0].path | endswith("/broken.so")) and (.[0].ready | not) and (.[0].reason | length > 0)' plugin list
expect "in words" 0 "*" "*" plugin list
check "both are there" test "$(grep -c "^only_execute *1.4  yes\|^- .*no .*broken.so" "$scratch/out")" = 2
check "the path of a file that cannot be used stands there once" test "$(grep -o "broken.so" "$scratch/out" | wc -l)" = 1
check "before what is wrong with it" grep -q "broken.so  cannot be used: " "$scratch/out"
expect "it goes by its file name" 0 "$plugins/broken.so" "*" plugin remove broken
cp text.so "$plugins/broken.so"
expect "and by that as it is" 0 "$plugins/broken.so" "*" plugin remove broken.so
cp one.so "$plugins/second.so"
expect "a file whose provider another one also has" 0 "$plugins/second.so" "*" plugin remove second.so
check "the other one stays" test -f "$plugins/one.so"
expect "the file of a provider" 0 "$plugins/one.so" "*" plugin remove one.so
cp two.so one.so "$plugins/"
json "the name of a file means all that is in it" 0 '.providers | length > 1' plugin remove two.so
mkdir "$plugins/dir.so"
json "a folder is not for us" 1 '.error == "is_directory" and (.message | test("rmdir")) and (.message | test("rights") | not)' \
    plugin remove dir.so
rmdir "$plugins/dir.so"
mkdir "$scratch/else"
cp two.so text.so "$scratch/else/"
SANDLOT_PLUGIN_PATH=$scratch/else usage "a file elsewhere" "text.so is not in the folder that this command looks after" plugin remove text.so
expect "a provider with a sandbox" 0 "*" "*" plugin remove only_execute
json "an empty list" 0 "[.plugins[] | select(.path | startswith(\"$BUILD\") | not)] == []" plugin list

# ---- sandboxes that are still there ----
if "${CC:-gcc}" -std=c11 -D_GNU_SOURCE -fPIC -shared -I"$OLDPWD/include" -o minimal.so "$OLDPWD/sdk/examples/minimal/minimal.c" 2>/dev/null; then
    "$SANDLOT" -q plugin install minimal.so >/dev/null
    id=$("$SANDLOT" create --sandbox minimal)
    expect "sandboxes that nothing can delete any more are named" 0 "*" "still there.*$id.*install it again" plugin remove minimal
    "$SANDLOT" -q plugin install minimal.so >/dev/null
    expect "and can be deleted then" 0 "*" "*" delete --sandbox minimal "$id"
    expect "then there is nothing to tell" 0 "$plugins/minimal.so" "*" plugin remove minimal
    check "and nothing is told" test -z "$err"
else
    echo "ok sandboxes that nothing can delete any more are named # SKIP no compiler"
fi

# ---- for all users: in a mount namespace, where the folder is ours ----
if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
    cat >"$scratch/system.sh" <<'END2'
mount -t tmpfs none /usr/local/lib || exit 77
"$1" -q plugin install --system "$2" && "$1" plugin list --json && "$1" plugin remove only_execute
"$1" plugin remove --system only_execute
END2
    unshare --mount sh "$scratch/system.sh" "$SANDLOT" "$PWD/one.so" >"$scratch/out" 2>"$scratch/err"
    status=$? out=$(cat "$scratch/out") err=$(cat "$scratch/err") ran="the system's folder"
    if [ "$status" = 77 ]; then
        echo "ok --system # SKIP no tmpfs"
    else
        check "--system installs and removes" test "$status" = 0
        check "in the folder for all users" test "$(grep -c '^/usr/local/lib/sandlot/providers/one.so$' "$scratch/out")" = 2
        check "where it is found" grep -q '"path":"/usr/local/lib/sandlot/providers/one.so"' "$scratch/out"
        check "which is not the user's" grep -q "installed for all users.*pass --system" "$scratch/err"
    fi
else
    echo "ok --system # SKIP only root has a folder for all users"
fi
if [ "$(id -u)" != 0 ] && [ ! -w /usr/local/lib ]; then
    expect "without the right to" 1 "" "run this command as root" plugin install --system one.so
fi
check "nothing is left half done" test -z "$(ls -A "$plugins")"
