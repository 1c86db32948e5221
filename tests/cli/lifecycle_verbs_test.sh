#!/bin/bash
# pause, resume, fork, snapshot, snapshots: what they print, what they leave, and what is left of them when something goes wrong on
# the way. The provider is fake.so, whose vendor is a folder and which fails on request.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh sets status, out, err and the folders
. "$(dirname "$0")/lib.sh"
cp "$BUILD/tests/plugins/fake.so" "$BUILD/tests/plugins/no_list.so" "$BUILD/tests/plugins/hostile.so" "$plugins/" || exit 2
vendor=$scratch/vendor
journal=$scratch/journal
mkdir "$vendor"
fake=(--sandbox fake --param "folder=$vendor" --param "journal=$journal")
boxes() { find "$vendor" -mindepth 1 -maxdepth 1 -name 'fake-*' | wc -l; }
boxes_are() { [ "$(boxes)" = "$1" ]; }
asked() { grep -c -- "^$1" "$journal"; }

id=$("$SANDLOT" create "${fake[@]}") || exit 2
"$SANDLOT" -q exec --sandbox-id "$id" -- 'echo kept >kept' || exit 2

# ---- pause and resume: the ledger knows the provider ----
expect "pause says nothing" 0 "" "*" -q pause "$id"
check "and pauses" test -e "$vendor/$id/paused"
json "L1: twice is fine" 0 '. == {"id":"'"$id"'","state":"paused"}' pause "$id"
expect "--sandbox-id names it too" 0 "" "*" -q resume --sandbox-id "$id"
check "and it is resumed" test ! -e "$vendor/$id/paused"
json "L1: resume twice is fine" 0 '. == {"id":"'"$id"'","state":"running"}' resume "$id"
json "what is not there" 3 '.error == "sandbox_not_found"' pause "${fake[@]}" nothing
: >"$journal"
for command in "pause $id" "resume $id" "fork $id" "snapshot $id" snapshots "snapshots delete x"; do
    read -ra words <<<"$command"
    json "L1: a provider that cannot: ${words[0]}" 1 '.error == "not_supported" and (.message | test("here these can: .*fake"))' \
        "${words[@]}" --sandbox no_list
done
usage "no id" "the id is missing" pause
usage "an empty id" "the id is empty" fork ""
usage "two ids" "given twice" snapshot x --sandbox-id y
usage "--replace without --name" "goes with --name" snapshot x --replace
usage "no name to delete" "the name is missing" snapshots delete
usage "an empty name to delete" "a name is empty" snapshots delete ""
usage "a second word that nobody knows" "there is no command 'snapshots remove'" snapshots remove

# ---- snapshots: one text everywhere ----
expect "a snapshot prints what is taken" 0 one "*" -q snapshot "$id" --name one
json "with --json" 0 '. == {"id":"two","name":"two"}' snapshot "$id" --name two
expect "a name is made up" 0 "*" "*" -q snapshot "$id"
made_up=$out
check "of sandlot- and eight digits" grep -qxE 'sandlot-[0-9]{8}' <<<"$made_up"
json "they are listed" 0 '[.snapshots[].id] == ["one","'"$made_up"'","two"] and .snapshots[0].state == "ready" and .snapshots[0].created_at == "1970-01-01T00:00:01Z"' \
    snapshots "${fake[@]}"
expect "and as a table" 0 "*" "*" snapshots "${fake[@]}"
check "of which one row is ours" grep -qE "^$made_up +ready +[0-9]+ d$" "$scratch/out"
json "L3: a name that is taken" 1 '.error == "conflict" and (.message | contains("--replace"))' snapshot "$id" --name one
json "is not replaced by what is not there" 3 '.error == "sandbox_not_found"' snapshot "${fake[@]}" mistyped --name one --replace
check "and is kept" test -e "$vendor/snapshot-one"
"$SANDLOT" -q exec --sandbox-id "$id" -- 'echo more >more'
json "L3: is replaced when that is wanted" 0 '.id == "one"' snapshot "$id" --name one --replace
check "by the new one" test -e "$vendor/snapshot-one/more" -a ! -e "$vendor/snapshot-two/more"
: >"$journal"
json "with what it began as" 0 '.id == "one"' snapshot "$id" --name one --replace --with-base
check "which its provider is asked for" test "$(grep -B1 "^snapshot " "$journal" | cut -d" " -f1,2 | tr "\n" " ")" = "with base snapshot $id "
json "deleting" 0 '. == {"results":[{"id":"two","error":null},{"id":"'"$made_up"'","error":null}]}' \
    snapshots delete "${fake[@]}" two "$made_up"
json "deleting what is not there" 0 '.results == [{"id":"two","error":null}]' snapshots delete "${fake[@]}" two
rm -rf "$vendor"/snapshot-*
for number in $(seq 1000 1249); do mkdir "$vendor/snapshot-$number"; done
json "L5: all pages of a list" 0 '[.snapshots[].id] == [range(1000; 1250) | tostring]' snapshots "${fake[@]}" --param page_size=100
rm -rf "$vendor"/snapshot-*
expect "an empty list" 0 "" "there are no snapshots" snapshots "${fake[@]}"

# ---- forks ----
expect "a fork prints its id" 0 "*" "*" -q fork "$id"
copy=$out
check "has the files" test "$(cat "$vendor/$copy/files/kept")" = kept
check "a label of its own" test "${copy%-*}" != "${id%-*}"
expect "and stays, with its original" 0 kept "*" -q exec --sandbox-id "$copy" -- cat kept
json "the ledger has it" 0 '[.sandboxes[] | select(.mine)] | length == 2' list "${fake[@]}"
json "with --json" 0 '.from == "'"$id"'" and (.id | startswith("fake-"))' fork "$id"
json "of what is not there" 3 '.error == "sandbox_not_found"' fork "${fake[@]}" nothing
check "which leaves nothing" boxes_are 3
for copy in "$vendor"/fake-*; do
    [ "${copy##*/}" = "$id" ] || "$SANDLOT" -q delete "${copy##*/}" >/dev/null
done
check "deleting them leaves one record" test "$(ledger_files | wc -l)" = 1

: >"$journal"
expect "L2: a fork whose answer is lost is found by its label" 0 "*" "*" -q fork "$id" --param lost_answer=true
copy=$out
check "it is that one" test -d "$vendor/$copy"
check "asked for once" test "$(asked "fork ")" = 1
check "and the only one" boxes_are 2
"$SANDLOT" -q delete "$copy" >/dev/null
json "one that fails after its id was told" 3 '.error == "provider_error"' fork "$id" --param fail_after_created=internal
check "is deleted again" boxes_are 1
json "one that cannot be looked for" 3 '.message | contains("it is not known whether there is a fork")' \
    fork "$id" --param lost_answer=true --param fail_list=unavailable
check "leaves its record" test "$(ledger_files | grep -c '\.open$')" = 1
sed -i 's/"fail_list=unavailable"/"page_size=1"/' "$(ledger_files | grep '\.open$')"
expect "by which gc finds it" 0 "*" "*" gc
check "and deletes it" boxes_are 1

# killed: while the vendor makes it, and when it is made and nobody was told
"$SANDLOT" -q fork "$id" --param create_delay_ms=3000000 >/dev/null 2>&1 </dev/null &
pid=$!
until_true 10 boxes_are 2
kill -KILL "$pid"
wait "$pid" 2>/dev/null
expect "L2: kill -9 while it is made: gc" 0 "*" "*" -q gc
check "deletes what was never told" boxes_are 1
"$SANDLOT" -q fork "$id" >/dev/full 2>"$scratch/err" </dev/null
check "a fork whose id cannot be told is deleted again" test "$?" != 0
check "so that nothing is left" boxes_are 1
env --default-signal=INT "$SANDLOT" -q fork "$id" --param create_delay_ms=3000000 >/dev/null 2>&1 </dev/null &
pid=$!
until_true 10 boxes_are 2
kill -INT "$pid"
wait "$pid" 2>/dev/null
check "Ctrl-C ends it" test "$?" = 130
check "with what it made" boxes_are 1

# ---- names -----------------------------------------------------------------------------------------------------------
for name in "" -web Web web- web. 1web we_b "we b" a:b "$(printf 'a%.0s' {1..64})"; do
    usage "no name: '$name'" "no name for a sandbox|is empty" create "${fake[@]}" "--name=$name"
done
check "nothing was made for them" boxes_are 1
usage "a name for a sandbox that is there" "takes no --name" exec --sandbox-id "$id" --name web -- true
json "a name" 0 '.name == "web" and .id != "web"' create "${fake[@]}" --name web
named=$(jq -r .id <"$scratch/out")
json "is taken" 1 '.error == "conflict" and (.message | contains("'"$named"'"))' create "${fake[@]}" --name web
check "and nothing made" boxes_are 2
expect "exec takes it" 0 "" "*" -q exec --sandbox-id web -- 'echo named >kept'
json "read does" 0 '.content == "named"' read --sandbox-id web kept
expect "cp does" 0 "*" "*" -q cp web:kept "$scratch/copied"
check "exactly" test "$(cat "$scratch/copied")" = named
json "diff does" 1 '.error == "not_supported"' diff web
json "port does" 1 '.error == "not_supported"' port web 7000
json "network does" 0 '.id == "'"$named"'"' network show web
expect "snapshot does" 0 named "*" -q snapshot web --name named
expect "fork does" 0 "*" "*" -q fork web
expect "and makes another one" 0 "$out" "*" -q delete "${fake[@]}" "$out"
mkdir "$scratch/brought" && echo brought >"$scratch/brought/file"
json "import does" 0 '.id == "'"$named"'"' import web "$scratch/brought"
json "export does" 0 '.changes == []' export web --output "$scratch/named.patch"
json "apply does" 0 '.applied == []' apply web
expect "a fork of it" 0 "*" "*" -q fork web
forked=$out
expect "is worked in" 0 "" "*" -q exec "${fake[@]}" --sandbox-id "$forked" -- 'echo more >>file'
json "and compared with the same folder" 0 '.changes | map([.path, .kind]) == [["file","modified"]]' diff "${fake[@]}" "$forked"
expect "then it goes" 0 "$forked" "*" -q delete "${fake[@]}" "$forked"
json "pause does" 0 '.id == "'"$named"'"' pause web
json "with the provider too" 0 '.id == "'"$named"'"' resume "${fake[@]}" --sandbox-id web
json "with another provider it is an id" 3 '.error == "sandbox_not_found"' exec --sandbox local --sandbox-id web -- true
json "list shows it" 0 '[.sandboxes[] | select(.name == "web") | .id] == ["'"$named"'"] and ([.sandboxes[] | select(has("name"))] | length == 1)' \
    list "${fake[@]}"
expect "in a column of its own" 0 "*" "*" list "${fake[@]}"
check "where there are names" grep -qE "^ID .* NAME\$|^$named .* web\$" "$scratch/out"
# An id goes before a name, also one that came later.
ledger=$XDG_STATE_HOME/sandlot/ledger
sed "s/\"id\":\"[^\"]*\"/\"id\":\"web\"/; s/\"name\":\"[^\"]*\",\?//" "$(grep -l "$named" "$ledger"/*.kept)" >"$ledger/sandlot-stranger.kept"
chmod 600 "$ledger/sandlot-stranger.kept"
json "an id goes before a name" 3 '.error == "sandbox_not_found"' exec --sandbox-id web -- true
rm "$ledger/sandlot-stranger.kept"
json "delete takes it" 0 '.deleted == "'"$named"'"' delete web
json "then it is free" 0 '.name == "web"' create "${fake[@]}" --name web
named=$(jq -r .id <"$scratch/out")
for number in $(seq 12); do "$SANDLOT" -q create "${fake[@]}" --name same >>"$scratch/same" 2>/dev/null </dev/null & done
wait
check "of twelve that want the same at a time one gets it" test "$(wc -l <"$scratch/same")" = 1
check "and one was made" boxes_are 3
run delete web same
check "several by their names" test "$status" = 0
json "a name of a sandbox that is gone" 3 '.error == "sandbox_not_found"' exec --sandbox fake --param "folder=$vendor" --sandbox-id web -- true
"$SANDLOT" -q create --name brief --param ttl_s=1 >/dev/null 2>&1 </dev/null && {
    ended_by_itself() { "$SANDLOT" list --json | jq -e '.sandboxes == []' >/dev/null; }
    until_true 20 ended_by_itself
    json "a name whose sandbox has ended by itself is free" 0 '.name == "brief"' create --name brief
    process=$("$SANDLOT" -q exec --sandbox-id brief --detach -- 'echo named; exit 4' </dev/null)
    expect "wait takes it" 4 "" "*" -q wait --sandbox-id brief "$process"
    expect "logs does" 0 named "*" -q logs --sandbox-id brief "$process"
    json "ps does" 0 '.processes | map(.id) == ["'"$process"'"]' ps --all --sandbox-id brief
    json "kill does" 1 '.results[0].error == "process_ended"' kill --sandbox-id brief "$process"
    json "L1: local boxes are not paused" 1 '.error == "not_supported" and (.message | contains("here these can"))' pause brief
    json "L1: nor resumed" 1 '.error == "not_supported"' resume brief
    "$SANDLOT" -q delete brief >/dev/null
}

# ---- what a vendor says that means harm ----
hostile=(--sandbox hostile --param $'id=\e[2Ja\nb\u202ec')
shown='\x1b[2Ja\nb\u202ec'
for command in create "fork x" "snapshot x"; do
    read -ra words <<<"$command"
    expect "an id that would drive a terminal: ${words[0]}" 0 "$shown" "*" -q "${words[@]}" "${hostile[@]}"
done
run list "${hostile[@]}" --param time=9223372036854775807
check "in a list too, with a time far away" grep -qxF "$shown  $shown  0 s  hostile   yes" "$scratch/out"
run volumes "${hostile[@]}"
check "sizes that no disk has are no small ones" grep -qF "$shown  17592186044416.0 MiB  17592186044416.0 MiB" "$scratch/out"
printf '[sandboxes.providers.hostile]\nisolation = "none"\n' >"$config" # ten thousand calls are quick without a worker
json "a list without an end" 3 '.error == "provider_error" and (.message | contains("has no end"))' list "${hostile[@]}" --param cursor=again
rm "$config"
run -q delete "${hostile[@]}" $'\e[2Ja\nb\u202ec'
check "and when it is deleted" test "$out" = "$shown"
# address URL [HEADER]
address() { run --json port x 80 --url --show-token --sandbox hostile --param "url=$1" ${2+--param "header=$2"}; }
address https://a.example:8443 "X-Token: a b"
judge_json "an address and its header" 0 '.url == "https://a.example:8443" and .header == "X-Token: a b"'
for url in 'javascript:alert(1)' file:///etc/passwd ftp://a.example https://user:word@a.example https://a.example/b $'https://a.example\nX: y' \
    $'https://\e[2J' $'https://a\u202eb' https:// ''; do
    address "$url"
    judge_json "no address: ${url@Q}" 3 '.error == "provider_error" and (.message | contains("no address that is http"))'
done
for header in $'A: b\r\nC: d' $'\e[2J: a' 'A B: c' ': b' none; do
    address https://a.example "$header"
    judge_json "no header: ${header@Q}" 3 '.message | contains("no address that is http")'
done

"$SANDLOT" -q delete "$id" >/dev/null
check "nothing is left" no_ledger
