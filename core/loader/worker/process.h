/*
 * One worker process, as the host sees it: started, watched by a thread of its own until it has ended, and never left
 * behind. Nothing in here knows the ABI.
 */
#ifndef SANDLOT_LOADER_WORKER_PROCESS_H
#define SANDLOT_LOADER_WORKER_PROCESS_H

#include "config/environment.h"
#include "loader/worker/channel.h"

#include <sandlot/sandlot.h>

struct worker_process;

/* What to start. All of it must live as long as the process. */
struct worker_settings {
    const char *program;
    const char *provider; /* its name, for the log */
    const struct environment *environment;
    const char *const *variables; /* lists "A|B C" of variables that the provider may see, ended by NULL; entries may
                                     be "" */
    uint64_t memory;              /* bytes it may use, 0: no limit */
    char *const *view;            /* what it sees, see view.h; NULL: what the user sees */
};

/* The host's end of a connection; see channel.h. Whoever has it uses it alone. */
struct worker_connection {
    struct worker_connection *next; /* of those that nobody uses */
    struct worker_process *process; /* NULL in tests without one */
    int socket;
    int watches[CHANNEL_WATCHES]; /* what the worker polls */
    struct channel_reader reader;
};

/*
 * From now on this process is not dumpable (prctl(2), PR_SET_DUMPABLE) while a worker lives: no other process of the
 * user, and so no provider, reads its memory or environment, not even where the kernel has no Landlock. For a program
 * that is all Sandlot's, before it has threads: a library must not take core dumps and debuggers from its program.
 */
void worker_process_hide_host(void);

/* NULL with the error. To be let go of. */
struct worker_process *worker_process_start(const struct worker_settings *settings, struct sandlot_error *error);

/* One user more, one user less; with the last one it is ended, if it has not ended already, and freed. */
struct worker_process *worker_process_hold(struct worker_process *process);
void worker_process_let_go(struct worker_process *process);

/* Which of all workers of this host it is. */
uint64_t worker_process_number(const struct worker_process *process);

/* Has it ended, or been given up? */
bool worker_process_is_dead(struct worker_process *process);

/* Waits until it has ended, but no longer than this. */
bool worker_process_wait(struct worker_process *process, int limit_ms);

/* Readable once it has ended. */
int worker_process_fd(const struct worker_process *process);

/* Ends it at once because of REASON ("sent an answer that makes no sense"); the first reason counts. */
void worker_process_kill(struct worker_process *process, const char *reason);

/* Why it ended, as a part of a sentence: "crashed (SIGSEGV)". Waits for the end, which must be near. Buffer of
 * WORKER_REASON bytes. */
enum { WORKER_REASON = 512 };
void worker_process_reason(struct worker_process *process, char *reason);

/* A connection that nobody else uses; NULL with errno. */
struct worker_connection *worker_process_connect(struct worker_process *process);

/* Gives it back; REUSABLE: the last call on it came to its regular end. */
void worker_process_disconnect(struct worker_connection *connection, bool reusable);

/* Frees a connection; for tests that have made one without a process. */
void worker_connection_free(struct worker_connection *connection);

/* Both ends of a new connection: OTHERS, CHANNEL_DESCRIPTORS of them, are the worker's. NULL with errno. */
struct worker_connection *worker_connection_new(int *others);

#endif
