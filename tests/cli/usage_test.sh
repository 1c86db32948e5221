#!/bin/bash
# What is wrong with a command line: status 2, the reason on standard error, nothing on standard output, nothing created.
# shellcheck disable=SC1091,SC2154 # lib.sh sets status, out, err and the folders
. "$(dirname "$0")/lib.sh"

cat >"$config" <<'END'
[sandboxes.providers.fixed]
class_path = "/nonexistent/fixed.so:fixed"
supports_sandbox_id = false
supports_snapshot_name = false
END
printf 'true\n' >"$scratch/setup.sh"

# ---- commands and options ----
usage "no command" "no command"
usage "unknown command" "there is no command 'exce'.*did you mean 'exec'" exce
usage "unknown command without neighbour" "there is no command 'xylophone'" xylophone
usage "commands have no abbreviations" "there is no command 'prov'" prov
usage "unknown option" "there is no option --jsn; did you mean --json" list --jsn
for word in login logout start stop unpause commit clone inspect info images build pull push attach ssh connect top stats; do
    usage "what $word is called here" "there is no command '$word'; .*(sandlot (list|exec|read|providers|create|delete|shell|resume|snapshot|fork|apply|import|ps))" "$word"
done
usage "the hint is no spelling" "ends a sandbox" stop
usage "in the background" "exec --detach" exec --background -- true
usage "an id where none stands" "takes no argument 'box'; which sandbox is said by --sandbox-id" ps box
usage "an argument too many" "takes no argument 'more'\$" ps --sandbox-id box more
for word in --image -it -ti -i -t --rm; do
    usage "what $word is called here" "there is no option $word; .*(parameter|sandlot shell|deleted)" exec "$word" x -- true
done
usage "options have no abbreviations" "there is no option --sandbox-se" exec --sandbox-se x -- true
usage "short options are not joined" "there is no option -qv" list -qv
usage "option of another command" "'sandlot list' takes no --timeout" list --timeout 3
usage "one of another command, as it was written" "'sandlot rm' takes no -f$" rm -f x
usage "flag with a value" "--json takes no value" list --json=yes
usage "argument where none belongs" "takes no argument 'x'" list x
usage "two arguments for one" "takes no argument 'b'" providers a b
usage "missing id" "the id is missing" delete
usage "empty id" "an id is empty" delete ""
usage "missing command" "the command is missing" exec
usage "missing command after --" "the command is missing" exec --
usage "empty command" "the command is empty" exec -- ""
usage "blank command" "the command is empty" exec -- "  "
usage "import without anything" "the arguments are missing: ID and DIR" import
usage "import without a folder" "the arguments are missing: ID and DIR" import box
usage "import of two folders" "there is more than one folder: 'c'" import --sandbox-id a b c
usage "diff without an id" "the id of the sandbox is missing" diff
usage "export without an id" "the id of the sandbox is missing" export
usage "apply without an id" "the id of the sandbox is missing" apply
usage "an empty id" "the id is empty" diff ""
usage "a format that is none" "--format is 'patch' or 'tar', not 'zip'" export --format zip box
usage "an export with --json but without a file" "--json needs --output FILE" export --json box
usage "--force is for apply" "--force" diff --force a box
usage "help of an unknown command" "did you mean 'exec'" help exce
usage "status 2 prints no JSON" "there is no command" --json exce

for command in import diff export apply; do
    run "$command" --help
    check "$command takes a scope, and its help says so" grep -q '^  --scope KEY  ' "$scratch/out"
done

# ---- port ----
usage "port 65536" "1 to 65535" port box 65536
usage "port 0" "1 to 65535" port box 0
usage "port: a local port of 65536" "0 to 65535" port box 65536:80
usage "port: nothing behind the colon" "1 to 65535" port box 8080:
usage "port: nothing before it" "0 to 65535" port box :8080
usage "port: none" "port is missing" port box
usage "port: an empty id" "id is empty" port "" 80
usage "port: one of this machine twice" "8080 of this machine is given twice" port box 8080:80 81 8080:82
usage "--url with a local port" "one port" port box 80:80 --url
usage "--show-token alone" "goes with --url" port box 80 --show-token

# ---- values ----
for option in --sandbox-id --sandbox-snapshot-name --sandbox-setup --scope --config --cwd --timeout --env --param; do
    usage "$option without value" "$option needs a value" exec $option
    usage "$option followed by an option" "$option needs a value" exec $option --json -- true
done
for option in --sandbox --sandbox-id --sandbox-snapshot-name --sandbox-setup --scope --config --cwd; do
    usage "$option with an empty value" "the value of $option is empty" exec "$option=" -- true
    usage "$option with an empty word" "the value of $option is empty" exec "$option" "" -- true
done
usage "negative timeout" "--timeout must not be negative" exec --timeout -1 -- true
usage "timeout too long" "at most 3600" exec --timeout 3601 -- true
usage "timeout with a fraction" "whole seconds" exec --timeout 1.5 -- true
usage "empty timeout" "whole seconds" exec --timeout= -- true
for time in 5x 1m1h 5m5m h 1h5 "5 m" +5m 1.5h 99999999999d; do
    usage "no time: $time" "whole seconds from 0 .*or a time such as 90s, 5m or 1h" exec --timeout "$time" -- true
done
usage "a time that is too long" "at most 3600 seconds" exec --timeout 1h1s -- true
usage "cp of nothing remote" "neither is a path in a sandbox" cp a b
usage "cp of two remote ones" "both are paths in sandboxes" cp a:b c:d
usage "a colon behind a slash is one of a name" "neither" cp ./a:b c
usage "-e takes NAME=VALUE" "--env takes NAME=VALUE" exec -e 1=2 -- true
usage "timeout far too long" "whole seconds" exec --timeout 99999999999999999999 -- true
usage "variable without value" "--env takes NAME=VALUE" exec --env NAME -- true
usage "variable with a bad name" "--env takes NAME=VALUE" exec --env 1A=x -- true
usage "variable without name" "--env takes NAME=VALUE" exec --env =x -- true
run exec --env "BAD-NAME=s3cret-value" -- true
check "the value of a bad variable is not shown" test "${err#*s3cret}" = "$err"
usage "parameter without value" "--param takes KEY=VALUE" exec --param workspace -- true
usage "parameter without key" "--param takes KEY=VALUE" exec --param =x -- true
run exec --param "=s3cret-value" -- true
check "the value of a bad parameter is not shown" test "${err#*s3cret}" = "$err"

# ---- conflicts ----
usage "id and snapshot" "cannot go with --sandbox-id" exec --sandbox-id x --sandbox-snapshot-name y -- true
usage "id and scope" "cannot go with --sandbox-id" exec --sandbox-id x --scope y -- true
usage "create with id" "'sandlot create' takes no --sandbox-id" create --sandbox-id x
usage "list with scope" "'sandlot list' takes no --scope" list --scope x
usage "all and a provider" "--all asks every provider" list --all --sandbox local
for command in "exec -- true" create list "delete x"; do
    read -ra words <<<"$command"
    usage "--sandbox none: ${words[0]}" "no unsandboxed execution" --sandbox=none "${words[@]}"
    usage "--sandbox none with an id: ${words[0]}" "." --sandbox=none --sandbox-id x "${words[@]}"
done

# ---- which provider ----
usage "a bad parameter of several deletions" "no parameter .colour" delete x y --param colour=red
check "is said once" test "$(grep -c "no parameter" "$scratch/err")" = 1
usage "unknown provider" "nosuch.*local" exec --sandbox nosuch -- true
usage "unknown provider names the searched folders" "$plugins" exec --sandbox nosuch -- true
usage "unknown provider names the table to declare" "sandboxes.providers.nosuch" exec --sandbox nosuch -- true
usage "unknown provider suggests the nearest" "did you mean .*local" exec --sandbox locl -- true
usage "names are compared exactly" "Local" exec --sandbox Local -- true
usage "unknown provider of providers" "nosuch" providers nosuch
usage "empty name of a provider" "the name is empty" providers ""
usage "a name that is no bare key of TOML is quoted" 'sandboxes.providers."a.b"' exec --sandbox a.b -- true
usage "a name that no provider can have" "holds a blank cannot be a provider's" exec --sandbox "a b" -- true
check "is not to be declared" test "${err#*declare}" = "$err"
usage "bare --sandbox without default" "needs a default" exec --sandbox -- true
usage "bare --sandbox at the end" "needs a default" list --sandbox
usage "--sandbox took the command" "'exec' after --sandbox was taken" --sandbox exec -- true
usage "--sandbox took the only word" "'list' after --sandbox was taken" --sandbox list
usage "a command as provider" "'delete' after --sandbox was taken" exec --sandbox delete -- true
usage "a command as provider, and nothing to run" "missing.*'delete' after --sandbox was taken" exec --sandbox delete
usage "the last --sandbox counts" "othername" exec --sandbox local --sandbox othername -- true
usage "provider without reattaching" "cannot attach" exec --sandbox fixed --sandbox-id x -- true
usage "provider without snapshots" "does not start from snapshots" exec --sandbox fixed --sandbox-snapshot-name x -- true

# ---- files ----
usage "missing configuration" "nosuch.toml" list --config "$scratch/nosuch.toml"
usage "missing setup script" "nosuch.sh" exec --sandbox-setup "$scratch/nosuch.sh" -- true
mkdir "$scratch/folder"
usage "setup script that is a folder" "folder" exec --sandbox-setup "$scratch/folder" -- true
printf 'echo \377\n' >"$scratch/latin.sh"
usage "setup script that is not UTF-8" "UTF-8" exec --sandbox-setup "$scratch/latin.sh" -- true
printf 'echo \0\n' >"$scratch/nul.sh"
usage "setup script with NUL" "NUL" exec --sandbox-setup "$scratch/nul.sh" -- true
mkfifo "$scratch/pipe"
usage "setup script that is a pipe" "it is not a regular file" exec --sandbox-setup "$scratch/pipe" -- true
usage "a token in a pipe" "it is not a regular file" mcp --http 127.0.0.1:0 --token-file "$scratch/pipe"
mkdir "$scratch/gone"
usage_where_nothing_is() { cd "$scratch/gone" && rmdir "$scratch/gone" && usage "$@"; }
here=$PWD
usage_where_nothing_is "a path from a folder that is gone" "which is not there any more" exec --param workspace=. -- true
cd "$here" || exit 2

# ---- what is fine ----
version=$(sed -n 's/^.define SANDLOT_VERSION "\(.*\)"/\1/p' include/sandlot/sandlot.h)
expect "version" 0 "sandlot $version" "*" --version
expect "version ends the looking at the rest" 0 "sandlot $version" "*" list --version
expect "the command version" 0 "sandlot $version" "*" version
json "with --json" 0 '.version == "'"$version"'"' version
run --help
help=$out
expect "-h is --help" 0 "$help" "*" -h
run exec --help
help=$out
expect "-h of a command" 0 "$help" "*" exec -h
expect "run is exec" 0 "$help" "*" run --help
expect "help" 0 "*" "*" --help
check "help lists the commands" grep -q "^  providers " "$scratch/out"
for command in exec shell create list delete pause resume fork snapshot snapshots volumes gc read write edit ls grep glob rm upload download cp import diff export apply mcp providers plugin doctor version help; do
    expect "help of $command" 0 "*" "*" "$command" --help
    check "help of $command has its usage" grep -q "^Usage: sandlot $command" "$scratch/out"
    help=$out
    run help "$command"
    check "help $command says the same" test "$out" = "$help"
done

for command in gc providers plugin doctor; do
    expect "$command takes --sandbox, which means nothing to it" 0 "*" "*" "$command" --help --sandbox local
    check "and its help does not offer it" test "$(grep -c -e "--sandbox" -e "--param" "$scratch/out")" = 0
done

check "nothing was created" test -z "$(ledger_files)"
