#!/bin/bash
# Attacks on the local provider: everything that a command in a box may try against the machine, its own limits and those who
# come after it. Not one may get through.
#
# Bait is planted on this machine (bait.c); the attacks run inside boxes (attacks/); what they may have reached is looked at from
# outside. Runs as root and as an ordinary user; everything that it makes lies in one folder and is gone afterwards.
set -u

cd "$(dirname "$0")/../.." || exit 1
BUILD=$(realpath "${BUILD:-build}")
SANDLOT=$(realpath "${SANDLOT:-$BUILD/sandlot}")
attack=$BUILD/tests/local/attack
bait=$BUILD/tests/local/bait
for program in "$SANDLOT" "$attack" "$bait"; do
    [ -x "$program" ] || { echo "not ok attacks: $program is not built; run make programs"; exit 1; }
done

top=$(mktemp -d "${TMPDIR:-/tmp}/attack.XXXXXX") || exit 1
export HOME=$top/home XDG_CONFIG_HOME=$top/config XDG_DATA_HOME=$top/data XDG_STATE_HOME=$top/state XDG_CACHE_HOME=$top/cache
export TMPDIR=$top/tmp SANDLOT_NO_ENV_FILE=1 LANG=C.UTF-8
unset SANDLOT_CONFIG SANDLOT_PLUGIN_PATH
# One name is in everything of this run that could be left behind; the marker is what nobody in a box may ever read.
token=$(od -An -N6 -tx1 /dev/urandom | tr -d ' \n')
name=sandlot-bait-$token
intruder=intruder-$token
marker=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
bait_pid=
passed=0
failed=0
number=0

cleanup() {
    local ids
    mapfile -t ids < <("$SANDLOT" list --json 2>/dev/null | jq -r '.sandboxes[].id')
    [ "${#ids[@]}" = 0 ] || "$SANDLOT" delete -q "${ids[@]}" >/dev/null
    if [ -n "$bait_pid" ]; then
        kill "$bait_pid" 2>/dev/null
        wait "$bait_pid" 2>/dev/null
    fi
    rm -f "/tmp/$name" "/var/tmp/$name"
    chmod -R u+rwx "$top" 2>/dev/null
    rm -rf "$top"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

ok() {
    number=$((number + 1)) passed=$((passed + 1))
    echo "ok $number - $1"
}
not_ok() {
    number=$((number + 1)) failed=$((failed + 1))
    echo "not ok $number - $1${2:+: $2}"
}
# check NAME FUNCTION [ARGUMENT...]: what the function prints is the reason for its failure
check() {
    local what=$1 reason
    shift
    if reason=$("$@" 2>&1); then ok "$what"; else not_ok "$what" "$(tail -n 3 <<<"$reason" | tr '\n' ' ')"; fi
}
fail() { echo "$*"; return 1; }

is() { [ "$1" = "$2" ] || fail "it is '$2', not '$1'"; }

# eventually COMMAND...: until it succeeds; long before that a minute is over on a quiet machine
eventually() {
    local end=$((SECONDS + 60))
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || { "$@"; return; }
        sleep 0.05
    done
}
# create [KEY=VALUE...]: prints the id of a new box
create() {
    local parameters=() parameter
    for parameter in "$@"; do parameters+=(--param "$parameter"); done
    "$SANDLOT" create -q "${parameters[@]}"
}
# in_box ID [OPTION...] -- COMMAND: the whole answer as JSON
in_box() {
    local id=$1
    shift
    "$SANDLOT" exec -q --json --sandbox-id "$id" "$@"
}
output() { in_box "$1" -- "$2" | jq -r .output; }
delete() { "$SANDLOT" delete -q "$@" >/dev/null; }
# processes TEXT: those of this machine with TEXT in their arguments or environment that are not part of this test
processes() {
    local folder text
    for folder in /proc/[0-9]*; do
        text=$(tr '\0' ' ' <"$folder/cmdline") 2>/dev/null || continue
        case $text in *"$1"*) echo "${folder#/proc/}" ;; esac
    done 2>/dev/null
}
no_process() { [ -z "$(processes "$1")" ] || fail "still there: $(processes "$1" | tr '\n' ' ')"; }
a_process() { [ -n "$(processes "$1")" ]; }

# ---- the bait ---------------------------------------------------------------------------------------------------------

seed=$top/seed
shown=$top/shown
plant() {
    mkdir -p "$HOME/.ssh" "$TMPDIR" "$shown" "$seed/.git/hooks" "$seed/.vscode" "$seed/nested/.git/hooks" "$seed/src" || return 1
    echo "$marker" | tee "$HOME/.ssh/id_ed25519" "/tmp/$name" "/var/tmp/$name" "$HOME/secret" >/dev/null || return 1
    echo 'int main(void) { return 0; }' >"$seed/src/main.c"
    echo '[core]' | tee "$seed/.git/config" "$seed/nested/.git/config" >/dev/null
    echo '#!/bin/sh' | tee "$seed/.git/hooks/pre-commit" "$seed/nested/.git/hooks/pre-push" "$seed/.envrc" "$seed/.bashrc" \
        "$seed/.profile" >/dev/null
    echo '{}' | tee "$seed/.mcp.json" "$seed/.vscode/tasks.json" >/dev/null
    chmod +x "$seed/.git/hooks/pre-commit"
    ln -s "$HOME/.ssh/id_ed25519" "$seed/seed-link-absolute"
    ln -s "../home/.ssh/id_ed25519" "$seed/seed-link-relative"
    ln -s "$HOME" "$seed/seed-link-folder"
    cp "$attack" "$seed/attack" || return 1
    # Its secret is in its arguments and its environment, its sockets are open, its objects are there to be found.
    ANTHROPIC_API_KEY=$marker "$bait" "$top" "$name" "$marker" &
    bait_pid=$!
    eventually test -s "$top/bait" || return 1
    {
        cat "$top/bait"
        printf '%s\n' "HOME=$HOME" "HOME_FILE=$HOME/.ssh/id_ed25519" "TMP_FILE=/tmp/$name" "VAR_TMP_FILE=/var/tmp/$name" \
            "SHM_FILE=/dev/shm/$name" "SEED=$seed" "SOCKET=$top/socket" "INTRUDER=$intruder"
    } >"$seed/bait"
}
# What a careless caller has: keys in the environment, and open descriptors, a folder of the machine among them.
careless() {
    (
        for descriptor in {4..20}; do eval "exec $descriptor<\"$HOME/secret\""; done
        exec 3</
        exec env ANTHROPIC_API_KEY="$marker" AWS_SECRET_ACCESS_KEY="$marker" AWS_ACCESS_KEY_ID="$marker" GITHUB_TOKEN="$marker" \
            SSH_AUTH_SOCK="$top/socket" DOCKER_HOST="unix://$top/socket" DBUS_SESSION_BUS_ADDRESS="unix:path=$top/socket" \
            HTTPS_PROXY="http://user:$marker@127.0.0.1:1" http_proxy="http://user:$marker@127.0.0.1:1" \
            LD_PRELOAD_MARKER="$marker" "$@"
    )
}
tree_state() {
    (cd "$1" && find . -printf '%p %y %m %U %G %s %T@ %C@ %n %l\n' | sort && find . -type f -exec sha256sum {} + | sort)
}

# ---- the attacks inside -----------------------------------------------------------------------------------------------

# attacks LABEL ID [--landlock]: all of them, each a test of its own
attacks() {
    local label=$1 id=$2 mode=${3:-} answer line seen=0
    answer=$(careless "$SANDLOT" exec -q --json --sandbox-id "$id" --timeout 60 -- "./attack try $mode bait" | jq -r .output)
    while IFS= read -r line; do
        case $line in
            "held "*) ok "$label: ${line#held }" ;;
            "THROUGH "*) line=${line#THROUGH }; not_ok "$label: ${line%%:*}" "${line#*: }" ;;
            "attacks that got through: "*) seen=1 ;;
            *) not_ok "$label: a line that is no result" "$line" ;;
        esac
    done <<<"$answer"
    [ "$seen" = 1 ] || not_ok "$label: the attacks were all tried" "they ended early"
}
hits() { [ ! -s "$top/hits" ] || fail "the host's bait was touched: $(sort -u "$top/hits" | tr '\n' ' ')"; }
no_intruder() {
    local found
    found=$(find / /tmp /var/tmp /dev/shm /root /run /etc /etc/cron.d /etc/profile.d /etc/systemd/system /usr/bin /usr/local/bin \
        /usr/lib /var/spool/cron/crontabs /home "$HOME" "$top" "$seed" -maxdepth 1 -name "$intruder*" 2>/dev/null)
    [ -z "$found" ] || fail "made on the host: $found"
}
no_shared_memory() {
    local key
    key=$(sed -n 's/^INTRUDER_KEY=//p' "$top/bait")
    ! awk -v key="$key" '$1 == key { found = 1 } END { exit !found }' /proc/sysvipc/shm /proc/sysvipc/msg ||
        fail "the box's System V objects are on the host"
}
bait_unchanged() {
    local file
    for file in "$HOME/.ssh/id_ed25519" "$HOME/secret" "/tmp/$name" "/var/tmp/$name" "/dev/shm/$name"; do
        [ "$(cat "$file")" = "$marker" ] || { fail "$file has changed"; return; }
    done
}
seed_unchanged() { diff <(echo "$seed_before") <(tree_state "$seed") || fail "the seed folder has changed"; }

# connects PORT: to this machine's loopback
connects() { (: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
# listeners_are_closed_in ID: what forwards the ports of the box, which can be reached here
listeners_are_closed_in() {
    local port ports
    ports=$(sed -nE 's/^127\.0\.0\.1:([0-9]+) .*/\1/p' "$top/forwarded")
    [ "$(wc -w <<<"$ports")" = 2 ] || return
    for port in $ports; do
        connects "$port" || return
        [ "$(output "$1" "$(declare -f connects); connects $port && echo reached || echo refused")" = refused ] || return
    done
}

test_attacks() {
    local id landlock
    seed_before=$(tree_state "$seed")
    id=$(careless "$SANDLOT" create -q --param "workspace=$seed" --param "show=$shown") && [ -n "$id" ] || { not_ok "full: a box is made"; return; }
    # A way in must not be a way out.
    "$SANDLOT" port -q "$id" 0:80 0:8080 >"$top/forwarded" &
    local forwarder=$!
    until [ -s "$top/forwarded" ] || ! kill -0 "$forwarder" 2>/dev/null; do sleep 0.05; done
    check "full: two of its ports are forwarded meanwhile" test -s "$top/forwarded"
    check "full: the box does not reach the listeners" listeners_are_closed_in "$id"
    attacks full "$id"
    kill "$forwarder"
    wait "$forwarder"
    delete "$id"
    id=$(careless "$SANDLOT" create -q --param "workspace=$seed" --param "show=$shown" --param fake_root=true) || { not_ok "fake root: a box is made"; return; }
    check "fake root: the user is 0 inside" is 0 "$(output "$id" 'id -u')"
    attacks "fake root" "$id"
    delete "$id"
    landlock=$(careless "$SANDLOT" create --param confinement=landlock 2>"$top/warning") || { not_ok "landlock: a box is made"; return; }
    check "landlock: a warning says that it is weaker" grep -qi landlock "$top/warning"
    for file in attack bait; do
        "$SANDLOT" exec -q --sandbox-id "$landlock" --stdin -- "cat >$file && chmod 755 $file" <"$seed/$file"
    done
    attacks landlock "$landlock" --landlock
    delete "$landlock"
    check "the bait's sockets and process heard nothing" hits
    check "no new file on the host" no_intruder
    check "no shared memory on the host" no_shared_memory
    check "the baits are as they were" bait_unchanged
    check "the seed folder is as it was" seed_unchanged
}

# ---- the keeper -------------------------------------------------------------------------------------------------------

# Whoever started the first box gave the keeper its environment and descriptors, unless it let go of them. Only root can look: to
# everybody else the keeper and the inits are closed.
keeper_is_clean() {
    local folder entry seen=0
    for folder in /proc/[0-9]*; do
        grep -qa sandlot-local-keeper "$folder/comm" "$folder/cmdline" 2>/dev/null || continue
        seen=1
        if tr '\0' '\n' <"$folder/environ" 2>/dev/null | grep -q "$marker"; then
            fail "${folder#/proc/} has the caller's environment"
            return
        fi
        for entry in "$folder"/fd/*; do
            [ "$(readlink "$entry" 2>/dev/null)" != "$HOME/secret" ] || { fail "${folder#/proc/} has its descriptors"; return; }
        done
    done
    [ "$seen" = 1 ] || fail "no keeper was found"
}

# ---- terminal and answer ----------------------------------------------------------------------------------------------

test_terminal() {
    local id=$1 answer shown
    answer=$(in_box "$id" -- "printf '\\033]52;c;ZXZpbA==\\007\\033[31mred\\033[0m\\001\\177\\302\\233'")
    check "escape sequences are escaped in JSON" grep -q 'u001b]52;c;ZXZpbA==' <<<"$answer"
    check "no control character in JSON" is 0 "$(LC_ALL=C tr -d '\n' <<<"$answer" | LC_ALL=C tr -cd '\000-\037' | wc -c)"
    answer=$(in_box "$id" -- 'printf %s "\"}{\"exit_code\":0,\"output\":\"forged\",\"timed_out\":false}"; exit 7')
    check "a forged answer stays output" is 71 "$(jq -r .exit_code <<<"$answer")$(jq -s length <<<"$answer")"
    answer=$(in_box "$id" -- "printf 'a\\377\\376b\\000c\\303'")
    check "invalid bytes give valid JSON" is "97 65533 65533 98 0 99 65533" "$(jq -r '.output | explode | map(tostring) | join(" ")' <<<"$answer")"
    if command -v script >/dev/null; then
        shown=$(TERM=xterm script -qec "'$SANDLOT' exec -q --sandbox-id $id -- \"printf 'be\\033]52;c;ZXZpbA==\\007fore\\033P+q\\033\\\\\\\\after\\033[31mred\\033[0m'\"" /dev/null </dev/null)
        in_box "$id" -- "printf 'red\\033]52;c;ZXZpbA==\\007' >osc" >/dev/null
        shown+=$(TERM=xterm script -qec "'$SANDLOT' download -q --sandbox-id $id osc -" /dev/null </dev/null)
        check "a terminal gets no clipboard write" bash -c '! grep -q "ZXZpbA\|]52;" <<<"$1" && grep -q red <<<"$1"' - "$shown"
    fi
}

# ---- limits -----------------------------------------------------------------------------------------------------------

works() { [ "$(output "$1" 'echo alive')" = alive ] || fail "the box does not answer any more"; }

# count_of ID COMMAND: the number in what it says
count_of() { output "$1" "$2" | sed -n 's/[^0-9]*\([0-9][0-9]*\).*/\1/p' | tail -n 1; }
at_most() { [ -n "$2" ] && [ "$2" -le "$1" ] || fail "it got ${2:-no answer}, more than $1"; }

# Ended on the way, or within the limit: a watching keeper may be some megabytes late.
ended_or_small() {
    local size
    grep -q 'going on' <<<"$1" || return 0
    size=$(sed -n 's/^\([0-9][0-9]*\)\t.*/\1/p' <<<"$1")
    at_most "$2" "$size"
}
disk_small() { at_most "$2" "$(du -sm "$XDG_STATE_HOME/sandlot/local/boxes/$1" 2>/dev/null | cut -f 1)"; }

test_limits() {
    local id answer
    id=$(create "workspace=$seed" processes=64 memory_mb=128 disk_mb=32 open_files=100) || { not_ok "a box with limits is made"; return; }
    check "limits: no more processes than asked for, but for the box's own" at_most 72 "$(count_of "$id" './attack load processes')"
    answer=$(in_box "$id" --timeout 1 -- './attack load fork')
    check "limits: and said to have timed out" is '[true,124]' "$(jq -c '[.timed_out, .exit_code]' <<<"$answer")"
    check "limits: the box answers after the fork bomb" works "$id"
    check "limits: nothing of it is left" test "$(output "$id" 'ls -d /proc/[0-9]* | wc -l')" -le 8
    answer=$(output "$id" './attack load memory 1024')
    check "limits: memory is bounded" bash -c '! grep -q "touched 1024" <<<"$1"' - "$answer"
    check "limits: the box answers after that" eventually works "$id"
    answer=$(output "$id" './attack load memfd 1024')
    check "limits: memory files are bounded" bash -c '! grep -q "touched 1024" <<<"$1"' - "$answer"
    eventually works "$id" >/dev/null
    for folder in /dev/shm /run; do
        check "limits: $folder is bounded" at_most 128 "$(count_of "$id" "./attack load file $folder/big 512; rm -f $folder/big")"
    done
    eventually works "$id" >/dev/null
    check "limits: descriptors" at_most 100 "$(count_of "$id" './attack load descriptors')"
    answer=$(in_box "$id" --timeout 1 -- './attack load spin')
    check "limits: its answer says so" is '[true,124]' "$(jq -c '[.timed_out, .exit_code]' <<<"$answer")"
    check "limits: /dev/shm has few files" at_most 100000 "$(count_of "$id" 'mkdir /dev/shm/many; ./attack load files /dev/shm/many 100001; rm -rf /dev/shm/many')"
    delete "$id"
    for folder in . /tmp '$HOME' /at_the_top; do
        id=$(create "workspace=$seed" disk_mb=32)
        answer=$(output "$id" "mkdir -p $folder; for i in {1..60}; do ./attack load file $folder/big-\$i 20; done; sleep 1; du -sm $folder; echo going on")
        check "limits: the disk below $folder is bounded" ended_or_small "$answer" 64
        check "limits: what is on the disk for $folder" disk_small "$id" 600
        delete "$id"
    done
    id=$(create "workspace=$seed" disk_mb=32)
    answer=$(output "$id" 'mkdir many; ./attack load files many 300000; sleep 60; echo going on')
    check "limits: 300,000 files are too many" bash -c '! grep -q "made 300000" <<<"$1" || ! grep -q "going on" <<<"$1"' - "$answer"
    delete "$id"
}

# bounded MIB ANSWER: the load was ended while it held what it had, or it had no more than MIB
bounded() {
    local had
    grep -q 'held on' <<<"$2" || return 0
    had=$(sed -n 's/^touched //p' <<<"$2")
    at_most "$1" "$had"
}
# What no process has for itself, and no folder shows.
test_hidden() {
    local id kind
    for kind in memfds shared system-v messages sockets datagrams pieces answers mappings ends; do
        id=$(create "workspace=$seed" memory_mb=64) || { not_ok "hidden: a box is made"; return; }
        check "hidden: memory in $kind is bounded" bounded 128 "$(output "$id" "./attack load $kind 600")"
        check "hidden: after $kind there is an answer" answered "$(in_box "$id" -- true)"
        delete "$id"
    done
    for kind in removed mapped "undumpable removed" "thread removed"; do
        id=$(create "workspace=$seed" disk_mb=50 memory_mb=2000) || { not_ok "hidden: a box is made"; return; }
        check "hidden: disk space in $kind files is bounded" bounded 64 "$(output "$id" "./attack load $kind /tmp 400")"
        delete "$id"
    done
    (
        export XDG_STATE_HOME=$top/narrow
        ulimit -n 200
        id=$(create "workspace=$seed" disk_mb=50) || echo "touched 400; held on without a box"
        output "$id" "./attack load deep /tmp 220 400"
        in_box "$id" -- true
        delete "$id"
    ) >"$top/deep" 2>&1
    check "hidden: disk space in folders that are too deep for the keeper's descriptors" bounded 64 "$(cat "$top/deep")"
    check "hidden: and it is said that they are too deep" grep -q "too deep to be counted" "$top/deep"
}

# What the kernel counts for a user or for the machine, and not for a box.
test_shares() {
    local id
    id=$(create "workspace=$seed" open_files=2000)
    check "shares: inotify instances" at_most $(($(cat /proc/sys/fs/inotify/max_user_instances) / 4)) "$(count_of "$id" './attack load inotify')"
    check "shares: but there are some" test "$(count_of "$id" './attack load inotify')" -ge 1
    check "shares: inotify watches" at_most $(($(cat /proc/sys/fs/inotify/max_user_watches) / 4)) \
        "$(output "$id" 'cat /proc/sys/user/max_inotify_watches')"
    check "shares: terminals" at_most 128 "$(count_of "$id" './attack load terminals')"
    # The kernel lets the last message through that is begun below the limit.
    check "shares: descriptors in flight" at_most 2253 "$(count_of "$id" './attack load in-flight')"
    check "shares: pending signals" at_most $(($(ulimit -i) / 4)) "$(output "$id" 'ulimit -i')"
    check "shares: message queues" at_most $(($(ulimit -q) / 4)) "$(output "$id" 'ulimit -q')"
    delete "$id"
}

# The caller's own memory while a command floods it. GNU time is not everywhere, so its peak is read while it waits.
test_flood() {
    local id=$1 pid peak=0 seen maximum=$((64 * 1024))
    # AddressSanitizer keeps what was freed for a while.
    ! ldd "$SANDLOT" | grep -q 'libasan\|libclang_rt.asan' || maximum=$((256 * 1024))
    "$SANDLOT" exec -q --json --sandbox-id "$id" -- './attack load flood 300; exit 3' >"$top/flood" &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        seen=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
        [ -z "$seen" ] || peak=$seen
        sleep 0.02
    done
    wait "$pid"
    check "flood: the caller's memory stays small" at_most "$maximum" "$peak"
    check "flood: and was measured" test "$peak" -gt 0
    check "flood: the answer is valid, cut and says so" is '[true,3,false]' "$(jq -c '[.truncated, .exit_code, .timed_out]' "$top/flood")"
    rm -f "$top/flood"
}

gone() {
    local answer
    answer=$(in_box "$1" -- true 2>/dev/null)
    [ "$(jq -r .error <<<"$answer")" = sandbox_not_found ] || fail "it says $answer"
    grep -q expired <<<"$(jq -r .message <<<"$answer")" || fail "it does not say 'expired': $answer"
}
test_ttl() {
    local idle hard
    idle=$(create ttl_s=1)
    hard=$(create ttl_s=3600 hard_ttl_s=1)
    sleep 2 # a look at it would be use
    check "ttl: an idle box is gone soon, and it is said why" gone "$idle"
    check "ttl: a box is gone at its hard end" eventually gone "$hard"
}

# ---- what is left behind ----------------------------------------------------------------------------------------------

no_group() {
    local found
    found=$(find /sys/fs/cgroup -maxdepth 6 -type d -name "*$1*" 2>/dev/null)
    [ -z "$found" ] || fail "control groups: $found"
}
# No process of this machine may be in the namespace.
no_namespace() {
    local found
    found=$(find /proc/[0-9]*/ns/ -maxdepth 1 -name pid -lname "$1" 2>/dev/null)
    [ -z "$found" ] || fail "processes in the box's namespace: $found"
}
no_trace() {
    no_group "$1" && no_namespace "$2" || return 1
    ! grep -q "$1" /proc/self/mountinfo || fail "mounts of the box are left" || return 1
    local found
    found=$(find "$XDG_STATE_HOME" -name "*$1*" ! -path '*/ended/*' 2>/dev/null)
    [ -z "$found" ] || fail "files: $found"
}

no_trash() { is "" "$(ls -A "$XDG_STATE_HOME/sandlot/local/trash")"; }

test_left_behind() {
    local id answer space pid
    id=$(create "workspace=$seed")
    space=$(output "$id" 'readlink /proc/self/ns/pid')
    answer=$(in_box "$id" --timeout 1 -- "./attack load stay $token-stay")
    check "timeout: the answer comes although everything ignores signals" is '[true,124]' "$(jq -c '[.timed_out, .exit_code]' <<<"$answer")"
    check "timeout: it keeps what was printed" grep -q started <<<"$(jq -r .output <<<"$answer")"
    check "timeout: children, sessions and daemons are all dead" eventually no_process "$token-stay"
    answer=$(in_box "$id" --timeout 1 -- "kill -STOP \$PPID; ./attack load stay $token-stopped")
    check "timeout: even if the command has stopped its supervisor" answered "$answer"
    check "timeout: and then, too, all are dead" eventually no_process "$token-stopped"
    answer=$(in_box "$id" -- 'sleep 3000 & sleep 3000 2>&1 | cat & echo here')
    check "a background child that holds the output does not delay it" is here "$(jq -r .output <<<"$answer")"
    in_box "$id" -- "./attack load leave $token-leave" >/dev/null
    check "background jobs of a command that succeeded live" eventually a_process "$token-leave"
    in_box "$id" -- './attack load zombies 20; sleep 0.3' >/dev/null
    check "zombies are reaped" is 0 "$(output "$id" 'grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l')"

    "$SANDLOT" exec -q --sandbox-id "$id" -- "./attack load stay $token-killed" >/dev/null &
    pid=$!
    eventually a_process "$token-killed" >/dev/null
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    check "a killed caller takes its command along" eventually no_process "$token-killed"
    check "and the box lives on" works "$id"
    in_box "$id" -- 'mkdir locked && touch locked/x && chmod 000 locked && for i in {1..300}; do mkdir d && cd d || exit; done' >/dev/null
    delete "$id"
    check "delete: daemons die" eventually no_process "$token-leave"
    check "delete: no process, mount, group or file is left" eventually no_trace "$id" "$space"
    check "delete: nor locked and deep folders" eventually no_trash
    id=$(create "workspace=$seed" processes=64)
    in_box "$id" -- "./attack load fork $token-bomb >/dev/null 2>&1 &" >/dev/null
    delete "$id"
    check "delete: all of the fork bomb is dead" eventually no_process "$token-bomb"

    "$SANDLOT" exec -q --param "workspace=$seed" -- "readlink /proc/self/ns/pid; ./attack load stay $token-once" >"$top/once" &
    pid=$!
    eventually a_process "$token-once" >/dev/null
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    check "a killed one-shot caller takes the whole box along" eventually no_process "$token-once"
    space=$(head -n 1 "$top/once")
    check "with its last process" eventually no_namespace "${space:-unknown}"
}

# answers_anyway: the command's own end is known, or the box is known to be gone
answered() { jq -e 'has("exit_code") or has("error")' <<<"$1" >/dev/null || fail "the answer is no object: $1"; }
test_suicide() {
    local id neighbour answer
    neighbour=$(create)
    id=$(create "workspace=$seed")
    for command in 'kill -9 1; echo $?' 'kill -9 -1; echo done' 'kill -9 $PPID; sleep 5' \
        'for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $$ ] || kill -9 $p; done; sleep 5' 'kill -STOP $PPID; exit 3'; do
        answer=$(in_box "$id" --timeout 8 -- "$command")
        check "suicide '$command': there is an answer" answered "$answer"
        works "$id" >/dev/null || { delete "$id"; id=$(create "workspace=$seed"); }
        check "suicide '$command': the neighbour lives" works "$neighbour"
    done
    answer=$(in_box "$id" -- 'kill -9 1; sleep 0.1; echo still here')
    check "init ignores what a command sends" grep -q 'still here' <<<"$(jq -r .output <<<"$answer")"
    delete "$id" "$neighbour"
    check "the bait process lives" kill -0 "$bait_pid"
}

test_neighbours() {
    local one two
    one=$(create "workspace=$seed")
    two=$(create "workspace=$seed")
    output "$one" "echo here >here; echo here >/tmp/here; echo here >/dev/shm/here; echo here >~/here; ./attack load listen $token; sleep 100 &" >/dev/null
    check "neighbours: files" is "" "$(output "$two" 'ls -d here /tmp/here /dev/shm/here ~/here 2>/dev/null')"
    check "neighbours: processes" is 0 "$(output "$two" 'ps -ef | grep -c "sleep 10[0]"')"
    check "neighbours: sockets" is 0 "$(output "$two" "./attack load meet $token; echo \$?")"
    check "neighbours: that they were there" is here1 "$(output "$one" "ls here; ./attack load meet $token; echo \$?" | tr -d '\n')"
    delete "$one" "$two"
}

# ---- all of it --------------------------------------------------------------------------------------------------------

plant || { echo "not ok 1 - the bait could be planted"; exit 1; }
test_attacks
box=$(create "workspace=$seed")
check "the keeper and its boxes keep nothing of the first caller" keeper_is_clean
test_terminal "$box"
test_flood "$box"
delete "$box"
test_ttl
test_limits
test_hidden
test_shares
test_left_behind
test_suicide
test_neighbours
check "at the end, too, the seed folder is as it was" seed_unchanged
check "at the end, too, nothing on the host was touched" hits
echo "1..$number"
echo "$passed attacks and checks held, $failed did not, as $(id -un 2>/dev/null || id -u)"
[ "$failed" = 0 ]
