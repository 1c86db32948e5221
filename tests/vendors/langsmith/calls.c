/*
 * Calls of the provider that no command of Sandlot makes, for the tests:
 *
 *   calls LIBRARY BASE_URL pause|resume|delete ID
 *   calls LIBRARY BASE_URL snapshot ID NAME
 *   calls LIBRARY BASE_URL snapshots
 *   calls LIBRARY BASE_URL delete-snapshot NAME
 *
 * Prints what the provider says, and the status as last line.
 */
#include "parameters.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENT_TYPE(kind, name, default_, flag, help) , SANDLOT_C_##kind
#define ARGUMENT(kind, name, default_, flag, help) , parameters->name

typedef enum sandlot_status (*open_function)(struct sandlot_call *, void **LANGSMITH_PARAMETERS(ARGUMENT_TYPE));

static char cursor[4096];

static enum sandlot_status on_fail(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    (void)call;
    printf("failed: %s\n", message);
    return status;
}

static void on_log(struct sandlot_call *call, enum sandlot_log_level level, const char *message)
{
    (void)call;
    if (level <= SANDLOT_LOG_INFO)
        printf("log: %s\n", message);
}

static const char *on_environment(struct sandlot_call *call, const char *name)
{
    const char *value = getenv(name);

    (void)call;
    return value && *value ? value : NULL;
}

static void on_progress(struct sandlot_call *call, const char *what, uint64_t done, uint64_t total)
{
    (void)call, (void)what, (void)done, (void)total;
}

static void on_created(struct sandlot_call *call, const char *id, const char *working_dir)
{
    (void)call, (void)working_dir;
    printf("created: %s\n", id);
}

static enum sandlot_status on_text(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    (void)sink;
    printf("text: %.*s\n", (int)length, (const char *)bytes);
    return SANDLOT_OK;
}

static enum sandlot_status on_listed(const struct sandlot_listing *listing, const struct sandlot_listed *listed)
{
    (void)listing;
    printf("listed: %s %s\n", listed->id, listed->state);
    return SANDLOT_OK;
}

static void on_next(const struct sandlot_listing *listing, const char *next)
{
    (void)listing;
    snprintf(cursor, sizeof(cursor), "%s", next);
}

static enum sandlot_status open_with(struct sandlot_call *call, const struct sandlot_provider *table,
                                     const struct parameters *parameters, void **provider)
{
    open_function function;

    memcpy(&function, &table->open, sizeof(function));
    return function(call, provider LANGSMITH_PARAMETERS(ARGUMENT));
}

static enum sandlot_status list_all(struct sandlot_call *call, const struct sandlot_provider *table, void *provider)
{
    const struct sandlot_listing listing = {.size = sizeof(listing), .add = on_listed, .next = on_next};
    enum sandlot_status status;

    do {
        char asked[sizeof(cursor)];

        memcpy(asked, cursor, sizeof(asked));
        cursor[0] = '\0';
        status = table->list_snapshots(call, provider, asked[0] ? asked : NULL, &listing);
    } while (status == SANDLOT_OK && cursor[0]);
    return status;
}

static enum sandlot_status dispatch(struct sandlot_call *call, const struct sandlot_provider *table, void *provider,
                                    char **words)
{
    const struct sandlot_sink sink = {.size = sizeof(sink), .write = on_text};

    if (strcmp(words[0], "pause") == 0)
        return table->pause(call, provider, words[1]);
    if (strcmp(words[0], "resume") == 0)
        return table->resume(call, provider, words[1]);
    if (strcmp(words[0], "delete") == 0)
        return table->delete_sandbox(call, provider, words[1]);
    if (strcmp(words[0], "snapshot") == 0)
        return table->snapshot(call, provider, words[1], words[2], &sink);
    if (strcmp(words[0], "snapshots") == 0)
        return list_all(call, table, provider);
    return table->delete_snapshot(call, provider, words[1]);
}

int main(int argc, char **argv)
{
    const struct sandlot_host host = {sizeof(host), SANDLOT_ABI_MAJOR, SANDLOT_ABI_MINOR, on_fail,
                                      on_log,       on_environment,    on_progress,       on_created};
    struct sandlot_call call = {sizeof(call), &host, sandlot_now_ms() + 20000, -1};
    const struct parameters parameters = {.snapshot_gib = 16, .image = "python:3", .base_url = argc > 3 ? argv[2] : ""};
    void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    sandlot_entry entry = NULL;
    void *provider = NULL;

    if (library)
        *(void **)&entry = dlsym(library, "langsmith");
    if (!entry)
        return 2;
    const struct sandlot_provider *table = entry(&call);
    enum sandlot_status status = open_with(&call, table, &parameters, &provider);

    if (status == SANDLOT_OK)
        status = dispatch(&call, table, provider, argv + 3);
    table->close(provider);
    printf("status: %d\n", (int)status);
    return status == SANDLOT_OK ? 0 : 1;
}
