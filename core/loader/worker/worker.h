/*
 * A provider in a process of its own. To the rooms above it is a table of functions like any other; each call crosses
 * to the worker and back. See README.md in this folder.
 */
#ifndef SANDLOT_LOADER_WORKER_WORKER_H
#define SANDLOT_LOADER_WORKER_WORKER_H

#include "config/environment.h"
#include "registry/registry.h"

#include <sandlot/provider.h>
#include <sandlot/sandlot.h>

struct worker;

/* What a worker asks of the provider that it belongs to. */
struct worker_owner {
    void *context;
    /* Opens the provider again in a new process after a crash, by table->open. */
    enum sandlot_status (*reopen)(void *context, struct sandlot_call *call, void **instance);
    /* How long a sandbox that is attached to there may take until it is ready. */
    int64_t (*start_timeout_ms)(void *context);
};

enum worker_load {
    WORKER_LOADED,
    WORKER_CANNOT_LOAD, /* *WHY has the reason, to be freed */
    WORKER_REFUSES,     /* the entry function refuses this host; *WHY: its reason, to be freed, or NULL */
    WORKER_FAILED       /* ERROR is set: there is no process, or it has died */
};

/*
 * Starts a process for ENTRY and loads the library PATH in it. VIEW: what it sees, taken over; NULL: what the user
 * sees. *TABLE: as the library's own, with functions that go to the process; it lives as long as the worker. *RESULT,
 * to be freed in any case, may be NULL on WORKER_FAILED only.
 */
enum worker_load worker_load(const struct registry_entry *entry, const struct environment *environment,
                             const char *path, char **view, const struct worker_owner *owner, struct worker **result,
                             const struct sandlot_provider **table, char **why, struct sandlot_error *error);

/* Does the library PATH, links resolved, lie among the built-in ones, or is it one of those that ship with Sandlot as
 * plugins, in the folder of this installation for them? */
bool worker_library_is_ours(const char *path);

/* May the host act in ROOT, a sandbox's files by word of the worker? Behind its wall a worker gives away only what it
 * can use itself; else it had the host write where it may not. */
bool worker_may_show(const struct worker *worker, const struct sandlot_root *root);

/* Ends the process. NULL is fine. */
void worker_free(struct worker *worker);

/* For tests: the program that is run instead of the one that lies beside the built-in providers; NULL: that again. */
void worker_use_program(const char *path);

#endif
