#!/bin/bash
# A creation of which nobody knows whether it worked: what is said, what is looked up, and what `gc` makes of it.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh sets status, out, err and the folders
. "$(dirname "$0")/lib.sh"
cp "$BUILD/tests/plugins/fake.so" "$BUILD/tests/plugins/no_list.so" "$plugins/" || exit 2
vendor=$scratch/vendor
journal=$scratch/journal
mkdir "$vendor"
fake=(--sandbox fake --param "folder=$vendor" --param "journal=$journal")
record() { ledger_files | head -n 1; }
label() { basename "$(record)" .open; }
expires="($(date -u -d '+30 days' +%Y-%m-%d)|$(date -u -d '+31 days' +%Y-%m-%d))" # midnight may pass

# ---- a provider that can list ----
expect "a refused connection" 3 "" "asked for a failure before anything was made" exec "${fake[@]}" --param fail_create=unavailable -- true
check "needs no warning when the vendor has nothing" sh -c '! grep -i "warning\|probably\|not known" "$1"' sh "$scratch/err"
check "and leaves no record" no_ledger
expect "a lost answer, with -v" 3 "" "asking whether a sandbox was created" -v exec "${fake[@]}" --param lost_answer=true -- true
check "the sandbox is found by its label" grep -q "deleting the sandbox" "$scratch/err"
check "and deleted" test -z "$(ls "$vendor")"
check "its record too" no_ledger
expect "a refused connection that cannot be looked up" 3 "" \
    "warning: a sandbox was probably not created, .*\(fake: cannot list sandboxes: .*\); .sandlot gc. will look again" \
    exec "${fake[@]}" --param fail_create=unavailable --param fail_list=unavailable -- true
check "names the provider once" test "$(grep -c "fake.*fake" <(grep "probably" "$scratch/err"))" = 0
vendor_answers() { sed -i 's/"fail_list=unavailable"/"page_size=1"/' "$(record)"; } # the record has the parameters of that run
vendor_answers
expect "gc looks again" 0 "fake -" "*" gc
expect "another fault" 3 "" "it is not known whether a sandbox was created \(fake: .*will look again" \
    exec "${fake[@]}" --param fail_create=internal --param fail_list=unavailable -- true
expect "gc that cannot look either" 3 "" "a sandbox of 'fake' may still be there: fake: cannot list" gc
vendor_answers
expect "gc that can" 0 "fake -" "*" gc
check "settles it" no_ledger
expect "a request that was under way when its run ended" 3 "" "*" \
    exec "${fake[@]}" --param fail_create=internal --param fail_list=unavailable -- true
vendor_answers
late=$vendor/fake-$(label)-abcdef
{ sleep 1 && mkdir "$late"; } &
expect "leads to a sandbox that gc does not miss, though it is listed late" 0 "fake ${late##*/}" "*" gc
wait
check "and that it deletes" test ! -e "$late"
check "with its record" no_ledger
# A Ctrl-C at Deno left a sandbox that was made a moment after its list was asked for.
run exec "${fake[@]}" --param fail_create=timeout -- true
check "a request that was cut off is not settled by a list" test -n "$(record)"
late=$vendor/fake-$(label)-abcdef
mkdir "$late"
expect "its sandbox is found when it comes later" 0 "fake ${late##*/}" "*" gc
check "and deleted, with its record" sh -c 'test ! -e "$1" && test -z "$2"' sh "$late" "$(ledger_files)"
rm -f "$journal"
run list "${fake[@]}"
check "a listing ends within 30 seconds" grep -qE "^list - within (30|[12]?[0-9]) s" "$journal"

# ---- one that cannot ----
unknown="look for one with the label sandlot-[a-z0-9]* at its vendor.*until $expires"
expect "a crash while it is created" 3 "" "no_list: it is not known whether a sandbox was created, and this provider cannot list.*$unknown" \
    exec --sandbox no_list -- true
check "its label is named" grep -q "$(label)" "$scratch/err"
check "nothing is promised that cannot be done" sh -c '! grep "will look" "$1"' sh "$scratch/err"
expect "gc says what can be done, and has not failed" 0 "" "a sandbox of 'no_list' may still be there: its id was never heard.*$unknown" gc
json "gc --json" 0 '(has("error") | not) and .results == [.results[0]] and .results[0].error == "not_supported" and .results[0].id == null' gc
check "the record stays" test -n "$(record)"
sed -i 's/"expires_at_ms":[0-9]*/"expires_at_ms":1000/' "$(record)"
expect "until the longest life of a sandbox is over" 0 "no_list -" "*" gc
check "then it is forgotten" no_ledger
expect "without such an end" 3 "" "$unknown" exec --sandbox no_list --param hard_ttl_s=0 --param create=unavailable -- true
check "a refused connection is told apart" grep -q "probably not created" "$scratch/err"
rm "$plugins/no_list.so"
expect "a plugin that is gone" 3 "" "may still be there: there is no provider no_list" gc
sed -i 's/"created_at_ms":[0-9]*/"created_at_ms":1000/' "$(record)"
expect "is forgotten in the end" 0 "no_list -" "*" gc
check "with its record" no_ledger
