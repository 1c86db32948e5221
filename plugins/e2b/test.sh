# shellcheck shell=sh # plugin-test.sh of the SDK runs this, and has `refuses`
# What can be seen of the provider `e2b` without an account.
unset E2B_API_KEY E2B_ACCESS_TOKEN SANDLOT_E2B_API_KEY SANDLOT_E2B_ACCESS_TOKEN

refuses "without a key it names the variable" E2B_API_KEY exec --sandbox e2b -- true
refuses "a parameter that it does not have" templat exec --sandbox e2b --param templat=x -- true
export E2B_API_KEY=e2b_00000000
refuses "what excludes each other, before any request" auto_pause exec --sandbox e2b --param auto_resume=true -- true
refuses "a table that is none" metadata exec --sandbox e2b --param metadata=word -- true
