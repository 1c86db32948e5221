#!/bin/bash
# Every function of a provider's table has a caller in the host: one that only crosses into a worker is of no use to anybody.
set -u

failed=0
functions=$(sed -n '/^struct sandlot_provider {/,/^};/s/.*(\*\([a-z_]*\))(.*/\1/p' include/sandlot/provider.h)
[ -n "$functions" ] || { echo "include/sandlot/provider.h: no function is found in struct sandlot_provider" && failed=1; }
# A caller calls it, chooses it for a call, or hands it on; who only asks whether it is there is none.
for function in $functions; do
    grep -rqE --include='*.c' --exclude-dir=worker "\b(table|provider)(\.|->)$function(\(|\)\(|,| : )" core ||
        { echo "core/: nobody calls $function of struct sandlot_provider" && failed=1; }
done
exit "$failed"
