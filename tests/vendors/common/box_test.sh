#!/bin/bash
# What boxes promise that no service shows by itself: above all that nobody waits for another, see box_cases.mjs.
# shellcheck disable=SC1091,SC2154
. tests/vendors/lib.sh
need_vendors
mkdir "$js" && cp -R tests/vendors/common "$js/" && ln -s "$box_agent" "$js/" || exit 2
timeout -k 5 "$LIMIT" "$node" "$js/common/box_cases.mjs" </dev/null || failures=$((failures + 1))
