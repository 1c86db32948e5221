/* A provider of a later ABI minor: its table and its rows of parameters have fields that this host does not know. */
#include "nothing.h"

struct later_parameter {
    struct sandlot_parameter known;
    const char *unit;
};

struct later_provider {
    struct sandlot_provider known;
    void (*later)(void);
};

static enum sandlot_status longer_table_open(struct sandlot_call *call, void **provider, int64_t first,
                                             const char *second)
{
    (void)provider;
    char message[64];

    snprintf(message, sizeof(message), "first=%lld second=%s", (long long)first, second);
    call->host->log(call, SANDLOT_LOG_INFO, message);
    return SANDLOT_OK;
}

static const struct later_parameter rows[] = {
    {{sizeof(struct later_parameter), "first", SANDLOT_PARAMETER_integer, SANDLOT_FLAG_optional, "1", "a number"},
     "MiB"},
    {{sizeof(struct later_parameter), "second", SANDLOT_PARAMETER_string, SANDLOT_FLAG_optional, "two", "a text"}, ""},
};

static const struct later_provider table = {
    .known =
        {
            .size = sizeof(struct later_provider),
            .abi_major = SANDLOT_ABI_MAJOR,
            .abi_minor = SANDLOT_ABI_MINOR + 7,
            .name = "longer_table",
            .parameters = &rows[0].known,
            .parameter_count = 2,
            .open = (void (*)(void))longer_table_open,
            NOTHING_FUNCTIONS,
        },
    .later = NULL,
};

NOTHING_NOTE(longer_table, "[longer_table]\nabi = 1.7\nsymbol = longer_table\n");

SANDLOT_EXPORT const struct sandlot_provider *longer_table(struct sandlot_call *call);

const struct sandlot_provider *longer_table(struct sandlot_call *call)
{
    (void)call;
    return &table.known;
}
