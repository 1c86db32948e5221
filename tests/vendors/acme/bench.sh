# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by tests/bench/vendors.sh after lib.sh.
export ACME_API_KEY=acme-secret-key-0123456789
cp "$BUILD/tests/plugins/acme.so" "$plugins/" || exit 2
provider=(--sandbox acme --param "base_url=$url")
workspace=/home/acme
