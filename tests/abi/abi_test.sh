#!/bin/bash
# The promise of the two public headers: what was built with an earlier one works with today's Sandlot, what is built with a later one
# works as far as both know, and what cannot work is refused with a reason. See README.md here.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh sets status, out, err and the folders, and shows them
umask 022 # or the libraries would be refused
. "$(dirname "$0")/../cli/lib.sh"

flags=$(head -n 1 "$BUILD/flags") || exit 2
compiler=${CC:-${flags%% *}}
sanitizers=
case $flags in *-fsanitize=address*) sanitizers=-fsanitize=address,undefined ;; esac
first=tests/abi/1.0
later=$scratch/later # headers
next=$scratch/next
build=$scratch/built
boxes=$scratch/boxes
mkdir -p "$later" "$next" "$build" "$boxes" "$scratch/search"
export FIRST_FOLDER=$boxes SANDLOT_PLUGIN_PATH=$scratch/search

# compile NAME OUTPUT ARGUMENT...: with warnings as errors, but for fields that a header of ABI 1.7 adds to its own macros.
compile() {
    local name=$1 output=$2
    shift 2
    if "$compiler" -std=c11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers \
        -o "$output" "$@" >"$scratch/out" 2>"$scratch/err"; then ok "$name"; else
        not_ok "$name" "$(cat "$scratch/err")"
        return 1
    fi
}
# As a vendor does, whatever this Sandlot was built with.
plugin() { compile "$1" "$2" -fPIC -fvisibility=hidden -shared "${@:3}"; }

# isolate ISOLATION NAME...
isolate() {
    local isolation=$1 name
    shift
    for name; do printf '[sandboxes.providers.%s]\nisolation = "%s"\n' "$name" "$isolation"; done >"$config"
}

no_boxes() { [ -z "$(ls -A "$boxes")" ]; }

# ---- the layout ----
both_headers() { # HEADER COMPILER...
    local header=$1 folder
    shift
    for folder in include "$first"; do
        "$@" -std=c11 -D_GNU_SOURCE -Wall -Werror -fsyntax-only -I"$folder" "tests/abi/layout_$header.c" || return 1
    done
}
for header in provider sandlot; do
    check "$header.h has the layout that was released" both_headers "$header" "$compiler"
    if ! command -v clang >/dev/null; then
        echo "ok $header.h has it on AArch64 # SKIP clang is not installed"
    elif [ -d /usr/include/x86_64-linux-gnu ]; then
        # No libc of that machine is needed for sizes; this one's headers only have to believe in 64 bits.
        check "$header.h has it on AArch64" both_headers "$header" clang -target aarch64-linux-gnu -D__x86_64__ \
            -isystem /usr/include/x86_64-linux-gnu
    else
        echo "ok $header.h has it on AArch64 # SKIP this machine has no headers at the place for x86-64"
    fi
done
# The guard must notice: a field in the middle, a type, a number, and a field at the end without a new minor version.
notices() { # NAME SED
    mkdir -p "$scratch/changed/sandlot"
    sed "$2" include/sandlot/provider.h >"$scratch/changed/sandlot/provider.h"
    ! cmp -s include/sandlot/provider.h "$scratch/changed/sandlot/provider.h" &&
        ! "$compiler" -std=c11 -D_GNU_SOURCE -fsyntax-only -I"$scratch/changed" tests/abi/layout_provider.c 2>"$scratch/err" &&
        grep -q "static assertion failed: \"$1" "$scratch/err"
}
case $compiler in
    *gcc*)
        check "the guard notices a field in the middle" notices "struct sandlot_create: snapshot has moved" \
            's/^    const char \*snapshot; .*/    const char *sneaked_in;\n&/'
        check "another type" notices "struct sandlot_sink: write has another type" \
            's/(\*write)(const struct sandlot_sink \*sink, const void \*bytes, size_t length)/(*write)(const struct sandlot_sink *sink, const void *bytes)/'
        check "another number" notices "SANDLOT_CANCELLED has another value" 's/SANDLOT_CANCELLED = 7/SANDLOT_CANCELLED = 17/'
        check "an array's element that grows" notices "struct sandlot_file may never grow" \
            's/^    const struct sandlot_sink \*sink; .*/&\n    uint64_t sneaked_in;/'
        if grep -qx '#define SANDLOT_ABI_MINOR 0' include/sandlot/provider.h; then
            check "a new field without a new minor version" notices "struct sandlot_exit has another size" \
                '/^struct sandlot_exit {/,/^};/s/^};/    uint64_t sneaked_in;\n};/'
        fi ;;
    *) echo "ok the guard notices changes # SKIP its messages are read in gcc's words, and this is $compiler" ;;
esac

# ---- built for 1.0, used by today's host ----
for name in first_minimal first_parameters first_everything; do
    plugin "$name builds with the header of 1.0" "$build/$name.so" -I"$first" "$first/$name.c" || exit 1
done

# uses_files NAME OPTION...: everything that the command line does with files.
uses_files() {
    local name=$1 options=("${@:2}") id
    run create "${options[@]}"
    id=$out
    options+=(--sandbox-id "$id")
    check "$name: create" test "$status" = 0 -a -d "$boxes/$id/files"
    expect "$name: attach" 0 "$boxes/$id/files" "*" exec "${options[@]}" -- pwd
    printf 'one\ntwo\n' >"$scratch/text"
    head -c 300000 /dev/urandom >"$scratch/bytes"
    input=$scratch/text expect "$name: write" 0 "*" "*" write "${options[@]}" folder/text.txt
    expect "$name: edit" 0 "*" "*" edit "${options[@]}" folder/text.txt --old two --new three
    json "$name: read" 0 '.content == "one\nthree"' read "${options[@]}" folder/text.txt
    expect "$name: ls" 0 "$boxes/$id/files/folder/" "*" ls "${options[@]}"
    expect "$name: glob" 0 "$boxes/$id/files/folder/text.txt" "*" glob "${options[@]}" "*.txt"
    expect "$name: grep" 0 "$boxes/$id/files/folder/text.txt:
  2: three" "*" grep "${options[@]}" three
    expect "$name: upload" 0 "*" "*" upload "${options[@]}" "$scratch/bytes" "$boxes/$id/files/bytes"
    check "$name: what was uploaded is the same" cmp "$scratch/bytes" "$boxes/$id/files/bytes"
    expect "$name: download" 0 "*" "*" download "${options[@]}" "$boxes/$id/files/bytes" "$scratch/back"
    check "$name: what was downloaded is the same" cmp "$scratch/bytes" "$scratch/back"
    expect "$name: rm" 0 "*" "*" rm "${options[@]}" folder
    expect "$name: delete" 0 "*" "*" delete "${options[@]:0:2}" "$id"
    check "$name: it is gone" test ! -e "$boxes/$id"
    rm -f "$scratch/back"
}

# uses_commands NAME OPTION...: commands, and what ends them.
uses_commands() {
    local name=$1 options=("${@:2}")
    expect "$name: a command's output and status" 7 "out" "*" exec "${options[@]}" 'echo out; exit 7'
    expect "$name: a variable and a folder" 0 "/usr yes" "*" exec "${options[@]}" --env ADDED=yes --cwd /usr 'echo $(pwd) $ADDED'
    input=$scratch/text expect "$name: input" 0 "2" "*" exec "${options[@]}" --stdin -- 'wc -l | tr -d " "'
    json "$name: an id that is not there" 3 '.error == "sandbox_not_found"' exec "${options[@]}" --sandbox-id nothing -- true
}

# uses_everything NAME FILE: the functions that no command reaches, with the same outcome in both isolations.
uses_everything() {
    local name=$1 isolation
    for isolation in none process; do
        "$BUILD/tests/abi/call_functions" "$2" first_everything "$isolation" "$BUILD/builtins/sandlot-worker" \
            >"$scratch/$isolation" 2>&1
        check "$name: all functions, isolation $isolation" diff "$first/first_everything.expected" "$scratch/$isolation"
    done
}

# works NAME: everything that the providers of 1.0 in the search folder can do.
works() {
    local isolation id name=$1
    printf 'one\ntwo\n' >"$scratch/text"
    for isolation in none process; do
        isolate "$isolation" first_minimal first_parameters first_everything
        uses_commands "$name first_minimal, $isolation" --sandbox first_minimal
        expect "$name first_minimal, $isolation: a time limit" 124 "*" "*" exec --sandbox first_minimal --timeout 1 -- sleep 20
        uses_files "$name first_minimal, $isolation" --sandbox first_minimal
        json "$name first_minimal, $isolation: it cannot list" 1 '.error == "not_supported"' list --sandbox first_minimal
        expect "$name first_parameters, $isolation: as the defaults are" 0 \
            'a text|absent|/usr|-7|1|0.5|1|1|["a","b"]|{"a":1}|0|3' "*" \
            exec --sandbox first_parameters --param place=/usr --param other_key=key -- x
        expect "$name first_parameters, $isolation: as they are given" 0 \
            'word|there|/tmp|9000000000|0|2.25|0|0|[1,2]|{"b":"c"}|4|1' "*" exec --sandbox first_parameters --param place=/tmp \
            --param other_key=k --param text=word --param absent_text=there --param number=9000000000 --param absent_number=1 \
            --param fraction=2.25 --param absent_fraction=1 --param truth=false --param list=[1,2] --param 'tree={"b":"c"}' \
            --param key=keys -- x
        usage "$name first_parameters, $isolation: one is missing" "other_key" \
            exec --sandbox first_parameters --param place=/usr -- x
        uses_commands "$name first_everything, $isolation" --sandbox first_everything
        uses_files "$name first_everything, $isolation, native" --sandbox first_everything
        uses_files "$name first_everything, $isolation, not native" --sandbox first_everything --param native=false
        run create --sandbox first_everything
        id=$out
        json "$name first_everything, $isolation: list" 0 '.sandboxes | length == 1 and .[0].id == "'"$id"'" and
            .[0].state == "running"' list --sandbox first_everything
        expect "$name first_everything, $isolation: delete" 0 "*" "*" delete --sandbox first_everything "$id"
        json "$name first_everything, $isolation: no such snapshot" 3 '.message | test("snapshot-nothing")' \
            exec --sandbox first_everything --sandbox-snapshot-name nothing -- true
        mkdir -p "$boxes/snapshot-kept/files"
        echo kept >"$boxes/snapshot-kept/files/file"
        expect "$name first_everything, $isolation: from a snapshot" 0 "kept" "*" \
            exec --sandbox first_everything --sandbox-snapshot-name kept -- cat file
        rm -r "$boxes/snapshot-kept"
        check "$name, $isolation: nothing is left" no_boxes
    done
    uses_everything "$name first_everything" "$scratch/search/first_everything.so"
    check "$name: nothing is left" no_boxes
}
cp "$build"/first_*.so "$scratch/search/"
json "they are listed" 0 '.providers | map(select(.name | startswith("first_")) | .ready) == [true, true, true]' providers
works "built for 1.0:"

# ---- programs built for earlier libraries ----
# program NAME FOLDER PROVIDER: works, with its provider in both isolations
program() {
    local isolation
    compile "a program builds with the header of ${2##*/}" "$scratch/$1" -I"$2" ${sanitizers:+"$sanitizers"} "$2/$1.c" -L"$BUILD" -lsandlot ||
        return
    for isolation in none process; do
        isolate "$isolation" "$3"
        LD_LIBRARY_PATH=$BUILD timeout 120 "$scratch/$1" >"$scratch/out" 2>"$scratch/err"
        status=$?
        out=$(cat "$scratch/out")
        err=$(cat "$scratch/err")
        check "$1 works with today's library, isolation $isolation" test "$status" = 0 -a "${out##*: }" = "0 failures"
        check "it leaves nothing, isolation $isolation" no_boxes
    done
}
program first_program "$first" first_everything

# ---- built for 1.2 ----
second=tests/abi/1.2
if plugin "a provider builds with the header of 1.2" "$scratch/search/second_network.so" -I"$second" "$second/second_network.c"; then
    program second_program "$second" second_network
    run create --sandbox second_network --network off
    id=$out
    json "what it knows nothing of is not asked of it: a fork with a policy" 1 \
        '.error == "not_supported" and (.message | contains("make a snapshot"))' fork "$id"
    run delete --sandbox second_network "$id"
    check "nothing is left of 1.2" no_boxes
    rm "$scratch/search/second_network.so"
fi

# ---- built for 1.3 ----
third=tests/abi/1.3
if plugin "a provider builds with the header of 1.3" "$scratch/search/third_volumes.so" -I"$third" "$third/third_volumes.c"; then
    program third_program "$third" third_volumes
    run create --sandbox third_volumes
    id=$out
    expect "a snapshot of it" 0 third "*" snapshot "$id"
    json "what it knows nothing of is not asked of it: a snapshot with its base" 1 \
        '.error == "not_supported" and (.message | test("began as.*here these can: .*local"))' snapshot "$id" --with-base
    run delete --sandbox third_volumes "$id"
    check "nothing is left of 1.3" no_boxes
    rm "$scratch/search/third_volumes.so"
fi

# ---- built for a later minor version ----
check "today's header grows at its ends" tests/abi/newer/make_header.sh include/sandlot/provider.h "$later"
for name in first_minimal first_parameters first_everything; do
    plugin "$name builds with the header of 1.7" "$scratch/search/$name.so" -I"$later" -I"$first" "$first/$name.c"
done
plugin "newer builds with it" "$scratch/search/newer.so" -I"$later" -I"$first" tests/abi/newer/newer.c
rm "$config"
json "they are listed as before" 0 '.providers | map(select(.name | test("^first_|^newer")) | .ready) ==
    [true, true, true, true]' providers
works "built for 1.7:"
for isolation in none process; do
    isolate "$isolation" newer
    expect "newer, $isolation: it sees what this host does not have" 0 \
        "host 1.4 number 4 text a text label 1 later: call 0 host 0 create 0 command 0 sink 0 exit 0" "*" \
        exec --sandbox newer --param number=4 describe
    uses_commands "newer, $isolation" --sandbox newer
    uses_files "newer, $isolation" --sandbox newer
    json "newer, $isolation: list" 0 '.sandboxes[0].id == "newer-box"' list --sandbox newer
    check "newer, $isolation: nothing is left" no_boxes
done

# ---- an older host ----
if compile "a host builds with the header of 1.0" "$scratch/first_host" -I"$first" ${sanitizers:+"$sanitizers"} "$first/first_host.c"; then
    plugin "a provider builds with today's header" "$build/today.so" -Iinclude -I"$first" "$first/first_minimal.c"
    # older_host NAME FILE SYMBOL COMMAND OUTPUT
    older_host() {
        ran="first_host $2"
        timeout 30 "$scratch/first_host" "$2" "$3" "$4" >"$scratch/out" 2>"$scratch/err"
        status=$?
        out=$(cat "$scratch/out")
        err=$(cat "$scratch/err")
        check "$1" test "$status" = 0 -a "$out" = "$5"
    }
    older_host "it uses a provider of today" "$build/today.so" first_minimal "echo here; exit 3" "here
exit 3"
    older_host "it uses a provider of 1.7, which touches nothing beyond what the host has" "$scratch/search/newer.so" newer describe \
        "host 1.0 number 3 text a text label 1 later: call 0 host 0 create 0 command 0 sink 0 exit 0
exit 0
listed newer-box running"
    check "it leaves nothing" no_boxes
fi

# ---- the next major version ----
check "a header of 2.0" tests/abi/newer/make_header.sh include/sandlot/provider.h "$next" 2
export NEXT_MAJOR_MARK=$scratch/mark
plugin "a provider builds with it" "$scratch/search/next_major.so" -I"$next" tests/abi/newer/next_major.c
advice="it was built for version 2.4 of the provider ABI, this Sandlot speaks 1.4: install a newer Sandlot, or an older build"
for isolation in none process; do
    isolate "$isolation" next_major
    json "2.0 in the note, $isolation: listed with the reason" 0 '.providers[] | select(.name == "next_major") |
        (.ready | not) and (.reason | test("'"$advice"'"))' providers
    json "2.0 in the note, $isolation: refused with the same" 3 '.error == "provider_unavailable" and
        (.message | test("'"$advice"'"))' exec --sandbox next_major -- true
    check "2.0 in the note, $isolation: none of its code ran" test ! -e "$NEXT_MAJOR_MARK"
done
plugin "a provider whose note claims today's version" "$scratch/search/next_major.so" -Iinclude tests/abi/newer/next_major.c
for isolation in none process; do
    isolate "$isolation" next_major
    json "2 in the table, $isolation: refused" 3 '.error == "provider_unavailable" and
        (.message | test("built for version 2 of the provider ABI and this Sandlot speaks version 1; install a newer Sandlot"))' \
        exec --sandbox next_major -- true
done
rm "$scratch/search/next_major.so"

# ---- smaller than the first ----
# too_small DEFINE ISOLATION PATTERN ARGUMENT...
too_small() {
    "$compiler" -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -shared "-D$1" -I"$first" -o "$scratch/search/too_small.so" \
        tests/abi/newer/too_small.c || return 1
    isolate "$2" too_small
    json "$1, $2: refused" 3 ".message | test(\"$3\")" "${@:4}"
}
for isolation in none process; do
    too_small "TABLE_SIZE=0" "$isolation" "table says that it is 0 bytes long" exec --sandbox too_small -- x
    too_small "TABLE_SIZE=16" "$isolation" "table ends before what every provider needs|which cannot be" exec --sandbox too_small -- x
    too_small "TABLE_SIZE=offsetof(struct sandlot_provider,execute)" "$isolation" "table ends before what every provider needs" \
        exec --sandbox too_small -- x
    too_small "ROW_SIZE=offsetof(struct sandlot_parameter,help)" "$isolation" "size of its rows is wrong" exec --sandbox too_small -- x
    too_small "ROW_SIZE=0" "$isolation" "size of its rows is wrong" exec --sandbox too_small -- x
done
too_small "LISTED_SIZE=16" none "fault inside the provider" list --sandbox too_small
isolate none too_small
plugin "the same with the right sizes" "$scratch/search/too_small.so" -I"$first" tests/abi/newer/too_small.c
expect "works" 0 "ran" "*" exec --sandbox too_small -- x
rm "$scratch/search/too_small.so" "$config"

# ---- libsandlot.so ----
check "its soname" sh -c 'readelf -d "$1" | grep -q "SONAME.*\[libsandlot\.so\.0\]"' sh "$BUILD/libsandlot.so"
unversioned() { nm -D --defined-only "$BUILD/libsandlot.so" | awk '$2 != "A" && $3 !~ /@@SANDLOT_0$/ { print; bad = 1 } END { exit bad }'; }
check "every symbol has its version" unversioned
names_of() { sed -nE 's/^SANDLOT_API .*[ *](sandlot_[a-z_]+)\(.*/\1/p' "$1" | sort; }
check "everything of the first sandlot.h is there" test -z "$(comm -23 <(names_of "$first/sandlot/sandlot.h") \
    <(nm -D --defined-only "$BUILD/libsandlot.so" | sed -n 's/.* T \(.*\)@@SANDLOT_0$/\1/p' | sort))"

# compare OLD NEW: fails for what would break programs; what is only added is left in $scratch/added.
compare() {
    abidiff --suppressions tests/abi/additions.suppr --no-added-syms "$1" "$2" >"$scratch/out" 2>&1 || return 1
    abidiff "$1" "$2" >"$scratch/added" 2>&1
    return 0
}
breaks() { ! compare "$@"; }
adds() { compare "$@" && [ -s "$scratch/added" ]; }

# variant NAME SED MAP [SOURCE]: a library of core/operations/execute.c alone, with a changed header or symbol map.
variant() {
    local folder=$scratch/variants/$1
    mkdir -p "$folder/sandlot"
    sed "$2" include/sandlot/sandlot.h >"$folder/sandlot/sandlot.h"
    sed "$3" core/libsandlot.map >"$folder/map"
    sed "${4:-}" core/operations/execute.c >"$folder/execute.c"
    gcc -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -I"$folder" -Iinclude -Icore -Icore/operations -O1 -g -shared \
        -Wl,--version-script,"$folder/map" -o "$folder/library.so" "$folder/execute.c" &&
        tests/abi/refresh.sh -o "$folder/abi" "$folder/library.so"
}
reason=
case $flags in
    *-fsanitize*) reason="a build with sanitizers has other symbols" ;;
    gcc\ *\ -g*) command -v abidiff >/dev/null && command -v abidw >/dev/null || reason="abigail-tools is not installed" ;;
    gcc\ *) reason="this build has no debug information (-g), from which types are read" ;;
    *) reason="the baseline is gcc's, and this is ${flags%% *}" ;;
esac
[ "$(uname -m)" = x86_64 ] || reason="the baseline is of x86_64"
if [ -n "$reason" ]; then
    echo "ok the promise of libsandlot.so # SKIP $reason"
else
    # First that the comparison can tell.
    variant same "" ""
    variant grown '/^    uint64_t output_total;/a\    uint64_t later;' ""
    variant inserted '/^    bool has_exit_code;/i\    bool sneaked_in;' ""
    variant removed "" 's/local:/local: sandlot_result_clear;/'
    variant retyped 's/^SANDLOT_API void sandlot_result_clear(/SANDLOT_API int sandlot_result_clear(/' "" \
        '/^void sandlot_result_clear(/,/^}/{s/^void/int/;s/return;/return 0;/;s/^}/    return 0;\n}/}'
    old=$scratch/variants/same/abi
    check "abidiff: the same is the same" sh -c 'abidiff "$1" "$1"' sh "$old"
    check "a new field behind the others breaks nothing" adds "$old" "$scratch/variants/grown/abi"
    check "a new function breaks nothing" adds "$scratch/variants/removed/abi" "$old"
    for name in inserted removed retyped; do
        check "a library with something $name does" breaks "$old" "$scratch/variants/$name/abi"
    done
    check "what libsandlot.so promises can be read" tests/abi/refresh.sh -o "$scratch/abi" "$BUILD/libsandlot.so"
    if compare tests/abi/libsandlot.abi "$scratch/abi"; then
        ok "it is what it promised"
        [ ! -s "$scratch/added" ] || {
            echo "# it promises more now; make that lasting with tests/abi/refresh.sh $BUILD/libsandlot.so:"
            sed 's/^/#   /' "$scratch/added"
        }
    else
        not_ok "it is what it promised" "$(cat "$scratch/out")"
    fi
fi
