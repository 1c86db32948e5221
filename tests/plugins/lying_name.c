/* Its table has another name than its note. */
#include "nothing.h"

static const struct sandlot_provider lying_name_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(somebody_else),
    NOTHING_FUNCTIONS,
};

#define METADATA(M) M(description, "Not who it says it is")
SANDLOT_ENTRY_POINT(lying_name, METADATA, SANDLOT_NO_PARAMETERS);
