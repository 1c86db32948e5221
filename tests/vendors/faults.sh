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
declare -A requests_of=() expected_of=()

act=run # how the operations are done: `run` waits, `started` of lifecycle.sh does not
FAULT_SECONDS=${FAULT_SECONDS:-90} # within which every failure must be told

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
slow|{"slow_ms":20}|-1|worked|
hanging|{"hang_ms":60000}|-1|interrupted|
TABLE
}

# vendor_faults: all faults with SANDLOT_TEST_SLOW=1, else those that have cost people the most
vendor_faults() {
    local operation name action times expectation only
    head -c 300000 /dev/urandom >"$scratch/faulty"
    head -c 200000 /dev/urandom >"$scratch/faulty-before"
    while IFS='|' read -r name action times expectation only <&3; do
        if [ -z "${SANDLOT_TEST_SLOW:-}" ]; then
            case $name in "503 once" | "cut after" | garbage) ;; *) continue ;; esac
        fi
        for operation in create attach exec upload download list delete; do
            [ -n "${requests_of[$operation]:-}" ] || continue
            [ -z "$only" ] || [[ " $only " = *" $operation "* ]] || continue
            fault "$operation" "$name" "$action" "$times" "${expected_of[$operation.$name]:-$expectation}"
        done
    done 3< <(fault_table)
    runs_once
    service_empty "nothing is left at the service after the faults"
}

# A command whose answer is lost at once is still being started when it is asked for again: a race, so several times.
runs_once() {
    local round rounds=4 twice=
    [ -n "${requests_of[exec]:-}" ] && faulty_sandbox || return
    [ -z "${SANDLOT_TEST_SLOW:-}" ] || rounds=20
    for round in $(seq "$rounds"); do
        faults "$(rule exec '{"drop":"after"}' 1)"
        run -q exec "${provider[@]}" --sandbox-id "$faulty" -- "echo x >>ran$round"
        faults '[]'
        [ "$(faulty_exec "wc -l <ran$round")" = 1 ] || twice+=" $round"
    done
    check "a command whose answer is lost runs once, $rounds times" test -z "$twice"
    gone "$faulty"
    faulty=
}

# rule OPERATION ACTION TIMES: as JSON, for the requests of the operation
rule() {
    jq -cn --arg request "${requests_of[$1]}" --argjson action "$2" --argjson times "$3" \
        '($request | index(" ")) as $at | $request[:$at] as $method |
         [{path: $request[$at + 1:], times: $times, action: $action} + if $method == "*" then {} else {method: $method} end]'
}

# fault OPERATION NAME ACTION TIMES EXPECTATION: one case
fault() {
    local operation=$1 case="$1, $2" began took
    "before_$operation" || return
    faults "$(rule "$operation" "$3" "$4")"
    began=$SECONDS
    if [ "$5" = interrupted ]; then interrupted "$operation" "$case"; else
        "during_$operation"
        took=$((SECONDS - began))
        judged "$case" "$5" "$took"
    fi
    faults '[]'
    "after_$operation" "$case"
}

# judged NAME EXPECTATION SECONDS: the status, the error and the time
judged() {
    local code
    code=$(jq -r '.error // .results[0].error // ""' 2>/dev/null <<<"$out")
    if [ "$3" -gt "$FAULT_SECONDS" ]; then
        not_ok "$1: ends in time" "after $3 s
$(show)"
    elif [ "$status" = 0 ]; then
        case $2 in
            worked | either) ok "$1: it worked" ;;
            *) not_ok "$1: it fails" "$(show)" ;;
        esac
    elif [ "$2" = worked ] || [ "$status" -gt 3 ] || [ "$status" = 2 ]; then
        not_ok "$1: it works" "$(show)"
    elif [ -z "$code" ] || ! jq -e '(.message // .results[0].error | length) > 0' >/dev/null 2>&1 <<<"$out"; then
        not_ok "$1: it says why" "$(show)"
    elif [ "$2" = quota ] && { ! grep -qiE 'quota|limit|429|later|too many' <<<"$out" || [ "$3" -gt 15 ]; }; then
        not_ok "$1: a quota, at once" "after $3 s
$(show)"
    else
        ok "$1: it failed and said why"
    fi
}

# interrupted OPERATION NAME: what hangs ends with Ctrl-C
interrupted() {
    local pid began act=started
    "during_$1"
    sleep 1.5
    began=$SECONDS
    kill -INT "$pid" 2>/dev/null
    ended "$2: Ctrl-C ends it" 130
    check "$2: soon" test $((SECONDS - began)) -lt 12
}

# ---- the operations: what is there before, what is done under the fault, what must be true afterwards ----------------

faulty_sandbox() {
    [ -n "${faulty:-}" ] && [ "$(live)" = 1 ] && return
    for id in $(ask GET state | jq -r '.sandboxes[]?.id'); do gone "$id"; done
    made || return 1
    faulty=$id
}
faulty_exec() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$faulty" -- "$1" 2>"$scratch/faulty.err" </dev/null; }

before_create() {
    [ -z "${faulty:-}" ] || gone "$faulty"
    faulty=
    until_true 10 live_is 0
}
during_create() { "$act" --json create "${provider[@]}" "${making[@]}"; }
after_create() {
    local id=
    [ "$status" != 0 ] || id=$(jq -r .id <<<"$out")
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

before_exec() {
    faulty_sandbox && faulty_exec 'rm -f ran; echo before >kept' >/dev/null
}
during_exec() { "$act" --json exec "${provider[@]}" --sandbox-id "$faulty" --timeout 120 -- 'echo once >>ran; echo out; echo err >&2; exit 7'; }
after_exec() {
    local ran
    ran=$(faulty_exec 'cat ran 2>/dev/null | wc -l')
    if [ "$status" = 0 ]; then
        check "$1: it ran once" test "$ran" = 1
        check "$1: its output and status are whole" test "$(jq -c '[.output, .exit_code]' <<<"$out")" = '["out\nerr\n",7]'
    else
        check "$1: it ran once at most" test "$ran" = 0 -o "$ran" = 1
    fi
    check "$1: the sandbox lives" live_is 1
}

before_upload() {
    faulty_sandbox && "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$faulty" "$scratch/faulty-before" "$workspace/up" >/dev/null 2>&1 </dev/null
}
during_upload() { "$act" --json upload "${provider[@]}" --sandbox-id "$faulty" "$scratch/faulty" "$workspace/up"; }
after_upload() {
    local sum
    sum=$(faulty_exec "sha256sum <up")
    if [ "$status" = 0 ]; then
        check "$1: the file is whole" test "$sum" = "$(sha256sum <"$scratch/faulty")"
    else
        check "$1: the file is the old one or the new one" \
            test "$sum" = "$(sha256sum <"$scratch/faulty-before")" -o "$sum" = "$(sha256sum <"$scratch/faulty")"
    fi
    check "$1: no other file is left" test "$(faulty_exec 'ls -A | grep -c "^\.\|sandlot\|up."')" = 0
}

before_download() {
    rm -f "$scratch/down"
    faulty_sandbox && "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$faulty" "$scratch/faulty" "$workspace/down" >/dev/null 2>&1 </dev/null
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
    check "$1: the sandbox is in it, once" test "$(jq "[.sandboxes[] | select(.id == \"$faulty\")] | length" <<<"$out")" = 1
}

before_delete() { faulty_sandbox; }
during_delete() { "$act" --json delete "${provider[@]}" -- "$faulty"; }
after_delete() {
    if [ "$status" = 0 ]; then check "$1: it is gone" until_true 10 live_is 0; fi
    gone "$faulty"
    check "$1: it can be deleted again" until_true 10 live_is 0
    faulty=
}
