/* Its open refuses; what it says may be left out, to see what the host says then. */
#include "nothing.h"

#define FAILS_OPEN_PARAMETERS(P)                            \
    P(boolean, silent, "false", optional, "give no reason") \
    P(integer, status, "2", optional, "the enum sandlot_status to return")
SANDLOT_PARAMETERS(fails_open, FAILS_OPEN_PARAMETERS)

static enum sandlot_status fails_open_open(struct sandlot_call *call, void **provider, bool silent, int64_t status)
{
    (void)provider;
    if (!silent)
        call->host->fail(call, (enum sandlot_status)status, "the key is worn out; get another one");
    return (enum sandlot_status)status;
}

static void fails_open_close(void *provider)
{
    (void)provider;
    __builtin_trap(); /* what was never opened must not be closed */
}

static const struct sandlot_provider fails_open_provider = {
    SANDLOT_TABLE(fails_open),
    NOTHING_FUNCTIONS,
    .close = fails_open_close,
};

#define METADATA(M) M(description, "Fails when it is opened")
SANDLOT_ENTRY_POINT(fails_open, METADATA, FAILS_OPEN_PARAMETERS);
