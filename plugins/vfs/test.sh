# shellcheck shell=sh disable=SC2034,SC2154 # plugin-test.sh of the SDK runs this, and has $folder, $at_end and `says`
# What a user of the provider `vfs` sees first.
memory=$(mktemp -d /dev/shm/sandlot-test.XXXXXX)
at_end='rm -rf "$memory"'
chmod 711 "$memory"
printf '[sandboxes.providers.vfs]\nclass_path = "%s/vfs.so:vfs"\n' "$folder" >"$folder/refused.toml"
sed '$a isolation = "unconfined"' "$folder/refused.toml" >"$folder/config.toml"
export SANDLOT_VFS_FOLDER="$memory" SANDLOT_CONFIG="$folder/config.toml" XDG_STATE_HOME="$folder/state"

refuses "a size that is none" size_mb exec --sandbox vfs --param size_mb=0 -- true
refuses "a parameter that it does not have" siz_mb ls --sandbox vfs --param siz_mb=1
says "initial files" hello read --sandbox vfs --param 'files={"a/b":"hello"}' a/b
SANDLOT_VFS_CONFINEMENT=none says "without walls there are no commands" "only serves files" exec --sandbox vfs -- true
SANDLOT_VFS_CONFINEMENT=none says "but files" hello read --sandbox vfs --param 'files={"a/b":"hello"}' a/b
says "the wall around plugins is left by who says so" unconfined --config "$folder/refused.toml" ls --sandbox vfs
