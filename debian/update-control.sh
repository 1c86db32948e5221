#!/bin/sh
# Writes the last part of debian/control anew: one package for each folder of plugins/.
#
#   update-control.sh [--check]      --check: only tells whether it is as it should be
set -eu

cd "$(dirname "$0")/.."
file=debian/control
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# The sentence that the provider says of itself.
description_of() {
    sed -n 's/^ *M(description, "\(.*\)").*/\1/p' "plugins/$1/"*.c | head -n 1
}

stanza() {
    description=$(description_of "$1")
    [ -n "$description" ] || {
        echo "debian/update-control.sh: no file of plugins/$1 has a line M(description, \"...\")" >&2
        exit 1
    }
    cat <<END

Package: sandlot-provider-$(echo "$1" | tr _ -)
Architecture: any
Depends: $abi, \${shlibs:Depends}, \${misc:Depends}
Enhances: sandlot
Description: Sandlot: $description
 Sandlot runs commands and edits files in sandboxes, over any provider of
 them, on this machine or in a cloud.
 .
 This package has the provider "$1".
END
}

abi=sandlot-provider-abi-$(sed -n 's/^.define SANDLOT_ABI_MAJOR //p' include/sandlot/provider.h)
sed '/^# ---- providers/,$d' "$file" | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"$new"
{
    echo
    echo "# ---- providers: what follows is written by debian/update-control.sh (make debian/control)"
    # A name that has no description ends this, and so the script.
    debian/providers.sh | while read -r name; do stanza "$name"; done
} >>"$new"
cmp -s "$new" "$file" && exit 0
if [ "${1:-}" = --check ]; then
    diff -u "$file" "$new" || :
    echo "debian/control does not have the packages that follow from plugins/: run make debian/control"
    exit 1
fi
cat "$new" >"$file"
