/* Its note promises what its table does not have. */
#include "nothing.h"

static const struct sandlot_provider lying_capability_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(lying_capability),
    NOTHING_FUNCTIONS,
};

#define METADATA(M) M(capabilities, "list pause")
SANDLOT_ENTRY_POINT(lying_capability, METADATA, SANDLOT_NO_PARAMETERS);
