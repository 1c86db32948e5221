#!/usr/bin/env bash
# shellcheck disable=SC1003,SC1091,SC2030,SC2031,SC2034,SC2154,SC2016,SC2163
# What is Vercel's own: credentials, parameters, sessions and their ends, streams that are cut, files, snapshots.
. tests/vendors/lib.sh

secret=vcp_0123456789abcdefEMULATED
workspace=/vercel/sandbox
unknown_id=sandlot-no-such-sandbox
unset VERCEL_OIDC_TOKEN VERCEL_SANDBOX_BASE_URL
export VERCEL_TOKEN=$secret VERCEL_TEAM_ID=team_emulated VERCEL_PROJECT_ID=prj_emulated

# service ASSIGNMENT...: the emulator, anew, with these variables
service() {
    vendor_stop
    export "$@"
    vendor_start vercel
    unset "${@%%=*}"
    provider=(--sandbox vercel --param "base_url=$url/api")
}

# api METHOD PATH [BODY]: a request of somebody else to the API; prints the answer's body
api() {
    local LC_ALL=C body=${3:-} query=teamId=team_emulated connection
    case $2 in '' | /sessions/*) ;; *) query+='&projectId=prj_emulated' ;; esac
    exec {connection}<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf '%s /api/v2/sandboxes%s?%s HTTP/1.1\r\nHost: emulator\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
        "$1" "$2" "$query" "$secret" "${#body}" "$body" >&"$connection"
    sed '1,/^\r$/d' <&"$connection"
    exec {connection}>&-
}
session_of() { ask GET state | jq -r ".sandboxes[] | select(.id == \"$1\") | .currentSessionId"; }
status_of() { ask GET state | jq -r ".sandboxes[] | select(.id == \"$1\") | .status"; }
has_status() { [ "$(status_of "$1")" = "$2" ]; }
# stop ID: its session ends; returns at once
stop() { api POST "/sessions/$(session_of "$1")/stop" >/dev/null; }
made_with() {
    local making=("$@")
    made
}
on_it() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "$1" </dev/null 2>"$scratch/on_it.err"; }
up() { "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$@" </dev/null >"$scratch/out" 2>"$scratch/err"; }
sent() { requests_show | grep -c "$1"; }

# jwt CLAIMS: a token that says them
jwt() { printf 'eyJhbGciOiJub25lIn0.%s.c2lnbmF0dXJl' "$(printf %s "$1" | base64 -w 0 | tr '+/' '-_' | tr -d =)"; }

# ---- credentials -----------------------------------------------------------------------------------------------------

refuses() { # NAME WORD: `list` fails for want of credentials, and says WORD
    json "$1" 3 ".error == \"auth\" or .error == \"provider_unavailable\"" list "${provider[@]}"
    check "$1: it says so" grep -q -- "$2" "$scratch/out"
}

credentials() {
    (
        unset VERCEL_TEAM_ID
        refuses "a token without a team" VERCEL_TEAM_ID
        unset VERCEL_PROJECT_ID
        refuses "a token alone" "VERCEL_TEAM_ID, VERCEL_PROJECT_ID"
        unset VERCEL_TOKEN
        refuses "nothing at all" VERCEL_OIDC_TOKEN
        export VERCEL_OIDC_TOKEN
        VERCEL_OIDC_TOKEN=$(jwt '{"owner_id":"team_emulated","project_id":"prj_emulated","exp":4102444800}')
        json "a token of OIDC says team and project itself" 0 .sandboxes list "${provider[@]}"
        run -vv list "${provider[@]}"
        check "it is not printed" test -z "$(grep -F "$VERCEL_OIDC_TOKEN" "$scratch/out" "$scratch/err")"
        VERCEL_TOKEN=wrong VERCEL_TEAM_ID=team_emulated VERCEL_PROJECT_ID=prj_emulated json "it comes before an access token" 0 .sandboxes list "${provider[@]}"
        SANDLOT_VERCEL_TOKEN=wrong SANDLOT_VERCEL_TEAM_ID=team_emulated SANDLOT_VERCEL_PROJECT_ID=prj_emulated \
            json "but not before one for Sandlot alone" 3 '.error == "auth"' list "${provider[@]}"
        SANDLOT_VERCEL_TEAM_ID=other run list "${provider[@]}"
        check "which does not count unless it is whole" test "$status" = 0
        check "and says what is missing" grep -q "SANDLOT_VERCEL_TOKEN, SANDLOT_VERCEL_PROJECT_ID" "$scratch/err"
        VERCEL_OIDC_TOKEN=$(jwt '{"owner_id":"team_emulated","project_id":"prj_emulated","exp":1600000000}')
        refuses "a token of OIDC that has expired" expired
        VERCEL_OIDC_TOKEN=$(jwt '{"sub":"somebody"}')
        refuses "one that does not say for whom" owner_id
        VERCEL_OIDC_TOKEN=nonsense
        refuses "one that is none" owner_id
        exit "$failures"
    )
    failures=$?
    VERCEL_TEAM_ID=stranger json "another team" 3 '.error == "auth"' list "${provider[@]}"
    SANDLOT_VERCEL_TOKEN=$secret VERCEL_TOKEN=wrong json "a token of Sandlot's own comes first" 0 .sandboxes list "${provider[@]}"
    VERCEL_SANDBOX_BASE_URL=$url/api json "the address by VERCEL_SANDBOX_BASE_URL" 0 .sandboxes list --sandbox vercel
    VERCEL_SANDBOX_BASE_URL=http://127.0.0.1:1/api json "base_url comes before it" 0 .sandboxes list "${provider[@]}"
}

# ---- parameters ------------------------------------------------------------------------------------------------------

parameters() {
    made_with --param ttl_s=90 --param 'environment={"COLOUR": "blue", "NUMBER": 3}' --param network_block=true --param vcpus=4 \
        --param region=fra1 --param ports=3000,8080 --param 'tags={"purpose": "test"}' --param image=debian:12 || return
    check "name, tags and mark" state_is '.sandboxes[0] | .name == .tags["sandlot-run"] and .tags.sandlot == "1" and .tags.purpose == "test" and (.tags | length) == 5'
    check "not persistent, and as long as it may rest" state_is '.sandboxes[0] | .persistent == false and .timeout == 90000'
    check "network, processors, region, ports, image" state_is '.sandboxes[0] | .networkPolicy == {mode: "deny-all"} and .vcpus == 4 and .region == "fra1" and .ports == [3000, 8080] and .image == "debian:12"'
    check "its variables" test "$(on_it 'echo $COLOUR $NUMBER')" = "blue 3"
    gone "$id"
    requests_reset
    made_with --param runtime=node24 --param persistent=true --param ttl_s=7200 --param hard_ttl_s=600 --param snapshot_expiration_s=3600 || return
    check "an older runtime by the older request" test "$(sent 'POST /api/v2/sandboxes[?]')" = 1
    check "a hard end counts" state_is '.sandboxes[0] | .persistent and .runtime == "node24" and .timeout == 600000 and .snapshotExpiration == 3600000 and .tags["sandlot-until"] != null'
    check "its user" test "$(on_it 'id -un')" = vercel-sandbox
    gone "$id"
    made_with --param ttl_s=0 --param hard_ttl_s=0 || return
    check "no end asked: the longest" state_is '.sandboxes[0].timeout == 86400000'
    gone "$id"
    requests_reset
    usage "image and runtime" exclude create "${provider[@]}" --param image=a --param runtime=node24
    usage "image and snapshot" "snapshot" create "${provider[@]}" --param image=a --param snapshot=snap_x
    usage "two network policies" exclude create "${provider[@]}" --param network_block=true --param 'network_policy={"allow": []}'
    usage "too many tags" "5 tags" create "${provider[@]}" --param 'tags={"a": "1", "b": "1", "c": "1", "d": "1"}'
    usage "processors of nothing" "at least 1" create "${provider[@]}" --param vcpus=0
    usage "a variable that is none" "environment.A" create "${provider[@]}" --param 'environment={"A": [1]}'
    usage "a port that is none" "is no port" create "${provider[@]}" --param ports=3000,http
    check "before any request" test "$(requests_count)" = 0
    usage "what Vercel refuses" runtime create "${provider[@]}" --param runtime=cobol
    usage "an image that cannot be had" "manifest unknown" create "${provider[@]}" --param image=broken:latest
    json "a snapshot that is not there" 3 '.message | contains("snap_x")' create "${provider[@]}" --param snapshot=snap_x
    service_empty "nothing of all this is left"
}

# What is asked for once in a quarter of its session is told a passing no when half of it is over.
not_now() {
    made_with --param ttl_s=24 || return
    faults '[{"method":"POST","path":"/extend-timeout","action":{"status":429,"headers":{"retry-after":"1"},"body":{"error":{"code":"rate_limited","message":"not now"}}}}]'
    requests_reset
    check "a command goes on though its session was not made longer at first" test "$(on_it 'for n in $(seq 30); do sleep 1; done; echo done')" = "done"
    check "for it was asked again" test "$(sent 'extend-timeout.* 429$')" = 1 -a "$(sent 'extend-timeout.* 200$')" -ge 1
    gone "$id"
}

# Another process may have made the session longer, which what is asked for comes on top of.
others_extend() {
    made_with --param ttl_s=24 || return
    started -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo begun; until [ -e go ]; do sleep 0.2; done'
    until_true 10 grep -q begun "$scratch/out"
    api POST "/sessions/$(session_of "$id")/extend-timeout" '{"duration":600000}' >/dev/null
    requests_reset
    check "what others have done is looked at first" until_true 60 has_looked
    on_it 'touch go'
    ended "a session that others made longer" 0
    check "and nothing is added to it" test "$(sent extend-timeout)" = 0
    gone "$id"
}
has_looked() { [ "$(sent '^GET /api/v2/sandboxes/sandlot-')" -ge 1 ]; }

# ---- the ends of sessions --------------------------------------------------------------------------------------------

endings() {
    local seconds last
    for seconds in 4 20; do # on a busy machine the shorter one may have ended when the command comes
        made_with --param "ttl_s=$seconds" || return
        last=$(on_it "for n in \$(seq $((seconds + 3))); do echo \$n; sleep 1; done" | tail -n 1)
        [ "$last" = $((seconds + 3)) ] || [ "$seconds" = 20 ] && break
        gone "$id"
    done
    check "a command that is longer than its session" test "$last" = $((seconds + 3))
    check "for that has been made longer" state_is '.sandboxes[0].endsAt / 1000 > now'
    until_true 60 has_status "$id" stopped
    json "without use it ends, and its files with it" 3 '.error == "sandbox_not_found" and (.message | contains("persistent"))' exec "${provider[@]}" --sandbox-id "$id" -- true
    gone "$id"
    made_with --param ttl_s=6 --param hard_ttl_s=6 || return
    requests_reset
    run -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo begun; sleep 20'
    check "no session goes on after the hard end" test "$status" = 3
    check "that is not tried either" test "$(sent extend-timeout)" = 0
    check "what it had said is there" grep -q begun "$scratch/out"
    gone "$id"
    made_with --param persistent=true || return
    on_it 'echo kept >kept'
    stop "$id"
    check "one that is just ending is started again, with its files" test "$(on_it 'cat kept')" = kept
    stop "$id"
    until_true 5 has_status "$id" stopped
    check "as is one that has ended" test "$(on_it 'cat kept')" = kept
    started exec "${provider[@]}" --sandbox-id "$id" --timeout 30 -- 'echo begun; sleep 20'
    until_true 10 grep -q begun "$scratch/out"
    stop "$id"
    ended "a session that ends under a command" 3
    check "is told as that" grep -q "ended while the command ran\|unknown" "$scratch/err"
    stop "$id"
    json "one that is just ending is deleted" 0 .deleted delete "${provider[@]}" -- "$id"
    service_empty "all are gone"
}

# A connection to a port is looked after once a second; what was refused is not asked for as often.
refused_for_now() {
    local forwarder _
    made_with --param ttl_s=600 --param ports=3000 || return
    api PATCH "/$id" '{"timeout":2400000}' >/dev/null # from the next session on
    faults '[{"method":"POST","path":"/extend-timeout","times":-1,"action":{"status":429,"headers":{"retry-after":"3600"},"body":{"error":{"code":"rate_limited","message":"not now"}}}}]'
    "$SANDLOT" port "${provider[@]}" "$id" 0:3000 >"$scratch/port.out" 2>"$scratch/port.err" </dev/null &
    forwarder=$!
    until_true 60 test -s "$scratch/port.out"
    local_port=$(sed -nE 's/^127\.0\.0\.1:([0-9]+) .*/\1/p' "$scratch/port.out")
    for _ in 1 2 3; do port_client get; done
    check "a session that cannot be made longer now is not made so again at once" test "$(sent 'extend-timeout.* 429$')" = 1
    kill "$forwarder"
    wait "$forwarder"
    gone "$id"
}

# used_and_extended: its port is used, and a session of it has been made longer
used_and_extended() {
    port_client get
    [ "$(sent 'extend-timeout.* 200$')" -ge 1 ]
}

# A port finds a session that has ended, and starts another one: that is the one to be made longer.
ports_anew() {
    local forwarder
    made_with --param ttl_s=12 --param ports=3000 --param persistent=true || return
    "$SANDLOT" port "${provider[@]}" "$id" 0:3000 >"$scratch/port.out" 2>"$scratch/port.err" </dev/null &
    forwarder=$!
    until_true 60 test -s "$scratch/port.out"
    local_port=$(sed -nE 's/^127\.0\.0\.1:([0-9]+) .*/\1/p' "$scratch/port.out")
    port_client get
    stop "$id"
    until_true 60 has_status "$id" stopped
    port_client get
    until_true 60 used_and_extended
    check "a session that was started by the use of a port is made longer" test "$(sent 'extend-timeout.* 200$')" -ge 1
    kill "$forwarder"
    wait "$forwarder"
    gone "$id"
}

# once NAME STATUS CODE: a session refuses one request so, and all works, once
once() {
    local answer='{"status":'$2',"body":{"error":{"code":"'$3'","message":"not now"}}}'
    on_it 'rm -f ran'
    faults '[{"path":"/cmd[?]","method":"POST","action":'"$answer"'}]'
    check "$1: the command runs" test "$(on_it 'echo x >>ran; echo out')" = out
    check "$1: once" test "$(on_it 'wc -l <ran')" = 1
    echo content >"$scratch/up"
    faults '[{"path":"/cmd[?]","method":"POST","action":'"$answer"'}]'
    check "$1: a file goes up" up "$scratch/up" $workspace/up
    faults '[{"path":"/fs/write","action":'"$answer"'}]'
    check "$1: a large one too" up "$scratch/large" $workspace/large
    rm -f "$scratch/down"
    faults '[{"path":"/fs/read","action":'"$answer"'}]'
    "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" $workspace/large "$scratch/down" 2>"$scratch/err"
    check "$1: and comes down" cmp -s "$scratch/large" "$scratch/down"
    faults '[{"path":"/cmd[?]","method":"POST","action":'"$answer"'}]'
    input=$scratch/up expect "$1: input" 0 content "*" -q exec "${provider[@]}" --sandbox-id "$id" --stdin -- cat
}

moods() {
    local code
    head -c 3000000 /dev/urandom >"$scratch/large"
    made || return
    once "a session that is over" 410 sandbox_stopped
    once "a session that is stopping" 422 sandbox_stopping
    once "a session that becomes a snapshot" 422 sandbox_snapshotting
    once "a session that is unknown" 404 not_found
    faults '[{"path":"/cmd[?]","method":"POST","action":{"replace":"{\"command\":{\"id\":\"cmd_1\",\"exitCode\":null}}\n{\"stream\":\"error\",\"data\":{\"code\":\"sandbox_stopped\",\"message\":\"gone\"}}\n"}}]'
    check "an error in the middle of an answer" test "$(on_it 'echo x >>broken; echo out')" = out
    check "the command ran once" test "$(on_it 'wc -l <broken')" = 1
    for code in 400 404 422; do
        faults '[{"path":"/cmd[?]","method":"POST","times":-1,"action":{"status":'$code',"body":{"error":{"code":"executable_not_found","message":"exec: sh"}}}}]'
        json "an image without a shell, as $code" 1 '.error == "not_supported" and (.message | contains("image"))' exec "${provider[@]}" --sandbox-id "$id" -- true
    done
    faults '[{"path":"/cmd[?]","method":"POST","action":{"status":500,"body":{"error":{"code":"executable_not_found","message":"exec: sh"}}}}]'
    json "as 500, which passes else" 1 '.error == "not_supported" and (.message | contains("image"))' exec "${provider[@]}" --sandbox-id "$id" -- true
    faults '[{"path":"/cmd[?]","method":"POST","action":{"status":500,"body":"<html>no"}}]'
    check "and does, if that is not said" test "$(on_it 'echo out')" = out
    faults '[{"path":"/cmd[?]","method":"POST","times":-1,"action":{"status":402,"body":{"error":{"code":"payment_required","message":"no credit"}}}}]'
    json "no credit" 3 '.error == "quota"' exec "${provider[@]}" --sandbox-id "$id" -- true
    faults '[{"method":"DELETE","action":{"status":422,"body":{"error":{"code":"sandbox_snapshotting","message":"not now"}}}}]'
    json "a delete in the middle of a change waits" 0 .deleted delete "${provider[@]}" -- "$id"
    service_empty "and is carried out"
    faults '[{"method":"POST","path":"/v3/sandboxes","action":{"status":400,"body":{"error":{"code":"bad_request","message":"region is full"}}}}]'
    usage "a refusal says why" "region is full" create "${provider[@]}"
    for code in 400 409 412 422; do
        faults '[{"method":"POST","path":"/v3/sandboxes","action":{"drop":"after"}},
            {"method":"POST","path":"/v3/sandboxes","action":{"status":'$code',"body":{"error":{"code":"name_taken","message":"taken"}}}}]'
        made && check "a lost creation whose name is then taken, as $code" live_is 1
        gone "$id"
    done
}

# ---- files -----------------------------------------------------------------------------------------------------------

files() {
    made || return
    echo new >"$scratch/new"
    on_it 'echo old >plain; chmod 750 plain; echo old >linked; ln -s linked link; echo old >one; ln one two; mkdir shut; echo old >shut/file; chmod 555 shut'
    requests_reset
    check "several files, some of which are there" up "$scratch/new" $workspace/plain "$scratch/new" $workspace/link "$scratch/new" $workspace/one "$scratch/new" $workspace/shut/file "$scratch/new" $workspace/fresh/deep/file
    check "in one request" test "$(sent POST)" = 1
    check "all are new" test "$(on_it 'cat plain linked two shut/file fresh/deep/file | sort -u')" = new
    check "modes, links and names are kept" test "$(on_it 'stat -c %a plain; readlink link; stat -c %h one; stat -c %a fresh')" = $'750\nlinked\n2\n755'
    up "$scratch/new" "$workspace/blank at the end " "$scratch/new" "$workspace/it's \"\$(quoted)\" ü" "$scratch/new" $workspace/$'two\nlines'
    check "names of all kinds" test "$(on_it 'cat "blank at the end " it\'"'"'s* two*lines | wc -l')" = 3
    : >"$scratch/empty"
    faults '[{"path":"/cmd[?]","method":"POST","action":{"status":413,"body":{"error":{"code":"too_large","message":"too large"}}}}]'
    check "a command line that is too large for Vercel" up "$scratch/new" $workspace/long1 "$scratch/empty" $workspace/long2
    faults '[{"path":"/cmd[?]","method":"POST","action":{"status":200,"headers":{"content-type":"application/x-ndjson"},"body":"{\"command\":{\"id\":\"cmd_1\",\"exitCode\":null}}\n{\"stream\":\"stderr\",\"data\":\"base64: not found\"}\n{\"command\":{\"id\":\"cmd_1\",\"exitCode\":1}}\n"}}]'
    check "an image without the programs" up "$scratch/new" $workspace/long3
    check "the files get there all the same" test "$(on_it 'cat long1 long3; wc -c <long2')" = $'new\nnew\n0'
    head -c 1048576 /dev/urandom >"$scratch/mebibyte"
    requests_reset
    up "$scratch/mebibyte" $workspace/mebibyte
    check "a mebibyte is still one request" test "$(sent POST)" = 1
    head -c 20000000 /dev/urandom >"$scratch/large"
    requests_reset
    check "20 MB up" up "$scratch/large" $workspace/large "$scratch/new" $workspace/small
    check "by fs/write" test "$(sent fs/write)" = 1
    rm -f "$scratch/back"
    "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" $workspace/large "$scratch/back" 2>"$scratch/err"
    check "and down" cmp -s "$scratch/large" "$scratch/back"
    faults '[{"path":"/fs/write","action":{"drop":"before"}}]'
    check "20 MB whose connection breaks" up "$scratch/large" $workspace/again
    faults '[{"path":"/fs/write","times":-1,"action":{"status":413,"body":{"error":{"code":"too_large","message":"the archive is too large"}}}}]'
    json "20 MB that Vercel does not want" 3 '.results[0].message | contains("too large")' upload "${provider[@]}" --sandbox-id "$id" "$scratch/large" $workspace/again
    faults '[]'
    check "the file is the one of before" test "$(on_it 'sha256sum <again')" = "$(sha256sum <"$scratch/large")"
    check "no folder of ours is left" test "$(on_it 'find / -xdev -name ".sandlot-*" -regex ".*/[.]sandlot-[0-9a-f]*.*" ! -name "*-*-*-*" 2>/dev/null | wc -l')" = 0
    missing path_not_found
    missing file_not_found
    missing gone
    missing internal 500
    missing is_directory 422
    faults '[{"path":"/fs/write","times":-1,"action":{"status":422,"body":{"error":{"code":"bad_archive","message":"no archive"}}}}]'
    json "an archive that Vercel cannot read" 3 '.results[0].message | contains("no archive")' upload "${provider[@]}" --sandbox-id "$id" "$scratch/large" $workspace/again
    faults '[{"path":"/fs/read","times":-1,"action":{"status":200,"body":{"not":"a file"}}}]'
    json "an answer that is no file" 3 '.results[0].message | contains("application/json")' download "${provider[@]}" --sandbox-id "$id" $workspace/plain "$scratch/x"
    faults '[]'
    head -c 200000 "$scratch/large" | base64 -w 0 >"$scratch/long"
    run -q exec "${provider[@]}" --sandbox-id "$id" -- "echo $(head -c 120000 "$scratch/long") | wc -c"
    check "a command of 120 kB" test "$out" = 120001
    gone "$id"
}

missing() { # CODE [STATUS]: what Vercel may say of a file that is not there
    set -- "$1" "${2:-404}"
    faults '[{"path":"/fs/read","action":{"status":'"$2"',"body":{"error":{"code":"'"$1"'","message":"no"}}}}]'
    json "a missing file, as $1" 1 '.results[0].error == "file_not_found"' download "${provider[@]}" --sandbox-id "$id" $workspace/nowhere "$scratch/x"
    case $1 in *_not_found) return ;; esac
    faults '[{"path":"/fs/read","action":{"status":'"$2"',"body":{"error":{"code":"'"$1"'","message":"no"}}}}]'
    json "a failure that is not the file's, $1" 0 '.results[0].error == null' download "${provider[@]}" --sandbox-id "$id" $workspace/plain "$scratch/x"
}

# ---- listings, snapshots, copies -------------------------------------------------------------------------------------

pages() {
    local ids=() number
    for number in 1 2 3 4 5; do
        made && ids+=("$id")
    done
    api POST "" '{"projectId":"prj_emulated","name":"somebody-elses","runtime":"node24"}' >/dev/null
    json "all pages of a listing" 0 '(.sandboxes | length) == 6 and ([.sandboxes[] | select(.mine)] | length) == 5' list "${provider[@]}"
    check "with the time" test "$(jq '.sandboxes[0].created_at != null' <"$scratch/out")" = true
    api DELETE "/somebody-elses" >/dev/null
    gone "${ids[@]}"
    service_empty "all are gone"
}

copies() {
    local snapshot calls_url=$url/api
    made || return
    on_it 'echo kept >kept'
    check "pause" calls $ok pause "$id"
    check "its session is over" has_status "$id" stopped
    check "pause it again" calls $ok pause "$id"
    check "resume" calls $ok resume "$id"
    check "resume it again" calls $ok resume "$id"
    check "it runs, with its files" test "$(on_it 'cat kept')" = kept
    calls $ok pause "$id"
    check "what is paused is resumed by its use" test "$(on_it 'cat kept')" = kept
    check "pause what is not there" calls $not_found pause "$unknown_id"
    gone "$id"
    made || return
    on_it 'echo kept >kept'
    check "a snapshot of what is not persistent" calls $ok snapshot "$id" name
    snapshot=${out##*result: }
    check "it has an id, and no name" grep -q "no names" <<<"$out"
    check "the sandbox goes on with its files" test "$(on_it 'cat kept; echo more >more')" = kept
    check "all snapshots are listed" calls $ok snapshots
    check "this one too" grep -q "^listed: $snapshot created dated" <<<"$out"
    faults '[{"path":"/snapshot[?]","method":"POST","action":{"drop":"after"}}]'
    check "a snapshot whose answer is lost" calls $ok snapshot "$id" name
    check "is another one" test "${out##*result: }" != "$snapshot"
    check "and the only one" state_is '.snapshots | map(select(.creationMethod == "manual")) | length == 2'
    check "a fork" calls $ok fork "$id" sandlot-copy
    check "its id is told" grep -qx "created: sandlot-copy" <<<"$out"
    expect "it has the files of now" 0 $'kept\nmore' "*" -q exec "${provider[@]}" --sandbox-id sandlot-copy -- 'cat kept more'
    check "and tags of its own" state_is '.sandboxes[] | select(.id == "sandlot-copy") | .tags["sandlot-run"] == "sandlot-copy"'
    check "the original goes on" test "$(on_it 'cat more')" = more
    gone sandlot-copy "$id"
    made_with --param snapshot="$snapshot" || return
    check "a sandbox from the snapshot" test "$(on_it 'cat kept; ls more 2>/dev/null')" = kept
    stop "$id"
    until_true 5 has_status "$id" stopped
    json "its own files are not in that, so it does not come back" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$id" -- true
    gone "$id"
    expect "and one by --sandbox-snapshot-name" 0 kept "*" -q exec "${provider[@]}" --sandbox-snapshot-name "$snapshot" -- cat kept
    check "a snapshot is deleted" calls $ok delete-snapshot "$snapshot"
    check "again" calls $ok delete-snapshot "$snapshot"
    calls $ok snapshots
    check "it is no longer listed" test -z "$(grep "$snapshot" <<<"$out")"
    made_with --param persistent=true || return
    stop "$id"
    until_true 5 has_status "$id" stopped
    check "what has ended has left its snapshot" calls $ok snapshot "$id" name
    "$SANDLOT" -q delete "${provider[@]}" --param delete_snapshots=true -- "$id" >/dev/null 2>&1
    check "which goes with it, if that is wanted" state_is "[.snapshots[] | select(.id == \"${out##*result: }\")] == []"
    service_empty "all copies are gone"
}

# ---- other services --------------------------------------------------------------------------------------------------

small_plan() {
    requests_reset
    made || return
    check "a session that the plan does not allow is cut" state_is '.sandboxes[0].timeout == 2700000'
    check "by one more request" test "$(sent 'POST /api/v3/sandboxes')" = 2
    check "and is not tried to be made longer" state_is '.sandboxes[0] | (.tags["sandlot-until"] | tonumber) <= .endsAt + 1000'
    gone "$id"
    requests_reset
    made_with --param session_maximum_s=2700 || return
    check "by none, if the plan is known" test "$(sent 'POST /api/v3/sandboxes')" = 1
    check "a new one is waited for" has_status "$id" running
    check "and does" test "$(on_it 'echo yes')" = yes
    gone "$id"
}

cut_streams() {
    made || return
    check "a command that is longer than any stream" test "$(on_it 'echo x >>ran; for n in 1 2 3 4 5; do echo $n; sleep 1; done; wc -l <ran')" = $'1\n2\n3\n4\n5\n1'
    gone "$id"
}

old_server() {
    made || return
    expect "a server without logs" 3 $'out\nerr' "*" -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo out; echo err >&2; exit 3'
    gone "$id"
    made_with --param ttl_s=12 || return
    check "one that tells the time of sessions alone" test "$(on_it 'for n in $(seq 18); do sleep 1; done; echo done')" = "done"
    gone "$id"
}

# What passes, as Vercel's own client sees it.
passing() {
    requests_reset
    faults '[{"path":"/v2/sandboxes[?]","action":{"status":500}}]'
    json "a list that is answered 500 is asked for again" 0 .sandboxes list "${provider[@]}"
    check "once" test "$(requests_count)" = 2
    faults '[]'
}

vendor_use vercel
port_making=(--param ports=3000)
prepare=(service EMULATOR_PAGE=2)
parts not_now others_extend ports_prolong ports_anew refused_for_now endings credentials passing parameters moods files vendor_many pages copies
prepare=(service EMULATOR_PLAN=hobby EMULATOR_PENDING_MS=600)
part small_plan
prepare=(service EMULATOR_EDGE_MS=1500)
part cut_streams
prepare=(service EMULATOR_OLD=1)
part old_server
parts_run
vendor_sound
