#!/bin/bash
# The rows on `local`, whose files are reached directly.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/rows.sh"
need_local

way=native
provider=(--sandbox local)
making=()
rows_run execute read write edit list grep glob delete transfer lifecycle
nothing_left "nothing is left"

# ---- a wall that test(1) in the sandbox knows nothing of: Landlock alone ----
closed=$HOME/closed
mkdir "$closed"
echo secret | tee "$closed/file" >"$closed/other"
: >"$closed/empty"
if id=$("$SANDLOT" -q create --sandbox local --param confinement=landlock </dev/null 2>/dev/null); then
    walled() { # VERB ARGUMENT...: is refused
        json "landlock: $1 ${*: -1} is refused" 1 '.error == "permission_denied"' "$1" --sandbox local --sandbox-id "$id" "${@:2}"
    }
    walled read "$closed/file"
    walled read "$closed/empty"
    walled download "$closed/file" "$scratch/got"
    walled download "$closed/file" "$scratch/got" "$closed/other" "$scratch/other"
    walled download -r "$closed" "$scratch/tree"
    walled edit --old secret --new public "$closed/file"
    walled edit --old '' --new public "$closed/empty"
    walled grep secret "$closed/file"
    walled grep secret "$closed"
    walled glob '*' "$closed"
    walled ls "$closed"
    check "landlock: and nothing has changed" test "$(cat "$closed"/*)" = "$(printf 'secret\nsecret')"
    "$SANDLOT" -q delete "$id" >/dev/null
else
    ok "landlock # SKIP there is no Landlock"
fi
