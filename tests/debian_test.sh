#!/bin/bash
# A bare root of a Debian release does the first of the README's two commands, and the quick ones of the tests.
#
#   tests/debian_test.sh [RELEASE]      trixie, bookworm; without it the one of these that this machine is not
#
# debootstrap makes the root in a temporary folder, with this machine's apt sources, under the other release's name, its proxies and
# keys. Everything runs in a mount namespace of its own, so that nothing stays mounted. Packages are kept in BUILD/debian for the
# next time. It takes root and some minutes; without those it skips, but where CI is set it fails.
set -u

cd "$(dirname "$0")/.." || exit 2
BUILD=${BUILD:-$PWD/build}
# shellcheck disable=SC1091
here=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
release=${1:-}
[ -n "$release" ] || { release=trixie && [ "$here" != trixie ]; } || release=bookworm
jobs=$(nproc)
kept=$BUILD/debian/$release

without() {
    if [ -n "${CI:-}" ]; then
        echo "not ok $release: $1"
        exit 1
    fi
    echo "$release: $1"
    exit 77
}

if [ "${SANDLOT_TEST_DEBIAN:-}" != "$release" ]; then
    [ "$(id -u)" = 0 ] || without "a root is made by root only"
    command -v debootstrap >/dev/null || without "debootstrap is not installed (make deps)"
    unshare -m --propagation private true 2>/dev/null || without "no mount namespace can be made here"
    SANDLOT_TEST_DEBIAN=$release exec unshare -m --propagation private bash "$0" "$release"
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/sandlot-debian.XXXXXX") || exit 2
root=$scratch/root
failed=0
trap cleanup EXIT
trap 'exit 130' INT TERM
# What is mounted below goes first: never rm through a mount.
cleanup() {
    umount -R -l "$root" 2>/dev/null
    mountpoint -q "$root" || rm -rf "$scratch"
}

# report NAME LOG COMMAND...: one line; the end of LOG if it fails
report() {
    local name=$1 log=$2
    shift 2
    if "$@" >"$log" 2>&1 </dev/null; then
        echo "ok $release: $name"
    else
        echo "not ok $release: $name"
        tail -n 40 "$log" | sed 's/^/# /'
        failed=1
        return 1
    fi
}

# inside COMMAND...: in the root, as on a machine where nobody has configured anything. Not chroot(8): below it the kernel
# allows no user namespaces.
inside() {
    unshare -m --propagation private bash -c 'cd "$1" && shift && pivot_root . . && umount -l . &&
        exec /usr/bin/env -i -C /root/sandlot HOME=/root LANG=C.UTF-8 TERM=dumb \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' - "$root" "$@"
}

# ---- this machine's apt ----

# sources: "URI SUITE KEYRING" of each of this machine's sources that has Debian itself
sources() {
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(SIGNED_BY)' 'Created-By: Packages' 'Component: main' |
        awk -v here="$here" '$2 == here || index($2, here "-") == 1 { sub(/^\$.*/, "", $3); print $1, $2, $3 }' | sort -u
}

configure_apt() {
    local uri suite keyring file
    mkdir -p "$root/etc/apt/apt.conf.d" "$root/etc/apt/sources.list.d" "$root/etc/apt/trusted.gpg.d" || return 1
    : >"$root/etc/apt/sources.list"
    while read -r uri suite keyring; do
        [ ! -f "$keyring" ] || install -D -m 644 "$keyring" "$root$keyring" || return 1
        echo "deb ${keyring:+[signed-by=$keyring] }$uri $release${suite#"$here"} main" >>"$root/etc/apt/sources.list"
    done <"$scratch/sources"
    # Proxies, certificates and the like; the rest of the configuration is the other machine's own.
    apt-config dump | grep -E '^Acquire::(https?|Retries|ForceIPv[46]|Check-Valid-Until|Proxy)\b' >"$root/etc/apt/apt.conf.d/50host"
    echo "Dir::Cache::archives \"/var/cache/kept\"; APT::Keep-Downloaded-Packages \"true\";" >>"$root/etc/apt/apt.conf.d/50host"
    for file in /etc/apt/trusted.gpg.d/* /etc/apt/auth.conf /etc/apt/auth.conf.d/* /etc/resolv.conf /etc/hosts \
        /etc/ssl/certs/ca-certificates.crt /usr/local/share/ca-certificates/*; do
        [ ! -f "$file" ] || install -D -m 644 "$file" "$root$file" || return 1
    done
}

make_root() {
    local uri suite keyring
    read -r uri suite keyring < <(awk -v here="$here" '$2 == here' "$scratch/sources")
    # shellcheck disable=SC2154 # set by what apt-config prints
    eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)" && export ${http_proxy:+http_proxy} ${https_proxy:+https_proxy}
    # Packages are not written to the disk one by one: whoever loses power makes another root.
    mkdir -p "$root/etc/dpkg/dpkg.cfg.d" "$kept" && echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io" || return 1
    debootstrap --variant=minbase --include=make --cache-dir="$kept" ${keyring:+--keyring="$keyring"} \
        "$release" "$root" "$uri"
}

mount_root() {
    mount --bind "$root" "$root" && mkdir -p "$root/var/cache/kept/partial" && mount --bind "$kept" "$root/var/cache/kept" &&
        mkdir -p "$kept/partial" && mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" &&
        mount --rbind /dev "$root/dev"
}

copy_tree() {
    mkdir "$root/root/sandlot" &&
        tar -cf - Makefile README.md core plugins sdk include tests config docs .clang-* | tar -xf - -C "$root/root/sandlot"
}

# ---- the tests there ----

# quick: the programs, those that take longest first
quick() {
    printf '%s\n' tests/operations/native_test.sh tests/local/rootfs_test.sh tests/cli/{exec,lifecycle,config,environment}_test.sh \
        tests/cli/{json,usage,plugin,plugin_command,shell,lost_answer}_test.sh tests/install_test.sh build/tests/local/box_test
    for source in tests/unit/*_test.c; do
        source=${source##*/}
        echo "build/tests/${source%.c}"
    done
}

# tell: what run.sh says of each program, as lines of this one
tell() {
    sed -nE "s/^ *[0-9.]+ s +[0-9.]+ s  ([^ ]+) +ok.*/ok $release: \1/p; s/^ *[0-9.]+ s +[0-9.]+ s  ([^ ]+) +SKIP: (.*)/ok $release: \1 # SKIP \2/p
        s/^ *[0-9.]+ s +[0-9.]+ s  ([^ ]+) +FAILED.*/not ok $release: \1/p; s/^    \| (.*)/# \1/p" "$1"
}

sources >"$scratch/sources"
[ -s "$scratch/sources" ] || without "apt has no source of Debian $here, whose mirror could be asked"
mirror=$(awk -v here="$here" '$2 == here { print $1; exit }' "$scratch/sources")
/usr/lib/apt/apt-helper download-file "${mirror}dists/$release/InRelease" "$scratch/InRelease" >"$scratch/mirror.log" 2>&1 ||
    without "the mirror does not have it, or cannot be reached: $(grep -m 1 '^E:' "$scratch/mirror.log")"
report "a bare root" "$scratch/root.log" make_root || exit 1
report "apt is configured as on this machine" "$scratch/apt.log" configure_apt || exit 1
report "it is mounted" "$scratch/mount.log" mount_root || exit 1
report "the source tree is copied" "$scratch/copy.log" copy_tree || exit 1
report "make run" "$scratch/run.log" inside make run || exit 1
report "packages of the quick tests" "$scratch/packages.log" inside config/install-packages.sh build unit quick || exit 1
report "the test programs are built" "$scratch/programs.log" inside make -j "$jobs" programs || exit 1
mapfile -t programs < <(quick)
inside tests/run.sh -b build -j "$((jobs + 1))" -t 600 "${programs[@]}" >"$scratch/tests.log" 2>&1 || failed=1
tell "$scratch/tests.log"
grep -q ' passed, ' "$scratch/tests.log" || {
    echo "not ok $release: the tests ran to their end"
    tail -n 20 "$scratch/tests.log" | sed 's/^/# /'
}
exit "$failed"
