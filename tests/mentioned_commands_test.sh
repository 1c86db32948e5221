#!/bin/bash
# What README.md, docs/ and the README of each room mention of sandlot in a sentence (`sandlot port ID PORT`) is a command that there
# is: with options that it takes and as many words as it wants. One that does not need more than this machine is run, with
# something for each placeholder; of the others, which stand here with the reason, and of bare names the program tells the help,
# which it does only of what it understands. Blocks of commands are documented_commands_test.sh's.
# shellcheck disable=SC1091,SC2016,SC2154 # lib.sh; texts of documents
. tests/cli/lib.sh

documents=(README.md SECURITY.md CONTRIBUTING.md)
while IFS= read -r document; do documents+=("$document"); done < <(find docs config core debian include plugins sdk shell tests -name '*.md' | sort)
declare -A not_run=(
    ['exec --param image=debian:12 -- cat /etc/os-release']="needs a registry; tests/local/image_test.sh has one"
    ['exec --sandbox acme']="of no command"
    ['exec --sandbox acme -- make test']="nobody has that provider"
    ['exec --sandbox acme -- true']="nobody has that provider"
    ['providers acme']="nobody has that provider"
    ['exec --volume npm:/home/sandlot/.npm -- npm ci']="needs the registry of npm"
    ['shell --param workspace=. -- vi README.md']="needs a terminal"
    ['mcp --http 127.0.0.1:8808']="serves until it is ended, at a port that others may have"
    ['port ID 3000 8080:80']="goes on until Ctrl-C"
    ['port ID PORT']="goes on until Ctrl-C"
    ['port ID PORT --url']="local has no URLs; tests/vendors/ports.sh asks services that have"
    ['plugin install --system acme.so']="is for all users of this machine"
)

# mentioned DOCUMENT: its commands in code between backticks, also where a line ends in one, without what stands before `sandlot`
mentioned() {
    awk '/^ *```/ { inside = !inside } inside || /^ *(```.*)?$/ { print ""; next } { printf "%s ", $0 } END { print "" }' "$1" |
        grep -oE '`[^`]+`' | tr -d '`' | sed -nE 's#^(.*[ /])?sandlot ((-|[a-z]).*)$#\2#p' | sort -u
}

# alternatives COMMAND: one for each word of one|or|another
alternatives() {
    local before after choice
    if [[ " $1 " =~ ^(.*\ )([a-z]+(\|[a-z]+)+)(\ .*)$ ]]; then
        before=${BASH_REMATCH[1]# } after=${BASH_REMATCH[4]% }
        for choice in ${BASH_REMATCH[2]//|/ }; do echo "$before$choice$after"; done
    else
        echo "$1"
    fi
}

# filled COMMAND: with something for each placeholder, in $words
filled() {
    local at
    read -ra words <<<"$1"
    for at in "${!words[@]}"; do
        case ${words[at]} in
            ID) words[at]=$box ;;
            ENTRY) words[at]=example.com ;;
            DIR) words[at]=$scratch/folder ;;
            FOLDER/process.toml) words[at]=$scratch/process.toml ;;
            NAME) words[at]=local ;;
            HOST) words[at]=codex ;;
            PORT) words[at]=8080 ;;
            COMMAND) words[at]="exec" ;;
            FILE.so | acme.so) words[at]=$BUILD/tests/plugins/fake.so ;;
        esac
    done
}

# understood PLACE COMMAND: the program tells the help of it, once it has taken all the rest. Behind "--" nothing is its own.
understood() {
    local place=$1 own=() word
    filled "$2"
    for word in "${words[@]}"; do
        [ "$word" != -- ] || break
        own+=("$word")
    done
    expect "$place: sandlot $2: there is such a command" 0 "*" "*" "${own[@]}" --help
}

runs() { # PLACE COMMAND
    filled "$2"
    [[ $2 != "plugin check"* ]] || words+=(--static) # tests/plugin_project_test.sh has the rest
    expect "$1: sandlot $2: it runs" 0 "*" "*" "${words[@]}"
}

need_local
cd "$scratch/work" || exit 2
mkdir "$scratch/folder"
printf 'test:\n\techo tested\n' >Makefile
: >"$scratch/process.toml"
box=$("$SANDLOT" -q create)
declare -A seen=()
for document in "${documents[@]}"; do
    while IFS= read -r command; do
        [ -z "${seen[$command]:-}" ] || continue
        seen[$command]=yes
        while IFS= read -r command; do
            if [ -n "${not_run[$command]:-}" ]; then
                echo "# not run: $document: sandlot $command: ${not_run[$command]}"
                understood "$document" "$command"
            elif [[ $command =~ ^(plugin|network|snapshots)?\ ?[a-z]+$ && $command != "network sets" ]]; then
                understood "$document" "$command"
            else
                runs "$document" "$command"
            fi
        done < <(alternatives "$command")
    done < <(mentioned "$OLDPWD/$document")
done
for command in "${!not_run[@]}"; do
    [ -n "${seen[$command]:-}" ] || not_ok "what is not run is mentioned somewhere: $command" "take it from the list"
done
check "there is much to be found" test "${#seen[@]}" -gt 50
delete_all
nothing_left "nothing is left of it"
