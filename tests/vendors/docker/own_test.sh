#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2034,SC2154
# The provider docker by the conformance kit, at the emulator of an engine: in a worker, and in the kit's own process.
. tests/vendors/lib.sh

unset DOCKER_HOST DOCKER_CONTEXT DOCKER_TLS DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION CONTAINER_HOST
export DOCKER_CONFIG=$scratch/docker
mkdir -p "$DOCKER_CONFIG"
vendor_use docker
provider=(--sandbox docker --param "base_url=$url" --param image=debian:stable)

vendor_kit
part kit_group processes
part kit_group ports
parts_run
vendor_sound
