/* Leaves out a function that every provider must have. */
#include "nothing.h"

static const struct sandlot_provider missing_function_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(missing_function),
    .get_or_create = nothing_create,
    .execute = nothing_execute,
};

#define METADATA(M) M(description, "Cannot delete")
SANDLOT_ENTRY_POINT(missing_function, METADATA, SANDLOT_NO_PARAMETERS);
