#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2034,SC2154
# The provider docker against an emulator of the engine's API, for what real engines do not do on demand: faults. That the emulator
# answers as engines do, the client of most programs says; what only real engines can prove is in engines_test.sh.
. tests/vendors/lib.sh

secret=registry-secret-0123
unknown_id=0123456789ab
declare -A requests_of=(
    [create]='POST /containers/create[?]' [attach]='GET /containers/[^/]*/json$' [exec]='POST /containers/[^/]*/exec$'
    [upload]='PUT /containers/[^/]*/archive[?]' [download]='GET /containers/[^/]*/archive[?]' [list]='GET /containers/json[?]'
    [delete]='DELETE /containers/'
)

unset DOCKER_HOST DOCKER_CONTEXT DOCKER_TLS DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION CONTAINER_HOST
export DOCKER_CONFIG=$scratch/docker
mkdir -p "$DOCKER_CONFIG"
vendor_use docker
[ "${1:-}" = no-sdk ] || part vendor_script sdk "$url"
provider=(--sandbox docker --param "base_url=$url" --param image=debian:stable) workspace=/workspace as_root=true utf8_names=true

# Another network than none, by the parameter too.
docker_network() {
    usage "its own parameter beside a policy" "parameter network and a network policy" create "${provider[@]}" --network off --param network=bridge
    made_allowed --param network=bridge || return
    reach "a network of the engine" "$id" yes a.example:443
    gone "$id"
    made || return
    reach "what it gets when nothing is asked" "$id" no a.example:443
    gone "$id"
}

input_streams=true # with the command
export PARAMETER_image=debian:stable
vendor_starved
vendor_lifecycle
vendor_network docker_network
vendor_faults
vendor_rows
parts_run
vendor_sound
