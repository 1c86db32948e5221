#!/bin/bash
# What the binaries export and load: libsandlot.so only sandlot_*, and it stays loaded, providers only their entry function, and no library that would
# cost start-up time or does not belong into the core.
set -u

failed=0
complain() {
    echo "$1"
    failed=1
}

exported() { nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }'; }

foreign=$(exported "$BUILD/libsandlot.so" | grep -v '^sandlot_' | tr '\n' ' ')
[ -z "$foreign" ] || complain "libsandlot.so exports more than its API: $foreign"

declared=$(sed -nE 's/^SANDLOT_API .*[ *](sandlot_[a-z_]+)\(.*/\1/p' include/sandlot/sandlot.h | sort)
missing=$(comm -23 <(echo "$declared") <(exported "$BUILD/libsandlot.so" | sort) | tr '\n' ' ')
[ -z "$missing" ] || complain "sandlot.h declares what libsandlot.so does not have: $missing"
undeclared=$(comm -13 <(echo "$declared") <(exported "$BUILD/libsandlot.so" | grep '^sandlot_' | sort) | tr '\n' ' ')
[ -z "$undeclared" ] || complain "libsandlot.so exports what sandlot.h does not declare: $undeclared"

# A program that unloads it while one of its threads waits, or is about to, would crash.
readelf -d "$BUILD/libsandlot.so" | grep -q NODELETE || complain "libsandlot.so can be unloaded under its threads"

shopt -s nullglob
providers=("$BUILD"/builtins/*.so "$BUILD"/plugins/*.so)
providers=("${providers[@]#"$BUILD/"}")
for file in "${providers[@]}"; do
    name=$(basename "$file" .so)
    [ "$(exported "$BUILD/$file")" = "$name" ] ||
        complain "$file does not export its entry function, and that only: $(exported "$BUILD/$file" | tr '\n' ' ')"
    readelf -n "$BUILD/$file" 2>/dev/null | grep -q sandlot || complain "$file has no sandlot note"
    # Built in is what the table says ships with Sandlot, and nothing else: a project of its own goes where plugins go.
    [[ $file != builtins/* ]] || grep -q "{\"$name\", .* true}" core/registry/builtins.c ||
        complain "$file is not among the built-ins of core/registry/builtins.c"
    [[ $file == builtins/* ]] || ! grep -q "{\"$name\", .* true}" core/registry/builtins.c ||
        complain "$file is a plugin, but core/registry/builtins.c has it among the built-ins"
done

foreign=$(exported "$BUILD/modules/sandlot-mcp-http.so" | grep -vx sandlot_mcp_http | tr '\n' ' ')
[ -z "$foreign" ] || complain "sandlot-mcp-http.so exports more than its table: $foreign"
foreign=$(exported "$BUILD/modules/sandlot-results.so" | grep -vx sandlot_results_writer | tr '\n' ' ')
[ -z "$foreign" ] || complain "sandlot-results.so exports more than its table: $foreign"
ldd "$BUILD/sandlot" "$BUILD/libsandlot.so" | grep -q 'libgit2\|libarchive' &&
    complain "sandlot or libsandlot loads what is for the module of patches and archives only"
ldd "$BUILD/sandlot" | grep -q libmicrohttpd && complain "sandlot loads libmicrohttpd, which is for its HTTP module only"

for file in sandlot libsandlot.so builtins/sandlot-local-keeper builtins/sandlot-egress builtins/sandlot-egress-credentials builtins/sandlot-worker modules/sandlot-mcp-http.so "${providers[@]}"; do
    loaded=$(ldd "$BUILD/$file") || complain "ldd failed on $file"
    # The providers of clouds are what speaks HTTP. What Debian's libarchive brings along is not theirs to choose.
    case $file in
    builtins/sandlot-egress-credentials) unwanted="libcurl libstdc++" seen=$loaded ;;
    builtins/local.so | builtins/sandlot-* | [!bp]*) unwanted="libcurl libssl libcrypto libstdc++" seen=$loaded ;;
    *) unwanted=libstdc++ seen=$(readelf -d "$BUILD/$file" | grep NEEDED) ;;
    esac
    for library in $unwanted; do
        case $seen in *"$library"*) complain "$file loads $library" ;; esac
    done
    case $loaded in *"not found"*) complain "$file needs a library that is not there: $loaded" ;; esac
    readelf -d "$BUILD/$file" | grep -q 'BIND_NOW\|Flags:.*NOW' || complain "$file is linked without -z now"
    readelf -lW "$BUILD/$file" | grep -q GNU_RELRO || complain "$file is linked without -z relro"
    readelf -lW "$BUILD/$file" | grep 'GNU_STACK' | grep -q 'RWE' && complain "$file has an executable stack"
done
# It is started for every command with such a provider: whatever else it loaded would be time of people's.
foreign=$(readelf -d "$BUILD/builtins/sandlot-worker" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^libc\.so\|^ld-linux' | tr '\n' ' ')
[ -z "$foreign" ] || complain "sandlot-worker loads more than libc: $foreign"
exit $failed
