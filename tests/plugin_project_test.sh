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

check "make install into a folder with a blank" make install BUILD="$built" PREFIX=/usr DESTDIR="$tree/stage"
mkdir -p "$(dirname "$prefix")"
mv "$tree/stage/usr" "$prefix"
# PREFIX itself is fixed when it is installed; here the whole tree is moved, and its files say so.
sed -i 's|^prefix=.*|prefix=${pcfiledir}/../..|' "$prefix"/lib/pkgconfig/*.pc

# What the guide shows of a provider over HTTP, in its order, is one file that compiles, but for what it is about.
{
    printf '#include <sandlot/sdk/%s.h>\n' attempt cleanup credentials function_of http rest remote_command staged_upload
    printf '#include <%s.h>\n' stdlib string
    echo 'struct sandbox { struct http_client *client; char *id; };'
    sed -n '/^## 11/,/^## 12/{/^```c/,/^```$/{/^```/!p}}' sdk/README.md | sed 's/^    struct attempt stop;/#if 0\n&/; s/&kill_request, NULL);$/&\n#endif/'
} >"$tree/guide.c"
check "the guide's provider over HTTP compiles" "${CC:-gcc}" -std=c11 -D_GNU_SOURCE -fsyntax-only -Werror=implicit -Iinclude -Isdk/include "$tree/guide.c"

# is_made LABEL COMMAND NAME LANGUAGE: begun and built, in a folder of its own, which is the current one then
is_made() {
    local what="$1, $4" command=$2 name=$3 home="$tree/$1 projects"
    mkdir -p "$home"
    cd "$home" || exit 2
    check "$what: plugin new" "$command" plugin new "$name" --language "$4"
    cd "$name" || exit 2
    check "$what: make" make
    check "$what: no warning" sh -c '! grep -i warning "$1"' sh "$tree/output"
}

# is_used LABEL COMMAND NAME LANGUAGE: installed, used, and taken away
is_used() {
    local what="$1, $4" command=$2 name=$3
    check "$what: make install" make install
    check "$what: it is used" sh -c 'test "$("$1" exec --sandbox "$2" -- "echo \$((6 * 7))")" = 42' sh "$command" "$name"
    check "$what: plugin list has it" sh -c '"$1" plugin list | grep -q "^$2 .*yes"' sh "$command" "$name"
    check "$what: plugin remove" "$command" plugin remove "$name"
    check "$what: it is gone" sh -c '! "$1" providers "$2" >/dev/null 2>&1' sh "$command" "$name"
}

# is_clean LABEL LANGUAGE: nothing of a build is left
is_clean() {
    check "$1, $2: make clean" sh -c 'make clean && rm -f files && ! ls | grep -E "\.(so|o|deb)$|^deb$"'
    check "$1, $2: what is local is not for git" grep -qx /sandlot.mk .gitignore
}

# has_packages NAME: every way to a package, in a project in C: plugin.mk has it for all
has_packages() {
    local name=$1
    check "it is called sandlot-provider-NAME" test -f "sandlot-provider-${name//_/-}_0.1.0_$(dpkg --print-architecture).deb"
    check "it needs a Sandlot of the interface it was built with" sh -c 'dpkg-deb -f ./*.deb Depends | grep ", sandlot-provider-abi-1$"'
    check "with more libraries" sh -c 'rm "$1.so" && make deb LDFLAGS="-Wl,--no-as-needed -lcurl -ljson-c" &&
        dpkg-deb -f ./*.deb Depends | grep "libcurl.*libjson-c"' sh "$name"
    check "it needs them all" needs_libraries ./*.deb "$name.so"
    check "the same without dpkg-shlibdeps" sh -c 'mkdir -p tools && cd tools &&
        for tool in sh rm install strip chmod readelf sed dpkg dpkg-query sort paste printf cat dpkg-deb make tar pkg-config; do
            ln -sf "$(command -v "$tool")" .; done && cd .. && PATH=$PWD/tools make deb && rm -r tools'
    check "there too" needs_libraries ./*.deb "$name.so"
    check "unless it is told something else" sh -c 'make deb DEPENDS="libc6, acme-runtime (>= 2)" &&
        test "$(dpkg-deb -f ./*.deb Depends)" = "libc6, acme-runtime (>= 2), sandlot-provider-abi-1"'
    check "the package does not name the folder" sh -c 'dpkg-deb -x ./*.deb unpacked &&
        ! grep -rF "$PWD" unpacked && readelf -n unpacked/usr/lib/sandlot/providers/*.so | grep -q sandlot && rm -r unpacked'
    check "the package has the one file" sh -c 'dpkg-deb -c ./*.deb | grep "^-" >files &&
        test "$(wc -l <files)" = 1 && grep -q "^-rw-r--r-- root/root .* \./usr/lib/sandlot/providers/$1.so$" files' sh "$name"
}

# is_short NAME: the example of a provider takes no more lines than the README promises
is_short() {
    local lines
    lines=$(grep -c '[^[:space:]]' "$1.c")
    echo "# lines of $1.c that are not blank: $lines"
    check "a provider takes at most $MOST_LINES lines" test "$lines" -le "$MOST_LINES"
}

# project NAME LANGUAGE: all that a vendor does, with an installed tree
project() {
    local name=$1 what="installed, $2"
    is_made installed "$prefix/bin/sandlot" "$1" "$2"
    check "$what: no columns that go by the name" no_columns "$name".[cr]*
    check "$what: make check" make check
    make -s check CHECK=--static >"$tree/tap"
    check "$what: it is TAP, and it passed" \
        sh -c 'grep -q "^TAP version" "$1" && grep -q "^ok 1 " "$1" && ! grep "^not ok" "$1"' sh "$tree/tap"
    [ "$2" != c ] || is_short "$name"
    check "$what: it exports its entry function alone" \
        sh -c 'test "$(nm -D --defined-only "$1.so" | cut -d" " -f3)" = "$1"' sh "$name"
    check "$what: make test" make test
    is_used installed "$prefix/bin/sandlot" "$1" "$2"
    if command -v dpkg-deb >/dev/null; then
        check "$what: make deb" make deb
        check "$what: it needs what the library needs" needs_libraries ./*.deb "$name.so"
        [ "$2" != c ] || has_packages "$name"
    else
        echo "ok $what: make deb # SKIP dpkg-deb is not installed"
    fi
    is_clean installed "$2"
}

# project_in_place NAME: from the build folder of a tree, what is another way there: files are found, and it is built and used
project_in_place() {
    is_made built "$sandlot" "$1" c
    check "built, c: make check" make check CHECK=--static
    is_used built "$sandlot" "$1" c
    check "built, c: again" make install
    is_clean built c
}

# Nothing in a source may be laid out by the length of the name that stands for "scaffold": no columns.
no_columns() { ! grep -nE '^ {20,}|[^ ]  +\\$|,  +\.' "$1"; }

# needs_libraries PACKAGE LIBRARY: every library that it names has its package among the dependencies, and nothing else is there
needs_libraries() {
    local wanted library found
    found=$(dpkg-deb -f "$1" Depends | tr ',' '\n' | awk '!/sandlot-provider-abi-/ { print $1 }' | sort)
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
    project "acme_${language//+/p}" "$language"
done
project_in_place acme

# What is left over of a vendor's own mistakes is told by make, not passed over.
cd "$tree" || exit 2
"$sandlot" -q plugin new broken >/dev/null
check "a function that is nowhere does not link" sh -c 'cd broken && sed -i "s/mkdtemp/no_such_function_anywhere/" broken.c && ! make'
check "and leaves no library" test ! -e broken/broken.so
exit $failed
