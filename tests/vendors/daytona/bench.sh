# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by tests/bench/vendors.sh after lib.sh.
export DAYTONA_API_KEY=dtn_0123456789abcdef0123456789abcdef
provider=(--sandbox daytona --param "base_url=$url/api")
workspace=/home/daytona
