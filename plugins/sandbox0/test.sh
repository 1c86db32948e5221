# shellcheck shell=sh # plugin-test.sh of the SDK runs this, and has `refuses`
# What can be seen of the provider `sandbox0` without an account.
unset SANDBOX0_TOKEN SANDBOX0_API_KEY SANDLOT_SANDBOX0_TOKEN SANDLOT_SANDBOX0_API_KEY

refuses "without a key it names the variable" SANDBOX0_TOKEN exec --sandbox sandbox0 -- true
refuses "a parameter that it does not have" templat exec --sandbox sandbox0 --param templat=x -- true
refuses "a lifetime that is none" sandbox_ttl_sec exec --sandbox sandbox0 --param sandbox_ttl_sec=soon -- true
