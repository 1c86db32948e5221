/* A provider of the next ABI major whose note claims the present one. */
#include "nothing.h"

static const struct sandlot_provider future_table_provider = {
    .size = sizeof(struct sandlot_provider),
    .abi_major = SANDLOT_ABI_MAJOR + 1,
    .name = "future_table",
    NOTHING_FUNCTIONS,
};

#define METADATA(M) M(description, "From the future, in disguise")
SANDLOT_ENTRY_POINT(future_table, METADATA, SANDLOT_NO_PARAMETERS);
