# shellcheck shell=bash disable=SC2034,SC2154,SC2016
# The table of edge cases of background processes, named by its numbers P1 to P23 (P24 to P26 are about agents: tests/cli/mcp_test.sh; what
# only local can show is in processes_test.sh). NAME_test.sh, or tests/vendors/lifecycle.sh, chooses the kind of sandbox and calls process_rows.
#
#   way        native, or how commands reach the files, for what depends on it
#   provider   the options that choose the provider, for every command, an array
#   making     further options for create, an array

# begin OPTION... -- COMMAND: starts a process in the background, its id to p
begin() {
    run -q exec "${provider[@]}" --sandbox-id "$id" --detach "$@"
    p=$out
    [ "$status" = 0 ] && [[ $p =~ ^p[0-9]+$ ]] || not_ok "$way: a process starts" "$(show)"
}
# on STATUS OUT ERR NAME COMMAND ARGUMENT...: one command on the sandbox
on() { expect "$way: $4" "$1" "$2" "$3" -q "$5" "${provider[@]}" --sandbox-id "$id" "${@:6}"; }
on_json() { json "$way: $3" "$1" "$2" "$4" "${provider[@]}" --sandbox-id "$id" "${@:5}"; }
inside() { "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" --timeout 60 -- "$1" </dev/null; }
process_is() { [ "$("$SANDLOT" -q --json ps --all "${provider[@]}" --sandbox-id "$id" </dev/null | "$fast_jq" -r ".processes[] | select(.id == \"$1\").state")" = "$2" ]; }
refuses_signals() { run -q kill "${provider[@]}" --sandbox-id "$id" "$1" --signal HUP && [ "$status" != 0 ]; }
log_has() { "$SANDLOT" -q logs "${provider[@]}" --sandbox-id "$id" "$1" </dev/null | grep -q "$2"; }
is_gone() { ! inside "cat /proc/[0-9]*/cmdline | grep -q '[${1:0:1}]${1:1}'" >/dev/null 2>&1; }

process_rows() {
    id=$("$SANDLOT" -q create "${provider[@]}" "${making[@]}" </dev/null)
    check "$way: a sandbox" test -n "$id"
    rows_life
    rows_log
    rows_input
    rows_ends
    rows_hostile
    expect "$way: the sandbox goes" 0 "*" "*" -q delete "${provider[@]}" "$id"
}

rows_life() {
    usage "$way: P1 nothing to run it in" "sandlot create" exec "${provider[@]}" --detach -- true
    usage "$way: P1 the same for the others" "sandlot create" ps "${provider[@]}"
    on_json 0 '.processes == []' "P1 nothing was made" ps --all

    on 1 "" "not found" "P4 no such directory" exec --detach --cwd /nowhere -- true
    on 2 "" "empty" "P4 an empty command" exec --detach -- ' '
    on_json 0 '.processes == []' "P4 nothing ran" ps --all
    word=$(printf '%050000d' 0)
    begin -- printf %.1s "$word" "$word" "$word" "it's $word" # 200 KiB
    on 0 "" "*" "P4 a command of 200 KiB" wait "$p"
    on 0 "000i" "*" "P4 its output" logs "$p"

    begin --env A='x y' --cwd /tmp -- 'echo "$A"; pwd; echo "${LC_ALL-unset}${s_dir-}${s_token-}"; exit 3'
    on 3 "" "*" "P5 it ends at once" wait "$p"
    on 0 "x y
/tmp
unset" "*" "P5 the log is whole, and nothing of ours is in its environment" logs "$p"
    begin -- 'echo before; kill -9 $$'
    on_json 0 '.exit_code == 137 and .state == "exited" and .timed_out == false and .output_total == 7' \
        "P5 killed from inside" wait "$p"

    begin -- 'echo kept; sleep 3001'
    until_true 10 log_has "$p" kept
    inside "read s x </tmp/.sandlot-processes/$p/super; kill -9 \$s"
    check "$way: P6 lost" until_true 10 process_is "$p" lost
    on 3 "" "nobody saw" "P6 wait for a lost one" wait "$p"
    on_json 3 '.state == "lost" and .exit_code == null and .error == "provider_error"' "P6 the same as JSON" wait "$p"
    on 0 "kept" "*" "P6 its log stays" logs "$p"
    on 0 "" "*" "P6 what is left of it can be ended" kill "$p"
    check "$way: P6 nothing is left" until_true 10 is_gone 3001

    begin -- 'sleep 3002 & echo now; exit 5'
    on 5 "" "*" "P12 a child holds the output" wait "$p"
    on 0 "now" "*" "P12 and what was printed before is there" logs "$p"
    on 0 "" "*" "P12 kill ends what was left" kill "$p"
    check "$way: P12 it is gone" until_true 10 is_gone 3002
}

rows_log() {
    begin -- 'printf "a\000b\377\r\nlast"'
    on 0 "*" "*" "P9 wait" wait "$p"
    run logs "${provider[@]}" --sandbox-id "$id" "$p"
    check "$way: P9 every byte" test "$(od -An -tx1 "$scratch/out" | tr -d ' \n')" = 610062ff0d0a6c617374
    on_json 0 '.encoding == "base64" and .output == "YQBi/w0KbGFzdA==" and .next == 10 and .skipped == 0' \
        "P9 as JSON" logs "$p"
    on_json 0 '.output == "" and .next == 10 and .from == 10' "P10 beyond the end" logs "$p" --from 99
    on_json 0 '.output == "last" and .from == 6' "P10 from the end" logs "$p" --from -4
    on_json 0 '.from == 0 and .next == 10' "P10 below the beginning" logs "$p" --from -99
    on_json 0 '.output == "last" and .next == 10' "P10 the last line" logs "$p" --tail 1
    on_json 0 '.next == 3 and .from == 1' "P10 no more than asked for" logs "$p" --from 1 --max-bytes 2

    # 40 MiB with a limit of 1: a number in every line tells where it is.
    begin --log-limit 1 -- 'i=0; while [ $i -lt 40 ]; do head -c 1048568 /dev/zero | tr "\000" x; printf "%07d\n" $i; i=$((i + 1)); done'
    on 0 "" "*" "P7 wait" wait "$p"
    on_json 0 '.processes[] | select(.id == "'"$p"'") | .output_total == 41943040 and .output_first > 1000000 and .output_first % 4096 == 0' \
        "P7 the newest part is kept" ps --all
    run logs "${provider[@]}" --sandbox-id "$id" "$p"
    check "$way: P7 what is skipped is told" grep -q "bytes of the log are left out" "$scratch/err"
    check "$way: P7 the bytes are those of the end" test "$(tail -c 8 "$scratch/out")" = 0000039
    check "$way: P7 all that is kept" test "$(wc -c <"$scratch/out")" -gt 1048576
    check "$way: P7 in two segments" test "$(wc -c <"$scratch/out")" -le $((2 * 4096 * 4096))
    first=$((41943040 - $(wc -c <"$scratch/out")))
    on_json 0 ".from == $first and .skipped == $first - 5 and .next == $first + 1" "P10 below what is kept" logs "$p" --from 5 --max-bytes 1
    inside 'head -c 3000000 /dev/urandom >/tmp/random'
    begin -- 'cat /tmp/random'
    on 0 "" "*" "wait for three megabytes" wait "$p"
    run logs "${provider[@]}" --sandbox-id "$id" "$p"
    cp "$scratch/out" "$scratch/log"
    run exec "${provider[@]}" --sandbox-id "$id" -- 'md5sum </tmp/random'
    check "$way: a log of three megabytes" test "$out" = "$(md5sum <"$scratch/log")"
    begin -- 'cat /tmp/random; while :; do echo more; sleep 0.02 || sleep 1; done'
    until_true 30 log_has "$p" more
    run logs "${provider[@]}" --sandbox-id "$id" "$p"
    check "$way: the same while more is printed" test "$status $(head -c 3000000 "$scratch/out" | md5sum)" = "0 $(md5sum <"$scratch/log")"
    on 0 "" "*" "which is killed" kill "$p"

    # A follower sees the last byte, and so does another one while a third goes away.
    begin -- 'i=0; while [ $i -lt 20 ]; do echo line $i; i=$((i + 1)); sleep 0.1; done; printf end'
    "$SANDLOT" logs "${provider[@]}" --sandbox-id "$id" "$p" -f >"$scratch/cancelled" 2>/dev/null </dev/null &
    follower=$!
    "$SANDLOT" -q logs "${provider[@]}" --sandbox-id "$id" "$p" -f >"$scratch/second" </dev/null &
    second=$!
    until_true 10 grep -q "line 3" "$scratch/second"
    kill -INT "$follower"
    wait "$follower"
    check "$way: P11 Ctrl-C ends the follower" test $? = 130
    on 0 "*" "*" "P11 a follower" logs "$p" -f
    check "$way: P11 sees all, the last byte too" test "$out" = "$(for ((i = 0; i < 20; i++)); do echo "line $i"; done; printf end)"
    wait "$second"
    check "$way: P11 and so does the other" cmp "$scratch/out" "$scratch/second"
    on_json 0 '.state == "exited" and .exit_code == 0' "P11 the process was left alone" wait "$p"
    # As a full disk leaves it: what was dropped last ends with an empty part.
    begin -- 'echo kept'
    on 0 "" "*" "P18 it ends" wait "$p"
    check "$way: P18 its last bytes were dropped" inside ": >/tmp/.sandlot-processes/$p/o.100"
    on_json 0 '.output == "kept\n" and .next == 100 and .skipped == 95' "P18 which is told" logs "$p"
    on_json 0 '.output == "" and .next == 100 and .skipped == 95' "P18 also from there on" logs "$p" --from 5
}

rows_input() {
    begin -- 'sleep 3003'
    on 1 "" "stdin-open" "P14 it takes no input" input "$p"
    on_json 1 '.error == "input_closed"' "P14 the same as JSON" input "$p"
    on 0 "" "*" "P14 kill" kill "$p"
    on_json 1 '.results[0].error == "process_ended"' "P14 kill of what has ended" kill "$p"
    on_json 1 '.error == "process_ended"' "P14 input for what has ended" input "$p"
    begin -- 'sleep 3003'
    on 0 "" "*" "P14 a signal ends it" kill "$p" --signal INT
    until_true 10 refuses_signals "$p"
    check "$way: P14 one that follows at once is told of its end" grep -q 'ended, with exit code 130' "$scratch/err"
    on_json 1 '.error == "process_not_found" and (.message | contains("p1"))' "P14 nobody of that name" logs p999
    on_json 1 '.results[0].error == "process_not_found"' "P14 nor to be killed" kill nonsense

    begin --stdin-open -- 'cat; echo over'
    printf 'one\n\000two' >"$scratch/typed"
    input=$scratch/typed on_json 0 '.bytes == 8' "P15 input" input "$p"
    check "$way: P15 arrives" until_true 10 log_has "$p" one
    on_json 0 '.processes[] | select(.id == "'"$p"'").input_open' "P15 and can go on" ps
    input=$scratch/typed on_json 0 '.bytes == 8' "P15 the last input" input "$p" --close
    on 0 "" "*" "P15 its end ends cat" wait "$p"
    run logs "${provider[@]}" --sandbox-id "$id" "$p"
    check "$way: P15 byte for byte" test "$(od -An -tx1 "$scratch/out" | tr -d ' \n')" = 6f6e650a0074776f6f6e650a0074776f6f7665720a
    begin --stdin-open -- 'wc -c'
    local feeders=()
    for i in 1 2 3 4; do
        head -c 20000 /dev/zero | tr '\000' "$i" >"$scratch/typed$i"
        "$SANDLOT" -q --json input "${provider[@]}" --sandbox-id "$id" "$p" <"$scratch/typed$i" >"$scratch/took$i" 2>&1 &
        feeders+=("$!")
    done
    wait "${feeders[@]}"
    check "$way: P15 several at once, each of all its bytes" test "$(cat "$scratch"/took[1-4] | "$fast_jq" -s 'map(.bytes) | add')" = 80000
    on 0 "" "*" "P15 their end" input "$p" --close
    on 0 "" "*" "P15 is the program's" wait "$p"
    on 0 "80000" "*" "P15 which has got all of them" logs "$p"
    begin --stdin-open -- 'sleep 3; exit 5'
    head -c 200000 /dev/zero >"$scratch/much"
    input=$scratch/much on_json 1 '.error == "process_ended" and .bytes < 200000' "P15 it ends, and has not read all" input "$p"
    begin --stdin-open -- 'sleep 3004'
    input=$scratch/much on_json 1 '.error == "no_space" and .bytes >= 4096 and .bytes < 200000' "P15 it does not read" input "$p"
    on 0 "" "*" "P15 kill" kill "$p"
}

rows_ends() {
    begin -- 'setsid sleep 3005 & (setsid sh -c "sleep 3005" &); env -i "$(command -v setsid)" "$(command -v sleep)" 3005 & echo ready; sleep 3005'
    until_true 10 log_has "$p" ready
    on 0 "" "*" "P13 kill" kill "$p"
    check "$way: P13 a child with a session of its own too" until_true 10 is_gone 3005
    begin -- 'trap "echo got it" TERM; echo ready; while :; do sleep 1; done'
    until_true 10 log_has "$p" ready
    on 0 "" "*" "P13 TERM alone" kill --signal TERM "$p"
    check "$way: P13 arrives" until_true 10 log_has "$p" "got it"
    check "$way: P13 and leaves it" process_is "$p" running
    on 0 "" "*" "P13 KILL after the grace" kill --grace 1 "$p"
    on 137 "" "*" "P13 it has ended" wait "$p"
    begin -- 'trap "exit 7" INT; echo ready; while :; do sleep 0.1; done'
    until_true 10 log_has "$p" ready
    on 0 "" "*" "SIGINT is not ignored" kill --signal SIGINT "$p"
    on 7 "" "*" "SIGINT ends it" wait "$p"

    begin --timeout 3 -- 'echo before; setsid sleep 3006 & env -i "$(command -v setsid)" "$(command -v sleep)" 3006 & sleep 3006'
    on 124 "" "*" "P16 its time limit" wait "$p"
    on_json 0 '.timed_out and .exit_code == 124 and .output_total == 7' "P16 is told" wait "$p"
    check "$way: P16 nothing is left" until_true 10 is_gone 3006
    begin -- 'sleep 3007'
    on 124 "" "*" "the limit of the waiting" wait "$p" --timeout 1
    on_json 0 '.state == "running" and .exit_code == null' "the same as JSON" wait "$p" --timeout 1
    # P21: a command that is cancelled takes nothing of it with it
    # (in the foreground: SIGCONT, which timeout(1) sends after the signal otherwise, takes the SIGSTOP of the leak check away,
    # and the process that it looks at and the looking one wait for each other for ever)
    timeout --foreground -s INT 1 "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" -- 'sleep 3008' </dev/null >/dev/null 2>&1
    check "$way: P21 it lives" process_is "$p" running
    other=$p
    begin -- 'sleep 3009'
    on_json 0 '.results | length == 2 and all(.error == null)' "kill of two" kill "$p" "$other" --signal KILL
}

# What stands in the folder is the sandbox's to choose.
rows_hostile() {
    inside 'cd /tmp/.sandlot-processes && mkdir pX p0 p01 p900 p901 p902 && mkfifo p900/exit p900/o.0 p900/command p900/super p900/meta &&
        echo 99999999999999999999 0 0 >p901/exit && : >p901/o.99999999999999999999 && echo x >p901/o.08 && ln -s /etc/passwd p901/o.0 && ln -s /etc/passwd p901/command &&
        echo "0 0 5" >p902/exit && echo a >p902/o.7 && echo "*" >p902/meta && touch -t 202001010000 p900 p901'
    on_json 0 '[.processes[].id] | contains(["p902"]) and (contains(["pX"]) or contains(["p0"]) | not)' "P20 forged folders" ps --all
    on_json 0 '.output == "a\n" and .from == 7 and .skipped == 7' "P20 a log without its beginning" logs p902
    on_json 0 '.output == ""' "P20 links and numbers that are none" logs p901
    on_json 0 '.output == ""' "P20 pipes where files should be" logs p900
    begin -- true
    check "$way: numbers go on after the highest" test "$p" = p903
    inside 'rm -rf /tmp/.sandlot-processes && ln -s /etc /tmp/.sandlot-processes'
    begin --log-limit 1 -- 'echo elsewhere'
    on 0 "" "*" "P19 a link is not followed" wait "$p"
    on 0 "elsewhere" "*" "P19 the next place serves" logs "$p"
    inside 'rm /tmp/.sandlot-processes'
}
