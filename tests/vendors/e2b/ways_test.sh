#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2016,SC2030,SC2031,SC2034,SC2154,SC2163
# What is E2B's own: keys and addresses, parameters, lives and their ends, sandboxes that sleep, streams, files, snapshots, old servers.
. tests/vendors/lib.sh

secret=e2b_0123456789abcdef0123456789abcdef
user_token=sk_e2b_fedcba9876543210fedcba9876543210
workspace=/home/user
unknown_id=inosuchsandbox0123456
unset E2B_ACCESS_TOKEN E2B_DOMAIN E2B_API_URL E2B_SANDBOX_URL
export E2B_API_KEY=$secret

# service ASSIGNMENT...: the emulator, anew, with these variables
service() {
    vendor_stop
    [ $# = 0 ] || export "$@"
    vendor_start e2b
    [ $# = 0 ] || unset "${@%%=*}"
    provider=(--sandbox e2b --param "base_url=$url" --param "sandbox_url=$url")
}

# api METHOD PATH [BODY]: a request of somebody else to the control API; prints the answer's body
api() {
    local LC_ALL=C body=${3:-} connection
    exec {connection}<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf '%s %s HTTP/1.1\r\nHost: emulator\r\nConnection: close\r\nX-API-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
        "$1" "$2" "$secret" "${#body}" "$body" >&"$connection"
    sed '1,/^\r$/d' <&"$connection"
    exec {connection}>&-
}
state_of() { ask GET state | jq -r ".sandboxes[] | select(.id == \"$1\") | .state"; }
has_state() { [ "$(state_of "$1")" = "$2" ]; }
is_gone() { [ -z "$(state_of "$1")" ]; }
made_with() {
    local making=("$@")
    made
}
on_it() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "$1" </dev/null 2>"$scratch/on_it.err"; }
up() { "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$@" </dev/null >"$scratch/out" 2>"$scratch/err"; }
down() { "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" "$@" </dev/null >"$scratch/out" 2>"$scratch/err"; }
sent() { requests_show | grep -c "$1"; }

# ---- keys and addresses ----------------------------------------------------------------------------------------------

keys_and_addresses() {
    (
        unset E2B_API_KEY
        export E2B_ACCESS_TOKEN=$user_token
        json "a user's token alone" 0 .sandboxes list "${provider[@]}"
        run -vv list "${provider[@]}"
        check "it is not printed" test -z "$(grep -F "$user_token" "$scratch/out" "$scratch/err")"
        E2B_ACCESS_TOKEN=sk_e2b_wrong json "a wrong one names its variable" 3 '.error == "auth" and (.message | contains("E2B_ACCESS_TOKEN"))' list "${provider[@]}"
        E2B_API_KEY=$secret E2B_ACCESS_TOKEN=sk_e2b_wrong json "besides a key that is right" 0 .sandboxes list "${provider[@]}"
        exit "$failures"
    )
    failures=$?
    SANDLOT_E2B_API_KEY=$secret E2B_API_KEY=e2b_wrong json "a key of Sandlot's own comes first" 0 .sandboxes list "${provider[@]}"
    E2B_API_URL=$url json "the address by E2B_API_URL" 0 .sandboxes list --sandbox e2b
    E2B_API_URL=http://127.0.0.1:1 json "base_url comes before it" 0 .sandboxes list "${provider[@]}"
    E2B_API_URL=$url E2B_SANDBOX_URL=$url/ expect "that of sandboxes by E2B_SANDBOX_URL" 0 yes "*" -q exec --sandbox e2b -- echo yes
    SANDLOT_TEST_GIVE_UP_MS=2000 E2B_DOMAIN=nowhere.invalid json "the domain by E2B_DOMAIN" 3 '.message | contains("api.nowhere.invalid")' list --sandbox e2b
    SANDLOT_TEST_GIVE_UP_MS=2000 E2B_DOMAIN=nowhere.invalid json "domain comes before it" 3 '.message | contains("api.elsewhere.invalid")' list --sandbox e2b --param domain=elsewhere.invalid
    made || return
    SANDLOT_TEST_GIVE_UP_MS=2000 json "a sandbox of another domain has a host of its own" 3 ".message | contains(\"49983-$id.nowhere.invalid\")" \
        exec --sandbox e2b --param "base_url=$url" --param domain=nowhere.invalid --sandbox-id "$id" --timeout 5 -- true
    gone "$id"
}

# ---- parameters ------------------------------------------------------------------------------------------------------

parameters() {
    made_with --param ttl_s=90 --param 'environment={"COLOUR": "blue", "NUMBER": 3}' --param internet=false --param 'metadata={"purpose": "test"}' \
        --param template=code-interpreter-v1 --param 'network={"allowPublicTraffic": false}' --param auto_pause=true --param auto_resume=true || return
    check "metadata" state_is '.sandboxes[0].metadata | .purpose == "test" and .["sandlot-run"] != null and .["sandlot-rest"] == "90000"'
    check "time, template, network, end" state_is '.sandboxes[0] | .timeout == 90 and .templateID == "code-interpreter-v1" and .allow_internet_access == false and
        .network == {allowPublicTraffic: false} and .autoPause and .autoResume == {enabled: true}'
    check "its variables" test "$(on_it 'echo $COLOUR $NUMBER; id -un')" = $'blue 3\nuser'
    check "another user" test "$("$SANDLOT" -q exec "${provider[@]}" --param user=root --sandbox-id "$id" -- 'id -u')" = 0
    json "one who is not there" 3 '.error == "auth" or .error == "provider_error"' exec "${provider[@]}" --param user=stranger --sandbox-id "$id" -- true
    gone "$id"
    made_with --param ttl_s=7200 --param hard_ttl_s=600 --param auto_pause=true --param keep_memory=false || return
    check "a hard end counts" state_is '.sandboxes[0] | .timeout == 600 and .metadata["sandlot-until"] != null and .autoPauseMemory == false'
    gone "$id"
    made_with --param ttl_s=0 --param hard_ttl_s=0 || return
    check "no end asked: the longest" state_is '.sandboxes[0].timeout == 86400'
    gone "$id"
    faults '[{"method":"POST","path":"/v2/sandboxes$","times":1,"action":{"status":429,"headers":{"retry-after":"0"},"body":{"code":429,"message":"slow down"}}}]'
    made && check "a refusal that may be repeated at once" live_is 1
    gone "$id"
    made_with --param 'network={"allowOut":["a.example"],"denyOut":["0.0.0.0/0"],"rules":{"a.example":[{"transform":{"headers":{"X-Own":"1"}}}]}}' || return
    json "a change that would lose the user's own rules" 1 '.error == "not_supported"' network allow "${provider[@]}" "$id" b.example
    check "which are still there" state_is '.sandboxes[0].network.rules | keys == ["a.example"]'
    gone "$id"
    requests_reset
    usage "waking what was deleted" auto_pause create "${provider[@]}" --param auto_resume=true
    usage "waking without memory" keep_memory create "${provider[@]}" --param auto_resume=true --param auto_pause=true --param keep_memory=false
    usage "a plan of nothing" "at least 60" create "${provider[@]}" --param life_maximum_s=5
    usage "a variable that is none" "environment.A" create "${provider[@]}" --param 'environment={"A": [1]}'
    check "before any request" test "$(requests_count)" = 0
    json "a template that is not there" 3 '.message | contains("nothing")' create "${provider[@]}" --param template=nothing
    usage "what E2B refuses says why" "network" create "${provider[@]}" --param 'network={"wrong": 1}'
    service_empty "nothing of all this is left"
}

# ---- ends and sleep --------------------------------------------------------------------------------------------------

endings() {
    made_with --param ttl_s=4 || return
    requests_reset
    check "a command that is longer than its sandbox was to live" test "$(on_it 'for n in 1 2 3 4 5 6; do echo $n; sleep 1; done' | tail -n 1)" = 6
    check "for it lives longer" test "$(sent '/timeout 204$')" -ge 1
    until_true 10 is_gone "$id"
    json "without use it ends" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$id" -- true
    gone "$id"
    made_with --param ttl_s=6 --param hard_ttl_s=6 || return
    requests_reset
    run -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo begun; sleep 20'
    check "nothing lives beyond its hard end" test "$status" = 3
    check "that is not tried either" test "$(sent /timeout)" = 0
    check "what it had said is there" grep -q begun "$scratch/out"
    gone "$id"
    made_with --param ttl_s=2 --param auto_pause=true || return
    on_it 'echo kept >kept'
    until_true 10 has_state "$id" paused
    check "what was paused at its end is woken by its use" test "$(on_it 'cat kept')" = kept
    gone "$id"
    service_empty "all are gone"
}

# What is asked for once in a quarter of its life is told a passing no when half of it is over.
not_now() {
    made_with --param ttl_s=24 || return
    faults '[{"method":"POST","path":"/timeout$","action":{"status":408,"body":{"code":408,"message":"not now"}}}]'
    requests_reset
    check "a command goes on though its sandbox was not to live longer at first" test "$(on_it 'for n in $(seq 30); do sleep 1; done; echo done')" = "done"
    check "for it was asked again" test "$(sent '/timeout 408$')" = 1 -a "$(sent '/timeout 204$')" -ge 1
    gone "$id"
}

# Whoever wakes it has another time to rest in mind than it was made with.
woken() {
    made_with --param ttl_s=12 || return
    check "pause" calls $ok pause "$id"
    check "a command goes on for longer than the sandbox that it has woken was to live" test "$(on_it 'for n in $(seq 18); do sleep 1; done; echo done')" = "done"
    gone "$id"
}

# once NAME ANSWER: the daemon answers one request so, and all works, once
once() {
    on_it 'rm -f ran'
    faults '[{"path":"/process.Process/Start","action":'"$2"'}]'
    check "$1: the command runs" test "$(on_it 'echo x >>ran; echo out')" = out
    check "$1: once" test "$(on_it 'wc -l <ran')" = 1
    echo content >"$scratch/up"
    faults '[{"path":"/process.Process/Start","action":'"$2"'}]'
    check "$1: a file goes up" up "$scratch/up" $workspace/up
    faults '[{"path":"/files","action":'"$2"'}]'
    check "$1: a large one too" up "$scratch/large" $workspace/large
    rm -f "$scratch/down"
    faults '[{"path":"/files","action":'"$2"'}]'
    down $workspace/large "$scratch/down"
    check "$1: and comes down" cmp -s "$scratch/large" "$scratch/down"
    faults '[{"path":"/process.Process/Start","action":'"$2"'}]'
    input=$scratch/up expect "$1: input" 0 content "*" -q exec "${provider[@]}" --sandbox-id "$id" --stdin -- cat
}
answer() { printf '{"status":%s,"body":%s}' "$1" "$2"; }
# A frame of Connect as the answer: its bytes are written as text, whose length is less than 128.
ends_with() { printf '{"status":200,"headers":{"content-type":"application/connect+json"},"body":"\\u0002\\u0000\\u0000\\u0000\\u00%02x%s"}' "${#1}" "${1//\"/\\\"}"; }

moods() {
    head -c 1500000 /dev/urandom >"$scratch/large"
    made || return
    once "a proxy that does not find it" "$(answer 502 '{"message":"The sandbox was not found","code":502}')"
    once "one that is waking" "$(answer 409 '{"message":"still transitioning","code":409}')"
    faults '[{"path":"/files","times":3,"action":'"$(answer 409 '{"message":"still transitioning","code":409}')"'}]'
    check "one that takes a while to wake: a file comes down" down $workspace/large "$scratch/down"
    once "a token that is no longer the right one" "$(answer 401 '{"code":401,"message":"unauthorized access"}')"
    on_it 'rm -f ran'
    faults '[{"path":"/process.Process/Start","action":'"$(ends_with '{"error":{"code":"unavailable","message":"not now"}}')"'}]'
    check "a stream that ends with unavailable" test "$(on_it 'echo x >>ran; echo out')" = out
    faults '[{"path":"/process.Process/Start","action":'"$(ends_with '{"error":{"code":"deadline_exceeded","message":"late"}}')"'}]'
    check "one that ends with the daemon's own deadline" test "$(on_it 'echo x >>ran; echo out')" = out
    faults '[{"path":"/process.Process/Start","action":'"$(ends_with '{}')"'}]'
    check "one that ends with nothing" test "$(on_it 'echo x >>ran; echo out; cat ran')" = $'out\nx\nx\nx'
    faults '[{"path":"/process.Process/Start","action":'"$(ends_with '{"error":{"code":"invalid_argument","message":"no such thing"}}')"'}]'
    json "one that refuses says why" 3 '.message | contains("no such thing")' exec "${provider[@]}" --sandbox-id "$id" -- true
    faults '[]'
    started exec "${provider[@]}" --sandbox-id "$id" --timeout 60 -- 'echo begun; sleep 2; echo done'
    until_true 10 grep -q begun "$scratch/out"
    api POST "/sandboxes/$id/pause" '{}' >/dev/null
    ended "a sandbox that is paused under a command" 0
    check "is woken, and the command goes on" grep -q "done" "$scratch/out"
    check "it is awake" has_state "$id" running
    started exec "${provider[@]}" --sandbox-id "$id" --timeout 60 -- 'echo begun; sleep 20'
    until_true 10 grep -q begun "$scratch/out"
    api DELETE "/sandboxes/$id" >/dev/null
    ended "a sandbox that is deleted under a command" 3
    check "is told as that" grep -q "$id.*doesn't exist" "$scratch/err"
    gone "$id"
    faults '[{"method":"POST","path":"/v2/sandboxes$","times":-1,"action":{"status":429,"body":{"code":429,"message":"you have reached the maximum number of concurrent E2B sandboxes (20)"}}}]'
    requests_reset
    json "too many sandboxes" 3 '.error == "quota" and (.message | contains("concurrent"))' create "${provider[@]}"
    check "is not asked again" test "$(requests_count)" = 1
    service_empty "nothing is left"
}

# ---- files -----------------------------------------------------------------------------------------------------------

files() {
    made || return
    echo new >"$scratch/new"
    : >"$scratch/empty"
    on_it 'echo old >plain; chmod 750 plain; echo old >linked; ln -s linked link; echo old >one; ln one two; mkdir shut; echo old >shut/file; chmod 555 shut'
    requests_reset
    check "several files, some of which are there" up "$scratch/new" $workspace/plain "$scratch/new" $workspace/link "$scratch/new" $workspace/one "$scratch/new" $workspace/shut/file "$scratch/new" $workspace/fresh/deep/file
    check "in one request" test "$(sent POST)" = 1
    check "all are new" test "$(on_it 'cat plain linked two shut/file fresh/deep/file | sort -u')" = new
    check "modes, links and names are kept" test "$(on_it 'stat -c %a plain; readlink link; stat -c %h one; stat -c %a fresh')" = $'750\nlinked\n2\n755'
    up "$scratch/new" "$workspace/blank at the end " "$scratch/new" "$workspace/it's \"\$(quoted)\" ü" "$scratch/empty" $workspace/$'two\nlines' "$scratch/new" $workspace/after
    check "names of all kinds" test "$(on_it 'cat "blank at the end " it\'"'"'s* two*lines after | wc -l')" = 3
    head -c 1048576 /dev/urandom >"$scratch/mebibyte"
    requests_reset
    up "$scratch/mebibyte" $workspace/mebibyte
    check "a mebibyte is still one request" test "$(sent POST)" = 1
    head -c 20000000 /dev/urandom >"$scratch/large"
    requests_reset
    check "20 MB up" up "$scratch/large" "$workspace/la\"rge" "$scratch/new" $workspace/small "$scratch/empty" $workspace/none
    check "as one form" test "$(sent 'POST /files')" = 1
    check "an empty one with it" test "$(on_it 'wc -c <none')" = 0
    rm -f "$scratch/back"
    down "$workspace/la\"rge" "$scratch/back"
    check "and down" cmp -s "$scratch/large" "$scratch/back"
    faults '[{"path":"/files","times":-1,"action":{"status":507,"body":{"code":507,"message":"not enough disk space"}}}]'
    json "20 MB for which there is no room" 3 '.results[0].message | contains("not enough disk space")' upload "${provider[@]}" --sandbox-id "$id" "$scratch/large" "$workspace/la\"rge"
    faults '[]'
    check "the file is the one of before" test "$(on_it 'sha256sum <la\"rge')" = "$(sha256sum <"$scratch/large")"
    check "no folder of ours is left" test "$(on_it 'find / -xdev -name ".sandlot-*" -regex ".*/[.]sandlot-[0-9a-f]*.*" ! -name "*-*-*-*" 2>/dev/null | wc -l')" = 0
    down /proc/self/limits "$scratch/limits"
    check "what the kernel shows comes down" grep -q "Max open files" "$scratch/limits"
    json "and what it does not" 1 '.results[0].error == "file_not_found"' download "${provider[@]}" --sandbox-id "$id" /proc/nothing "$scratch/x"
    faults '[{"path":"/files","action":{"status":500,"body":{"code":500,"message":"error opening file"}}}]'
    json "a failure that is not the file's" 0 '.results[0].error == null' download "${provider[@]}" --sandbox-id "$id" $workspace/plain "$scratch/x"
    gone "$id"
}

# ---- listings, snapshots, copies -------------------------------------------------------------------------------------

pages() {
    local ids=() number
    for number in 1 2 3; do
        made && ids+=("$id")
    done
    api POST /v2/sandboxes '{"templateID":"base"}' >/dev/null
    api POST "/sandboxes/${ids[0]}/pause" '{}' >/dev/null
    json "all pages of a listing" 0 '(.sandboxes | length) == 4 and ([.sandboxes[] | select(.mine)] | length) == 3 and ([.sandboxes[] | select(.state == "paused")] | length) == 1' list "${provider[@]}"
    check "with the time" test "$(jq '.sandboxes[0].created_at != null' <"$scratch/out")" = true
    # shellcheck disable=SC2046 # words
    gone $(ask GET ids)
    service_empty "all are gone"
}

copies() {
    local snapshot copy
    export E2B_SANDBOX_URL=$url
    made || return
    on_it 'echo kept >kept; (sleep 60.25 >/dev/null 2>&1 &)'
    check "pause" calls $ok pause "$id"
    check "it is paused" has_state "$id" paused
    check "pause it again" calls $ok pause "$id"
    check "resume" calls $ok resume "$id"
    check "resume it again" calls $ok resume "$id"
    check "it runs, with its files and processes" test "$(on_it "cat kept; $(count_sleeps 60.25)")" = $'kept\n1'
    PARAMETER_keep_memory=false calls $ok pause "$id"
    check "paused without memory it has its files alone" test "$(on_it "cat kept; $(count_sleeps 60.25)")" = $'kept\n0'
    check "pause what is not there" calls $not_found pause "$unknown_id"
    check "pause what is no id" calls $not_found pause No-Such-Id
    check "delete what is no id" calls $ok delete No-Such-Id
    faults '[{"path":"/pause$","action":{"drop":"after"}}]'
    check "a pause whose answer is lost" calls $ok pause "$id"
    check "a snapshot of what is paused" calls $ok snapshot "$id" first
    check "wakes it" has_state "$id" running
    check "a snapshot" calls $ok snapshot "$id" name
    snapshot=${out##*result: }
    check "its id is told" grep -q "name:default" <<<"$snapshot"
    check "the sandbox goes on" test "$(on_it 'cat kept; echo more >more')" = kept
    check "all snapshots are listed, page by page" calls $ok snapshots
    check "both are" test "$(grep -c "^listed: " <<<"$out")" = 2
    check "a fork" calls $ok fork "$id" sandlot-copy
    copy=$(sed -n 's/^created: //p' <<<"$out")
    expect "it has the files of now" 0 $'kept\nmore' "*" -q exec "${provider[@]}" --sandbox-id "$copy" -- 'cat kept more'
    gone "$copy"
    check "fork what is not there" calls $not_found fork "$unknown_id" sandlot-copy
    check "the original goes on" test "$(on_it 'cat more')" = more
    gone "$id"
    expect "a sandbox by --sandbox-snapshot-name" 0 kept "*" -q exec "${provider[@]}" --sandbox-snapshot-name "$snapshot" -- cat kept
    made_with --param template=name || return
    check "and by its name" test "$(on_it 'cat kept')" = kept
    check "what is in use is not deleted" calls $invalid delete-snapshot "$snapshot"
    gone "$id"
    check "a snapshot is deleted" calls $ok delete-snapshot "$snapshot"
    check "again" calls $ok delete-snapshot "$snapshot"
    requests_reset
    check "what may be the name of a template" calls $ok delete-snapshot code-interpreter-v1
    faults '[{"path":"/snapshots[?]name=","action":{"replace":"[{\"snapshotID\":\"team/first:default\",\"names\":[]}]"}}]'
    check "also where another one is listed for it" calls $ok delete-snapshot code-interpreter-v1
    check "is looked up among snapshots, and not deleted" test "$(sent '^GET /snapshots[?]name='):$(sent ^DELETE)" = 2:0
    check "and by its name" calls $ok delete-snapshot first
    check "none is left" state_is '.snapshots == []'
    service_empty "all copies are gone"
}

# ---- terminals -------------------------------------------------------------------------------------------------------

in_terminal=$BUILD/tests/local/in_terminal
enter=$'\n'
has() { grep -qaE -- "$1" <<<"$out"; }

# play NAME STATUS STEP... -- ARGUMENT...: `sandlot shell` in sandbox $id, with a user who does the steps.
play() {
    local name=$1 want=$2 steps=()
    shift 2
    while [ "$1" != -- ]; do
        steps+=("$1")
        shift
    done
    shift
    ran="sandlot shell $*"
    TERM=xterm timeout -k 5 90 "$in_terminal" "${steps[@]}" -- "$SANDLOT" -q shell "${provider[@]}" --sandbox-id "$id" "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    out=$(tr -d '\0\r' <"$scratch/out") err=$(cat "$scratch/err")
    check "$name" test "$status" = "$want"
}
sleepers='for file in /proc/[0-9]*/cmdline; do tr "\0" " " <"$file"; echo; done 2>/dev/null | grep -c "^slee[p] 1000"'
no_sleepers() { [ "$(on_it "$sleepers")" = 0 ]; }

terminals() {
    [ -x "$in_terminal" ] || { echo "not ok $in_terminal is not built; run make programs"; exit 1; }
    made || return
    play "a terminal" 7 raw "type=echo TE''RM=\$TERM \$A \$PWD \$0; stty size$enter" 'expect=TERM=xterm b c /home/user /usr/bin/bash' 'expect=24 80' \
        size=50x132 wait=500 "type=stty size$enter" 'expect=50 132' "type=sleep 1000$enter" wait=300 $'type=\003' "type=echo \$?''!$enter" 'expect=130!' \
        "type=exit 7$enter" -- --env 'A=b c'
    play "a command in one" 3 -- --cwd /tmp -- 'tty; pwd; stty size; echo "[$BASH]"; exit 3'
    check "is bash's, and where it was asked for" has $'^/tmp$'
    check "on a terminal" has '^/dev/pts/[0-9]+$'
    play "output" 0 -- 'seq 20000'
    check "arrives whole" test "$(tr -d '\r' <"$scratch/out" | md5sum)" = "$(seq 20000 | md5sum)"
    play "a directory that is not there" 1 -- --cwd missing
    check "is named" has 'working directory /home/user/missing is not found'
    play "SIGTERM" 143 raw "type=sleep 1000 & nohup sleep 1000 >/dev/null & echo st''arted$enter" expect=started signal=15 --
    check "ends all of it" until_true 20 no_sleepers
    play "closed" 129 raw "type=nohup sleep 1000 >/dev/null & echo st''arted$enter" expect=started close --
    check "ends all of it, too" until_true 20 no_sleepers
    play "a command that is killed" 137 -- 'kill -9 $$'
    check "pause" calls $ok pause "$id"
    play "what is paused is woken" 0 -- 'echo awake'
    check "for it" has '^awake$'
    gone "$id"
    made_with --param ttl_s=4 || return
    play "a terminal that is open for longer than its sandbox was to live" 0 -- 'sleep 8; echo alive'
    check "goes on" has '^alive$'
    gone "$id"
}

cut_terminals() {
    made || return
    play "a terminal that is longer than any stream" 5 -- 'for n in $(seq 60); do echo n$n; sleep 0.1; done; exit 5'
    check "goes on, less what is shown between two" has '^n[3-6][0-9]$'
    gone "$id"
}

# ---- other services --------------------------------------------------------------------------------------------------

small_plan() {
    requests_reset
    made_with --param ttl_s=7200 || return
    check "a life that the plan does not allow is cut" state_is '.sandboxes[0] | .timeout == 3600 and .metadata["sandlot-rest"] == "3600000"'
    check "by one more request" test "$(sent 'POST /v2/sandboxes')" = 2
    gone "$id"
    requests_reset
    made_with --param ttl_s=7200 --param life_maximum_s=3600 || return
    check "by none, if the plan is known" test "$(sent 'POST /v2/sandboxes')" = 1
    gone "$id"
}

cut_streams() {
    made || return
    check "a command that is longer than any stream" test "$(on_it 'echo x >>ran; for n in 1 2 3 4; do echo $n; sleep 1; done; wc -l <ran')" = $'1\n2\n3\n4\n1'
    gone "$id"
}

old_server() {
    made || return
    check "it is secured all the same" state_is '.sandboxes[0].secure'
    expect "a daemon without a default user" 3 $'out\nerr' "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo out; echo err >&2; exit 3'
    head -c 1500000 /dev/urandom >"$scratch/large"
    check "a file goes up" up "$scratch/large" $workspace/large
    down $workspace/large "$scratch/back"
    check "and comes down" cmp -s "$scratch/large" "$scratch/back"
    check "pause" calls $ok pause "$id"
    expect "what is paused is woken" 0 yes "*" -q exec "${provider[@]}" --sandbox-id "$id" -- echo yes
    json "what is not there" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$unknown_id" -- true
    gone "$id"
    faults '[{"method":"POST","path":"/v2/sandboxes$","times":1,"action":{"status":404,"body":{"code":404,"message":"Cannot POST /v2/sandboxes"}}}]'
    json "one that names the path that it does not know" 0 .id create "${provider[@]}"
    gone "$(jq -r .id <"$scratch/out")"
}

# What is paused at its end wakes when its port is used, be it the first time or not.
ports_wake() {
    local forwarder turn
    own_domain
    made_with --param ttl_s=6 --param auto_pause=true || return
    "$SANDLOT" port "${provider[@]}" "$id" 0:3000 >"$scratch/port.out" 2>"$scratch/port.err" </dev/null &
    forwarder=$!
    until_true 60 test -s "$scratch/port.out"
    local_port=$(sed -nE 's/^127\.0\.0\.1:([0-9]+) .*/\1/p' "$scratch/port.out")
    for turn in first second; do
        until_true 60 has_state "$id" paused
        port_client get
        check "it is woken by the $turn connection" has_state "$id" running
    done
    kill "$forwarder"
    wait "$forwarder"
    gone "$id"
}

port_making=() port_prepare=own_domain
own_domain() {
    E2B_DOMAIN=localhost:$(ask GET state | jq .edge)
    export E2B_DOMAIN
}

vendor_use e2b
prepare=(service EMULATOR_PAGE=1)
parts terminals not_now woken ports_prolong ports_wake endings moods copies files keys_and_addresses parameters vendor_many pages
prepare=(service EMULATOR_HOURS=1)
part small_plan
prepare=(service EMULATOR_EDGE_MS=1500)
parts cut_streams cut_terminals
prepare=(service EMULATOR_OLD=1 EMULATOR_ENVD=0.3.9)
part old_server
parts_run
vendor_sound
