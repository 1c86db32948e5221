# shellcheck shell=sh disable=SC1007,SC1091,SC2034,SC2046,SC2086,SC2154
#
# Many small files, from an archive on standard input. Its entry `run` is the second script here, and a line D for each
# folder, F for each file after it; the files lie in folders that are numbered.

#= batch_unpacking_script

u=$(umask)
umask 077
s=$(mktemp -d /tmp/.sandlot-XXXXXXXXXXXX) || exit 1
trap 'rm -rf "$s"' 0
trap 'exit 1' 1 2 15
cd "$s" || exit 1
umask 0
tar xmof - 2>/dev/null || exit 1
umask "$u"
. ./run 2>/dev/null

# The second script, before whose lines D there is one that makes the folders.

#= batch_placing_script

export LC_ALL=C
set -f
#+ place_many
