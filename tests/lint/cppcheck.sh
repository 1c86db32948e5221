#!/bin/bash
# cppcheck over everything that ships and is C.
set -u

command -v cppcheck >/dev/null || { echo "cppcheck is not installed"; exit 77; }
cppcheck -q -j "$(nproc)" --std=c11 --language=c --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
    --suppressions-list=tests/lint/cppcheck.suppressions --library=posix -D_GNU_SOURCE -D__GNUC__=12 \
    -i core/config/toml_tree.cc -i sdk/examples/cpp/minimal.cc -i sdk/scaffold/cpp/scaffold.cc \
    -Iinclude -Icore -Iplugins/local -Isdk/include core plugins sdk
