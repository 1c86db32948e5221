/* A provider of the next ABI major, in its note and in its table. */
#include "nothing.h"

#undef SANDLOT_ABI_MAJOR
#define SANDLOT_ABI_MAJOR 2

static const struct sandlot_provider future_abi_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(future_abi),
    NOTHING_FUNCTIONS,
};

#define METADATA(M) M(description, "From the future")
SANDLOT_ENTRY_POINT(future_abi, METADATA, SANDLOT_NO_PARAMETERS);
