#!/bin/sh
# Installs a page of the source tree: its links lead to where things are installed, and where a thing is not, its words stay alone.
# install-page.sh PAGE TARGET UP: UP leads from the folder of TARGET to PREFIX.
set -eu

sed -E \
    -e 's,\]\(((\.\./)*)sdk/examples/,](\1examples/,g' \
    -e 's,\]\(((\.\./)*)sdk(/README\.md)?\),](\1providers.md),g' \
    -e 's,\]\(config/apparmor/sandlot-local-keeper\),](apparmor-profile),g' \
    -e "s,\]\((\.\./)*include/,]($3/include/,g" \
    -e 's,\[([^]]*)\]\((\.\./)*(core|plugins|tests|config|debian|sdk/python|sdk/javascript|lib|conformance|CONTRIBUTING\.md|SECURITY\.md|CHANGELOG\.md|LICENSE)(/[^)]*)?\),\1,g' \
    "$1" >"$2"
chmod 644 "$2"
