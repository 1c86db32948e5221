#!/bin/sh
# What a user of the provider `vfs` sees first. Its argument is the sandlot command.
set -eu

sandlot=$1
folder=$(mktemp -d)
memory=$(mktemp -d /dev/shm/sandlot-test.XXXXXX)
trap 'rm -rf "$folder" "$memory"' EXIT
chmod 711 "$memory"
install -m 644 vfs.so "$folder/"
printf '[sandboxes.providers.vfs]\nclass_path = "%s/vfs.so:vfs"\n' "$folder" >"$folder/refused.toml"
sed '$a isolation = "unconfined"' "$folder/refused.toml" >"$folder/config.toml"
export SANDLOT_NO_ENV_FILE=1 SANDLOT_VFS_FOLDER="$memory" SANDLOT_CONFIG="$folder/config.toml" XDG_STATE_HOME="$folder/state"

says() { # NAME TEXT ARGUMENT...
    name=$1 text=$2
    shift 2
    "$sandlot" "$@" >"$folder/said" 2>&1 || : # some are to fail, and to say why
    grep -qF -- "$text" "$folder/said" || { echo "not ok $name: $(cat "$folder/said")"; exit 1; }
    echo "ok $name"
}

says "a size that is none" size_mb exec --sandbox vfs --param size_mb=0 -- true
says "a parameter that it does not have" siz_mb ls --sandbox vfs --param siz_mb=1
says "initial files" hello read --sandbox vfs --param 'files={"a/b":"hello"}' a/b
SANDLOT_VFS_CONFINEMENT=none says "without walls there are no commands" "only serves files" exec --sandbox vfs -- true
SANDLOT_VFS_CONFINEMENT=none says "but files" hello read --sandbox vfs --param 'files={"a/b":"hello"}' a/b
says "the wall around plugins is left by who says so" unconfined --config "$folder/refused.toml" ls --sandbox vfs
