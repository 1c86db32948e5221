#!/bin/bash
# Runs every fuzz target for FUZZ_SECONDS over its seeds. What it finds is left in $BUILD/fuzz/findings/. FUZZ_SEED makes chance
# the same each time.
set -u

seconds=${FUZZ_SECONDS:-60}
findings=$BUILD/fuzz/findings
failed=0
found=0
mkdir -p "$findings" || exit 2
shopt -s nullglob
for source in tests/fuzz/*_fuzz.c; do
    name=$(basename "${source%.c}")
    [ -x "$BUILD/fuzz/$name" ] || {
        echo "not ok $name: $BUILD/fuzz/$name is not built; run make fuzzers"
        failed=1
        continue
    }
    found=1
    grown=$TMPDIR/$name
    mkdir "$grown"
    seeds=(tests/fuzz/corpus/"${name%_fuzz}"/ tests/fuzz/corpus/"$name"/)
    present=()
    for folder in "${seeds[@]}"; do [ ! -d "$folder" ] || present+=("$folder"); done
    if "$BUILD/fuzz/$name" ${FUZZ_SEED:+-seed="$FUZZ_SEED"} -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 \
        -max_len=131072 -print_final_stats=1 -verbosity=1 -artifact_prefix="$findings/$name-" "$grown" "${present[@]}" 2>&1 |
        grep -v '^#[0-9]*[[:space:]]*\(NEW\|REDUCE\|pulse\)\|# Uses: '
        [ "${PIPESTATUS[0]}" = 0 ]; then
        echo "ok $name"
    else
        echo "not ok $name: see $findings"
        failed=1
    fi
done
[ $found = 1 ] || [ $failed = 1 ] || {
    echo "there are no fuzz targets"
    exit 1
}
exit $failed
