# shellcheck shell=sh disable=SC2034,SC2154 # plugin-test.sh of the SDK runs this, and has $sandlot, $at_end and `equal`
# What is special about the provider `scaffold`, beyond what `make check` looks at.
equal "a command runs" 42 "$("$sandlot" exec --sandbox scaffold -- 'echo $((6 * 7))')"
id=$("$sandlot" create --sandbox scaffold)
at_end='"$sandlot" delete --sandbox scaffold "$id" >/dev/null'
"$sandlot" exec --sandbox scaffold --sandbox-id "$id" -- 'echo kept >file'
equal "files stay from command to command" kept "$("$sandlot" exec --sandbox scaffold --sandbox-id "$id" -- cat file)"
