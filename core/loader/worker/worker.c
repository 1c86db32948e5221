#include "loader/worker/worker.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "loader/host.h"
#include "loader/worker/parts.h"
#include "registry/builtins.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOAD_MS = 10 * 1000 };

/* A provider keeps little in memory. Of what it may have, this is far more than it needs. */
#define MEMORY_LIMIT (UINT64_C(4) << 30)

static const char *test_program;

void worker_use_program(const char *path)
{
    test_program = path;
}

/* ---- a call of the host ------------------------------------------------------------------------------------------ */

/* Gives the host a handle for what the provider has stored. */
static enum sandlot_status store_handle(const struct proxy *proxy, const struct crossing *crossing,
                                        void *const *arguments, uint64_t number)
{
    const struct wire_function *function = proxy->function;
    size_t i = 0;

    while (function->arguments[i].kind != WIRE_NEW_HANDLE)
        i++;
    struct remote *remote = handle_new(proxy->worker, proxy->number == WIRE_OPEN);
    void **where;

    if (!remote)
        return sandlot_fail(crossing->call, SANDLOT_INTERNAL, "out of memory");
    remote->process = worker_process_number(crossing->process);
    remote->number = number;
    if (proxy->number == WIRE_GET_OR_CREATE) {
        const struct sandlot_create *request = (const void *)handle_argument(arguments, 2);

        remote->id = crossing->created     ? strdup(crossing->created)
                     : request->sandbox_id ? strdup(request->sandbox_id)
                                           : NULL;
    }
    memcpy(&where, arguments[i], sizeof(where));
    *where = remote;
    return SANDLOT_OK;
}

static bool makes_handle(const struct wire_function *function)
{
    for (size_t i = 0; i < function->argument_count; i++)
        if (function->arguments[i].kind == WIRE_NEW_HANDLE)
            return true;
    return false;
}

static enum sandlot_status call_there(const struct proxy *proxy, struct crossing *crossing, void *result,
                                      void *const *arguments)
{
    const struct wire_function *function = proxy->function;
    struct wire_arena arena = {0};
    uint64_t handle = 0;
    enum sandlot_status status = handles_reach(function, arguments, crossing->process, crossing->call);

    if (status == SANDLOT_OK)
        status = crossing_run(crossing, proxy->number, function, &arena, result, arguments, &handle,
                              handles_sandbox(function, arguments));
    if (status == SANDLOT_OK && makes_handle(function))
        status = handle > 0 ? store_handle(proxy, crossing, arguments, handle)
                            : crossing_fail(crossing, DIALOGUE_NONSENSE, NULL);
    wire_arena_clear(&arena);
    return status;
}

/* close and release: without a call to tell anything by, and without a new process for it: what has gone with its
 * process need not be freed there. */
static void free_there(const struct proxy *proxy, void *const *arguments)
{
    const struct wire_function *function = proxy->function;
    struct crossing crossing = {.worker = proxy->worker};
    struct wire_arena arena = {0};
    enum sandlot_status status;
    ffi_arg nothing = 0;
    uint64_t none;

    if (!proxy->absent)
        crossing.process = crossing_process(proxy->worker, NULL, false, &status);
    if (crossing.process && handles_are_known(function, arguments, crossing.process))
        crossing_run(&crossing, proxy->number, function, &arena, &nothing, arguments, &none, NULL);
    worker_process_let_go(crossing.process);
    wire_arena_clear(&arena);
    handle_free(handle_argument(arguments, function->argument_count - 1));
}

/* Behind every function of the table. */
static void run(ffi_cif *cif, void *result, void **arguments, void *data)
{
    const struct proxy *proxy = data;
    struct crossing crossing = {.worker = proxy->worker};
    enum sandlot_status status;

    (void)cif;
    if (proxy->function->result == WIRE_NOTHING) {
        free_there(proxy, arguments);
        return;
    }
    memcpy(&crossing.call, arguments[0], sizeof(crossing.call));
    crossing.process = crossing_process(proxy->worker, crossing.call, true, &status);
    if (crossing.process)
        status = call_there(proxy, &crossing, result, arguments);
    worker_process_let_go(crossing.process);
    free(crossing.created);
    *(ffi_sarg *)result = (ffi_sarg)status;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static bool add_proxy(struct worker *worker, uint64_t number, const struct wire_function *function)
{
    struct proxy *proxy = &worker->proxies[number];
    void *code = NULL;

    *proxy = (struct proxy){.worker = worker, .number = number, .function = function};
    proxy->types = calloc(function->argument_count + 1, sizeof(*proxy->types));
    proxy->closure = proxy->types ? ffi_closure_alloc(sizeof(*proxy->closure), &code) : NULL;
    if (!proxy->closure || !wire_prepare(function, &proxy->cif, proxy->types) ||
        ffi_prep_closure_loc(proxy->closure, &proxy->cif, run, proxy, code) != FFI_OK)
        return false;
    memcpy((char *)&worker->table + function->offset, &code, sizeof(code));
    return true;
}

/* These are there in any case: the host has a handle to free even where the provider has nothing. */
static bool frees_handle(const struct wire_function *function)
{
    return function->argument_count > 0 && function->arguments[function->argument_count - 1].kind == WIRE_LAST_HANDLE;
}

/* What the worker says, as the table that the library would have shown here. Nothing of it is checked yet. */
static bool make_table(struct worker *worker)
{
    const struct wire_table *said = &worker->description;

    worker->table = (struct sandlot_provider){
        .size = (size_t)said->size,
        .abi_major = said->abi_major,
        .abi_minor = said->abi_minor,
        .name = said->name,
        .flags = said->flags,
        .parameters = said->parameters,
        .parameter_count = said->parameter_count,
    };
    for (uint64_t i = WIRE_OPEN; i < WIRE_FUNCTION_COUNT; i++) {
        const struct wire_function *function = &wire_functions[i];
        bool absent = !(said->functions >> i & 1);

        if (absent && !frees_handle(function))
            continue;
        if (i == WIRE_OPEN) {
            if (!wire_describe_open(said->parameters, said->parameter_count, worker->open_arguments, &worker->open))
                continue;
            function = &worker->open;
        }
        if (!add_proxy(worker, i, function))
            return false;
        worker->proxies[i].absent = absent;
    }
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* The program lies with the built-in providers. To be freed. */
static char *program_path(void)
{
    AUTO_FREE char *folder = test_program ? NULL : builtins_folder();

    return test_program ? strdup(test_program) : folder ? text_format("%s/sandlot-worker", folder) : NULL;
}

/* Does PATH lie in FOLDER? Takes FOLDER over. */
static bool lies_in(const char *path, char *folder)
{
    AUTO_FREE char *given = folder;
    AUTO_FREE char *real = given ? realpath(given, NULL) : NULL;
    size_t length = real ? strlen(real) : 0;

    return length > 0 && strncmp(path, real, length) == 0 && path[length] == '/';
}

/* Is the file PATH called as a provider that ships with Sandlot, "NAME.so"? */
static bool has_our_name(const char *path)
{
    const char *base = strrchr(path, '/');
    AUTO_FREE char *name = strdup(base ? base + 1 : path);
    size_t length = name ? strlen(name) : 0;

    if (length < 4 || strcmp(name + length - 3, ".so") != 0)
        return false;
    name[length - 3] = '\0';
    return builtin_find(name) != NULL;
}

bool worker_library_is_ours(const char *path)
{
    AUTO_FREE char *builtins = builtins_folder();

    if (!builtins)
        return false;
    return (has_our_name(path) && lies_in(path, builtins_own_plugins(builtins))) || lies_in(path, TAKE(builtins));
}

bool worker_may_show(const struct worker *worker, const struct sandlot_root *root)
{
    return !worker->view ||
           (root->uid == geteuid() && root->gid == getegid() && view_is_writable(worker->view, root->fd));
}

static struct worker *new_worker(const struct registry_entry *entry, const struct environment *environment,
                                 const char *path, char **view)
{
    struct worker *worker = calloc(1, sizeof(*worker));

    if (!worker) {
        view_free(view);
        return NULL;
    }
    worker->view = view;
    worker->entry = entry;
    worker->environment = environment;
    worker->program = program_path();
    worker->path = strdup(path);
    worker->variables[0] = entry->note.credentials ? entry->note.credentials : "";
    worker->variables[1] = entry->note.environment ? entry->note.environment : "";
    worker->settings = (struct worker_settings){.program = worker->program,
                                                .provider = entry->name,
                                                .environment = environment,
                                                .variables = worker->variables,
                                                /* Ours, under whatever name, start programs that need more. */
                                                .memory = worker_library_is_ours(path) ? 0 : MEMORY_LIMIT,
                                                .view = view};
    pthread_mutex_init(&worker->lock, NULL);
    if (worker->program && worker->path)
        return worker;
    worker_free(worker);
    return NULL;
}

/* What became of the first loading, as CALL and STATUS tell it. */
static enum worker_load judge(struct worker *worker, struct host_call *call, enum sandlot_status status, char **why,
                              struct sandlot_error *error)
{
    if (status == SANDLOT_OK && make_table(worker))
        return WORKER_LOADED;
    if (status == SANDLOT_OK) {
        error_no_memory(error);
        return WORKER_FAILED;
    }
    *why = TAKE(call->message);
    if (call->crashed) {
        AUTO_FREE char *reason = TAKE(*why);

        error_set(error, SANDLOT_CODE_PROVIDER_CRASHED, "%s: cannot load the provider: %s", worker->entry->name,
                  reason ? reason : "it crashed");
        return WORKER_FAILED;
    }
    return status == SANDLOT_UNSUPPORTED ? WORKER_REFUSES : WORKER_CANNOT_LOAD;
}

enum worker_load worker_load(const struct registry_entry *entry, const struct environment *environment,
                             const char *path, char **view, const struct worker_owner *owner, struct worker **result,
                             const struct sandlot_provider **table, char **why, struct sandlot_error *error)
{
    struct worker *worker = *result = new_worker(entry, environment, path, view);
    struct host_call call;

    *why = NULL;
    if (!worker) {
        error_no_memory(error);
        return WORKER_FAILED;
    }
    worker->owner = *owner;
    worker->process = worker_process_start(&worker->settings, error);
    if (!worker->process)
        return WORKER_FAILED;
    host_call_init(&call, entry->name, environment, sandlot_now_ms() + LOAD_MS, -1);
    enum sandlot_status status =
        crossing_load(worker, worker->process, &call.call, &worker->arena, &worker->description);
    enum worker_load loaded = judge(worker, &call, status, why, error);

    host_call_clear(&call);
    *table = &worker->table;
    return loaded;
}

void worker_free(struct worker *worker)
{
    if (!worker)
        return;
    worker_process_let_go(worker->process);
    for (size_t i = 0; i < WIRE_FUNCTION_COUNT; i++) {
        if (worker->proxies[i].closure)
            ffi_closure_free(worker->proxies[i].closure);
        free(worker->proxies[i].types);
    }
    while (worker->kept) {
        struct kept_text *kept = worker->kept;

        worker->kept = kept->next;
        free(kept);
    }
    wire_arena_clear(&worker->arena);
    pthread_mutex_destroy(&worker->lock);
    view_free(worker->view);
    free(worker->program);
    free(worker->path);
    free(worker);
}
