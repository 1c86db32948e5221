# shellcheck shell=bash disable=SC2034,SC2154
# The life of sandboxes at every service: made, found, used, ended, and what is left when the command dies. Sourced by lib.sh.
#
# A test sets, besides what lib.sh needs:
#
#   secret        the key that it uses: it may never be printed
#   unknown_id    an id of the right form that no sandbox has
#   wrong_key     a function that makes the key a wrong one, in a subshell of the test
#   key_variable  the variable that has the key
#   no_key        likewise, that takes it away; where there is no key there is no $key_variable either
#   requests_of   see faults.sh; here [create] and [exec]
#   fork_request  the path of the request that forks, as a regular expression; with forks_without_label where the service takes none,
#                 and making_forkable, more words for create, where not everything can be forked
#   snapshots_without_names  where there are none
#   pause_refused, snapshot_refused  what is said of sandboxes that cannot be, though the provider has the function
vendor_lifecycle() {
    local step
    for step in killed interrupted_create interrupted_exec lives_and_dies paused ports_refused kept_as_snapshot forked; do part life "$step"; done
    part life is_not_there ${key_variable:+keys}
}

life() { # STEP...
    local step
    for step; do "$step"; done
    service_empty "nothing is left at the service after: $*"
}

secret_is_kept() { # NAME: in nothing that the last command printed
    if grep -qF -e "$secret" "$scratch/out" "$scratch/err"; then not_ok "$1: the key is not printed" "it is"; else ok "$1: the key is not printed"; fi
}

# A command that prints how many processes sleep for just SECONDS: not those that have the number in a longer word.
count_sleeps() { echo "grep -lxz '[${1:0:1}]${1:1}' /proc/[0-9]*/cmdline 2>/dev/null | wc -l"; }
no_sleep() { [ "$("$aside" -q exec "${provider[@]}" --sandbox-id "$1" -- "$(count_sleeps "$2")" </dev/null)" = 0 ]; }

lives_and_dies() {
    local first
    json "create" 0 ".id and .provider and .working_dir == \"$workspace\"" create "${provider[@]}" "${making[@]}"
    first=$("$fast_jq" -r .id <"$scratch/out")
    check "one sandbox at the service" live_is 1
    json "it is listed as ours" 0 "[.sandboxes[] | select(.id == \"$first\")] | length == 1 and .[0].mine" list "${provider[@]}"
    expect "attach and exec" 0 "$workspace" "*" -q exec "${provider[@]}" --sandbox-id "$first" -- pwd
    expect "background processes live on" 0 "*" "*" -q exec "${provider[@]}" --sandbox-id "$first" -- '(sleep 60.5 >/dev/null 2>&1 &)'
    expect "between commands" 0 1 "*" -q exec "${provider[@]}" --sandbox-id "$first" -- "$(count_sleeps 60.5)"
    check "attaching deleted nothing" live_is 1
    run -vv exec "${provider[@]}" --sandbox-id "$first" -- true
    secret_is_kept "with -vv"
    made || return
    check "two sandboxes" live_is 2
    run -q exec "${provider[@]}" "${making[@]}" -- 'exit 5'
    check "a sandbox for one command, and its status" test "$status" = 5
    check "it is deleted at the end" until_true 10 live_is 2
    json "delete" 0 ".deleted == \"$id\"" delete "${provider[@]}" -- "$id"
    check "it is gone" until_true 10 live_is 1
    json "delete again" 0 .deleted delete "${provider[@]}" -- "$id"
    json "exec on what is deleted" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$id" -- true
    json "delete the other" 0 .deleted delete "${provider[@]}" -- "$first"
    service_empty "all is gone"
}

is_not_there() {
    json "attach to an unknown id" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$unknown_id" -- true
    json "delete an unknown id" 0 .deleted delete "${provider[@]}" -- "$unknown_id"
    requests_reset
    run exec "${provider[@]}" --param no_such_parameter=1 -- true
    check "an unknown parameter is a usage error" test "$status" = 2
    check "before any request" test "$(requests_count)" = 0
}

keys() {
    local told='.error == "auth" and (.message | test("(^|[^A-Z_])'$key_variable'"))'
    made || return
    (
        wrong_key
        json "a wrong key: create names its variable" 3 "$told" create "${provider[@]}" "${making[@]}"
        json "a wrong key: exec does" 3 "$told" exec "${provider[@]}" --sandbox-id "$id" -- true
        json "a wrong key: list does" 3 "$told" list "${provider[@]}"
        run -vv list "${provider[@]}"
        secret_is_kept "a refused key"
        exit "$failures"
    )
    failures=$?
    # Sandlot's own variable comes first, and is named where it is the wrong one.
    (
        wrong=$(wrong_key && echo "${!key_variable}")
        [ "$wrong" != "${!key_variable}" ] && [ "$key_variable" != KUBECONFIG ] || exit "$failures"
        export "SANDLOT_$key_variable=$wrong"
        json "a wrong key of Sandlot's own beside a right one: list names it" 3 \
            '.error == "auth" and (.message | contains("SANDLOT_'"$key_variable"'"))' list "${provider[@]}"
        exit "$failures"
    )
    failures=$?
    gone "$id"
    (
        no_key
        requests_reset
        json "no key" 3 '.error == "auth" or .error == "provider_unavailable"' create "${provider[@]}" "${making[@]}"
        check "no key: no request" test "$(requests_count)" = 0
        exit "$failures"
    )
    failures=$?
}

# started ARGUMENT...: in the background, where SIGINT counts; sets $pid
started() {
    set -m
    # Of a shell in the background, as that of a part, SIGINT is ignored.
    env --default-signal=INT "$SANDLOT" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null &
    pid=$!
    set +m
    ran="sandlot $*"
}
not_running() { ! kill -0 "$1" 2>/dev/null; }
ended() { # NAME STATUS
    if ! until_true 60 not_running "$pid"; then
        kill -KILL "$pid"
        not_ok "$1" "it did not end"
    fi
    wait "$pid" 2>/dev/null
    status=$? out=$(cat "$scratch/out") err=$(cat "$scratch/err")
    check "$1" test "$status" = "$2"
}

delayed() { faults "$(rule "$1" "{\"delay_ms\":$2}" -1)"; } # OPERATION MILLISECONDS: its requests take so long
asked() { [ "$(requests_count)" -gt 0 ]; }

interrupted_create() {
    local pid
    delayed create 1000
    requests_reset
    started exec "${provider[@]}" "${making[@]}" -- echo never
    until_true 10 asked
    kill -INT "$pid"
    ended "Ctrl-C while it is created" 130
    check "Ctrl-C while it is created: nothing ran" test -z "$out"
    faults '[]'
    until_true 10 answered # the service may still be at it
    "$SANDLOT" -q gc >/dev/null 2>&1 </dev/null
    service_empty "Ctrl-C while it is created: nothing is left"
}

interrupted_exec() {
    local pid kept
    started exec "${provider[@]}" "${making[@]}" -- 'echo begun; sleep 61.5'
    until_true 20 grep -q begun "$scratch/out"
    kill -TERM "$pid"
    ended "SIGTERM while a command runs" 143
    service_empty "SIGTERM while a command runs: its sandbox is deleted"
    made || return
    kept=$id
    started exec "${provider[@]}" --sandbox-id "$kept" -- 'echo begun; sleep 62.5'
    until_true 20 grep -q begun "$scratch/out"
    kill -INT "$pid"
    ended "Ctrl-C in a sandbox that stays" 130
    check "Ctrl-C in a sandbox that stays: it lives" live_is 1
    check "Ctrl-C in a sandbox that stays: the command does not" until_true 10 no_sleep "$kept" 62.5
    gone "$kept"
}

# The table of background processes (tests/operations/process_rows.sh), where a vendor's whole test is asked for.
processes_there() {
    way=$vendor
    [ "$extent" = quick ] || process_rows
}

killed() {
    local pid rounds=3 round
    [ -z "${SANDLOT_TEST_SLOW:-}" ] || rounds=12
    for round in $(seq "$rounds"); do
        case $((round % 3)) in
            0) delayed create 300 ;;
            *) faults '[]' ;;
        esac
        requests_reset
        started exec "${provider[@]}" "${making[@]}" -- 'sleep 1; echo x'
        until_true 10 asked
        sleep "0.$((RANDOM % 6))"
        kill -KILL "$pid"
        wait "$pid" 2>/dev/null
    done
    faults '[]'
    until_true 10 answered
    run gc
    check "kill -9, $rounds times: gc works" test "$status" = 0
    service_empty "kill -9, $rounds times: nothing is left after gc"
}

# ---- pausing, snapshots, forks: as far as the provider has them ---------------------------------------------------------

has_capability() {
    "$aside" providers "${provider[1]}" --json 2>/dev/null | "$fast_jq" -e "[.. | .capabilities? // empty][0].$1" >/dev/null
}

# is_refused "COMMAND [OPTION]" [ARGUMENT...]: what the provider has not is refused before anything is sent, and others are named
is_refused() {
    local words
    read -ra words <<<"$1"
    requests_reset
    json "$1: not at this provider" 1 '.error == "not_supported" and (.message | test("these can: .*, [a-z0-9]+"))' "${words[@]}" "${provider[@]}" -- "${@:2}"
    check "$1: nothing was sent" test "$(requests_count)" = 0
}

# Of what was asked since requests_reset nothing makes a sandbox run.
nothing_resumed() { ! requests_show | grep -E '^(POST|PUT|PATCH) .*(resume|start|wake|connect|unpause|exec)'; }

paused() {
    has_capability pause || {
        is_refused pause "$unknown_id"
        is_refused resume "$unknown_id"
        return
    }
    made || return
    "$aside" -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo kept >kept' </dev/null
    if [ -n "${pause_refused:-}" ]; then
        json "pause: not here" 1 '.error == "not_supported" and (.message | contains("'"$pause_refused"'"))' pause "${provider[@]}" -- "$id"
        gone "$id"
        return
    fi
    json "pause" 0 '.state == "paused" and .id == "'"$id"'"' pause "${provider[@]}" -- "$id"
    json "pause, again" 0 '.state == "paused"' pause "${provider[@]}" -- "$id"
    json "list says so" 0 '.sandboxes[] | select(.id == "'"$id"'") | .state == "paused"' list "${provider[@]}"
    json "resume" 0 '.state == "running"' resume "${provider[@]}" -- "$id"
    json "resume, again" 0 '.state == "running"' resume "${provider[@]}" -- "$id"
    expect "resumed, its files are there" 0 kept "*" -q exec "${provider[@]}" --sandbox-id "$id" -- cat kept
    run -q pause "${provider[@]}" -- "$id"
    expect "what is attached to is resumed" 0 kept "*" -q exec "${provider[@]}" --sandbox-id "$id" -- cat kept
    run -q pause "${provider[@]}" -- "$id"
    requests_reset
    json "what is paused can be deleted" 0 .deleted delete "${provider[@]}" -- "$id"
    check "without being resumed" nothing_resumed
    service_empty "what was paused is gone"
}

# What reaches its ports is in the tests of each that does.
ports_refused() {
    has_capability ports || is_refused port "$unknown_id" 80
    has_capability urls || is_refused "port --url" "$unknown_id" 80
}

is_listed() { "$SANDLOT" --json snapshots "${provider[@]}" | "$fast_jq" -e --arg use "$1" '[.snapshots[] | select(.id == $use)] | length == 1' >/dev/null; }

kept_as_snapshot() {
    local use
    has_capability snapshot || {
        is_refused snapshot "$unknown_id"
        is_refused snapshots
        return
    }
    made || return
    "$aside" -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo kept >kept' </dev/null
    if [ -n "${snapshot_refused:-}" ]; then
        json "snapshot: not of this one" 1 '.error == "not_supported" and (.message | contains("'"$snapshot_refused"'"))' snapshot "${provider[@]}" -- "$id"
        gone "$id"
        return
    fi
    json "a snapshot" 0 '.name == "before"' snapshot "${provider[@]}" --name before -- "$id"
    use=$("$fast_jq" -r .id <"$scratch/out")
    check "is listed by what was told" is_listed "$use"
    if [ -z "${snapshots_without_names:-}" ]; then
        json "its name is taken" 1 '.error == "conflict"' snapshot "${provider[@]}" --name before -- "$id"
        json "and replaced when that is wanted" 0 '.name == "before"' snapshot "${provider[@]}" --name before --replace -- "$id"
        use=$("$fast_jq" -r .id <"$scratch/out")
    fi
    gone "$id"
    expect "its files are there, when the sandbox is not" 0 kept "*" -q exec "${provider[@]}" "${making[@]}" --sandbox-snapshot-name "$use" -- cat kept
    json "it is deleted by what was told" 0 '.results == [{"id":"'"$use"'","error":null}]' snapshots delete "${provider[@]}" -- "$use"
    json "again" 0 '.results[0].error == null' snapshots delete "${provider[@]}" -- "$use"
    check "and listed no more" eval "! is_listed $(printf %q "$use")"
    service_empty "a snapshot leaves no sandbox"
}

# Of a fork whose answer is lost there is one, which is told; or an error, where the service takes no label for it.
forked() {
    local original copy
    has_capability fork || {
        is_refused fork "$unknown_id"
        return
    }
    run -q create "${provider[@]}" "${making[@]}" "${making_forkable[@]}"
    original=$out
    "$aside" -q exec "${provider[@]}" --sandbox-id "$original" -- 'echo kept >kept' </dev/null
    json "a fork" 0 '.from == "'"$original"'" and .id != .from' fork "${provider[@]}" -- "$original"
    copy=$("$fast_jq" -r .id <"$scratch/out")
    expect "has the files" 0 kept "*" -q exec "${provider[@]}" --sandbox-id "$copy" -- cat kept
    gone "$copy"
    check "and an end of its own" until_true 10 live_is 1
    faults '[{"method":"POST","path":"'"$fork_request"'","action":{"drop":"after"}}]'
    run -q fork "${provider[@]}" -- "$original"
    faults '[]'
    if [ -n "${forks_without_label:-}" ]; then
        check "a lost answer to a fork is an error" test "$status" = 3
        check "which says where to look" grep -q "sandlot list" "$scratch/err"
        for copy in $(ask GET ids); do gone "$copy"; done
    else
        check "a lost answer to a fork: there is one all the same" test "$status" = 0 -a -n "$out"
        check "and no second" live_is 2
        copy=$out
        expect "with the files" 0 kept "*" -q exec "${provider[@]}" --sandbox-id "$copy" -- cat kept
        gone "$copy"
    fi
    gone "$original"
    service_empty "forks and their original are gone"
}
