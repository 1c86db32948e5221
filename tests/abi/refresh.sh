#!/bin/bash
# Writes what libsandlot.so promises to the programs that link with it: its functions with their types, as abidw sees them.
#
#   tests/abi/refresh.sh [-o FILE] [LIBRARY]
#
# Without -o the baseline tests/abi/libsandlot.abi, with which abi_test.sh compares. Refresh it after adding to the API, with the
# library of a plain build (build/libsandlot.so), and look at the difference: lines that go or change break programs.
set -eu

here=$(dirname "$0")
file=$here/libsandlot.abi
if [ "${1:-}" = -o ]; then
    file=$2
    shift 2
fi
library=${1:-$here/../../build/libsandlot.so}

# Nothing of the machine or the compiler: no lines, no needed libraries, no paths but those of sources in the tree; and of
# private types no more than names.
abidw --headers-dir "$here/../../include" --drop-private-types --exported-interfaces-only --no-elf-needed --no-corpus-path \
    --no-comp-dir-path --no-show-locs --no-parameter-names --type-id-style hash --out-file "$file.new" "$library"
mv "$file.new" "$file"
