#!/bin/sh
# The providers that have a package of their own, one name a line: each folder of plugins/ with sources, but `local`, which is in
# the command's package.
set -eu

cd "$(dirname "$0")/.."
for folder in plugins/*/; do
    name=$(basename "$folder")
    [ "$name" = local ] || ! ls "$folder"*.c >/dev/null 2>&1 || echo "$name"
done
