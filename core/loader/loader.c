#include "loader/loader.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "base/redact.h"
#include "base/text.h"
#include "loader/library.h"
#include "loader/worker/view.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* With a sanitizer a library stays mapped, so that the stacks of its reports still have names at exit. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEP_LIBRARIES 1
#endif
#endif
#if !defined(KEEP_LIBRARIES) && defined(__SANITIZE_ADDRESS__)
#define KEEP_LIBRARIES 1
#endif
#ifndef KEEP_LIBRARIES
#define KEEP_LIBRARIES 0
#endif

enum {
    ENTRY_DEADLINE_MS = 10000, /* to show a table */
    OPEN_DEADLINE_MS = 30000,  /* to take the parameters; no request is sent */
    CHECK_DEADLINE_MS = 5000,  /* to look at this machine; a second is promised */
    LARGEST_TABLE = 65536
};

/* What every provider of ABI 1 has at least; everything behind it came or comes later. */
#define SMALLEST_TABLE (offsetof(struct sandlot_provider, execute) + sizeof(((struct sandlot_provider *)0)->execute))

uint32_t provider_capabilities(const struct sandlot_provider *table)
{
    uint32_t capabilities = 0;

    capabilities |= table->list ? CAPABILITY_LIST : 0;
    capabilities |= table->upload ? CAPABILITY_UPLOAD : 0;
    capabilities |= table->download ? CAPABILITY_DOWNLOAD : 0;
    capabilities |= table->open_root ? CAPABILITY_FILES : 0;
    capabilities |= table->pause && table->resume ? CAPABILITY_PAUSE : 0;
    capabilities |= table->snapshot ? CAPABILITY_SNAPSHOT : 0;
    capabilities |= table->snapshot_with_base ? CAPABILITY_SNAPSHOT_BASE : 0;
    capabilities |= table->fork ? CAPABILITY_FORK : 0;
    capabilities |= table->terminal ? CAPABILITY_TERMINAL : 0;
    capabilities |= table->flags & SANDLOT_STREAMS_OUTPUT ? CAPABILITY_STREAMING : 0;
    capabilities |= table->check ? CAPABILITY_CHECK : 0;
    capabilities |= table->set_network ? CAPABILITY_NETWORK_LIVE : 0;
    capabilities |= table->network_log ? CAPABILITY_NETWORK_LOG : 0;
    capabilities |= table->connect_port ? CAPABILITY_PORTS : 0;
    capabilities |= table->port_url ? CAPABILITY_URLS : 0;
    capabilities |= table->changes ? CAPABILITY_CHANGES : 0;
    capabilities |= table->list_volumes && table->delete_volume ? CAPABILITY_VOLUMES : 0;
    return capabilities;
}

/* ---- before anything is loaded ----------------------------------------------------------------------------------- */

/* "NAME: cannot load the provider: PATH: why" */
static int refuse(const struct registry_entry *entry, struct sandlot_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(const struct registry_entry *entry, struct sandlot_error *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *why = text_format_v(format, arguments);
    va_end(arguments);
    if (why)
        error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE, "%s: cannot load the provider: %s: %s", entry->name,
                  entry->path, why);
    else
        error_no_memory(error);
    return -1;
}

static int check_entry(const struct registry_entry *entry, struct sandlot_error *error)
{
    if (entry->problem)
        return error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE, "%s: cannot load the provider: %s", entry->name,
                         entry->problem);
    AUTO_FREE char *missing = registry_missing_dependency(entry);

    if (missing && entry->install_hint)
        return error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                         "%s: cannot load the provider: something that it needs is missing: %s; install the package %s "
                         "(`sudo apt install %s`)",
                         entry->name, missing, entry->install_hint, entry->install_hint);
    if (missing)
        return error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                         "%s: cannot load the provider: something that it needs is missing: %s; install the package "
                         "that the provider's documentation names",
                         entry->name, missing);
    if (!entry->path || !entry->symbol)
        return error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                         "%s: cannot load the provider: it has no library; install it, or name one as "
                         "class_path = \"LIBRARY:SYMBOL\" in [sandboxes.providers.%s]",
                         entry->name, entry->name);
    return 0;
}

/* Words that mark a variable as secret, at the end of its name. */
static bool sounds_secret(const char *name)
{
    static const char *const endings[] = {"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"};
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t size = strlen(endings[i]);

        if (length >= size && strcmp(name + length - size, endings[i]) == 0)
            return true;
    }
    return false;
}

/* Hides the values of the variables in LIST, "A|B C": all of them, or those whose names sound secret. */
static void hide_variables(const struct environment *environment, const char *list, bool all)
{
    AUTO_FREE char *names = list ? strdup(list) : NULL;
    char *rest = NULL;

    for (char *name = names ? strtok_r(names, "| \t", &rest) : NULL; name; name = strtok_r(NULL, "| \t", &rest))
        if (all || sounds_secret(name))
            redact_add(environment_lookup(environment, name));
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

/* The file that is to be loaded, to be freed; NULL on error. The links are resolved once, so that the file which is
 * checked is the file which is loaded. Between check and load only root and the user could exchange it, and they are
 * trusted. */
static char *trusted_path(const struct registry_entry *entry, struct sandlot_error *error)
{
    AUTO_FREE char *path = realpath(entry->path, NULL);

    if (!path) {
        refuse(entry, error, "%s; install it again, or correct its path", strerror(errno));
        return NULL;
    }
    /* By the way that was written, for its links lie in folders too. */
    AUTO_FREE char *distrust = path_distrust(entry->path);

    if (!distrust)
        distrust = path_distrust(path);
    if (!distrust)
        return TAKE(path);
    refuse(entry, error,
           "%s, so somebody else could have put it there; give it and the folders above it to root or yourself "
           "and take the right to write from others",
           distrust);
    return NULL;
}

static void provider_refuses(const struct registry_entry *entry, const char *why, struct sandlot_error *error)
{
    refuse(entry, error, "the provider refuses this host: %s",
           why ? why : "it gives no reason; ask its author which versions of Sandlot it works with");
}

/* Loads the library into this process and asks its entry function for the provider's table. NULL on error. */
static const struct sandlot_provider *load_here(struct provider *provider, const char *path,
                                                struct sandlot_error *error)
{
    const struct registry_entry *entry = provider->entry;
    char why[LIBRARY_REASON];
    struct host_call call;

    provider->library = library_open(path, why);
    sandlot_entry entry_function =
        provider->library ? library_entry(provider->library, entry->path, entry->symbol, why) : NULL;

    if (!entry_function) {
        refuse(entry, error, "%s", why);
        return NULL;
    }
    host_call_init(&call, entry->name, provider->environment, sandlot_now_ms() + ENTRY_DEADLINE_MS, -1);
    const struct sandlot_provider *table = entry_function(&call.call);

    if (!table)
        provider_refuses(entry, call.message, error);
    host_call_clear(&call);
    /* cppcheck-suppress returnDanglingLifetime ; the table is the library's and not a part of the call */
    return table;
}

/* After a crash: the same parameters once more. */
static enum sandlot_status reopen(void *context, struct sandlot_call *call, void **instance)
{
    const struct provider *provider = context;

    return parameters_call_open(provider->parameters, &provider->table, call, instance, NULL);
}

static int64_t start_timeout_ms(void *context)
{
    const struct provider *provider = context;

    return parameters_start_timeout_ms(provider->parameters);
}

/* How a provider is kept apart. */
enum isolation { ISOLATION_NONE, ISOLATION_PROCESS, ISOLATION_UNCONFINED };

/* The wall for files is the kernel's. */
static bool has_landlock(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

/* The same in a process of its own. NULL on error. */
static const struct sandlot_provider *load_in_worker(struct provider *provider, const char *path, bool is_confined,
                                                     struct sandlot_error *error)
{
    const struct registry_entry *entry = provider->entry;
    const struct worker_owner owner = {provider, reopen, start_timeout_ms};
    const struct sandlot_provider *table = NULL;
    AUTO_FREE char *why = NULL;
    char **view =
        is_confined ? view_new(entry, provider->environment, path, provider->config_file, provider->overrides) : NULL;

    if (is_confined && !view) {
        error_no_memory(error);
        return NULL;
    }
    if (is_confined && !has_landlock())
        log_info("%s: this kernel has no Landlock: the provider's process can read your files, though not other "
                 "processes; `sandlot doctor` says how to get it",
                 entry->name);
    switch (worker_load(entry, provider->environment, path, view, &owner, &provider->worker, &table, &why, error)) {
    case WORKER_LOADED:
        return table;
    case WORKER_CANNOT_LOAD:
        refuse(entry, error, "%s", why ? why : "it gives no reason; install it again");
        return NULL;
    case WORKER_REFUSES:
        provider_refuses(entry, why, error);
        return NULL;
    case WORKER_FAILED:
        break;
    }
    return NULL;
}

bool provider_is_builtin(const struct registry_entry *entry)
{
    while (entry && entry->config && !entry->config->class_path)
        entry = entry->shadows;
    return entry && entry->source == REGISTRY_BUILTIN;
}

/* What the operator has decided; otherwise our own code runs here, and everybody else's in a process of its own. */
static enum isolation isolation_of(const struct registry_entry *entry)
{
    const char *isolation = entry->config ? entry->config->isolation : NULL;

    if (isolation ? strcmp(isolation, "none") == 0 : provider_is_builtin(entry))
        return ISOLATION_NONE;
    return isolation && strcmp(isolation, "unconfined") == 0 ? ISOLATION_UNCONFINED : ISOLATION_PROCESS;
}

/* Loads the library PATH where it is to run. NULL on error. */
static const struct sandlot_provider *load_library(struct provider *provider, const char *path,
                                                   struct sandlot_error *error)
{
    const struct registry_entry *entry = provider->entry;
    enum isolation isolation = isolation_of(entry);
    bool needs_machine = entry->note.name && !entry->note.confined;

    if (isolation == ISOLATION_NONE)
        return load_here(provider, path, error);
    if (isolation == ISOLATION_PROCESS && needs_machine && !worker_library_is_ours(path)) {
        refuse(
            entry, error,
            "its entry point says that it does not work in a confined process; if it may have all that you have, say "
            "isolation = \"unconfined\" in [sandboxes.providers.%s]",
            entry->name);
        return NULL;
    }
    return load_in_worker(provider, path, isolation == ISOLATION_PROCESS && !needs_machine, error);
}

/* ---- the handshake ----------------------------------------------------------------------------------------------- */

static int check_abi(const struct registry_entry *entry, const struct sandlot_provider *table,
                     struct sandlot_error *error)
{
    /* Only size and abi_major are in the same place in every major version. */
    if (table->size < offsetof(struct sandlot_provider, name) || table->size > LARGEST_TABLE)
        return refuse(
            entry, error,
            "its table says that it is %zu bytes long, which cannot be; correct class_path if the symbol \"%s\" "
            "is no entry function, or install another version",
            table->size, entry->symbol);
    if (table->abi_major != SANDLOT_ABI_MAJOR)
        return refuse(
            entry, error, "it was built for version %u of the provider ABI and this Sandlot speaks version %d; %s",
            table->abi_major, SANDLOT_ABI_MAJOR,
            table->abi_major > SANDLOT_ABI_MAJOR ? "install a newer Sandlot, or an older version of the provider"
                                                 : "install a newer version of the provider");
    if (table->size < SMALLEST_TABLE || !table->name)
        return refuse(entry, error,
                      "its table ends before what every provider needs (%zu of %zu bytes), or it has no name; install "
                      "another version",
                      table->size, SMALLEST_TABLE);
    return 0;
}

/* The name of the note, or of the offer that was found by it, must be the table's; a config entry may have a name of
 * its own. */
static int check_name(const struct registry_entry *entry, const struct sandlot_provider *table,
                      struct sandlot_error *error)
{
    const char *expected = entry->note.name ? entry->note.name : entry->name;

    if ((!entry->note.name && entry->source == REGISTRY_CONFIG) || strcmp(table->name, expected) == 0)
        return 0;
    return refuse(entry, error,
                  "its entry point says that it is \"%s\", but its table says \"%.64s\"; install another version of it",
                  expected, table->name);
}

static int check_functions(const struct registry_entry *entry, const struct sandlot_provider *table,
                           struct sandlot_error *error)
{
    const char *missing = NULL;

    if (!table->get_or_create)
        missing = "get_or_create";
    else if (!table->delete_sandbox)
        missing = "delete_sandbox";
    else if (!table->execute && !table->open_root)
        missing = "execute (nor open_root)";
    else if (table->parameter_count > 0 && !table->open)
        missing = "open, though it has parameters";
    else if (table->pause && !table->resume)
        missing = "resume, though it can pause";
    else if (table->resume && !table->pause)
        missing = "pause, though it can resume";
    if (!missing)
        return 0;
    return refuse(entry, error, "its table has no function %s; install another version of it", missing);
}

/* What the note told the listing must be what the code can do. */
static int check_capabilities(const struct registry_entry *entry, const struct sandlot_provider *table,
                              struct sandlot_error *error)
{
    uint32_t present = provider_capabilities(table);
    uint32_t lies = entry->note.name ? present ^ (entry->note.capabilities & ~CAPABILITIES_TOLD) : 0;

    /* Where a machine allows no commands at all, nothing is left of what a note promises of them. */
    if (!table->execute)
        lies &= ~(uint32_t)(entry->note.capabilities & (CAPABILITY_TERMINAL | CAPABILITY_STREAMING));

    for (uint32_t bit = CAPABILITY_LIST; bit <= CAPABILITY_LAST; bit <<= 1)
        if (lies & bit)
            return refuse(entry, error,
                          "its entry point %s the capability \"%s\", but its table %s; install another version of it",
                          present & bit ? "does not name" : "names", capability_name((enum capability)bit),
                          present & bit ? "has it" : "does not have it");
    return 0;
}

static int handshake(struct provider *provider, struct sandlot_error *error)
{
    const struct registry_entry *entry = provider->entry;
    AUTO_FREE char *path = trusted_path(entry, error);

    if (!path)
        return -1;
    const struct sandlot_provider *table = load_library(provider, path, error);

    if (!table || check_abi(entry, table, error) < 0 || check_name(entry, table, error) < 0)
        return -1;
    memcpy(&provider->table, table, table->size < sizeof(provider->table) ? table->size : sizeof(provider->table));
    provider->table.size = sizeof(provider->table);
    if (check_functions(entry, &provider->table, error) < 0)
        return -1;
    if (check_capabilities(entry, &provider->table, error) < 0)
        return -1;
    struct sandlot_error reason = {0};

    if (parameters_check(&provider->table, &reason) == 0)
        return 0;
    refuse(entry, error, "%s", reason.message);
    sandlot_error_clear(&reason);
    return -1;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static int open_provider(struct provider *provider, struct sandlot_error *error)
{
    struct host_call call;

    host_call_init(&call, provider->entry->name, provider->environment, sandlot_now_ms() + OPEN_DEADLINE_MS, -1);
    enum sandlot_status status =
        parameters_call_open(provider->parameters, &provider->table, &call.call, &provider->instance, error);
    int result = host_call_error(&call, status, "the provider could not be opened", false, error);

    if (status == SANDLOT_INVALID_ARGUMENT)
        parameters_add_origin(provider->parameters, error);

    host_call_clear(&call);
    provider->opened = result == 0;
    return result;
}

struct provider *provider_load(const struct registry_entry *entry, const struct environment *environment,
                               const char *config_file, const char *const *overrides, bool lenient,
                               struct sandlot_error *error)
{
    if (check_entry(entry, error) < 0)
        return NULL;
    struct provider *provider = calloc(1, sizeof(*provider));

    if (!provider) {
        error_no_memory(error);
        return NULL;
    }
    provider->entry = entry;
    provider->environment = environment_of_provider(environment, entry->note.credentials, entry->note.project);
    if (!provider->environment) {
        error_no_memory(error);
        free(provider);
        return NULL;
    }
    provider->config_file = config_file;
    provider->overrides = overrides;
    hide_variables(environment, entry->note.credentials, true);
    hide_variables(environment, entry->note.environment, false);
    if (handshake(provider, error) == 0)
        provider->parameters = parameters_bind(&provider->table, entry->config, config_file, overrides, lenient, error);
    if (provider->parameters && open_provider(provider, error) == 0)
        return provider;
    provider_unload(provider);
    return NULL;
}

int provider_check(const struct registry_entry *entry, const struct environment *environment, const char *config_file,
                   struct sandlot_error *error)
{
    struct provider *provider = provider_load(entry, environment, config_file, NULL, true, error);
    struct host_call call;
    int result = provider ? 0 : -1;

    if (provider && provider->table.check) {
        host_call_init(&call, entry->name, provider->environment, sandlot_now_ms() + CHECK_DEADLINE_MS, -1);
        enum sandlot_status status = provider->table.check(&call.call, provider->instance);

        result = host_call_error(&call, status, "it cannot be used", false, error);
        host_call_clear(&call);
    }
    provider_unload(provider);
    return result;
}

/* A built-in stays: it brings some thirty libraries along, and to link these anew for the next one takes a listing
 * longer than all the rest of it. */
static bool stays_loaded(const struct provider *provider)
{
    return KEEP_LIBRARIES || provider_is_builtin(provider->entry);
}

void provider_unload(struct provider *provider)
{
    if (!provider)
        return;
    if (provider->opened && provider->table.close)
        provider->table.close(provider->instance);
    parameters_free(provider->parameters);
    worker_free(provider->worker);
    if (provider->library && !stays_loaded(provider))
        dlclose(provider->library);
    environment_free(provider->environment);
    free(provider);
}
