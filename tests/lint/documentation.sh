#!/bin/bash
# The manual and the completions know every command and option that the program tells of, docs/ has what --print-config
# prints, the pictures are those of their texts, the recording of the tour is one of its page, and every provider says what
# agents are told of the inside of its sandboxes.
set -u

failed=0
complain() {
    echo "$*"
    failed=1
}
# Source and manual spell a hyphen as "\-".
manual=$(sed 's/\\-/-/g' config/man/sandlot.1 config/man/sandlot-mcp.1 config/man/sandlot-plugin.1)
# shellcheck source=/dev/null
. config/completions/sandlot

grep -L 'M(inside,' plugins/*/*.c | xargs grep -l '_METADATA(M)' >"$TMPDIR/silent" &&
    complain "no note \`inside\` (include/sandlot/provider.h) tells agents where they may write: $(<"$TMPDIR/silent")"

commands=$("$SANDLOT" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$commands" ] || complain "'sandlot help' lists no commands"
for command in $commands; do
    grep -Eq "^\.B[RI]? \"?$command\b" <<<"$manual" || complain "the manual lacks the command $command"
    grep -Eq "commands=\".*\b$command\b" config/completions/sandlot || complain "bash does not complete $command"
    grep -q "^ *'$command:" config/completions/_sandlot || complain "zsh does not complete $command"
    grep -q -- "-a $command -d" config/completions/sandlot.fish || complain "fish does not complete $command"
    options=$("$SANDLOT" "$command" --help | grep -oE '^  -(-[a-z-]+|[a-z])' | sort -u)
    for option in $options; do
        grep -q -- "$option\b" <<<"$manual" || complain "the manual lacks $option of $command"
        [ "$command" = help ] || [[ " $(_sandlot_options "$command") " == *" $option "* ]] ||
            complain "bash does not complete $command $option"
        grep -Eq -- "'\*?$option\[" config/completions/_sandlot || complain "zsh does not complete $option"
        in_fish="-l ${option#--}"
        [[ $option == --* ]] || in_fish="-s ${option#-}"
        grep -q -- " $in_fish\b" config/completions/sandlot.fish || complain "fish does not complete $option"
    done
done

for host in claude codex cursor vscode langchain; do
    snippet=$("$SANDLOT" mcp --param workspace=/home/me/project --print-config "$host")
    [ -n "$snippet" ] || complain "there is nothing to print for $host"
    [[ $(<docs/agents.md) == *"${snippet//"$(realpath "$SANDLOT")"//usr/local/bin/sandlot}"* ]] ||
        complain "docs/agents.md does not show what --print-config $host prints"
done

# providers: the rows of docs/network.md, from the words that each provider announces
providers() {
    "$SANDLOT" providers --json | jq -r '.providers[] | .capabilities as $able | [.name] +
        (["off", "open", "hosts", "ports", "cidrs", "credentials", "live"] | map(if $able["network-" + .] then "yes" else "no" end)) | "| `" + .[0] + "` | " + (.[1:] | join(" | ")) + " |"'
}
export SANDLOT_PLUGIN_PATH=$BUILD/plugins
while IFS= read -r row; do
    grep -qxF -- "$row" docs/network.md || complain "docs/network.md does not have: $row"
done < <(providers)

# The pictures are what their texts say, and the recording of the tour is sound and shows the commands of its page.
drawn=$(mktemp -d) || exit 2
trap 'rm -rf "$drawn"' EXIT
docs/pictures/draw.py "$drawn" || failed=1
for picture in docs/pictures/*.txt; do
    name=$(basename "$picture" .txt).svg
    cmp "$drawn/$name" "docs/pictures/$name" || complain "docs/pictures/$name is not what docs/pictures/draw.py draws"
done
docs/tour.py --check || failed=1
exit $failed
