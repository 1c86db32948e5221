#!/bin/bash
# The figures of the project, each as a ratio within one run.
#
#   tests/bench/bench.sh [BUILD [PART...]]      with BOXES=1000 boxes alive at once
#
# PART is one of those of bench.c, or "vendors": the cloud providers beside their vendors' own SDKs (vendors.sh). With SANDLOT_TEST_SLOW also what takes long: a file of 4 GiB.
#
# Ends with 0 unless something could not be measured or is over three times its target (MISS); a figure that is over
# its target by less is marked OVER, for a busy machine does that.
set -eu

cd "$(dirname "$0")/../.."
BUILD=$(realpath "${1:-${BUILD:-build}}")
[ -x /usr/bin/bwrap ] || {
    echo "bubblewrap is not installed, so there is nothing to measure against; run make deps" >&2
    exit 77
}
umask 022
plugin=$BUILD/tests/plugins/constructor_writes.so
private=$(mktemp -d)
chmod 755 "$private"
trap 'rm -rf "$private"' EXIT
trap 'exit 130' INT TERM
export HOME=$private XDG_CONFIG_HOME=$private/config XDG_STATE_HOME=$private/state XDG_DATA_HOME=$private/data
export SANDLOT_NO_ENV_FILE=1 SANDLOT_TEST_MARK=$private/mark
unset SANDLOT_CONFIG SANDLOT_PLUGIN_PATH

# A thousand providers of different names: the same file with another number wherever the name stands.
mkdir -m 755 "$private/plugins"
for ((i = 0; i < 1000; i++)); do
    number=$(printf %06d "$i")
    LC_ALL=C sed "s/constructor_writes/constructor_$number/g" "$plugin" >"$private/plugins/constructor_$number.so"
done
# The constructor does leave its mark when the file is loaded, or its absence below would prove nothing.
LD_PRELOAD=$plugin SANDLOT_TEST_MARK=$private/proof /bin/true
[ -e "$private/proof" ] || {
    echo "bench: the constructor of $plugin does not run when it is loaded" >&2
    exit 1
}
listed=$(SANDLOT_PLUGIN_PATH=$private/plugins "$BUILD/sandlot" providers --json | grep -o '"name": *"constructor_[0-9]*"' | sort -u | wc -l)
[ "$listed" = 1000 ] || {
    echo "bench: only $listed of 1000 plugins are listed" >&2
    exit 1
}

# The MCP server is measured against one that runs on Node.js (`make clients`).
for node in "$BUILD"/node/node_modules/node-linux-*/bin/node; do [ ! -x "$node" ] || export SANDLOT_TEST_NODE=$node; done
server=$BUILD/node/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js
[ ! -f "$server" ] || export SANDLOT_TEST_MCP_SERVER=$server

mkdir "$private/files"
result=0
if [ "${*:2}" != vendors ]; then
    "$BUILD/bench/bench" "$BUILD/sandlot" "$private/plugins" "$BUILD/tests/plugins" "$private/files" "${BOXES:-1000}" \
        "${@:2}" || result=$?
fi
case " ${*:2} " in
    "  " | *" vendors "*)
        # Without what it measures against there is nothing to say, as with the MCP server.
        TMPDIR=$private tests/bench/vendors.sh "$BUILD" || { status=$?; [ "$status" = 77 ] || result=$status; }
        ;;
esac
if [ -e "$SANDLOT_TEST_MARK" ]; then
    echo "a plugin's constructor ran during the listing: OVER"
    exit 1
fi
echo "no plugin's constructor ran during the listing: ok"
left=$("$BUILD/sandlot" list --json | grep -c '"id":' || :)
echo "boxes left behind: $left"
[ "$left" = 0 ] && [ "$result" = 0 ]
