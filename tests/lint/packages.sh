#!/bin/bash
# debian/ follows from the tree: a package for each provider, the libraries that config/packages names, one version.
set -u

failed=0
complain() {
    echo "$1"
    failed=1
}

debian/update-control.sh --check || failed=1

wanted=$(awk '$1 == "build" && $2 != "build-essential" { print $2 }' config/packages | sort)
found=$(sed -n '/^Build-Depends:/,/^[^ B]/{s/^Build-Depends: *//; s/^ *//; s/,$//; /^[a-z]/p}' debian/control | grep -v '^debhelper-compat' | sort)
[ "$wanted" = "$found" ] || complain "Build-Depends of debian/control are not the packages of kind build in config/packages: $(
    diff <(echo "$wanted") <(echo "$found") | grep '^[<>]' | tr '\n' ' '
)"

version=$(sed -n 's/^.define SANDLOT_VERSION "\(.*\)"/\1/p' include/sandlot/sandlot.h)
[ "$(sed -n '1s/^sandlot (\(.*\)) .*/\1/p' debian/changelog)" = "$version" ] || complain "debian/changelog does not begin with version $version"
[ "$(sed -n 's/^## //p' CHANGELOG.md | head -n 1)" = "$version" ] || complain "CHANGELOG.md does not begin with version $version"

# What a provider says of its package is what its package is called.
while read -r name; do
    grep -q "M(package, \"sandlot-provider-${name//_/-}\")" plugins/"$name"/*.c ||
        complain "plugins/$name does not say M(package, \"sandlot-provider-${name//_/-}\")"
done < <(debian/providers.sh)
exit $failed
