#!/bin/sh
# Builds the packages: build.sh FOLDER. They are in FOLDER afterwards; what is there already from the same sources stays.
#
# In a copy of what they are made from, below FOLDER: nothing that lies about in the tree comes along, and the tree stays clean.
set -eu

cd "$(dirname "$0")/.."
umask 022
folder=$1
options=${DEB_BUILD_OPTIONS-noautodbgsym parallel=$(nproc)}
# No packages of debugging information unless they are asked for, and then none is compiled that would be thrown away.
case " $options " in *" noautodbgsym "*) export DEB_CFLAGS_STRIP=-g DEB_CXXFLAGS_STRIP=-g ;; esac

# As old as the changelog says, and the same whoever may read them here.
sources() {
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(dpkg-parsechangelog -S Timestamp)" --mode=u+rw,go=rX --exclude='*.o' --exclude='*.so' --exclude='*.deb' \
        --exclude=__pycache__ \
        -cf - Makefile README.md LICENSE CHANGELOG.md core plugins sdk shell include config docs debian
}

made_from=$({ sources && echo "$options" && dpkg-query -W gcc g++ debhelper; } | sha256sum)
[ "$(cat "$folder/made-from" 2>/dev/null)" != "$made_from" ] || {
    ls "$folder"/*.deb
    exit 0
}
rm -rf "$folder"
mkdir -p "$folder/source"
folder=$(cd "$folder" && pwd)
sources | tar -xf - -C "$folder/source"
cd "$folder/source"
debian/update-control.sh
# Nothing of the caller's make.
env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u BUILD -u PREFIX -u DESTDIR -u CC -u CXX -u CFLAGS -u CXXFLAGS -u LDFLAGS \
    DEB_BUILD_OPTIONS="$options" dpkg-buildpackage -b -us -uc >"$folder/log" 2>&1 || {
    tail -n 60 "$folder/log" >&2
    exit 1
}
cd "$folder"
rm -rf source log ./*.buildinfo ./*.changes
echo "$made_from" >made-from
ls "$folder"/*.deb
