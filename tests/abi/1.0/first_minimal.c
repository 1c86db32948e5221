/* A provider of ABI 1.0 with the functions that every provider must have and nothing else. */
#include "boxes.h"

static enum sandlot_status first_get_or_create(struct sandlot_call *call, void *provider,
                                               const struct sandlot_create *request, void **sandbox)
{
    (void)provider;
    return box_get_or_create(call, request, sandbox);
}

static enum sandlot_status first_delete(struct sandlot_call *call, void *provider, const char *id)
{
    (void)provider;
    return box_delete(call, id);
}

static enum sandlot_status first_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                         const struct sandlot_command *command, const struct sandlot_sink *output,
                                         struct sandlot_exit *result)
{
    (void)provider;
    return box_execute(call, sandbox, command, output, result);
}

static void first_release(void *provider, void *sandbox)
{
    (void)provider;
    free(sandbox);
}

static const struct sandlot_provider first_minimal_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(first_minimal),
    .get_or_create = first_get_or_create,
    .release = first_release,
    .delete_sandbox = first_delete,
    .execute = first_execute,
};

#define METADATA(M)                                    \
    M(description, "The smallest provider of ABI 1.0") \
    M(environment, "FIRST_FOLDER")
SANDLOT_ENTRY_POINT(first_minimal, METADATA, SANDLOT_NO_PARAMETERS);
