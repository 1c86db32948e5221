#!/bin/bash
# clang-tidy over the code of the project and its tests, with the checks of .clang-tidy: over what has changed, or all
# (changed_files.sh).
set -u

command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed"; exit 77; }
# one FILE: with the include path of its room. The analyzer walks 10,000 states of a function instead of 225,000: that takes a fifth of
# the time, and what is left out are paths through loops that it has walked before.
cat >"$TMPDIR/one" <<'END'
checks= engine="-Xclang -analyzer-config -Xclang max-nodes=10000"
case $1 in
    core/*) include=-Icore ;;
    sdk/lib/*) include=-Isdk/include ;;
    plugins/*) include="-Isdk/include -Iplugins/local -I$BUILD/plugins/modal" ;;
    tests/vendors/*) include="-Isdk/include -Iplugins/$(echo "$1" | cut -d / -f 3)" ;;
    *)
        include="-Icore -Isdk/include -Iplugins/local -Itests/unit -Iplugins/modal -I$BUILD/plugins/modal -Iplugins/kubernetes"
        # The analyzer does not know that an assertion of cmocka that fails does not return, and what it looks for in tests the
        # sanitizers see when they run.
        checks=--checks=-clang-analyzer-* ;;
esac
# shellcheck disable=SC2086 # words
exec clang-tidy --quiet $checks "$1" -- -std=c11 -D_GNU_SOURCE -Iinclude $include $engine 2>&1
END
# tests/abi/newer/newer.c is for a header that only its test makes.
find core plugins sdk tests -name '*.c' ! -path 'tests/plugins/*' ! -path '*/newer/newer.c' -print0 |
    tests/changed_files.sh | xargs -0r -n 1 -P "$(nproc)" sh "$TMPDIR/one" | grep -v '^[0-9]* warnings\? generated\|^Suppressed \|^Use -header-filter'
[ "${PIPESTATUS[2]}" = 0 ]
