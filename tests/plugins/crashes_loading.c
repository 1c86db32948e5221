/* A library whose constructor crashes: before anybody can ask it anything. */
#include "nothing.h"

#include <signal.h>

__attribute__((constructor)) static void crash(void)
{
    raise(SIGSEGV);
}

static const struct sandlot_provider crashes_loading_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(crashes_loading),
    NOTHING_FUNCTIONS,
};

#define METADATA(M) M(description, "Crashes when it is loaded")
SANDLOT_ENTRY_POINT(crashes_loading, METADATA, SANDLOT_NO_PARAMETERS);
