#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2030,SC2031,SC2034,SC2154,SC2016,SC2163
# What is AgentCore's own: credentials and places, parameters, sessions that end, streams that are cut or hold exceptions,
# where commands live.
. tests/vendors/lib.sh
. tests/vendors/agentcore/keys.sh
workspace=/tmp

# service ASSIGNMENT...: the emulator, anew, with these variables
service() {
    vendor_stop
    local setting
    for setting; do export "${setting?}"; done
    vendor_start agentcore
    [ $# -eq 0 ] || unset "${@%%=*}"
    provider=(--sandbox agentcore --param "base_url=$url")
}
made_with() {
    local making=("$@")
    made
}
on_it() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- "$@" </dev/null 2>"$scratch/on_it.err"; }
sent() { requests_show | grep -c "$1"; }
works() { json "$1" 0 .sandboxes list "${provider[@]}"; }
refused() { json "$1" 3 ".error == \"auth\" and (.message | contains(\"$2\"))" list "${provider[@]}"; }
invoke_fault() { faults '[{"path":"tools/invoke","times":'"${2:-1}"',"action":'"$1"'}]'; }

# ---- credentials and places ------------------------------------------------------------------------------------------

credentials() {
    SANDLOT_AWS_SECRET_ACCESS_KEY=$secret AWS_SECRET_ACCESS_KEY=wrong works "a key of Sandlot's own comes first"
    (
        export AWS_ACCESS_KEY_ID=ASIAEMULATED00000002 AWS_SECRET_ACCESS_KEY=emulated/temporary+key0123456789abcdefgh
        refused "temporary keys without their token" UnrecognizedClientException
        export AWS_SESSION_TOKEN='emulated-session-token/with+odd=characters=='
        works "temporary keys"
        run -vv list "${provider[@]}"
        check "their token is not printed" test "$(grep -cF "$AWS_SESSION_TOKEN" "$scratch/out" "$scratch/err" | grep -vc ':0$')" = 0
        export AWS_ACCESS_KEY_ID=ASIAEMULATED00000003 AWS_SECRET_ACCESS_KEY=emulated/expired+key0123456789abcdefghij AWS_SESSION_TOKEN=emulated-expired-token
        refused "expired keys" "new credentials"
        exit "$failures"
    )
    failures=$?
    (
        unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
        export AWS_SHARED_CREDENTIALS_FILE=$scratch/credentials AWS_CONFIG_FILE=$scratch/config
        refused "none at all" AWS_ACCESS_KEY_ID
        printf '[default]\naws_access_key_id=AKIDEMULATED00000001\naws_secret_access_key=%s\n' "$secret" >"$scratch/credentials"
        works "the default profile"
        AWS_PROFILE=other refused "a profile that is not there" "'other'"
        printf '[profile other]\nregion=eu-west-1\ncredential_process=cat %s\n' "$scratch/process" >"$scratch/config"
        printf '{"Version":1,"AccessKeyId":"AKIDEMULATED00000001","SecretAccessKey":"%s"}' "$secret" >"$scratch/process"
        AWS_PROFILE=other refused "a profile with a program, and its region" "eu-west-1"
        AWS_PROFILE=other AWS_REGION=us-west-2 works "a profile with a program, and a region that comes first"
        provider+=(--param profile=other --param region=us-west-2)
        works "profile and region by parameters"
        AWS_ACCESS_KEY_ID=AKIDOFSOMEBODYELSE00 AWS_SECRET_ACCESS_KEY=0123456789 works "which come before keys that happen to be there"
        exit "$failures"
    )
    failures=$?
    AWS_REGION=eu-central-1 refused "another region" "eu-central-1"
    AWS_REGION=evil.com/ run list --json "${provider[@]}"
    check "a region that is none" grep -q "no region" "$scratch/out"
    AWS_ENDPOINT_URL_BEDROCK_AGENTCORE=$url/ json "the address by its variable" 0 .sandboxes list --sandbox agentcore
    AWS_ENDPOINT_URL_BEDROCK_AGENTCORE=http://127.0.0.1:1 works "base_url comes first"
    AWS_ENDPOINT_URL=$url json "the address of all services" 0 .sandboxes list --sandbox agentcore
    (
        export https_proxy=http://127.0.0.1:9 AWS_REGION=us-gov-west-1
        unset no_proxy NO_PROXY
        AWS_USE_FIPS_ENDPOINT=true leads_to bedrock-agentcore-fips.us-gov-west-1.amazonaws.com
        AWS_USE_DUALSTACK_ENDPOINT=TRUE leads_to bedrock-agentcore.us-gov-west-1.api.aws
        printf '[default]\nuse_fips_endpoint = true\nuse_dualstack_endpoint = true\n' >"$scratch/config"
        AWS_CONFIG_FILE=$scratch/config leads_to bedrock-agentcore-fips.us-gov-west-1.api.aws
        AWS_CONFIG_FILE=$scratch/config AWS_USE_FIPS_ENDPOINT=false leads_to bedrock-agentcore.us-gov-west-1.api.aws
        AWS_REGION=cn-north-1 AWS_USE_DUALSTACK_ENDPOINT=true leads_to bedrock-agentcore.cn-north-1.api.amazonwebservices.com.cn
        exit "$failures"
    )
    failures=$?
    AWS_USE_FIPS_ENDPOINT=true json "FIPS and an address of one's own" 3 '.message | contains("unset one of the two")' list "${provider[@]}"
    check "a machine whose metadata are disabled has no credentials" no_credentials AWS_EC2_METADATA_DISABLED=1
    check "one whose are not may have some" not_run no_credentials AWS_EC2_METADATA_DISABLED=false
}

# Nothing is there: what cannot be reached is named.
leads_to() { json "the address $1" 3 ".message | contains(\"$1\")" list --sandbox agentcore --param start_timeout_s=5; }
no_credentials() { # ASSIGNMENT: on a machine of EC2
    env -u AWS_ACCESS_KEY_ID HOME="$scratch" AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:9 "$1" "$SANDLOT" providers agentcore --json |
        jq -e '.providers[0] | tostring | contains("there are no AWS credentials")' >/dev/null
}
not_run() { ! "$@"; }

clocks() {
    # A service whose clock goes an hour wrong says so, and its time with it.
    local date
    date=$(LC_ALL=C date -u -d '+1 hour' '+%a, %d %b %Y %H:%M:%S GMT')
    faults '[{"path":"sessions/list","action":{"status":403,"headers":{"date":"'"$date"'","x-amzn-errortype":"InvalidSignatureException"},"body":{"message":"Signature expired: 20260101T000000Z is now earlier"}}}]'
    requests_reset
    refused "a clock that is wrong, and does not get better" "clock"
    check "once more with the service's time" test "$(requests_count)" = 2
    works "and works where it is right"
    made || return
    invoke_fault '{"status":403,"headers":{"date":"'"$date"'","x-amzn-errortype":"InvalidSignatureException"},"body":{"message":"Signature expired: 20260101T000000Z is now earlier"}}'
    json "a command tells it too" 3 '.error == "auth" and (.message | contains("clock"))' exec "${provider[@]}" --sandbox-id "$id" -- true
    invoke_fault '{"status":403,"headers":{"x-amzn-errortype":"ExpiredTokenException"},"body":{"message":"expired"}}'
    check "credentials that expire in between are looked for again" test "$(on_it 'echo on')" = on
    invoke_fault '{"status":403,"headers":{"x-amzn-errortype":"ExpiredTokenException"},"body":{"message":"expired"}}' 2
    json "and when there are no others" 3 '.error == "auth" and (.message | contains("new credentials"))' exec "${provider[@]}" --sandbox-id "$id" -- true
    gone "$id"
}

# ---- parameters ------------------------------------------------------------------------------------------------------

parameters() {
    made_with --param ttl_s=90 --param hard_ttl_s=7200 || return
    check "it lives as long as it may at most" state_is '.sandboxes[0].sessionTimeoutSeconds == 7200'
    check "its name is the run label" state_is '.sandboxes[0].name | startswith("sandlot-")'
    gone "$id"
    made && check "eight hours are the most" state_is '.sandboxes[0].sessionTimeoutSeconds == 28800'
    gone "$id"
    made_with --param hard_ttl_s=5 && check "a minute is the least" state_is '.sandboxes[0].sessionTimeoutSeconds == 60'
    gone "$id"
    local own
    for own in own-AbC123dEfG arn:aws:bedrock-agentcore:us-west-2:123456789012:code-interpreter-custom/own-AbC123dEfG; do
        made_with --param "interpreter=$own" || continue
        check "an interpreter of one's own" test "$("$SANDLOT" -q exec "${provider[@]}" --param "interpreter=$own" --sandbox-id "$id" -- 'echo yes')" = yes
        json "is not another" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$id" -- true
        "$SANDLOT" -q delete "${provider[@]}" --param "interpreter=$own" -- "$id"
    done
    json "no such interpreter" 3 '.message | contains("not found")' create "${provider[@]}" --param interpreter=nobody-0123456789
    usage "certificates that are none" ValidationException create "${provider[@]}" --param 'certificates=["x"]'
    requests_reset
    usage "no snapshots" "snapshot" create "${provider[@]}" --sandbox-snapshot-name x
    check "before any request" test "$(requests_count)" = 0
    service_empty "nothing of all this is left"
}

# ---- creating where answers are lost, listing, ending ------------------------------------------------------------------

lost_answers() {
    local way
    for way in '{"drop":"after"}' '{"status":500}' '{"garbage":true}' '{"replace":{}}' '{"status":503}'; do
        faults '[{"path":"sessions/start","action":'"$way"'}]'
        run -q create "${provider[@]}"
        id=$out
        faults '[]'
        if [ "$status" = 0 ]; then check "$way: one session" live_is 1; else check "$way: none" live_is 0; fi
        gone "$id"
    done
    faults '[{"path":"sessions/start","action":{"garbage":true}},{"path":"sessions/list","times":-1,"action":{"status":503}}]'
    json "when it cannot be sought" 3 .message create "${provider[@]}"
    faults '[]'
    "$SANDLOT" -q gc >/dev/null 2>&1
    service_empty "gc finds what was made"
}

limits() {
    service EMULATOR_MOST=1 EMULATOR_PAGE=2
    made || return
    json "no more sessions than the quota" 3 '.error == "quota" and (.message | contains("ServiceQuotaExceededException"))' create "${provider[@]}"
    gone "$id"
    service_empty "one at a time"
    service EMULATOR_PAGE=2
    local ids=() number
    for number in 1 2 3 4 5; do made && ids+=("$id"); done
    gone "${ids[0]}"
    json "all pages of a listing, without those that have ended" 0 '(.sandboxes | length) == 4' list "${provider[@]}"
    faults '[{"path":"sessions/start","action":{"garbage":true}}]'
    made
    check "a lost answer is found on any page" live_is 5
    gone "$id" "${ids[@]}"
    service_empty "all are gone"
}

strange_ids() {
    requests_reset
    json "an id that no session can have" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id ../x -- true
    json "is deleted already" 0 .deleted delete "${provider[@]}" -- ../x
    check "without a request" test "$(requests_count)" = 0
    made || return
    faults '[{"method":"GET","path":"sessions/get","times":1,"action":{"replace":"{\"sessionId\":\"'"$id"'\",\"createdAt\":\"2026-01-02T03:04:05.678Z\"}"}}]'
    expect "a session without a status is tried" 0 yes "*" -q exec "${provider[@]}" --sandbox-id "$id" -- echo yes
    gone "$id"
    faults '[{"path":"sessions/list","times":-1,"action":{"status":418,"headers":{"x-amzn-requestid":"request-5e1f"},"body":{"message":"no"}}}]'
    json "an error has the number that AWS gave the request" 3 '.message | contains("calls the request request-5e1f")' list "${provider[@]}"
    faults '[]'
}

ends() {
    local way
    for way in ResourceNotFoundException ConflictException 200; do
        service EMULATOR_STOP_ENDED=$way EMULATOR_SECOND_MS=20
        made_with --param hard_ttl_s=60 || return
        on_it true
        check "$way: its time is over" until_true 10 live_is 0
        json "$way: it is not found" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$id" -- true
        json "$way: it can be deleted" 0 .deleted delete "${provider[@]}" -- "$id"
    done
    made_with --param hard_ttl_s=100
    json "one that ends while a command runs" 3 '.error == "sandbox_not_found" or .error == "network"' exec "${provider[@]}" --sandbox-id "$id" -- 'sleep 20'
    gone "$id"
}

# ---- the terminal, and where commands live -----------------------------------------------------------------------------

terminal() {
    service
    made || return
    local all
    all=$(printf '%b' "$(printf '\\x%02x' {1..255})" | sha256sum)
    check "every byte is what it was" test "$(on_it "printf '%b' \"\$(printf '\\\\x%02x' \$(seq 255))\"" | sha256sum)" = "$all"
    check "no terminal" test "$(on_it 'test -t 1 || test -t 0 || echo none; stty size 2>/dev/null; tput cols 2>/dev/null | head -c 0')" = none
    check "no line ends of one" test "$(on_it 'printf "a\nb\r\nc"' | od -An -c | tr -d ' \n')" = 'a\nb\r\nc'
    check "long lines stay" test "$(on_it 'head -c 100000 /dev/zero | tr "\0" x' | wc -c)" = 100000
    check "the streams in their order" test "$(on_it 'for i in 1 2 3; do echo $i; echo $i >&2; done' | tr -d '\n')" = 112233
    check "a status without output" test "$(on_it 'exit 9'; echo $?)" = 9
    check "SIGINT is not ignored" test "$(on_it 'echo $((0x$(sed -n "s/^SigIgn:.//p" /proc/self/status) & 2))')" = 0
    check "nothing of ours is in the environment" test "$(on_it 'env | grep -c "^TMPDIR\|^s_"')" = 0
    check "the folder of the user is clean" test -z "$(on_it 'ls -A')"
    check "the usual mask" test "$(on_it umask)" = 0022
    check "standard input" test "$(printf 'a\0b' | "$SANDLOT" -q exec --stdin "${provider[@]}" --sandbox-id "$id" -- 'od -An -c' | tr -d ' ')" = 'a\0b'
    local long
    long=$(head -c 100000 /dev/zero | tr '\0' y)
    check "a command that is longer than a command may be" test "$(on_it "echo $long | wc -c")" = 100001
    check "one that is much longer" test "$(printf 'echo %s | wc -c' "$(head -c 120000 /dev/zero | tr '\0' z)" >"$scratch/long" && on_it "$(cat "$scratch/long")")" = 120001
    gone "$id"
}

nursery() {
    made || return
    requests_reset
    on_it 'sleep 66.6 >/dev/null 2>&1 &'
    check "the first command starts what commands live in" test "$(sent invoke)" = 3
    requests_reset
    check "the others do not" test "$(on_it "$(count_sleeps 66.6)")" = 1
    check "and need one request each" test "$(sent invoke)" = 1
    on_it 'kill -9 "$(cat /opt/amazon/genesis1p-tools/var/.sandlot/pid)"'
    check "when somebody has killed it, another one is started" test "$(on_it 'echo alive')" = alive
    check "which had to be" test "$(state_is '.sandboxes[0].tasks >= 2'; echo $?)" = 0
    on_it 'rm -rf /opt/amazon/genesis1p-tools/var/.sandlot'
    check "and when its folder is gone" test "$(on_it 'echo there')" = there
    faults '[{"path":"tools/invoke","action":{"drop":"after"}}]'
    local making=()
    gone "$id"
    made
    check "a lost answer to its start" test "$(on_it 'echo started')" = started
    check "is no harm" test "$(on_it 'echo again')" = again
    local number pids=()
    for number in $(seq 12); do
        on_it "sleep 1; echo $number" >"$scratch/many$number" &
        pids+=($!)
    done
    wait "${pids[@]}"
    check "twelve commands at once, where ten calls are allowed" test "$(cat "$scratch"/many* | sort -n | tr '\n' ' ')" = "1 2 3 4 5 6 7 8 9 10 11 12 "
    gone "$id"
}

slow_calls() {
    service EMULATOR_CALL_MS=4000
    made || return
    check "a call that takes too long for the service" test "$(on_it 'sleep 6; echo late')" = late
    gone "$id"
    service EMULATOR_INITIAL=1 EMULATOR_PARTS=5
    made || return
    check "an answer in several events" test "$(on_it 'seq 1000' | sha256sum)" = "$(seq 1000 | sha256sum)"
    gone "$id"
    service EMULATOR_HOME=/opt/other
    made || return
    echo content >"$scratch/up"
    check "another folder of commands" "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/up" /tmp/there/up
    check "is found" test "$(on_it 'cat there/up; pwd')" = "content
/tmp"
    gone "$id"
}

# ---- streams -----------------------------------------------------------------------------------------------------------

exceptions() {
    service EMULATOR_EXCEPTIONS=ThrottlingException,InternalServerException,ConflictException,ServiceQuotaExceededException,ThrottlingException,ServiceQuotaExceededException
    made || return
    local round
    for round in 1 2 3; do
        check "an exception in the stream, $round: asked again" test "$(on_it "echo x >>ran$round; wc -l <ran$round")" = 1
    done
    head -c 300000 /dev/urandom >"$scratch/blob"
    for round in 1 2 3; do
        check "an upload meets one, $round" "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/blob" /tmp/blob
    done
    check "and is whole" test "$(on_it 'sha256sum <blob')" = "$(sha256sum <"$scratch/blob")"
    gone "$id"
    service EMULATOR_EXCEPTIONS=AccessDeniedException,ValidationException
    made || return
    json "what is not allowed" 3 '.error == "auth" and (.message | contains("a fault on demand") and contains("allow it in IAM"))' exec "${provider[@]}" --sandbox-id "$id" -- true
    on_it true
    gone "$id"
}

# cut_at ACTION: the answer to a command is damaged so; adds to $bad unless the command works
cut_at() {
    faults '[{"path":"tools/invoke","action":'"$1"'}]'
    series_ask exec 'echo out; echo x >>cut; exit 7'
    cuts_made=$((cuts_made + 1))
    [ "$answer" = "7 out|" ] || bad+=" $1: $answer"
}

# At the byte FROM, and every STEP bytes on, the connection ends; at some the service does as if that were all.
cut_everywhere() {
    local length at step=$2 bad='' cuts_made=0
    made || return
    on_it true
    length=$("$SANDLOT" -vv exec "${provider[@]}" --sandbox-id "$id" -- 'echo out; exit 7' 2>&1 </dev/null | sed -n 's/.*invoke: 200.* \([0-9]*\) down.*/\1/p' | tail -n 1)
    [ "${length:-0}" -gt 100 ] || not_ok "an answer is recorded" "its length: $length"
    series_begin || return
    for ((at = $1; at <= length; at += step)); do
        cut_at '{"drop":"during","bytes":'"$at"'}'
        [ $((at / step % 5)) != 0 ] || cut_at '{"truncate_bytes":'"$at"'}'
    done
    faults '[]'
    series_end "nothing else is wrong"
    check "an answer of $length bytes that is cut at byte $1 and every $step" test "$bad" = ""
    check "the command ran once each time" test "$(on_it 'cat cut | wc -l')" = "$cuts_made"
    gone "$id"
}

cuts() {
    made || return
    on_it true
    head -c 300000 /dev/urandom >"$scratch/blob"
    local at bad=''
    for at in 0 1 11 12 50 100 150; do
        faults '[{"path":"tools/invoke","action":{"truncate_bytes":'"$at"'}}]'
        "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/blob" "/tmp/blob$at" >/dev/null 2>&1 </dev/null || bad+=" $at"
        [ "$(on_it "sha256sum <blob$at")" = "$(sha256sum <"$scratch/blob")" ] || bad+=" $at!"
    done
    check "an upload whose answer is cut" test -z "$bad"
    faults '[{"path":"tools/invoke","action":{"truncate_bytes":200000}}]'
    "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" /tmp/blob0 "$scratch/back" 2>"$scratch/err"
    check "a download whose answer is cut" cmp -s "$scratch/blob" "$scratch/back"
    gone "$id"
}

# ---- files -------------------------------------------------------------------------------------------------------------

files() {
    made || return
    local size name
    echo content >"$scratch/up"
    for size in 0 1 2 3 49151 49152 49153 6291455 6291456 6291457 13000000; do
        head -c "$size" /dev/urandom >"$scratch/sized"
        "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/sized" /tmp/sized 2>"$scratch/err" </dev/null
        rm -f "$scratch/back"
        "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" /tmp/sized "$scratch/back" 2>>"$scratch/err" </dev/null
        check "$size bytes there and back" cmp -s "$scratch/sized" "$scratch/back"
    done
    check "an upload of unknown length" test "$(head -c 7000000 /dev/zero | "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" - /tmp/piped >/dev/null && on_it 'wc -c <piped')" = 7000000
    for name in "it's" 'a b' '$x' 'new
line' -- 'ü'; do
        "$SANDLOT" -q upload "${provider[@]}" --sandbox-id "$id" "$scratch/up" "/tmp/names/$name" 2>"$scratch/err" </dev/null
        rm -f "$scratch/back"
        "$SANDLOT" -q download "${provider[@]}" --sandbox-id "$id" "/tmp/names/$name" "$scratch/back" 2>>"$scratch/err" </dev/null
        check "a file called $(printf %q "$name")" cmp -s "$scratch/up" "$scratch/back"
    done
    check "nothing is left where files are staged" test -z "$(on_it 'cd /opt/amazon/genesis1p-tools/var && ls -A | grep -v "^\.sandlot$"')"
    gone "$id"
    service_empty "nothing is left"
}

# What passes, as AWS's own client sees it.
passing() {
    faults '[{"path":"sessions/list","action":{"status":403,"headers":{"x-amzn-errortype":"NotAuthorized"},"body":{"message":"words of a gate"}}}]'
    json "an error without a place in the model counts by its number" 3 '.error == "auth" and (.message | contains("words of a gate"))' list "${provider[@]}"
    requests_reset
    faults '[{"path":"sessions/list","action":{"status":500}}]'
    json "a list that is answered 500 is asked for again" 0 .sandboxes list "${provider[@]}"
    check "once" test "$(requests_count)" = 2
    faults '[]'
}

vendor_use agentcore
prepare=(service)
parts vendor_many slow_calls nursery ends cuts
# That the parser of events sees each cut is the unit rows' part, at every byte: here it is what the provider makes of one.
part cut_everywhere 0 "$([ -n "${SANDLOT_TEST_SLOW:-}" ] && echo 7 || echo 61)"
parts credentials passing clocks parameters lost_answers limits strange_ids terminal exceptions files
parts_run
vendor_sound
