#!/bin/bash
# What a provider in a process of its own reaches of the machine, and what not. It runs as this user, and the folder for
# temporary files is its to use, so what it must not see lies elsewhere.
# shellcheck disable=SC1091,SC2154 # lib.sh sets status, out, err and the folders
. "$(dirname "$0")/lib.sh"
home=$(mktemp -d /var/tmp/sandlot-wall.XXXXXX) || exit 2
finish_wall() {
    local result=$?
    delete_all
    rm -rf "$home"
    export HOME=$scratch XDG_CONFIG_HOME=$scratch/config XDG_STATE_HOME=$scratch/state # what finish asks makes folders
    (exit "$result")                                                                     # finish looks at it
    finish
}
trap finish_wall EXIT
export HOME=$home XDG_CONFIG_HOME=$home/.config XDG_DATA_HOME=$home/.local/share XDG_STATE_HOME=$home/.local/state
plugins=$XDG_DATA_HOME/sandlot/providers
config=$XDG_CONFIG_HOME/sandlot/config.toml
mkdir -p "$plugins/misbehaves" "$XDG_CONFIG_HOME/sandlot" "$HOME/.misbehaves" "$HOME/.other" "$HOME/.ssh" "$home/project" "$home/file"
cp "$BUILD"/tests/plugins/{fake,misbehaves,only_execute,shows_folder}.so "$plugins/" || exit 2
for file in .misbehaves/token .other/token .ssh/id project/.env file/named file/beside; do echo "$file" >"$HOME/$file"; done
echo library >"$plugins/misbehaves/library.so"
echo 'KEY=of-another-provider' >"$XDG_CONFIG_HOME/sandlot/.env"
export MISBEHAVES_KEY=key-of-the-test MISBEHAVES_FILE=$home/file/named MISBEHAVES_FOLDER=$home/.config

# The wall for files is the kernel's; without it less is promised.
has_landlock() { "$SANDLOT" --json doctor 2>/dev/null | jq -e '.machine.landlock.value | startswith("ABI")' >/dev/null; }
landlock_abi() { "$SANDLOT" --json doctor 2>/dev/null | jq -r '.machine.landlock.value | ltrimstr("ABI ")'; }

yes="yes"
no="Permission denied|Operation not permitted"
# reach NAME WANT COMMAND OPTION...: what becomes of it behind the wall
reach() {
    local name=$1 want=$2 command=$3
    shift 3
    run exec --sandbox misbehaves "$@" -- "$command"
    check "$name" grep -qE "^[a-z]*: (${want})\$" "$scratch/out"
}

if has_landlock; then
    # ---- what it was given ----
    reach "its library" "$yes" "read $plugins/misbehaves.so"
    reach "its own folder beside it" "$yes" "read $plugins/misbehaves/library.so"
    reach "a library of the system" "$yes" "read /usr/lib"
    reach "how names of hosts are found" "$yes" "read /etc/hosts"
    reach "its own process" "$yes" "read /proc/self/status"
    reach "a declared folder" "$yes" "read $HOME/.misbehaves/token"
    reach "a file that a declared variable names" "$yes" "read $HOME/file/named"
    reach "a folder to write to is made" "$yes" "write $HOME/.cache/misbehaves/new"
    reach "temporary files" "$yes" "write $scratch/temporary"
    reach "what a parameter names" "$yes" "write $home/file/beside" --param "journal=$home/file/beside"

    # ---- and nothing else ----
    reach "a declared folder is read only" "$no" "write $HOME/.misbehaves/token"
    reach "what lies beside a named file" "$no" "read $HOME/file/beside"
    reach "the home folder" "$no" "read $HOME"
    reach "keys of others" "$no" "read $HOME/.ssh/id"
    reach "another provider's folder" "$no" "read $HOME/.other/token"
    reach "another provider's library" "$no" "read $plugins/fake.so"
    reach "the folder of plugins" "$no" "read $plugins"
    reach "a new plugin" "$no" "write $plugins/evil.so"
    reach "the ledger" "$no" "read $XDG_STATE_HOME/sandlot"
    reach "the configuration" "$no" "read $XDG_CONFIG_HOME/sandlot/.env"
    reach "a project" "$no" "read $HOME/project/.env"
    reach "all processes" "$no" "read /proc"
    reach "the host's command line" "$no" "read /proc/host/cmdline"
    check "Sandlot's folders cannot be declared" grep -q "does not see .*/.config, where Sandlot's own files are" "$scratch/err"
    [ "$(id -u)" != 0 ] || reach "secrets of root" "$no" "read /etc/shadow"
fi
# With Landlock or without it:
reach "the host's environment" "$no" "read /proc/host/environ"
reach "the host's memory" "$no" "read /proc/host/mem"
reach "a socket of the machine" "$no" "connect /run/dbus/system_bus_socket"
run exec --sandbox misbehaves -- "reach 0"
check "the memory of the host" grep -qE "^memory: ($no)$" "$scratch/out"
check "tracing the host" grep -qE "^trace: ($no)$" "$scratch/out"
for what in priority "all priorities"; do check "the host's $what" grep -qE "^$what: ($no)$" "$scratch/out"; done
if has_landlock && [ "$(landlock_abi)" -ge 6 ]; then
    check "signals to the host" grep -qE "^signal: ($no)$" "$scratch/out"
fi

# ---- without the kernel's wall for files ----
without=$BUILD/tests/local/without
sandlot=$SANDLOT
SANDLOT=$scratch/sandlot
printf '#!/bin/sh\nexec "%s" landlock -- "%s" "$@"\n' "$without" "$sandlot" >"$SANDLOT"
chmod +x "$SANDLOT"
run -v exec --sandbox misbehaves -- "read $HOME/.ssh/id"
check "it says that files are not guarded" grep -q "no Landlock: the provider's process can read your files" "$scratch/err"
reach "the host's environment, by other means" "$no" "read /proc/host/environ"
reach "the host's memory, by other means" "$no" "read /proc/host/mem"
reach "a socket, by other means" "$no" "connect /run/dbus/system_bus_socket"
run doctor
check "doctor says so" grep -q "without it the providers of plugins can read your files" "$scratch/out"
SANDLOT=$sandlot

# A host that keeps others out by itself: its files in /proc are root's as long as it has a worker.
"$SANDLOT" exec --sandbox misbehaves -- deaf >/dev/null 2>&1 &
command=$!
is_hidden() { [ "$(stat -c %u "/proc/$command/environ")" = 0 ]; }
has_worker() { pgrep -x -P "$command" sandlot-worker >/dev/null; }
check "a command runs" until_true 10 has_worker
check "its host is not dumpable" is_hidden
kill -INT "$command"
wait "$command"

# ---- what its host does for it ----
mkdir "$scratch/own"
echo mine >"$scratch/own/file"
shown() { # FOLDER COMMAND ARGUMENT...: in the sandbox whose files are FOLDER
    run -q "$2" --sandbox shows_folder --param "folder=$1" "${@:3}"
}
refused() { [ "$status" != 0 ] && [ ! -s "$scratch/out" ]; }
shown "$scratch/own" read /file
check "files that it may use itself can be its sandbox's" grep -q mine "$scratch/out"
for folder in "$HOME" / /usr; do
    shown "$folder" ls /
    check "$folder cannot" refused
done
printf new >"$scratch/new"
input=$scratch/new shown "$HOME" write /.ssh/id
check "nothing is written there" grep -qx .ssh/id "$HOME/.ssh/id"
printf '[sandboxes.providers.shows_folder]\nisolation = "unconfined"\n' >"$config"
shown "$HOME" read /.ssh/id
check "but where the operator has opened the wall" grep -q .ssh/id "$scratch/out"
rm "$config"

# ---- who may go without ----
json "an entry point cannot open the wall by itself" 3 '.message | test("isolation = .unconfined. in \\[sandboxes.providers.only_execute\\]")' \
    exec --sandbox only_execute -- true
cat >"$config" <<END
[sandboxes.providers.misbehaves]
isolation = "unconfined"
END
reach "the operator can" "$yes" "read $HOME/.ssh/id"
run exec --sandbox misbehaves -- environ
check "the environment is not opened by that" test "$(grep -c "^HOME=\|^MISBEHAVES_KEY=" "$scratch/out")" = 2
