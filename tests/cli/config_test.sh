#!/bin/bash
# config.toml from outside: what is broken in it is told, and stops only what needs it.
# shellcheck disable=SC1091,SC2154 # lib.sh sets status, out, err and the folders
. "$(dirname "$0")/lib.sh"

# configure TEXT: the default configuration
configure() { printf '%s\n' "$1" >"$config"; }
cp "$config" /dev/null 2>/dev/null
json_shows_local='.providers | map(.name) | index("local") != null'

rm -f "$config"
run providers
check "a missing default file is silent" test "$status$err" = 0
: >"$config"
run providers
check "an empty file is silent" test "$status$err" = 0

# ---- no TOML ----
configure 'this is = = no TOML'
json "broken TOML stops no listing" 0 "$json_shows_local" providers
check "the warning names the file" grep -q "config.toml" "$scratch/err"
check "and the line" grep -qE "line 1|:1[:,]" "$scratch/err"
usage "an unknown provider tells of it" "config.toml.*ignored|ignored.*config.toml" exec --sandbox nosuch -- true
usage "so does a bare --sandbox" "ignored" exec --sandbox -- true
rm -f "$config"
mkdir "$config"
json "a folder in its place" 0 "$json_shows_local" providers
check "has a warning" grep -q "config.toml" "$scratch/err"
rmdir "$config"

# ---- wrong types ----
configure 'sandboxes = 5'
json "sandboxes is no table" 0 "$json_shows_local" providers
check "sandboxes: a warning" grep -q "sandboxes" "$scratch/err"
configure '[sandboxes]
default = "local"
providers = 5'
json "providers is no table" 0 "$json_shows_local" providers
check "providers: a warning" grep -q "providers" "$scratch/err"
configure '[sandboxes]
default = 5'
usage "default of the wrong type counts as absent" "needs a default" exec --sandbox -- true
check "with a warning" grep -qi "warning.*default" "$scratch/err"
configure '[sandboxes]
default = "none"'
usage "default none" "default.*'none'" exec --sandbox -- true
configure '[sandboxes]
default = "nosuch"'
usage "default unknown" "the default in .sandboxes. of .*config.toml.*nosuch" exec --sandbox -- true

# ---- entries ----
configure '[sandboxes.providers.acme]
class_path = "/nonexistent/acme.so:acme"
workng_dir = "/x"'
json "an entry is listed" 0 '.providers[] | select(.name == "acme") | .source == "config" and .ready == false' providers
check "an unknown key is warned about with the nearest" grep -q "working_dir" "$scratch/err"
json "it fails when it is used" 3 '.error == "provider_unavailable" and (.message | test("/nonexistent/acme.so"))' exec --sandbox acme -- true
configure '[sandboxes.providers.acme]
class_path = "acme"'
json "class_path without colon" 3 '.error == "provider_unavailable" and (.message | test("class_path"))' exec --sandbox acme -- true
configure '[sandboxes.providers.acme]
working_dir = "/x"'
run providers
check "no class_path and nothing below: a warning with the line" grep -q "warning: .*config.toml:1: .*acme.* has no class_path" "$scratch/err"
json "no class_path and nothing below" 3 '.error == "provider_unavailable" and (.message | test("class_path"))' exec --sandbox acme -- true
configure '[sandboxes.providers.acme]
class_path = 5'
usage "class_path of the wrong type drops the entry" "acme" exec --sandbox acme -- true
configure '[sandboxes.providers.local]
memory_mb = 300'
run providers
check "a parameter outside params: where it belongs" grep -q "config.toml:2: .*memory_mb is unknown.*params" "$scratch/err"
configure '[sandboxes.providers.local]
working_dir = "/somewhere"'
json "a partial override" 0 '.providers[] | select(.name == "local") | .source == "config" and .working_dir == "/somewhere" and
    (.shadows | length == 1) and .shadows[0].source == "builtin"' providers
configure '[sandboxes.providers.local]
class_path = "/nonexistent/x.so:x"'
json "an override that cannot be loaded does not fall back" 3 '.error == "provider_unavailable"' exec -- true

# ---- which file ----
configure '[sandboxes.providers.standard]
class_path = "/nonexistent/x.so:x"'
printf '[sandboxes.providers.other]\nclass_path = "/nonexistent/x.so:x"\n' >"$scratch/other.toml"
has() { jq -e --arg name "$1" '.providers | map(.name) | index($name) != null' <"$scratch/out" >/dev/null; }
run --json providers
check "the default file" has standard
export SANDLOT_CONFIG=$scratch/other.toml
run --json providers
check "SANDLOT_CONFIG" has other
run --json providers --config "$config"
check "--config wins" has standard
export SANDLOT_CONFIG=
run --json providers
check "an empty SANDLOT_CONFIG is none" has standard
export SANDLOT_CONFIG=$scratch/nosuch.toml
run --json providers
check "a missing SANDLOT_CONFIG is no error" test "$status" = 0
check "but warned about" grep -q "nosuch.toml" "$scratch/err"
unset SANDLOT_CONFIG

# ---- parameters ----
configure '[sandboxes.providers.local.params]
memory_mb = "much"'
usage "a parameter of the wrong type" "memory_mb" exec -- true
check "with file and line" grep -qE "config.toml.*2" "$scratch/err"
expect "does not stop list" 0 "*" "memory_mb" list
configure '[sandboxes.providers.local.params]
memory_mbs = 100'
usage "an unknown parameter, with the nearest" "memory_mb\b" exec -- true
rm -f "$config"
usage "an unknown --param, with the nearest" "memory_mb\b" exec --param memory_mbs=100 -- true
usage "a --param of the wrong type" "memory_mb" exec --param memory_mb=much -- true
usage "a --param out of range" "memory_mb" exec --param memory_mb=-5 -- true
for number in -9223372036854775808 9223372036854775808 -99999999999999999999; do
    usage "a --param that no integer holds: $number" "\"memory_mb\" is out of range" exec --param "memory_mb=$number" -- true
done
printf '[sandboxes.providers.local.params]\nttl_s = 60\nmemory_mb = 5\ncolour = 1\n' >"$scratch/refused.toml"
expect "providers warns of a bad parameter, with its line" 0 "*" "refused.toml:4: there is no parameter .colour.*left out" \
    --config "$scratch/refused.toml" providers
expect "providers NAME too" 0 "*" "refused.toml:4: there is no parameter .colour" --config "$scratch/refused.toml" providers local
check "once" test "$(grep -c colour "$scratch/err")" = 1
sed -i '/colour/d' "$scratch/refused.toml"
usage "a value that the provider refuses names its line" "memory_mb = 5 is out of range.*; memory_mb is from .*/refused.toml:3" \
    --config "$scratch/refused.toml" exec -- true
usage "but not if it comes from elsewhere" "memory_mb = 6 is out of range; it must be between 16 and [0-9]*$" \
    --config "$scratch/refused.toml" exec --param memory_mb=6 -- true
configure '[sandboxes.providers.local.params]
unheard = "se/cret-value"'
run exec -- true
check "values of parameters are not told" test "${err#*se/cret}" = "$err"

# ---- with a sandbox ----
rm -f "$config"
need_local
configure '[sandboxes]
default = "local"'
expect "a bare --sandbox takes the default" 0 "x" "*" exec --sandbox -- echo x
configure '[sandboxes.providers.local]
working_dir = "/workspace/made/here"'
expect "working_dir is made" 0 "/workspace/made/here" "*" exec -- pwd
mkdir -p "$XDG_CONFIG_HOME/sandlot/seed"
echo seeded >"$XDG_CONFIG_HOME/sandlot/seed/file"
configure '[sandboxes.providers.local.params]
workspace = "seed"'
expect "a path is relative to the configuration" 0 "seeded" "*" exec -- cat file
mkdir -p "$scratch/work/own"
echo own >"$scratch/work/own/file"
(cd "$scratch/work" && "$SANDLOT" exec --param workspace=own -- cat file) >"$scratch/out" 2>"$scratch/err"
check "that of --param to the current folder" grep -q own "$scratch/out"
expect "--param wins" 0 "own" "*" exec --param "workspace=$scratch/work/own" -- cat file
rm -f "$config"
nothing_left "nothing is left"
