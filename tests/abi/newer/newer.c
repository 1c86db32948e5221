/*
 * A provider of ABI 1.7, built with the header that make_header.sh makes: all that crosses has fields which an older
 * host does not know. It uses them where SANDLOT_HAS says that they are there, and tells which are.
 */
#include "boxes.h"

#define PARAMETERS(P)                             \
    P(integer, number, "3", optional, "a number") \
    P(string, text, "a text", optional, "a text")
SANDLOT_PARAMETERS(newer, PARAMETERS)

struct provider {
    int64_t number;
    const char *text;
    bool create_has;
    bool label_found;
};

static enum sandlot_status newer_open(struct sandlot_call *call, void **provider, int64_t number, const char *text)
{
    struct provider *made = calloc(1, sizeof(*made));

    if (!made)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory; try again");
    made->number = number;
    made->text = text;
    *provider = made;
    return SANDLOT_OK;
}

static void newer_close(void *provider)
{
    free(provider);
}

static enum sandlot_status newer_get_or_create(struct sandlot_call *call, void *provider,
                                               const struct sandlot_create *request, void **sandbox)
{
    struct provider *made = provider;

    made->create_has = SANDLOT_HAS(request, later_text);
    for (size_t i = 0; i < request->label_count; i++)
        made->label_found = made->label_found || strcmp(request->labels[i].value, request->run_label) == 0;
    return box_get_or_create(call, request, sandbox);
}

static void newer_release(void *provider, void *sandbox)
{
    (void)provider;
    free(sandbox);
}

static enum sandlot_status newer_delete(struct sandlot_call *call, void *provider, const char *id)
{
    (void)provider;
    return box_delete(call, id);
}

static enum sandlot_status newer_list(struct sandlot_call *call, void *provider, const char *cursor,
                                      const struct sandlot_listing *listing)
{
    const struct sandlot_listed listed = {.size = sizeof(listed),
                                          .id = "newer-box",
                                          .state = "running",
                                          .created_at_ms = 1000,
                                          .later_number = 7,
                                          .later_text = "later"};

    (void)call;
    (void)provider;
    (void)cursor;
    return listing->add(listing, &listed);
}

/* What this host has of ABI 1.7. */
static int describe(const struct sandlot_call *call, const struct provider *made, const struct sandlot_command *command,
                    const struct sandlot_sink *output, const struct sandlot_exit *result, char *text, size_t size)
{
    return snprintf(
        text, size,
        "host %u.%u number %d text %s label %d later: call %d host %d create %d command %d sink %d exit %d\n",
        call->host->abi_major, call->host->abi_minor, (int)made->number, made->text, made->label_found,
        SANDLOT_HAS(call, later_text), SANDLOT_HAS(call->host, later_text), made->create_has,
        SANDLOT_HAS(command, later_text), SANDLOT_HAS(output, later_text), SANDLOT_HAS(result, later_text));
}

static enum sandlot_status newer_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                         const struct sandlot_command *command, const struct sandlot_sink *output,
                                         struct sandlot_exit *result)
{
    char text[512];

    if (SANDLOT_HAS(call->host, later_service) && call->host->later_service)
        call->host->later_service(call, "about to execute");
    if (SANDLOT_HAS(result, later_text))
        result->later_text = "later";
    if (strcmp(command->command, "describe") != 0)
        return box_execute(call, sandbox, command, output, result);
    int length = describe(call, provider, command, output, result, text, sizeof(text));

    result->exit_code = 0;
    return output->write(output, text, (size_t)length);
}

static enum sandlot_status newer_open_root(struct sandlot_call *call, void *provider, void *sandbox,
                                           struct sandlot_root *root)
{
    (void)provider;
    (void)sandbox;
    root->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    root->uid = geteuid();
    root->gid = getegid();
    if (SANDLOT_HAS(root, later_text))
        root->later_text = "later";
    return root->fd >= 0 ? SANDLOT_OK : box_fault(call, "cannot open /");
}

/* A host that does not know them calls neither. */
static enum sandlot_status newer_later_function(struct sandlot_call *call, void *provider, const char *id)
{
    (void)call;
    (void)provider;
    (void)id;
    abort();
}

static void newer_later_notice(void *provider, const struct sandlot_exit *result)
{
    (void)provider;
    (void)result;
    abort();
}

static const struct sandlot_provider newer_provider = {
    SANDLOT_TABLE(newer),
    .close = newer_close,
    .get_or_create = newer_get_or_create,
    .release = newer_release,
    .delete_sandbox = newer_delete,
    .list = newer_list,
    .execute = newer_execute,
    .open_root = newer_open_root,
    .later_function = newer_later_function,
    .later_notice = newer_later_notice,
    .later_number = UINT64_MAX,
    .later_text = "later",
};

#define METADATA(M)                      \
    M(description, "From a later minor") \
    M(capabilities, "list files")        \
    M(later_key, "of the note")          \
    M(environment, "FIRST_FOLDER")
SANDLOT_ENTRY_POINT(newer, METADATA, PARAMETERS);
