# shellcheck shell=sh disable=SC1007,SC2046,SC2086,SC2154
#
# Puts files that were staged into their places: place NUMBER STAGED STAGED_BYTES OFFSET BYTES MODE TARGET prints NUMBER and
# its fate. OFFSET is - if the file is all of STAGED; s is what the names of all that is staged begin with.
#
# A file that is there keeps its mode and owner; one with several names or in a folder that must not be changed is written in
# place, all others are replaced in one step. Whatever cannot be renamed, because it lies on another disk or is somebody
# else's, is copied beside its target first.

#= placing_script_text

export LC_ALL=C
set -f
trap 'set +f; rm -rf "$s"*' 0
trap 'exit 1' 1 2 15

# Is something that is no folder on the way to p?
blocked() {
    q=$p
    while [ "$q" ] && [ ! -e "$q" ] && [ ! -L "$q" ]; do q=${q%/*}; done
    [ "$q" ] && [ ! -d "$q" ]
}

size() { wc -c <"$1"; }

# failed STAGED FATE. Where a request was repeated whose answer was lost, the first script may still run, and take away what both
# have at its end: then it says what became of the files.
failed() { if [ -f "$1" ]; then echo "$2"; else echo lost; fi; }

# What is there already: may it be written, which mode has it, and can another take its place?
old() {
    [ -f "$g" ] || { echo special; return 1; }
    [ -w "$g" ] || { echo permission_denied; return 1; }
    set -- $(stat -c '%a %h %u:%g' "$g")
    mode=$1
    [ "$2" = 1 ] && [ -w "${p:-/}" ] && [ -x "${p:-/}" ] || in_place=1
    [ "$in_place" ] || [ "$3" = "$(stat -c %u:%g "$f")" ] || chown "$3" "$f" || in_place=1
}

new() {
    if [ ! -d "${p:-/}" ] && ! mkdir -p "$p"; then
        if blocked; then echo invalid_path; else echo permission_denied; fi
        return 1
    fi
    [ -w "${p:-/}" ] && [ -x "${p:-/}" ] || { echo permission_denied; return 1; }
}

#+ follow_links

fate() {
    f=$2 g=$7 in_place= mode=
    [ -f "$f" ] && [ "$(size "$f")" -eq "$3" ] || { echo lost; return; }
    if [ -L "$g" ]; then
        s_g=$g
        s_follow_links || { echo invalid_path; return; }
        g=$s_g
    fi
    n=${g##*/} p=${g%/*}
    [ ${#n} -le 255 ] && [ ${#g} -lt 4096 ] || { echo invalid_path; return; }
    [ ! -d "$g" ] || { echo is_directory; return; }
    if [ "$4" != - ]; then
        f=$f.$$.$1
        tail -c "+$(($4 + 1))" "$2" | head -c "$5" >"$f"
        [ "$(size "$f")" -eq "$5" ] || { failed "$2" unwritten; return; }
    fi
    if [ -e "$g" ]; then old || return; else new || return; [ "$6" = 0 ] || mode=$6; fi
    if [ "$in_place" ]; then
        if cat <"$f" >"$g"; then echo placed; else failed "$2" unwritten; fi
        return
    fi
    if [ ! -O "$f" ] || [ "$(stat -c %d "$f")" != "$(stat -c %d "${p:-/}")" ]; then
        t=$p/${s##*/}.$1
        cp "$f" "$t" || { rm -f "$t"; failed "$2" unwritten; return; }
        if [ -e "$g" ]; then chown "$(stat -c %u:%g "$g")" "$t"; fi
        f=$t
    fi
    if { [ ! "$mode" ] || chmod "$mode" "$f"; } && mv -f "$f" "$g"; then echo placed; return; fi
    failed "$2" permission_denied
    rm -f "$f"
}

place() { echo "$1 $(fate "$@" 2>/dev/null)"; }
