#!/bin/sh
# Installs the Debian packages of config/packages that are missing.
#
#   install-packages.sh [--check] KIND...      KIND: build, unit, quick, test, deb
#
# Quick and silent when nothing is missing. --check only looks. Ends with 1 if something without which nothing compiles is
# missing afterwards (kinds build and unit); of kinds quick and test it is only told, because the tests that need it skip.
set -eu

folder=$(dirname "$0")
look_only=false
if [ "${1:-}" = --check ]; then
    look_only=true
    shift
fi

command -v dpkg-query >/dev/null 2>&1 || exit 0 # not Debian: the compiler will tell what is missing

# packages KIND...: the names of these kinds, without those whose program is there already
packages() {
    awk -v kinds=" $* " '/^[^#]/ && index(kinds, " " $1 " ") { print $2 }' "$folder/packages" | while IFS='?' read -r name program; do
        [ -n "$program" ] && command -v "$program" >/dev/null || echo "$name"
    done
}

# missing NAME...: those that are not installed. dpkg-query fails if it does not know one of them, which is no error here.
missing() {
    { dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null || :; } |
        awk -v wanted="$*" '$1 == "ii" { have[$2] = 1 }
                            END { n = split(wanted, name, " ")
                                  for (i = 1; i <= n; i++) if (!(name[i] in have)) printf " %s", name[i] }'
}

# shellcheck disable=SC2046 # package names hold no blanks
lacking=$(missing $(packages "$@"))
[ -n "$lacking" ] || exit 0

command="apt-get install -y --no-install-recommends$lacking"
as_root=
if [ "$(id -u)" != 0 ]; then
    as_root="sudo -n"
fi
if $look_only; then
    echo "sandlot: these packages are missing:$lacking" >&2
    echo "sandlot: install them with 'make deps', or as root: $command" >&2
elif [ -n "$as_root" ] && ! sudo -n true 2>/dev/null; then
    echo "sandlot: these packages are missing and only root can install them:$lacking" >&2
    echo "sandlot: run: sudo sh -c 'apt-get update && $command'" >&2
else
    echo "sandlot: installing$lacking" >&2
    # A machine without network may still have the packages in its cache, so a failed update is not the end.
    # shellcheck disable=SC2086 # as_root is empty or two words
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2 ||
        echo "sandlot: apt-get update failed; trying with the package lists that are there" >&2
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive $command >&2 ||
        echo "sandlot: apt-get could not install$lacking; its reason stands above" >&2
fi

needed=build
case " $* " in *" unit "*) needed="build unit" ;; esac
# shellcheck disable=SC2046,SC2086 # two words
lacking=$(missing $(packages $needed))
[ -z "$lacking" ] || {
    echo "sandlot: nothing can be built without:$lacking" >&2
    exit 1
}
