/*
 * Providers with structs that end before what every provider of ABI 1 has. TABLE_SIZE, ROW_SIZE and LISTED_SIZE are
 * what they say of themselves; those that are not given are right.
 */
#include <sandlot/provider.h>

#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(struct sandlot_provider)
#endif
#ifndef ROW_SIZE
#define ROW_SIZE sizeof(struct sandlot_parameter)
#endif
#ifndef LISTED_SIZE
#define LISTED_SIZE sizeof(struct sandlot_listed)
#endif

static enum sandlot_status too_small_open(struct sandlot_call *call, void **provider, const char *text)
{
    (void)call;
    (void)text;
    *provider = NULL;
    return SANDLOT_OK;
}

static enum sandlot_status get_or_create(struct sandlot_call *call, void *provider,
                                         const struct sandlot_create *request, void **sandbox)
{
    (void)provider;
    call->host->created(call, request->sandbox_id ? request->sandbox_id : "small-1", "/");
    *sandbox = NULL;
    return SANDLOT_OK;
}

static enum sandlot_status delete_sandbox(struct sandlot_call *call, void *provider, const char *id)
{
    (void)call;
    (void)provider;
    (void)id;
    return SANDLOT_OK;
}

static enum sandlot_status list(struct sandlot_call *call, void *provider, const char *cursor,
                                const struct sandlot_listing *listing)
{
    const struct sandlot_listed listed = {.size = LISTED_SIZE, .id = "small-1", .state = "running"};

    (void)call;
    (void)provider;
    (void)cursor;
    return listing->add(listing, &listed);
}

static enum sandlot_status execute(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result)
{
    (void)call;
    (void)provider;
    (void)sandbox;
    (void)command;
    result->exit_code = 0;
    return output->write(output, "ran\n", 4);
}

static const struct sandlot_parameter rows[] = {
    {ROW_SIZE, "text", SANDLOT_PARAMETER_string, SANDLOT_FLAG_optional, "", "a text"},
};

static const struct sandlot_provider too_small_provider = {
    .size = TABLE_SIZE,
    .abi_major = SANDLOT_ABI_MAJOR,
    .abi_minor = SANDLOT_ABI_MINOR,
    .name = "too_small",
    .parameters = rows,
    .parameter_count = 1,
    .open = (void (*)(void))too_small_open,
    .get_or_create = get_or_create,
    .delete_sandbox = delete_sandbox,
    .list = list,
    .execute = execute,
};

#define METADATA(M)                                     \
    M(description, "Says that its structs are smaller") \
    M(capabilities, "list")
SANDLOT_ENTRY_POINT(too_small, METADATA, SANDLOT_NO_PARAMETERS);
