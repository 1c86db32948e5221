#!/bin/sh
# What `make test` of a provider's project runs: ./test.sh with the functions below, where the library that was just built is
# found as a plugin and no .env file is read. Arguments: the provider's name, the sandlot command.
set -eu

name=$1
sandlot=$2
folder=$(mktemp -d) # of the test's own, gone at its end
at_end=:            # what test.sh wants done then
trap 'eval "$at_end"; rm -rf "$folder"' EXIT
install -m 644 "$name.so" "$folder/"
export SANDLOT_PLUGIN_PATH="$folder" SANDLOT_NO_ENV_FILE=1

# equal LABEL WANTED GOT
equal() {
    [ "$2" = "$3" ] || { echo "not ok $1: wanted '$2', got '$3'"; exit 1; }
    echo "ok $1"
}

# says LABEL TEXT ARGUMENT...: TEXT is among what sandlot says with these arguments, whether it works or fails
says() {
    label=$1 text=$2
    shift 2
    worked=yes
    "$sandlot" "$@" >"$folder/said" 2>&1 || worked=no
    grep -qF -- "$text" "$folder/said" || { echo "not ok $label: $(cat "$folder/said")"; exit 1; }
    echo "ok $label"
}

# refuses LABEL TEXT ARGUMENT...: it fails, and says TEXT
refuses() {
    says "$@"
    [ "$worked" = no ] || { echo "not ok $1: it worked"; exit 1; }
}

. ./test.sh
