#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2016,SC2030,SC2031,SC2034,SC2154,SC2163
# What is Runloop's own: keys and addresses, parameters, blueprints and disk snapshots, suspended devboxes, streams, files.
. tests/vendors/lib.sh

secret=ak_0123456789abcdefEMULATED
unknown_id=dbx_0000000000000000
workspace=/home/user
unset RUNLOOP_BASE_URL RUNLOOP_CUSTOM_HEADERS RUNLOOP_SANDBOX_BLUEPRINT_ID RUNLOOP_SANDBOX_BLUEPRINT_NAME
export RUNLOOP_API_KEY=$secret

# service ASSIGNMENT...: the emulator, anew, with these variables
service() {
    vendor_stop
    [ $# -eq 0 ] || export "$@"
    vendor_start runloop
    [ $# -eq 0 ] || unset "${@%%=*}"
    provider=(--sandbox runloop --param "base_url=$url")
}

# api METHOD PATH [BODY]: a request of somebody else; prints the answer's body
api() {
    local LC_ALL=C body=${3:-} connection
    exec {connection}<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf '%s /v1/%s HTTP/1.1\r\nHost: emulator\r\nConnection: close\r\nAuthorization: Bearer %s\r\nx-request-id: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
        "$1" "$2" "$secret" "$RANDOM$RANDOM" "${#body}" "$body" >&"$connection"
    sed '1,/^\r$/d' <&"$connection"
    exec {connection}>&-
}
made_with() {
    local making=("$@")
    made
}
has_state() { [ "$(api GET "devboxes/$1" | jq -r .status)" = "$2" ]; }
on_it() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "$1" </dev/null 2>"$scratch/on_it.err"; }
sent() { requests_show | grep -c "$1"; }

# ---- keys and addresses ----------------------------------------------------------------------------------------------

keys_and_addresses() {
    RUNLOOP_API_KEY=wrong SANDLOT_RUNLOOP_API_KEY=$secret json "a key of Sandlot's own comes first" 0 .sandboxes list "${provider[@]}"
    RUNLOOP_BASE_URL=$url/ json "the address by RUNLOOP_BASE_URL" 0 .sandboxes list --sandbox runloop
    RUNLOOP_BASE_URL=http://127.0.0.1:1 json "base_url comes first" 0 .sandboxes list "${provider[@]}"
    RUNLOOP_CUSTOM_HEADERS=$'X-Team: a b\n no header\nX-Other: 1' json "headers of the user's own" 0 .sandboxes list "${provider[@]}"
    check "arrive" state_is '.team == "a b"'
    printf 'RUNLOOP_BASE_URL=http://127.0.0.1:1\nRUNLOOP_CUSTOM_HEADERS="X-Team: of-the-project"\n' >"$scratch/work/.env"
    (
        unset SANDLOT_NO_ENV_FILE
        SANDLOT=$(realpath "$SANDLOT")
        cd "$scratch/work" || exit 1
        json "no address from a project's .env" 0 .sandboxes list "${provider[@]}"
        check "and no headers" state_is '.team != "of-the-project"'
        run -vv list --sandbox runloop --json
        check "not even where there is no other" test "$(grep -c 127.0.0.1:1/ "$scratch/err")" = 0
        exit "$failures"
    )
    failures=$?
    rm "$scratch/work/.env"
}

# ---- parameters ------------------------------------------------------------------------------------------------------

parameters() {
    made_with --param ttl_s=90 --param hard_ttl_s=7200 --param 'environment={"COLOUR": "blue", "NUMBER": 3}' --param 'metadata={"team": "a"}' \
        --param size=LARGE --param tier=flex --param architecture=arm64 --param 'launch_commands=["echo l >launched"]' || return
    check "ends after rest" state_is '.sandboxes[0].launch_parameters | .lifecycle.after_idle == {"idle_time_seconds": 90, "on_idle": "shutdown"} and .keep_alive_time_seconds == 7200'
    check "name and metadata" state_is '.sandboxes[0] | .name == .metadata["sandlot-run"] and .metadata.sandlot == "1" and .metadata.team == "a"'
    check "size, tier, architecture" state_is '.sandboxes[0].launch_parameters | [.resource_size_request, .provisioning_tier, .architecture] == ["LARGE", "flex", "arm64"]'
    check "its variables, its first commands" test "$(on_it 'echo $COLOUR $NUMBER; cat launched')" = "blue 3
l"
    gone "$id"
    made_with --param ttl_s=7200 --param hard_ttl_s=60 --param cpu_cores=0.5 --param memory_gb=2 --param disk_gb=4 --param user=root --param uid=0 || return
    check "ends before it can rest" state_is '.sandboxes[0].launch_parameters | .lifecycle == null and .keep_alive_time_seconds == 60'
    check "a size of its own" state_is '.sandboxes[0].launch_parameters | [.resource_size_request, .custom_cpu_cores, .custom_gb_memory, .custom_disk_size] == ["CUSTOM_SIZE", 0.5, 2, 4]'
    check "commands start where the user is at home" test "$(on_it 'pwd; id -u')" = "/root
0"
    gone "$id"
    made_with --param ttl_s=0 --param hard_ttl_s=0 || return
    check "as long as possible" state_is '.sandboxes[0].launch_parameters | .lifecycle == null and .keep_alive_time_seconds == 172800'
    gone "$id"
    requests_reset
    usage "two sizes" exclude create "${provider[@]}" --param size=SMALL --param cpu_cores=1
    usage "half a size" "both cpu_cores and memory_gb" create "${provider[@]}" --param cpu_cores=1
    usage "a user without a number" "belong together" create "${provider[@]}" --param user=root
    usage "a variable that is none" "environment.A" create "${provider[@]}" --param 'environment={"A": [1]}'
    check "before any request" test "$(requests_count)" = 0
    usage "a size that is none" resource_size_request create "${provider[@]}" --param size=GIANT
    json "a first command that fails" 3 '.message | contains("did not start") or contains("has ended")' create "${provider[@]}" --param 'launch_commands=["false"]'
    service_empty "nothing of all this is left"
}

limits() {
    service EMULATOR_MOST=1
    made || return
    json "a limit of the account" 3 '.error == "quota" and (.message | contains("limit"))' create "${provider[@]}"
    faults '[{"method":"POST","path":"create_and_await","action":{"status":403,"body":{"message":"Quota exceeded: 1 running devbox"}}}]'
    json "told by another status" 3 '.error == "quota" and (.message | contains("Quota exceeded"))' create "${provider[@]}"
    gone "$id"
    faults '[{"method":"POST","path":"create_and_await","action":{"status":429,"headers":{"retry-after-ms":"1500"}}}]'
    requests_reset
    made && check "after a rate limit it waits as long as it is told" waited 1500
    gone "$id"
    service_empty "one at a time"
}

# ---- creating where answers are lost -----------------------------------------------------------------------------------

lost_answers() {
    local way
    for way in '{"drop":"after"}' '{"status":500}' '{"garbage":true}' '{"replace":{}}' '{"status":409}' '{"status":408}'; do
        requests_reset
        faults '[{"method":"POST","path":"create_and_await","action":'"$way"'}]'
        made || continue
        check "$way: one devbox" live_is 1
        check "$way: it was sought before another was asked for" test "$(sent 'GET /v1/devboxes?limit=[0-9]* ')" = 1
        gone "$id"
    done
    check "a repeated request has the same id" state_is '[.asked[] | select(. > 1)] == []'
    faults '[{"method":"POST","path":"create_and_await","action":{"drop":"after"}},{"method":"GET","path":"devboxes[?]","times":-1,"action":{"status":503}}]'
    json "when it cannot be sought, none is asked for again" 3 '.error == "network"' create "${provider[@]}"
    faults '[]'
    "$SANDLOT" -q gc >/dev/null 2>&1
    service_empty "and gc finds what was made"
}

# ---- blueprints and disk snapshots -------------------------------------------------------------------------------------

blueprints() {
    run -q create "${provider[@]}" --sandbox-snapshot-name mine
    id=$out
    check "a missing blueprint is built" test "$(on_it 'cat built-from')" = python:3
    gone "$id"
    requests_reset
    run -q create "${provider[@]}" --sandbox-snapshot-name mine
    id=$out
    check "then it is found" test "$(sent 'POST /v1/blueprints')" = 0
    check "in two requests" test "$(requests_count)" = 2
    check "by its name" state_is '.sandboxes[0].blueprint_id == .blueprints[0].id'
    gone "$id"
    local blueprint
    blueprint=$(api GET blueprints | jq -r '.blueprints[0].id')
    made_with --param "snapshot=$blueprint" && gone "$id"
    RUNLOOP_SANDBOX_BLUEPRINT_NAME=mine made && check "by its name in the environment" state_is '.sandboxes[0].blueprint_id != null' && gone "$id"
    RUNLOOP_SANDBOX_BLUEPRINT_ID=$blueprint made_with --param snapshot=other && check "an id in the environment beats all" state_is '.sandboxes[0].blueprint_id != null' && gone "$id"
    api POST blueprints '{"name":"mi","dockerfile":"FROM slow\n"}' >/dev/null
    json "one that is being built" 3 '.message | contains("still being built")' create "${provider[@]}" --sandbox-snapshot-name mi
    json "one that cannot be built" 3 '.message | contains("could not build")' create "${provider[@]}" --sandbox-snapshot-name bad --param image=broken:latest
    json "one whose build has failed" 3 '.message | contains("has failed; delete it")' create "${provider[@]}" --sandbox-snapshot-name bad
    usage "an image with a second line" blank create "${provider[@]}" --sandbox-snapshot-name bad2 --param $'image=a\nRUN b'
    usage "an id that nobody knows" "not found" create "${provider[@]}" --param snapshot=snp_nothing
    json "a blueprint that is gone" 3 '.message | contains("not found")' create "${provider[@]}" --param snapshot=bpt_nothing
    faults '[{"method":"POST","path":"blueprints$","action":{"drop":"after"}}]'
    made_with --param snapshot=again
    check "a lost answer builds nothing twice" state_is '[.blueprints[] | select(.name == "again")] | length == 1'
    gone "$id"
    service_empty "nothing is left of the blueprints' devboxes"
}

copies() {
    local copy
    made || return
    on_it 'echo kept >kept'
    check "pause" calls $ok pause "$id"
    check "it is suspended" has_state "$id" suspended
    check "pause it again" calls $ok pause "$id"
    check "resume" calls $ok resume "$id"
    check "resume it again" calls $ok resume "$id"
    check "it runs, with its files" test "$(on_it 'cat kept')" = kept
    api POST "devboxes/$id/suspend" >/dev/null
    check "pause what is just being suspended" calls $ok pause "$id"
    api POST "devboxes/$id/resume" >/dev/null
    check "pause what is just being resumed" calls $ok pause "$id"
    check "it is suspended all the same" has_state "$id" suspended
    faults '[{"method":"POST","path":"/resume$","action":{"drop":"after"}}]'
    check "resume, and the answer is lost" calls $ok resume "$id"
    check "pause what is not there" calls $not_found pause "$unknown_id"
    check "resume what is not there" calls $not_found resume "$unknown_id"
    check "a disk snapshot" calls $ok snapshot "$id" kept
    check "its name is told" says '^result: kept$'
    check "a name that is taken" calls $invalid snapshot "$id" kept
    faults '[{"method":"POST","path":"snapshot_disk_async","action":{"drop":"after"}}]'
    check "a snapshot whose answer is lost" calls $ok snapshot "$id" again
    check "is made once" state_is '[.snapshots[] | select(.name == "again")] | length == 1'
    faults '[{"method":"POST","path":"snapshot_disk_async","action":{"status":503}}]'
    check "a snapshot that is refused for a moment" calls $ok snapshot "$id" third
    check "all snapshots, over their pages" calls $ok snapshots
    check "they are three" test "$(grep -c "^listed: .* complete dated" <<<"$out")" = 3
    expect "a devbox from a snapshot" 0 kept "*" -q exec "${provider[@]}" --sandbox-snapshot-name kept -- cat kept
    check "a fork" calls $ok fork "$id" sandlot-copy
    copy=$(sed -n 's/^created: //p' <<<"$out")
    check "its label is its own" state_is '[.sandboxes[] | select(.metadata["sandlot-run"] == "sandlot-copy")] | length == 1'
    expect "it has the files" 0 kept "*" -q exec "${provider[@]}" --sandbox-id "$copy" -- cat kept
    check "no snapshot is left of it" state_is '.snapshots | length == 3'
    check "fork what is not there" calls $not_found fork "$unknown_id" sandlot-copy
    gone "$id" "$copy"
    check "a snapshot is deleted" calls $ok delete-snapshot kept
    check "again" calls $ok delete-snapshot kept
    check "by its id" calls $ok delete-snapshot "$(ask GET state | jq -r '.snapshots[0].id')"
    calls $ok delete-snapshot third
    calls $ok delete-snapshot again
    check "none is left" state_is '.snapshots == []'
    service_empty "all copies are gone"
}

deleting_while_copying() {
    service EMULATOR_SNAPSHOT_MS=1500
    made || return
    api POST "devboxes/$id/snapshot_disk_async" '{"name":"slow"}' >/dev/null
    json "a delete while a snapshot is made waits" 0 .deleted delete "${provider[@]}" -- "$id"
    check "for its end" state_is '.snapshots[0].status == "complete"'
    service_empty "and is carried out"
}

# ---- at rest -----------------------------------------------------------------------------------------------------------

at_rest() {
    local code operation times
    made || return
    on_it 'echo kept >kept'
    api POST "devboxes/$id/suspend" >/dev/null
    check "one that is just being suspended is resumed" test "$(on_it 'cat kept')" = kept
    api POST "devboxes/$id/suspend" >/dev/null
    until_true 5 has_state "$id" suspended
    requests_reset
    check "a suspended one too" test "$(on_it 'cat kept')" = kept
    check "once" test "$(sent /resume)" = 1
    echo content >"$scratch/up"
    # A devbox that goes to rest between two requests, as the service tells it.
    for code in 400 409 422; do for operation in execute upload_file download_file; do
        times=1
        [ "$code $operation" != "409 download_file" ] || times=4 # what it may repeat is asked for again first
        faults '[{"path":"'$operation'","times":'$times',"action":{"status":'$code',"body":{"message":"Devbox is not in a proper state: suspended"}}},{"method":"GET","path":"devboxes/dbx_[^/]*$","skip":1,"action":{"replace":{"id":"'"$id"'","status":"suspended"}}}]'
        case $operation in
            execute) check "$operation, $code: woken, it runs" test "$(on_it 'echo x >ran; wc -l <ran')" = 1 ;;
            upload_file) check "$operation, $code: woken, it is stored" "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/up" "$workspace/up" ;;
            *) "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" "$workspace/up" "$scratch/down" 2>"$scratch/err"
                check "$operation, $code: woken, it is read" cmp -s "$scratch/up" "$scratch/down" ;;
        esac
    done; done
    faults '[{"path":"execute","action":{"status":400,"body":{"message":"command is odd"}}}]'
    json "a refusal of one that runs is told" 3 '.message | contains("command is odd")' exec "${provider[@]}" --sandbox-id "$id" -- true
    faults '[{"path":"execute","action":{"status":408}}]'
    check "408 is no error" test "$(on_it 'echo out')" = out
    faults '[]'
    api POST "devboxes/$id/shutdown" >/dev/null
    json "one that was shut down is not found" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$id" -- true
    json "deleting it is no error" 0 .deleted delete "${provider[@]}" -- "$id"
    json "it is not listed" 0 '.sandboxes == []' list "${provider[@]}"
    service_empty "nothing is left"
}

# ---- servers of other kinds ---------------------------------------------------------------------------------------------

old_server() {
    service EMULATOR_OLD=1 EMULATOR_PAGE=2 EMULATOR_WINDOW_MS=100
    local ids=() number
    requests_reset
    for number in 1 2 3 4 5; do
        made && ids+=("$id")
    done
    check "what cannot wait is waited for" test "$(sent 'wait_for_status 200')" = 5
    api POST devboxes '{"name":"somebody-elses"}' >/dev/null
    json "all pages of a listing" 0 '(.sandboxes | length) == 6 and ([.sandboxes[] | select(.mine)] | length) == 5' list "${provider[@]}"
    gone "${ids[@]}"
    faults '[{"method":"POST","path":"v1/devboxes$","action":{"drop":"after"}}]'
    made
    check "a lost answer is found on any page" live_is 2
    gone "$id" "$(ask GET state | jq -r '.sandboxes[] | select(.name == "somebody-elses").id')"
    service_empty "all are gone"
}

slow_start() {
    service EMULATOR_AWAIT_S=0
    made && check "one that is not running yet is waited for" test "$(on_it 'echo yes')" = yes
    gone "$id"
}

lifetimes() {
    service EMULATOR_SECOND_MS=20
    made_with --param ttl_s=60 || return
    check "one that rests is ended" until_true 10 live_is 0
    gone "$id"
    made_with --param ttl_s=0 --param hard_ttl_s=60 || return
    check "one that is too old is ended" until_true 10 live_is 0
    gone "$id"
}

# ---- output ------------------------------------------------------------------------------------------------------------

streams() {
    service EMULATOR_IDLE_MS=400 EMULATOR_PIECE=1000 EMULATOR_CAP=20000
    made || return
    requests_reset
    check "a silent stream is taken up again" test "$(on_it 'sleep 4; echo late')" = late
    check "one command, several streams" test "$(sent 'execute?')" = 1 -a "$(sent stream_stdout)" -gt 2
    check "more than an answer holds" test "$(on_it 'seq 100000 | tee kept' | cksum)" = "$(seq 100000 | cksum)"
    faults '[{"path":"stream_stdout","action":{"drop":"during","bytes":30000}}]'
    requests_reset
    check "a stream that is cut is gone on with" test "$(on_it 'cat kept' | cksum)" = "$(seq 100000 | cksum)"
    check "from where it was cut" test "$(sent 'offset=[1-9]')" -ge 1
    faults '[{"path":"stream_stdout","action":{"truncate_bytes":30000}}]'
    check "a stream that ends too early" test "$(on_it 'cat kept' | cksum)" = "$(seq 100000 | cksum)"
    faults '[{"path":"stream_stdout","action":{"status":404,"body":{"message":"no such execution"}}}]'
    check "no stream for once" test "$(on_it 'cat kept' | cksum)" = "$(seq 100000 | cksum)"
    faults '[{"path":"stream_stdout","times":-1,"action":{"status":404,"body":{"message":"no such route"}}}]'
    requests_reset
    check "no stream at all" test "$(on_it 'sleep 3; echo late')" = late
    check "then its end is waited for" test "$(sent 'executions/.*wait_for_status.* 200')" = 1 -a "$(sent 'execute?')" = 1
    faults '[{"path":"stream_stdout","times":-1,"action":{"status":500}}]'
    check "a stream that fails all the time" test "$(on_it 'sleep 3; echo late')" = late
    faults '[{"path":"stream_stdout","times":-1,"action":{"status":200,"headers":{"content-type":"text/event-stream"},"body":"event: error\ndata: {\"code\":\"500\",\"message\":\"broken\"}\n\n"}}]'
    requests_reset
    check "a stream that is an error all the time" test "$(on_it 'sleep 3; echo late')" = late
    check "is not asked for without a pause" test "$(sent stream_stdout)" -le 40
    faults '[]'
    started exec "${provider[@]}" --sandbox-id "$id" -- 'echo first; sleep 6; echo second'
    check "output is seen while the command runs" until_true 5 grep -q first "$scratch/out"
    check "and not only at the end" test "$(grep -c second "$scratch/out")" = 0
    wait "$pid"
    check "all of it" test "$(cat "$scratch/out")" = "first
second"
    head -c 3000000 /dev/urandom >"$scratch/bytes"
    "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" --stdin -- 'cat >copy; cat copy' <"$scratch/bytes" >"$scratch/back" 2>"$scratch/err"
    check "bytes of all kinds, in and out" cmp -s "$scratch/bytes" "$scratch/back"
    run -q exec "${provider[@]}" --sandbox-id "$id" -- "echo $(head -c 120000 "$scratch/bytes" | base64 -w 0 | head -c 120000) | wc -c"
    check "a command of 120 kB" test "$out" = 120001
    json "a time limit" 0 '.timed_out and .exit_code == 124' exec "${provider[@]}" --sandbox-id "$id" --timeout 1 -- 'sleep 63.5'
    check "ends what runs" until_true 10 no_sleep "$id" 63.5
    gone "$id"
}

# ---- files -----------------------------------------------------------------------------------------------------------

up() { "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$@" </dev/null >"$scratch/out" 2>"$scratch/err"; }

places() {
    service
    made || return
    echo new >"$scratch/new"
    : >"$scratch/empty"
    on_it 'echo old >plain; chmod 640 plain; echo old >linked; ln -s linked link; echo old >one; ln one two; mkdir shut; echo old >shut/file; chmod 555 shut'
    up "$scratch/new" $workspace/plain "$scratch/empty" $workspace/empty "$scratch/new" $workspace/link "$scratch/new" $workspace/one "$scratch/new" $workspace/shut/file "$scratch/new" $workspace/fresh/deep/file
    check "all are new" test "$(on_it 'cat plain linked two shut/file fresh/deep/file | sort -u')" = new
    check "also an empty one among them" test "$(on_it 'wc -c <empty')" = 0
    check "a mode is kept" test "$(on_it 'stat -c %a plain')" = 640
    check "a link stays one" test "$(on_it 'readlink link')" = linked
    check "two names of a file stay that" test "$(on_it 'stat -c %h one')" = 2
    up "$scratch/new" "$workspace/blank at the end " "$scratch/new" "$workspace/it's \"\$(quoted)\" ü" "$scratch/new" $workspace/$'two\nlines'
    check "names of all kinds" test "$(on_it 'cat "blank at the end " it\'"'"'s* two*lines | wc -l')" = 3
    json "through a file" 1 '.results[0].error == "invalid_path" or .results[0].error == "not_a_directory"' upload "${provider[@]}" --sandbox-id "$id" "$scratch/new" $workspace/plain/below
    head -c 5000000 /dev/urandom >"$scratch/large"
    up "$scratch/new" $workspace/a "$scratch/large" $workspace/large "$scratch/empty" $workspace/b
    check "large and small ones" test "$(on_it 'cat large | cksum; cat a b')" = "$(cksum <"$scratch/large")
new"
    rm -rf "$scratch/back" && mkdir "$scratch/back"
    on_it 'printf "1 end\n\n0 file 3\n" >trap; printf x >noline; echo s >secret; chmod 0 secret'
    requests_reset
    json "some files, some of which cannot be had" 1 '[.results[].error] == [null, "file_not_found", null, "is_directory", null, "permission_denied", null]' download "${provider[@]}" --sandbox-id "$id" \
        $workspace/trap "$scratch/back/trap" $workspace/missing "$scratch/back/missing" $workspace/empty "$scratch/back/empty" \
        $workspace/fresh "$scratch/back/fresh" "$workspace/it's \"\$(quoted)\" ü" "$scratch/back/x" $workspace/secret "$scratch/back/secret" $workspace/large "$scratch/back/large"
    check "what looks like our own words is content" test "$(cat "$scratch/back/trap")" = "1 end

0 file 3"
    check "an empty file" test -f "$scratch/back/empty" -a ! -s "$scratch/back/empty"
    check "a name that needs quoting" cmp -s "$scratch/new" "$scratch/back/x"
    check "a large one" cmp -s "$scratch/large" "$scratch/back/large"
    check "what is not there does not appear" test ! -e "$scratch/back/missing"
    check "in four requests" test "$(requests_count)" = 4
    faults '[{"path":"/execute","times":2,"action":{"drop":"during"}}]'
    json "some files, cut in the middle" 0 '[.results[].error] | all(. == null)' download "${provider[@]}" --sandbox-id "$id" \
        $workspace/trap "$scratch/back/trap" $workspace/noline "$scratch/back/noline"
    check "are whole" test "$(cat "$scratch/back/noline")" = x
    faults '[{"path":"/upload_file","action":{"status":400,"body":{"message":"disk quota"}}}]'
    json "what cannot be stored at first" 0 '[.results[].error] | all(. == null)' upload "${provider[@]}" --sandbox-id "$id" "$scratch/new" $workspace/c "$scratch/new" $workspace/d
    faults '[{"path":"/upload_file","times":-1,"action":{"status":400,"body":{"message":"No space left on device"}}}]'
    json "what cannot be stored" 3 '.results[0].message | contains("No space left")' upload "${provider[@]}" --sandbox-id "$id" "$scratch/new" $workspace/e
    faults '[]'
    check "no file of ours is left" test "$(on_it 'ls -A /tmp | grep -c "^[.]sandlot-................[.]"')" = 0
    head -c 40000000 /dev/urandom >"$scratch/large"
    up "$scratch/large" $workspace/large
    "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" $workspace/large "$scratch/back/large" 2>"$scratch/err"
    check "40 MB up and down" cmp -s "$scratch/large" "$scratch/back/large"
    gone "$id"
    service_empty "nothing is left of the files' devbox"
}

# What passes, as Runloop's own client sees it.
passing() {
    requests_reset
    faults '[{"path":"/v1/devboxes[?]","action":{"status":500}}]'
    json "a list that is answered 500 is asked for again" 0 .sandboxes list "${provider[@]}"
    check "once" test "$(requests_count)" = 2
    requests_reset
    faults '[{"path":"/v1/devboxes[?]","action":{"status":400,"headers":{"x-should-retry":"true"}}}]'
    json "so is what the service wants to be asked again" 0 .sandboxes list "${provider[@]}"
    check "once more" test "$(requests_count)" = 2
    requests_reset
    faults '[{"path":"/v1/devboxes[?]","action":{"status":503,"headers":{"x-should-retry":"false"}}}]'
    json "and not what it does not" 3 '.error == "network"' list "${provider[@]}"
    check "asked for once" test "$(requests_count)" = 1
    faults '[]'
}

vendor_use runloop
prepare=(service EMULATOR_PAGE=2)
parts vendor_many streams keys_and_addresses passing parameters lost_answers blueprints copies deleting_while_copying at_rest limits old_server slow_start \
    lifetimes places
parts_run
vendor_sound
