#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2030,SC2031,SC2034,SC2154,SC2016,SC2163
# What is Daytona's own: keys and addresses, parameters, sandboxes at rest, the toolbox's moods, files.
. tests/vendors/lib.sh

secret=dtn_0123456789abcdef0123456789abcdef
token=eyJhbGciOiJub25lIn0.eyJzdWIiOiJ0ZXN0In0.c2lnbmF0dXJl
workspace=/home/daytona
unknown_id=00000000-0000-4000-8000-000000000000
unset DAYTONA_JWT_TOKEN DAYTONA_ORGANIZATION_ID DAYTONA_API_URL DAYTONA_SERVER_URL DAYTONA_TARGET
export DAYTONA_API_KEY=$secret

# service ASSIGNMENT...: the emulator, anew, with these variables
service() {
    vendor_stop
    export "$@"
    vendor_start daytona
    unset "${@%%=*}"
    provider=(--sandbox daytona --param "base_url=$url/api")
}

# What the emulator was sent and does not know is noted by all parts.
before_stop() { state_is '.unknownFields == []' || ask GET state >>"$js/unknown"; }

# api METHOD PATH [BODY]: a request of somebody else to the control API; prints the answer's body
api() {
    local LC_ALL=C body=${3:-} connection
    exec {connection}<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf '%s /api/%s HTTP/1.1\r\nHost: emulator\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
        "$1" "$2" "$secret" "${#body}" "$body" >&"$connection"
    sed '1,/^\r$/d' <&"$connection"
    exec {connection}>&-
}
made_with() {
    local making=("$@")
    made
}
state_of() { api GET "sandbox/$1" | jq -r .state; }
has_state() { [ "$(state_of "$1")" = "$2" ]; }
on_it() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "$1" </dev/null 2>"$scratch/on_it.err"; }
sent() { requests_show | grep -c "$1"; }

# ---- keys and addresses ----------------------------------------------------------------------------------------------

keys_and_addresses() {
    (
        unset DAYTONA_API_KEY
        export DAYTONA_JWT_TOKEN=$token
        json "a token without an organization" 3 '.error == "auth" and (.message | contains("DAYTONA_ORGANIZATION_ID"))' list "${provider[@]}"
        DAYTONA_ORGANIZATION_ID=org-1 json "a token with its organization" 0 .sandboxes list "${provider[@]}"
        DAYTONA_ORGANIZATION_ID=org-1 expect "and the toolbox" 0 yes "*" -q exec "${provider[@]}" -- echo yes
        exit "$failures"
    )
    failures=$?
    DAYTONA_JWT_TOKEN=wrong json "a key comes before a token" 0 .sandboxes list "${provider[@]}"
    DAYTONA_API_KEY=wrong SANDLOT_DAYTONA_API_KEY=$secret json "a key of Sandlot's own comes first" 0 .sandboxes list "${provider[@]}"
    DAYTONA_API_URL=$url/api json "the address by DAYTONA_API_URL" 0 .sandboxes list --sandbox daytona
    DAYTONA_SERVER_URL=$url/api json "the address by DAYTONA_SERVER_URL" 0 .sandboxes list --sandbox daytona
    DAYTONA_SERVER_URL=http://127.0.0.1:1/api DAYTONA_API_URL=$url/api json "DAYTONA_API_URL comes first" 0 .sandboxes list --sandbox daytona
    DAYTONA_API_URL=http://127.0.0.1:1/api json "base_url comes before both" 0 .sandboxes list "${provider[@]}"
    echo "DAYTONA_API_URL=http://127.0.0.1:1/api" >"$scratch/work/.env"
    (
        unset SANDLOT_NO_ENV_FILE
        SANDLOT=$(realpath "$SANDLOT")
        export DAYTONA_SERVER_URL=$url/api
        cd "$scratch/work" || exit 1
        json "no address from a project's .env" 0 .sandboxes list --sandbox daytona
        exit "$failures"
    )
    failures=$?
    rm "$scratch/work/.env"
}

# ---- parameters ------------------------------------------------------------------------------------------------------

parameters() {
    made_with --param ttl_s=90 --param hard_ttl_s=7200 --param 'environment={"COLOUR": "blue", "NUMBER": 3}' --param network_block=true \
        --param public=true --param target=eu || return
    check "whole minutes, deleted on its stop" state_is '.sandboxes[0] | .autoStopInterval == 2 and .autoDeleteInterval == 0'
    check "a hard end" state_is '.sandboxes[0] | (.autoDestroyAt | sub("\\..*"; "Z") | fromdate) - (.createdAt | sub("\\..*"; "Z") | fromdate) | . > 7100 and . < 7300'
    check "name and labels" state_is '.sandboxes[0] | .name == .labels["sandlot-run"] and .labels.sandlot == "1"'
    check "network, ports and region" state_is '.sandboxes[0] | .networkBlockAll and .public and .target == "eu"'
    check "its variables" test "$(on_it 'echo $COLOUR $NUMBER')" = "blue 3"
    gone "$id"
    DAYTONA_TARGET=eu made || return
    check "the region by DAYTONA_TARGET" state_is '.sandboxes[0].target == "eu"'
    gone "$id"
    made_with --param ttl_s=0 --param hard_ttl_s=0 --param image=debian:12 --param cpu=2 --param memory_gb=4 --param disk_gb=5 || return
    check "from an image, with resources" state_is '.sandboxes[0] | .buildInfo.dockerfileContent == "FROM debian:12\n" and .cpu == 2 and .memory == 4 and .disk == 5'
    check "no end" state_is '.sandboxes[0] | .autoStopInterval == 0 and .autoDeleteInterval == -1 and .autoDestroyAt == null'
    requests_reset
    check "where commands start is asked for" test "$(on_it pwd)" = /home/daytona
    check "that is one request" test "$(sent work-dir)" = 1
    gone "$id"
    requests_reset
    usage "image and snapshot" exclude create "${provider[@]}" --param image=a --param snapshot=b
    usage "resources without an image" "needs image" create "${provider[@]}" --param cpu=2
    usage "resources of nothing" "at least 1" create "${provider[@]}" --param image=a --param cpu=0
    usage "an image with a second line" blank create "${provider[@]}" --param $'image=a\nRUN b'
    usage "a variable that is none" "environment.A" create "${provider[@]}" --param 'environment={"A": [1]}'
    check "before any request" test "$(requests_count)" = 0
    usage "an unknown snapshot" "Snapshot nothing not found" create "${provider[@]}" --param snapshot=nothing
    json "an unknown region" 3 '.message | contains("Region nowhere")' create "${provider[@]}" --param target=nowhere
    json "a limit of the organization" 3 '.error == "quota" and (.message | contains("limit exceeded"))' create "${provider[@]}" --param image=a --param cpu=64
    json "an image that cannot be had" 3 '.message | contains("manifest unknown")' create "${provider[@]}" --param image=broken:latest
    service_empty "nothing of all this is left"
}

# ---- sandboxes at rest -----------------------------------------------------------------------------------------------

at_rest() {
    made || return
    on_it 'echo kept >kept'
    api POST "sandbox/$id/autodelete/-1" >/dev/null
    api POST "sandbox/$id/stop" >/dev/null
    until_true 5 has_state "$id" stopped
    check "a stopped one is started again" test "$(on_it 'cat kept')" = kept
    api POST "sandbox/$id/stop" >/dev/null
    check "also one that is just being stopped" test "$(on_it 'cat kept')" = kept
    api POST "sandbox/$id/stop" >/dev/null
    until_true 5 has_state "$id" stopped
    api POST "sandbox/$id/archive" >/dev/null
    until_true 5 has_state "$id" archived
    check "an archived one too" test "$(on_it 'cat kept')" = kept
    expect "by its name" 0 kept "*" -q exec "${provider[@]}" --sandbox-id "$(api GET "sandbox/$id" | jq -r .name)" -- cat kept
    faults '[{"method":"GET","path":"/api/sandbox/[^/]+$","times":2,"action":{"replace":{"id":"'"$id"'","state":"error","recoverable":true,"errorReason":"lost","toolboxProxyUrl":"'"$url"'/toolbox/"}}}]'
    requests_reset
    check "one that has failed is mended" test "$(on_it 'cat kept')" = kept
    check "once" test "$(sent /recover)" = 1
    faults '[{"method":"GET","path":"/api/sandbox/[^/]+$","times":-1,"action":{"replace":{"id":"'"$id"'","state":"error","errorReason":"disk lost","toolboxProxyUrl":"'"$url"'/toolbox"}}}]'
    json "one that cannot be mended" 3 '.message | contains("disk lost")' exec "${provider[@]}" --sandbox-id "$id" -- true
    faults '[{"method":"GET","path":"/api/sandbox/[^/]+$","times":-1,"action":{"replace":{"id":"'"$id"'","state":"destroying","toolboxProxyUrl":"'"$url"'/toolbox"}}}]'
    json "one that is being deleted" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$id" -- true
    faults '[{"method":"GET","path":"/api/sandbox/[^/]+$","action":{"replace":{"id":"'"$id"'","state":"started"}}}]'
    check "an old server says elsewhere where the toolbox is" test "$(on_it 'cat kept')" = kept
    faults '[{"method":"DELETE","action":{"status":409,"body":{"statusCode":409,"error":"Conflict","message":"Sandbox state change in progress"}}}]'
    json "a delete in the middle of a change waits" 0 .deleted delete "${provider[@]}" -- "$id"
    service_empty "and is carried out"
    made || return
    api POST "sandbox/$id/autodelete/-1" >/dev/null
    api POST "sandbox/$id/stop" >/dev/null
    json "a delete while it is being stopped" 0 .deleted delete "${provider[@]}" -- "$id"
    service_empty "is carried out too"
}

# ---- the toolbox -----------------------------------------------------------------------------------------------------

# once NAME ANSWER: the toolbox refuses one request so, and the command runs all the same, once
once() {
    on_it 'rm -f ran'
    faults '[{"path":"^/toolbox/","action":'"$2"'}]'
    check "$1: the command runs" test "$(on_it 'echo x >>ran; echo out')" = out
    check "$1: once" test "$(on_it 'wc -l <ran')" = 1
    head -c 60000 /dev/urandom >"$scratch/up"
    faults '[{"path":"^/toolbox/","action":'"$2"'}]'
    check "$1: a file goes up" "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/up" "$workspace/up"
    faults '[{"path":"/bulk-upload","action":'"$2"'}]'
    input=$scratch/up expect "$1: standard input arrives" 0 "$(sha256sum <"$scratch/up")" "*" -q exec --stdin "${provider[@]}" --sandbox-id "$id" -- sha256sum
    faults '[{"path":"^/toolbox/","action":'"$2"'}]'
    check "$1: the setup script runs, once" test "$("$SANDLOT" -q exec --sandbox-setup "$scratch/setup.sh" "${provider[@]}" --sandbox-id "$id" -- 'wc -l <set_up; rm set_up' </dev/null 2>"$scratch/err")" = 1
    requests_reset
    faults '[{"path":"/bulk-download","action":'"$2"'}]'
    check "$1: several files come down" "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" "$workspace/up" "$scratch/down" "$workspace/ran" "$scratch/ran"
    check "$1: together" test "$(requests_show | grep -c download)" = 2
    rm -f "$scratch/down"
    faults '[{"path":"^/toolbox/","action":'"$2"'}]'
    "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" "$workspace/up" "$scratch/down" 2>"$scratch/err"
    check "$1: and comes down" cmp -s "$scratch/up" "$scratch/down"
}

moods() {
    made || return
    echo "echo x >>$workspace/set_up" >"$scratch/setup.sh"
    once "no address of the container" '{"status":400,"body":{"statusCode":400,"message":"bad request: failed to resolve container IP after 3 attempts: no IP address found. Is the Sandbox started?","code":"BAD_REQUEST"}}'
    once "a good key refused" '{"status":401,"body":{"statusCode":401,"message":"unauthorized: Invalid credentials","code":"UNAUTHORIZED"}}'
    once "a gateway without words" '{"status":502}'
    once "no container" '{"status":404,"body":{"statusCode":404,"message":"sandbox container not found","code":"NOT_FOUND"}}'
    faults '[{"path":"/process/execute","action":{"status":408,"body":{"statusCode":408,"message":"request timeout: command execution timeout","code":"PROCESS_EXECUTION_TIMEOUT"}}}]'
    check "an answer that was cut by the daemon's limit" test "$(on_it 'echo out')" = out
    faults '[{"path":"^/toolbox/","times":-1,"action":{"status":401}}]'
    json "a key that stays refused ends in an error" 3 '.error == "network" or .error == "auth"' exec "${provider[@]}" --sandbox-id "$id" -- true
    head -c 3000000 /dev/zero >"$scratch/large"
    for many in 1 -1; do
        faults '[{"path":"/bulk-upload","times":'$many',"action":{"status":401}}]'
        input=$scratch/large json "as one is for input that cannot be sent twice, $many" 3 '.error == "auth"' exec --stdin "${provider[@]}" --sandbox-id "$id" -- wc -c
        faults '[{"path":"/bulk-upload","times":'$many',"action":{"status":401}}]'
        mkfifo "$scratch/fifo-$many"
        cat "$scratch/large" >"$scratch/fifo-$many" &
        json "as one is for a fifo, $many" 3 '.results[0].error == "auth"' upload "${provider[@]}" --sandbox-id "$id" "$scratch/fifo-$many" "$workspace/large"
    done
    faults '[{"path":"/api/sandbox$","method":"POST","action":{"status":429,"headers":{"Retry-After-sandbox-create":"1","X-RateLimit-Reset-sandbox-create":"1"},"body":{"statusCode":429,"error":"Too Many Requests","message":"ThrottlerException: Too Many Requests"}}}]'
    local first=$id
    requests_reset
    made && check "after a rate limit it waits as long as it is told" waited 1000
    gone "$id"
    gone "$first"
    service_empty "one sandbox was made, and is gone"
}

# ---- files -----------------------------------------------------------------------------------------------------------

up() { "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$@" </dev/null >"$scratch/out" 2>"$scratch/err"; }

places() {
    made || return
    echo new >"$scratch/new"
    on_it 'echo old >plain; chmod 640 plain; echo old >linked; ln -s linked link; echo old >one; ln one two; mkdir shut; echo old >shut/file; chmod 555 shut'
    up "$scratch/new" $workspace/plain "$scratch/new" $workspace/link "$scratch/new" $workspace/one "$scratch/new" $workspace/shut/file "$scratch/new" $workspace/fresh/deep/file
    check "all are new" test "$(on_it 'cat plain linked two shut/file fresh/deep/file | sort -u')" = new
    check "a mode is kept" test "$(on_it 'stat -c %a plain')" = 640
    check "a link stays one" test "$(on_it 'readlink link')" = linked
    check "two names of a file stay that" test "$(on_it 'stat -c %h one')" = 2
    up "$scratch/new" "$workspace/blank at the end " "$scratch/new" "$workspace/it's \"\$(quoted)\" ü" "$scratch/new" $workspace/$'two\nlines'
    check "names of all kinds" test "$(on_it 'cat "blank at the end " it?s* two*lines | wc -l')" = 3
    json "through a file" 1 '.results[0].error == "invalid_path" or .results[0].error == "not_a_directory"' upload "${provider[@]}" --sandbox-id "$id" "$scratch/new" $workspace/plain/below
    check "no folder of ours is left" test "$(on_it 'find / -xdev -name ".sandlot-*" -regex ".*/[.]sandlot-[0-9a-f]*" 2>/dev/null | wc -l')" = 0
    printf -- '--DAYTONA-FILE-BOUNDARY--\r\n\r\n--DAYTONA-FILE-BOUNDARY\r\n' >"$scratch/trap.json"
    : >"$scratch/empty"
    up "$scratch/trap.json" $workspace/trap.json "$scratch/empty" $workspace/empty "$scratch/new" "$workspace/ü \"x\".json"
    rm -rf "$scratch/back" && mkdir "$scratch/back"
    json "some files, one of which is not there" 1 '[.results[].error] == [null, "file_not_found", null, "is_directory", null]' download "${provider[@]}" --sandbox-id "$id" \
        $workspace/trap.json "$scratch/back/trap" $workspace/missing "$scratch/back/missing" $workspace/empty "$scratch/back/empty" \
        $workspace/fresh "$scratch/back/fresh" "$workspace/ü \"x\".json" "$scratch/back/x"
    check "what looks like the end of a form is content" cmp -s "$scratch/trap.json" "$scratch/back/trap"
    check "an empty file" test -f "$scratch/back/empty" -a ! -s "$scratch/back/empty"
    check "a name that needs encoding" cmp -s "$scratch/new" "$scratch/back/x"
    check "what is not there does not appear" test ! -e "$scratch/back/missing"
    faults '[{"path":"/files/bulk-download","action":{"drop":"during"}}]'
    json "some files, cut in the middle" 0 '[.results[].error] | all(. == null)' download "${provider[@]}" --sandbox-id "$id" \
        $workspace/trap.json "$scratch/back/trap" $workspace/plain "$scratch/back/plain"
    check "are whole" cmp -s "$scratch/trap.json" "$scratch/back/trap"
    faults '[{"path":"/files/bulk-download","action":{"replace":"--B\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nno length\r\n--B--\r\n"}}]'
    json "a form that makes no sense" 0 '[.results[].error] | all(. == null)' download "${provider[@]}" --sandbox-id "$id" \
        $workspace/trap.json "$scratch/back/trap" $workspace/plain "$scratch/back/plain"
    json "a missing file whose path speaks of sandboxes" 1 '.results[0].error == "file_not_found"' download "${provider[@]}" --sandbox-id "$id" \
        $workspace/sandbox/missing "$scratch/x"
    head -c 20000000 /dev/urandom >"$scratch/large"
    up "$scratch/large" $workspace/large
    "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" $workspace/large "$scratch/back/large" 2>"$scratch/err"
    check "20 MB up and down" cmp -s "$scratch/large" "$scratch/back/large"
    head -c 200000 "$scratch/large" | base64 -w 0 >"$scratch/long"
    run -q exec "${provider[@]}" --sandbox-id "$id" -- "echo $(head -c 120000 "$scratch/long") | wc -c"
    check "a command of 120 kB" test "$out" = 120001
    gone "$id"
}

old_daemon() {
    made || return
    on_it 'mkdir folder; echo x >secret; chmod 0 secret'
    json "a daemon without words: a missing file" 1 '.results[0].error == "file_not_found"' download "${provider[@]}" --sandbox-id "$id" $workspace/missing "$scratch/x"
    json "a daemon without words: a folder" 1 '.results[0].error == "is_directory"' download "${provider[@]}" --sandbox-id "$id" $workspace/folder "$scratch/x"
    json "a daemon without words: no permission" 1 '.results[0].error == "permission_denied"' download "${provider[@]}" --sandbox-id "$id" $workspace/secret "$scratch/x"
    gone "$id"
}

# ---- listings, lifetimes, copies -------------------------------------------------------------------------------------

pages() {
    local ids=() number
    for number in 1 2 3 4 5; do
        made && ids+=("$id")
    done
    api POST sandbox '{"name":"somebody-elses"}' >/dev/null
    json "all pages of a listing" 0 '(.sandboxes | length) == 6 and ([.sandboxes[] | select(.mine)] | length) == 5' list "${provider[@]}"
    check "with the time" test "$(jq '.sandboxes[0].created_at != null' <<<"$out")" = true
    api DELETE sandbox/somebody-elses >/dev/null
    gone "${ids[@]}"
    service_empty "all are gone"
}

# On a busy machine its time may be over before the command has seen it ready.
lifetimes() {
    run -q create "${provider[@]}" --param ttl_s=60
    check "one that rests" state_is '.made == 1'
    check "is stopped and deleted" until_true 10 live_is 0
    run -q create "${provider[@]}" --param ttl_s=0 --param hard_ttl_s=60
    check "one that is too old" state_is '.made == 2'
    check "is deleted" until_true 10 live_is 0
    [ -z "$out" ] || gone "$out"
}

copies() {
    local copy calls_url=$url/api
    made || return
    on_it 'echo kept >kept'
    check "pause a container" calls $ok pause "$id"
    check "it is stopped, and not deleted for that" state_is '.sandboxes[0] | .state == "stopped" and .autoDeleteInterval > 0'
    check "pause it again" calls $ok pause "$id"
    check "resume it" calls $ok resume "$id"
    faults '[{"method":"POST","path":"/stop$","action":{"drop":"after"}}]'
    check "pause it, the answer is lost" calls $ok pause "$id"
    check "resume it then" calls $ok resume "$id"
    faults '[{"method":"GET","path":"/api/sandbox/'"$id"'$","action":{"replace":{"id":"'"$id"'","state":"started","labels":{"sandlot-run":"sandlot-1"}}}}]'
    check "pause it, and nobody tells that it would be deleted then" calls $ok pause "$id"
    check "it is not" state_is '.sandboxes[0].state == "stopped"'
    check "resume it" calls $ok resume "$id"
    faults '[{"method":"POST","path":"/stop$","times":-1,"action":{"status":409,"body":{"message":"Sandbox state change in progress"}}}]'
    check "a pause that is refused" calls 5 pause "$id"
    faults '[]'
    check "it runs, and is to be deleted on its stop again" state_is '.sandboxes[0] | .state == "started" and .autoDeleteInterval == 0'
    check "pause what is not there" calls $not_found pause "$unknown_id"
    check "a snapshot" calls $ok snapshot "$id" kept
    check "and its name" says '^result: kept$'
    check "a name that is taken" calls $invalid snapshot "$id" kept
    check "one that the emulator makes inactive" calls $ok snapshot "$id" unused
    faults '[{"method":"POST","path":"/snapshot$","action":{"drop":"after"}}]'
    check "a snapshot whose answer is lost" calls $ok snapshot "$id" again
    check "all snapshots, over their pages" calls $ok snapshots
    check "with ours" says '^listed: kept active dated'
    check "and with the other" says '^listed: again active dated'
    check "a container is not forked" calls $unsupported fork "$id" sandlot-copy
    gone "$id"
    expect "a sandbox from a snapshot" 0 kept "*" -q exec "${provider[@]}" --param snapshot=kept -- cat kept
    expect "by --sandbox-snapshot-name" 0 kept "*" -q exec "${provider[@]}" --sandbox-snapshot-name kept -- cat kept
    expect "an inactive snapshot is activated" 0 kept "*" -q exec "${provider[@]}" --sandbox-snapshot-name unused -- cat kept
    calls $ok delete-snapshot unused
    check "a snapshot is deleted" calls $ok delete-snapshot kept
    check "again" calls $ok delete-snapshot kept
    check "it is gone" state_is '[.snapshots[] | select(.name == "kept")] == []'
    calls $ok delete-snapshot again
    made_with --param snapshot=daytona-vm || return
    on_it 'echo m >m; (sleep 58.5 >/dev/null 2>&1 &)'
    check "a snapshot of a machine that runs" calls $ok snapshot "$id" running
    calls $ok delete-snapshot running
    check "pause a machine" calls $ok pause "$id"
    check "it keeps its memory" state_is '.sandboxes[0].state == "paused"'
    check "resume a machine" calls $ok resume "$id"
    check "what ran goes on" test "$(on_it 'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\0" " " | grep -c "[s]leep 58.5"')" = 1
    faults '[{"method":"POST","path":"/fork$","action":{"status":409,"body":{"message":"Sandbox state change in progress"}}}]'
    check "a fork in the middle of a change" calls 5 fork "$id" sandlot-copy
    faults '[{"method":"POST","path":"/fork$","times":-1,"action":{"status":503}}]'
    check "a fork at a service that is down" calls 5 fork "$id" sandlot-copy
    faults '[{"method":"POST","path":"/fork$","action":{"drop":"after"}}]'
    check "fork a machine, the answer is lost" calls $ok fork "$id" sandlot-copy
    copy=$(sed -n 's/^created: //p' <<<"$out")
    check "there is one copy, with its label" state_is '[.sandboxes[] | select(.labels["sandlot-run"] == "sandlot-copy")] | length == 1'
    gone "$id"
    id=$copy
    check "with its files" test "$(on_it 'cat m')" = m
    gone "$id"
    service_empty "all copies are gone"
}

vendor_use daytona
prepare=(service EMULATOR_PAGE=2)
parts keys_and_addresses parameters at_rest moods places vendor_many pages copies
prepare=(service EMULATOR_OLD_DAEMON=1 EMULATOR_MINUTE_MS=1500)
parts old_daemon lifetimes
parts_run
check "no field was sent that Daytona does not know" test ! -e "$js/unknown"
vendor_sound
