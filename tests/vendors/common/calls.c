/*
 * Single calls of a provider and their statuses, for the tests:
 *
 *   calls LIBRARY SYMBOL BASE_URL pause|resume|delete ID
 *   calls LIBRARY SYMBOL BASE_URL snapshot ID NAME
 *   calls LIBRARY SYMBOL BASE_URL snapshots
 *   calls LIBRARY SYMBOL BASE_URL delete-snapshot NAME
 *   calls LIBRARY SYMBOL BASE_URL fork ID RUN-LABEL
 *   calls LIBRARY SYMBOL BASE_URL make RUN-LABEL...
 *
 * Prints what the provider says; the status of the call is the program's. The parameters are as if nothing had been
 * said of them, but for base_url and what the environment has as PARAMETER_NAME. With KEEP in the environment what fork
 * makes is to outlive this program; with ALLOW=HOST it may reach that host alone.
 */
#include "opening.h"

enum { BAD_USAGE = 100 };

static char cursor[256];

static enum sandlot_status on_fail(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    (void)call;
    printf("failed: %s\n", message);
    return status;
}

static void on_log(struct sandlot_call *call, enum sandlot_log_level level, const char *message)
{
    (void)call;
    if (level <= SANDLOT_LOG_WARNING)
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
    (void)call;
    (void)what;
    (void)done;
    (void)total;
}

static void on_created(struct sandlot_call *call, const char *id, const char *working_dir)
{
    (void)call;
    (void)working_dir;
    printf("created: %s\n", id);
}

static enum sandlot_status on_write(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    (void)sink;
    printf("result: %.*s\n", (int)length, (const char *)bytes);
    return SANDLOT_OK;
}

static enum sandlot_status on_add(const struct sandlot_listing *listing, const struct sandlot_listed *listed)
{
    (void)listing;
    printf("listed: %s %s %s\n", listed->id, listed->state, listed->created_at_ms > 0 ? "dated" : "undated");
    return SANDLOT_OK;
}

static void on_next(const struct sandlot_listing *listing, const char *next)
{
    (void)listing;
    snprintf(cursor, sizeof(cursor), "%s", next);
}

static enum sandlot_status list_all(struct sandlot_call *call, const struct sandlot_provider *table, void *provider)
{
    const struct sandlot_listing listing = {.size = sizeof(listing), .add = on_add, .next = on_next};
    enum sandlot_status status;
    char page[sizeof(cursor)];

    do {
        memcpy(page, cursor, sizeof(page));
        cursor[0] = '\0';
        status = table->list_snapshots(call, provider, *page ? page : NULL, &listing);
    } while (status == SANDLOT_OK && *cursor);
    return status;
}

static enum sandlot_status make_fork(struct sandlot_call *call, const struct sandlot_provider *table, void *provider,
                                     const char *id, const char *label)
{
    const struct sandlot_label labels[] = {{"sandlot", "1"}, {"sandlot-run", label}};
    const struct sandlot_network_entry entry = {SANDLOT_NETWORK_HOST, getenv("ALLOW"), 0};
    const struct sandlot_network network = {
        .size = sizeof(network), .mode = SANDLOT_NETWORK_ALLOW, .entries = &entry, .entry_count = 1};
    const struct sandlot_create request = {.size = sizeof(request),
                                           .run_label = label,
                                           .network = entry.text ? &network : NULL,
                                           .labels = labels,
                                           .label_count = 2,
                                           .flags = getenv("KEEP") ? SANDLOT_CREATE_KEEP : 0};

    return table->fork(call, provider, id, &request);
}

/* One sandbox for each of LABELS, of a provider that is opened once. */
static enum sandlot_status make_all(struct sandlot_call *call, const struct sandlot_provider *table, void *provider,
                                    char **labels)
{
    enum sandlot_status status = SANDLOT_OK;

    for (; *labels && status == SANDLOT_OK; labels++) {
        const struct sandlot_create request = {.size = sizeof(request), .run_label = *labels};
        void *sandbox = NULL;

        status = table->get_or_create(call, provider, &request, &sandbox);
        if (sandbox)
            table->release(provider, sandbox);
    }
    return status;
}

static int act(struct sandlot_call *call, const struct sandlot_provider *table, void *provider, char **words)
{
    const struct sandlot_sink result = {.size = sizeof(result), .write = on_write};

    if (strcmp(words[0], "snapshots") == 0)
        return (int)list_all(call, table, provider);
    if (!words[1])
        return BAD_USAGE;
    if (strcmp(words[0], "pause") == 0)
        return (int)table->pause(call, provider, words[1]);
    if (strcmp(words[0], "resume") == 0)
        return (int)table->resume(call, provider, words[1]);
    if (strcmp(words[0], "delete") == 0)
        return (int)table->delete_sandbox(call, provider, words[1]);
    if (strcmp(words[0], "delete-snapshot") == 0)
        return (int)table->delete_snapshot(call, provider, words[1]);
    if (strcmp(words[0], "snapshot") == 0 && words[2])
        return (int)table->snapshot(call, provider, words[1], words[2], &result);
    if (strcmp(words[0], "fork") == 0 && words[2])
        return (int)make_fork(call, table, provider, words[1], words[2]);
    if (strcmp(words[0], "make") == 0)
        return (int)make_all(call, table, provider, words + 1);
    return BAD_USAGE;
}

int main(int count, char **words)
{
    static const struct sandlot_host host = {.size = sizeof(host),
                                             .abi_major = SANDLOT_ABI_MAJOR,
                                             .abi_minor = SANDLOT_ABI_MINOR,
                                             .fail = on_fail,
                                             .log = on_log,
                                             .environment = on_environment,
                                             .progress = on_progress,
                                             .created = on_created};
    struct sandlot_call call = {sizeof(call), &host, sandlot_now_ms() + LIMIT_MS, -1};
    void *library = count > 4 ? dlopen(words[1], RTLD_NOW) : NULL;
    sandlot_entry entry = NULL;
    void *provider = NULL;

    if (library)
        *(void **)&entry = dlsym(library, words[2]);
    const struct sandlot_provider *table = entry ? entry(&call) : NULL;

    if (!table || open_provider(&call, table, words[3], &provider) != SANDLOT_OK) {
        fprintf(stderr, "usage: calls LIBRARY SYMBOL BASE_URL WHAT...\n");
        return BAD_USAGE;
    }
    int result = act(&call, table, provider, words + 4);

    table->close(provider);
    return result;
}
