# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# The test provider `only_execute`: sandboxes of `local` whose files are reached by commands alone.
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/rows.sh"
need_local

# It makes boxes itself, which a confined process cannot.
printf '[sandboxes.providers.only_execute]\nisolation = "unconfined"\n' >"$config"
export SANDLOT_PLUGIN_PATH=$BUILD/tests/plugins
LIMIT=120

# busybox_root FOLDER: a root file system with BusyBox and nothing else
busybox_root() {
    local busybox name
    busybox=$(command -v busybox) || { echo "busybox is not installed"; exit 77; }
    mkdir -p "$1/bin" "$1/usr" "$1/etc" "$1/tmp" "$1/lib" || exit 1
    cp "$busybox" "$1/bin/busybox"
    for name in $("$busybox" --list); do [ "$name" = busybox ] || ln -s busybox "$1/bin/$name"; done
}
