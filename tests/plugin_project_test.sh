#!/bin/bash
# From nothing to a provider in use: `sandlot plugin new`, `make`, `make check`, `make install`, `make deb`; with an installed
# tree alone, and from a build folder; in folders with a blank in their names.
# shellcheck disable=SC2016,SC2153 # what sh -c and pkg-config expand; SANDLOT is given by run.sh
set -u
umask 022

tree=$(mktemp -d)
trap 'chmod -R u+rwX "$tree"; rm -rf "$tree"' EXIT
export XDG_DATA_HOME=$tree/data XDG_STATE_HOME=$tree/state XDG_CONFIG_HOME=$tree/config
unset PKG_CONFIG_PATH SANDLOT_PLUGIN_PATH MAKEFLAGS MAKELEVEL CFLAGS LDFLAGS CC CXX
failed=0
check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$tree/output" 2>&1; then
        echo "ok $name"
    else
        echo "not ok $name"
        sed 's/^/    /' "$tree/output" | tail -n 60
        failed=1
    fi
}
built=$(dirname "$SANDLOT")
sandlot=$SANDLOT
unset SANDLOT BUILD # a project must not be told where Sandlot is
prefix="$tree/opt/sand lot"
# Debian's rather than another one in PATH, which may want a home of its own.
export RUSTC=/usr/bin/rustc
[ -x "$RUSTC" ] || RUSTC=$(command -v rustc) || RUSTC=
[ -z "$RUSTC" ] || "$RUSTC" --version >/dev/null 2>&1 || RUSTC=
MOST_LINES=60
MOST_MS=20000

check "make install into a folder with a blank" make install BUILD="$built" PREFIX=/usr DESTDIR="$tree/stage"
mkdir -p "$(dirname "$prefix")"
mv "$tree/stage/usr" "$prefix"
# PREFIX itself is fixed when it is installed; here the whole tree is moved, and its files say so.
sed -i 's|^prefix=.*|prefix=${pcfiledir}/../..|' "$prefix"/lib/pkgconfig/*.pc

# project LABEL COMMAND NAME LANGUAGE SOURCE: all that a vendor does
project() {
    local label=$1 command=$2 name=$3 language=$4 began took lines
    local home="$tree/$label projects"
    mkdir -p "$home"
    cd "$home" || exit 2
    began=${EPOCHREALTIME/[.,]/}
    check "$label, $language: plugin new" "$command" plugin new "$name" --language "$language"
    cd "$name" || { failed=1; return; }
    check "$label, $language: no columns that go by the name" no_columns "$name".[cr]*
    check "$label, $language: make" make
    check "$label, $language: no warning" sh -c '! grep -i warning "$1"' sh "$tree/output"
    check "$label, $language: make check" make check
    took=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
    echo "# $label, $language: from plugin new to a green plugin check: $took ms"
    check "$label, $language: in under 20 s" test "$took" -lt "$MOST_MS"
    make -s check CHECK=--static >"$tree/tap"
    check "$label, $language: it is TAP, and it passed" \
        sh -c 'grep -q "^TAP version" "$1" && grep -q "^ok 1 " "$1" && ! grep "^not ok" "$1"' sh "$tree/tap"
    if [ "$language" = c ]; then
        lines=$(grep -c '[^[:space:]]' "$name.c")
        echo "# $label: lines of $name.c that are not blank: $lines"
        check "$label: a provider takes at most $MOST_LINES lines" test "$lines" -le "$MOST_LINES"
    fi
    check "$label, $language: it exports its entry function alone" \
        sh -c 'test "$(nm -D --defined-only "$1.so" | cut -d" " -f3)" = "$1"' sh "$name"
    check "$label, $language: make test" make test
    check "$label, $language: make install" make install
    check "$label, $language: it is used" sh -c 'test "$("$1" exec --sandbox "$2" -- "echo \$((6 * 7))")" = 42' sh "$command" "$name"
    check "$label, $language: again" make install
    check "$label, $language: plugin list has it" sh -c '"$1" plugin list | grep -q "^$2 .*yes"' sh "$command" "$name"
    check "$label, $language: plugin remove" "$command" plugin remove "$name"
    check "$label, $language: it is gone" sh -c '! "$1" providers "$2" >/dev/null 2>&1' sh "$command" "$name"
    if command -v dpkg-deb >/dev/null; then
        check "$label, $language: make deb" make deb
        check "$label, $language: it is called sandlot-NAME" test -f "sandlot-${name//_/-}_0.1.0_$(dpkg --print-architecture).deb"
        check "$label, $language: it needs what the library needs" needs_libraries ./*.deb "$name.so"
        if [ "$language" = c ]; then
            check "$label: with more libraries" sh -c 'rm "$1.so" && make deb LDFLAGS="-Wl,--no-as-needed -lcurl -ljson-c" &&
                dpkg-deb -f ./*.deb Depends | grep "libcurl.*libjson-c"' sh "$name"
            check "$label: it needs them all" needs_libraries ./*.deb "$name.so"
        fi
        check "$label, $language: the same without dpkg-shlibdeps" sh -c 'mkdir -p tools && cd tools &&
            for tool in sh rm install strip chmod readelf sed dpkg dpkg-query sort paste printf cat dpkg-deb make tar; do
                ln -sf "$(command -v "$tool")" .; done && cd .. && PATH=$PWD/tools make deb && rm -r tools'
        check "$label, $language: there too" needs_libraries ./*.deb "$name.so"
        check "$label, $language: unless it is told something else" sh -c 'make deb DEPENDS="libc6, acme-runtime (>= 2)" &&
            test "$(dpkg-deb -f ./*.deb Depends)" = "libc6, acme-runtime (>= 2)"'
        check "$label, $language: the package does not name the folder" sh -c 'dpkg-deb -x ./*.deb unpacked &&
            ! grep -rF "$PWD" unpacked && readelf -n unpacked/usr/lib/sandlot/providers/*.so | grep -q sandlot && rm -r unpacked'
        check "$label, $language: the package has the one file" sh -c 'dpkg-deb -c ./*.deb | grep "^-" >files &&
            test "$(wc -l <files)" = 1 && grep -q "^-rw-r--r-- root/root .* \./usr/lib/sandlot/providers/$1.so$" files' sh "$name"
    else
        echo "ok $label, $language: make deb # SKIP dpkg-deb is not installed"
    fi
    check "$label, $language: make clean" sh -c 'make clean && rm -f files && ! ls | grep -E "\.(so|o|deb)$|^deb$"'
    check "$label, $language: what is local is not for git" grep -qx /sandlot.mk .gitignore
    cd / || exit 2
}

# Nothing in a source may be laid out by the length of the name that stands for "scaffold": no columns.
no_columns() { ! grep -nE '^ {20,}|[^ ]  +\\$|,  +\.' "$1"; }

# needs_libraries PACKAGE LIBRARY: every library that it names has its package among the dependencies, and nothing else is there
needs_libraries() {
    local wanted library found
    found=$(dpkg-deb -f "$1" Depends | tr ',' '\n' | awk '{ print $1 }' | sort)
    wanted=$(readelf -d "$2" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | while read -r library; do
        dpkg -S "*/$library" | sed -n "s/:$(dpkg --print-architecture): .*//p"; done | sort -u)
    echo "found: $found; wanted: $wanted"
    [ "$found" = "$wanted" ]
}

languages() {
    echo c
    ! command -v g++ >/dev/null || echo c++
    [ -z "$RUSTC" ] || echo rust
}
[ -n "$RUSTC" ] || echo "ok installed, rust # SKIP rustc is not installed"
for language in $(languages); do
    project installed "$prefix/bin/sandlot" "acme_${language//+/p}" "$language"
done
project built "$sandlot" acme c

# What is left over of a vendor's own mistakes is told by make, not passed over.
cd "$tree" || exit 2
"$sandlot" -q plugin new broken >/dev/null
check "a function that is nowhere does not link" sh -c 'cd broken && sed -i "s/mkdtemp/no_such_function_anywhere/" broken.c && ! make'
check "and leaves no library" test ! -e broken/broken.so
exit $failed
