# shellcheck shell=sh # plugin-test.sh of the SDK runs this, and has `refuses`
# What can be seen of the provider `deno` without an account.
unset DENO_DEPLOY_TOKEN DENO_DEPLOY_ORG SANDLOT_DENO_DEPLOY_TOKEN SANDLOT_DENO_DEPLOY_ORG

refuses "without a token it names the variable" DENO_DEPLOY_TOKEN exec --sandbox deno -- true
export DENO_DEPLOY_TOKEN=ddp_of_a_person
refuses "a personal token needs an organization" DENO_DEPLOY_ORG exec --sandbox deno -- true
export DENO_DEPLOY_TOKEN=ddo_of_an_organization
refuses "an id that there cannot be" "sbx_ord_" exec --sandbox deno --sandbox-id box-1 -- true
refuses "a region that is none" "no region of Deno" exec --sandbox deno --param region=EU -- true
refuses "too little memory" "768 to 4096" exec --sandbox deno --param memory_mb=100 -- true
refuses "too many labels" "labels" exec --sandbox deno --param 'labels={"a":1,"b":2,"c":3,"d":4,"e":5}' -- true
