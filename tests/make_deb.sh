#!/bin/sh
# `make deb` of the tree in the current folder, for tests: make_deb.sh BUILD KEPT. What the compiler of C makes is kept in the folder KEPT,
# from where another call with the same KEPT takes it, if there is ccache.
#
# It is found by the text that the preprocessor has made, by options and compiler, never by names or times of files. So a call from
# another place that finds it has proved that place, time zone and language are in none of these. C++ is always compiled: for
# what has no name in it, its compiler may draw one. There are no lines for a debugger, in which the place would be.
set -eu

build=$1 kept=$2
if command -v ccache >/dev/null; then
    mkdir -p "$kept/bin"
    ln -sfn "$(command -v ccache)" "$kept/bin/gcc"
    # The language of messages is no part of what is made.
    export PATH="$kept/bin:$PATH" CCACHE_DIR="$kept" CCACHE_NODIRECT=1 CCACHE_SLOPPINESS=locale CCACHE_MAXSIZE=500M
    unset CCACHE_DISABLE
fi
exec make deb BUILD="$build"
