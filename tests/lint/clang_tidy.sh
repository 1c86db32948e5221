#!/bin/bash
# clang-tidy over the code of the project and its tests, with the checks of .clang-tidy.
set -u

command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed"; exit 77; }
# one FILE: with the include path of its room
cat >"$TMPDIR/one" <<'END'
checks=
case $1 in
    core/*) include=-Icore ;;
    sdk/lib/*) include=-Isdk/include ;;
    plugins/*) include='-Isdk/include -Iplugins/local' ;;
    tests/vendors/*) include="-Isdk/include -Iplugins/$(echo "$1" | cut -d / -f 3)" ;;
    *)
        include='-Icore -Isdk/include -Iplugins/local -Itests/unit'
        # The analyzer does not know that an assertion of cmocka that fails does not return.
        checks=--checks=-clang-analyzer-core.* ;;
esac
# shellcheck disable=SC2086 # words
exec clang-tidy --quiet $checks "$1" -- -std=c11 -D_GNU_SOURCE -Iinclude $include 2>&1
END
# tests/abi/newer/newer.c is for a header that only its test makes.
find core plugins sdk tests -name '*.c' ! -path 'tests/plugins/*' ! -path '*/newer/newer.c' -print0 |
    xargs -0 -n 1 -P "$(nproc)" sh "$TMPDIR/one" | grep -v '^[0-9]* warnings\? generated\|^Suppressed \|^Use -header-filter'
[ "${PIPESTATUS[1]}" = 0 ]
