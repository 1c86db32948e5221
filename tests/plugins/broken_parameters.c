/* Declares a parameter whose default is not of its kind. */
#include "nothing.h"

static const struct sandlot_parameter rows[] = {
    {sizeof(struct sandlot_parameter), "memory_mb", SANDLOT_PARAMETER_integer, SANDLOT_FLAG_optional, "plenty", ""},
};

static enum sandlot_status broken_open(struct sandlot_call *call, void **provider, int64_t memory_mb)
{
    (void)call;
    (void)provider;
    (void)memory_mb;
    return SANDLOT_OK;
}

static const struct sandlot_provider broken_parameters_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(broken_parameters),
    .parameters = rows,
    .parameter_count = 1,
    .open = (void (*)(void))broken_open,
    NOTHING_FUNCTIONS,
};

#define METADATA(M) M(description, "Declares nonsense")
SANDLOT_ENTRY_POINT(broken_parameters, METADATA, SANDLOT_NO_PARAMETERS);
