#!/bin/bash
# `make install`: the tree works from its place, a C program builds against it with pkg-config, `make uninstall` takes it away.
set -u

tree=$(mktemp -d)
trap 'chmod -R u+rwX "$tree"; rm -rf "$tree"' EXIT
failed=0
check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$tree/output" 2>&1; then
        echo "ok $name"
    else
        echo "not ok $name"
        sed 's/^/    /' "$tree/output"
        failed=1
    fi
}
prefix=$tree/opt/sandlot

check "make install" make install BUILD="$BUILD" PREFIX="$prefix"
for file in bin/sandlot lib/libsandlot.so lib/libsandlot.so.0 include/sandlot/sandlot.h include/sandlot/provider.h \
    include/sandlot/sdk/http.h include/sandlot/sdk/process.h lib/libsandlot-sdk.a lib/pkgconfig/sandlot.pc lib/pkgconfig/sandlot-provider.pc lib/sandlot/builtins/local.so \
    lib/sandlot/builtins/sandlot-local-keeper lib/sandlot/builtins/sandlot-egress lib/sandlot/builtins/sandlot-egress-credentials lib/sandlot/builtins/network-sets.toml lib/sandlot/builtins/sandlot-worker share/man/man1/sandlot.1 share/man/man1/sandlot-mcp.1 share/man/man1/sandlot-plugin.1 \
    share/sandlot/scaffold/c/scaffold.c share/sandlot/scaffold/cpp/scaffold.cc share/sandlot/scaffold/rust/sandlot.rs share/sandlot/plugin.mk \
    share/bash-completion/completions/sandlot share/doc/sandlot/README.md share/doc/sandlot/apparmor-profile \
    share/doc/sandlot/config.example.toml share/doc/sandlot/docs/agents.md share/doc/sandlot/docs/tour.cast share/doc/sandlot/docs/pictures/walls.svg share/doc/sandlot/providers.md \
    share/doc/sandlot/examples/minimal/minimal.c share/doc/sandlot/examples/rust/sandlot.rs; do
    check "installs $file" test -r "$prefix/$file"
done
for makefile in plugins/*/Makefile; do
    name=$(basename "$(dirname "$makefile")")
    check "installs the plugin $name" test -r "$prefix/lib/sandlot/providers/$name.so"
done
check "nothing installed is writable for others" sh -c '! find "$1" ! -type l -perm /022 | grep .' sh "$prefix"
# Every link of an installed page leads to something that is installed.
dead_links() {
    local page link
    find "$1/share/doc/sandlot" -name '*.md' | while read -r page; do
        grep -oE '\]\([^)]*\)' "$page" | sed -E 's/^\]\((.*)\)$/\1/; s/#.*//; /^$/d; /^https?:/d' | while read -r link; do
            [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
        done
    done
}
no_dead_links() { ! dead_links "$1" | grep .; }
check "no installed page has a dead link" no_dead_links "$prefix"
check "the guide leads to the headers" grep -qF '](../../../include/sandlot/provider.h)' "$prefix/share/doc/sandlot/providers.md"
# The tree must not need the one that it was built in.
check "no file names the build folder" sh -c '! grep -rl "$2" "$1/lib/pkgconfig" "$1/share"' sh "$prefix" "$BUILD"

check "sandlot runs from its place" sh -c 'cd / && test "$("$1" exec -- "echo \$((6 * 7))")" = 42' sh "$prefix/bin/sandlot"
check "it finds its own providers" sh -c 'cd / && "$1" providers --json | grep -q "$2/lib/sandlot/builtins/local.so"' sh \
    "$prefix/bin/sandlot" "$prefix"

cp "$BUILD/tests/plugins/note_two.so" "$tree/"
plugin_of_prefix() { # the folder that pkg-config tells of is searched, after all others, and needs nothing else
    local folder
    folder=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --variable=providerdir sandlot-provider) &&
        install -D -m 644 "$tree/note_two.so" "$folder/note_two.so" &&
        (cd / && "$prefix/bin/sandlot" providers note_two) | grep -q "$folder/note_two.so" && rm "$folder/note_two.so"
}
check "it finds plugins of its own prefix" plugin_of_prefix

cat >"$tree/embed.c" <<'END'
#include <sandlot/sandlot.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    struct sandlot_error error = {0};
    struct sandlot *sandlot = sandlot_open(NULL, &error);
    struct sandlot_session *session = sandlot ? sandlot_session_open(sandlot, NULL, &error) : NULL;
    struct sandlot_execution command = {.size = sizeof(command), .command = "echo from the box"};
    struct sandlot_result result = {.size = sizeof(result)};
    int status = 1;

    if (session && sandlot_execute(session, &command, &result, &error) == 0)
        status = result.exit_code != 0 || strcmp(result.output, "from the box\n") != 0;
    sandlot_result_clear(&result);
    if (sandlot_session_close(session, error.message ? NULL : &error) < 0)
        status = 1;
    if (error.message)
        fprintf(stderr, "%s\n", error.message);
    sandlot_error_clear(&error);
    sandlot_close(sandlot);
    return status;
}
END
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# shellcheck disable=SC2046 # pkg-config prints words
check "a program builds with pkg-config's flags" gcc -std=c11 -Wall -Wextra -Werror -Wpedantic -o "$tree/embed" "$tree/embed.c" \
    $(pkg-config --cflags --libs sandlot)
check "and runs a command in a box" env LD_LIBRARY_PATH="$prefix/lib" "$tree/embed"
# shellcheck disable=SC2046
check "the example of embedding builds" gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -o "$tree/embedding" \
    sdk/examples/embedding/embedding.c $(pkg-config --cflags --libs sandlot)
check "and runs eight boxes at a time" env LD_LIBRARY_PATH="$prefix/lib" timeout 120 "$tree/embedding"
# shellcheck disable=SC2046
check "the example of an agent builds" gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -o "$tree/agent" \
    sdk/examples/agent/agent.c $(pkg-config --cflags --libs sandlot json-c)
cat >"$tree/calls" <<'END'
{"id":1,"name":"write_file","arguments":{"file_path":"a.txt","content":"hello\n"}}
{"id":2,"name":"execute","arguments":{"command":"wc -c a.txt"}}
{"id":"x","name":"nope"}
{"id":3,"name":"read_file","arguments":{"file_path":"b.txt"}}
END
if command -v jq >/dev/null; then
    check "and answers calls of tools" sh -c 'LD_LIBRARY_PATH=$1/lib timeout 60 "$2/agent" <"$2/calls" >"$2/answers" &&
        jq -se "(.[0].tools | map(.name) | index(\"execute\")) and (.[1:] | map(.id)) == [1,2,\"x\",3] and
            (.[1:] | map(.is_error)) == [false,false,true,true] and .[2].meta[\"sandlot/exit_code\"] == 0 and
            (.[2].content[0].text | startswith(\"6 a.txt\"))" "$2/answers"' sh "$prefix" "$tree"
else
    echo "ok and answers calls of tools # SKIP jq is not installed"
fi
cat >"$tree/acme.c" <<'END'
#include <sandlot/provider.h>
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>

SANDLOT_EXPORT enum sandlot_status acme(struct sandlot_call *call);
enum sandlot_status acme(struct sandlot_call *call)
{
    const struct http_options options = {.base_url = "http://127.0.0.1:9"};
    const struct http_request request = {.method = "GET", .target = "/"};
    struct json_builder builder = {0};
    struct http_client *client;
    enum sandlot_status status = http_client_open(call, &options, &client);

    if (status != SANDLOT_OK)
        return status;
    json_set_string(&builder, "a.b", "c");
    free(json_finish(&builder, NULL));
    status = http_send(call, client, &request, NULL);
    http_client_close(client);
    return status;
}
END
# shellcheck disable=SC2046
check "a provider builds with the helper library" gcc -std=c11 -D_GNU_SOURCE -fPIC -shared -Wall -Wextra -Werror -Wl,-z,defs \
    -include stdlib.h -o "$tree/acme.so" "$tree/acme.c" $(pkg-config --cflags --libs sandlot-provider)
# shellcheck disable=SC2016
check "it exports nothing of the library" sh -c 'test "$(nm -D --defined-only "$1" | cut -d" " -f3)" = acme' sh "$tree/acme.so"
# shellcheck disable=SC2016
check "it needs only what it uses" sh -c 'readelf -d "$1" | grep -q "NEEDED.*libcurl" &&
    ! readelf -d "$1" | grep "NEEDED.*lib\(archive\|wslay\)"' sh "$tree/acme.so"

# As it is printed, by a linker that forgets what nothing before it has asked for, which is not every Debian's default.
printed_line() (
    line=$(grep -o '`cc [^`]*`' README.md | tr -d '`') && cp "$tree/embed.c" "$tree/agent.c" && cd "$tree" || return
    cc() { command cc -Wl,--as-needed "$@"; }
    eval "$line"
)
check "the line that README has links a program" printed_line
# shellcheck disable=SC2046 # words
check "the headers are C++ too" sh -c 'printf "#include <sandlot/%s.h>\n" sandlot provider sdk/archive sdk/attempt sdk/credentials \
    sdk/frames sdk/http sdk/json sdk/ndjson sdk/process sdk/quoting sdk/remote_command sdk/sse sdk/websocket |
    g++ -std=c++17 -Wall -Wextra -Werror -x c++ -fsyntax-only "$@" -' sh $(pkg-config --cflags sandlot)

check "DESTDIR goes before PREFIX" sh -c 'make install BUILD="$1" PREFIX=/usr DESTDIR="$2" >/dev/null &&
    test -x "$2/usr/bin/sandlot" && grep -qx "prefix=/usr" "$2/usr/lib/pkgconfig/sandlot.pc"' sh "$BUILD" "$tree/staged"

# With PREFIX=~/.local the user's own plugins are in the same folders.
own="share/sandlot/providers/mine.so lib/sandlot/providers/mine.so lib/sandlot/builtins/mine.so share/doc/sandlot/notes"
for file in $own; do install -D -m 644 /dev/null "$prefix/$file"; done
check "make uninstall" make uninstall BUILD="$BUILD" PREFIX="$prefix"
for file in $own; do check "leaves the user's $file" rm "$prefix/$file"; done
check "leaves no file" sh -c '! find "$1" ! -type d | grep .' sh "$prefix"
check "make uninstall: again" make uninstall BUILD="$BUILD" PREFIX="$prefix"
check "leaves no folder of its own" sh -c '! find "$1" -type d -name sandlot ! -path "$1" | grep .' sh "$prefix"
exit $failed
