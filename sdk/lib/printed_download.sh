# shellcheck shell=sh disable=SC2154
#
# Files for a download, printed by a script. For each a line, and of some what is in them:
#
#   NUMBER file BYTES    the bytes follow, then a line: NUMBER same, or NUMBER changed if it became shorter meanwhile
#   NUMBER WORD          what is wrong with it: one of the words of sandlot_transfer
#   NUMBER alone         not for a script: it is too large, or another user may see more of it
#
# most is how many bytes of all may be printed, "" for any; picky is said if there is another way than this.

#= printed_download_why_script

export LC_ALL=C

# What is wrong with a file that cannot be read, or is none.
why() {
    if [ -d "$1" ]; then
        echo is_directory
    elif [ -e "$1" ] && [ ! -f "$1" ]; then
        echo invalid_path
    else
        # The shell's own words for this are not those of the system.
        case $(cat "$1" 2>&1 >/dev/null) in
        *": Permission denied") echo permission_denied ;;
        *": Not a directory" | *ame" too long" | *" symbolic links" | *": Symbolic link loop") echo invalid_path ;;
        *) echo file_not_found ;;
        esac
    fi
}

#= printed_download_get_script

# What is filled up with zeros keeps the length that was said.
get() {
    if [ -f "$2" ] && [ -r "$2" ]; then
        n=$(($(wc -c <"$2")))
        if [ "$most" ] && [ "$n" -gt "$most" ]; then
            echo "$1 alone"
            return
        fi
        [ ! "$most" ] || most=$((most - n))
        echo "$1 file $n"
        { head -c "$n" <"$2"; head -c "$n" /dev/zero; } 2>/dev/null | head -c "$n"
        if [ "$(($(wc -c <"$2")))" -lt "$n" ]; then echo "$1 changed"; else echo "$1 same"; fi
        return
    fi
    w=$(why "$2" 2>/dev/null)
    case $picky$w in pickypermission_denied | pickyinvalid_path) w=alone ;; esac
    echo "$1 $w"
}
