/* What the test providers that never get to make a sandbox have in common. */
#ifndef SANDLOT_TESTS_NOTHING_H
#define SANDLOT_TESTS_NOTHING_H

#include <sandlot/provider.h>

static inline enum sandlot_status nothing_create(struct sandlot_call *call, void *provider,
                                                 const struct sandlot_create *request, void **sandbox)
{
    (void)provider;
    (void)request;
    *sandbox = NULL;
    return call->host->fail(call, SANDLOT_UNSUPPORTED, "this test provider makes no sandboxes; use the provider fake");
}

static inline enum sandlot_status nothing_delete(struct sandlot_call *call, void *provider, const char *id)
{
    (void)call;
    (void)provider;
    (void)id;
    return SANDLOT_OK;
}

static inline enum sandlot_status nothing_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                                  const struct sandlot_command *command,
                                                  const struct sandlot_sink *output, struct sandlot_exit *result)
{
    (void)call;
    (void)provider;
    (void)sandbox;
    (void)command;
    (void)output;
    result->exit_code = 0;
    return SANDLOT_OK;
}

#define NOTHING_FUNCTIONS .get_or_create = nothing_create, .delete_sandbox = nothing_delete, .execute = nothing_execute

/* A note with any TEXT, without the entry function that SANDLOT_ENTRY_POINT would add. */
#define NOTHING_NOTE(prefix, TEXT)                                                  \
    static const struct {                                                           \
        uint32_t owner_size, text_size, type;                                       \
        char owner[8];                                                              \
        char text[(sizeof(TEXT) + 3) / 4 * 4];                                      \
    } prefix##_note __attribute__((used, section(".note.sandlot"), aligned(4))) = { \
        8, sizeof(prefix##_note.text), SANDLOT_NOTE_TYPE, SANDLOT_NOTE_OWNER, TEXT}

#endif
