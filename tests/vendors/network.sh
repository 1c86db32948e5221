# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# What sandboxes may reach, at every service: each word that a provider announces is held by the box that the service makes, and what
# it does not announce is refused before any request. Sourced by lib.sh.
#
#   vendor_network [FUNCTION...]    the table, and what is the vendor's own
#
# Where a service knows single addresses and no networks, network_narrow is true.
#
# A box reaches what its emulator lets through (common/outside.mjs). A vendor's functions may use all below.

vendor_network() { part_once network_table "$@"; }

network_table() { # FUNCTION...
    local step
    network_able=" $("$aside" providers "${provider[1]}" --json | "$fast_jq" -r '.providers[0].capabilities | to_entries[] | select(.value) | .key' | tr '\n' ' ')"
    for step in network_refused network_off network_lists network_numbers network_open network_secret network_pauses "$@"; do "$step"; done
    service_empty "nothing is left at the service after the network"
}
# Sets $network, the address or network that is allowed.
narrow() { if [ "${network_narrow:-false}" = true ]; then network=198.51.100.7; else network=198.51.100.0/24; fi; }
able() { [[ $network_able = *" network-$1 "* ]]; }

with_allow() { ALLOW=b.example "$@"; }

# reach NAME ID yes|no HOST:PORT...: from the box, one after the other, by one command
reach() {
    local name=$1 box=$2 wanted=$3 place script=''
    shift 3
    for place; do script+="curl -sgp -m 60 -x http://127.0.0.1:3128 'http://$place/' || echo 'not $place'; "; done
    SANDLOT=$aside run -q exec "${provider[@]}" --sandbox-id "$box" -- "$script"
    for place; do
        case $wanted in
            yes) check "$name: $place is reached" grep -qxF "reached ${place//[\[\]]/}" "$scratch/out" ;;
            no) check "$name: $place is not" grep -qxF "not $place" "$scratch/out" ;;
        esac
    done
}

# made_allowed ARGUMENT...: as made, with these; sets $id
made_allowed() {
    run --json create "${provider[@]}" "${making[@]}" "$@"
    id=$("$fast_jq" -r .id <"$scratch/out" 2>/dev/null)
    [ "$status" = 0 ] && [ -n "$id" ] && return
    not_ok "a sandbox with $*" "$(show)"
    return 1
}

# not_held NAME ENTRY ARGUMENT...: refused, naming the entry, before any request
not_held() {
    local name=$1 entry=$2
    shift 2
    requests_reset
    run --json create "${provider[@]}" "${making[@]}" "$@"
    check "$name is refused" test "$status" = 1
    check "$name: as not supported, by its name" names "$entry"
    check "$name: before any request" test "$(requests_count)" = 0
}

names() { "$fast_jq" -e --arg entry "$1" '.error == "not_supported" and (.message | contains($entry))' "$scratch/out" >/dev/null; }

network_refused() {
    able off || {
        not_held "off" "off" --network off
        printf '[network]\nmode = "off"\n' >"$config"
        not_held "off by the configuration" "[network] of $config"
        rm -f "$config"
    }
    able open || not_held "open" "open" --network open
    able hosts || not_held "a host" a.example --allow a.example
    able ports || not_held "a port" a.example:8443 --allow a.example:8443
    able cidrs || not_held "a network" 198.51.100.0/24 --allow 198.51.100.0/24
    able credentials && return
    network_credentials
    not_held "a credential" a.example
    rm -f "$config"
}

network_off() {
    able off || return
    made_allowed --network off || return
    reach "off" "$id" no a.example:443 a.example:80 198.51.100.7:443
    gone "$id"
}

# Names and networks in one policy, where both can be held; then the living sandbox gets others.
network_lists() {
    local network entries=() names=(a.example:443 below.b.example:443 low.below.b.example:443) others=(b.example:443 c.example:443 evila.example:443)
    able hosts || return
    entries=(--allow a.example --allow '*.b.example')
    narrow
    if able cidrs; then entries+=(--allow "$network"); fi
    made_allowed "${entries[@]}" || return
    reach "on the list" "$id" yes "${names[@]}"
    reach "not on the list" "$id" no "${others[@]}" 203.0.113.7:443
    if able cidrs; then reach "in the network" "$id" yes 198.51.100.7:443; else reach "no address" "$id" no 198.51.100.7:443; fi
    network_ports_of "$id"
    network_lives "$id"
    gone "$id"
}

network_ports_of() { # ID
    local box
    able ports || return
    made_allowed --allow a.example:8443 --allow b.example || return
    box=$id id=$1
    reach "one port" "$box" yes a.example:8443 b.example:443 b.example:80
    reach "other ports" "$box" no a.example:443 a.example:8444 b.example:8443
    gone "$box"
}

network_lives() { # ID
    able live || {
        json "a living sandbox keeps what it has" 1 '.error == "not_supported"' network allow "${provider[@]}" "$1" c.example
        return
    }
    json "a host more" 0 '.allow | index("c.example")' network allow "${provider[@]}" "$1" c.example
    json "a host less" 0 '.allow | index("a.example") | not' network deny "${provider[@]}" "$1" a.example
    reach "after the changes" "$1" yes c.example:443 below.b.example:443
    reach "after the changes" "$1" no a.example:443
    network_changes_mode "$1"
}

network_changes_mode() { # ID
    if able off; then
        json "off while it lives" 0 '.mode == "off"' network off "${provider[@]}" "$1"
        reach "off" "$1" no c.example:443
    fi
    able open || return
    json "open while it lives" 0 '.mode == "open"' network open "${provider[@]}" "$1"
    reach "open" "$1" yes a.example:443
}

# Networks alone.
network_numbers() {
    local network one_port=()
    able cidrs || return
    narrow
    ! able ports || one_port=(203.0.113.6:8443)
    made_allowed --allow "$network" --allow 203.0.113.5 "${one_port[@]/#/--allow=}" || return
    reach "networks alone" "$id" yes 198.51.100.7:443 203.0.113.5:443 "${one_port[@]}"
    reach "networks alone" "$id" no 203.0.113.6:443 a.example:443
    gone "$id"
}

network_open() {
    able open || return
    made_allowed --network open || return
    reach "open" "$id" yes a.example:443 198.51.100.7:443
    gone "$id"
}

# ---- credentials -----------------------------------------------------------------------------------------------------

network_secret_value=sandlot-secret-of-a-header-0123456789

network_credentials() { # LINE...: of the credential, besides
    {
        printf '[[network.credentials]]\nhost = "a.example"\nheader = "X-Secret"\nenv = "HEADER_SECRET"\n'
        [ $# = 0 ] || printf '%s\n' "$@"
    } >"$config"
    export HEADER_SECRET=$network_secret_value
}

# The header of the last request that reached HOST, as the other side got it.
header_at() { ask GET reached | "$fast_jq" -r --arg host "$1" '[.[] | select(.host == $host)][-1].headers["x-secret"] // "none"'; }

# nowhere WHERE: what was said last, and what is remembered, has no secret
nowhere() {
    local found
    found=$(grep -rlF -e "$network_secret_value" "$scratch/out" "$scratch/err" "$HOME" 2>/dev/null)
    if [ -z "$found" ]; then ok "$1: no secret is told or kept"; else not_ok "$1: no secret is told or kept" "$found"; fi
}

network_secret() {
    able credentials || return
    network_credentials
    run -vv --json create "${provider[@]}" "${making[@]}" --allow b.example
    id=$("$fast_jq" -r .id <"$scratch/out" 2>/dev/null)
    check "a sandbox with a credential" test "$status" = 0
    nowhere "the making"
    reach "with a credential" "$id" yes a.example:443 b.example:443
    check "the header is added" test "$(header_at a.example)" = "$network_secret_value"
    check "for that host alone" test "$(header_at b.example)" = none
    reach "with a credential" "$id" no c.example:443
    network_secret_lives "$id"
    gone "$id"
    network_secret_open
    network_secret_fails
    rm -f "$config"
}

# A change keeps the credentials, or is refused.
network_secret_lives() { # ID
    able live || return
    run --json network allow "${provider[@]}" "$1" c.example
    if [ "$status" = 1 ]; then
        judge_json "a change that would lose the credentials is refused" 1 '.error == "not_supported"'
    else
        judge_json "a change" 0 '.allow | index("c.example")'
        reach "changed" "$1" yes a.example:443 c.example:443
        check "changed: the header is still added" test "$(header_at a.example)" = "$network_secret_value"
    fi
}

network_secret_open() {
    able open || return
    made_allowed --network open || return
    reach "open, with a credential" "$id" yes a.example:443 z.example:443
    check "open: the header is added" test "$(header_at a.example)" = "$network_secret_value"
    gone "$id"
}

# What the service says of a request may hold what was in it.
network_secret_fails() {
    faults '[{"times":-1,"action":{"status":400,"body":{"message":"no: '"$network_secret_value"'","error":"no: '"$network_secret_value"'"}}}]'
    run -vv create "${provider[@]}" "${making[@]}" --network open
    check "a service that refuses" test "$status" != 0
    nowhere "a service that tells what it was told"
    faults '[]'
    network_credentials 'plain = true'
    not_held "a credential over plain HTTP" a.example
    network_credentials 'placeholder = "TOKEN"'
    not_held "a placeholder" a.example
}

# ---- pausing ---------------------------------------------------------------------------------------------------------

network_pauses() {
    [[ $network_able = *" pause "* ]] && able hosts || return
    made_allowed --allow a.example || return
    run -q pause "${provider[@]}" -- "$id"
    run -q resume "${provider[@]}" -- "$id"
    reach "resumed" "$id" yes a.example:443
    reach "resumed" "$id" no c.example:443
    gone "$id"
}
