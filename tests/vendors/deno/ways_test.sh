#!/bin/bash
# shellcheck disable=SC1091,SC2016,SC2030,SC2031,SC2034,SC2154
# What is Deno's own: tokens, addresses and regions, parameters, lifetimes, lines that are lost or idle, volumes and snapshots.
. tests/vendors/lib.sh
vendor_use deno

secret=ddo_5e1f0c77a2b94d0e_emulated
personal=ddp_77a2b94d0e5e1f0c_emulated
workspace=/home/app
unset DENO_DEPLOY_ORG DENO_DEPLOY_ENDPOINT DENO_SANDBOX_ENDPOINT DENO_SANDBOX_BASE_DOMAIN
export DENO_DEPLOY_TOKEN=$secret

# service ASSIGNMENT...: the emulator, anew, with these variables
service() {
    vendor_stop
    [ $# -eq 0 ] || export "${@?}"
    vendor_start deno
    [ $# -eq 0 ] || unset "${@%%=*}"
    provider=(--sandbox deno --param "base_url=$url")
}

# api METHOD PATH [BODY]: a request of somebody else; prints the answer's body
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
refuses() { # NAME TEXT ARGUMENT...: a usage error with this text
    local name=$1 text=$2
    shift 2
    run "$@"
    if [ "$status" = 2 ] && grep -qF -- "$text" "$scratch/err"; then ok "$name"; else not_ok "$name" "$(show)"; fi
}
on_it() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "$1" </dev/null 2>"$scratch/on_it.err"; }
sent() { requests_show | grep -c "$1"; }
has_sent() { [ "$(sent "$1")" -ge 1 ]; }
# lasts SECONDS: whether the only sandbox will end in so long, as it was told less than half a minute ago; a clock is read to
# know what was asked for, not how long anything took
lasts() { state_is ".sandboxes[0].stopAt / 1000 - now | . <= $1 and . > $1 - 100"; }

# ---- tokens, addresses, regions --------------------------------------------------------------------------------------

tokens_and_addresses() {
    DENO_DEPLOY_TOKEN=wrong SANDLOT_DENO_DEPLOY_TOKEN=$secret json "a token of Sandlot's own comes first" 0 .sandboxes list "${provider[@]}"
    DENO_DEPLOY_TOKEN=$personal json "a personal token alone" 3 '.error == "auth" and (.message | contains("DENO_DEPLOY_ORG"))' list "${provider[@]}"
    DENO_DEPLOY_TOKEN=$personal DENO_DEPLOY_ORG=emulated json "with its organization" 0 .sandboxes list "${provider[@]}"
    DENO_DEPLOY_TOKEN=$personal DENO_DEPLOY_ORG=other json "that counts less than the parameter" 0 .sandboxes list "${provider[@]}" --param org=emulated
    DENO_DEPLOY_TOKEN=$personal json "another's organization" 3 '.error == "auth"' create "${provider[@]}" --param org=other
    DENO_DEPLOY_ENDPOINT=$url json "the console by DENO_DEPLOY_ENDPOINT" 0 .sandboxes list --sandbox deno
    DENO_DEPLOY_ENDPOINT=$url json "which says more of it than base_url" 0 .sandboxes list --sandbox deno --param base_url=http://127.0.0.1:1
    json "the console by console_url" 0 .sandboxes list --sandbox deno --param base_url=http://127.0.0.1:1 --param "console_url=$url"
    DENO_SANDBOX_ENDPOINT=$url/old/path/ DENO_DEPLOY_ENDPOINT=$url expect "the path of that address is not Deno's" 0 hello "*" -q exec --sandbox deno -- echo hello
    DENO_SANDBOX_ENDPOINT=$url DENO_DEPLOY_ENDPOINT=$url expect "both by variables" 0 hello "*" -q exec --sandbox deno -- echo hello
    DENO_SANDBOX_BASE_DOMAIN=localhost:$port json "regions below a domain of one's own, with TLS" 3 \
        '.error == "network" and (.message | contains("ams.localhost:'"$port"'"))' exec --sandbox deno --sandbox-id sbx_ams_00000000000000000000 -- true
    printf 'DENO_SANDBOX_ENDPOINT=http://127.0.0.1:1\nDENO_DEPLOY_ENDPOINT=http://127.0.0.1:1\n' >"$scratch/work/.env"
    (
        unset SANDLOT_NO_ENV_FILE
        SANDLOT=$(realpath "$SANDLOT")
        cd "$scratch/work" || exit 1
        run -vv list "${provider[@]}"
        check "no address from a project's .env" test "$status" = 0
        exit "$failures"
    )
    failures=$?
    rm "$scratch/work/.env"
    service_empty "nothing is left after: addresses"
}

regions() {
    provider=(--sandbox deno --param "base_url=http://{region}.localhost:$port" --param "console_url=$url")
    made_with --param region=ams || return
    check "a sandbox is made where it was wanted" test "${id:0:8}" = sbx_ams_
    expect "and found there by its id" 0 here "*" -q exec "${provider[@]}" --sandbox-id "$id" -- echo here
    json "deleted there" 0 .deleted delete "${provider[@]}" -- "$id"
    made || return
    check "without a word it is ord" test "${id:0:8}" = sbx_ord_
    gone "$id"
    requests_reset
    json "an id that there cannot be is not found" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id box-1 -- true
    json "and gone already" 0 .deleted delete "${provider[@]}" -- box-1
    refuses "a region that is none" "no region of Deno" create "${provider[@]}" --param region=Europe
    check "all of which needs no request" test "$(requests_count)" = 0
    service_empty "nothing is left after: regions"
}

# ---- parameters ------------------------------------------------------------------------------------------------------

parameters() {
    local hidden=not-to-be-printed
    run -vv create "${provider[@]}" --param 'environment={"COLOUR": "dark blue", "NUMBER": 3}' --param 'labels={"team": "ä 😀", "n": 1}' --param memory_mb=2048 \
        --param 'allow_net=["*.deno.com", "1.1.1.1:53"]' --param 'secrets={"KEY": {"hosts": ["a.example"], "value": "'$hidden'"}}'
    id=$out
    check "with everything that can be said" test "$status" = 0
    if grep -qF "$hidden" "$scratch/out" "$scratch/err"; then not_ok "a secret is not printed" "it is"; else ok "a secret is not printed"; fi
    check "memory and network" state_is '.sandboxes[0].config | .memory_mb == 2048 and .allow_net == ["*.deno.com", "1.1.1.1:53"]'
    check "secrets" state_is '.sandboxes[0].config.secrets == {"KEY": {"hosts": ["a.example"], "value": "'$hidden'"}}'
    check "labels: all of the user's, the one that finds it again, five at most" \
        state_is '.sandboxes[0].config.labels | .team == "ä 😀" and .n == "1" and .["sandlot-run"] and length == 5'
    check "variables" test "$(on_it 'echo $COLOUR $NUMBER')" = "dark blue 3"
    check "of the run" test "$("$SANDLOT" list "${provider[@]}" --json | jq '.sandboxes[0].mine')" = true
    gone "$id"
    made_with --param 'allow_net=[]' || return
    check "no network at all" state_is '.sandboxes[0].config.allow_net == []'
    gone "$id"
    requests_reset
    refuses "five labels are one too many" "of which one is Sandlot" create "${provider[@]}" --param 'labels={"a":1,"b":2,"c":3,"d":4,"e":5}'
    refuses "a label that is too long" "too long" create "${provider[@]}" --param 'labels={"a":"'"$(printf '%0129d' 0)"'"}'
    refuses "memory that Deno does not give" "768 to 4096" create "${provider[@]}" --param memory_mb=512
    check "all of which needs no request" test "$(requests_count)" = 0
    refuses "what Deno refuses" "allow_net is not valid" create "${provider[@]}" --param 'allow_net=["a/b"]'
    service_empty "nothing is left after: parameters"
}

# ---- lifetimes -------------------------------------------------------------------------------------------------------

# note LEFT REST UNTIL: in seconds, as if the sandbox had been made so long ago
note() {
    local now
    now=$(date +%s)
    on_it "echo '{\"ends\":$((now + $1))000,\"rest\":${2}000,\"until\":$((now + $3))000}' >/tmp/.lifetime"
}

lifetimes() {
    made || return
    check "half an hour, though ttl_s is more" lasts 1800
    note 100 600 86400
    requests_reset
    on_it true
    check "one that is used late in its life lives on" lasts 600
    check "by one request more" test "$(requests_count) $(sent '^PATCH .* 200$')" = "2 1"
    requests_reset
    on_it true
    check "which the next one knows of" test "$(requests_count) $(sent ^PATCH)" = "1 0"
    note 100 600 100
    requests_reset
    on_it true
    check "not past hard_ttl_s" test "$(sent ^PATCH)" = 0
    on_it 'rm /tmp/.lifetime'
    requests_reset
    on_it true
    check "without a note it is somebody else's" test "$(sent ^PATCH)" = 0
    note 100 600 86400
    faults '[{"method":"PATCH","times":1,"action":{"status":400,"body":{"code":"NO","message":"no more"}}}]'
    run exec "${provider[@]}" --sandbox-id "$id" -- echo "done"
    check "where Deno refuses, what was wanted is done" test "$status $out" = "0 done"
    check "and it is said" grep -q "does not let this sandbox live longer" "$scratch/err"
    gone "$id"
    made_with --param ttl_s=500 || return
    check "less, if ttl_s is less" lasts 500
    gone "$id"
    made_with --param hard_ttl_s=300 || return
    check "or hard_ttl_s" lasts 300
    gone "$id"
    service_empty "nothing is left after: lifetimes"
}

# A command that waits for a file, until something has been seen: no time is measured.
while_it_runs() {
    local pid
    made || return
    note 100 600 86400
    requests_reset
    started -q exec "${provider[@]}" --sandbox-id "$id" -- 'until [ -e go ]; do sleep 0.2; done; echo went'
    check "while a command runs, pings are sent" until_true 20 state_is '.sandboxes[0].pings > 0'
    check "and the sandbox lives on" until_true 20 has_sent '^PATCH .* 200$'
    on_it 'touch go'
    ended "the command is not disturbed" 0
    check "its output is there" test "$out" = went
    gone "$id"
    service_empty "nothing is left after: a command that takes long"
}

port_making=() port_prepare=public_ports
public_ports() { provider+=(--param public_ports=true); }

# A command does not stand still for what is refused every time that it is asked for.
refused_for_now() {
    made || return
    note 290 600 86400
    faults '[{"method":"PATCH","times":-1,"action":{"status":409,"body":{"code":"NOT_NOW","message":"not now"}}}]'
    requests_reset
    started -q exec "${provider[@]}" --sandbox-id "$id" -- 'until [ -e go ]; do sleep 0.2; done'
    check "pings are sent" until_true 60 state_is '.sandboxes[0].pings > 3'
    check "a life that cannot be longer now is asked for after a while" test "$(sent ^PATCH)" = 1
    on_it 'touch go'
    ended "the command is not disturbed" 0
    gone "$id"
}

# ---- what goes wrong -------------------------------------------------------------------------------------------------

lost_creation() {
    json "the answer to a creation is lost" 0 .id create "${provider[@]}"
    check "there is one sandbox, the one that was told" state_is "[.sandboxes[].id] == [\"$(jq -r .id <"$scratch/out")\"]"
    check "it was looked for" test "$(sent ' /api/v2/sandboxes[?]labels%5Bsandlot-run%5D=')" = 1
    id=$(jq -r .id <"$scratch/out")
    check "it is furnished" test "$(on_it 'ls /tmp/.lifetime')" = /tmp/.lifetime
    gone "$id"
    service_empty "nothing is left after: a lost creation"
}

quota() {
    local first
    made || return
    first=$id
    requests_reset
    json "as many sandboxes as there may be" 3 '.error == "quota" and (.message | contains("as many sandboxes"))' create "${provider[@]}"
    check "Deno's support can find the request" grep -Eq 'calls the request [0-9a-f]{16}; ' "$scratch/out"
    check "is not asked again" test "$(sent ' 429$')" = 1
    gone "$first"
    service_empty "nothing is left after: a quota"
}

# That a sandbox is gone may be said by other words than 404.
other_words() {
    made || return
    gone "$id"
    faults '[{"path":"/sandbox/","times":-1,"action":{"status":400,"body":{"code":"SANDBOX_STOPPED","message":"stopped"}}}]'
    json "a refusal of what is gone" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$id" -- true
    json "what is gone is deleted" 0 .deleted delete "${provider[@]}" -- "$id"
    faults '[]'
    made || return
    faults '[{"path":"/sandbox/","times":-1,"action":{"status":400,"body":{"code":"NO","message":"no reason"}}}]'
    json "a refusal of what is there" 3 '.error == "provider_error" and (.message | contains("no reason"))' exec "${provider[@]}" --sandbox-id "$id" -- true
    json "what is there is not deleted by a refusal" 3 '.message | contains("no reason")' delete "${provider[@]}" -- "$id"
    faults '[]'
    gone "$id"
    service_empty "nothing is left after: other words"
}

# What was killed is dead although the answer never comes: that takes the ten seconds that Deno's own client waits.
mute_kill() {
    made || return
    json "a kill without an answer" 0 .deleted delete "${provider[@]}" -- "$id"
    check "it was looked up" test "$(sent '^GET /api/v2/sandboxes 200$')" = 1
    service_empty "nothing is left after: a mute kill"
}

broken_files() {
    made || return
    head -c 5000001 /dev/urandom >"$scratch/bytes"
    requests_reset
    run -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/bytes" "$workspace/bytes"
    check "a large file goes up" test "$(on_it 'sha256sum <bytes')" = "$(sha256sum <"$scratch/bytes")"
    requests_reset
    faults '[{"path":"/connect$","times":1,"action":{"drop":"during","bytes":3000000}}]'
    run -q download "${provider[@]}" --sandbox-id "$id" "$workspace/bytes" "$scratch/back"
    check "a download that breaks goes on" cmp "$scratch/bytes" "$scratch/back"
    check "over another line" test "$(requests_count)" = 2
    rm "$scratch/back"
    on_it 'mkdir folder; echo x >secret; chmod 0 secret'
    json "a folder, a file that may not be read, one that is not there" 1 '[.results[].error] == ["is_directory", "permission_denied", "file_not_found"]' \
        download "${provider[@]}" --sandbox-id "$id" "$workspace/folder" "$scratch/a" "$workspace/secret" "$scratch/b" "$workspace/none" "$scratch/c"
    check "standard input in exact bytes" test "$("$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" --stdin -- sha256sum <"$scratch/bytes")" = "$(sha256sum <"$scratch/bytes")"
    gone "$id"
    service_empty "nothing is left after: files"
}

# ---- volumes and snapshots -------------------------------------------------------------------------------------------

volumes() {
    local answer
    answer=$(api POST v2/volumes '{"slug":"my-volume","region":"ord","capacity":"10GB","from":"builtin:debian-13"}')
    made_with --param root=my-volume || return
    on_it 'echo kept >kept'
    requests_reset
    check "a snapshot" calls $ok snapshot "$id" first-one
    check "has the name that it was given" says first-one
    check "by a line and a request" test "$(requests_count)" = 2
    check "a second one" calls $ok snapshot "$id" second-one
    check "a name that is taken" calls $unavailable snapshot "$id" first-one
    check "no name for a snapshot" calls $invalid snapshot "$id" 'No Name'
    gone "$id"
    expect "a volume keeps what is written" 0 kept "*" -q exec "${provider[@]}" --param root=my-volume -- cat kept
    expect "so does a snapshot" 0 kept "*" -q exec "${provider[@]}" --sandbox-snapshot-name first-one -- 'cat kept; echo changed >kept'
    expect "whose changes are lost" 0 kept "*" -q exec "${provider[@]}" --sandbox-snapshot-name first-one -- cat kept
    made_with --sandbox-snapshot-name first-one || return
    check "what has started from a snapshot has none" calls $unsupported snapshot "$id" third-one
    check "the reason is told" says "is no volume"
    gone "$id"
    made || return
    check "nor has what has started from Deno's image" calls $unsupported snapshot "$id" third-one
    check "the reason is told too" says "root=VOLUME"
    gone "$id"
    check "snapshots are listed, page by page" calls $ok snapshots
    check "all of them" test "$(grep -c -e '-one' <<<"$out")" = 2
    check "one is deleted" calls $ok delete-snapshot first-one
    check "again" calls $ok delete-snapshot first-one
    check "it is gone" state_is '[.snapshots[].slug] == ["second-one"]'
    json "what is not there cannot be started from" 3 '.message | contains("nothing to boot from")' create "${provider[@]}" --param root=nothing
    json "a volume that is not there" 3 '.message | contains("no volume data")' create "${provider[@]}" --param 'volumes={"/mnt/data": "data"}'
    answer=$(api POST v2/volumes '{"slug":"data","region":"ord","capacity":300000000}')
    made_with --param 'volumes={"/mnt/data": "data"}' || return
    check "one that is there is mounted" state_is '.sandboxes[0].config.volumes == [{"volume": "data", "path": "/mnt/data"}]'
    gone "$id"
    service_empty "nothing is left after: volumes"
}
readonly unavailable=5

prepare=(service EMULATOR_PAGE=1)
parts volumes
prepare=(service)
parts ports_prolong lifetimes tokens_and_addresses regions parameters while_it_runs refused_for_now vendor_many broken_files other_words
prepare=(service EMULATOR_LOSE=1)
parts lost_creation
prepare=(service EMULATOR_MOST=1)
parts quota
prepare=(service EMULATOR_MUTE_KILL=1)
parts mute_kill

parts_run
vendor_sound
