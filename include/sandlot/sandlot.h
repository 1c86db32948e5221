/*
 * sandlot/sandlot.h - the embedding API: run commands in sandboxes from your own program.
 *
 *   struct sandlot_error error = {0};
 *   struct sandlot *sandlot = sandlot_open(NULL, &error);
 *   struct sandlot_session *session = sandlot_session_open(sandlot, NULL, &error);
 *   struct sandlot_execution command = {.size = sizeof(command), .command = "make test"};
 *   struct sandlot_result result = {.size = sizeof(result)};
 *   if (sandlot_execute(session, &command, &result, &error) == 0)
 *       fwrite(result.output, 1, result.output_length, stdout);
 *   sandlot_result_clear(&result);
 *   sandlot_session_close(session, &error);
 *   sandlot_close(sandlot);
 *
 * Link with -lsandlot.
 *
 * ERRORS    A function that can fail takes a `struct sandlot_error *` and returns NULL or -1 when it
 * failed. The error must be zeroed or cleared before the call; the message belongs to the caller, who
 * frees it with sandlot_error_clear. NULL may be passed by callers who only care whether it worked.
 *
 * STRUCTS   Every struct that the caller fills begins with its own size; set it and zero the rest. A
 * program built with an older or a newer header than the library's works; something that it sets and the
 * library does not know is SANDLOT_CODE_USAGE.
 *
 * THREADS   One `struct sandlot` may be used on many threads at the same time, and so may one session:
 * its calls overlap unless the provider serialises them. Closing either must be the last call on it.
 *
 * BLOCKING AND ASYNCHRONOUS  Opening, executing, closing and deleting have a `submit` form that returns a job at once:
 * a pollable descriptor, wait, cancel. Blocking calls take a cancellation object instead.
 *
 * OWNERSHIP A session that created its sandbox deletes it in sandlot_session_close, unless
 * it was opened with `keep` or `scope`. A sandbox that was attached to by id is never deleted. Before a sandbox is
 * created its intent is on disk, so that sandlot_collect_garbage finds it if this process is killed.
 */
#ifndef SANDLOT_SANDLOT_H
#define SANDLOT_SANDLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SANDLOT_API __attribute__((visibility("default")))
#else
#define SANDLOT_API
#endif

#define SANDLOT_VERSION "0.1.0"

/* The version of the library that is loaded, such as "0.1.0". */
SANDLOT_API const char *sandlot_version(void);

/* ---- errors
 * ----------------------------------------------------------------------------------------------------------- */

/* What went wrong. Names (sandlot_code_name) are stable: scripts match on them. */
enum sandlot_code {
    SANDLOT_CODE_OK = 0,
    SANDLOT_CODE_USAGE,                /* wrong before anything was loaded or created */
    SANDLOT_CODE_UNKNOWN_PROVIDER,     /* no provider of that name */
    SANDLOT_CODE_PROVIDER_UNAVAILABLE, /* library, dependency or kernel feature missing or unusable */
    SANDLOT_CODE_AUTH,
    SANDLOT_CODE_SANDBOX_NOT_FOUND,
    SANDLOT_CODE_NOT_SUPPORTED, /* this provider cannot do that */
    SANDLOT_CODE_QUOTA,
    SANDLOT_CODE_TIMEOUT,
    SANDLOT_CODE_NETWORK,
    SANDLOT_CODE_SETUP_FAILED, /* the setup script ended with a status other than 0 */
    SANDLOT_CODE_CANCELLED,
    SANDLOT_CODE_PROVIDER_CRASHED,
    SANDLOT_CODE_PROVIDER_ERROR,
    SANDLOT_CODE_FILE_NOT_FOUND,
    SANDLOT_CODE_PERMISSION_DENIED,
    SANDLOT_CODE_IS_DIRECTORY,
    SANDLOT_CODE_INVALID_PATH,
    SANDLOT_CODE_NO_SPACE,
    SANDLOT_CODE_INTERNAL_ERROR
};

struct sandlot_error {
    enum sandlot_code code;
    char *message; /* one sentence for a person: what failed, why, what to do; no secret */
};

/* "unknown_provider" for SANDLOT_CODE_UNKNOWN_PROVIDER, and so on. Never NULL. */
SANDLOT_API const char *sandlot_code_name(enum sandlot_code code);

/* Frees the message and makes the error ready for the next call. NULL is fine. */
SANDLOT_API void sandlot_error_clear(struct sandlot_error *error);

/* ---- the runtime
 * ------------------------------------------------------------------------------------------------------- */

enum sandlot_message_level {
    SANDLOT_MESSAGE_ERROR = 0,
    SANDLOT_MESSAGE_WARNING = 1,
    SANDLOT_MESSAGE_INFO = 2,
    SANDLOT_MESSAGE_DEBUG = 3
};

struct sandlot_options {
    size_t size;
    const char *config_file;   /* instead of $SANDLOT_CONFIG or the default one; it must exist */
    bool no_environment_files; /* do not read .env files */
    /* Receives warnings and progress, on any thread, one at a time, until sandlot_close; NULL: warnings go to standard
     * error. It may call nothing of this header but sandlot_cancel. A process has one: the one that was set last. */
    void (*message)(void *context, enum sandlot_message_level level, const char *text);
    void *message_context;
};

struct sandlot;

/*
 * Reads the configuration and finds the providers; executes no provider code and sends nothing. OPTIONS may
 * be NULL. A broken configuration is no error here: it is warned about, and said again where it
 * matters. NULL on failure (config_file missing: SANDLOT_CODE_USAGE).
 */
SANDLOT_API struct sandlot *sandlot_open(const struct sandlot_options *options, struct sandlot_error *error);

/* Unloads everything. All sessions and jobs must be closed. NULL is fine. */
SANDLOT_API void sandlot_close(struct sandlot *sandlot);

/* ---- cancelling
 * --------------------------------------------------------------------------------------------------------- */

struct sandlot_cancellation;

/* NULL only if the process is out of descriptors or memory. */
SANDLOT_API struct sandlot_cancellation *sandlot_cancellation_new(void);

/* Ends every call that was given this object with SANDLOT_CODE_CANCELLED, now and from now on. May be called in a
 * signal handler (signal-safety(7)) and on any thread. */
SANDLOT_API void sandlot_cancel(struct sandlot_cancellation *cancellation);

/* Frees it; no call may use it any more. NULL is fine. */
SANDLOT_API void sandlot_cancellation_free(struct sandlot_cancellation *cancellation);

/* ---- sessions
 * ------------------------------------------------------------------------------------------------------------ */

struct sandlot_session_options {
    size_t size;
    const char *provider;   /* NULL: "local" */
    const char *sandbox_id; /* attach to this sandbox; NULL: create one */
    const char *snapshot_name;
    const char *setup_file;                    /* script to run in the sandbox once it is there */
    const char *scope;                         /* reuse the live sandbox of this scope, or create it and leave it */
    const char *const *parameters;             /* "KEY=VALUE" over the configuration, ended by NULL; or NULL */
    bool keep;                                 /* leave the sandbox running when the session closes */
    struct sandlot_cancellation *cancellation; /* may end the opening; NULL: none */
    /* What is going on while the sandbox starts; TOTAL 0: unknown. On the calling thread or another. */
    void (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    /* What the setup script prints, as it comes. */
    void (*setup_output)(void *context, const void *bytes, size_t length);
    void *context;
};

struct sandlot_session;

/*
 * Makes or finds the sandbox, waits until it can run commands and runs the setup script. OPTIONS may be NULL. When this
 * fails nothing is left: a sandbox that was created on the way has been deleted, and one that could
 * not be deleted is named in a warning and stays in the ledger for sandlot_collect_garbage.
 */
SANDLOT_API struct sandlot_session *sandlot_session_open(struct sandlot *sandlot,
                                                         const struct sandlot_session_options *options,
                                                         struct sandlot_error *error);

/* The sandbox's id, the provider's name, the directory in which commands start. Valid until the session is closed. */
SANDLOT_API const char *sandlot_session_id(const struct sandlot_session *session);
SANDLOT_API const char *sandlot_session_provider(const struct sandlot_session *session);
SANDLOT_API const char *sandlot_session_working_dir(const struct sandlot_session *session);

/* With `keep`: records that the sandbox is left on purpose. Until then it counts as a leftover of this process if the
 * process dies. sandlot_session_close does it too; a command that prints the id calls this right after. 0 or -1. */
SANDLOT_API int sandlot_session_detach(struct sandlot_session *session, struct sandlot_error *error);

/* Deletes the sandbox if the session owns it, and frees the session in any case. 0, or -1 if the sandbox could not
 * be deleted: it stays in the ledger. NULL is fine. Not cancellable; bounded by a minute. */
SANDLOT_API int sandlot_session_close(struct sandlot_session *session, struct sandlot_error *error);

/* ---- execute
 * -------------------------------------------------------------------------------------------------------------- */

#define SANDLOT_DEFAULT_TIMEOUT_MS INT64_C(1800000)
#define SANDLOT_NO_TIMEOUT INT64_C(-1)
#define SANDLOT_DEFAULT_OUTPUT_LIMIT (UINT64_C(10) << 20)

struct sandlot_execution {
    size_t size;
    const char *command;            /* one shell command line, not empty */
    int64_t timeout_ms;             /* 0: SANDLOT_DEFAULT_TIMEOUT_MS; SANDLOT_NO_TIMEOUT: none; at most 100 years */
    const char *working_dir;        /* NULL: the sandbox's */
    const char *const *environment; /* "NAME=value", ended by NULL; or NULL */
    bool has_input;
    int input_fd;          /* with has_input: standard input of the command; stays the caller's */
    uint64_t output_limit; /* bytes kept in the result; 0: SANDLOT_DEFAULT_OUTPUT_LIMIT */
    /* Receives output as it comes, all of it; then none is kept in the result. Return false to cancel: it is not called
     * again, and the call ends with SANDLOT_CODE_CANCELLED. */
    bool (*output)(void *context, const void *bytes, size_t length);
    void *context;
    struct sandlot_cancellation *cancellation;
};

struct sandlot_result {
    size_t size;
    bool has_exit_code;
    int exit_code; /* 0 to 255, 128 + n for signal n, 124 after a timeout */
    bool timed_out;
    bool truncated;        /* the middle of the output was left out, around a line that says so */
    char *output;          /* standard output and error, in order, byte for byte, and a NUL after the end */
    size_t output_length;  /* without that NUL */
    uint64_t output_total; /* bytes that the command printed */
};

/* Runs one command and waits for it. 0 if it ran, whatever its exit code; the result is then the caller's, to
 * be freed with sandlot_result_clear. -1: it could not be run, or was cancelled; the result is untouched. */
SANDLOT_API int sandlot_execute(struct sandlot_session *session, const struct sandlot_execution *execution,
                                struct sandlot_result *result, struct sandlot_error *error);

/* Frees the output and makes the result ready for the next call. NULL is fine. */
SANDLOT_API void sandlot_result_clear(struct sandlot_result *result);

/* ---- without a session ----------------------------------------------------------------------------------------------
 */

/* Where and with what: shared by the calls below. */
struct sandlot_target {
    size_t size;
    const char *provider;          /* NULL: "local" */
    const char *const *parameters; /* "KEY=VALUE", ended by NULL; or NULL */
    struct sandlot_cancellation *cancellation;
};

/* Ends sandbox ID. One that does not exist (any more) counts as deleted. */
SANDLOT_API int sandlot_delete(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                               struct sandlot_error *error);

struct sandlot_listed_sandbox {
    size_t size;
    const char *id;
    const char *provider;
    const char *state;
    int64_t created_at_ms; /* UTC, since 1970; 0: unknown */
    bool mine;             /* the ledger of this user on this machine knows it */
};

/* Calls EACH for every sandbox of the target's provider, all pages. Strings are valid during the call
 * only; EACH returns false to stop. */
SANDLOT_API int sandlot_list(struct sandlot *sandlot, const struct sandlot_target *target,
                             bool (*each)(void *context, const struct sandlot_listed_sandbox *sandbox), void *context,
                             struct sandlot_error *error);

/* Deletes what dead processes left behind. Calls EACH (may be NULL) per leftover with its id (NULL if it was
 * never known), its provider, and NULL or the reason why it is still there. 0 if nothing is left, else -1. */
SANDLOT_API int sandlot_collect_garbage(struct sandlot *sandlot,
                                        void (*each)(void *context, const char *provider, const char *id,
                                                     const struct sandlot_error *problem),
                                        void *context, struct sandlot_cancellation *cancellation,
                                        struct sandlot_error *error);

/* ---- jobs: the asynchronous forms
 * ------------------------------------------------------------------------------------- */

struct sandlot_job;

/*
 * The same calls, running on a thread of their own. What the options point to must stay valid until the
 * job is freed. Their `cancellation` is not used: sandlot_job_cancel takes its place. NULL: it could not be started.
 */
SANDLOT_API struct sandlot_job *sandlot_submit_session_open(struct sandlot *sandlot,
                                                            const struct sandlot_session_options *options,
                                                            struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_session_close(struct sandlot_session *session,
                                                             struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_execute(struct sandlot_session *session,
                                                       const struct sandlot_execution *execution,
                                                       struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_delete(struct sandlot *sandlot, const struct sandlot_target *target,
                                                      const char *id, struct sandlot_error *error);

/* A descriptor for poll(2) or epoll(7): readable once the job has ended, and from then on. It belongs to the job. */
SANDLOT_API int sandlot_job_descriptor(const struct sandlot_job *job);

/* Asks the job to end early; it ends with SANDLOT_CODE_CANCELLED unless it was done. Safe in a signal handler. */
SANDLOT_API void sandlot_job_cancel(struct sandlot_job *job);

enum sandlot_job_state {
    SANDLOT_JOB_FAILED = -1, /* ended; the error says why */
    SANDLOT_JOB_DONE = 0,
    SANDLOT_JOB_RUNNING = 1 /* the time was up first */
};

/* Waits at most TIMEOUT_MS (-1: as long as it takes, 0: just looks). ERROR is filled when the job failed. */
SANDLOT_API enum sandlot_job_state sandlot_job_wait(struct sandlot_job *job, int timeout_ms,
                                                    struct sandlot_error *error);

/* The fruit of a job that is done, handed over to the caller, once: the session of sandlot_submit_session_open;
 * the result of sandlot_submit_execute, to be cleared by the caller (result->size must be set). NULL or -1 if there is
 * none. */
SANDLOT_API struct sandlot_session *sandlot_job_session(struct sandlot_job *job);
SANDLOT_API int sandlot_job_result(struct sandlot_job *job, struct sandlot_result *result);

/* Cancels the job if it still runs, waits for its end, closes a session that nobody took, frees it. NULL is fine. */
SANDLOT_API void sandlot_job_free(struct sandlot_job *job);

#ifdef __cplusplus
}
#endif

#endif
