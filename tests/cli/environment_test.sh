#!/bin/bash
# .env files: who reads them, who wins, and what a project's file may not set. Seen through the setup script, which gets
# ${NAME} from the environment, and through a provider's look-up of FAKE_API_KEY.
# shellcheck disable=SC1091,SC2154 # lib.sh sets status, out, err and the folders
. "$(dirname "$0")/lib.sh"
unset SANDLOT_NO_ENV_FILE FAKE_API_KEY SANDLOT_FAKE_API_KEY
cp "$BUILD/tests/plugins/fake.so" "$plugins/" || exit 2
project=$scratch/work/project
mkdir -p "$project/below" "$scratch/vendor"
cd "$project/below" || exit 2
printf '[sandboxes.providers.fake.params]\nfolder = "%s"\n' "$scratch/vendor" >"$config"

project_file() { printf '%s\n' "$1" >"$project/.env"; }
user_file() { printf '%s\n' "$1" >"$XDG_CONFIG_HOME/sandlot/.env"; }
no_files() { rm -f "$project/.env" "$XDG_CONFIG_HOME/sandlot/.env"; }

# value NAME WANTED CASE: what ${NAME} becomes; WANTED '${NAME}' means not set
value() {
    printf "printf '%%s' '[\${%s}]' >seen" "$1" >"$scratch/setup.sh"
    expect "$3" 0 "[$2]" "*" -q exec --sandbox fake --sandbox-setup "$scratch/setup.sh" -- cat seen
}
# unset_by_project NAME: a project's file may not set it
banned() {
    project_file "$1=from-project"
    value "$1" "\${$1}" "a project's file never sets $1"
}

# ---- who wins ----
project_file 'FIRST=project'
value FIRST project "the nearest file above the current folder"
user_file 'FIRST=user
SECOND=user'
value FIRST project "the project's file wins over the user's"
value SECOND user "the user's file is read too"
FIRST=process value FIRST process "the process wins over both"
FIRST='' value FIRST "" "even with an empty value"
project_file 'FIRST='
value FIRST "" "an empty value of the project hides the user's"
echo 'FIRST=nearer' >.env
value FIRST nearer "the nearest file only"
rm .env
SANDLOT_NO_ENV_FILE=1 value FIRST user "SANDLOT_NO_ENV_FILE=1 turns the project's file off"
no_files

# ---- how a line is read ----
project_file '# a comment

export EXPORTED=yes
PLAIN=a b   # a comment
HASH=a#b
TRIMMED =   x  
SINGLE='"'"'a $X \n "q"'"'"'
DOUBLE="a\tb \"q\" \\ \$X"
REFERENCE="${PLAIN}/x"
this is no assignment
LAST=yes'
value EXPORTED yes "export"
value PLAIN "a b" "an unquoted value ends at a comment"
value HASH "a#b" "which begins after a blank"
value DOUBLE "$(printf 'a\tb "q" \\ $X')" "double quotes know escapes"
value REFERENCE "a b/x" "double quotes know references"
value LAST yes "a bad line does not end the reading"
run list --sandbox fake
check "a bad line is warned about" grep -q "\.env" "$scratch/err"
no_files

# ---- what a project may not set ----
for name in PATH HOME LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES PYTHONPATH NODE_OPTIONS BASH_ENV GIT_SSH_COMMAND \
    GIT_CONFIG_GLOBAL; do
    printf '%s=/from-project\n' "$name" >"$project/.env"
    expect "a project's $name changes nothing" 0 "x" "*" -q exec --sandbox fake -- echo x
done
for name in XDG_FOLDER_X ACME_API_URL ACME_ENDPOINT DAYTONA_DOMAIN HTTPS_PROXY AWS_ENDPOINT_URL_S3 ACME_CA_BUNDLE SSL_CERT_FILE \
    SANDLOT_EXTRA NODE_OPTIONS GIT_DIR; do
    unset "$name"
    banned "$name"
done
project_file "KUBECONFIG=$scratch/evil.kube"
check "nor does a look whether a provider is ready heed it" bash -c '! "$1" providers --json | grep -q evil.kube' - "$SANDLOT"
project_file "SANDLOT_PLUGIN_PATH=$scratch/evil
SANDLOT_CONFIG=$scratch/evil.toml"
run --json providers
check "nor where providers and configuration are" test "${err#*evil}${out#*evil}" = "$err$out"
no_files
user_file 'ACME_API_URL=https://example.invalid'
value ACME_API_URL https://example.invalid "the user's own file may set an address"
no_files

# ---- a provider's look-up (values under four bytes are not hidden in the log) ----
# key WANTED CASE
key() {
    run -vv list --sandbox fake
    check "$2" grep -q "key $1\$" "$scratch/err"
}
key none "no key"
FAKE_API_KEY=k1 key k1 "the plain name"
FAKE_API_KEY=k1 SANDLOT_FAKE_API_KEY=k2 key k2 "the prefixed name wins"
FAKE_API_KEY=k1 SANDLOT_FAKE_API_KEY='' key none "an empty prefixed name hides the plain one"
FAKE_API_KEY='' key none "empty counts as absent"
project_file 'FAKE_API_KEY=k3'
key k3 "from a project's file"
project_file 'SANDLOT_FAKE_API_KEY=k4'
FAKE_API_KEY=k1 key k4 "a prefixed credential from a project's file"
no_files
export FAKE_API_KEY=very-secret-value
run -vv list --sandbox fake
check "a key is not in the log" test "${err#*very-secret}" = "$err"
check "it is hidden" grep -qF "key ***" "$scratch/err"
unset FAKE_API_KEY

# ---- a file that cannot be read ----
mkdir "$project/.env"
expect "an unreadable file is no error" 0 "x" "*" exec --sandbox fake -- echo x
