#!/bin/bash
# Each project in plugins/ (a folder with a makefile of its own) stands alone: away from the tree, with an installed Sandlot and
# nothing else, it is built, checked, tested, installed and used, as a stranger's would be.
# shellcheck disable=SC2016 # what sh -c expands
set -u
umask 022

tree=$(mktemp -d)
memory=$(mktemp -d /dev/shm/sandlot-test.XXXXXX) # for vfs, which keeps its folder otherwise
trap 'rm -rf "$tree" "$memory"' EXIT
chmod 711 "$memory"
export XDG_DATA_HOME=$tree/data XDG_STATE_HOME=$tree/state XDG_CONFIG_HOME=$tree/config
unset SANDLOT_PLUGIN_PATH MAKEFLAGS MAKELEVEL CFLAGS LDFLAGS CC
failed=0
check() { # NAME COMMAND...
    local name=$1
    shift
    "$@" >"$tree/output" 2>&1
    case $? in
    0) echo "ok $name" ;;
    77) echo "ok $name # SKIP $(tail -n 1 "$tree/output")" ;;
    *)
        echo "not ok $name"
        sed 's/^/    /' "$tree/output" | tail -n 60
        failed=1
        ;;
    esac
}
source=$PWD
built=$BUILD
prefix=$tree/opt
sandlot=$prefix/bin/sandlot
check "make install" make install BUILD="$built" PREFIX="$prefix"
unset SANDLOT BUILD # a project must not be told where Sandlot is
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PATH=$prefix/bin:$PATH
cd "$tree" || exit 2

# is FIELD VALUE NAME: what `sandlot providers` says of NAME
is() { "$sandlot" providers "$3" --json | grep -F "\"$1\":\"$2\""; }
is_from() { is source plugin "$1" && is path "$2" "$1"; }
is_gone() { ! "$sandlot" providers "$1"; }

# One makefile for all, that of `sandlot plugin new`: they differ in their names, and in the libraries that only one needs. What
# it includes, plugin.mk, is the installed one.
same_makefile() {
    diff <(sed "s/scaffold/$1/g" "$prefix/share/sandlot/scaffold/c/Makefile") <(sed 's/^LIBRARIES := .*/LIBRARIES :=/' "$1/Makefile")
}

declared() { # a config entry counts more than any file of that name, also a moved one under another name of its own
    mkdir -p "$XDG_CONFIG_HOME/sandlot" && mv "$1/$1.so" "$tree/moved.so" &&
        printf '[sandboxes.providers.%s]\nclass_path = "%s:%s"\n' "$1" "$tree/moved.so" "$1" >"$XDG_CONFIG_HOME/sandlot/config.toml" &&
        is source config "$1" && is path "$tree/moved.so" "$1"
    local status=$?
    rm -r "$XDG_CONFIG_HOME/sandlot"
    return $status
}

# All of the kit on what was built here, in a worker: at the emulator of its service, where it has one. That takes a minute, and is left
# to make check-all.
whole_kit() {
    if [ ! -d "$source/tests/vendors/$1" ]; then
        SANDLOT_VFS_FOLDER=$memory make -C "$1" check CHECK='--cycles 5'
        return
    fi
    local library=$PWD/$1/$1.so
    (cd "$source" && SANDLOT=$sandlot BUILD=$built exec tests/vendors/kit.sh "$1" "$library")
}

# project NAME: what its vendor does, and then its user
project() {
    local name=$1 own=$XDG_DATA_HOME/sandlot/providers/$1.so
    check "$name: it is installed beside the built-ins, as a plugin" is_from "$name" "$prefix/lib/sandlot/providers/$name.so"
    check "$name: nothing of it is among the built-ins" test ! -e "$prefix/lib/sandlot/builtins/$name.so"
    rm -f "$prefix/lib/sandlot/providers/$name.so"
    check "$name: without its file there is no such provider" is_gone "$name"
    cp -R "$source/plugins/$name" .
    rm -f "$name"/*.so "$name"/*.o
    check "$name: its makefile is the scaffold's" same_makefile "$name"
    check "$name: without the SDK make says what is missing" sh -c \
        '! PKG_CONFIG_PATH="" PKG_CONFIG_LIBDIR=/nonexistent make -C "$1" 2>"$1.said" && grep -q "development files of Sandlot" "$1.said"' sh "$name"
    check "$name: make, from the installed SDK" make -C "$name" CFLAGS='-O0 -Werror'
    check "$name: plugin check --static" make -C "$name" check CHECK=--static
    [ ! -d "$source/tests/vendors/$name" ] || [ -n "${CI:-}${SANDLOT_TEST_SLOW:-}" ] && check "$name: plugin check, all of it" whole_kit "$name"
    check "$name: make test" make -C "$name" test
    check "$name: make install" make -C "$name" install
    check "$name: it is the one of this user" is_from "$name" "$own"
    check "$name: plugin remove" "$sandlot" plugin remove "$name"
    check "$name: it is gone" is_gone "$name"
    check "$name: a config entry that names a file" declared "$name"
    check "$name: make clean" sh -c 'make -C "$1" clean && ! ls "$1" | grep -E "\.(so|o|deb)$"' sh "$name"
}

for makefile in "$source"/plugins/*/Makefile; do
    name=$(basename "$(dirname "$makefile")")
    check "$name is found in the build folder" sh -c '"$1/sandlot" providers "$2" --json | grep -F "$1/plugins/$2.so"' sh "$built" "$name"
    project "$name"
done
exit $failed
