#!/bin/bash
# What most rows are judged by says yes to what is so, and to nothing else: together.sh, as judge_json does alone, and says_so.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"

printf '#!/bin/sh\nshift\nprintf "$@"\n' >"$scratch/answers" && chmod 755 "$scratch/answers" || exit 2
# row NAME FILTER PRINTF-FORMAT: a command that answers so
row() { SANDLOT=$scratch/answers json "$1" 0 "$2" "${@:3}"; }

right() {
    row "a field" '.a == 1' '{"a":1}\n'
    row "with a name of its own" '.a as $one | $one == 1' '{"a":1}\n'
    row "the answer after it" '.b == "ü\n"' '{"b":"ü\\n"}\n'
}
wrong() {
    row "another value" '.a == 1' '{"a":2}\n'
    row "nothing there" '.b' '{"a":1}\n'
    row "twice true" 'true, true' '{"a":1}\n'
    row "nothing at all" 'empty' '{"a":1}\n'
    row "an error" '.a.b == 1' '{"a":1}\n'
    row "no object" 'true' '[1]\n'
    row "two values" 'true' '{} {}\n'
    row "no value" 'true' '\n'
    row "no JSON" 'true' '{"a":}\n'
    row "a NUL, without which it would be true" '.a' '{"a":tr\000ue}\n'
    row "two lines" 'true' '{"a":1}\n{"a":1}\n'
}
broken() {
    row "beside a filter that jq cannot read" '.a == 1' '{"a":1}\n'
    row "the filter" '.a == (' '{"a":1}\n'
}
below() { (row "in a subshell" '.a == 1' '{"a":1}\n'); }
told() { ("$@" | grep -oE '^(ok|not ok)' | sort | uniq -c | tr -s '\n ' ' '); }

printf '#!/bin/sh\necho one more >>"%s"\nexec "%s" "$@"\n' "$scratch/jqs" "$(type -P "$fast_jq")" >"$scratch/counted" && chmod 755 "$scratch/counted" || exit 2
check "what is right is ok" test "$(told together right)" = " 3 ok "
fast_jq=$scratch/counted together right >/dev/null
check "by one jq for all" test "$(wc -l <"$scratch/jqs")" = 1
check "what is wrong is not ok, each" test "$(told together wrong)" = " 11 not ok "
check "as without it" test "$(told wrong)" = " 11 not ok "
check "a filter that cannot be read spoils no other" test "$(told together broken)" = " 1 not ok 1 ok "
check "what a subshell asks is told there" test "$(told together below)" = " 1 ok "
check "why is what that command has said" grep -q '^# out: {"a":2}' <<<"$(together wrong)"

printf 'one\nTwo' >"$scratch/said"
says_not() { ! says_so "$@"; }
check "a pattern is found in a line, in any case" says_so '^tw[o]$' "$scratch/said"
check "not across lines" says_not 'one.two' "$scratch/said"
check "not one that is not there" says_not three "$scratch/said"
: >"$scratch/said"
check "where nothing is said, nothing is found" says_not '' "$scratch/said"
