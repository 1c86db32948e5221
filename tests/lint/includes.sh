#!/bin/bash
# Dependencies point one way: plugins/, sdk/ and include/ know nothing of core/, and no room of core/ includes a later one.
set -u

failed=0
complain() {
    echo "$1"
    failed=1
}

# An include path that leaves the room is how a plugin could reach into core/ past the compiler's search path.
while IFS=: read -r file number line; do
    included=$(realpath -m --relative-to=. "$(dirname "$file")/$(sed -E 's/.*"(.*)".*/\1/' <<<"$line")")
    [ "$(cut -d/ -f1-2 <<<"$included")" = "$(cut -d/ -f1-2 <<<"$file")" ] ||
        complain "$file:$number: leaves its room: $line"
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[^"]*\.\./' core plugins sdk include)
rooms="base config registry network loader session operations results tools server cli"
for room in $rooms; do
    if grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]+[<\"](core/|$room/)" plugins sdk include; then
        complain "above: plugins/, sdk/ and include/ must not include core/$room"
    fi
done
earlier=
for room in $rooms; do
    earlier="$earlier $room"
    [ -d "core/$room" ] || continue
    while IFS= read -r line; do
        included=$(sed -E 's/.*include[[:space:]]+"([a-z]+)\/.*/\1/' <<<"$line")
        case " $rooms " in *" $included "*) ;; *) continue ;; esac
        case " $earlier " in *" $included "*) ;; *) complain "core/$room may not include core/$included: $line" ;; esac
    done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[a-z]+/' "core/$room")
done
exit $failed
