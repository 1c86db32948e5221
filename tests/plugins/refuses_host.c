/* Its entry function finds this host wanting. */
#include "nothing.h"

NOTHING_NOTE(refuses_host, "[refuses_host]\nabi = 1.0\nsymbol = refuses_host\n");

SANDLOT_EXPORT const struct sandlot_provider *refuses_host(struct sandlot_call *call);

const struct sandlot_provider *refuses_host(struct sandlot_call *call)
{
    sandlot_fail(call, SANDLOT_UNSUPPORTED, "it needs a host of ABI %u.9 or later; upgrade Sandlot",
                 (unsigned)call->host->abi_major);
    return NULL;
}
