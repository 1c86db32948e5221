# shellcheck shell=bash disable=SC2034,SC2154
# Helpers of the tests of the conformance kit, sourced after lib.sh.

kit=$BUILD/modules/sandlot-plugin-check
faulty=$BUILD/tests/plugins/conformance_faulty.so
export CONFORMANCE_FAULTY_KEY=key-of-the-test-1234
mkdir -p "$scratch/boxes"

# kit ARGUMENT...: runs it. Sets status; what it prints is in $scratch/tap.
kit() {
    ran="sandlot-plugin-check $*"
    timeout -k 5 "$LIMIT" "$kit" "$@" >"$scratch/tap" 2>"$scratch/err" </dev/null
    status=$?
    out=$(tr -d '\0' <"$scratch/tap")
    err=$(cat "$scratch/err")
}

failed_checks() { sed -n 's/^not ok [0-9]* - //p' "$scratch/tap"; }

# passes NAME ARGUMENT...: nothing fails.
passes() {
    local name=$1
    shift
    kit "$@"
    if [ "$status" = 0 ] && [ -z "$(failed_checks)" ]; then ok "$name"; else
        not_ok "$name" "$(grep -A 5 '^not ok' "$scratch/tap" | cut -c 1-300)
$err"
    fi
}

# finds NAME CHECKS ARGUMENT...: just these checks fail, "|" between them.
finds() {
    local name=$1 wanted=$2
    shift 2
    kit "$@"
    if [ "$status" = 1 ] && [ "$(failed_checks | paste -sd '|')" = "$wanted" ]; then ok "$name"; else
        not_ok "$name" "wanted status 1 and: $wanted
came status $status and: $(failed_checks | paste -sd '|')
$(grep -A 5 '^not ok' "$scratch/tap" | cut -c 1-300)
$err"
    fi
}

# fault NAME CHECKS FAULT GROUP [ARGUMENT...]: the faulty provider with this fault.
fault() {
    local name=$1 wanted=$2 fault=$3 group=$4
    shift 4
    finds "$name" "$wanted" --only "$group" --param folder="$scratch/boxes" --param fault="$fault" "$@" "$faulty"
    rm -rf "$scratch/boxes" && mkdir "$scratch/boxes"
}

# Every line is TAP: results are numbered from 1, the plan fits, and what else there is is indented or a comment.
is_tap() {
    awk '/^(not )?ok / { sub(/^not /, ""); if ($2 != ++number || $3 != "-") bad = 1; next }
        /^1\.\.[0-9]+$/ { if (substr($0, 4) != number) bad = 1; plans++; next }
        /^(TAP version 14$|Bail out! |#|  )/ { next } { bad = 1 } END { exit bad || plans != 1 }' "$scratch/tap"
}

# What is left is in err, which a check shows.
nothing_is_left() {
    err=$(ls -lA --full-time "$scratch/boxes" | sed 1d; find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'sandlot-plugin-check-*' -user "$(id -u)" -exec ls -lAR --full-time {} +)
    [ -z "$err" ]
}
