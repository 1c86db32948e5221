#!/bin/bash
# Writes a header of a later ABI: FOLDER/sandlot/provider.h from HEADER, as minor version 7 with fields behind those of every
# struct that crosses, or, with a third argument, as major version 2 and nothing else new.
#
#   make_header.sh HEADER FOLDER [2]
#
# A struct that this script does not know is an error: say here whether it may grow.
set -eu

header=$1
folder=$2
major=${3:-}
growing="call host parameter create source sink command exit listed listing transfer root terminal provider network network_view network_decision network_log connection port_address port_answer changes listed_volume volume_listing"
frozen="label file network_entry network_credential volume" # arrays: see VERSIONS in the header

mkdir -p "$folder/sandlot"
result=$folder/sandlot/provider.h
if [ -n "$major" ]; then
    sed "s/^#define SANDLOT_ABI_MAJOR [0-9]*\$/#define SANDLOT_ABI_MAJOR $major/" "$header" >"$result"
    grep -qx "#define SANDLOT_ABI_MAJOR $major" "$result"
    exit
fi
known=$(printf 'sandlot_%s\n' $growing $frozen | sort)
found=$(sed -n 's/^struct \(sandlot_[a-z_]*\) {$/\1/p' "$header" | sort)
[ "$known" = "$found" ] || {
    echo "make_header.sh: the header has other structs than this script knows:" >&2
    diff <(echo "$known") <(echo "$found") >&2
    exit 1
}
awk -v growing=" $growing " '
    /^#define SANDLOT_ABI_MINOR [0-9]+$/ { print "#define SANDLOT_ABI_MINOR 7"; minor++; next }
    /^struct sandlot_[a-z_]+ \{$/ { name = substr($2, 9) }
    /^};/ && name != "" {
        if (index(growing, " " name " ")) {
            if (name == "host")
                print "    void (*later_service)(struct sandlot_call *call, const char *text);"
            if (name == "provider") {
                print "    enum sandlot_status (*later_function)(struct sandlot_call *call, void *provider, const char *id);"
                print "    void (*later_notice)(void *provider, const struct sandlot_exit *result);"
            }
            print "    uint64_t later_number;"
            print "    const char *later_text;"
            grown++
        }
        name = ""
    }
    { print }
    END { if (minor != 1 || grown != split(growing, words, " ")) exit 1 }
' "$header" >"$result" || {
    echo "make_header.sh: the header is laid out in another way than this script expects: mend one of them" >&2
    exit 1
}
