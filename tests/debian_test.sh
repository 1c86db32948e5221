#!/bin/bash
# A bare root of a Debian release has the packages of `make deb` installed, upgraded, used and purged, and does the first of the README's
# two commands, and the quick ones of the tests.
#
#   tests/debian_test.sh [--packages] [RELEASE]      trixie, bookworm; without it the one of these that this machine is not
#
# --packages: only what the packages are about.
#
# debootstrap makes the root in a temporary folder, with this machine's apt sources, under the other release's name, its proxies and
# keys. Everything runs in a mount namespace of its own, so that nothing stays mounted. Packages are kept in BUILD/debian for the
# next time. It takes root and some minutes; without those it skips, but where CI is set it fails.
set -u

cd "$(dirname "$0")/.." || exit 2
BUILD=${BUILD:-$PWD/build}
only_packages=
if [ "${1:-}" = --packages ]; then
    only_packages=$1
    shift
fi
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
    SANDLOT_TEST_DEBIAN=$release exec unshare -m --propagation private bash "$0" ${only_packages:+"$only_packages"} "$release"
fi

scratch=$(mktemp -d /var/tmp/sandlot-debian.XXXXXX) || exit 2
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
    # Packages are not written to the disk one by one: whoever loses power makes another root. Of the thousands of files that nobody
    # reads here there are only ours.
    mkdir -p "$root/etc/dpkg/dpkg.cfg.d" "$kept" &&
        printf '%s\n' force-unsafe-io path-exclude=/usr/share/{doc,man,info,locale}/'*' 'path-include=*sandlot*' >"$root/etc/dpkg/dpkg.cfg.d/quick" || return 1
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
        tar -cf - Makefile README.md LICENSE CHANGELOG.md core plugins sdk shell include tests config docs debian .clang-* | tar -xf - -C "$root/root/sandlot"
}

# ---- the packages ----

build_packages() { env -u SANDLOT_TEST_DEBIAN tests/make_deb.sh "$BUILD" "$BUILD/debian/compiled"; }

copy_packages() {
    local unpacked=$scratch/unpacked
    mkdir "$root/root/debs" && cp "$BUILD"/deb/*.deb "$root/root/debs/" &&
        dpkg-deb -R "$BUILD"/deb/sandlot_*.deb "$unpacked" && sed -i 's/^Version: .*/Version: 0.0.1/' "$unpacked/DEBIAN/control" &&
        dpkg-deb --root-owner-group -Znone -b "$unpacked" "$root/root/debs/older.deb"
}

apt() { inside env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Use-Pty=0 --no-install-recommends "$@"; }
script() { inside sh -euc "$1"; }

# package_rows: each builds on those before it. What is quoted runs in the root.
# shellcheck disable=SC2016
package_rows() {
    report "packages: apt knows its packages" "$scratch/apt.log" apt update || return 1
    report "packages: apt installs the one file" "$scratch/apt.log" apt install /root/debs/older.deb || return 1
    report "packages: a box" "$scratch/apt.log" script 'test "$(sandlot exec -- "echo \$((6 * 7))")" = 42'
    report "packages: no libcurl, as nothing of a cloud is there" "$scratch/apt.log" script '! ls /usr/lib/*/ | grep libcurl'
    report "packages: a built-in that is not there names its package" "$scratch/apt.log" script \
        '! sandlot exec --sandbox modal -- true 2>/tmp/said && grep -F "apt install sandlot-provider-modal" /tmp/said'
    report "packages: so does a plugin of ours" "$scratch/apt.log" script \
        '! sandlot exec --sandbox e2b -- true 2>/tmp/said && grep -F "apt install sandlot-provider-e2b" /tmp/said'
    report "packages: and what plugins begin with" "$scratch/apt.log" script \
        '! sandlot plugin new acme 2>/tmp/said && grep -F "libsandlot-dev" /tmp/said'
    report "packages: a box outlives the upgrade" "$scratch/apt.log" script 'id=$(sandlot create); echo "$id" >/tmp/box
        sandlot write --sandbox-id "$id" kept.txt </etc/hostname'
    report "packages: the upgrade" "$scratch/apt.log" script "DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Use-Pty=0 --no-install-recommends install /root/debs/sandlot_*.deb"
    report "packages: the box is there, and is deleted" "$scratch/apt.log" script 'sandlot read --sandbox-id "$(cat /tmp/box)" kept.txt
        sandlot delete "$(cat /tmp/box)"'
    apparmor_rows
    tour_rows
    report "packages: all of them" "$scratch/apt.log" script 'DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Use-Pty=0 \
        --no-install-recommends install $(ls /root/debs/*_*.deb | grep -v libsandlot-dev)'
    report "packages: every provider is installed, and owned by its package" "$scratch/apt.log" script 'sandlot providers >/tmp/said
        for name in $(debian/providers.sh); do
            grep "^$name " /tmp/said
            test "$(dpkg -S "*/$name.so" | cut -d: -f1)" = "sandlot-provider-$name"
        done; ! grep "not installed" /tmp/said'
    report "packages: Python" "$scratch/apt.log" script 'test "$(python3 -c "from sandlot import Sandbox
with Sandbox() as box: print(box.execute(\"echo 42\").text)")" = 42'
    report "packages: the provider for Deep Agents Code" "$scratch/apt.log" script 'python3 -c "import importlib.metadata as told
print(told.version(\"sandlot\"), *told.entry_points(group=\"deepagents_code.sandbox_providers\"))" | grep -F "sandlot.deepagents:SandlotProvider"'
    [ -n "$only_packages" ] || developer_rows
    report "packages: purged" "$scratch/apt.log" script \
        'DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Use-Pty=0 purge "sandlot*" "libsandlot*" python3-sandlot'
    report "packages: nothing is left" "$scratch/apt.log" script \
        '! find /etc /usr /var/lib -xdev -iname "*sandlot*" ! -path "/var/lib/dpkg/*-old" | grep .'
}

# Only AppArmor 4 and later can read the profile; it comes after Sandlot here.
apparmor_rows() {
    local profile=/etc/apparmor.d/sandlot-local-keeper
    report "packages: AppArmor comes later" "$scratch/apt.log" apt install apparmor || return 1
    if [ -e "$root/etc/apparmor.d/abi/4.0" ]; then
        report "packages: it gets the profile" "$scratch/apt.log" script "test -L $profile && apparmor_parser -Q -K $profile"
    else
        report "packages: one that cannot read the profile does not get it" "$scratch/apt.log" script "! test -e $profile"
    fi
    report "packages: and loses it with Sandlot" "$scratch/apt.log" script "dpkg --remove sandlot && ! test -L $profile &&
        dpkg -i /root/debs/sandlot_*.deb"
}

# tour_ready: a folder in the root with what a reader of README.md has, and with what is typed in its tour
tour_ready() {
    local place=$root/root/tour
    mkdir -p "$place/build" "$scratch/acme" && ln -s /usr/bin/sandlot "$place/build/sandlot" && cp -R core "$place/" &&
        printf 'check:\n\techo checked\n' >"$place/Makefile" &&
        printf '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n' >"$place/hello.c" &&
        (cd "$scratch/acme" && env -u BUILD "$BUILD/sandlot" -q plugin new acme && env -u BUILD make -C acme) && cp "$scratch/acme/acme/acme.so" "$place/" &&
        awk '/^## / { tour = /^## A tour$/ } /^```/ { typed = $0 == "```sh"; next } tour && typed' README.md >"$place/typed" && test -s "$place/typed" || return 1
    # Packages are for the release that they are built on; patches are written by its libgit2, which the other does not have.
    [ "$release" = "$here" ] || sed -i '/sandlot export /d' "$place/typed"
}

# As a user installs it, with what apt takes along by itself.
# shellcheck disable=SC2016
tour_rows() {
    report "packages: a tour is ready" "$scratch/apt.log" tour_ready || return 1
    report "packages: removed, and installed with what it recommends" "$scratch/apt.log" script 'dpkg --remove sandlot
        DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Use-Pty=0 install /root/debs/sandlot_*.deb' &&
        report "packages: what the tour uses besides" "$scratch/apt.log" apt install gcc libc6-dev jq &&
        report "packages: the tour of README.md, as printed" "$scratch/apt.log" script 'cd /root/tour && bash -eo pipefail typed'
}

# What a vendor does, with packages alone. What it installs `make run` would install later.
# shellcheck disable=SC2016
developer_rows() {
    report "packages: what a provider is built with" "$scratch/apt.log" apt install build-essential "${development[@]}" || return 1
    report "packages: a project makes a package" "$scratch/apt.log" script 'cd /tmp && sandlot plugin new acme && cd acme && make &&
        make deb && dpkg-deb -f ./*.deb Depends | grep -F sandlot-provider-abi-1'
    report "packages: which is installed and used" "$scratch/apt.log" script 'dpkg -i /tmp/acme/*.deb &&
        test "$(sandlot exec --sandbox acme -- "echo \$((6 * 7))")" = 42'
    report "packages: it needs a Sandlot" "$scratch/apt.log" script '! dpkg --remove sandlot && dpkg --purge sandlot-provider-acme'
    report "packages: the conformance kit" "$scratch/apt.log" script 'cd /tmp/acme && make check CHECK=--static'
    report "packages: the line that README has links a program" "$scratch/apt.log" script 'cd /tmp && cp /root/sandlot/sdk/examples/embedding/embedding.c . &&
        cc -D_GNU_SOURCE -o embedding embedding.c $(pkg-config --cflags --libs sandlot) && ./embedding'
}

# ---- the tests there ----

# quick: the programs, those that take longest first
quick() {
    printf '%s\n' tests/operations/native_test.sh tests/local/rootfs_test.sh tests/cli/{exec,lifecycle,config,environment,network}_test.sh \
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
report "make deb, on this machine" "$scratch/deb.log" build_packages || exit 1
report "its packages are copied" "$scratch/deb.log" copy_packages || exit 1
development=(/root/debs/libsandlot-dev_"$(sed -n 's/^.define SANDLOT_VERSION "\(.*\)"/\1/p' include/sandlot/sandlot.h)"_"$(dpkg --print-architecture)".deb)
package_rows || failed=1
[ -z "$only_packages" ] || exit "$failed"
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
