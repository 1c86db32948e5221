/*
 * Calls of a provider that no command makes, for the tests:
 *
 *   calls LIBRARY SYMBOL BASE_URL pause|resume|delete ID
 *   calls LIBRARY SYMBOL BASE_URL snapshot ID NAME
 *   calls LIBRARY SYMBOL BASE_URL snapshots
 *   calls LIBRARY SYMBOL BASE_URL delete-snapshot NAME
 *   calls LIBRARY SYMBOL BASE_URL fork ID RUN-LABEL
 *
 * Prints what the provider says; the status of the call is the program's. The parameters are as if nothing had been
 * said of them, but for base_url and what the environment has as PARAMETER_NAME. With KEEP in the environment what fork
 * makes is to outlive this program; with ALLOW=HOST it may reach that host alone.
 */
#include <dlfcn.h>
#include <ffi.h>
#include <sandlot/provider.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_MS = 60 * 1000, BAD_USAGE = 100, MOST_PARAMETERS = 64 };

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
    return BAD_USAGE;
}

/* The value of one parameter, as open takes it. */
union value {
    const char *text;
    int64_t integer;
    double number;
    bool boolean;
};

static ffi_type *set_value(const struct sandlot_parameter *parameter, const char *base_url, union value *value)
{
    char name[64];

    snprintf(name, sizeof(name), "PARAMETER_%s", parameter->name);
    const char *said = getenv(name);

    said = said ? said : *parameter->default_text ? parameter->default_text : NULL;
    switch (parameter->kind) {
    case SANDLOT_PARAMETER_integer:
        value->integer = said ? strtoll(said, NULL, 10) : SANDLOT_ABSENT_INTEGER;
        return &ffi_type_sint64;
    case SANDLOT_PARAMETER_float:
        value->number = said ? strtod(said, NULL) : NAN;
        return &ffi_type_double;
    case SANDLOT_PARAMETER_boolean:
        value->boolean = said && strcmp(said, "true") == 0;
        return &ffi_type_uint8;
    default:
        value->text = strcmp(parameter->name, "base_url") == 0 ? base_url : said;
        return &ffi_type_pointer;
    }
}

static enum sandlot_status open_provider(struct sandlot_call *call, const struct sandlot_provider *table,
                                         const char *base_url, void **provider)
{
    ffi_type *types[MOST_PARAMETERS + 2] = {&ffi_type_pointer, &ffi_type_pointer};
    union value values[MOST_PARAMETERS];
    void *arguments[MOST_PARAMETERS + 2] = {&call, &provider};
    ffi_arg result = SANDLOT_INTERNAL;
    ffi_cif interface;

    for (size_t i = 0; i < table->parameter_count && i < MOST_PARAMETERS; i++) {
        types[i + 2] = set_value(&table->parameters[i], base_url, &values[i]);
        arguments[i + 2] = &values[i];
    }
    if (ffi_prep_cif(&interface, FFI_DEFAULT_ABI, (unsigned int)table->parameter_count + 2, &ffi_type_uint, types) ==
        FFI_OK)
        ffi_call(&interface, table->open, &result, arguments);
    return (enum sandlot_status)result;
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
