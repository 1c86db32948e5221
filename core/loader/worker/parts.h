/* What the host's side of a worker is made of: its calls (crossing.c), its handles (handles.c), its table (worker.c).
 */
#ifndef SANDLOT_LOADER_WORKER_PARTS_H
#define SANDLOT_LOADER_WORKER_PARTS_H

#include "loader/worker/dialogue.h"
#include "loader/worker/view.h"
#include "loader/worker/worker.h"

#include <pthread.h>

/* One function of the table that the host sees. */
struct proxy {
    struct worker *worker;
    uint64_t number;
    bool absent; /* the provider has no such function: only the host's handle is freed */
    const struct wire_function *function;
    ffi_cif cif;
    ffi_type **types;
    ffi_closure *closure;
};

/* What the host has as a handle: of the provider or of a sandbox. Outlives the process that made it. */
struct remote {
    struct worker *worker;
    pthread_mutex_t lock;     /* whoever brings it to another process has it */
    _Atomic uint64_t process; /* in which NUMBER is valid */
    _Atomic uint64_t number;
    bool is_provider;
    _Atomic bool is_starting; /* it was attached to again in that process, and has not been seen to be ready */
    char *id;                 /* of the sandbox; NULL: it was never told */
};

struct kept_text {
    struct kept_text *next;
    char text[];
};

struct worker {
    const struct registry_entry *entry;
    const struct environment *environment;
    struct worker_owner owner;
    char *program;
    char *path;
    char **view; /* what the process sees; NULL: what the user sees */
    const char *variables[3];
    struct worker_settings settings;
    struct wire_arena arena; /* of the table and its rows */
    struct sandlot_provider table;
    struct wire_table description;
    struct wire_function open;
    struct wire_value open_arguments[WIRE_MOST_ARGUMENTS];
    struct proxy proxies[WIRE_FUNCTION_COUNT];
    pthread_mutex_t lock; /* of what follows */
    struct worker_process *process;
    struct kept_text *kept;
    unsigned kept_count;
};

/* One call on its way. */
struct crossing {
    struct worker *worker;
    struct worker_process *process;
    struct sandlot_call *call;
    char *created; /* the id that was told meanwhile */
};

/* ---- crossing.c -------------------------------------------------------------------------------------------------- */

/* Loads the library in PROCESS and gets what it has. */
enum sandlot_status crossing_load(struct worker *worker, struct worker_process *process, struct sandlot_call *call,
                                  struct wire_arena *arena, struct wire_table *table);

/* The process for a call, to be let go of. RESTARTS: a dead one is replaced. NULL: *STATUS says why, or there is
 * none. */
struct worker_process *crossing_process(struct worker *worker, struct sandlot_call *call, bool restarts,
                                        enum sandlot_status *status);

/* Runs FUNCTION in the crossing's process. ID: of the sandbox it is about, or NULL. */
enum sandlot_status crossing_run(struct crossing *crossing, uint64_t number, const struct wire_function *function,
                                 struct wire_arena *arena, void *result, void *const *arguments, uint64_t *new_handle,
                                 const char *id);

/* Ends the process of a call that came to such an end, and tells the caller that it has died. */
enum sandlot_status crossing_fail(const struct crossing *crossing, enum dialogue_end end, const char *id);

/* ---- handles.c --------------------------------------------------------------------------------------------------- */

struct remote *handle_new(struct worker *worker, bool is_provider);
void handle_free(struct remote *remote);

/* For the rules of a dialogue. */
uint64_t handles_number(void *context, const void *handle);

/* The handle that is argument INDEX. */
struct remote *handle_argument(void *const *arguments, size_t index);

/* Makes all handles among ARGUMENTS valid in PROCESS. */
enum sandlot_status handles_reach(const struct wire_function *function, void *const *arguments,
                                  struct worker_process *process, struct sandlot_call *call);

/* Does PROCESS know all handles? ARGUMENTS are nothing but handles. */
bool handles_are_known(const struct wire_function *function, void *const *arguments, struct worker_process *process);

/* The id of the sandbox that the call is about, by its handle; NULL: by none. */
const char *handles_sandbox(const struct wire_function *function, void *const *arguments);

#endif
