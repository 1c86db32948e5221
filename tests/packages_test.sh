#!/bin/bash
# `make deb`: the packages are built, twice with the same bytes, lintian has nothing to say, and a bare root of this machine's release
# installs, upgrades, runs and purges them (tests/debian_test.sh does that for the other release).
set -u

scratch=$(mktemp -d /var/tmp/sandlot-packages.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
failed=0
check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$scratch/output" 2>&1 </dev/null; then
        echo "ok $name"
    else
        echo "not ok $name"
        tail -n 40 "$scratch/output" | sed 's/^/    /'
        failed=1
    fi
}

for tool in dpkg-buildpackage dh lintian; do
    command -v "$tool" >/dev/null && continue
    echo "$tool is not installed (make deps)"
    [ -n "${CI:-}" ] && exit 1
    exit 77
done

debs=$BUILD/deb
check "make deb" tests/make_deb.sh "$BUILD" "$BUILD/debian/compiled"
[ "$failed" = 0 ] || exit 1
while read -r name; do
    check "the package of $name" test -f "$debs/sandlot-provider-${name//_/-}_"*.deb
done < <(debian/providers.sh)
check "lintian: neither error nor warning" lintian --fail-on error,warning "$debs"/*.deb

# Another place, another time zone and language, and files that only their owner may read.
make_deb=$PWD/tests/make_deb.sh
again() {
    mkdir "$scratch/elsewhere" && tar -cf - Makefile README.md LICENSE CHANGELOG.md core plugins sdk shell include config docs debian |
        tar -xf - -C "$scratch/elsewhere" &&
        (cd "$scratch/elsewhere" && umask 077 && chmod -R go= . && TZ=Pacific/Kiritimati LC_ALL=C "$make_deb" build "$BUILD/debian/compiled")
}
same_bytes() {
    local file
    for file in "$debs"/*.deb; do cmp "$file" "$scratch/elsewhere/build/deb/${file##*/}" || return 1; done
}
check "again, elsewhere" again
check "the same bytes" same_bytes

# shellcheck disable=SC1091
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
if [ "$(id -u)" = 0 ]; then
    tests/debian_test.sh --packages "$release"
    case $? in 0 | 77) ;; *) failed=1 ;; esac
else
    echo "ok a bare root of $release # SKIP a root is made by root only"
fi
exit $failed
