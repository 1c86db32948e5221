/* Cannot list its sandboxes, and makes none: the parameter `create` says how that goes. */
#include "nothing.h"

#include <signal.h>
#include <string.h>

#define NO_LIST_PARAMETERS(P) P(string, create, "crash", optional, "crash, or unavailable")
SANDLOT_PARAMETERS(no_list, NO_LIST_PARAMETERS)

static enum sandlot_status no_list_open(struct sandlot_call *call, void **provider, const char *create)
{
    (void)call;
    *provider = (void *)(uintptr_t)create;
    return SANDLOT_OK;
}

static enum sandlot_status no_list_get_or_create(struct sandlot_call *call, void *provider,
                                                 const struct sandlot_create *request, void **sandbox)
{
    const char *create = provider;

    (void)request;
    (void)sandbox;
    if (strcmp(create, "crash") == 0)
        raise(SIGSEGV);
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "the connection was refused; try again later");
}

static const struct sandlot_provider no_list_provider = {
    SANDLOT_TABLE(no_list),
    .get_or_create = no_list_get_or_create,
    .delete_sandbox = nothing_delete,
    .execute = nothing_execute,
};

#define METADATA(M) M(description, "Cannot list")
SANDLOT_ENTRY_POINT(no_list, METADATA, NO_LIST_PARAMETERS);
