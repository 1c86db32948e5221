#!/bin/bash
# Images of containers as a box's root file system: from a folder, a file and a registry; what they say of who starts in them; what
# a hostile one can do; and what is left behind.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/registry.sh
. "$(dirname "$0")/../registry.sh"
need_local
# shellcheck disable=SC2034 # lib.sh uses it
LIMIT=120

for program in busybox skopeo umoci docker-registry; do
    command -v "$program" >/dev/null || { echo "SKIP: $program is not installed"; exit 77; }
done
busybox=$(command -v busybox)
state=$XDG_STATE_HOME/sandlot/local
images=$scratch/images
mkdir -p "$images" "$scratch/tree/bin" "$scratch/tree/etc" "$scratch/tree/srv/app" "$scratch/outside"
cd "$images" || exit 1

cp "$busybox" "$scratch/tree/bin/busybox"
for name in sh cat env id ls pwd touch stat readlink; do ln -s busybox "$scratch/tree/bin/$name"; done
printf '#!/bin/sh\nOWN=yes exec /bin/sh "$@"\n' >"$scratch/tree/bin/own-shell"
chmod 755 "$scratch/tree/bin/own-shell"
echo 'ID=mini' >"$scratch/tree/etc/os-release"
printf 'root:x:0:0:root:/root-home:/bin/sh\napp:x:5000:5000:App:/srv/app:/bin/sh\n' >"$scratch/tree/etc/passwd"
umoci init --layout mini && umoci new --image mini:base && umoci insert --rootless --image mini:base "$scratch/tree" / || exit 1
# image TAG OPTION...: an image with these words of its configuration
image() {
    local tag=$1
    shift
    umoci config --image mini:base --tag "$tag" "$@"
}
image app --config.env GREETING='hello there' --config.env PATH=/bin --config.workingdir /made/by/it --config.user app:app \
    --config.entrypoint /bin/cat --config.cmd /etc/os-release
image number --config.user 5000
image stranger --config.user 7777
# shell_image TAG SHELL: one that says which shell it wants, a word of Docker's that umoci does not write
shell_image() {
    python3 - "$1" "$2" <<'END'
import hashlib, json, os, sys
def blob(digest): return json.load(open("mini/blobs/" + digest.replace(":", "/")))
def store(value):
    data = json.dumps(value).encode()
    name = hashlib.sha256(data).hexdigest()
    with open("mini/blobs/sha256/" + name, "wb") as file:
        file.write(data)
    return {"digest": "sha256:" + name, "size": len(data)}
index = json.load(open("mini/index.json"))
base = next(entry for entry in index["manifests"] if entry["annotations"]["org.opencontainers.image.ref.name"] == "base")
manifest = blob(base["digest"])
config = blob(manifest["config"]["digest"])
config["config"]["Shell"] = [sys.argv[2], "-c"]
manifest["config"].update(store(config))
index["manifests"].append(base | store(manifest) | {"annotations": {"org.opencontainers.image.ref.name": sys.argv[1]}})
with open("mini/index.json", "w") as file:
    json.dump(index, file)
END
}
shell_image shell /bin/own-shell
shell_image shell-nowhere /bin/none

# image_expect NAME STATUS OUT ERR REFERENCE ARGUMENT...: as expect, in a sandbox of the image
image_expect() {
    local name=$1 want_status=$2 out=$3 err=$4 reference=$5
    shift 5
    expect "$name" "$want_status" "$out" "$err" -q exec --param "image=$reference" "$@"
}
kept_count() { find "$state/rootfs" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }
no_boxes() { [ -z "$(ls -A "$state/boxes")" ]; }
no_downloads() { [ -z "$(ls -A "$state/downloads")" ]; }

# ---- what it says of who starts in it ----

image_expect "an image in a folder is the root file system" 0 "ID=mini" "*" oci:mini:base -- cat /etc/os-release
image_expect "no user is root" 0 "0 root /root-home" "*" "oci:$images/mini:base" -- 'echo $(id -u) $USER $HOME'
image_expect "user, environment and working directory are the image's, and its Entrypoint and Cmd are not run" 0 "1000 app /srv/app hello there /bin /made/by/it" "*" \
    oci:mini:app -- 'echo $(id -u) $USER $HOME $GREETING $PATH $PWD'
image_expect "what a command brings along goes before" 0 "mine" "*" oci:mini:app --env GREETING=mine -- 'echo $GREETING'
image_expect "a user by number" 0 "app /srv/app" "*" oci:mini:number -- 'echo $USER $HOME'
image_expect "a user that it does not know" 0 "1000 7777 /" "*" oci:mini:stranger -- 'echo $(id -u) $USER $HOME'
image_expect "its shell runs the commands" 0 "yes" "*" oci:mini:shell -- 'echo $OWN'
image_expect "a shell that it does not have is another one" 0 "no" "*" oci:mini:shell-nowhere -- 'echo ${OWN-no}'
image_expect "with a workspace commands start there" 0 "/workspace" "*" oci:mini:app --param "workspace=$scratch/work" -- pwd
image_expect "folders are shown in it" 0 "shown" "*" oci:mini:app --param "show=$scratch/outside" -- "[ -d $scratch/outside ] && echo shown"
id=$("$SANDLOT" create -q --param image=oci:mini:app)
expect "one that lives on knows its directory" 0 "/made/by/it" "*" -q exec --sandbox-id "$id" -- pwd
echo text >"$scratch/note"
input=$scratch/note expect "and files are found from there" 0 "*" "*" -q write --sandbox-id "$id" note
expect "by commands too" 0 "text" "*" -q exec --sandbox-id "$id" -- cat note
image_expect "another box has nothing of it" 0 "" "*" oci:mini:app -- ls
"$SANDLOT" delete -q "$id" >/dev/null
check "each version is kept once" test "$(kept_count)" = 6

# ---- from a file and from a registry ----

skopeo copy -q --insecure-policy oci:mini:app docker-archive:mini.tar:mini:app
image_expect "an image in a file" 0 "hello there /srv/app" "*" docker-archive:mini.tar -- 'echo $GREETING $HOME'
image_expect "a second time it is there" 0 "ID=mini" "*" docker-archive:mini.tar -- cat /etc/os-release
check "and kept once" test "$(kept_count)" = 7

check "a registry serves" registry_start "$images/registry"
address=$registry_address
skopeo copy -q --insecure-policy --dest-tls-verify=false oci:mini:app "docker://$address/team/app:1"
image_expect "an image from a registry" 0 "hello there" "*" "$address/team/app:1" -- 'echo $GREETING'
image_expect "by its digest" 0 "hello there" "*" \
    "$address/team/app@$(skopeo inspect --no-tags --tls-verify=false --format '{{.Digest}}' "docker://$address/team/app:1")" -- 'echo $GREETING'
count=$(kept_count)
skopeo copy -q --insecure-policy --dest-tls-verify=false oci:mini:base "docker://$address/team/app:1"
image_expect "the name means another one now" 0 "" "*" "$address/team/app:1" -- 'echo $GREETING'
check "which was there already" test "$(kept_count)" = "$count"
image_expect "one that it does not have" 3 "" "could not be fetched.*skopeo login" "$address/team/none:1" -- true
image_expect "plain HTTP is for loopback alone" 3 "" "HTTP response to HTTPS client" "0.0.0.0:${address##*:}/team/app:1" -- true
registry_stop
mkdir "$scratch/full"
printf '#!/bin/sh\necho "writing blob: write layout/oci-put-blob1: no space left on device" >&2\nexit 1\n' >"$scratch/full/skopeo"
chmod +x "$scratch/full/skopeo"
PATH=$scratch/full:$PATH image_expect "a disk that is full is no lack of rights" 3 "" "no space left in the state folder.*XDG_STATE_HOME" oci:mini:app -- true
image_expect "a registry that is gone" 3 "" "could not be fetched" "$address/team/app:1" -- true

# ---- what is wrong ----

count=$(kept_count)
image_expect "no such folder" 3 "" "could not be fetched" oci:none -- true
usage "no reference" "no reference" exec --param image=-x -- true
usage "blanks in it" "no reference" exec --param "image=a b" -- true
usage "not with landlock" "image needs" exec --param image=oci:mini:app --param confinement=landlock -- true
usage "not with rootfs" "exclude" exec --param image=oci:mini:app --param "rootfs=$scratch/tree" -- true

# layer TAG FILE: an image of the one layer
layer() { umoci new --image "mini:$1" && umoci raw add-layer --image "mini:$1" "$2"; }
python3 - "$scratch/outside" <<'END'
import io, sys, tarfile
outside = sys.argv[1]
def pack(name, *entries):
    with tarfile.open(name, "w") as archive:
        for path, kind, what in entries:
            entry = tarfile.TarInfo(path)
            entry.type, entry.mode = kind, 0o4755
            data = b""
            if kind == tarfile.REGTYPE:
                data = what
                entry.size = len(data)
            elif kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                entry.linkname = what
            archive.addfile(entry, io.BytesIO(data))
shell = open("/usr/bin/busybox", "rb").read()
pack("hostile.tar", ("bin/busybox", tarfile.REGTYPE, shell), ("bin/sh", tarfile.SYMTYPE, "busybox"),
     ("out", tarfile.SYMTYPE, outside), ("out/through-link", tarfile.REGTYPE, b"x"),
     ("../../../../.." + outside + "/upwards", tarfile.REGTYPE, b"x"),
     ("etc/passwd", tarfile.SYMTYPE, "/proc/1/root/etc/passwd"), ("dev/sda", tarfile.BLKTYPE, None), ("pipe", tarfile.FIFOTYPE, None))
pack("bomb.tar", ("bin/busybox", tarfile.REGTYPE, shell), ("bin/sh", tarfile.SYMTYPE, "busybox"),
     *((f"zeros/{i}", tarfile.REGTYPE, bytes(1 << 20)) for i in range(24)))
END
layer hostile hostile.tar
layer bomb bomb.tar
image_expect "a hostile image stays inside" 0 "*" "*" oci:mini:hostile -- '[ ! -u /bin/busybox ] || /bin/busybox stat -c %a /bin/busybox'
check "nothing is written outside" test -z "$(ls -A "$scratch/outside")"
image_expect "no device comes of it" 1 "*" "*" oci:mini:hostile -- '[ -b /dev/sda ]'
count=$(kept_count)
image_expect "a bomb goes no further than disk_mb" 3 "" "disk_mb" oci:mini:bomb --param disk_mb=8 -- true
dd if=/dev/urandom of="$scratch/tree/noise" bs=1M count=12 status=none
umoci new --image mini:large && umoci insert --rootless --image mini:large "$scratch/tree" /
image_expect "nor does one that is large as it comes" 3 "" "disk_mb" oci:mini:large --param disk_mb=8 -- true
dd if=/dev/zero of="$scratch/tree/noise" bs=1M count=12 status=none
umoci new --image mini:zeros && umoci insert --rootless --image mini:zeros "$scratch/tree" /
image_expect "nor does a single file of it" 3 "" "disk_mb" oci:mini:zeros --param disk_mb=8 -- true
check "nothing is kept of what failed" test "$(kept_count)" = "$count"
check "nor of what was fetched" no_downloads
check "failures leave no box" until_true 5 no_boxes

# ---- what it says beside a snapshot, and what nobody can start in ----

umoci config --image mini:base --tag proc --config.workingdir /proc/none/such
expect "a working directory in /proc is none" 0 /workspace "working directory /proc/none/such lies in /proc" exec --param image=oci:mini:proc -- pwd
id=$("$SANDLOT" -q create --param image=oci:mini:base) && "$SANDLOT" -q snapshot "$id" --name of-base >/dev/null
expect "a snapshot of an image starts beside another one, with a warning" 0 "" "image: not used.* oci:mini:base;" exec --sandbox-snapshot-name of-base --param image=oci:mini:app -- true
expect "and beside its own" 0 "" "*" exec --sandbox-snapshot-name of-base --param image=oci:mini:base -- true
check "without one" test -z "$(grep "not used" "$scratch/err")"
"$SANDLOT" -q delete "$id" >/dev/null && "$SANDLOT" -q snapshots delete of-base

# ---- what goes ----

# One that is killed while it fetches: its skopeo waits for ever.
mkdir "$scratch/bin"
cat >"$scratch/bin/skopeo" <<END
#!/bin/sh
case " \$* " in
    *" copy "*) echo \$\$ >"$scratch/fetching.new" && mv "$scratch/fetching.new" "$scratch/fetching" && exec sleep 1000 ;;
    *) exec $(command -v skopeo) "\$@" ;;
esac
END
chmod +x "$scratch/bin/skopeo"
umoci config --image mini:base --tag killed --config.user killed
PATH=$scratch/bin:$PATH "$SANDLOT" -q exec --param image=oci:mini:killed -- true >/dev/null 2>&1 &
fetching=$!
check "one is being fetched" until_true 10 test -s "$scratch/fetching"
kill -9 "$fetching"
wait "$fetching" 2>/dev/null
# What nobody has reaped yet has no arguments any more.
gone() { [ -z "$(tr -d '\0' 2>/dev/null <"/proc/$(cat "$scratch/fetching")/cmdline")" ]; }
check "who is killed takes skopeo along" until_true 10 gone
check "and leaves a folder" test -n "$(ls -A "$state/downloads")"
"$SANDLOT" -q list >/dev/null
check "which goes with the next list" until_true 5 no_downloads
mkdir "$state/downloads/left"
touch -d '8 days ago' "$state"/rootfs/*
image_expect "another image" 0 "*" "*" oci:mini:large -- true
check "what was not used for a week is gone" until_true 5 sh -c '[ "$(ls "$1/rootfs" | wc -l)" = 1 ]' sh "$state"
check "and what was left" no_downloads
"$SANDLOT" -q gc >/dev/null
nothing_left "no sandbox is left"
no_trash() { [ -z "$(ls -A "$state/trash")" ]; }
check "nor anything that is being removed" until_true 10 no_trash
chmod -R u+rwx "$state/rootfs" && rm -rf "${state:?}/rootfs"/*
