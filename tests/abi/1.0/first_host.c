/*
 * A host of ABI 1.0, as small as one can be: loads a provider, whatever header it was built with, and makes, uses,
 * lists and deletes a sandbox. All that it hands to the provider ends where a page of its memory ends, so that a
 * provider which reads or writes beyond what this host knows does not get far.
 *
 *   first_host FILE SYMBOL COMMAND
 */
#include <sandlot/provider.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 65536 }; /* of no machine larger */

/* A struct of SIZE zero bytes, with its size in the first of them, in front of a page that cannot be touched. Kept. */
static void *last_of_page(size_t size)
{
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE) != 0)
        abort();
    char *memory = pages + PAGE - size;

    memcpy(memory, &size, sizeof(size));
    return memory;
}

#define NEW(type) ((struct type *)last_of_page(sizeof(struct type)))

static char created_id[128];

static enum sandlot_status host_fail(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    (void)call;
    fprintf(stderr, "the provider: %d %s\n", (int)status, message);
    return status;
}

static void host_log(struct sandlot_call *call, enum sandlot_log_level level, const char *message)
{
    (void)call;
    fprintf(stderr, "log %d %s\n", (int)level, message);
}

static const char *host_environment(struct sandlot_call *call, const char *name)
{
    (void)call;
    return getenv(name);
}

static void host_progress(struct sandlot_call *call, const char *what, uint64_t done, uint64_t total)
{
    (void)call;
    (void)what;
    (void)done;
    (void)total;
}

static void host_created(struct sandlot_call *call, const char *id, const char *working_dir)
{
    (void)call;
    (void)working_dir;
    snprintf(created_id, sizeof(created_id), "%s", id);
}

static struct sandlot_call *new_call(void)
{
    struct sandlot_host *host = NEW(sandlot_host);
    struct sandlot_call *call = NEW(sandlot_call);

    host->abi_major = SANDLOT_ABI_MAJOR;
    host->abi_minor = SANDLOT_ABI_MINOR;
    host->fail = host_fail;
    host->log = host_log;
    host->environment = host_environment;
    host->progress = host_progress;
    host->created = host_created;
    call->host = host;
    call->deadline_ms = sandlot_now_ms() + 20000;
    call->cancel_fd = -1;
    return call;
}

static enum sandlot_status print(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    (void)sink;
    return fwrite(bytes, 1, length, stdout) == length ? SANDLOT_OK : SANDLOT_INTERNAL;
}

static enum sandlot_status add(const struct sandlot_listing *listing, const struct sandlot_listed *sandbox)
{
    (void)listing;
    printf("listed %s %s\n", sandbox->id, sandbox->state);
    return SANDLOT_OK;
}

static void next(const struct sandlot_listing *listing, const char *cursor)
{
    (void)listing;
    (void)cursor;
}

/* The table as far as this host knows it; false if it is none of ABI 1. */
static bool load(const char *path, const char *symbol, struct sandlot_call *call, struct sandlot_provider *table)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, symbol) : NULL;
    sandlot_entry entry = NULL;

    memcpy(&entry, &found, sizeof(entry));
    const struct sandlot_provider *shown = entry ? entry(call) : NULL;

    if (!shown || shown->abi_major != SANDLOT_ABI_MAJOR)
        return false;
    memcpy(table, shown, shown->size < sizeof(*table) ? shown->size : sizeof(*table));
    return true;
}

/* Parameters would need libffi; this host knows those of the providers that it is used for. */
static enum sandlot_status open_provider(const struct sandlot_provider *table, struct sandlot_call *call,
                                         void **provider)
{
    if (table->parameter_count == 2) {
        enum sandlot_status (*open)(struct sandlot_call *, void **, int64_t, const char *);

        memcpy(&open, &table->open, sizeof(open));
        return open(call, provider, 3, "a text");
    }
    return table->parameter_count == 0 ? SANDLOT_OK : SANDLOT_UNSUPPORTED;
}

static enum sandlot_status create(const struct sandlot_provider *table, struct sandlot_call *call, void *provider,
                                  void **sandbox)
{
    struct sandlot_create *request = NEW(sandlot_create);
    struct sandlot_label *label = last_of_page(sizeof(*label));

    *label = (struct sandlot_label){"sandlot", "first-host-1"};
    request->run_label = label->value;
    request->labels = label;
    request->label_count = 1;
    return table->get_or_create(call, provider, request, sandbox);
}

static enum sandlot_status run(const struct sandlot_provider *table, struct sandlot_call *call, void *provider,
                               void *sandbox, const char *text)
{
    struct sandlot_command *command = NEW(sandlot_command);
    struct sandlot_sink *sink = NEW(sandlot_sink);
    struct sandlot_exit *result = NEW(sandlot_exit);

    command->command = text;
    command->timeout_ms = 10000;
    sink->write = print;
    enum sandlot_status status = table->execute(call, provider, sandbox, command, sink, result);

    printf("exit %d\n", result->exit_code);
    return status;
}

static enum sandlot_status list(const struct sandlot_provider *table, struct sandlot_call *call, void *provider)
{
    struct sandlot_listing *listing = NEW(sandlot_listing);

    listing->add = add;
    listing->next = next;
    return table->list ? table->list(call, provider, NULL, listing) : SANDLOT_OK;
}

static enum sandlot_status look_at_root(const struct sandlot_provider *table, struct sandlot_call *call, void *provider,
                                        void *sandbox)
{
    struct sandlot_root *root = NEW(sandlot_root);

    root->fd = -1;
    root->alive_fd = -1;
    return table->open_root ? table->open_root(call, provider, sandbox, root) : SANDLOT_OK;
}

int main(int count, char **arguments)
{
    struct sandlot_provider table = {0};
    void *provider = NULL;
    void *sandbox = NULL;
    struct sandlot_call *call = new_call();

    if (count != 4 || !load(arguments[1], arguments[2], call, &table))
        return 2;
    enum sandlot_status status = open_provider(&table, call, &provider);

    if (status == SANDLOT_OK)
        status = create(&table, call, provider, &sandbox);
    if (status == SANDLOT_OK)
        status = run(&table, call, provider, sandbox, arguments[3]);
    if (status == SANDLOT_OK)
        status = list(&table, call, provider);
    if (status == SANDLOT_OK)
        status = look_at_root(&table, call, provider, sandbox);
    if (created_id[0] && table.delete_sandbox(call, provider, created_id) != SANDLOT_OK)
        status = SANDLOT_INTERNAL;
    if (sandbox && table.release)
        table.release(provider, sandbox);
    if (table.close && status == SANDLOT_OK)
        table.close(provider);
    return status == SANDLOT_OK ? 0 : 1;
}
