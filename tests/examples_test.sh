#!/bin/bash
# The same minimal provider in C, C++ and Rust, as a vendor meets it: built outside the tree against an installed Sandlot alone,
# dropped into a plugin folder, used, and run through the conformance kit.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh sets status, out, err and the folders, and shows them
umask 022 # or the libraries would be refused
. "$(dirname "$0")/cli/lib.sh"

prefix=$scratch/opt/sandlot
if ! make install BUILD="$BUILD" PREFIX="$prefix" >"$scratch/out" 2>&1; then
    not_ok "make install" "$(cat "$scratch/out")"
    exit 1
fi
SANDLOT=$prefix/bin/sandlot
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export SANDLOT_PLUGIN_PATH=$scratch/search
kit=$prefix/lib/sandlot/modules/sandlot-plugin-check
compiler=${CC:-$(cut -d' ' -f1 "$BUILD/flags")}
mkdir -p "$scratch/search" "$scratch/vendor"

# Debian's: what is written for it works with later ones, and another one in PATH may be somebody else's.
rustc=/usr/bin/rustc
[ -x "$rustc" ] || rustc=$(command -v rustc) || rustc=
[ -z "$rustc" ] || "$rustc" --version >/dev/null 2>&1 || rustc=

# build NAME FOLDER ARGUMENT...: NAME.so, in a copy of the example far from the tree.
build() {
    local name=$1 folder=$2
    shift 2
    cp -r "sdk/examples/$folder" "$scratch/vendor/" || return 1
    if make -s -C "$scratch/vendor/$folder" "$@" >"$scratch/out" 2>&1 && [ ! -s "$scratch/out" ]; then
        ok "$name: it builds against the installed header, without warnings"
        cp "$scratch/vendor/$folder/$name.so" "$scratch/search/"
    else
        not_ok "$name: it builds against the installed header, without warnings" "$(cat "$scratch/out")"
        return 1
    fi
}

# is_sound NAME: what a file that others load should be.
is_sound() {
    local file=$scratch/search/$1.so
    check "$1: it has the note" sh -c 'readelf -nW "$1" | grep -q "^ *sandlot "' sh "$file"
    check "$1: it exports its entry function alone" test "$(nm -D --defined-only "$file" | cut -d' ' -f3)" = "$1"
    check "$1: relro" sh -c 'readelf -lW "$1" | grep -q GNU_RELRO' sh "$file"
    check "$1: now" sh -c 'readelf -dW "$1" | grep -q "BIND_NOW\|Flags:.*NOW"' sh "$file"
    check "$1: no executable stack" sh -c 'readelf -lW "$1" | grep GNU_STACK | grep -qv RWE' sh "$file"
    check "$1: no text relocations" sh -c '! readelf -dW "$1" | grep -q TEXTREL' sh "$file"
    check "$1: it needs nothing of Sandlot" sh -c '! readelf -dW "$1" | grep "NEEDED.*sandlot"' sh "$file"
}

group_is_gone() { ! pgrep -f "^sleep $1\$" >/dev/null; }

# keeps_promises NAME ISOLATION: those of provider.h that a provider with three functions has to keep.
keeps_promises() {
    local name=$1 isolation=$2 what="$1, $2" id command number=$((RANDOM + 40000))
    printf '[sandboxes.providers.%s]\nisolation = "%s"\n' "$name" "$isolation" >"$config"
    expect "$what: output and error in order, and the exit code" 7 "out
err
out" "*" exec --sandbox "$name" 'echo out; echo err >&2; echo out; exit 7'
    expect "$what: a signal" 143 "" "*" exec --sandbox "$name" 'kill -TERM $$'
    expect "$what: bytes stay bytes" 0 "3145728" "*" exec --sandbox "$name" 'head -c 3145728 /dev/zero | tr "\0" "\377" | wc -c'
    run exec --sandbox "$name" 'head -c 1000003 /dev/zero | tr "\0" x'
    check "$what: nothing of much output is lost" test "$(wc -c <"$scratch/out")" = 1000003
    expect "$what: nothing of the host's environment" 0 "" "*" exec --sandbox "$name" 'echo $HOME'
    expect "$what: but what is added" 0 "a=b c" "*" exec --sandbox "$name" --env 'ADDED=a=b c' 'echo "$ADDED"'
    expect "$what: a folder" 0 "/usr" "*" exec --sandbox "$name" --cwd /usr -- pwd
    json "$what: a folder that is not there" 1 '.message | test("there is no folder /nothing")' \
        exec --sandbox "$name" --cwd /nothing -- true
    expect "$what: a command that closes its output goes on" 4 "" "*" exec --sandbox "$name" 'exec >&- 2>&-; sleep 0.3; exit 4'
    expect "$what: a background child holds nothing up" 0 "done" "*" exec --sandbox "$name" "sleep 70 & echo done"
    expect "$what: nor does one that writes for ever" 0 "*" "*" exec --sandbox "$name" '(timeout 3 yes &) ; echo done'
    expect "$what: a time limit" 124 "*" "*" exec --sandbox "$name" --timeout 3 "echo begun; sleep $number & sleep $number"
    check "$what: what it had printed is there" grep -qx begun "$scratch/out"
    check "$what: all that it started has ended" until_true 3 group_is_gone "$number"
    rm "$scratch/out" # "begun" must be this command's: a signal that comes before it is there would be lost
    "$SANDLOT" exec --sandbox "$name" -- "echo begun; sleep $number & sleep $number" >"$scratch/out" 2>"$scratch/err" &
    command=$!
    until_true 10 grep -qs begun "$scratch/out"
    kill -TERM "$command"
    wait "$command"
    status=$?
    check "$what: a cancelled command fails" test "$status" != 0
    check "$what: all that it started has ended" until_true 3 group_is_gone "$number"
    run create --sandbox "$name"
    id=$out
    check "$what: create" test "$status" = 0 -a -d "$id"
    input=$BUILD/flags expect "$what: a file is written" 0 "*" "*" write --sandbox "$name" --sandbox-id "$id" file
    check "$what: it is the same" cmp "$BUILD/flags" "$id/file"
    mkdir "$scratch/outside"
    ln -s "$scratch/outside" "$id/link"
    expect "$what: delete" 0 "*" "*" delete --sandbox "$name" "$id"
    check "$what: it is gone" test ! -e "$id"
    check "$what: what a link in it led to is not" rmdir "$scratch/outside"
    expect "$what: deleting again works" 0 "*" "*" delete --sandbox "$name" "$id"
    json "$what: an id that is not there" 3 '.error == "sandbox_not_found"' exec --sandbox "$name" --sandbox-id "$id" -- true
    json "$what: a folder that is no sandbox" 3 '.error == "sandbox_not_found"' exec --sandbox "$name" --sandbox-id /tmp -- true
    rm "$config"
}

# conforms NAME
conforms() {
    if [ ! -x "$kit" ]; then
        echo "ok $1: the conformance kit # SKIP it is not installed"
        return
    fi
    timeout -k 5 200 "$kit" "$scratch/search/$1.so" --cycles 20 >"$scratch/out" 2>"$scratch/err"
    status=$?
    if [ "$status" = 0 ]; then ok "$1: the conformance kit"; else
        not_ok "$1: the conformance kit" "status $status
$(grep -v '^ok' "$scratch/out")
$(cat "$scratch/err")"
    fi
}

try() {
    is_sound "$1"
    json "$1: it is listed" 0 '.providers | length == 1 and .[0].ready and .[0].source == "plugin" and
        .[0].working_dir == "/tmp" and .[0].capabilities.streaming and (.[0].capabilities.list | not)' providers "$1"
    keeps_promises "$1" none
    keeps_promises "$1" process
    conforms "$1"
}

# Needs a service; tests/vendors has one.
if build acme http CC="$compiler" CFLAGS="-O2 -Wall -Wextra -Werror"; then
    is_sound acme
    check "acme: what can be seen of it without its service" "$kit" --static "$scratch/search/acme.so"
    rm "$scratch/search/acme.so"
fi

build minimal minimal CC="$compiler" CFLAGS="-O2 -Wall -Wextra -Wpedantic -Werror" && try minimal

case $compiler in
    *clang*) cxx=${compiler/clang/clang++} ;;
    *gcc*) cxx=${compiler/gcc/g++} ;;
    *) cxx=c++ ;;
esac
if command -v "$cxx" >/dev/null; then
    build minimal_cpp cpp CXX="$cxx" CXXFLAGS="-O2 -Wall -Wextra -Wpedantic -Werror" && try minimal_cpp
    # The macros for parameters are C++ too.
    cat >"$scratch/parameters.cc" <<'END'
#include <sandlot/provider.h>
#define PARAMETERS(P) P(integer, number, "1", optional, "a number") P(string, text, "", required_secret, "a text")
SANDLOT_PARAMETERS(acme, PARAMETERS)
static enum sandlot_status acme_open(struct sandlot_call *, void **provider, int64_t, const char *)
{
    *provider = nullptr;
    return SANDLOT_OK;
}
static const struct sandlot_provider acme_provider = {SANDLOT_TABLE(acme)};
#define METADATA(M) M(description, "Acme")
SANDLOT_ENTRY_POINT(acme, METADATA, PARAMETERS);
END
    if "$cxx" -std=c++20 -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers -fPIC -fvisibility=hidden -shared \
        -I"$prefix/include" -o "$scratch/acme.so" "$scratch/parameters.cc" >"$scratch/out" 2>&1; then
        check "its macros in C++" test "$(nm -D --defined-only "$scratch/acme.so" | cut -d' ' -f3)" = acme
    else
        not_ok "its macros in C++" "$(cat "$scratch/out")"
    fi
else
    echo "ok minimal_cpp # SKIP $cxx is not installed"
fi

# The hand-written binding has every field where C has it: tests/abi/layout_provider.c says where. And its `has!` can tell.
has_the_layout() {
    {
        echo 'mod sandlot; use sandlot::*;'
        echo 'macro_rules! place { ($s:ty, $p:expr, $f:ident) => {{ let m = std::mem::MaybeUninit::<$s>::uninit(); let b = m.as_ptr();'
        echo '  let at = unsafe { std::ptr::addr_of!((*b).$f) as usize - b as usize };'
        echo '  assert_eq!(at, $p, "{}.{}", stringify!($s), stringify!($f)); }} }'
        echo 'fn main() {'
        tr '\n' ' ' <tests/abi/layout_provider.c | grep -oE '(FIELD|FROZEN_SIZE|SIZE)\(sandlot_[a-z_]+, [0-9]+[,)]( [a-z_]+)?' |
            sed -E 's/\(sandlot_([a-z]+)_([a-z]+),/(sandlot_\1\u\2,/
                s/^FIELD\(sandlot_([a-zA-Z]+), ([0-9]+), ([a-z_]+)/place!(\u\1, \2, \3);/
                s/^FROZEN_SIZE\(sandlot_([a-zA-Z]+), ([0-9]+)\)/assert_eq!(std::mem::size_of::<\u\1>(), \2, "\1");/
                s/^SIZE\(sandlot_([a-zA-Z]+), ([0-9]+)\)/assert!(std::mem::size_of::<\u\1>() >= \2, "\1");/'
        echo 'let mut table = NOTHING; unsafe { assert!(has!(&table, Provider, check)); table.size = 12;'
        echo 'assert!(has!(&table, Provider, abi_major)); assert!(!has!(&table, Provider, abi_minor)); }'
        echo '}'
    } >"$scratch/vendor/rust/layout.rs"
    [ "$(grep -c '^place!' "$scratch/vendor/rust/layout.rs")" = "$(grep -c '^FIELD' tests/abi/layout_provider.c)" ] &&
        "$rustc" --edition 2021 -o "$scratch/layout" "$scratch/vendor/rust/layout.rs" >"$scratch/out" 2>"$scratch/err" &&
        "$scratch/layout" >"$scratch/out" 2>"$scratch/err"
}
if [ -n "$rustc" ]; then
    if build minimal_rust rust RUSTC="$rustc" RUSTFLAGS="-C opt-level=2 -D warnings"; then
        try minimal_rust
        check "minimal_rust: its binding has the layout of provider.h" has_the_layout
    fi
else
    echo "ok minimal_rust # SKIP no rustc is installed"
fi

no_folders() { [ -z "$(find /tmp -maxdepth 1 -name 'sandlot-minimal-*' -user "$(id -u)" -newer "$scratch/vendor")" ]; }
check "no folder of the examples is left" until_true 10 no_folders
