/* A library whose constructor does not come to an end. */
#include "nothing.h"

#include <unistd.h>

__attribute__((constructor)) static void hang(void)
{
    for (;;)
        pause();
}

static const struct sandlot_provider hangs_loading_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(hangs_loading),
    NOTHING_FUNCTIONS,
};

#define METADATA(M) M(description, "Hangs when it is loaded")
SANDLOT_ENTRY_POINT(hangs_loading, METADATA, SANDLOT_NO_PARAMETERS);
