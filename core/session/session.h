/*
 * What a session is inside the library, and the one way in which commands reach its sandbox.
 *
 * Life: open (open.c) -> run (run.c) -> close (close.c). Ownership and the ledger are decided in open and settled in
 * close.
 */
#ifndef SANDLOT_SESSION_SESSION_H
#define SANDLOT_SESSION_SESSION_H

#include "session/ledger.h"
#include "session/path_lock.h"
#include "session/process_cursor.h"
#include "session/runtime.h"

#include <pthread.h>
#include <stdatomic.h>

struct leftovers_sweep;

/* The sandbox's "/", opened by the provider, while somebody uses it. */
struct session_root {
    int fd; /* O_PATH */
    uint32_t uid;
    uint32_t gid;
    /* Of root.c: */
    int alive_fd;         /* readable once the sandbox has ended; -1: cannot be told */
    int64_t opened_at_ms; /* CLOCK_MONOTONIC */
    unsigned users;
};

/* What a session knows of its sandbox's root. */
struct session_roots {
    pthread_mutex_t lock;         /* of what follows */
    struct session_root *current; /* NULL: none yet */
    bool none;                    /* there is no way to this sandbox's files but commands */
    bool renewing;                /* a thread asks for a newer one, the others go on with the current one */
};

struct sandlot_session {
    struct sandlot *sandlot;
    struct provider *provider;
    void *sandbox; /* the provider's handle */
    bool has_handle;
    char *id;
    char *working_dir;
    /* The ledger's record while this process answers for the sandbox; NULL: somebody else owns it. */
    struct ledger_record *record;
    bool keep;
    int turn_fd; /* a semaphore of one, eventfd(2), when the provider asks for one call at a time; else -1 */
    struct path_locks path_locks;  /* files that are being changed */
    struct leftovers_sweep *sweep; /* deletes what dead runs left at this provider, beside our work; or NULL */
    struct session_roots roots;
    struct process_cursors cursors;
    atomic_int jobs; /* that are at it, each of which has it freed last, as its owner may have closed it */
};

/*
 * Runs one command with the provider's execute and turns its answer into an error. COMMAND, OUTPUT and RESULT are those
 * of the ABI. The call ends by DEADLINE_MS (0: none) or when CANCEL_FD (-1: none) becomes readable. *STATUS (may be
 * NULL) gets the provider's status. 0 if the command ran.
 */
int session_run(struct sandlot_session *session, const struct sandlot_command *command,
                const struct sandlot_sink *output, struct sandlot_exit *result, int64_t deadline_ms, int cancel_fd,
                enum sandlot_status *status, struct sandlot_error *error);

/* The same for an interactive terminal, without a deadline. 0 if its command ran. */
int session_terminal(struct sandlot_session *session, const struct sandlot_terminal *terminal,
                     struct sandlot_exit *result, int cancel_fd, struct sandlot_error *error);

/* Can PROVIDER, whose CAPABILITIES its note or its table tells, reach ports of its sandboxes, or with URL tell their
 * addresses? 0, or -1 with SANDLOT_CODE_NOT_SUPPORTED and who can. */
int session_check_ports(const struct sandlot *sandlot, const char *provider, uint32_t capabilities, bool url,
                        struct sandlot_error *error);

/* Carries one connection to a port until it has ended or CANCEL_FD becomes readable; beside all other calls. *STATUS
 * gets the provider's status. 0 or -1. */
int session_connect_port(struct sandlot_session *session, const struct sandlot_connection *connection, int cancel_fd,
                         enum sandlot_status *status, struct sandlot_error *error);

/* Waits until no other call uses the sandbox, where the provider wants that. Anything but SANDLOT_OK comes with the
 * error, and there is no turn to give back. */
enum sandlot_status session_take_turn(const struct sandlot_session *session, int64_t deadline_ms, int cancel_fd,
                                      struct sandlot_error *error);
void session_give_turn_back(const struct sandlot_session *session);

/* Can the sandbox's files be reached directly? 1: session_root_take gives its root; 0: no, for good; -1: cannot be
 * told, because the sandbox has gone or its provider cannot be reached. */
int session_has_root(struct sandlot_session *session, int64_t deadline_ms, int cancel_fd, struct sandlot_error *error);

/*
 * The root of the sandbox, asked for once and then again from time to time: that counts as a use of the sandbox, and
 * finds out that it has ended. Safe on many threads. To be given back. NULL with the error
 * (SANDLOT_CODE_NOT_SUPPORTED where session_has_root is 0).
 */
struct session_root *session_root_take(struct sandlot_session *session, int64_t deadline_ms, int cancel_fd,
                                       struct sandlot_error *error);
void session_root_give_back(struct sandlot_session *session, struct session_root *root);

void session_roots_init(struct session_roots *roots);
/* Nobody may hold a root any more. */
void session_roots_clear(struct session_roots *roots);

/* TIMEOUT_MS, cut so that sums of times do not overflow. */
int64_t session_command_timeout(int64_t timeout_ms);

/* The deadline of a command with this time limit (0: none): the limit and what ending a command may take. */
int64_t session_command_deadline(int64_t timeout_ms);

/* Runs the setup script TEXT (session/setup_script.h) in the sandbox; OPTIONS has the receiver of its output. */
int session_run_setup(struct sandlot_session *session, const char *text, const struct sandlot_session_options *options,
                      struct sandlot_error *error);

/*
 * Deletes sandbox ID at PROVIDER, trying again after what may pass (SANDLOT_UNAVAILABLE), until DEADLINE_MS. 0 or -1
 * with the last error.
 */
int session_delete_at_provider(struct provider *provider, const char *id, int64_t deadline_ms, int cancel_fd,
                               struct sandlot_error *error);

/* Calls EACH for every sandbox of every page until it returns something else than SANDLOT_OK. 0 or -1. */
int session_list_at_provider(struct provider *provider,
                             enum sandlot_status (*each)(void *context, const struct sandlot_listed *sandbox),
                             void *context, int64_t deadline_ms, int cancel_fd, struct sandlot_error *error);

/* The same for its snapshots, of a provider that lists them. A run_label is the name that one was made with, where that
 * is not its id. */
int session_list_snapshots_at_provider(struct provider *provider,
                                       enum sandlot_status (*each)(void *context, const struct sandlot_listed *item),
                                       void *context, int64_t deadline_ms, int cancel_fd, struct sandlot_error *error);

/* Loads the provider of TARGET, unless it was cancelled already. *CANCEL_FD: what may end the calls that follow. */
struct provider *session_load_target(struct sandlot *sandlot, const struct sandlot_target *target, int *cancel_fd,
                                     struct sandlot_error *error);

/*
 * Forks sandbox ID, its intent in the ledger first. The record of the new one, which this process answers for: it is
 * left on purpose once session_fork_keep has said so. NULL: there is none, as far as can be known.
 */
struct ledger_record *session_fork(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                                   struct sandlot_error *error);
int session_fork_keep(struct ledger_record *record, struct sandlot_error *error);

/*
 * Looks for the sandbox with run label LABEL at PROVIDER, all pages. 1: found, *ID to be freed; 0: there is none;
 * -1: cannot be told (the provider has no list, or it failed).
 */
int session_find_by_label(struct provider *provider, const char *label, int64_t deadline_ms, int cancel_fd, char **id,
                          struct sandlot_error *error);

/* What to do about a sandbox whose id was never heard and that its provider cannot list, to be freed; NULL when out of
 * memory. */
char *leftover_advice(const struct ledger_record *record);

/* Gives the provider its handle back, if there is one. */
void session_release_handle(struct sandlot_session *session);

/* Forgets, among RECORDS of the ledger, sandboxes of this machine that were left on purpose and have ended by
 * themselves. */
void session_forget_ended(struct sandlot *sandlot, struct ledger_record **records, size_t count, int cancel_fd);

/* Frees the session without touching sandbox or ledger, once its jobs have called this too. */
void session_free(struct sandlot_session *session);

/* Looks for what dead runs left at this provider and deletes it on a thread of its own. NULL: there is nothing (the
 * usual case). */
struct leftovers_sweep *leftovers_sweep_start(struct provider *provider);

/* Gives it a short time to finish, then cancels it. NULL is fine. */
void leftovers_sweep_end(struct leftovers_sweep *work);

#endif
