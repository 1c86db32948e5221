#!/bin/bash
# Folders of the machine that a box sees: what is shown of them, what a box can do there, and what is never shown. And what the
# machine knows of its packages, which builds ask for.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
need_local
chmod 711 "$scratch"

tools=$scratch/opt/tools
mkdir -p "$tools/bin" "$scratch/opt/beside" "$HOME/.rustup/toolchains" "$HOME/.ssh" "$HOME/.config/gcloud" "$HOME/.cargo/bin" \
    "$HOME/closed" "$scratch/copy/.aws" "$scratch/keys"
printf '#!/bin/sh\necho tool\n' >"$tools/bin/tool"
chmod 755 "$tools/bin/tool" "$HOME" "$scratch/opt" "$HOME/.rustup"
chmod 700 "$HOME/closed"
echo token >"$HOME/.cargo/credentials.toml"
echo key >"$scratch/keys/id"
ln -s "$scratch/keys" "$HOME/.gnupg"
ln -s "$HOME/.ssh" "$scratch/link-to-keys"
ln -s "$tools" "$scratch/link-to-tools"
mkfifo "$tools/pipe"
chmod 666 "$tools/pipe"

# ---- packages ----

if command -v dpkg-query >/dev/null; then
    expect "dpkg-query knows a package" 0 "bash" "*" -q exec -- 'dpkg-query -W -f "\${Package}" bash'
    expect "dpkg -l and dpkg -S too" 0 "*" "*" -q exec -- 'dpkg -l bash && dpkg -S /bin/bash'
    expect "and with landlock" 0 "*" "*" -q exec --param confinement=landlock -- 'dpkg-query -W bash && dpkg -l bash'
    expect "nobody changes what it knows" 1 "*" "*" -q exec --param fake_root=true -- 'echo >>/var/lib/dpkg/status'
else
    echo "SKIP: the machine has no dpkg"
fi

# ---- what is shown ----

expect "a folder is at its own place" 0 "tool" "*" -q exec --param "show=$tools" -- "$tools/bin/tool"
expect "and several, below the home too" 0 "tool
toolchains" "*" -q exec --param "show=$tools,~/.rustup" -- "$tools/bin/tool; ls $HOME/.rustup"
expect "a link is shown where it was asked for" 0 "tool" "*" -q exec --param "show=$scratch/link-to-tools" -- \
    "$scratch/link-to-tools/bin/tool"
expect "one within another" 0 "tool" "*" -q exec --param "show=$tools/bin,$tools" -- "$tools/bin/tool"
cat >"$config" <<END
[sandboxes.providers.local.params]
show = ["$tools"]
END
expect "the configuration says it as an array" 0 "tool" "*" -q exec -- "$tools/bin/tool"
rm -f "$config"
for each in null 5; do
    expect "$each is no folder" 2 "" "show: \"$each\" is no absolute path" exec --param "show=[$each,\"$tools\"]" -- true
done
expect "with landlock" 0 "tool" "*" -q exec --param confinement=landlock --param "show=$tools" -- "$tools/bin/tool"
expect "in memory" 0 "tool" "*" -q exec --param storage=memory --param "show=$tools" -- "$tools/bin/tool"
mkdir -p "$scratch/tree/bin"
if busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1; then
    cp "$busybox" "$scratch/tree/bin/sh"
    expect "with another root file system" 0 "tool" "*" -q exec --param "rootfs=$scratch/tree" --param "show=$tools" -- \
        "$tools/bin/tool"
else
    echo "SKIP: no static busybox for another root file system"
fi
top=/sandlot-shown-$$
if mkdir "$top" 2>/dev/null; then # root alone may, and this is the only place for a folder of "/" that no box has
    expect "a folder of / stays one that is the machine's" 0 "" "*" -q exec --param "show=$top" -- "! mv $top /other 2>/dev/null"
    rmdir "$top"
fi

# ---- what a box can do there ----

in_both() {
    local mode
    for mode in full landlock; do
        expect "$1 ($mode)" 0 "$2" "*" -q exec --param "confinement=$mode" --param "show=$tools" -- "$3"
    done
}
in_both "nothing beside it is seen" "" "cat $scratch/opt/beside/* $HOME/.ssh/* 2>/dev/null; ls $scratch/opt/beside 2>/dev/null; true"
in_both "nothing is written" "" "{ touch $tools/new || echo >>$tools/bin/tool || rm $tools/bin/tool ||
    mv $tools/bin $tools/other || ln $tools/bin/tool $tools/bin/again; } 2>/dev/null && echo written; true"
expect "no mode is changed" 1 "*" "*" -q exec --param "show=$tools" -- "chmod 777 $tools"
check "and nothing has been" test "$(ls "$tools")$(stat -c %a "$tools/bin/tool")" = "bin
pipe755"
cat >"$scratch/work/ends.py" <<'END'
import os, socket, sys
folder = sys.argv[1]
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        socket.socket(socket.AF_UNIX, kind).connect(folder + "/socket")
        print("connected")
    except OSError:
        pass
try:
    os.write(os.open(folder + "/pipe", os.O_WRONLY | os.O_NONBLOCK), b"x")
    print("written")
except OSError:
    pass
END
python3 - "$tools" "$scratch/ready" <<'END' &
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1] + "/socket")
os.chmod(sys.argv[1] + "/socket", 0o777)
listener.listen()
reader = os.open(sys.argv[1] + "/pipe", os.O_RDONLY | os.O_NONBLOCK)
open(sys.argv[2], "w").close()
listener.accept()
END
server=$!
check "there is a socket and a pipe in it" until_true 10 test -e "$scratch/ready"
check "they can be reached outside" test "$(python3 -c "
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).connect_ex('$tools/socket')
print('tried')")" = tried
expect "but not by a box" 0 "" "*" -q exec --param "show=$tools" --param "workspace=$scratch/work" -- "python3 ends.py $tools"
kill "$server"
wait "$server" 2>/dev/null
rm -f "$tools/socket"

# ---- what is never shown ----

# refused PATH PATTERN: with a reason that PATTERN is found in, and nothing is made
refused() { usage "refused: ${1/#$scratch/...}" "$2" exec --param "show=$1" -- true; }

refused / 'own'
refused "$HOME" 'home as a whole'
tilde='~' # as it is written
refused "$tilde" 'home as a whole'
refused "$scratch" 'home as a whole'
refused /home 'own'
refused /etc 'own'
refused /tmp 'own'
refused /workspace 'cannot be opened|own'
refused /proc/self 'lies in /proc'
refused /dev/shm 'lies in /dev'
refused /sys/kernel 'lies in /sys'
refused "$HOME/.ssh" 'keys'
refused "$tilde/.ssh" 'keys'
refused "$HOME/.config" 'holds what keeps keys'
refused "$HOME/.config/gcloud" 'keys'
refused "$HOME/.config/sandlot" 'keys'
refused "$HOME/.cargo" 'holds what keeps keys: .*credentials.toml; name the other'
refused "$HOME/.local/state" 'keys'
refused "$XDG_STATE_HOME/sandlot/local/boxes" 'keys'
refused "$scratch/link-to-keys" 'keys'
refused "$scratch/keys" 'keys'
refused "$scratch/copy" 'holds what keeps keys'
refused "$scratch/copy/.aws" 'keys'
refused "$tools/bin/tool" 'no folder'
refused "$tools/pipe" 'no folder'
refused "$scratch/none" 'cannot be opened'
refused "$tools/../tools" 'upwards'
refused tools 'absolute'
refused "$(printf '%s/a\tb' "$scratch")" 'control'
expect "a view of the kernel is no workspace" 3 "" "folder /proc holds no files but a view of the kernel.*name a folder of files" \
    -q exec --param workspace=/proc -- true
# Of /dev, below which much is mounted.
[ "$(id -u)" = 0 ] || expect "nor is a folder with something mounted below it" 3 "" "workspace: .*mounted below it, name a folder beside" \
    -q exec --param workspace=/dev -- true
refused "/1$(printf ',/%d' {2..17})" 'too many'
if [ "$(id -u)" = 0 ]; then
    refused "$HOME/closed" 'chmod o\+rx'
    refused /root 'home as a whole'
else
    refused /root 'others|cannot be'
fi
expect "what is beside the keys is shown, as the reasons say" 0 "" "*" -q exec --param "show=~/.cargo/bin" -- "ls $HOME/.cargo/bin"
nothing_left "nothing is left"
