#!/bin/bash
# sdk/javascript: every call over `local`, by the library and by the command, and that each function of sandlot.h has one; its README as printed; its types; and the real
# deepagents with a scripted model, in a local box and at an emulator.
# shellcheck disable=SC1091,SC2016,SC2154
. tests/vendors/lib.sh
vendor_use langsmith

for folder in "$BUILD/javascript" "$BUILD/../javascript"; do
    [ -e "$folder/installed" ] && break
done
if [ ! -e "$folder/installed" ]; then
    if [ -n "${CI:-}" ]; then
        not_ok "what the JavaScript package meets is installed" "make clients"
        exit 1
    fi
    echo "no packages for sdk/javascript: 'make clients' fetches them from the registry of npm"
    exit 77
fi
packages=$(cd "$folder" && pwd)/node_modules
export SANDLOT_LIBRARY=$BUILD/libsandlot.so.0 SANDLOT_COMMAND=$SANDLOT NODE_NO_WARNINGS=1

# A program's folder: the packages that others have made, and ours, as `npm install` links it.
cp -R sdk "$scratch/sdk"
program=$scratch/program
mkdir -p "$program/node_modules"
ln -s "$packages"/* "$program/node_modules/"
ln -s "$scratch/sdk/javascript" "$program/node_modules/sandlot"
cp -R sdk/javascript "$program/node_modules/sandlot-again"
cp tests/javascript/*.mjs tests/javascript/model.js tests/javascript/types.ts "$program/"
echo '{"type": "module"}' >"$program/package.json"
in_program() { # COMMAND...: there, until the time is up
    (cd "$program" && timeout -k 5 "$LIMIT" "$@")
}

mkdir "$scratch/plugins" && ln -s "$BUILD/tests/plugins/fake.so" "$scratch/plugins/" # on this machine, without walls, for what local cannot
printf '[sandboxes.providers.fake]\nisolation = "none"\n' >"$scratch/fake.toml"
# A library with sanitizers wants theirs in Node.js, whose own memory is nobody's leak. What is made on a thread of the library's is.
printf 'leak:bin/node\nleak:koffi.node\n' >"$scratch/others"
sanitizer=$(ldd "$SANDLOT_LIBRARY" | awk '$1 ~ /^libasan/ { print $3 }')
runs() { # ROUTE
    local file
    for file in calls.mjs groups.mjs; do
        SANDLOT_TEST_ROUTE=$1 SANDLOT_PLUGIN_PATH=$scratch/plugins SANDLOT_TEST_FAKE=$scratch/fake.toml \
            in_program env ${sanitizer:+LD_PRELOAD="$sanitizer" ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS="suppressions=$scratch/others:print_suppressions=0"} \
            "$node" "$file" || failures=$((failures + 1))
    done
}
runs native
[ -z "$sanitizer" ] || exit "$((failures > 0))" # the rest is the same with any library
runs command
in_program "$node" functions.mjs "$PWD/include/sandlot/sandlot.h" "$scratch/sdk/javascript/lib/index.d.ts" || failures=$((failures + 1))
check "no box is left" sh -c 'test "$("$1" list --json | jq ".sandboxes | length")" = 0' sh "$SANDLOT"

# Without koffi it is the command that serves; asked for by name, the library says what is missing.
mkdir -p "$scratch/bare/node_modules"
ln -s "$scratch/sdk/javascript" "$scratch/bare/node_modules/sandlot"
cat >"$scratch/bare/program.mjs" <<'EOF'
import { Sandbox } from 'sandlot';
const box = await Sandbox.open();
console.log((await box.execute('echo served')).text.trim());
await box.close();
await Sandbox.open({ route: 'native' }).catch((problem) => console.log(problem.code, problem.message));
EOF
says() { # WANTED FILE: exactly what FILE holds
    printf '%b' "$1" | diff - "$2"
}
(cd "$scratch/bare" && timeout -k 5 "$LIMIT" "$node" program.mjs) >"$scratch/said" 2>&1
check "without koffi the command serves" says 'served\nusage the package koffi is not installed: npm install koffi\n' "$scratch/said"

check "an agent of deepagents in a local box" in_program "$node" agent.mjs '{}'
check "the same by the command" in_program "$node" agent.mjs '{"route": "command"}'
vendor_start langsmith
LANGSMITH_API_KEY=lsv2_sk_5e1f0c77a2b94d0e_emulated LANGSMITH_TRACING=false \
    check "the same at a vendor" in_program "$node" agent.mjs "{\"provider\": \"langsmith\", \"parameters\": {\"base_url\": \"$url\"}}"
vendor_sound

# Types: those by hand fit programs that use them, and the framework; the library's code, by its comments, is what they say, without an implicit any.
types() { # ARGUMENT...
    in_program "$node" node_modules/typescript/bin/tsc --noEmit --strict --skipLibCheck --target es2022 --module nodenext --types node --preserveSymlinks "$@"
}
check "the types" types types.ts
check "the library's code has the types by hand" types --allowJs --checkJs --noUnusedLocals --noUnusedParameters --noFallthroughCasesInSwitch \
    "$scratch"/sdk/javascript/lib/*.js

# The README, as printed: installed without network, then each program.
block() { awk -v kind="$1" -v wanted="$2" '$0 == "```" kind { inside = ++n == wanted; next } /^```$/ { inside = 0 } inside' sdk/javascript/README.md; }
mkdir "$scratch/installed"
cp -R sdk "$scratch/installed/sdk"
check "README: npm install" env HOME="$scratch" npm_config_offline=true npm_config_cache="$scratch/cache" npm_config_update_notifier=false \
    bash -c "cd '$scratch/installed' && $(block sh 1)"
check "README: what npm has made is a link" test "$(readlink -f "$scratch/installed/node_modules/sandlot")" = "$scratch/installed/sdk/javascript"
block js 1 >"$program/first.mjs"
block js 2 >"$program/second.mjs"
block js 3 >"$program/third.mjs"
in_program "$node" first.mjs >"$scratch/said" 2>&1
check "README: program 1" says '42\n48\n3\n1000\n0 1 2 3 4 5 6 7\n' "$scratch/said"
in_program "$node" second.mjs >"$scratch/said" 2>&1
check "README: program 2" says '1\n2\n3\n5\n' "$scratch/said"
in_program "$node" third.mjs >"$scratch/said" 2>&1
check "README: program 3" grep -q 'hello from the box' "$scratch/said"

check "the version is the library's" sh -c 'grep -q "\"version\": \"$(sed -n "s/^#define SANDLOT_VERSION \"\(.*\)\"$/\1/p" include/sandlot/sandlot.h)\"" sdk/javascript/package.json'
