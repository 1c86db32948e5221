# shellcheck shell=bash disable=SC2034,SC2154
# What every provider must survive: faults of its service, crossed with operations. Sourced by lib.sh.
#
# A test says which requests are which, before vendor_faults:
#
#   declare -A requests_of=([create]='POST /v1/sandboxes$' [attach]=... [exec]=... [upload]=... [download]=... [list]=... [delete]=...)
#
# each a method ("*" for any) and a regular expression on path and query; an operation that is left out is not crossed.
# Where a service leaves no better way than the table's, the test says so, with the reason in a comment:
#
#   declare -A expected_of=([create.500 once]=fails)
#
# worked   it must work in spite of the fault
# fails    it must say that it failed, and leave things as they were
# either   one of both, but consistently
# -        nobody can tell: it is left out
declare -A requests_of=() expected_of=()

pages= # true: what somebody on the way answers is tried too, where the service's own answers can be told from it
act=run # how the operations are done: `run` waits, `started` of lifecycle.sh does not

# The faults: name | action | times | what must come of it | operations that it is for, "" for all
fault_table() {
    cat <<'TABLE'
429 once|{"status":429,"headers":{"retry-after":"1"}}|1|worked|
429 for an hour|{"status":429,"headers":{"retry-after":"3600"}}|-1|quota|
500 once|{"status":500}|1|either|
502 once|{"status":502,"body":"<html>bad gateway</html>","headers":{"content-type":"text/html"}}|1|worked|
503 once|{"status":503}|1|worked|
503 always|{"status":503}|-1|fails|
cut before|{"drop":"before"}|1|worked|
cut after|{"drop":"after"}|1|worked|
cut in the middle|{"drop":"during"}|1|worked|
cut always|{"drop":"before"}|-1|fails|
short body|{"truncate_bytes":7}|1|either|create attach exec list delete
garbage|{"garbage":true}|1|either|create attach exec list delete
wrong types|{"wrong_types":true}|1|either|create attach exec list
a page|{"status":200,"body":"<html>sign in</html>","headers":{"content-type":"text/html"}}|1|either|attach exec upload download list delete
no body|{"status":204}|1|either|attach exec upload download list delete
slow|{"slow_ms":20}|-1|worked|
hanging|{"hang_ms":600000}|-1|interrupted|
TABLE
}

# vendor_faults: all faults with SANDLOT_TEST_SLOW=1, else those that have cost people the most, for "rows" none. What is given up only after a
# long time comes first, one by one.
vendor_faults() {
    local operation
    if [ -z "${SANDLOT_TEST_SLOW:-}" ]; then
        part_once faults_of "503 once|cut after|garbage" create attach exec list delete
        part_once faults_of "503 once|cut after|garbage" upload download
    else
        for operation in exec download upload delete; do
            part faults_of "503 always" "$operation"
            part faults_of "cut always" "$operation"
        done
        part faults_of "503 always|cut always" create attach list
        for operation in create attach exec upload download list delete; do
            part faults_of "429*|* once|cut before|cut after|cut in the middle|short body|garbage|wrong types|slow|hanging${pages:+|a page|no body}" "$operation"
        done
    fi
    part_once runs_once
    part_once stalls
}

# faults_of NAMES OPERATION...: the faults of these names, patterns between bars, for these operations
faults_of() {
    local operation name action times expectation only names=$1
    shift
    [[ $names != *always* ]] || export SANDLOT_TEST_GIVE_UP_MS=5000 # after more than one failure; the providers wait for a minute
    head -c 300000 /dev/urandom >"$scratch/faulty"
    head -c 200000 /dev/urandom >"$scratch/faulty-before"
    while IFS='|' read -r name action times expectation only <&3; do
        # shellcheck disable=SC2053 # patterns
        [[ $name == @($names) ]] || continue
        for operation; do
            [ -n "${requests_of[$operation]:-}" ] || continue
            [ -z "$only" ] || [[ " $only " = *" $operation "* ]] || continue
            [ "${expected_of[$operation.$name]:-}" != - ] || continue
            fault "$operation" "$name" "$action" "$times" "${expected_of[$operation.$name]:-$expectation}"
        done
    done 3< <(fault_table)
    [ -z "${faulty:-}" ] || gone "$faulty"
    service_empty "nothing is left at the service after the faults of $*"
}

# A command whose answer is lost at once is still being started when it is asked for again: a race, so several times.
runs_once() {
    local round rounds=4 times wrong=
    [ -n "${requests_of[exec]:-}" ] && faulty_sandbox || return
    [ -z "${SANDLOT_TEST_SLOW:-}" ] || rounds=20
    for round in $(seq "$rounds"); do
        faults "$(rule exec '{"drop":"after"}' 1)"
        run -q exec "${provider[@]}" --sandbox-id "$faulty" -- "echo x >>ran$round"
        faults '[]'
        times=$(faulty_exec "wc -l <ran$round")
        [ "$times" = 1 ] || wrong+=" round $round: ${times:-no answer}"
    done
    check "a command whose answer is lost runs once, $rounds times" test -z "$wrong"
    gone "$faulty"
    faulty=
    service_empty "nothing is left at the service after lost answers"
}

# A line that says nothing any more: the command's own time limit ends it, not that of the whole call. Where attaching takes the same
# request, `stalling` is another action, which lets that one pass; and where input is read only after an answer has come, none comes
# `late`, for then nobody can tell whose turn it is.
late=yes
stalling='{"hang_ms":600000}'
stalls() {
    [ -n "${requests_of[exec]:-}" ] && faulty_sandbox || return
    faults "$(rule exec "$stalling" -1)"
    json "a line that stalls ends with --timeout" 3 '.error == "network" and (.message | contains("did not tell what became of the command"))' \
        exec "${provider[@]}" --sandbox-id "$faulty" --timeout 1 -- true
    [ -n "${input_streams:-}" ] || input_stalls
    faults '[]'
    gone "$faulty"
    faulty=
    service_empty "nothing is left at the service after a stalled line"
}

# Where the input goes where the command does, it stalls with that: such a test sets $input_streams.
input_stalls() {
    faults "$(rule upload "$stalling" -1)"
    [ -z "$late" ] || mkfifo "$scratch/stalled"
    # What comes late has the whole time limit from then on, and no more.
    if [ -n "$late" ]; then { sleep 0.3; echo x; } >"$scratch/stalled" & else echo x >"$scratch/stalled"; fi
    input=$scratch/stalled json "standard input that stalls does too" 3 '(.error == "network" or .error == "timeout") and (.message | contains("did not take the command"))' \
        exec --stdin "${provider[@]}" --sandbox-id "$faulty" --timeout 1 -- cat
    rm "$scratch/stalled"
}

# rule OPERATION ACTION TIMES: as JSON, for the requests of the operation
rule() {
    local method=${requests_of[$1]%% *} path=${requests_of[$1]#* }
    path=${path//\\/\\\\}
    [ "$method" = "*" ] && method= || method=",\"method\":\"$method\""
    printf '[{"path":"%s","times":%d,"action":%s%s}]' "${path//\"/\\\"}" "$3" "$2" "$method"
}

# fault OPERATION NAME ACTION TIMES EXPECTATION: one case
fault() {
    local operation=$1 case="$1, $2"
    "before_$operation" || return
    faults "$(rule "$operation" "$3" "$4")"
    requests_reset
    if [ "$5" = interrupted ]; then interrupted "$operation" "$case"; else
        "during_$operation"
        judged "$case" "$5"
    fi
    faults '[]'
    "after_$operation" "$case"
}

# judged NAME EXPECTATION: the status and the error. What did not end in time, `run` has ended with another status.
judged() {
    local code='' length=0
    [ "$status" = 0 ] ||
        read -r length code < <("$fast_jq" -r '"\(.message // .results[0].error | length) \(.error // .results[0].error // "")"' <<<"$out" 2>/dev/null)
    if [ "$status" = 0 ]; then
        case $2 in
            worked | either) ok "$1: it worked" ;;
            *) not_ok "$1: it fails" "$(show)" ;;
        esac
    elif [ "$2" = worked ] || [ "$status" -gt 3 ] || [ "$status" = 2 ]; then
        not_ok "$1: it works" "$(show)"
    elif [ -z "$code" ] || [ "$length" = 0 ]; then
        not_ok "$1: it says why" "$(show)"
    elif [ "$2" = quota ] && ! { grep -qiE 'quota|limit|429|later|too many' <<<"$out" && [ "$(refusals)" -le 30 ]; }; then
        not_ok "$1: a quota, at once" "$(requests_show)
$(show)"
    else
        ok "$1: it failed and said why"
    fi
}

# Besides the operation itself there may be some quick tries to end what it may have begun.
refusals() { ask GET statuses | grep -cx 429; }

# interrupted OPERATION NAME: what hangs ends with Ctrl-C, and not with the service's answer
interrupted() {
    local pid act=started
    "during_$1"
    until_true 10 hangs || not_ok "$2: it is asked" "$(requests_show)"
    kill -INT "$pid" 2>/dev/null
    ended "$2: Ctrl-C ends it" 130
}
hangs() { asked_for GET statuses && [[ $'\n'$control_answer$'\n' = *$'\n'hung$'\n'* ]]; }

# ---- the operations: what is there before, what is done under the fault, what must be true afterwards ----------------

faulty_sandbox() {
    [ -n "${faulty:-}" ] && live_is 1 && return
    for id in $(ask GET ids); do gone "$id"; done
    SANDLOT=$aside made || return 1
    faulty=$id
}
faulty_exec() { "$aside" -q exec "${provider[@]}" --sandbox-id "$faulty" -- "$1" 2>"$scratch/faulty.err" </dev/null; }

before_create() {
    [ -z "${faulty:-}" ] || gone "$faulty"
    faulty=
    until_true 10 live_is 0
}
during_create() { "$act" --json create "${provider[@]}" "${making[@]}"; }
after_create() {
    local id=
    [ "$status" != 0 ] || id=$("$fast_jq" -r .id <<<"$out")
    if [ "$status" = 0 ]; then
        check "$1: one sandbox, not two" until_true 5 live_is 1
        check "$1: the one that was told" state_is ".sandboxes[0].id == \"$id\""
        gone "$id"
    else
        "$SANDLOT" -q gc >/dev/null 2>"$scratch/gc.err" </dev/null
        check "$1: no sandbox is left" until_true 10 live_is 0
    fi
    until_true 5 no_ledger || not_ok "$1: no record is left" "$(ledger_files)"
}

before_attach() { before_exec; }
during_attach() { during_exec; }
after_attach() { after_exec "$1"; }

# The first command, which may need more requests, is not the one that meets the fault.
before_exec() {
    faulty_sandbox || return
    [ "${warm:-}" = "$faulty" ] || faulty_exec true >/dev/null
    warm=$faulty
}
during_exec() { "$act" --json exec "${provider[@]}" --sandbox-id "$faulty" --timeout 120 -- 'echo once >>ran; echo out; echo err >&2; exit 7'; }
after_exec() {
    local ran
    ran=$(faulty_exec 'cat ran 2>/dev/null | wc -l; rm -f ran')
    if [ "$status" = 0 ]; then
        check "$1: it ran once" test "$ran" = 1
        check "$1: its output and status are whole" test "$("$fast_jq" -c '[.output, .exit_code]' <<<"$out")" = '["out\nerr\n",7]'
    else
        check "$1: it ran once at most" test "$ran" = 0 -o "$ran" = 1
    fi
    check "$1: the sandbox lives" live_is 1
}

before_upload() {
    faulty_sandbox && "$aside" -q upload "${provider[@]}" --sandbox-id "$faulty" "$scratch/faulty-before" "$workspace/up" >/dev/null 2>&1 </dev/null
}
during_upload() { "$act" --json upload "${provider[@]}" --sandbox-id "$faulty" "$scratch/faulty" "$workspace/up"; }
after_upload() {
    local sum others
    sum=$(faulty_exec 'sha256sum <up; ls -A | grep -c "^\.\|sandlot\|up."')
    others=${sum##*$'\n'} sum=${sum%$'\n'*}
    if [ "$status" = 0 ]; then
        check "$1: the file is whole" test "$sum" = "$(sha256sum <"$scratch/faulty")"
    else
        check "$1: the file is the old one or the new one" \
            test "$sum" = "$(sha256sum <"$scratch/faulty-before")" -o "$sum" = "$(sha256sum <"$scratch/faulty")"
    fi
    check "$1: no other file is left" test "$others" = 0
}

before_download() {
    rm -f "$scratch/down"
    faulty_sandbox || return
    [ "${filled:-}" = "$faulty" ] ||
        "$aside" -q upload "${provider[@]}" --sandbox-id "$faulty" "$scratch/faulty" "$workspace/down" >/dev/null 2>&1 </dev/null
    filled=$faulty
}
during_download() { "$act" --json download "${provider[@]}" --sandbox-id "$faulty" "$workspace/down" "$scratch/down"; }
after_download() {
    if [ "$status" = 0 ]; then check "$1: the file is whole" cmp -s "$scratch/faulty" "$scratch/down"; else
        check "$1: no file appears" test ! -e "$scratch/down"
    fi
}

before_list() { faulty_sandbox; }
during_list() { "$act" --json list "${provider[@]}"; }
after_list() {
    [ "$status" = 0 ] || return
    check "$1: the sandbox is in it, once" test "$("$fast_jq" "[.sandboxes[] | select(.id == \"$faulty\")] | length" <<<"$out")" = 1
}

before_delete() { faulty_sandbox; }
during_delete() { "$act" --json delete "${provider[@]}" -- "$faulty"; }
after_delete() {
    if [ "$status" = 0 ]; then check "$1: it is gone" until_true 10 live_is 0; fi
    gone "$faulty"
    check "$1: it can be deleted again" until_true 10 live_is 0
    faulty=
}
