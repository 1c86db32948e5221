#!/bin/bash
# The figures of the project, each as a ratio within one run.
#
#   tests/bench/bench.sh [BUILD [PART...]]      with BOXES=1000 boxes alive at once, BENCH_TURNS=3 at most so many turns of each
#
# PART is one of those of bench.c ("network" with what the proxy costs too: network.py), or "vendors": the cloud providers beside their vendors' own SDKs (vendors.sh; BENCH_VENDORS=no leaves them out). With SANDLOT_TEST_SLOW also what takes long: a file of 4 GiB.
#
# Ends with 0 unless something could not be measured, a sandbox is left, or what is the same on every machine (memory, the
# number of requests) is above its target: a line "not ok ..." says what. A time above its target is marked "over", for a busy
# machine does that.
set -eu

cd "$(dirname "$0")/../.."
BUILD=$(realpath "${1:-${BUILD:-build}}")
[ -x /usr/bin/bwrap ] || {
    echo "bubblewrap is not installed, so there is nothing to measure against; run make deps" >&2
    exit 77
}
umask 022
give_up() {
    echo "not ok $1"
    exit 1
}

# Root measures on a file system of the benchmark's own, which goes with its mount namespace: one without a journal looks, for each file
# that is made, through all that were deleted in the last five minutes, which makes of a tenth of a millisecond a whole one.
PATH=$PATH:/usr/sbin
if [ "$(id -u)" = 0 ] && [ -z "${BENCH_FILES:-}" ] && command -v mkfs.ext4 >/dev/null && unshare --mount true 2>/dev/null; then
    export BENCH_FILES
    BENCH_FILES=$(mktemp -d)
    image=$(mktemp)
    trap 'rm -f "$image"; rmdir "$BENCH_FILES"' EXIT
    trap 'exit 130' INT TERM
    status=0
    truncate -s 16G "$image"
    mkfs.ext4 -q -F "$image"
    # shellcheck disable=SC2016 # it is for that shell
    unshare --mount sh -c 'mount -o loop,discard "$0" "$BENCH_FILES" && chmod 1777 "$BENCH_FILES" || exit 78; exec "$@"' "$image" tests/bench/bench.sh "$@" || status=$?
    [ "$status" = 78 ] || exit "$status"
    echo "no file system can be mounted here, so that what is measured lies where others lie"
    BENCH_FILES=${TMPDIR:-/tmp} tests/bench/bench.sh "$@"
    exit
fi

plugin=$BUILD/tests/plugins/constructor_writes.so
private=$(mktemp -d -p "${BENCH_FILES:-${TMPDIR:-/tmp}}")
chmod 755 "$private"
memory=$(mktemp -d /dev/shm/sandlot-bench.XXXXXX)
export SANDLOT_VFS_FOLDER=$memory
trap 'rm -rf "$private" "$memory"' EXIT
trap 'exit 130' INT TERM
export TMPDIR=$private HOME=$private XDG_CONFIG_HOME=$private/config XDG_STATE_HOME=$private/state XDG_DATA_HOME=$private/data
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
[ -e "$private/proof" ] || give_up "the constructor of $plugin does not run when it is loaded"
listed=$(SANDLOT_PLUGIN_PATH=$private/plugins "$BUILD/sandlot" providers --json | grep -o '"name": *"constructor_[0-9]*"' | sort -u | wc -l)
[ "$listed" = 1000 ] || give_up "only $listed of 1000 plugins are listed"

# The MCP server is measured against one that runs on Node.js (`make clients`).
for node in "$BUILD"/node/node_modules/node-linux-*/bin/node; do [ ! -x "$node" ] || export SANDLOT_TEST_NODE=$node; done
server=$BUILD/node/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js
[ ! -f "$server" ] || export SANDLOT_TEST_MCP_SERVER=$server

# The bindings for other languages, as they lie here; that for JavaScript finds koffi (`make clients`).
export SANDLOT_LIBRARY=$BUILD/libsandlot.so.0 PYTHONPATH=sdk/python PYTHONDONTWRITEBYTECODE=1
[ ! -d "$BUILD/javascript/node_modules/koffi" ] || export NODE_PATH=$BUILD/javascript/node_modules

mkdir "$private/files"
failed=0
# part NAME COMMAND...: what it fails by it has said, unless a signal was it
part() {
    local name=$1 status=0
    shift
    "$@" || status=$?
    # Without what it measures against there is nothing to say.
    [ "$status" = 0 ] || [ "$status" = 77 ] || failed=1
    [ "$status" -lt 128 ] || echo "not ok $name ended with status $status"
}

if [ "${*:2}" != vendors ]; then
    part "the benchmark" "$BUILD/bench/bench" "$BUILD/sandlot" "$private/plugins" "$BUILD/tests/plugins" "$private/files" \
        "${BOXES:-1000}" "${@:2}"
fi
case " ${*:2} " in
    "  " | *" network "*) part "the benchmark of the proxy" /usr/bin/python3 tests/bench/network.py "$BUILD" ;;
esac
case "${BENCH_VENDORS:-} ${*:2} " in
    "  " | *" vendors "*) part "the benchmark of the vendors" tests/bench/vendors.sh "$BUILD" ;;
esac
[ ! -e "$SANDLOT_TEST_MARK" ] || give_up "no plugin's constructor runs during a listing"
echo "no plugin's constructor ran during the listing: ok"
left=$("$BUILD/sandlot" list --json | grep -c '"id":' || :)
[ "$left" = 0 ] || give_up "no sandbox is left behind: $left"
echo "boxes left behind: 0"
exit "$failed"
