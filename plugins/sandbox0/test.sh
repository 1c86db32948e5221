#!/bin/sh
# What can be seen of the provider `sandbox0` without an account. Its argument is the sandlot command.
set -eu

sandlot=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
install -m 644 sandbox0.so "$folder/"
export SANDLOT_PLUGIN_PATH="$folder" SANDLOT_NO_ENV_FILE=1
unset SANDBOX0_TOKEN SANDBOX0_API_KEY SANDLOT_SANDBOX0_TOKEN SANDLOT_SANDBOX0_API_KEY

says() { # NAME TEXT ARGUMENT...
    name=$1 text=$2
    shift 2
    "$sandlot" "$@" >"$folder/said" 2>&1 && { echo "not ok $name: it worked"; exit 1; }
    grep -qF -- "$text" "$folder/said" || { echo "not ok $name: $(cat "$folder/said")"; exit 1; }
    echo "ok $name"
}

says "without a key it names the variable" SANDBOX0_TOKEN exec --sandbox sandbox0 -- true
says "a parameter that it does not have" templat exec --sandbox sandbox0 --param templat=x -- true
says "a lifetime that is none" sandbox_ttl_sec exec --sandbox sandbox0 --param sandbox_ttl_sec=soon -- true
