#!/bin/sh
# What can be seen of the provider `e2b` without an account. Its argument is the sandlot command.
set -eu

sandlot=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
install -m 644 e2b.so "$folder/"
export SANDLOT_PLUGIN_PATH="$folder" SANDLOT_NO_ENV_FILE=1
unset E2B_API_KEY E2B_ACCESS_TOKEN SANDLOT_E2B_API_KEY SANDLOT_E2B_ACCESS_TOKEN

says() { # NAME TEXT ARGUMENT...
    name=$1 text=$2
    shift 2
    "$sandlot" "$@" >"$folder/said" 2>&1 && { echo "not ok $name: it worked"; exit 1; }
    grep -qF -- "$text" "$folder/said" || { echo "not ok $name: $(cat "$folder/said")"; exit 1; }
    echo "ok $name"
}

says "without a key it names the variable" E2B_API_KEY exec --sandbox e2b -- true
says "a parameter that it does not have" templat exec --sandbox e2b --param templat=x -- true
export E2B_API_KEY=e2b_00000000
says "what excludes each other, before any request" auto_pause exec --sandbox e2b --param auto_resume=true -- true
says "a table that is none" metadata exec --sandbox e2b --param metadata=word -- true
