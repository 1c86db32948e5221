# shellcheck shell=bash disable=SC2154
# Many answers, judged by one jq: to begin one for each takes as long as most commands that are tested. Sourced by lib.sh, never run.
#
#   together COMMAND...    what judge_json finds in COMMAND is told at its end
#
# The jq for all may only say yes. Where it does not, or cannot read a filter, is_true looks at each answer as it does outside of here.
together_shell= # the one that keeps answers: what a subshell kept would be lost with it

together() {
    local together_shell=$BASHPID judged_names=() judged_filters=() judged_shown=()
    : >"$scratch/together"
    "$@"
    [ "${#judged_names[@]}" = 0 ] || together_judge
}

# together_keep NAME FILTER: what was run last is judged later. Not what has a NUL, which no variable keeps.
together_keep() {
    local what
    [ "$together_shell" = "$BASHPID" ] && ! has_nul "$scratch/out" || return
    # shellcheck disable=SC2059 # show's own
    printf -v what "$show_format" "$ran" "$status" "${out:0:2000}" "${err:0:2000}"
    printf '%s\n' "$out" >>"$scratch/together"
    judged_names+=("$1") judged_filters+=("$2") judged_shown+=("$what")
}

has_nul() { # FILE
    local LC_ALL=C REPLY
    IFS= read -rd '' <"$1"
}

together_judge() {
    local number comma='' answers verdicts
    {
        # shellcheck disable=SC2016 # jq's
        echo '[inputs | try fromjson catch null] as $answers |'
        for number in "${!judged_filters[@]}"; do
            # shellcheck disable=SC2016
            printf '%s($answers[%d] | try ([%s\n] == [true]) catch false)\n' "$comma" "$number" "${judged_filters[number]}"
            comma=,
        done
    } >"$scratch/together.jq"
    mapfile -t verdicts < <("$fast_jq" -n -R -f "$scratch/together.jq" "$scratch/together" 2>/dev/null)
    [ "${#verdicts[@]}" = "${#judged_names[@]}" ] || verdicts=()
    mapfile -t answers <"$scratch/together"
    for number in "${!judged_names[@]}"; do
        printf '%s\n' "${answers[number]}" >"$scratch/together"
        if [ "${verdicts[number]:-}" = true ] || is_true_of "${judged_filters[number]}" "$scratch/together"; then
            ok "${judged_names[number]}"
        else
            not_ok "${judged_names[number]}" "not true: ${judged_filters[number]}
${judged_shown[number]}"
        fi
    done
}
