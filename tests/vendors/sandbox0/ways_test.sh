#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2016,SC2030,SC2031,SC2034,SC2154,SC2163
# What is Sandbox0's own: the declared provider, keys, lifetimes, claims that are lost, sandboxes that sleep, contexts, pieces, snapshots.
. tests/vendors/lib.sh

secret=s0_emulated_0123456789abcdef0123456789abcdef
workspace=/workspace
unknown_id=rs-0000000000-default-00000
unset SANDBOX0_API_KEY SANDBOX0_BASE_URL
export SANDBOX0_TOKEN=$secret

# service ASSIGNMENT...: the emulator, anew, with these variables
service() {
    vendor_stop
    [ $# = 0 ] || export "$@"
    vendor_start sandbox0
    [ $# = 0 ] || unset "${@%%=*}"
    provider=(--sandbox sandbox0 --param "base_url=$url")
}

# api METHOD PATH [BODY]: a request of somebody else to the API; prints the answer's body
api() {
    local LC_ALL=C body=${3:-} connection
    exec {connection}<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf '%s /api/v1/sandboxes%s HTTP/1.1\r\nHost: emulator\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
        "$1" "$2" "$secret" "${#body}" "$body" >&"$connection"
    sed '1,/^\r$/d' <&"$connection"
    exec {connection}>&-
}
has_status() { state_is ".sandboxes[] | select(.id == \"$1\") | .status == \"$2\""; }
# asleep ID: is paused by somebody else
asleep() {
    api POST "/$1/pause" >/dev/null
    until_true 10 has_status "$1" paused
}
made_with() {
    local making=("$@")
    made
}
on_it() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "$1" </dev/null 2>"$scratch/on_it.err"; }
sent() { requests_show | grep -c "$1"; }
no_contexts() { state_is '[.sandboxes[].contexts[]] == []'; }

# A worker of this part: its environment has its folder.
has_worker() {
    local worker
    for worker in $(pgrep -x sandlot-worker); do
        grep -qzF "HOME=$HOME" "/proc/$worker/environ" 2>/dev/null && return
    done
    return 1
}

# ---- a provider like any other plugin ---------------------------------------------------------------------------------

# Word for word what people declare, but for the package that they install.
declared() {
    local library=$BUILD/plugins/sandbox0.so
    cat >"$config" <<'END'
[sandboxes]
default = "sandbox0"

[sandboxes.providers.sandbox0]
class_path = "sandbox0.so:sandbox0"
working_dir = "/workspace"
package = "sandlot-sandbox0"
supports_sandbox_id = true

[sandboxes.providers.sandbox0.params]
template = "default"
sandbox_ttl_sec = 7200
sandbox_hard_ttl_sec = 604800
END
    export SANDBOX0_BASE_URL=$url
    json "declared: it is what the file says" 0 '.providers[0] | .source == "config" and .path == "'"$library"'" and .package == "sandlot-sandbox0" and .capabilities.sandbox_id' providers sandbox0
    expect "declared: a command, by default, in its folder" 0 /workspace "*" -q exec --sandbox -- pwd
    run -q create --sandbox
    id=$out
    check "declared: one sandbox, from the template, with these lifetimes" state_is '.sandboxes | length == 1 and (.[0] | .template_id == "default" and .config.ttl == 7200 and .config.hard_ttl == 604800)'
    expect "declared: it is attached to by its id" 0 kept "*" -q exec --sandbox --sandbox-id "$id" -- 'echo kept >kept; cat kept'
    check "declared: attaching deletes nothing" live_is 1
    json "declared: delete" 0 .deleted delete --sandbox -- "$id"
    mkdir "$scratch/elsewhere" && cp "$library" "$scratch/elsewhere/moved.so"
    sed -i "s|^class_path.*|class_path = \"$scratch/elsewhere/moved.so:sandbox0\"|" "$config"
    json "an absolute file overrides the plugin" 0 '.providers[0] | .source == "config" and .path == "'"$scratch/elsewhere/moved.so"'"' providers sandbox0
    expect "and is used" 0 42 "*" -q exec --sandbox -- 'echo $((6 * 7))'
    rm "$config"
    unset SANDBOX0_BASE_URL
    service_empty "declared: nothing is left"
}

is_a_plugin() {
    json "it is a plugin" 0 '.providers[0] | .source == "plugin" and (.path | endswith("/plugins/sandbox0.so"))' providers sandbox0
    cp "$BUILD/plugins/sandbox0.so" "$plugins/sandbox0.so"
    json "the user's own file comes first" 0 ".providers[0].path == \"$plugins/sandbox0.so\"" providers sandbox0
    expect "and runs" 0 1 "*" -q exec "${provider[@]}" -- 'echo 1'
    rm "$plugins/sandbox0.so"
    json "removed, it is gone from the list" 0 ".providers[0].path != \"$plugins/sandbox0.so\"" providers sandbox0
    started exec "${provider[@]}" -- 'sleep 3000'
    check "it runs in a process of its own" until_true 20 has_worker
    kill -INT "$pid"
    ended "which ends with the command" 130
    run providers sandbox0
    check "its parameters are told" test "$(grep -cE '^ +(template|sandbox_ttl_sec|sandbox_hard_ttl_sec) ' <<<"$out")" = 3
}

keys() {
    (
        unset SANDBOX0_TOKEN
        SANDBOX0_API_KEY=$secret json "the other name of the key" 0 .sandboxes list "${provider[@]}"
        SANDBOX0_API_KEY=wrong SANDLOT_SANDBOX0_TOKEN=$secret json "Sandlot's own comes first" 0 .sandboxes list "${provider[@]}"
        SANDBOX0_TOKEN=gateway json "a refusal that is a sentence" 3 '.error == "auth" and (.message | contains("SANDBOX0_TOKEN"))' list "${provider[@]}"
        exit "$failures"
    )
    failures=$?
    SANDBOX0_BASE_URL=$url json "the address by its variable" 0 .sandboxes list --sandbox sandbox0
    SANDBOX0_BASE_URL=http://127.0.0.1:1 json "base_url comes before it, whatever it ends with" 0 .sandboxes list --sandbox sandbox0 --param "base_url=$url/"
    json "a team" 0 .sandboxes list "${provider[@]}" --param team_id=team-emulated
    json "another team" 3 '.error == "auth"' list "${provider[@]}" --param team_id=strangers
}

parameters() {
    made_with --param template=Python --param memory=512Mi --param 'environment={"COLOUR": "blue", "NUMBER": 3}' --param auto_resume=false --param 'network={"mode": "block-all"}' --param ttl_s=90 --param hard_ttl_s=600 || return
    check "they arrive" state_is '.sandboxes[0] | .template_id == "python" and .resources.memory == "512Mi" and .config.ttl == 90 and .config.hard_ttl == 600 and .config.auto_resume == false and .config.network.mode == "block-all"'
    check "its variables" test "$(on_it 'echo $COLOUR $NUMBER')" = "blue 3"
    asleep "$id"
    check "what must not wake by itself is woken for us" test "$(on_it 'echo yes')" = yes
    gone "$id"
    made || return
    check "an hour, and thirty days" state_is '.sandboxes[0].config | .ttl == 3600 and .hard_ttl == 2592000'
    gone "$id"
    made_with --param ttl_s=0 --param hard_ttl_s=0 || return
    check "never" state_is '.sandboxes[0].config | .ttl == 0 and .hard_ttl == 0'
    gone "$id"
    made_with --param hard_ttl_s=60 --param sandbox_ttl_sec=7200 || return
    check "it cannot pause after its end" state_is '.sandboxes[0].config | .ttl == 60 and .hard_ttl == 60'
    gone "$id"
    requests_reset
    usage "lifetimes that contradict" "must not be more" create "${provider[@]}" --param sandbox_ttl_sec=61 --param sandbox_hard_ttl_sec=60
    usage "a lifetime of less than nothing" "0 or more" create "${provider[@]}" --param sandbox_ttl_sec=-1
    usage "a variable that is none" "environment.A" create "${provider[@]}" --param 'environment={"A": [1]}'
    check "before any request" test "$(requests_count)" = 0
    json "a template that is not there" 3 '.message | contains("template nothing not found")' create "${provider[@]}" --param template=nothing
    usage "what Sandbox0 refuses" "resources is not valid" create "${provider[@]}" --param memory=much
    service_empty "nothing of all this is left"
}

# ---- claims -----------------------------------------------------------------------------------------------------------

claims() {
    local other
    other=$(api POST '' '{"template":"default"}' | jq -r .data.sandbox_id)
    faults '[{"method":"POST","path":"sandboxes$","action":{"drop":"after"}}]'
    requests_reset
    made || return
    check "a lost answer: the sandbox is found, and no other one is made" live_is 2
    check "it is not somebody else's" test "$id" != "$other"
    check "nothing but a look was taken at other people's" test "$(sent 'POST .*/rs-')" = 0
    check "its label leads nobody anywhere" state_is '[.sandboxes[] | .services // [] | .[].ingress.public] == [false]'
    gone "$id"
    faults '[{"method":"POST","path":"sandboxes$","times":2,"action":{"status":409,"headers":{"retry-after":"1"},"body":{"success":false,"error":{"code":"template_not_ready","message":"not yet"}}}}]'
    requests_reset
    made
    check "a template that is not ready is waited for" test "$(sent 'POST /api/v1/sandboxes ')" = 3
    gone "$id"
    faults '[{"method":"POST","path":"sandboxes$","times":1,"action":{"status":429,"body":{"error":"rate limit exceeded","retry_after":2}}}]'
    requests_reset
    made && ok "too many requests: asked again"
    check "not before the time that the answer tells" waited 2000
    gone "$id"
    faults '[{"method":"POST","path":"sandboxes$","times":-1,"action":{"status":429,"body":{"success":false,"error":{"code":"quota_exceeded","message":"active sandbox quota exceeded"}}}}]'
    requests_reset
    json "too many sandboxes: told at once" 3 '.error == "quota_exceeded" or (.message | contains("active sandbox quota exceeded"))' create "${provider[@]}"
    check "and asked once" test "$(sent 'POST /api/v1/sandboxes ')" = 1
    faults '[{"method":"POST","path":"sandboxes$","times":-1,"action":{"status":409,"body":{"success":false,"error":{"code":"conflict","message":"no way"}}}}]'
    json "another conflict is told" 3 '.message | contains("no way")' create "${provider[@]}"
    faults '[]'
    gone "$other"
    faults '[{"method":"POST","path":"sandboxes$","times":1,"action":{"status":400,"body":{"success":false,"error":{"code":"bad_request","message":"services are not part of your plan"}}}}]'
    made && check "where the label is refused, there is none" state_is '.sandboxes | length == 1 and .[0].services == null'
    gone "$id"
    service_empty "nothing is left of the claims"
}

slow_start() {
    service EMULATOR_START_MS=1500
    made && check "one that is not running yet is waited for" test "$(on_it 'echo yes')" = yes
    faults '[{"method":"POST","path":"sandboxes$","action":{"drop":"after"}}]'
    gone "$id"
    made && check "also when its id was lost" live_is 1
    gone "$id"
    service_empty "nothing is left of slow starts"
}

# ---- sleep ------------------------------------------------------------------------------------------------------------

sleepers() {
    service EMULATOR_WAKE=later EMULATOR_CHANGE_MS=400
    local copy snapshot
    made || return
    on_it 'echo kept >kept'
    check "pause" calls $ok pause "$id"
    check "it is paused when that returns" has_status "$id" paused
    check "pause it again" calls $ok pause "$id"
    json "it is listed so" 0 '.sandboxes[0].state == "paused"' list "${provider[@]}"
    check "resume" calls $ok resume "$id"
    faults '[{"method":"POST","path":"/pause$","times":2,"action":{"status":409,"body":{"success":false,"error":{"code":"conflict","message":"sandbox is resuming"}}}}]'
    LIMIT=60 check "a pause that is refused for another change is asked for again" timeout 60 "$calls_program" "$BUILD/plugins/sandbox0.so" sandbox0 "$url" pause "$id"
    check "until it is so" has_status "$id" paused
    faults '[]'
    check "resume what was paused late" calls $ok resume "$id"
    check "resume it again" calls $ok resume "$id"
    check "it runs, with its files" test "$(on_it 'cat kept')" = kept
    api POST "/$id/pause" >/dev/null
    check "one on its way to sleep is woken" test "$(on_it 'echo x >>ran; wc -l <ran')" = 1
    check "pause what is not there" calls $not_found pause "$unknown_id"
    check "resume what is not there" calls $not_found resume "$unknown_id"
    # One that falls asleep between two requests.
    echo content >"$scratch/up"
    for operation in contexts files; do
        faults '[{"method":"GET","path":"sandboxes/[^/?]*$","action":{"replace":{"success":true,"data":{"id":"'"$id"'","status":"running","paused":false}}}}]'
        asleep "$id"
        case $operation in
            contexts) check "$operation: woken, it runs" test "$(on_it 'echo x >>ran2; wc -l <ran2')" = 1 ;;
            *) check "$operation: woken, it is stored" "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/up" "$workspace/up"
                asleep "$id"
                "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" "$workspace/up" "$scratch/down" 2>"$scratch/err"
                check "$operation: woken, it is read" cmp -s "$scratch/up" "$scratch/down" ;;
        esac
    done
    faults '[]'
    check "a snapshot" calls $ok snapshot "$id" named
    snapshot=$(sed -n 's/^result: //p' <<<"$out")
    check "its id is told" grep -q '^rootfs-snapshot-' <<<"$snapshot"
    check "all snapshots" calls $ok snapshots
    check "it is one of them" says "^listed: $snapshot ready dated"
    expect "a sandbox from it" 0 kept "*" -q exec "${provider[@]}" --sandbox-snapshot-name "$snapshot" -- cat kept
    expect "also by the parameter" 0 kept "*" -q exec "${provider[@]}" --param "snapshot=$snapshot" -- cat kept
    json "one that is not there" 3 '.error == "sandbox_not_found" or (.message | contains("snapshot not found"))' create "${provider[@]}" --param snapshot=rootfs-snapshot-none
    check "a fork" calls $ok fork "$id" sandlot-copy
    copy=$(sed -n 's/^created: //p' <<<"$out")
    check "with a label of its own" state_is ".sandboxes[] | select(.id == \"$copy\") | [.services[].id] == [\"sandlot-copy\"]"
    expect "it has the files" 0 kept "*" -q exec "${provider[@]}" --sandbox-id "$copy" -- cat kept
    check "fork what is not there" calls $not_found fork "$unknown_id" sandlot-copy
    gone "$id" "$copy"
    check "a snapshot is deleted, though its sandbox is gone" calls $ok delete-snapshot "$snapshot"
    check "again" calls $ok delete-snapshot "$snapshot"
    check "none is left" state_is '.snapshots == []'
    service_empty "nothing is left of the sleepers"
}

lifetimes() {
    service EMULATOR_SECOND_MS=20
    made_with --param sandbox_ttl_sec=60 || return
    check "it is paused when its time is up" until_true 10 has_status "$id" paused
    check "and woken by use" test "$(on_it 'echo yes')" = yes
    gone "$id"
    made_with --param sandbox_hard_ttl_sec=60 || return
    check "it is deleted in the end" until_true 10 live_is 0
    json "then it is not found" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$id" -- true
    gone "$id"
}

lists() {
    service EMULATOR_PAGE=2
    local ids=() number
    for number in 1 2 3 4 5; do
        made && ids+=("$id")
    done
    json "all pages of a listing" 0 '(.sandboxes | length) == 5 and ([.sandboxes[] | select(.mine)] | length) == 5' list "${provider[@]}"
    faults '[{"method":"GET","path":"sandboxes[?]","action":{"replace":{"success":true,"data":{"sandboxes":null,"count":0}}}}]'
    json "none may be null" 0 '.sandboxes == []' list "${provider[@]}"
    faults '[{"method":"DELETE","path":"sandboxes/","times":2,"action":{"status":409,"body":{"success":false,"error":{"code":"conflict","message":"busy"}}}}]'
    json "what cannot be deleted yet is deleted later" 0 .deleted delete "${provider[@]}" -- "${ids[0]}"
    faults '[]'
    gone "${ids[@]}"
    service_empty "nothing is left of the lists"
}

# ---- commands and files -----------------------------------------------------------------------------------------------

contexts() {
    made || return
    requests_reset
    check "more than a context keeps" test "$(on_it 'seq 300000' | cksum)" = "$(seq 300000 | cksum)"
    check "bytes of all kinds" test "$(on_it 'printf "\377\000\001\n"; head -c 100000 /dev/urandom | tee bytes' | wc -c)" = 100004
    check "every context is deleted" no_contexts
    head -c 2000000 /dev/urandom >"$scratch/bytes"
    "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" --stdin -- 'cat' <"$scratch/bytes" >"$scratch/back" 2>"$scratch/err"
    check "bytes in and out" cmp -s "$scratch/bytes" "$scratch/back"
    json "a time limit" 0 '.timed_out and .exit_code == 124' exec "${provider[@]}" --sandbox-id "$id" --timeout 1 -- 'sleep 63.5'
    check "ends what runs" until_true 10 no_sleep "$id" 63.5
    started exec "${provider[@]}" --sandbox-id "$id" -- 'echo first; until [ -e go ]; do sleep 0.2; done; echo second'
    check "output is seen while the command runs" until_true 20 grep -q first "$scratch/out"
    on_it 'touch go' >/dev/null
    wait "$pid"
    check "all of it" test "$(cat "$scratch/out")" = "first
second"
    expect "variables and folder" 0 $'/tmp\nyes' "*" -q exec "${provider[@]}" --sandbox-id "$id" --cwd /tmp --env A=yes -- 'pwd; echo $A'
    faults '[{"method":"POST","path":"/contexts$","action":{"status":500,"body":{"success":false,"error":{"code":"internal_error","message":"broken"}}}}]'
    check "what is broken for a moment is asked again" test "$(on_it 'echo x >>ran; wc -l <ran')" = 1
    faults '[]'
    gone "$id"
    service_empty "nothing is left of the contexts"
}

rows_with_services() {
    service EMULATOR_ROWS=services
    made || return
    requests_reset
    json "a list that has the services tells whose a sandbox is" 0 '.sandboxes[0].mine' list "${provider[@]}"
    check "in one request" test "$(requests_count)" = 1
    faults '[{"method":"GET","times":-1,"action":{"status":400,"headers":{"x-request-id":"req-5e1f"},"body":{"success":false,"error":{"code":"bad_request","message":"no"}}}}]'
    json "an error has the number that Sandbox0 gave the request" 3 '.message | contains("calls the request req-5e1f")' list "${provider[@]}"
    faults '[]'
    gone "$id"
}

old_server() {
    local others
    for others in 1 null empty; do
        service EMULATOR_OLD=$others
        made || return
        check "one stream for both, the others: $others" test "$(on_it 'echo out; seq 50000' | cksum)" = "$({ echo out; seq 50000; } | cksum)"
        gone "$id"
    done
}

without_bash() {
    service EMULATOR_BASH=none
    made || return
    check "an image without bash, and without our folder" test "$(on_it 'cd / && echo $((6 * 7))')" = 42
    gone "$id"
}

pieces() {
    made || return
    head -c 110000000 /dev/urandom >"$scratch/large"
    requests_reset
    "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/large" $workspace/large 2>"$scratch/err"
    check "110 MB up, in two pieces" test "$(sent 'POST .*/files')" = 2
    "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" $workspace/large "$scratch/back" 2>"$scratch/err"
    check "and down" cmp -s "$scratch/large" "$scratch/back"
    "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" --stdin -- 'cat >large; cksum <large' <"$scratch/large" >"$scratch/sum" 2>"$scratch/err"
    check "as the input of a command, too" test "$(cat "$scratch/sum")" = "$(cksum <"$scratch/large")"
    check "nothing else is left" test "$(on_it 'ls -A /tmp | grep -c "[.][12]$"')" = 0
    gone "$id"
}

files() {
    made || return
    echo new >"$scratch/new"
    on_it 'echo old >plain; chmod 750 plain; echo old >linked; ln -s linked link; mkdir folder; echo s >secret'
    "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/new" $workspace/plain "$scratch/new" $workspace/link "$scratch/new" "$workspace/it's \"\$(quoted)\" ü" 2>"$scratch/err"
    check "a mode is kept, a link stays one" test "$(on_it 'cat plain linked; stat -c %a plain; readlink link; cat it*')" = $'new\nnew\n750\nlinked\nnew'
    json "some files, some of which cannot be had" 1 '[.results[].error] == [null, "file_not_found", "is_directory", "invalid_path"]' download "${provider[@]}" --sandbox-id "$id" \
        $workspace/plain "$scratch/1" $workspace/missing "$scratch/2" $workspace/folder "$scratch/3" $workspace/plain/below "$scratch/4"
    faults '[{"method":"GET","path":"/files","action":{"status":403,"body":{"success":false,"error":{"code":"permission_denied","message":"permission denied"}}}}]'
    json "one that may not be read" 1 '.results[0].error == "permission_denied"' download "${provider[@]}" --sandbox-id "$id" $workspace/secret "$scratch/5"
    faults '[{"method":"GET","path":"/files","times":-1,"action":{"status":200,"headers":{"content-type":"application/json"},"body":{"success":true,"data":{"content":"bmV3Cg==","encoding":"base64"}}}}]'
    run -q download "${provider[@]}" --sandbox-id "$id" $workspace/plain "$scratch/6"
    check "an envelope is no file" test "$status" != 0 -a ! -e "$scratch/6"
    faults '[{"method":"POST","path":"/files","times":-1,"action":{"status":413,"body":{"success":false,"error":{"code":"file_too_large","message":"file too large"}}}}]'
    head -c 200000 /dev/urandom >"$scratch/some"
    run -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/some" $workspace/plain
    check "what cannot be stored is told" grep -q "file too large" "$scratch/err"
    faults '[]'
    check "and nothing has changed" test "$(on_it 'cat plain; ls -A /tmp | grep -c "^[.]sandlot-.*[.]"')" = $'new\n0'
    gone "$id"
    service_empty "nothing is left of the files"
}

vendor_use sandbox0
prepare=(service)
many_more=8 # a command is two requests, for its context is deleted: the list, the batch, and the list again where it is slow
parts sleepers claims contexts files declared parameters slow_start is_a_plugin keys lifetimes lists rows_with_services old_server without_bash vendor_many
[ -z "${SANDLOT_TEST_SLOW:-}" ] || parts pieces
parts_run
vendor_sound
