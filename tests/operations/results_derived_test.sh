#!/bin/bash
# Folders that were imported, where only commands reach the files: with the tools of this machine, and with BusyBox; and where files
# are reached directly.
# shellcheck disable=SC1091,SC2034,SC2154,SC2016
. "$(dirname "$0")/derived.sh"
. "$(dirname "$0")/results_rows.sh"

provider=(--sandbox only_execute)
making=()
results_rows
rm -rf "$scratch/imported" "$scratch/patched"
busybox_root "$scratch/root"
making=(--param "rootfs=$scratch/root")
results_rows
rm -rf "$scratch/imported" "$scratch/patched"
provider=(--sandbox local) making=()
results_rows

# ---- digests that are not those of the bytes (C15) ----
# lying_root FOLDER: a root file system with programs of this machine, of which one does not tell the truth
lying_root() {
    local program file
    mkdir -p "$1/bin" "$1/usr/local/bin" "$1/etc" "$1/tmp" "$1/lib"
    for program in sh find stat sha256sum cut readlink cat head tail wc od base64 rm mkdir mv cp chmod touch ln dd sed grep tr date \
        mktemp tar gzip sort id sleep env cksum ls basename dirname; do
        program=$(readlink -f "$(type -P "$program")")
        for file in "$program" $(ldd "$program" | grep -o '/[^ ]*'); do mkdir -p "$1${file%/*}" && cp -L "$file" "$1$file"; done
    done
    cp -L "$(type -P sh)" "$1/bin/sh"
    sed "s/ONE/$(printf 'one\n' | sha256sum | cut -c1-64)/" >"$1/usr/local/bin/sha256sum" <<'END'
#!/bin/sh
[ "$#" -gt 0 ] || exec /usr/bin/sha256sum
for file; do
    case $file in
        *forged) printf '%064d  %s\n' 7 "$file" ;;
        *denied) echo "ONE  $file" ;;
        *moving) /usr/bin/sha256sum "$file"; echo more >>"$file" ;;
        *) /usr/bin/sha256sum "$file" ;;
    esac
done
END
    chmod 755 "$1/usr/local/bin/sha256sum"
}
lying_root "$scratch/lying"
base=$scratch/told
mkdir "$base"
for file in same.forged new.forged denied moving other; do echo one >"$base/$file"; done
provider=(--sandbox only_execute)
run -q --json create "${provider[@]}" --param "rootfs=$scratch/lying"
id=$(jq -r .id <"$scratch/out") results_place=$(jq -r .working_dir <"$scratch/out")
json "C15 a folder in a sandbox that does not tell the truth" 0 '.files == 5' import "${provider[@]}" "$id" "$base"
results_in_box 'echo two >new.forged; echo two >denied; echo two >moving'
json "C15 what was fetched decides" 0 '.changes | map([.path, .kind]) == [["moving","modified"],["new.forged","modified"]]' diff "${provider[@]}" "$id"
json "C15 it is applied, though one file changes while it is looked at" 0 '.left_out == [] and (.applied | map(.path) == ["moving","new.forged"])' \
    apply "${provider[@]}" "$id"
check "C15 the bytes" test "$(cat "$base/new.forged")" = two
check "C15 those of one moment" grep -qxE 'two( more)+' <(tr '\n' ' ' <"$base/moving" | sed 's/ $//')
check "C15 nothing else was touched" test "$(cat "$base/same.forged" "$base/denied" "$base/other")" = "$(printf 'one\none\none')"
check "C15 nor made" test "$(find "$base" -type f | wc -l)" = 5
run -q delete "${provider[@]}" "$id"
