#!/bin/bash
# What is Modal's own: tokens and profiles, two generations of sandboxes, images and snapshots, workers and their keys, streams.
# shellcheck disable=SC1091,SC2016,SC2034,SC2119,SC2154
. tests/vendors/lib.sh

secret=as-0123456789abcdefEMULATED
workspace=/workspace
as_root=true
export MODAL_TOKEN_ID=ak-0123456789abcdefEMULATED MODAL_TOKEN_SECRET=$secret

# service ASSIGNMENT...: the emulator, anew, with these variables
service() {
    vendor_stop
    local setting
    for setting; do export "${setting?}"; done
    vendor_start modal
    for setting; do unset "${setting%%=*}"; done
    provider=(--sandbox modal --param "base_url=$url")
}
made_with() {
    local making=("$@")
    made
}
shown_is() { state_is "[.sandboxes[] | select(.id == \"$id\")][0] | $1"; }
on_it() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "$1" </dev/null 2>"$scratch/on_it.err"; }
sent() { requests_show | grep -c "/$1 "; }

# ---- tokens and profiles ---------------------------------------------------------------------------------------------

listed() { json "$1" 0 .sandboxes list "${provider[@]}" "${@:2}"; }
profile_file() {
    cat >"$1" <<EOF
# made by hand
[other] # a comment
token_id = "ak-nobody"
token_secret = "as-nobody"

["the \"good\" one"]
token_id = '$MODAL_TOKEN_ID'
token_secret = "$secret"   # with a comment
active = true
loglevel = "DEBUG"
numbers = [1, 2]
environment = "dev"
sandbox_v2 = 1
EOF
}

tokens() {
    profile_file "$HOME/.modal.toml"
    listed "tokens by the environment"
    check "the profile's environment" state_is '.apps == []'
    (
        token=$MODAL_TOKEN_ID
        unset MODAL_TOKEN_ID MODAL_TOKEN_SECRET
        sed -i "s/token_id = ''/token_id = '$token'/" "$HOME/.modal.toml"
        listed "the active profile of ~/.modal.toml"
        run -vv list "${provider[@]}"
        check "with -vv no token is told, the service's own neither" \
            test "$(grep -c 'AuthTokenGet: 200' "$scratch/err") $(cat "$scratch/out" "$scratch/err" | grep -c -e "$secret" -e eyJ)" = "1 0"
        MODAL_TOKEN_ID=$token listed "half a pair counts nothing"
        check "and that is told" grep -q "MODAL_TOKEN_ID is set without MODAL_TOKEN_SECRET" "$scratch/err"
        MODAL_PROFILE=other json "another profile" 3 '.error == "auth"' list "${provider[@]}"
        json "another profile by parameter" 3 '.error == "auth"' list "${provider[@]}" --param profile=other
        MODAL_PROFILE=nobody json "a profile that is missing" 3 '.message | contains("no profile \"nobody\"")' list "${provider[@]}"
        mv "$HOME/.modal.toml" "$scratch/elsewhere.toml"
        json "no token at all" 3 '.error == "auth" and (.message | contains("modal token new"))' list "${provider[@]}"
        MODAL_CONFIG_PATH=$scratch/elsewhere.toml listed "MODAL_CONFIG_PATH"
        echo 'token_id = broken' >>"$scratch/elsewhere.toml"
        MODAL_CONFIG_PATH=$scratch/elsewhere.toml json "a file that makes no sense" 3 '.message | contains("line 14")' list "${provider[@]}"
        MODAL_CONFIG_PATH=$scratch/missing.toml json "a file that is missing" 3 '.message | contains("cannot be read")' list "${provider[@]}"
        exit "$failures"
    )
    failures=$?
    rm -f "$HOME/.modal.toml"
    MODAL_CONFIG_PATH=$scratch/missing.toml listed "with both tokens in the environment a file that is missing stops nobody"
    check "but it is told" grep -q "cannot be read.*are used without it" "$scratch/err"
    mkdir "$HOME/.modal.toml"
    listed "nor one that cannot be read"
    rmdir "$HOME/.modal.toml"
    echo 'token_id = broken' >"$HOME/.modal.toml"
    listed "nor one that makes no sense"
    profile_file "$HOME/.modal.toml"
    MODAL_PROFILE=nobody listed "nor a profile that is missing"
    listed "nor one that a parameter names" --param profile=nobody
    rm -f "$HOME/.modal.toml"
    listed "nor a parameter without a file" --param profile=nobody
    MODAL_SERVER_URL=$url json "the address by MODAL_SERVER_URL" 0 .sandboxes list --sandbox modal
    MODAL_SERVER_URL="$url,http://127.0.0.1:1" json "the first of a list of addresses" 0 .sandboxes list --sandbox modal
    MODAL_SERVER_URL=http://127.0.0.1:1 listed "the parameter comes first"
    MODAL_ENVIRONMENT=nowhere json "an environment that is not there" 3 '.message | contains("nowhere")' list "${provider[@]}"
    SANDLOT_MODAL_TOKEN_SECRET=$secret MODAL_TOKEN_SECRET=as-wrong listed "a token of Sandlot's own comes first"
}

# ---- parameters ------------------------------------------------------------------------------------------------------

parameters() {
    made_with --param cpu=0.5 --param memory_mb=256 --param regions=us-east,eu-west --param cloud=aws --param 'environment={"COLOUR":"blue \"x\"","N":7}' \
        --param 'secrets=["db"]' --param 'tags={"team":"a.b"}' --param network_allow_list=10.0.0.0/8 --param domain_allow_list=example.org \
        --param working_dir=/srv/app --param app=other --param ttl_s=90 --param hard_ttl_s=7200
    check "resources" shown_is '.definition.resources | .milli_cpu == 500 and .memory_mb == 256'
    check "places" shown_is '.definition | .scheduler_placement.regions == ["us-east", "eu-west"] and .cloud_provider_str == "aws"'
    check "network" shown_is '.definition.network_access | .network_access_type == 3 and .allowed_cidrs == ["10.0.0.0/8"] and .allowed_domains == ["example.org"]'
    check "tags: the user's and ours" shown_is '.tags | .team == "a.b" and .sandlot == "1" and (.["sandlot-run"] | length > 0)'
    check "the name is the run label" shown_is '.name == .tags["sandlot-run"]'
    check "lifetimes" shown_is '.definition | .timeout_secs == 7200 and .idle_timeout_secs == 90'
    provider+=(--param app=other --param working_dir=/srv/app)
    check "variables and secrets" test "$(on_it 'echo "$COLOUR $N $DB_PASSWORD"; pwd')" = 'blue "x" 7 emulated
/srv/app'
    gone "$id"
    provider=(--sandbox modal --param "base_url=$url")
    made
    check "without a word it lives for a day at most" shown_is '.definition.timeout_secs == 86400 and .definition.network_access.network_access_type == 1'
    gone "$id"
    requests_reset
    usage "a variable that is no text" "must be a text" create "${provider[@]}" --param 'environment={"A":[1]}'
    usage "a variable without a name" "letters, digits" create "${provider[@]}" --param 'environment={"A-B":"1"}'
    usage "a tag that cannot be" "letters, digits" create "${provider[@]}" --param 'tags={"a b":"1"}'
    usage "no cores" "cpu must be" create "${provider[@]}" --param cpu=0
    usage "a folder that is not absolute" "absolute" create "${provider[@]}" --param working_dir=here
    usage "an image with a blank" "blank" create "${provider[@]}" --param "image=a b"
    usage "closed and open" "exclude each other" create "${provider[@]}" --param network_block=true --param domain_allow_list=a.b
    usage "a GPU without number" "H100:2" create "${provider[@]}" --param gpu=H100:x
    check "nothing was made of all that" test "$(sent SandboxCreateV2)" = 0
    usage "a secret that is not there" "no secret" create "${provider[@]}" --param 'secrets=["nobody"]'
    usage "what the service finds wrong is told" "is no CIDR" create "${provider[@]}" --param network_allow_list=everything
    service_empty "parameters: nothing is left"
}

# ---- generations -----------------------------------------------------------------------------------------------------

in_full() { # NAME
    head -c 300000 /dev/urandom >"$scratch/bytes"
    json "$1: a command" 0 '.output == "out\nerr\nred\n" and .exit_code == 4' exec "${provider[@]}" --sandbox-id "$id" -- 'echo out; echo err >&2; echo $COLOUR; exit 4'
    run -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/bytes" /root/bytes
    rm -f "$scratch/back"
    run -q download "${provider[@]}" --sandbox-id "$id" /root/bytes "$scratch/back"
    check "$1: a file and back" cmp "$scratch/bytes" "$scratch/back"
    json "$1: a list" 0 "[.sandboxes[] | select(.id == \"$id\" and .mine)] | length == 1" list "${provider[@]}"
    gone "$id"
    service_empty "$1: nothing is left"
}

generations() {
    local red='environment={"COLOUR":"red"}'
    made_with --param "$red"
    check "the newer kind" shown_is '.first == false'
    in_full "the newer kind"
    MODAL_SANDBOX_V2=0 made_with --param "$red"
    check "the older kind, if it is wanted" shown_is '.first'
    in_full "the older kind"
    made_with --param gpu=h100:2 --param "$red"
    check "the older kind for a GPU" shown_is '.first and (.definition.resources.gpu_config | .count == 2 and .gpu_type == "H100")'
    in_full "with a GPU"
    service EMULATOR_OLD=1
    made_with --param "$red"
    check "an old server" shown_is '.first'
    in_full "an old server"
    faults '[{"path":"/SandboxCreate$","action":{"drop":"after"}}]'
    made
    check "a lost answer at an old server: one sandbox" live_is 1
    faults '[]'
    gone "$id"
    service
    faults '[{"path":"/SandboxCreateV2$","action":{"replace":"\u0000\u0000\u0000\u0000\u0003\n\u0001\u0001"}}]'
    made
    faults '[]'
    check "an id that is none: the sandbox is found by its name" state_is "[.sandboxes[].id] == [\"$id\"]"
    gone "$id"
    service_empty "an id that is none: nothing is left"
}

# ---- images and snapshots --------------------------------------------------------------------------------------------

images() {
    requests_reset
    made_with --param image=slow:4000
    check "a build is waited for" test "$(sent ImageJoinStreaming)" -ge 2
    gone "$id"
    requests_reset
    made_with --param image=slow:4000
    check "once built, nobody waits" test "$(sent ImageJoinStreaming)" = 0
    gone "$id"
    MODAL_IMAGE_BUILDER_VERSION=2025.06 made
    gone "$id"
    usage "an image that cannot be had" 'manifest unknown: 100% “not” there' create "${provider[@]}" --param image=broken:1
    json "a build that takes longer than the time there is" 3 '.error == "timeout"' create "${provider[@]}" --param image=slow:60000 --param start_timeout_s=1
    faults '[{"path":"/ImageJoinStreaming$","times":2,"action":{"drop":"during","bytes":20}}]'
    made_with --param image=slow:700
    check "a stream that breaks is taken up" live_is 1
    faults '[]'
    gone "$id"
    made_with --param image=crash:1
    sleep 0.6
    json "one that could not be started says so" 3 '.error == "sandbox_not_found" and (.message | contains("could not be started"))' \
        exec "${provider[@]}" --sandbox-id "$id" -- true
    gone "$id"
    "$SANDLOT" -q gc >/dev/null 2>&1 </dev/null # a list does not settle what became of a creation that ran out of time
    service_empty "images: nothing is left"
}

snapshots() {
    local snapshot copy
    service EMULATOR_PAGE=2
    made
    on_it 'echo kept >/root/kept'
    check "capture" calls $ok snapshot "$id" mine
    check "its name" says '^result: mine$'
    snapshot=$(ask GET state | "$fast_jq" -r '[.images[] | select(.snapshot)][0].id')
    check "another" calls $ok snapshot "$id" other:v2
    check "a third" calls $ok snapshot "$id" third
    check "a list of two pages" calls $ok snapshots
    check "by their names" test "$(sed -n 's/^listed: //p' <<<"$out" | sort | tr '\n' ,)" = "mine ready dated,other:v2 ready dated,third ready dated,"
    check "a name that looks like an id" calls $invalid snapshot "$id" im-mine
    faults '[{"path":"/ImagePublish$","times":-1,"action":{"status":403}}]'
    check "what cannot be named" calls $auth snapshot "$id" nameless
    faults '[]'
    check "is not kept" state_is '[.images[] | select(.snapshot)] | length == 3'
    requests_reset
    faults '[{"path":"/TaskSnapshotFilesystem$","times":-1,"action":{"status":200,"headers":{"content-type":"application/grpc","grpc-status":"4","grpc-message":"it takes long"},"body":""}}]'
    check "a worker that takes too long" calls 5 snapshot "$id" slow
    check "is not asked again" test "$(sent TaskSnapshotFilesystem)" = 1
    faults '[]'
    check "fork" calls $ok fork "$id" sandlot-fork-1
    copy=$(sed -n 's/^created: //p' <<<"$out")
    gone "$id"
    id=$copy
    check "the copy has the files" test "$(on_it 'cat /root/kept')" = kept
    check "and our marks" shown_is '.tags["sandlot-run"] == "sandlot-fork-1"'
    gone "$id"
    made_with --sandbox-snapshot-name mine
    check "start from a name" test "$(on_it 'cat /root/kept')" = kept
    gone "$id"
    made_with --param "snapshot=$snapshot"
    check "start from an id" test "$(on_it 'cat /root/kept')" = kept
    gone "$id"
    check "delete" calls $ok delete-snapshot mine
    check "delete again: not found" calls $not_found delete-snapshot mine
    json "start from what is gone" 3 '.message | contains("no snapshot")' create "${provider[@]}" --sandbox-snapshot-name mine
    service_empty "snapshots: no sandbox is left"
    service
}

# ---- workers ---------------------------------------------------------------------------------------------------------

# file_of SIZE: bytes, here in $scratch/bytes and there in /root/file
file_of() {
    head -c "$1" /dev/urandom >"$scratch/bytes"
    run -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/bytes" /root/file
    rm -f "$scratch/back"
}

workers() {
    service EMULATOR_TOKEN_MS=500
    requests_reset
    made_with --param image=slow:4000
    check "a token that is good for less time than it says is renewed" live_is 1
    check "once" test "$(sent AuthTokenGet)" = 2
    gone "$id"
    service EMULATOR_TOKEN_SAYS_MS=-5000
    faults '[{"path":"/AuthTokenGet$","skip":1,"times":-1,"action":{"status":503}}]'
    requests_reset
    made
    check "a token that cannot be renewed is used on" live_is 1
    check "after a look for another" test "$(sent AuthTokenGet)" -ge 2
    faults '[]'
    gone "$id"
    service EMULATOR_SCHEDULE_MS=1200
    made
    check "a sandbox without a worker is waited for" test "$(on_it 'echo there')" = there
    gone "$id"
    service EMULATOR_KEY_MS=300
    made
    faults '[{"path":"/TaskExecStart$","action":{"delay_ms":500}}]'
    requests_reset
    check "a key that has expired is renewed" test "$(on_it 'echo there')" = there
    check "once" test "$(sent SandboxGetCommandRouterAccess)" = 2
    faults '[]'
    gone "$id"
    service EMULATOR_KEY_CUTS=3 EMULATOR_PIECE=20
    made
    requests_reset
    check "a key that expires in the middle of a stream: all the output, once" \
        test "$(on_it "seq -f \"line %g of it\" 12")" = "$(seq -f "line %g of it" 12)"
    check "the key was renewed for that" test "$(sent SandboxGetCommandRouterAccess)" = 2
    gone "$id"
    service EMULATOR_KEY_CUTS=3 EMULATOR_PIECE=16384
    made
    file_of 600000
    requests_reset
    run -q download "${provider[@]}" --sandbox-id "$id" /root/file "$scratch/back"
    check "and all of a file, once" cmp "$scratch/bytes" "$scratch/back"
    check "from where it was" test "$(sent TaskExecStdioRead)" -ge 2
    gone "$id"
    service EMULATOR_BUSY=3
    made
    check "a service that wants to be left alone for a moment is" live_is 1
    gone "$id"
    service EMULATOR_BUSY=3
    MODAL_MAX_THROTTLE_WAIT=0 json "unless nobody wants to wait for it" 3 '.error == "quota"' create "${provider[@]}"
    service EMULATOR_SECOND_MS=10
    made_with --param ttl_s=60
    sleep 1.5
    json "one that nobody used is over" 3 '.error == "sandbox_not_found" and (.message | contains("nobody used it"))' exec "${provider[@]}" --sandbox-id "$id" -- true
    gone "$id"
    service
}

# The first answers of these calls, cut at every few bytes: a command runs once and is told in full, a list is whole. At every byte the unit
# rows of gRPC cut.
output_cut() { # STEP MOST
    local bytes broken=
    made && series_begin || return
    for bytes in $(seq 0 "$1" "$2"); do
        faults "[{\"path\":\"/TaskExecStdioRead$\",\"action\":{\"drop\":\"during\",\"bytes\":$bytes}}]"
        series_ask exec 'echo x >>/root/ran; echo output; exit 9'
        [ "$answer" = "9 output|" ] || broken+=" $bytes: $answer"
    done
    faults '[]'
    series_end "nothing else is wrong"
    check "output that is cut at every $1 bytes up to $2" test "$broken" = ""
    check "each of them ran once" test "$(on_it 'wc -l </root/ran')" = $(($2 / $1 + 1))
    gone "$id"
}

files_cut() { # STEP MOST
    local bytes broken=
    made && series_begin || return
    file_of 40
    for bytes in $(seq 0 "$1" "$2"); do
        faults "[{\"path\":\"/TaskExecStdioRead$\",\"action\":{\"drop\":\"during\",\"bytes\":$bytes}}]"
        rm -f "$scratch/back"
        series_ask download /root/file "$scratch/back"
        [ "$answer" = ok ] && cmp -s "$scratch/bytes" "$scratch/back" || broken+=" $bytes: $answer"
        faults "[{\"path\":\"/SandboxListV2$\",\"action\":{\"drop\":\"during\",\"bytes\":$bytes}}]"
        series_ask list
        [ "$answer" = "$id " ] || broken+=" $bytes (list): $answer"
        faults "[{\"path\":\"/AppGetOrCreate$\",\"action\":{\"truncate_bytes\":$((bytes % 30))}}]"
        series_ask list
        [ "$answer" = "$id " ] || broken+=" $bytes (app): $answer"
    done
    faults '[]'
    series_end "nothing else is wrong"
    check "files and lists that are cut at every $1 bytes up to $2" test "$broken" = ""
    gone "$id"
}

# What comes in order and in whole messages and still is not what was sent.
dishonest() { # FAULT
    service EMULATOR_PIECE=1000 "EMULATOR_$1=3"
    made
    file_of 9000
    rm -f "$scratch/back"
    json "a file of which a message is $1" 3 '.message | contains("could not be read to its end")' \
        download "${provider[@]}" --sandbox-id "$id" /root/file "$scratch/back"
    check "$1: no file" test ! -e "$scratch/back"
    run -q exec "${provider[@]}" --sandbox-id "$id" -- 'seq 3000; exit 9'
    check "$1: output in full, or an error" test "$status $(wc -l <"$scratch/out") $(sort -u "$scratch/out" | wc -l)" = "9 3000 3000" -o "$status" = 3
    gone "$id"
}

# ---- streams ---------------------------------------------------------------------------------------------------------

streams() {
    local action bytes broken=
    service EMULATOR_PIECE=700
    made
    for bytes in 0 1 4 5 6 7 8 99 500 706 707 708 711 2000 9000; do
        faults "[{\"path\":\"/TaskExecStdioRead$\",\"action\":{\"drop\":\"during\",\"bytes\":$bytes}}]"
        run -q exec "${provider[@]}" --sandbox-id "$id" -- 'echo x >>/root/ran; i=0; while [ $i -lt 300 ]; do i=$((i + 1)); echo "line $i of the output"; done; exit 9'
        [ "$status $(wc -l <"$scratch/out") $(tail -n 1 "$scratch/out")" = "9 300 line 300 of the output" ] || broken+=" $bytes"
    done
    check "output that is cut anywhere is whole" test -z "$broken"
    faults '[]'
    check "each ran once" test "$(on_it 'wc -l </root/ran')" = 15
    for action in '{"garbage":true}' '{"truncate_bytes":20}' '{"status":502}'; do
        faults "[{\"path\":\"/TaskExecStdioRead$\",\"action\":$action}]"
        run -q exec "${provider[@]}" --sandbox-id "$id" -- 'seq 2000; exit 9'
        check "a stream with $action: all the output" test "$status $(wc -l <"$scratch/out")" = "9 2000"
    done
    faults '[]'
    service EMULATOR_PIECE=65536
    made
    head -c 5000000 /dev/urandom >"$scratch/big"
    for action in '{"drop":"after"}' '{"drop":"before"}' '{"status":503}'; do
        faults "[{\"path\":\"/TaskExecStdinWrite$\",\"skip\":1,\"action\":$action}]"
        run -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/big" /root/big
        check "an upload with $action" test "$status $(on_it 'sha256sum </root/big')" = "0 $(sha256sum <"$scratch/big")"
    done
    for bytes in 3 40 70000 2500000; do
        faults "[{\"path\":\"/TaskExecStdioRead$\",\"times\":2,\"action\":{\"drop\":\"during\",\"bytes\":$bytes}}]"
        rm -f "$scratch/back"
        run -q download "${provider[@]}" --sandbox-id "$id" /root/big "$scratch/back"
        check "a download that breaks twice, after $bytes bytes" cmp "$scratch/big" "$scratch/back"
    done
    faults '[]'
    check "a long command" test "$(on_it "$(printf 'echo %070000d | wc -c' 7)")" = 70001
    check "one that is longer than an argument may be" test "$(on_it "$(printf 'echo %0120000d | wc -c' 7)")" = 120001
    check "standard input" test "$("$SANDLOT" -q exec --stdin "${provider[@]}" --sandbox-id "$id" -- sha256sum <"$scratch/big")" = "$(sha256sum <"$scratch/big")"
    check "nothing is left of all that" test "$(on_it 'ls -A /tmp | grep -v "^.sandlot-[0-9a-f-]*$" | wc -l; ls -A /root')" = "$(printf '0\nbig')"
    gone "$id"
}

vendor_use modal
prepare=(service)
for fault in LOST TWICE; do part dishonest "$fault"; done
many_more=6 # a command is two requests
parts vendor_many workers streams tokens parameters generations images snapshots
if [ -n "${SANDLOT_TEST_SLOW:-}" ]; then
    part output_cut 5 404
    part files_cut 4 121
fi
parts_run
vendor_sound
