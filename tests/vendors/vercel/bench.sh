# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by tests/bench/vendors.sh after lib.sh.
export VERCEL_TOKEN=vcp_0123456789abcdefEMULATED VERCEL_TEAM_ID=team_emulated VERCEL_PROJECT_ID=prj_emulated
provider=(--sandbox vercel --param "base_url=$url/api")
workspace=/vercel/sandbox
relay_making=(--param ports=3000)
