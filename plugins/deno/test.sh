#!/bin/sh
# What can be seen of the provider `deno` without an account. Its argument is the sandlot command.
set -eu

sandlot=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
install -m 644 deno.so "$folder/"
export SANDLOT_PLUGIN_PATH="$folder" SANDLOT_NO_ENV_FILE=1
unset DENO_DEPLOY_TOKEN DENO_DEPLOY_ORG SANDLOT_DENO_DEPLOY_TOKEN SANDLOT_DENO_DEPLOY_ORG

says() { # NAME TEXT ARGUMENT...
    name=$1 text=$2
    shift 2
    "$sandlot" "$@" >"$folder/said" 2>&1 && { echo "not ok $name: it worked"; exit 1; }
    grep -qF -- "$text" "$folder/said" || { echo "not ok $name: $(cat "$folder/said")"; exit 1; }
    echo "ok $name"
}

says "without a token it names the variable" DENO_DEPLOY_TOKEN exec --sandbox deno -- true
export DENO_DEPLOY_TOKEN=ddp_of_a_person
says "a personal token needs an organization" DENO_DEPLOY_ORG exec --sandbox deno -- true
export DENO_DEPLOY_TOKEN=ddo_of_an_organization
says "an id that there cannot be" "sbx_ord_" exec --sandbox deno --sandbox-id box-1 -- true
says "a region that is none" "no region of Deno" exec --sandbox deno --param region=EU -- true
says "too little memory" "768 to 4096" exec --sandbox deno --param memory_mb=100 -- true
says "too many labels" "labels" exec --sandbox deno --param 'labels={"a":1,"b":2,"c":3,"d":4,"e":5}' -- true
