#!/bin/bash
# What README.md, docs/ and sdk/README.md tell to type works as it is printed. All blocks of a document in sh are typed into one shell,
# as a reader would who begins at the source tree, with a build/, with sandlot in PATH and nothing configured; what a plain block
# right behind one shows must have come. A line that cannot be run stands here, and why.
# shellcheck disable=SC1091,SC2016,SC2154 # lib.sh; texts of documents
. tests/cli/lib.sh

documents=(README.md docs/*.md docs/handbook/*.md sdk/README.md)
declare -A not_run=(
    ['make run      # installs what is missing, builds, then writes, compiles and runs a program in a sandbox']="apt and a build; then it is tests/demo/run.sh"
    ['make check    # installs what is missing, runs the tests (make check-all: the slow ones too)']="this is a part of it"
    ['systemctl --user start podman.socket             # Podman for you alone, without root; or Docker, in whose group you are']="needs a systemd of the user; tests/vendors/docker starts engines of its own"
    ["build/sandlot exec --sandbox docker --param image=docker.io/library/python:3.12-slim -- 'python3 -V'"]="needs that engine, and a registry; tests/vendors/docker has an engine with an image"
    ["build/sandlot exec --sandbox daytona --param image=python:3.12 -- 'python3 -V'"]="needs an account; tests/vendors/daytona has an emulator"
    ["build/sandlot exec -- 'git clone https://git.example.com/team/app.git . && pip install --target lib -r requirements.txt && npm ci'"]="needs that host; tests/local/tools_test.sh types it where there is one"
    ['sandlot create --sandbox acme --network open                                         # a provider that can hold it']="nobody has that provider; tests/local/network_open_test.sh opens boxes"
    ['sandlot network log -f --denied $ID             # goes on until Ctrl-C']="goes on until Ctrl-C; tests/cli/network_test.sh ends it"
    ['sandlot mcp --http 127.0.0.1:8808 --token-file token']="serves until it is ended, at a port that others may have; tests/mcp has a free one"
    ['claude mcp add --transport http sandlot http://127.0.0.1:8808/mcp --header "Authorization: Bearer $(cat token)"']="needs that server"
)
# Blocks in these are no commands.
other_languages="c js json python toml"

# script_of DOCUMENT: its commands, each in the line that it has there
script_of() {
    local line
    for line in "${!not_run[@]}"; do printf '%s\t%s\n' "$line" "${not_run[$line]}"; done >"$scratch/listed"
    awk -F '\t' -v document="$1" -v scratch="$scratch" -v other=" $other_languages " '
        NR == FNR { why[$1] = $2; next }
        FNR == 1 { printf ". \"$scratch/typed.sh\"; " }
        !inside && /^ *```/ {
            inside = $0
            sub(/^ *``` */, "", inside)
            opened = FNR
            if (inside == "sh")
                print "begins " FNR
            else {
                if (inside == "")
                    inside = behind ? "shown" : "text"
                else if (!index(other, " " inside " "))
                    printf "unknown %d", FNR
                print ""
            }
            next
        }
        inside && /^ *```$/ {
            print inside == "sh" && some ? "ends" : inside == "shown" ? "shows " opened : ""
            behind = inside == "sh"
            inside = some = ""
            next
        }
        inside == "sh" {
            if ($0 in why) {
                print >>(scratch "/met")
                print "# not run: " document ":" FNR ": " $0 ": " why[$0] >>(scratch "/notes")
                $0 = ""
            }
            some = some $0
            print
            next
        }
        inside == "shown" { print >(scratch "/shown." opened) }
        /[^ ]/ && !inside { behind = 0 }
        { print "" }
        END { print (inside ? "unknown " opened "; " : "") "echo typed >&3" }' "$scratch/listed" "$1"
}

# What the scripts are begun with.
cat >"$scratch/typed.sh" <<'END'
set -o pipefail # no less strict than bash -e, but it goes on, to tell of all that fails
exec 3>&1
trap 'fails $LINENO' ERR
fails() {
    sound=false
    echo "not ok $document:$1: $(sed -n "$1p" "$source/$document")"
    tail -n 20 "$scratch/printed" "$scratch/errors" | sed 's/^/# /'
} >&3
unknown() { echo "not ok $document:$1: a block that is neither commands nor in a known language" >&3; }
begins() {
    block=$1 sound=true
    exec >"$scratch/printed" 2>"$scratch/errors"
}
ends() { if $sound; then echo "ok $document:$block" >&3; fi; }
# Which of the machine's files a box sees in /etc, the machine decides.
portable() { sed 's/\(Files in [^:]*: \).*/\1.../' "$1"; }
shows() {
    if diff <(portable "$scratch/shown.$1") <(portable "$scratch/printed") >"$scratch/difference"; then
        echo "ok $document:$1: it is what was printed"
    else
        echo "not ok $document:$1: another output than is shown"
        sed 's/^/# /' "$scratch/difference"
    fi >&3
}
END

# What readers have of their own: a project, a program, a plugin; and Claude Code, which starts the server that it is told of, and
# works with it.
mkdir "$scratch/own" "$scratch/bin" || exit 2
printf 'check:\n\techo checked\n' >"$scratch/own/Makefile"
printf '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n' >"$scratch/own/hello.c"
ln -s "$BUILD/sandlot" "$scratch/bin/sandlot"
cat >"$scratch/bin/claude" <<'END'
#!/bin/bash
set -eo pipefail
while [ "$1" != -- ]; do shift; done
coproc "${@:2}"
for method in '"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}' \
    '"tools/call","params":{"name":"execute","arguments":{"command":"echo more >>Makefile"}}'; do
    echo '{"jsonrpc":"2.0","id":1,"method":'"$method}" >&"${COPROC[1]}"
    read -r answer <&"${COPROC[0]}"
    jq -e .result <<<"$answer"
done
exec {COPROC[1]}>&-
wait
END
chmod 755 "$scratch/bin/claude"

need_local
# A project must not be told where Sandlot is; what the kit does with all of a provider, plugin_project_test.sh sees.
reader=(env -u BUILD -u SANDLOT -u MAKEFLAGS -u MAKELEVEL PATH="$scratch/bin:$PATH" CHECK=--static scratch="$scratch" source="$PWD")
(cd "$scratch" && "${reader[@]}" sh -c 'sandlot -q plugin new acme && make -C acme' >"$scratch/out" 2>&1 && mv acme/acme.so own/) ||
    not_ok "there is a plugin to begin with" "$(<"$scratch/out")"

for document in "${documents[@]}"; do
    rm -f "$scratch"/shown.*
    script_of "$document" >"$scratch/script"
    work=$scratch/work/${document//\//_}
    mkdir "$work" && cp -R core include sdk README.md "$scratch"/own/* "$work/" && ln -s "$BUILD" "$work/build" || exit 2
    (cd "$work" && exec timeout -k 5 600 "${reader[@]}" document="$document" bash "$scratch/script") </dev/null >"$scratch/told" 2>"$scratch/errors"
    grep -v '^typed$' "$scratch/told"
    failures=$((failures + $(grep -c '^not ok' "$scratch/told")))
    grep -qx typed "$scratch/told" || not_ok "$document can be typed to its end" "$(cat "$scratch/told" "$scratch/errors")"
done

cat "$scratch/notes"
for line in "${!not_run[@]}"; do
    grep -qxF -- "$line" "$scratch/met" || not_ok "a line that is not run stands in a document: $line" "take it from the list"
done
delete_all
nothing_left "nothing is left of it"
