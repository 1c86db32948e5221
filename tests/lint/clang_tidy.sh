#!/bin/bash
# clang-tidy over the code of the project and its tests, with the checks of .clang-tidy: over what has changed, or all
# (changed_files.sh).
set -u

command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed"; exit 77; }
# some FILE...: with the include path of their room. The analyzer walks 10,000 states of a function instead of 225,000: that takes a fifth
# of the time, and what is left out are paths through loops that it has walked before. It needs a process for each file, because what it
# has kept of the names in one (of va_start, say) is wrong in the next.
cat >"$TMPDIR/some" <<'END'
failed=0
tests=()
tidy() { clang-tidy --quiet "$@" -std=c11 -D_GNU_SOURCE -Iinclude 2>&1 || failed=1; }
for file; do
    case $file in
        core/*) include=(-Icore) ;;
        sdk/lib/*) include=(-Isdk/include) ;;
        plugins/*) include=(-Isdk/include -Iplugins/local "-I$BUILD/plugins/modal") ;;
        tests/vendors/*) include=(-Isdk/include "-Iplugins/$(echo "$file" | cut -d / -f 3)") ;;
        *)
            tests+=("$file")
            continue ;;
    esac
    tidy "$file" -- "${include[@]}" -Xclang -analyzer-config -Xclang max-nodes=10000
done
# The analyzer does not know that an assertion of cmocka that fails does not return, and what it looks for in tests the sanitizers see
# when they run.
[ "${#tests[@]}" = 0 ] || tidy "--checks=-clang-analyzer-*" "${tests[@]}" -- \
    -Icore -Isdk/include -Iplugins/local -Itests/unit -Iplugins/modal "-I$BUILD/plugins/modal" -Iplugins/kubernetes
exit "$failed"
END
# tests/abi/newer/newer.c is for a header that only its test makes.
find core plugins sdk tests -name '*.c' ! -path 'tests/plugins/*' ! -path '*/newer/newer.c' -print0 |
    tests/changed_files.sh | xargs -0r -n 8 -P "$(nproc)" bash "$TMPDIR/some" | grep -v '^[0-9]* warnings\? generated\|^Suppressed \|^Use -header-filter'
[ "${PIPESTATUS[2]}" = 0 ]
