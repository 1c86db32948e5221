# shellcheck shell=bash disable=SC2034,SC2154,SC2016,SC2088
# The table of edge cases, one row one check or more, named by its group and number: X execute, R read, W write, E edit, L ls,
# G grep, B glob, D delete, T transfer, S lifecycle. NAME_test.sh chooses the kind of sandbox and calls rows_run.
#
#   way        native, gnu, busybox, text or cloud: how the files are reached, for what depends on it
#   provider   the options that choose the provider, for every command, an array
#   making     further options for create, an array
#   workspace  the working directory of the sandboxes; /workspace unless set. The rows write /workspace for it.
#   as_root    true if commands in the sandbox run as root, whom no permission stops; false unless set
#   utf8_names true if the service knows names in UTF-8 alone, and scripts too; "" unless set
workspace=${workspace:-/workspace}
as_root=${as_root:-false}

# denied COMMAND...: a row about permissions
denied() { $as_root || "$@"; }

# in_box SCRIPT: runs a script in the sandbox; what it prints is only for failures
in_box() {
    "$SANDLOT" -q exec "${provider[@]}" --sandbox-id "$id" --timeout 60 -- "${1//\/workspace/$workspace}" </dev/null >"$scratch/in_box" 2>&1 ||
        not_ok "a script in the sandbox" "$1
$(cat "$scratch/in_box")"
}

# The operations that look at many files end after some seconds, and say so. is_out_of_time FILTER: that may be why FILTER is not true.
is_out_of_time() {
    case ${out:0:20}${out: -20} in
        *'"timeout"'* | *'"truncated":true'*) ! is_true "$1" ;;
        *) false ;;
    esac
}

# op STATUS FILTER NAME COMMAND ARGUMENT...: one command on the sandbox, answered as JSON. What a busy machine did not get done in the time
# of the operation is tried again: what takes more than a few seconds on a quiet one is never done in time.
op() {
    local wanted=$1 filter=${2//\/workspace/$workspace} name=$3 command=$4 pause
    shift 4
    for pause in 1 2 3 4 5 6 7 8 9 ''; do
        run --json "$command" "${provider[@]}" --sandbox-id "$id" "${@//\/workspace/$workspace}"
        is_out_of_time "$filter" && [ "$pause" ] || break
        sleep "$pause"
    done
    judge_json "$name" "$wanted" "$filter"
}

# error_row CODE WORD NAME COMMAND ARGUMENT...: it fails with this code, and the message has the word
error_row() {
    local code=$1 word=$2
    shift 2
    op 1 ".error == \"$code\" and (.message | contains(\"$word\"))" "$@"
}

got_so_far=0 # files

# same NAME PATH PRINTF-FORMAT: the file in the sandbox holds exactly these bytes
same() {
    # shellcheck disable=SC2059
    printf "$3" >"$scratch/wanted"
    same_file "$1" "$2" "$scratch/wanted"
}
same_file() {
    local got=$scratch/got$((++got_so_far)) # one that was never there before
    run -q download "${provider[@]}" --sandbox-id "$id" "${2//\/workspace/$workspace}" "$got"
    if [ "$status" = 0 ] && cmp -s "$got" "$3"; then ok "$1"; else
        not_ok "$1" "$2 is not as wanted: $(cmp "$got" "$3" 2>&1)
$(show)"
    fi
}

# put PATH PRINTF-FORMAT, put_file LOCAL PATH: makes a file in the sandbox
put() {
    # shellcheck disable=SC2059
    printf "$2" >"$scratch/put"
    put_file "$scratch/put" "$1"
}
put_file() {
    run -q upload "${provider[@]}" --sandbox-id "$id" "$1" "${2//\/workspace/$workspace}"
    [ "$status" = 0 ] || not_ok "put $2" "$(show)"
}

# write_row STATUS FILTER NAME PATH PRINTF-FORMAT
write_row() {
    # shellcheck disable=SC2059
    printf "$5" >"$scratch/stdin"
    input=$scratch/stdin op "$1" "$2" "$3" write "$4"
}

# edit_json STATUS FILTER NAME PATH JSON: an edit whose texts come on standard input
edit_json() {
    printf '%s' "$5" >"$scratch/stdin"
    input=$scratch/stdin op "$1" "$2" "$3" edit "$4"
}

# in_box_is NAME SCRIPT: the script, a test, succeeds in the sandbox
in_box_is() {
    run -q exec "${provider[@]}" --sandbox-id "$id" -- "${2//\/workspace/$workspace}"
    check "$1" test "$status" = 0
}

# No temporary file of ours anywhere that commands can write; but a command of now or just before may have its folder, which
# has a UUID in its name.
ours='! -path "/tmp/.sandlot-*-*-*-*-*" ! -name .sandlot-last-used'
no_leftovers() {
    in_box_is "$1" '[ -z "$(find /workspace /tmp -name "*sandlot*" '"$ours"' 2>/dev/null)" ]'
}

rows_execute() {
    local nap=3000.$RANDOM # this pass's own: others may run beside it
    op 0 '.exit_code == 0 and .output == "hello\n" and .truncated == false and .timed_out == false' "X01 output" exec -- 'echo hello'
    op 0 '.exit_code == 42' "X02 exit code" exec -- 'exit 42'
    op 0 '.output == ([range(1; 41)] | map("\(.)\n") | add)' "X03 both streams in order" \
        exec -- 'i=0; while [ $i -lt 20 ]; do i=$((i + 1)); echo $((2 * i - 1)); echo $((2 * i)) >&2; done'
    op 0 '.output == "problem\n" and .exit_code == 0' "X04 only standard error" exec -- 'echo problem >&2'
    op 0 '.exit_code == 127' "X05 unknown command" exec -- 'no-such-command'
    op 0 '.exit_code == 137' "X06 killed by a signal" exec -- 'kill -9 $$'
    op 0 '.exit_code == 143' "X06 by another one" exec -- 'kill -15 $$'
    op 0 '.output == ""' "X07 no output" exec -- true
    op 0 '.output == "it'"'"'s \"$x\" \\n\nnext"' "X08 the command text reaches the shell unchanged" exec -- printf %s 'it'"'"'s "$x" \n
next'
    op 0 '.output == "grüße €\n"' "X09 not ASCII" exec -- 'echo "grüße €"'
    op 0 '.output == "a��b" and .exit_code == 3' "X10 output that is not UTF-8" exec -- 'printf "a\377\376b"; exit 3'
    op 0 '.output == "a\u0000b"' "X11 NUL in the output" exec -- 'printf "a\000b"'
    op 0 '(.output | length) == 2097152 and .truncated == false' "X12 2 MiB of output" exec -- 'head -c 2097152 /dev/zero | tr "\000" x'
    op 0 '.exit_code == 124 and .timed_out and (.output | startswith("before\n")) and (.output | contains("timed out"))' \
        "X13 timeout" exec --timeout 3 -- "echo before; sleep $nap"
    op 0 '.output == "0\n"' "X14 what timed out no longer runs" exec -- "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\000' ' ' | grep -c 'sleep ${nap%?}[${nap: -1}]'; true"
    op 0 '.output == "x\n"' "X15 timeout 0 is no limit" exec --timeout 0 -- 'sleep 0.2; echo x'
    usage "X16 negative timeout" "negative" exec "${provider[@]}" --sandbox-id "$id" --timeout -1 -- 'touch x16'
    usage "X17 timeout above the maximum" "3600" exec "${provider[@]}" --sandbox-id "$id" --timeout 3601 -- 'touch x17'
    usage "X18 empty command" "empty" exec "${provider[@]}" --sandbox-id "$id" -- ""
    in_box_is "X16 X17 nothing was run" '[ ! -e x16 ] && [ ! -e x17 ]'
    op 0 '.output == "" and .exit_code == 0' "X19 standard input is empty" exec -- cat
    in_box 'cd /tmp; export CARRIED=1'
    op 0 '.output == "/workspace \n"' "X20 nothing carries over" exec -- 'echo "$PWD $CARRIED"'
    op 0 '.output == "done\n"' "X21 a background child holds the output" exec -- 'sleep 3000 & echo done'
    op 0 '.output == "120000\n"' "X22 a command of 120 KB" exec -- "x=$(head -c 120000 /dev/zero | tr '\0' y); echo \${#x}"
    json "X23 unknown sandbox" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id no-such-sandbox -- true
}

rows_read() {
    in_box 'mkdir -p r && cd r && printf "a\nb\nc" >r01 && printf "a\nb\nc\n" >r02 && printf "a\n\n" >r03 && : >r04 && printf "\n" >r05 &&
        printf "a\r\nb\r\n" >r06 && printf "a\rb\rc" >r07 && printf "a\nb\r\nc\rd" >r08 && printf "a\013b\014c\342\200\250d\n" >r09 &&
        seq 10 >r10 && seq 5 >r11 && seq 2500 >r13 && mkfifo r23 && printf "x\n" >r24 && chmod 000 r24 && ln -s r01 r25 && ln -s nothing r26 &&
        ln -s r27b r27a && ln -s r27a r27b && printf "plain text\n" >r30.PDF && printf "ok\n\377\376 bad\n" >r31.txt &&
        printf "\377\376\000\001" >r45b && printf "\357\273\277bom\n" >r45 && printf "a\000b\n" >r46 && printf "dots\n" >a..b.txt &&
        printf "odd\n" >"it'"'"'s \"\$x\";
name" && mkdir -p d/e && seq 3 >d/e/f'
    op 0 '.content == "a\nb\nc" and .total_lines == 3 and .start_line == 1 and .end_line == 3 and .next_offset == null and .encoding == "utf-8"' \
        "R01 three lines" read r/r01
    op 0 '.content == "a\nb\nc" and .total_lines == 3' "R02 final newline" read r/r02
    op 0 '.content == "a\n" and .total_lines == 2' "R03 two newlines at the end" read r/r03
    op 0 '.content == "" and .empty == true and (has("start_line") | not) and (has("total_lines") | not) and (has("next_offset") | not)' "R04 empty file" read r/r04
    expect "R04 the agent text is a reminder" 0 "*" "*" -q read "${provider[@]}" --sandbox-id "$id" r/r04
    check "R04 it says empty" grep -qi empty "$scratch/out"
    op 0 '.content == "" and .total_lines == 1 and (.empty | not) and .end_line == 1' "R05 one newline" read r/r05
    op 0 '.content == "a\nb" and .total_lines == 2' "R06 CRLF" read r/r06
    op 0 '.content == "a\nb\nc" and .total_lines == 3' "R07 lone CR" read r/r07
    op 0 '.content == "a\nb\nc\nd" and .total_lines == 4' "R08 mixed line ends" read r/r08
    op 0 '.content == "a\u000bb\u000cc\u2028d" and .total_lines == 1' "R09 what ends no line" read r/r09
    op 0 '.content == "6\n7\n8\n9\n10" and .start_line == 6 and .end_line == 10' "R10 offset" read r/r10 --offset 5
    op 0 '.content == "2\n3" and .end_line == 3 and .next_offset == 3 and .total_lines == 5' "R11 limit" read r/r11 --offset 1 --limit 2
    op 0 '.next_offset == null and .end_line == 5' "R12 ends at the end" read r/r11 --offset 2 --limit 3
    op 0 '(.content | split("\n")) == [range(1; 2001) | tostring] and .end_line == 2000 and .next_offset == 2000 and .total_lines == 2500' "R13 no limit given" read r/r13
    error_row offset_out_of_range 5 "R14 offset at the end" read r/r11 --offset 5
    check "R14 both numbers" grep -q '5.*5' "$scratch/out"
    error_row offset_out_of_range 99 "R15 offset beyond the end" read r/r11 --offset 99
    check "R15 the real length" grep -q '5 lines' "$scratch/out"
    op 0 '.content == "1\n2\n3\n4\n5" and .start_line == 1' "R16 negative offset" read r/r11 --offset -3
    run -q read "${provider[@]}" --sandbox-id "$id" r/r11 --offset -3
    check "R16 the agent text says so" grep -q negative "$scratch/out"
    op 0 '.content == "" and .no_lines_requested == true and (has("start_line") | not)' "R17 limit 0" read r/r11 --limit 0
    op 0 '.content == "" and .no_lines_requested == true and (has("start_line") | not)' "R18 negative limit" read r/r11 --limit -2
    op 0 '.empty == true and (has("no_lines_requested") | not)' "R19 limit 0 on an empty file" read r/r04 --limit 0
    error_row file_not_found "not found" "R20 missing file" read r/missing
    error_row file_not_found "not found" "R21 a component is a file" read r/r01/x
    error_row is_directory "r/d" "R22 directory" read r/d
    error_row not_a_file "" "R23 named pipe" read r/r23
    denied error_row permission_denied "" "R24 no permission" read r/r24
    op 0 '.content == "a\nb\nc"' "R25 link to a file" read r/r25
    error_row file_not_found "not found" "R26 broken link" read r/r26
    error_row invalid_path "" "R27 link loop" read r/r27a
    error_row invalid_path "" "R28 a name of 300 characters" read "r/$(printf 'n%.0s' {1..300})"
    printf "$(printf '\\%03o' {0..255})" >"$scratch/bytes"
    put_file "$scratch/bytes" /workspace/r/r29.png
    op 0 ".encoding == \"base64\" and .content == \"$(base64 -w 0 "$scratch/bytes")\" and (has(\"start_line\") | not)" "R29 all bytes in a .png" read r/r29.png
    op 0 '.encoding == "base64" and (.content | @base64d) == "plain text\n"' "R30 the suffix decides" read r/r30.PDF
    op 0 '.encoding == "base64"' "R31 not UTF-8 at the beginning" read r/r31.txt
    { head -c 8191 /dev/zero | tr '\0' x; printf '€ end\n'; } >"$scratch/r32"
    put_file "$scratch/r32" /workspace/r/r32
    op 0 '.encoding == "utf-8" and (.content | length) == 8196 and (.content | endswith("x€ end"))' "R32 three bytes across byte 8192" read r/r32
    for i in 8189 8190 8191; do
        { head -c "$i" /dev/zero | tr '\0' x; printf '😀 end\n'; } >"$scratch/r33"
        put_file "$scratch/r33" /workspace/r/r33
        op 0 '.encoding == "utf-8" and (.content | endswith("x😀 end"))' "R33 four bytes across byte 8192, from $i" read r/r33
    done
    { seq 3000; printf 'bad \377 byte\n'; seq 3; } >"$scratch/r34"
    put_file "$scratch/r34" /workspace/r/r34
    op 0 '.encoding == "utf-8" and .lossy == true and .content == "bad � byte\n1\n2\n3"' "R34 not UTF-8 on the page" read r/r34 --offset 3000
    op 0 '(.lossy | not) and .content == "1\n2\n3\n4\n5" and .total_lines == 3004' "R35 not UTF-8 on another page" read r/r34 --limit 5
    head -c 512001 /dev/zero >"$scratch/r36.png"
    put_file "$scratch/r36.png" /workspace/r/r36.png
    error_row too_large 512000 "R36 a large .png" read r/r36.png
    head -c 512000 /dev/zero >"$scratch/r37.png"
    put_file "$scratch/r37.png" /workspace/r/r37.png
    op 0 '.encoding == "base64" and (.content | length) == 682668' "R37 a .png of just the limit" read r/r37.png
    head -c 2000000 /dev/zero | tr '\0' '\377' >"$scratch/r38.dat"
    put_file "$scratch/r38.dat" /workspace/r/r38.dat
    error_row too_large 512000 "R38 2 MB of no text" read r/r38.dat
    for i in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/zero | tr '\0' "$i"; echo; done >"$scratch/r39"
    put_file "$scratch/r39" /workspace/r/r39
    op 0 '(.content | utf8bytelength) <= 512000 and .truncated and .end_line == .next_offset and .end_line < 8 and .end_line >= 4 and .total_lines == 8' \
        "R39 the size cap" read r/r39 --limit 8
    check "R39 a note at the end" test "$("$fast_jq" '(.content | split("\n")) as $lines | .end_line as $last | ($lines[$last - 1] | length) == 100000 and ($lines[-1] | test("offset \($last)"))' <"$scratch/out")" = true
    awk 'BEGIN { for (i = 0; i < 30000; i++) printf "%d %s\n", i, substr("some text that is long enough to make pages of many sizes and then some more of it", 1, i % 83) }' >"$scratch/r40"
    put_file "$scratch/r40" /workspace/r/r40
    read_all r/r40 "$scratch/r40" "R40 page by page"
    head -c 600000 /dev/zero | tr '\0' x >"$scratch/r41"
    printf '\nsecond\n' >>"$scratch/r41"
    put_file "$scratch/r41" /workspace/r/r41
    op 0 '.truncated and .end_line == 1 and .next_offset == 1 and .line_truncated > 80000 and (.content | startswith("xxxx"))' "R41 one long line" read r/r41
    op 0 '.content == "second"' "R41 the line after it" read r/r41 --offset 1
    { printf x; for _ in {1..2000}; do printf '€%.0s' {1..100}; done; } >"$scratch/r42"
    put_file "$scratch/r42" /workspace/r/r42
    op 0 '.truncated and (.content | contains("�") | not) and (.content | utf8bytelength) <= 512000 and (.content | length) > 170000' "R42 the cap falls into a character" read r/r42
    awk 'BEGIN { for (i = 0; i < 40000; i++) print "line number", i, "with some more text" }' >"$scratch/r43"
    put_file "$scratch/r43" /workspace/r/r43
    op 0 '.next_offset == 10 and (.total_lines == null or .total_lines == 40000)' "R43 above 1 MiB, first page" read r/r43 --limit 10
    op 0 '.content == "line number 39999 with some more text" and .next_offset == null' "R43 above 1 MiB, last line" read r/r43 --offset 39999
    error_row offset_out_of_range 40000 "R43 above 1 MiB, beyond the end" read r/r43 --offset 40000
    op 0 '.content | length > 20 and startswith("Linux")' "R44 a file of size 0 with content" read /proc/version
    op 0 '.content == "\ufeffbom"' "R45 byte order mark" read r/r45
    op 0 '.content == "a\u0000b" and .encoding == "utf-8"' "R46 NUL inside" read r/r46
    op 0 '.content == "odd" and .total_lines == 1' "R47 an odd name" read 'r/it'"'"'s "$x";
name'
    error_row invalid_path traversal "R48 .." read r/../r/r01
    op 0 '.content == "dots"' "R49 two dots inside" read r/a..b.txt
    error_row invalid_path "~" "R50 ~" read '~/x'
    op 0 '.content == "1\n2\n3"' "R51 a relative path" read r/d/e/f
    op 0 '.content == "1\n2\n3"' "R52 slashes and dots" read /workspace//r/./d//e/f
    { head -c 6000 /dev/zero | tr '\0' y; echo; } >"$scratch/r53"
    put_file "$scratch/r53" /workspace/r/r53
    op 0 '.content == ("y" * 6000)' "R53 a line of 6,000 characters" read r/r53
    run -q read "${provider[@]}" --sandbox-id "$id" r/r53
    check "R53 the agent text splits it" grep -q '1\.1  y' "$scratch/out"
    error_row invalid_path "" "an empty path" read ''
}

# read_all PATH LOCAL NAME: following next_offset gives every line once
read_all() {
    local offset=0 pages=0
    : >"$scratch/pages.json"
    while [ "$offset" != null ] && [ "$pages" -lt 40 ]; do
        run --json read "${provider[@]}" --sandbox-id "$id" "$1" --offset "$offset"
        printf '%s\n' "$out" >>"$scratch/pages.json"
        [[ $out =~ \"next_offset\":([0-9]+|null) ]] || break # in a text the quotes would have backslashes
        offset=${BASH_REMATCH[1]}
        pages=$((pages + 1))
    done
    "$fast_jq" -r '.content' <"$scratch/pages.json" >"$scratch/pages"
    check "$3" cmp -s "$scratch/pages" "$2"
}

rows_write() {
    in_box 'mkdir -p w && cd w && printf old >w03 && printf old >w14 && chmod 444 w14 && mkdir dir noentry && chmod 555 noentry &&
        printf "#!/bin/sh\n" >w15 && chmod 755 w15 && printf old >target && ln -s target w16 && : >file && printf one >hard && ln hard hard2'
    write_row 0 '.path == "w/w01"' "W01 new file" w/w01 'exact\n'
    same "W01 its bytes" /workspace/w/w01 'exact\n'
    write_row 0 '.path == "w/x/y/z"' "W02 parents" w/x/y/z 'deep'
    same "W02 its bytes" /workspace/w/x/y/z 'deep'
    write_row 0 true "W03 existing file" w/w03 'new content'
    same "W03 its bytes" /workspace/w/w03 'new content'
    write_row 0 true "W04 empty content" w/w04 ''
    same "W04 its bytes" /workspace/w/w04 ''
    write_row 0 true "W05 shell characters" w/w05 '$VAR `id` "q" '"'s'"' \\\\ \t %%'
    same "W05 its bytes" /workspace/w/w05 '$VAR `id` "q" '"'s'"' \\\\ \t %%'
    write_row 0 true "W06 CRLF" w/w06 'a\r\nb\r\n'
    same "W06 its bytes" /workspace/w/w06 'a\r\nb\r\n'
    write_row 0 true "W07 newlines at the end" w/w07 'a\n\n\n'
    same "W07 its bytes" /workspace/w/w07 'a\n\n\n'
    write_row 0 true "W08 Unicode" w/w08 'grüße 😀 é'
    same "W08 its bytes" /workspace/w/w08 'grüße 😀 é'
    head -c 5000000 /dev/urandom | base64 -w 70 | head -c 5000000 >"$scratch/w09"
    input=$scratch/w09 op 0 true "W09 5 MB" write w/w09
    same_file "W09 its bytes" /workspace/w/w09 "$scratch/w09"
    write_row 0 true "W10 text in a .png" w/w10.png 'aGVsbG8='
    same "W10 its bytes" /workspace/w/w10.png 'aGVsbG8='
    write_row 1 '.error == "is_directory" and (.message | contains("w/dir"))' "W11 a directory" w/dir x
    write_row 1 '.error == "invalid_path"' "W12 a parent is a file" w/file/x x
    in_box_is "W12 the file is as it was" '[ -f w/file ] && [ ! -s w/file ]'
    denied write_row 1 '.error == "permission_denied"' "W13 a directory without permission" w/noentry/x x
    denied write_row 1 '.error == "permission_denied"' "W14 a file without permission" w/w14 x
    same "W14 unchanged" /workspace/w/w14 'old'
    write_row 0 true "W15 a script" w/w15 '#!/bin/sh\necho hi\n'
    in_box_is "W15 it is still executable" '[ -x w/w15 ] && [ "$(stat -c %a w/w15)" = 755 ]'
    write_row 0 true "W16 a link" w/w16 'through'
    in_box_is "W16 it is still a link" '[ -h w/w16 ] && [ "$(cat w/target)" = through ]'
    in_box 'mkdir -p w/links && ln -s ../not-yet w/links/w16'
    write_row 0 true "W16 a link to what is not there yet" w/links/w16 'made'
    in_box_is "W16 it is where the link leads" '[ -h w/links/w16 ] && [ "$(cat w/not-yet)" = made ]'
    write_row 0 true "W17 spaces and Unicode in the path" 'w/grüße und so/a b' x
    same "W17 its bytes" '/workspace/w/grüße und so/a b' x
    write_row 0 true "W18 repeated slashes" /workspace//w///w18 x
    same "W18 its bytes" /workspace/w/w18 x
    write_row 0 true "W19 a text that looks like an error" w/w19 'Error: something'
    same "W19 its bytes" /workspace/w/w19 'Error: something'
    write_row 0 true "a hard link" w/hard two
    in_box_is "both names have the new content" '[ "$(cat w/hard2)" = two ]'
    write_row 1 '.error == "invalid_path"' "write to .." w/../x x
    in_box_is "new files have the usual mode" '[ "$(stat -c %a w/w01)" = 644 ]'
    no_leftovers "write leaves no temporary file"
}

rows_edit() {
    in_box 'mkdir -p e && cd e && printf "one two three\n" >e01 && printf "x x x\n" >e02 && cp e02 e03 && printf "a.b*c\naxbxc\n" >e06 &&
        printf "KEY\nKEY\n" >e07 && printf "a\nb\nc\n" >e08 && printf "keep drop keep\n" >e09 && printf "once\n" >e10 && printf "x x\n" >e11 &&
        printf "text\n" >e12 && : >e14 && printf "a\r\nb\r\nc\r\n" >e15 && cp e15 e16 && cp e15 e17 && printf "a\nb\nc\n" >e18 &&
        printf "a\nb\n--\na\r\nb\r\n" >e19 && printf "x\r\ny\r\nx\r\ny\r\n" >e20 && printf "aaa" >e21 && printf "a a" >e22 &&
        printf "bad \377\n" >e23 && printf "\357\273\277first\n" >e24 && mkdir dir && printf "x\n" >e26 && chmod 000 e26 && printf "x\n" >e27 && chmod 444 e27 &&
        printf "old\n" >e28 && chmod 755 e28 && ln e28 e28b && printf "last" >e31 && printf "grüße\n" >e32 && printf "e\314\201\n" >e33 &&
        printf "a\000b c\n" >nul && printf "    indented\n" >indented'
    op 0 '.path == "e/e01" and .occurrences == 1' "E01 one occurrence" edit e/e01 --old two --new 2
    same "E01 the file" /workspace/e/e01 'one 2 three\n'
    error_row multiple_occurrences multiple "E02 three occurrences" edit e/e02 --old x --new y
    same "E02 unchanged" /workspace/e/e02 'x x x\n'
    op 0 '.occurrences == 3' "E03 replace all" edit e/e03 --old x --new y --replace-all
    same "E03 the file" /workspace/e/e03 'y y y\n'
    op 1 '.error == "multiple_occurrences" and (.message | contains("3"))' "E02 it says how many" edit e/e02 --old x --new y
    error_row string_not_found "not found" "E04 not there" edit e/e01 --old absent --new y
    error_row file_not_found "not found" "E05 missing file" edit e/missing --old x --new y
    op 0 '.occurrences == 1' "E06 regular expression characters" edit e/e06 --old 'a.b*c' --new '[x]'
    same "E06 the file" /workspace/e/e06 '[x]\naxbxc\n'
    op 0 '.occurrences == 2' "E07 replacement characters" edit e/e07 --old KEY --new '$& $1 $$ \1 \\n & \' --replace-all
    same "E07 the file" /workspace/e/e07 '$& $1 $$ \\1 \\\\n & \\\n$& $1 $$ \\1 \\\\n & \\\n'
    op 0 '.occurrences == 1' "E08 across lines" edit e/e08 --old 'a
b' --new 'A
B'
    same "E08 the file" /workspace/e/e08 'A\nB\nc\n'
    op 0 '.occurrences == 1' "E09 empty new text" edit e/e09 --old ' drop' --new ''
    same "E09 the file" /workspace/e/e09 'keep keep\n'
    op 0 '.occurrences == 1' "E10 old is new" edit e/e10 --old once --new once
    same "E10 the file" /workspace/e/e10 'once\n'
    error_row multiple_occurrences multiple "E11 old is new, twice" edit e/e11 --old x --new x
    same "E11 unchanged" /workspace/e/e11 'x x\n'
    error_row empty_old_string "" "E12 empty old text" edit e/e12 --old '' --new x
    error_row empty_old_string "" "E13 empty old text, all" edit e/e12 --old '' --new x --replace-all
    same "E13 unchanged" /workspace/e/e12 'text\n'
    op 0 '.occurrences == 1' "E14 empty old text, empty file" edit e/e14 --old '' --new 'filled\n'
    same "E14 the file" /workspace/e/e14 'filled\\n'
    edit_json 0 '.occurrences == 1' "E15 CRLF file, LF text over lines" e/e15 '{"old_string": "a\nb", "new_string": "A\nB"}'
    same "E15 the file" /workspace/e/e15 'A\r\nB\r\nc\r\n'
    op 0 '.occurrences == 1' "E16 CRLF file, one line" edit e/e16 --old b --new B
    same "E16 the file" /workspace/e/e16 'a\r\nB\r\nc\r\n'
    edit_json 0 '.occurrences == 1' "E17 CRLF file, new text with LF" e/e17 '{"old_string": "b", "new_string": "1\n2"}'
    same "E17 the file" /workspace/e/e17 'a\r\n1\n2\r\nc\r\n'
    edit_json 0 '.occurrences == 1' "E18 LF file, CRLF text" e/e18 '{"old_string": "a\r\nb", "new_string": "A\r\nB"}'
    same "E18 the file" /workspace/e/e18 'A\nB\nc\n'
    edit_json 0 '.occurrences == 1' "E19 mixed line ends" e/e19 '{"old_string": "a\nb", "new_string": "A\nB", "replace_all": true}'
    same "E19 the file" /workspace/e/e19 'A\nB\n--\na\r\nb\r\n'
    edit_json 1 '.error == "multiple_occurrences"' "E20 CRLF file, two occurrences" e/e20 '{"old_string": "x\ny", "new_string": "z"}'
    same "E20 unchanged" /workspace/e/e20 'x\r\ny\r\nx\r\ny\r\n'
    op 0 '.occurrences == 1' "E21 overlapping" edit e/e21 --old aa --new b
    same "E21 the file" /workspace/e/e21 'ba'
    op 0 '.occurrences == 2' "E22 the new text holds the old" edit e/e22 --old a --new aa --replace-all
    same "E22 the file" /workspace/e/e22 'aa aa'
    error_row not_a_text_file "" "E23 not UTF-8" edit e/e23 --old bad --new good
    same "E23 unchanged" /workspace/e/e23 'bad \377\n'
    op 0 '.occurrences == 1' "E24 byte order mark" edit e/e24 --old first --new second
    same "E24 the file" /workspace/e/e24 '\357\273\277second\n'
    error_row not_a_file "" "E25 directory" edit e/dir --old x --new y
    denied error_row permission_denied "" "E26 unreadable" edit e/e26 --old x --new y
    denied error_row permission_denied "" "E27 read-only" edit e/e27 --old x --new y
    same "E27 unchanged" /workspace/e/e27 'x\n'
    op 0 '.occurrences == 1' "E28 mode and hard link" edit e/e28 --old old --new new
    in_box_is "E28 both are kept" '[ "$(cat e/e28b)" = new ] && [ "$(stat -c %a e/e28)" = 755 ] && [ "$(stat -c %h e/e28)" = 2 ]'
    head -c 60000 /dev/zero | tr '\0' o >"$scratch/old"
    head -c 60000 /dev/zero | tr '\0' n >"$scratch/new"
    { printf 'before '; cat "$scratch/old"; printf ' after\n'; } >"$scratch/e29"
    put_file "$scratch/e29" /workspace/e/e29
    "$fast_jq" -n --rawfile old "$scratch/old" --rawfile new "$scratch/new" '{old_string: $old, new_string: $new}' >"$scratch/stdin"
    input=$scratch/stdin op 0 '.occurrences == 1' "E29 long texts" edit e/e29
    { printf 'before '; cat "$scratch/new"; printf ' after\n'; } >"$scratch/wanted"
    same_file "E29 the file" /workspace/e/e29 "$scratch/wanted"
    input=$scratch/stdin op 1 '.error == "string_not_found" and (.message | length < 2000)' "E30 a failed large edit" edit e/e29
    no_leftovers "E30 no temporary file is left"
    in_box_is "E30 and nothing else in /tmp" '[ -z "$(find /tmp -mindepth 1 -newer e/e01 ! -name only-here ! -path "$PWD/e" ! -path "$PWD/e/*" '"$ours"')" ]'
    error_row string_not_found "newline" "E31 a final newline too many" edit e/e31 --old 'last
' --new x
    op 0 '.occurrences == 1' "E32 Unicode" edit e/e32 --old grüße --new 'größe 😀'
    same "E32 the file" /workspace/e/e32 'größe 😀\n'
    error_row string_not_found "not found" "E33 composed and decomposed" edit e/e33 --old é --new x
    same "E33 unchanged" /workspace/e/e33 'e\314\201\n'
    { seq 200000; echo MIDDLE; seq 200000; } >"$scratch/e34"
    put_file "$scratch/e34" /workspace/e/e34
    op 0 '.occurrences == 1' "E34 3 MB" edit e/e34 --old MIDDLE --new CENTRE
    sed 's/MIDDLE/CENTRE/' "$scratch/e34" >"$scratch/wanted"
    same_file "E34 the file" /workspace/e/e34 "$scratch/wanted"
    awk 'BEGIN { for (i = 0; i < 20000; i++) print "word and more" }' >"$scratch/many"
    put_file "$scratch/many" /workspace/e/many
    op 0 '.occurrences == 20000' "20,000 occurrences" edit e/many --old word --new term --replace-all
    sed 's/word/term/' "$scratch/many" >"$scratch/wanted"
    same_file "20,000 occurrences, the file" /workspace/e/many "$scratch/wanted"
    op 0 '.occurrences == 1' "a NUL in the file" edit e/nul --old ' c' --new ' d'
    same "a NUL in the file, after" /workspace/e/nul 'a\000b d\n'
    error_row string_not_found "indent" "other indentation" edit e/indented --old '	indented' --new x
    error_row multiple_occurrences "lines" "the lines of the occurrences are told" edit e/e20 --old x --new y
    no_leftovers "edit leaves no temporary file"
}

rows_list() {
    in_box 'mkdir -p l/sub l/empty l/hidden l/odd l/links && cd l && printf 12345 >b && : >a && mkdir locked && chmod 000 locked && : >hidden/.x && : >hidden/y &&
        ln -s ../sub links/dir && ln -s ../b links/file && ln -s nowhere links/broken &&
        : >"odd/with space" && : >"odd/quote'"'"'\"" && : >"odd/tab	x" && : >"odd/new
line" && : >"odd/[x]*?" && : >"odd/grüße" && : >"odd/-dash" && touch -d "2026-01-02 03:04:05" b && mkdir many && cd many && seq 5000 | xargs touch'
    op 0 '[.entries[] | [.path, .is_dir]] == [["/workspace/l/a",false],["/workspace/l/b",false],["/workspace/l/empty",true],["/workspace/l/hidden",true],["/workspace/l/links",true],["/workspace/l/locked",true],["/workspace/l/many",true],["/workspace/l/odd",true],["/workspace/l/sub",true]]' \
        "L01 files and directories" ls l
    cp "$scratch/out" "$scratch/l01"
    op 0 '.entries == []' "L02 empty directory" ls l/empty
    error_row path_not_found "not found" "L03 missing" ls l/missing
    error_row not_a_directory "" "L04 a file" ls l/a
    denied error_row permission_denied "" "L05 unreadable" ls l/locked
    op 0 '[.entries[].path] == ["/workspace/l/hidden/.x", "/workspace/l/hidden/y"]' "L06 hidden names" ls l/hidden
    "$fast_jq" -c '[.entries[].path]' <"$scratch/l01" >"$scratch/wanted"
    op 0 "[.entries[].path] == $(cat "$scratch/wanted")" "L07 trailing slash" ls /workspace/l/
    op 0 "[.entries[].path] == $(cat "$scratch/wanted")" "L07 trailing slashes, relative" ls l//
    op 0 '[.entries[] | [(.path | split("/")[-1]), .is_dir, .is_symlink]] == [["broken",false,true],["dir",true,true],["file",false,true]]' "L08 links" ls l/links
    op 0 '([.entries[].path | split("/")[-1]] | sort) == (["with space", "quote'"'"'\"", "tab\tx", "new\nline", "[x]*?", "grüße", "-dash"] | sort)' \
        "L09 odd names" ls l/odd
    op 0 '(.entries | length) == 5000 and .entries[0].path == "/workspace/l/many/1"' "L10 5,000 entries" ls l/many
    op 0 '.entries[] | select(.path == "/workspace/l/b") | .size == 5 and .modified_at == "2026-01-02T03:04:05Z"' "L11 size and time" ls l
    op 0 '[.entries[].path] | index("/tmp") != null and all(startswith("//") | not)' "L12 the root" ls /
    in_box 'mkdir -p l/bytes && cd l/bytes && : >"$(printf "bad\377name")" && : >good'
    op 0 '(.entries | length) == 2 and .entries[0].path == "/workspace/l/bytes/bad�name" and (.entries[0].path_base64 | length) > 0 and .entries[1].path == "/workspace/l/bytes/good" and (.entries[1] | has("path_base64") | not)' \
        "L13 a name that is not UTF-8" ls l/bytes
    op 0 '[.entries[].path] | index("/workspace/l") != null' "the working directory" ls
    run -q ls "${provider[@]}" --sandbox-id "$id" l
    check "the agent text marks directories" grep -qx "$workspace/l/sub/" "$scratch/out"
}

rows_grep() {
    in_box 'mkdir -p g/src/deep g/.hid && cd g && printf "needle one\nother\n  needle two" >a.py && printf "needle\n" >src/b.py && printf "needle\n" >src/deep/c.py &&
        printf "needle\n" >d.md && printf "needle\n" >.hid/e.py && printf "needle\n" >.f.py && printf "a.b(c)\naxbxcx\n" >regex && printf "Needle\n" >case &&
        printf "x:needle:y\n" >"colon:name" && printf "needle\n" >"new
line" && printf "needle\000\n" >binary && printf "bad \377 needle\n" >latin && printf "crlf needle\r\n" >crlf && printf "tail needle" >t1 &&
        printf "tail needle" >t2 && printf -- "-dash text\n" >dash && printf "it'"'"'s \"\$x\" \\\\n\n" >quotes && printf "größe\n" >unicode &&
        printf "needle\n" >locked && chmod 000 locked && ln -s a.py link && ln -s .. loop && awk "BEGIN { for (i = 0; i < 20000; i++) print \"many lines\" }" >many'
    op 0 '[.matches[] | select(.path == "/workspace/g/a.py" or .path == "/workspace/g/src/b.py") | [.path, .line, .text]] == [["/workspace/g/a.py",1,"needle one"],["/workspace/g/a.py",3,"  needle two"],["/workspace/g/src/b.py",1,"needle"]] and .truncated == false' \
        "G01 in two files" grep needle g
    check "G01 by path and line" test "$("$fast_jq" -c '[.matches[] | [.path, .line]] | . == (sort_by(.[0] | explode))' <"$scratch/out")" = true
    check "G26 links are not followed" test "$("$fast_jq" '[.matches[] | select(.path | test("link|loop"))] | length' <"$scratch/out")" = 0
    denied check "G27 an unreadable file" test "$("$fast_jq" '[.matches[] | select(.path | test("locked"))] | length' <"$scratch/out")" = 0
    check "G16 a binary file" test "$("$fast_jq" '[.matches[] | select(.path | test("binary"))] | length' <"$scratch/out")" = 0
    check "G08 hidden files" test "$("$fast_jq" '[.matches[] | select(.path | test("/[.](hid|f)"))] | length' <"$scratch/out")" = 2
    check "G14 colons" test "$("$fast_jq" -c '[.matches[] | select(.path | test("colon")) | [.path, .line, .text]]' <"$scratch/out")" = "[[\"$workspace/g/colon:name\",1,\"x:needle:y\"]]"
    check "G15 a newline in the name" test "$("$fast_jq" -c '[.matches[] | select(.path | test("new")) | [.path, .line, .text]]' <"$scratch/out")" = "[[\"$workspace/g/new\\nline\",1,\"needle\"]]"
    check "G17 a line that is not UTF-8" test "$("$fast_jq" -r '.matches[] | select(.path | test("latin")) | .text' <"$scratch/out")" = 'bad � needle'
    check "G18 a CRLF line" test "$("$fast_jq" -c '[.matches[] | select(.path | test("crlf")) | .text]' <"$scratch/out")" = '["crlf needle"]'
    check "G19 last lines without newline" test "$("$fast_jq" -c '[.matches[] | select(.path | test("/t[12]$")) | .text]' <"$scratch/out")" = '["tail needle","tail needle"]'
    op 0 '[.matches[].text] == ["a.b(c)"]' "G02 regular expression characters" grep 'a.b(c)' g
    op 0 '[.matches[].text] == ["Needle"]' "G03 case" grep Needle g
    op 0 '.matches == [] and .truncated == false' "G04 no match" grep absent-text g
    error_row path_not_found "not found" "G05 missing path" grep needle g/missing
    op 0 '[.matches[].path] == ["/workspace/g/d.md"]' "G06 one file" grep needle g/d.md
    op 0 '[.matches[].path] == ["/workspace/g/d.md"]' "G07 one file, other glob" grep needle g/d.md --glob '*.py'
    op 0 '[.matches[].path] | unique == ["/workspace/g/.hid/e.py","/workspace/g/a.py","/workspace/g/src/b.py","/workspace/g/src/deep/c.py"]' "G09 glob of base names" grep needle g --glob '*.py'
    op 0 '[.matches[].path] == ["/workspace/g/src/b.py","/workspace/g/src/deep/c.py"]' "G10 glob with directories" grep needle g --glob 'src/**/*.py'
    op 0 '[.matches[].path] | unique == ["/workspace/g/a.py"]' "G11 anchored glob" grep needle g --glob '/*.py'
    op 0 '[.matches[].path] | unique | length == 5' "G12 braces" grep needle g --glob '*.{py,md}'
    error_row invalid_pattern "" "G13 .. in the glob" grep needle g --glob '../*'
    op 0 '(.matches | length) == 2 and .truncated == true' "G20 max_count" grep needle g --max-count 2
    op 0 '(.matches | length) == 2 and .truncated == false' "G21 max_count that fits" grep needle g/a.py --max-count 2
    op 0 '[.matches[].text] == ["-dash text"]' "G22 a leading dash" grep "${provider[@]}" -- -dash g/dash
    op 0 '(.matches | length) == 1' "G23 quotes" grep 'it'"'"'s "$x" \n' g
    error_row invalid_pattern "" "G24 a newline" grep 'a
b' g
    op 0 '[.matches[].text] == ["größe"]' "G25 Unicode" grep größ g
    op 0 '[.matches[].path] | index("/workspace/g/d.md") != null' "G28 no path" grep needle
    op 0 '(.matches | length) == 20000 and .truncated == false' "G29 20,000 lines" grep 'many lines' g
    op 0 '(.matches | length) == 2' "an empty text matches every line" grep '' g/regex
    op 0 '[.matches[].path] | unique == ["/workspace/g/loop/g/a.py"]' "the path itself may be a link" grep needle g/loop/g/a.py
}

rows_glob() {
    in_box 'mkdir -p b/sub/nested b/.hidden/nested b/.github/workflows c d && cd b && : >a.py && : >sub/b.py && : >sub/nested/c.py && : >readme.md && : >.hidden.py &&
        : >.hidden/x.py && : >.hidden/nested/y.py && : >.github/workflows/ci.yml && cd ../c && : >"{p}.q" && : >"{x}a.q" && : >"{x}b.q" && : >probe.q && : >Upper.q &&
        cd ../d && mkdir in locked many && : >in/real && ln -s in/real inside && ln -s ../c/probe.q outside && ln -s nowhere broken && ln -s in dirlink &&
        : >"with space.o" && : >"qu'"'"'ote.o" && : >"new
line.o" && : >"grüße.o" && : >locked/x.o && chmod 000 locked && cd many && seq 10050 | sed s/$/.m/ | xargs touch'
    glob_row B01 '*.py' .hidden/nested/y.py .hidden/x.py a.py sub/b.py sub/nested/c.py
    glob_row B02 '**/*.py' a.py sub/b.py sub/nested/c.py
    glob_row B03 '/*.py' a.py
    glob_row B04 'sub/*.py' sub/b.py
    glob_row B05 'sub/**/*.py' sub/b.py sub/nested/c.py
    glob_row B06 'a.py/**'
    glob_row B07 '*.yml' .github/workflows/ci.yml
    glob_row B08 '**/*.yml'
    glob_row B09 '.github/**/*.yml' .github/workflows/ci.yml
    glob_row B10 '.*.py' .hidden.py
    glob_row B11 '.hidden/*.py' .hidden/x.py
    glob_row B12 '.hidden/**/*.py' .hidden/nested/y.py .hidden/x.py
    glob_row B13 '*.{py,md}' .hidden/nested/y.py .hidden/x.py a.py readme.md sub/b.py sub/nested/c.py
    glob_row B14 '{a,{b,c}}.py' a.py sub/b.py sub/nested/c.py
    glob_row B15 '?.py' .hidden/nested/y.py .hidden/x.py a.py sub/b.py sub/nested/c.py
    glob_row B16 '[ab].py' a.py sub/b.py
    glob_row B17 '[!a].py' .hidden/nested/y.py .hidden/x.py sub/b.py sub/nested/c.py
    glob_row B18 '[^a].py' .hidden/nested/y.py .hidden/x.py sub/b.py sub/nested/c.py
    glob_row B19 'sub/'
    glob_row B20 'sub//b.py' sub/b.py
    glob_row B21 '*.{py'
    glob_row B22 '['
    glob_row B23 '*' .github/workflows/ci.yml .hidden/nested/y.py .hidden/x.py a.py readme.md sub/b.py sub/nested/c.py
    op 0 '[.matches[] | [.path, .is_dir]] == [["/workspace/b/a.py",false],["/workspace/b/sub/b.py",false]] and .truncated == false' "B24 absolute, sorted" glob '[ab].py' b
    op 0 '[.matches[] | select(.is_dir) | .path] == ["/workspace/b/.github/workflows","/workspace/b/.hidden/nested","/workspace/b/sub","/workspace/b/sub/nested"]' \
        "B25 directories too" glob '*' b --dirs
    error_row path_not_found "not found" "B26 missing path" glob '*' b/missing
    error_row not_a_directory "" "B27 a file" glob '*' b/a.py
    denied error_row permission_denied "" "B28 unreadable path" glob '*' d/locked
    denied op 0 '(.matches | length) == 4 and .truncated == true' "B29 unreadable directory below" glob '*.o' d
    $as_root && op 0 '(.matches | length) == 5 and .truncated == false' "B29 a directory that root can read" glob '*.o' d
    check "B40 odd names" test "$("$fast_jq" -c '[.matches[].path | select(contains("locked") | not) | split("/")[-1]] | sort' <"$scratch/out")" = '["grüße.o","new\nline.o","qu'"'"'ote.o","with space.o"]'
    error_row invalid_pattern "" "B30 .." glob '../*' b
    error_row pattern_too_broad "" "B31 too many alternatives" glob '{a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b,c,d}' b
    in_box 'p=hard; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do p=$p/d; done; mkdir -p $p && : >$p/a && : >$p/x'
    op 0 '[.matches[].path | endswith("/d/x")] == [true]' "B32 a hard pattern" glob '**/*/**/*/**/*/**/*/**/*/**/x' hard
    op 0 '.matches == []' "B32 one that never matches" glob '**/*/**/*/**/*/**/*/**/*/**/nothing' hard
    op 0 '[.matches[] | [.path, .is_dir]] == [["/workspace/d/inside",false]]' "B33 a link inside" glob 'inside' d
    op 0 '.matches == []' "B34 links that lead outside or nowhere" glob '{outside,broken}' d
    op 0 '[.matches[].path] == ["/workspace/d/in/real"]' "B35 a link to a directory" glob 'real' d
    op 0 '[.matches[].path] | index("/workspace/b/a.py") != null' "B36 no path" glob a.py
    op 0 '[.matches[].path] == ["/workspace/b/readme.md"]' "B37 from the root" glob '/workspace/**/readme.md' /
    op 0 '.matches == []' "B37 what the system shows of itself is not entered" glob '/{proc,sys,dev}/{version,kernel/*,null}' /
    op 0 '[.matches[].path] | index("/proc") != null and index("/tmp") != null and all(test("^/[^/]*$"))' "B37 but told" glob '/*' / --dirs
    op 0 '[.matches[].path] | index("/proc/version") != null' "B37 unless the search starts there" glob 'version' /proc
    op 0 '(.matches | length) == 10000 and .truncated == true' "B38 10,050 files" glob '*.m' d/many
    op 0 '.matches == []' "B39 case" glob 'upper.q' c
    op 0 '[.matches[].path] == ["/workspace/c/Upper.q"]' "B39 the right case" glob 'Upper.q' c
    op 0 '[.matches[].path] == ["/workspace/c/{p}.q"]' "B41 a group of one" glob '{p}.q' c
    op 0 '[.matches[].path] == ["/workspace/c/{x}a.q","/workspace/c/{x}b.q"]' "B41 and one that expands" glob '{x}{a,b}.q' c
    op 0 '[.matches[].path] == ["/workspace/c/probe.q"]' "B42 empty alternatives" glob '{a,}{a,}probe.q' c
}

# glob_row ID PATTERN PATH...: just these below /workspace/b
glob_row() {
    local name="$1 $2" pattern=$2
    shift 2
    local wanted
    wanted=$(printf '%s\n' "$@" | "$fast_jq" -Rcn '[inputs | select(length > 0) | "/workspace/b/" + .]')
    op 0 "[.matches[].path] == $wanted" "$name" glob "$pattern" b
}

rows_delete() {
    in_box 'mkdir -p x/tree/deep x/kept x/locked && cd x && : >d01 && : >tree/deep/file && ln -s nowhere d04 && : >kept/file && ln -s kept d05 && : >locked/file &&
        chmod 555 locked && : >"-rf" && : >"a b" && : >"q'"'"'uote"'
    op 0 '.path == "x/d01"' "D01 a file" rm x/d01
    op 0 '.path == "x/tree"' "D02 a directory with content" rm x/tree
    error_row file_not_found "not found" "D03 missing" rm x/d01
    op 0 '.path == "x/d04"' "D04 a broken link" rm x/d04
    op 0 '.path == "x/d05"' "D05 a link to a directory" rm x/d05
    denied error_row permission_denied "" "D06 no permission" rm x/locked/file
    denied op 1 '.error == "permission_denied" and (.message | contains("x/locked"))' "D06 a tree" rm x/locked
    op 0 true "D07 a leading dash" rm "${provider[@]}" -- x/-rf
    op 0 true "D07 a space" rm 'x/a b'
    op 0 true "D07 a quote" rm "x/q'uote"
    in_box_is "D01 to D07 what is gone and what is not" \
        'cd x && [ ! -e d01 ] && [ ! -e tree ] && [ ! -h d04 ] && [ ! -h d05 ] && [ -e kept/file ] && [ -e locked/file ] && [ "$(ls -A | wc -l)" = 2 ]'
    error_row invalid_path "" "D08 the root" rm /
    error_row invalid_path "" "D08 the root, spelt otherwise" rm /./
    error_row invalid_path "" "D08 .." rm x/../x
    error_row invalid_path "" "the working directory" rm /workspace
    in_box 'ln -s kept/file x/linked && ln -s /workspace x/here && ln -s "$(dirname /workspace)" x/above'
    error_row invalid_path "working directory" "the working directory, by way of a link" rm "x/above/${workspace##*/}"
    op 0 '[.matches[].path] == ["/workspace/x/above/'"${workspace##*/}"'/x/linked"]' "a link inside what is searched by way of a link" \
        glob linked "x/above/${workspace##*/}/x"
    in_box_is "all that is in it is still there" '[ -e x/kept/file ]'
    [ "$way" = cloud ] || error_row permission_denied "" "a mount, by way of a link" rm x/above/tmp
    op 0 '.path == "x/here"' "a link to it" rm x/here
    op 0 '.path == "x/above"' "a link to what holds it" rm x/above
    [ "$way" = cloud ] || error_row permission_denied "" "a mount" rm /tmp
    in_box_is "which is still there" '[ -d /tmp ] && [ -d /workspace ]'
    # A box that shows this machine's system: its "/" takes new entries, and keeps those of the system.
    case "$way ${making[*]}" in *rootfs=*) return ;; native* | gnu* | text*) ;; *) return ;; esac
    put /large_tool_results/one 'kept\n'
    put /at_the_top 'too\n'
    same "a new folder in the root" /large_tool_results/one 'kept\n'
    op 0 '[.entries[].path] | contains(["/at_the_top", "/large_tool_results", "/usr"])' "it lists the new and the old" ls /
    for each in /large_tool_results /at_the_top; do op 0 true "$each can be removed" rm "$each"; done
    for each in /bin /etc /proc; do error_row permission_denied "" "$each cannot" rm "$each"; done
    in_box_is "what lists it takes no link of the system for a file" '[ -z "$(find / -maxdepth 1 -type f)" ]'
    in_box_is "and all that is the system's is there" '[ -L /bin ] && [ -f /etc/passwd ] && [ -L /var/tmp ] && [ -d /mnt ] && [ -d /proc/self ] && [ ! -e /at_the_top ]'
    for each in /etc/new /bin/new; do op 1 '.error == "permission_denied"' "nothing new in ${each%/new}" upload "$scratch/put" "$each"; done
}

rows_transfer() {
    mkdir -p "$scratch/t"
    printf "$(printf '\\%03o' {0..255})" >"$scratch/t/bytes"
    head -c 10485760 /dev/urandom >"$scratch/t/large"
    : >"$scratch/t/empty"
    printf one >"$scratch/t/one"
    printf two >"$scratch/t/two"
    in_box 'mkdir -p t/dir t/locked && chmod 555 t/locked && : >t/secret && chmod 000 t/secret && printf old >t/kept && chmod 750 t/kept'
    transfer_row T01 bytes /workspace/t/bytes
    transfer_row T02 large /workspace/t/large
    in_box_is "T02 the size inside" '[ "$(stat -c %s t/large)" = 10485760 ]'
    op 0 '[.results[] | [.path, .error, .bytes]] == [["/workspace/t/1",null,3],["/workspace/t/2",null,3],["/workspace/t/3",null,0]]' "T03 three files up" \
        upload "$scratch/t/one" /workspace/t/1 "$scratch/t/two" /workspace/t/2 "$scratch/t/empty" /workspace/t/3
    op 0 '[.results[].path] == ["/workspace/t/3","/workspace/t/1"]' "T03 in the order given, down" \
        download /workspace/t/3 "$scratch/t/3" /workspace/t/1 "$scratch/t/1"
    op 1 '.results[0].error == "file_not_found" and .error == "file_not_found"' "T04 a missing file" download /workspace/t/missing "$scratch/t/x"
    printf old >"$scratch/t/there"
    op 1 '.results[0].error == "file_not_found"' "T04 onto a local file" download /workspace/t/missing "$scratch/t/there"
    check "T04 nothing appears" test ! -e "$scratch/t/x" -a "$(cat "$scratch/t/there")" = old
    op 1 '.results[0].error == "is_directory"' "T05 a directory" download /workspace/t/dir "$scratch/t/x"
    denied op 1 '.results[0].error == "permission_denied"' "T06 no permission" download /workspace/t/secret "$scratch/t/x"
    op 0 '.results[0].path == "/workspace/t/relative"' "T07 a relative path up" upload "$scratch/t/one" t/relative
    op 0 '.results[0].path == "/workspace/t/relative"' "T07 a relative path down" download t/relative "$scratch/t/r"
    check "T07 the same" cmp "$scratch/t/one" "$scratch/t/r"
    op 1 '[.results[].error] == [null,"invalid_path",null]' "T08 one bad among good" \
        upload "$scratch/t/one" /workspace/t/g1 "$scratch/t/one" ../outside "$scratch/t/two" /workspace/t/g2
    same "T08 the good one before" /workspace/t/g1 one
    same "T08 the good one after" /workspace/t/g2 two
    op 1 '[.results[].error] == [null,"file_not_found",null]' "T08 down" \
        download /workspace/t/g1 "$scratch/t/g1" /workspace/t/missing "$scratch/t/x" /workspace/t/g2 "$scratch/t/g2"
    check "T08 down, the good ones" test "$(cat "$scratch/t/g1" "$scratch/t/g2")" = onetwo
    in_box_is "T08 the bad one was not moved" '[ ! -e ../outside ] && [ ! -e outside ]'
    transfer_row T09 one /workspace/t/new/parents/file
    op 0 '.results | length == 1 and .[0].path == "/workspace/t/dir/one"' "T10 into a directory" upload "$scratch/t/one" /workspace/t/dir
    op 1 '[.results[] | [.path, .error]] == [["/workspace/t/dir/one",null],["/workspace/t/g3",null],["/workspace/t/g4","file_not_found"],["/workspace/t/dir/two",null]]' \
        "T10 the results stay in the order given" \
        upload "$scratch/t/one" /workspace/t/dir "$scratch/t/two" /workspace/t/g3 "$scratch/t/missing" /workspace/t/g4 "$scratch/t/two" /workspace/t/dir
    same "T10 under its name" /workspace/t/dir/one one
    denied op 1 '.results[0].error == "permission_denied"' "T11 into a directory without permission" upload "$scratch/t/one" /workspace/t/locked/x
    transfer_row T12 empty /workspace/t/empty
    op 0 '(.results | length) == 2' "T13 the same path twice" upload "$scratch/t/one" /workspace/t/twice "$scratch/t/two" /workspace/t/twice
    same "T13 the last one wins" /workspace/t/twice two
    transfer_row T14 one "/workspace/t/grüße und 'so' \"x\""
    if [ -z "${utf8_names:-}" ]; then # else it knows no others, and says so
        op 0 '.results[0].error == null' "T15 a name that is not UTF-8" upload "$scratch/t/one" $'/workspace/t/odd\377/odd\376'
        in_box_is "T15 the file has that name" '[ "$(cat "$(printf "t/odd\377/odd\376")")" = one ]'
        same_file "T15 down" $'/workspace/t/odd\377/odd\376' "$scratch/t/one"
    fi
    op 0 true "an existing file" upload "$scratch/t/two" /workspace/t/kept
    in_box_is "it keeps its mode" '[ "$(stat -c %a t/kept)" = 750 ] && [ "$(cat t/kept)" = two ]'
    in_box_is "a new file has the usual one" '[ "$(stat -c %a t/1)" = 644 ]'
    mkdir -p "$scratch/t/tree/sub/empty"
    printf 'x\n' >"$scratch/t/tree/sub/file"
    printf '#!/bin/sh\n' >"$scratch/t/tree/run"
    chmod 755 "$scratch/t/tree/run"
    op 0 '[.results[].error] | all(. == null)' "a folder up" upload -r "$scratch/t/tree" /workspace/t/tree
    in_box_is "a folder up, as it is inside" '[ -x t/tree/run ] && [ -d t/tree/sub/empty ] && [ "$(cat t/tree/sub/file)" = x ]'
    op 0 '[.results[].error] | all(. == null)' "a folder down" download -r /workspace/t/tree "$scratch/t/back"
    check "a folder down is the same" diff -r "$scratch/t/tree" "$scratch/t/back"
    op 1 '.results[0].error == "is_directory"' "a folder without -r" upload "$scratch/t/tree" /workspace/t/tree2
    input=$scratch/t/one op 0 '.results[0].bytes == 3' "from standard input" upload - /workspace/t/stdin
    expect "to standard output" 0 one "*" -q download "${provider[@]}" --sandbox-id "$id" "$workspace/t/stdin" -
    no_leftovers "transfers leave no temporary file"
}

# transfer_row ID LOCAL REMOTE: up and down again, identical
transfer_row() {
    local size
    size=$(stat -c %s "$scratch/t/$2")
    op 0 ".results == [{path: .results[0].path, error: null, bytes: $size}]" "$1 up" upload "$scratch/t/$2" "$3"
    same_file "$1 down" "$3" "$scratch/t/$2"
}

rows_lifecycle() {
    local second
    json "S01 the new sandbox is listed" 0 "[.sandboxes[].id] | index(\"$id\") != null" list "${provider[@]}"
    second=$("$SANDLOT" -q create "${provider[@]}" "${making[@]}" </dev/null)
    printf secret | "$SANDLOT" -q write "${provider[@]}" --sandbox-id "$second" /tmp/only-here >/dev/null
    error_row file_not_found "not found" "S04 two sandboxes" read /tmp/only-here
    json "S02 delete" 0 '.deleted' delete "${provider[@]}" "$second"
    json "S02 delete again" 0 '.deleted' delete "${provider[@]}" "$second"
    json "S03 exec on a deleted sandbox" 3 '.error == "sandbox_not_found"' exec "${provider[@]}" --sandbox-id "$second" -- true
    json "S03 read on a deleted sandbox" 3 '.error == "sandbox_not_found"' read "${provider[@]}" --sandbox-id "$second" /etc/hostname
    usage "S05 unknown provider" "local" ls --sandbox no-such-provider
}

# rows_run GROUP...: makes the sandbox, runs the groups, deletes it
rows_run() {
    local group
    id=$("$SANDLOT" -q create "${provider[@]}" "${making[@]}" 2>"$scratch/create.err" </dev/null)
    if [ -z "$id" ]; then
        not_ok "a sandbox" "$(cat "$scratch/create.err")"
        return
    fi
    for group in "$@"; do together "rows_$group"; done
    "$SANDLOT" -q delete "${provider[@]}" "$id" >/dev/null
}
