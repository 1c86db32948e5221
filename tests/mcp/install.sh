#!/bin/bash
# Installs what package-lock.json names into a folder that holds it already. No script of any package is run.
#
#   tests/mcp/install.sh FOLDER WHAT
#
# WHAT they are, in a few words, is for messages.
# Without npm or network that is said, and the tests skip; where CI is set it is a failure.
set -u

cd "$1" || exit 2
what=$2
rm -f installed
without() {
    echo "  no $what for the tests: $1" >&2
    [ -z "${CI:-}" ] && exit 0
    exit 1
}
command -v npm >/dev/null || without "npm is not installed (make deps)"
if ! HOME=$PWD timeout -k 5 600 npm ci --ignore-scripts --silent --fetch-retries 1 --cache "$PWD/cache" >install.log 2>&1; then
    without "npm ci failed, see $PWD/install.log: $(tail -n 1 install.log)"
fi
rm -rf cache
: >installed
