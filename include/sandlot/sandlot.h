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
 * its calls overlap unless the provider serialises them. Closing either must be the last call on it. A child that is
 * forked off, at whatever moment, may open a `struct sandlot` of its own; what its parent has opened is the parent's alone.
 *
 * BLOCKING AND ASYNCHRONOUS  Opening, closing, deleting and all that is done in a session have a `submit` form
 * that returns a job at once: a pollable descriptor, wait, cancel. Blocking calls take a cancellation object instead.
 * A running command costs one thread here, which is that of the job (a few wait for the next job, until sandlot_close)
 * or the caller's, and descriptors: two for the job, two or three for a command of `local`, five for one of a provider
 * in a process of its own, which are kept for the next. A job is refused with SANDLOT_CODE_QUOTA where the limit of
 * open files (ulimit -n) would have no room for all that those that run and this one may open: 8 for a command, 10 for
 * a call of files, 16 for one that opens a session, 32 for what compares or brings home a folder (one more for each
 * level below 16). So one that was accepted does not fail for want of them, as long as your program itself and the
 * blocking calls open no more meanwhile than an eighth of the limit, 64 at most. For N commands at a time let the limit
 * be 100 + 8 * N.
 *
 * PROCESSES A provider from a plugin or the config runs in a process of its own, whose parent is yours. Landlock keeps
 * it away from your process; where the kernel has none (`sandlot doctor` tells), its user namespace or the capabilities
 * that it lacks do. The library leaves your process's own settings alone. A program that holds secrets can add a wall
 * by prctl(PR_SET_DUMPABLE, 0), as the command does while such a process lives, at a price that is the program's to
 * pay: no core dumps, no debugger, and most of its /proc/self belongs to root.
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

#define SANDLOT_VERSION "0.2.0"

/* The version of the library that is loaded, such as "0.2.0". */
SANDLOT_API const char *sandlot_version(void);

/* ---- errors ------------------------------------------------------------------------------------------------------ */

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
    SANDLOT_CODE_INTERNAL_ERROR,
    SANDLOT_CODE_NOT_A_FILE,           /* a directory, pipe or device where a regular file is wanted */
    SANDLOT_CODE_NOT_A_DIRECTORY,      /* ls and glob of a file */
    SANDLOT_CODE_PATH_NOT_FOUND,       /* ls, glob and grep of nothing */
    SANDLOT_CODE_NOT_A_TEXT_FILE,      /* edit of a file that is not UTF-8 */
    SANDLOT_CODE_STRING_NOT_FOUND,     /* edit */
    SANDLOT_CODE_MULTIPLE_OCCURRENCES, /* edit without replace_all */
    SANDLOT_CODE_EMPTY_OLD_STRING,     /* edit */
    SANDLOT_CODE_OFFSET_OUT_OF_RANGE,  /* read beyond the end */
    SANDLOT_CODE_TOO_LARGE,            /* read of a large binary file; download beyond max_bytes */
    SANDLOT_CODE_INVALID_PATTERN,      /* glob and grep */
    SANDLOT_CODE_PATTERN_TOO_BROAD,    /* glob with more than 1000 alternatives */
    SANDLOT_CODE_MISSING_TOOL,         /* the sandbox lacks a program that the operation needs; the message names it */
    SANDLOT_CODE_TRUNCATED_TRANSPORT,  /* what came from the sandbox was damaged or incomplete on its way */
    SANDLOT_CODE_PROCESS_NOT_FOUND,    /* no background process has that id; the message names those there are */
    SANDLOT_CODE_PROCESS_ENDED,        /* signal and input of one that has ended */
    SANDLOT_CODE_INPUT_CLOSED,         /* it was started without standard input, or that has been closed */
    SANDLOT_CODE_PORT_CLOSED,          /* nothing listens there */
    SANDLOT_CODE_CONFLICT              /* the name is taken */
};

struct sandlot_error {
    enum sandlot_code code;
    char *message; /* one sentence for a person: what failed, why, what to do; no secret */
};

/* "unknown_provider" for SANDLOT_CODE_UNKNOWN_PROVIDER, and so on. Never NULL. */
SANDLOT_API const char *sandlot_code_name(enum sandlot_code code);

/* Frees the message and makes the error ready for the next call. NULL is fine. */
SANDLOT_API void sandlot_error_clear(struct sandlot_error *error);

/* ---- the runtime ------------------------------------------------------------------------------------------------- */

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

/* ---- cancelling -------------------------------------------------------------------------------------------------- */

struct sandlot_cancellation;

/* NULL only if the process is out of descriptors or memory. */
SANDLOT_API struct sandlot_cancellation *sandlot_cancellation_new(void);

/* Ends every call that was given this object with SANDLOT_CODE_CANCELLED, now and from now on. May be called in a
 * signal handler (signal-safety(7)) and on any thread. */
SANDLOT_API void sandlot_cancel(struct sandlot_cancellation *cancellation);

/* Frees it; no call may use it any more. NULL is fine. */
SANDLOT_API void sandlot_cancellation_free(struct sandlot_cancellation *cancellation);

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

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
    /* What a sandbox that is created may reach: "off", "allow" or "open"; and with "allow", or NULL in the place of it,
     * the list: "example.com", "*.example.com", "host:5432", "10.0.0.0/8", "@pypi", ended by NULL. Both NULL: what the
     * configuration says, else what the provider always gives. A provider that cannot hold it is
     * SANDLOT_CODE_NOT_SUPPORTED, before anything is made; with sandbox_id or a living scope SANDLOT_CODE_USAGE. */
    const char *network;
    const char *const *allow;
    /* What people call a sandbox that is created: 1 to 63 bytes of a-z, 0-9, "." and "-", the first a letter. The command takes it
     * wherever it takes an id. SANDLOT_CODE_CONFLICT: a living one of this user has it. NULL: it has none. */
    const char *name;
    /* Storage that a sandbox that is created gets besides that of the configuration, and which outlives it:
     * "NAME:/absolute/path", or "NAME:/absolute/path:ro" to read only; ended by NULL, or NULL. A provider without volumes
     * is SANDLOT_CODE_NOT_SUPPORTED, before anything is made; one that another sandbox writes to and that has one writer
     * at a time SANDLOT_CODE_QUOTA; with sandbox_id or a living scope SANDLOT_CODE_USAGE. */
    const char *const *volumes;
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
 * be deleted: it stays in the ledger. NULL is fine. Not cancellable; bounded by a minute. Its jobs may still run: those
 * in a sandbox that was deleted fail. No other call of it may. */
SANDLOT_API int sandlot_session_close(struct sandlot_session *session, struct sandlot_error *error);

/* ---- execute ----------------------------------------------------------------------------------------------------- */

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

/* ---- background processes ------------------------------------------------------------------------------------------
 *
 * Commands that outlive the program that starts them. What they print is kept in the sandbox and addressed by bytes
 * from the beginning, whoever asks and however often; the same on every provider that runs commands. Ids are short
 * ("p1", "p2"), and none is used again in a sandbox. The newest 64 that have ended are remembered, each for a day.
 * Ids and strings of requests stay the caller's. Any thread; calls overlap.
 */

#define SANDLOT_PROCESS_ID_SIZE 16
#define SANDLOT_DEFAULT_LOG_BYTES (UINT64_C(64) << 20)

enum sandlot_process_state {
    SANDLOT_PROCESS_RUNNING,
    SANDLOT_PROCESS_EXITED,
    SANDLOT_PROCESS_LOST /* nobody saw its end: the sandbox was restarted, or all of its processes were killed */
};

struct sandlot_start {
    size_t size;
    const char *command;            /* one shell command line, not empty */
    const char *working_dir;        /* NULL: the sandbox's; missing: SANDLOT_CODE_INVALID_PATH, nothing runs */
    const char *const *environment; /* "NAME=value", ended by NULL; or NULL */
    int64_t timeout_ms;             /* ends it and all that it started; 0: no limit */
    uint64_t log_bytes;             /* newest bytes of output kept in the sandbox, 1 MiB to 1 GiB; 0: 64 MiB */
    bool has_input;                 /* sandlot_write_process may feed it; else its input is empty */
    bool separate_errors;           /* standard error is a log of its own; else both are one, in order */
    struct sandlot_cancellation *cancellation;
};

/*
 * Starts a process that outlives this program, however it ends, and dies with the sandbox. Returns once it runs, with
 * its id. When cancelled, or failed: it was ended again, or the message says that it may run.
 * SANDLOT_CODE_NOT_SUPPORTED: the provider only serves files. SANDLOT_CODE_QUOTA: 64 run already, or the log may
 * take more than half of what the sandbox's disk has left. 0 or -1.
 */
SANDLOT_API int sandlot_start_process(struct sandlot_session *session, const struct sandlot_start *request,
                                      char id[SANDLOT_PROCESS_ID_SIZE], struct sandlot_error *error);

/* As it was when the sandbox looked. Texts are valid during the call of EACH, or until sandlot_process_clear. */
struct sandlot_process {
    size_t size;
    char id[SANDLOT_PROCESS_ID_SIZE];
    enum sandlot_process_state state;
    bool has_exit_code;
    bool timed_out;
    bool input_open;
    bool separate_errors;
    int exit_code;         /* 0 to 255, 128 + n for signal n, 124 after its time limit */
    int64_t started_at_ms; /* UTC, of the sandbox's clock, in whole seconds */
    int64_t ended_at_ms;   /* 0: not yet, or not seen */
    uint64_t output_first; /* kept: the bytes [first, total) */
    uint64_t output_total;
    uint64_t errors_first; /* with separate_errors */
    uint64_t errors_total;
    char *command; /* UTF-8 as far as it was; of more than 4 KiB the beginning, and then "..." */
};
SANDLOT_API void sandlot_process_clear(struct sandlot_process *process);

/* Calls EACH for every process, in the order of their numbers, until it returns false. ended ones too. 0 or -1. */
SANDLOT_API int sandlot_list_processes(struct sandlot_session *session, struct sandlot_cancellation *cancellation,
                                       bool (*each)(void *context, const struct sandlot_process *process),
                                       void *context, struct sandlot_error *error);

struct sandlot_follow {
    size_t size;
    const char *id;
    int64_t from;    /* byte to begin with; below 0: so many before the present end */
    uint64_t most;   /* bytes handed out at most; 0: all */
    int64_t wait_ms; /* 0: what is there; else until the end of the process, at most so long; -1: no limit */
    bool errors;     /* the log of standard error */
    bool first_news; /* with wait_ms: return with the first bytes or the end, whichever comes first */
    bool (*output)(void *context, uint64_t offset, const void *bytes,
                   size_t length); /* NULL: only waits; false: stop */
    void *context;
    struct sandlot_cancellation *cancellation;
};

/*
 * Log, follow and wait in one. OFFSET tells what was skipped. *NEXT (may be NULL): where to go on. PROCESS (may be
 * NULL; size set) gets the state after the last byte that was handed out, to be cleared: when it says EXITED and *next
 * equals output_total, that was all, but for what a child that lives on may still print. Cancelling never ends the
 * process. 0 or -1.
 */
SANDLOT_API int sandlot_follow_process(struct sandlot_session *session, const struct sandlot_follow *request,
                                       uint64_t *next, struct sandlot_process *process, struct sandlot_error *error);

struct sandlot_signal {
    size_t size;
    const char *id;
    const char *name; /* "TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "STOP", "CONT": to its group; "KILL": to all that
                         it started; NULL: TERM, then KILL after grace_ms */
    int64_t grace_ms; /* 0: 5000 */
    struct sandlot_cancellation *cancellation;
};

/* SANDLOT_CODE_PROCESS_ENDED: there was nothing left to end. 0 or -1. */
SANDLOT_API int sandlot_signal_process(struct sandlot_session *session, const struct sandlot_signal *request,
                                       struct sandlot_error *error);

/* Writes to its standard input, then closes that if CLOSE. Waits ten seconds for a program that does not read; *TAKEN
 * (may be NULL) is what it has got. 0 if all. */
SANDLOT_API int sandlot_write_process(struct sandlot_session *session, const char *id, const void *bytes, size_t length,
                                      bool close, uint64_t *taken, struct sandlot_cancellation *cancellation,
                                      struct sandlot_error *error);

/* ---- files --------------------------------------------------------------------------------------------------------
 *
 * The same on every provider, whether its files are reached directly or through commands in the sandbox (for these it
 * needs a POSIX shell and the usual small tools, those of BusyBox suffice, and one command per call).
 *
 * PATHS     are absolute, or relative to the sandbox's working directory. They are bytes that end with NUL. A ".."
 * component, a leading "~" and an empty path are SANDLOT_CODE_INVALID_PATH. upload and download take absolute
 * paths only. Links are followed by read, write and edit; remove takes away the link itself.
 *
 * TIME      Every call ends within a minute (transfers: as long as bytes move), or when it is cancelled.
 *
 * SAFETY    write and edit replace a file as a whole or not at all; a reader never sees half of it. Two calls of one
 * session that change the same file come one after the other.
 */

#define SANDLOT_DEFAULT_LINES 2000
#define SANDLOT_PAGE_BYTES 512000 /* the most content of one page, and of one binary file */

struct sandlot_read {
    size_t size;
    const char *path;
    int64_t offset; /* lines to skip; below 0: none */
    bool has_limit;
    int64_t limit; /* with has_limit: lines at most, below 1: none; else SANDLOT_DEFAULT_LINES */
    struct sandlot_cancellation *cancellation;
};

/*
 * A page of a text file, or a whole binary file. Lines end at "\n", "\r\n" or a lone "\r"; content is the page's
 * lines joined by "\n", without a final one.
 */
struct sandlot_page {
    size_t size;
    char *content; /* UTF-8 unless binary; a NUL after the end */
    size_t content_length;
    bool binary;             /* by suffix or by content: all bytes of the file, whatever the offset and limit */
    bool empty;              /* reading the file yields nothing */
    bool no_lines_requested; /* the limit was below 1 */
    bool truncated;          /* SANDLOT_PAGE_BYTES ended the page; content ends with a note that says so */
    bool lossy;              /* bytes that are no UTF-8 became U+FFFD */
    int64_t start_line;      /* the first and last line, from 1; 0: none */
    int64_t end_line;
    int64_t total_lines;     /* -1: not counted */
    int64_t next_offset;     /* where to go on; -1: the end was reached */
    uint64_t line_truncated; /* bytes of line end_line that were left out because the line alone is too long; of a
                                line of more than a MiB only those of the first MiB are counted */
};

/* Reads a page. 0, and the page is the caller's, to be freed with sandlot_page_clear; or -1. */
SANDLOT_API int sandlot_read_file(struct sandlot_session *session, const struct sandlot_read *request,
                                  struct sandlot_page *page, struct sandlot_error *error);

/* Frees the content. NULL is fine. */
SANDLOT_API void sandlot_page_clear(struct sandlot_page *page);

struct sandlot_write {
    size_t size;
    const char *path;
    const void *content; /* exactly what the file holds afterwards */
    size_t content_length;
    struct sandlot_cancellation *cancellation;
};

/* Creates or replaces a file, with its parent directories. An existing file keeps its mode and its hard links. 0 or -1.
 */
SANDLOT_API int sandlot_write_file(struct sandlot_session *session, const struct sandlot_write *request,
                                   struct sandlot_error *error);

struct sandlot_edit {
    size_t size;
    const char *path;
    const char *old_string; /* literal UTF-8; "\n" matches "\r\n" too where the file has that */
    size_t old_length;
    const char *new_string;
    size_t new_length;
    bool replace_all; /* without it old_string must occur once */
    struct sandlot_cancellation *cancellation;
};

/* Replaces text. *OCCURRENCES (may be NULL) is the number replaced. 0 or -1. */
SANDLOT_API int sandlot_edit_file(struct sandlot_session *session, const struct sandlot_edit *request,
                                  uint64_t *occurrences, struct sandlot_error *error);

/* One entry of a directory or one match of a pattern. */
struct sandlot_file_entry {
    size_t size;
    const char *path; /* absolute where the working directory is; bytes, not always UTF-8 */
    bool is_dir;      /* true for a link to a directory too */
    bool is_symlink;
    uint64_t bytes;         /* size of the file; 0 for glob */
    int64_t modified_at_ms; /* UTC, since 1970; 0 for glob */
};

struct sandlot_ls {
    size_t size;
    const char *path; /* NULL: the working directory */
    struct sandlot_cancellation *cancellation;
};

/* Calls EACH for every entry, hidden ones too, in the order of their names' bytes. Strings are valid during the call
 * only; EACH returns false to stop. 0 or -1. */
SANDLOT_API int sandlot_list_directory(struct sandlot_session *session, const struct sandlot_ls *request,
                                       bool (*each)(void *context, const struct sandlot_file_entry *entry),
                                       void *context, struct sandlot_error *error);

struct sandlot_glob {
    size_t size;
    const char *pattern; /* "*.c" at any depth, "src/" + "**" + "/x?.{h,c}", "[!a]*"; sandlot(1) has the rules */
    const char *path;    /* where to search; NULL: the working directory */
    bool directories;    /* directories match too */
    struct sandlot_cancellation *cancellation;
};

/* Calls EACH for every file that matches, by the bytes of their paths, at most 10,000. *TRUNCATED (may be NULL): there
 * may be more, because of that number, of 5 s of searching, or of a directory that cannot be read. 0 or -1. */
SANDLOT_API int sandlot_find_files(struct sandlot_session *session, const struct sandlot_glob *request,
                                   bool (*each)(void *context, const struct sandlot_file_entry *entry), void *context,
                                   bool *truncated, struct sandlot_error *error);

struct sandlot_grep {
    size_t size;
    const char *pattern; /* literal text within one line, case-sensitive; "" matches every line */
    size_t pattern_length;
    const char *path;   /* a file, or a directory to be searched with all below it; NULL: the working directory */
    const char *glob;   /* only files that match, as for sandlot_find_files; NULL: all */
    uint64_t max_count; /* matches at most; 0: all */
    struct sandlot_cancellation *cancellation;
};

struct sandlot_match {
    size_t size;
    const char *path;
    int64_t line;     /* from 1; lines end at "\n" */
    const char *text; /* the line without its end, bytes that are no UTF-8 as U+FFFD */
    size_t text_length;
};

/* Calls EACH for every matching line, by path and line. Binary files (a NUL among the first 32 KiB), links and what
 * cannot be read are passed over. *TRUNCATED (may be NULL): max_count, 64 MiB of lines or 15 s of searching ended it.
 * 0 or -1. */
SANDLOT_API int sandlot_search_files(struct sandlot_session *session, const struct sandlot_grep *request,
                                     bool (*each)(void *context, const struct sandlot_match *match), void *context,
                                     bool *truncated, struct sandlot_error *error);

struct sandlot_remove {
    size_t size;
    const char *path;
    struct sandlot_cancellation *cancellation;
};

/* Removes a file, a link, or a directory with all that is in it; "/" and the working directory are refused. 0 or -1. */
SANDLOT_API int sandlot_remove_file(struct sandlot_session *session, const struct sandlot_remove *request,
                                    struct sandlot_error *error);

/* One file to move. All items of one array have the same size. */
struct sandlot_transfer_item {
    size_t size;
    const char *path;       /* in the sandbox, absolute */
    const char *local_path; /* on this machine, opened when its turn comes; NULL: use fd */
    int fd;                 /* upload: read to its end; download: written to; stays the caller's */
    uint32_t mode;          /* upload: permission bits of a new file; 0: 0666 less the sandbox's umask */
};

struct sandlot_transfer_request {
    size_t size;
    const struct sandlot_transfer_item *items;
    size_t count;
    bool recursive; /* a local_path (upload) or path (download) that is a directory is moved with all that is in it */
    /* The fate of each file, in the order of the items, once each (recursive: once for every file of a directory):
     * PROBLEM is NULL, or its code and sentence. Code names of single files are file_not_found, permission_denied,
     * is_directory, invalid_path, or one of the others where none of these fits. */
    void (*done)(void *context, size_t index, const char *path, const struct sandlot_error *problem, uint64_t bytes);
    /* How far all of it is; TOTAL 0: unknown. May be NULL. */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
    struct sandlot_cancellation *cancellation;
    /* download: all files together are at most so many bytes; one that would be more is SANDLOT_CODE_TOO_LARGE and is
     * not written, whatever size it was said to have, and the others go on. 0: no bound. upload: 0. */
    uint64_t max_bytes;
};

/*
 * Moves files in exact bytes and constant memory. Missing directories are made; an existing file keeps its mode; a file
 * appears under its name only when all of it is there. One file's failure does not stop the others. 0 if all
 * were moved; -1 with the first problem, or with what stopped them all.
 */
SANDLOT_API int sandlot_upload(struct sandlot_session *session, const struct sandlot_transfer_request *request,
                               struct sandlot_error *error);
SANDLOT_API int sandlot_download(struct sandlot_session *session, const struct sandlot_transfer_request *request,
                                 struct sandlot_error *error);

/* A file from memory. */
struct sandlot_upload_bytes {
    size_t size;
    const char *path;    /* in the sandbox, absolute */
    const void *content; /* exactly what the file holds afterwards */
    size_t content_length;
    uint32_t mode; /* as in struct sandlot_transfer_item */
    struct sandlot_cancellation *cancellation;
};

/* A file into memory. */
struct sandlot_download_bytes {
    size_t size;
    const char *path;   /* in the sandbox, absolute */
    uint64_t max_bytes; /* a larger file is SANDLOT_CODE_TOO_LARGE; 0: no bound */
    struct sandlot_cancellation *cancellation;
};

struct sandlot_bytes {
    size_t size;
    void *content; /* and a NUL after the end */
    size_t length; /* without that */
};

/* The same transfers of one file each. 0 or -1; the bytes are then the caller's, to be freed with sandlot_bytes_clear. */
SANDLOT_API int sandlot_upload_from_memory(struct sandlot_session *session, const struct sandlot_upload_bytes *request,
                                           struct sandlot_error *error);
SANDLOT_API int sandlot_download_to_memory(struct sandlot_session *session, const struct sandlot_download_bytes *request,
                                           struct sandlot_bytes *bytes, struct sandlot_error *error);

/* Frees the content. NULL is fine. */
SANDLOT_API void sandlot_bytes_clear(struct sandlot_bytes *bytes);

/* ---- terminal -----------------------------------------------------------------------------------------------------
 */

/* An interactive terminal in the sandbox, for providers with the capability "terminal". */
struct sandlot_terminal_request {
    size_t size;
    const char *command;            /* NULL: a shell */
    const char *working_dir;        /* NULL: the sandbox's */
    const char *const *environment; /* "NAME=value", ended by NULL; or NULL */
    const char *term;               /* NULL: "xterm" */
    int input_fd;                   /* what is typed, byte for byte; its end hangs up */
    int resized_fd;                 /* readable when the window has changed: it is read empty and window asked; -1:
                                       never */
    void (*window)(void *context, uint16_t *rows, uint16_t *columns); /* NULL, or 0 by 0: 24 by 80 */
    bool (*output)(void *context, const void *bytes, size_t length);  /* false: stop, as if cancelled */
    void *context;
    struct sandlot_cancellation *cancellation;
};

/* Returns when the command has ended; a job that it left in the background loses the terminal. *EXIT_CODE as in struct
 * sandlot_result, -1: unknown. 0 or -1. */
SANDLOT_API int sandlot_run_terminal(struct sandlot_session *session, const struct sandlot_terminal_request *request,
                                     int *exit_code, struct sandlot_error *error);

/* ---- tools: the same for agents -----------------------------------------------------------------------------------
 *
 * What `sandlot mcp` offers, for a program that talks to a model itself: names, arguments and answers as text.
 */

/* The tools as a JSON array of {"name","title","description","inputSchema","annotations"}, the same bytes every time.
 * EXECUTE: with the tool that runs commands. To be freed with free(3); NULL when out of memory. */
SANDLOT_API char *sandlot_tools(bool execute);

/* Can commands be run in this session's sandbox, or does its provider only serve files? */
SANDLOT_API bool sandlot_session_can_execute(const struct sandlot_session *session);

struct sandlot_tool_call {
    size_t size;
    const char *name;      /* "read_file" */
    const char *arguments; /* a JSON object; NULL: {} */
    size_t maximum_bytes;  /* of the answer's text; 0: 40,000 */
    /* What a command prints, as it comes; the answer has it too. May be NULL. */
    void (*output)(void *context, const void *bytes, size_t length);
    void *context;
    struct sandlot_cancellation *cancellation;
};

struct sandlot_tool_answer {
    size_t size;
    bool is_error; /* something that a model can mend; TEXT says what */
    char *content; /* a JSON array of {"type":"text","text":…} and {"type":"image","data":…,"mimeType":…} */
    char *meta;    /* a JSON object: "sandlot/exit_code", "sandlot/error", "sandlot/next_offset", … */
};

/*
 * Calls one tool. 0, and the answer is the caller's, to be freed with sandlot_tool_answer_clear; -1 only where there is
 * nothing that a model could do about it: no such tool (SANDLOT_CODE_USAGE), arguments that are no object (the same),
 * or SANDLOT_CODE_CANCELLED.
 */
SANDLOT_API int sandlot_call_tool(struct sandlot_session *session, const struct sandlot_tool_call *call,
                                  struct sandlot_tool_answer *answer, struct sandlot_error *error);

/* Frees it. NULL is fine. */
SANDLOT_API void sandlot_tool_answer_clear(struct sandlot_tool_answer *answer);

/* ---- results of work brought home -----------------------------------------------------------------------------------
 *
 * What has become of a folder of this machine in the sandbox's working directory: the folder that a sandbox of `local`
 * was made with (parameter workspace), or one that was imported. What a sandbox says of its files is a hint; their bytes
 * are compared here, and no program of the sandbox or of its repository is run here. Any thread; calls overlap.
 */

enum sandlot_change_kind {
    SANDLOT_CHANGE_ADDED,
    SANDLOT_CHANGE_MODIFIED,
    SANDLOT_CHANGE_REMOVED,
    SANDLOT_CHANGE_MODE, /* a file whose bytes are the same, and which may be executed, or no longer may */
    SANDLOT_CHANGE_TYPE  /* a file became a link, and the like */
};

/* One path that differs. Its texts are valid during the call of EACH only. */
struct sandlot_change {
    size_t size;
    const char *path; /* below the working directory, any bytes */
    const char *type; /* "file", "directory", "symlink", or "fifo", "socket", "device", which are never taken over; of a
                         removed path what it was */
    enum sandlot_change_kind kind;
    uint32_t old_mode, new_mode; /* 0644 or 0755: of permissions only the owner's execute bit counts; 0: no file */
    uint64_t old_bytes, new_bytes;
    const char *link_target; /* NULL: no link */
    const char *risk;        /* NULL, or why to look at it first: a phrase such as "git runs it at a commit" */
    bool binary;
    bool conflict; /* the folder of this machine has been changed there too */
};

struct sandlot_changes_request {
    size_t size;
    const char *const *paths; /* only these and what is below them, ended by NULL; NULL: all */
    const char *const *force; /* apply: paths to overwrite although there is a conflict, ended by NULL; or NULL */
    const char *folder;       /* of this machine, to compare with and to apply to; NULL: the base's own */
    bool allow_risky;         /* apply: what has a risk too. What lies in ".git", links that lead out of the folder, pipes,
                                 sockets and devices are left out even then */
    bool dry_run;             /* apply: nothing is written */
    struct sandlot_cancellation *cancellation;
};

enum sandlot_export_format {
    SANDLOT_EXPORT_PATCH, /* git's, for files up to 64 MiB */
    SANDLOT_EXPORT_TAR    /* first SANDLOT-CHANGES.json with the whole list, then what was added or changed */
};

/*
 * Uploads FOLDER into the working directory and remembers, on this machine, what it was. EXCLUDE: globs of what neither
 * goes into the sandbox nor comes out again, ended by NULL; or NULL. The sandbox must be one that this user's Sandlot has
 * made. 0 or -1; after a failure nothing is remembered, but files may have been uploaded.
 */
SANDLOT_API int sandlot_import(struct sandlot_session *session, const char *folder, const char *const *exclude,
                               struct sandlot_cancellation *cancellation, struct sandlot_error *error);

/* Calls EACH for every change until it returns false, risky ones first, then in the order of paths. REQUEST may be NULL. 0
 * or -1; SANDLOT_CODE_NOT_SUPPORTED: nothing tells what the files were before. */
SANDLOT_API int sandlot_list_changes(struct sandlot_session *session, const struct sandlot_changes_request *request,
                                     bool (*each)(void *context, const struct sandlot_change *change), void *context,
                                     struct sandlot_error *error);

/* Writes them to FD, which stays the caller's. What apply would leave out even with allow_risky is left out; a tar lists it
 * all the same. SANDLOT_CODE_TOO_LARGE: a file that no patch can hold, before anything is written. */
SANDLOT_API int sandlot_export_changes(struct sandlot_session *session, const struct sandlot_changes_request *request,
                                       enum sandlot_export_format format, int fd, struct sandlot_error *error);

/*
 * Brings the changes into the folder of this machine: each file as a whole or not at all, through no link. First everything
 * is fetched and checked; a conflict that is not forced is SANDLOT_CODE_CONFLICT, and nothing is written then. EACH (may
 * be NULL) hears of every path, PROBLEM why it was left out; its return value does not matter. 0 if nothing was left out;
 * else -1, SANDLOT_CODE_PERMISSION_DENIED where risks or links were the reason.
 */
SANDLOT_API int sandlot_apply_changes(struct sandlot_session *session, const struct sandlot_changes_request *request,
                                      bool (*each)(void *context, const struct sandlot_change *change,
                                                   const struct sandlot_error *problem),
                                      void *context, struct sandlot_error *error);

/* ---- the network of a living sandbox ------------------------------------------------------------------------------
 */

/* What a sandbox may reach. Strings and lists are valid during the call of TELL only; lists end with NULL. */
struct sandlot_network_state {
    size_t size;
    const char *mode;                      /* "off", "allow" or "open"; NULL: nothing was asked, and it has what the
                                              provider always gives */
    const char *const *allow;              /* the entries, sets by their names */
    const char *const *credential_hosts;   /* to which a secret is added outside the sandbox, */
    const char *const *credential_headers; /* and in which header: one for each host */
    const char *source;                    /* where that was asked for, for people; NULL: nowhere */
    const char *note;                      /* NULL, or what is the matter with it */
    bool broken;                           /* NOTE says that it has broken and does not come back; without this it says
                                              what the provider or the machine lacks, and all else works */
};

SANDLOT_API int sandlot_show_network(struct sandlot_session *session,
                                     void (*tell)(void *context, const struct sandlot_network_state *state),
                                     void *context, struct sandlot_cancellation *cancellation,
                                     struct sandlot_error *error);

/* A change: MODE "off" or "open"; or NULL, and entries that come to the list or leave it. */
struct sandlot_network_change {
    size_t size;
    const char *mode;
    const char *const *allow; /* ended by NULL; or NULL */
    const char *const *deny;  /* likewise. What only a wildcard, a network or a set allows cannot be denied alone. */
    struct sandlot_cancellation *cancellation;
};

/* Can that be changed, by a provider of this kind? */
SANDLOT_API bool sandlot_can_change_network(const struct sandlot_session *session);

/* Changes what the sandbox may reach. When it returns 0 that is in force, and connections that no longer fit are cut.
 * Credentials stay as they were made. SANDLOT_CODE_NOT_SUPPORTED: the provider cannot, or cannot hold what comes of it.
 */
SANDLOT_API int sandlot_change_network(struct sandlot_session *session, const struct sandlot_network_change *change,
                                       struct sandlot_error *error);

/* One decision about a connection or request of the sandbox. */
struct sandlot_network_event {
    size_t size;
    uint64_t number; /* from 1; those that are missing are no longer kept */
    int64_t at_ms;   /* UTC, since 1970 */
    bool allowed;
    uint16_t port; /* 0: a name was looked up, and nothing dialled */
    const char *host;
    const char *rule;   /* the entry that allows it; NULL: none */
    const char *reason; /* why it was denied, or failed; NULL: neither */
    uint64_t bytes_in;  /* towards the sandbox */
    uint64_t bytes_out;
    int64_t duration_ms;
};

/* Is there such a log? */
SANDLOT_API bool sandlot_has_network_log(const struct sandlot_session *session);

/* Calls EACH for every decision with a number above AFTER, oldest first, until it returns false. */
SANDLOT_API int sandlot_read_network_log(struct sandlot_session *session, uint64_t after,
                                         bool (*each)(void *context, const struct sandlot_network_event *event),
                                         void *context, struct sandlot_cancellation *cancellation,
                                         struct sandlot_error *error);

/* ---- ports of a living sandbox ------------------------------------------------------------------------------------
 */

struct sandlot_forward_request {
    size_t size;
    uint16_t port;       /* in the sandbox */
    uint16_t local_port; /* here; 0: a free one */
    const char *address; /* numeric, where to listen; NULL: 127.0.0.1, and ::1 where there is one. Whoever reaches it
                            reaches the sandbox */
    /* What became of a connection, on a thread of the forwarding: PROBLEM NULL: it has begun; else why it was closed, the
     * first of several alike with what does listen (SANDLOT_CODE_PORT_CLOSED). May be NULL. */
    void (*connection)(void *context, const struct sandlot_error *problem);
    void *context;
};

struct sandlot_forward;

/*
 * Listens on this machine until sandlot_forward_close, and carries each connection to a server in the sandbox as one of
 * its own, bytes as they are. At most 256 at a time, more wait in the listener's queue; SESSION must outlive it.
 * SANDLOT_CODE_NOT_SUPPORTED: the provider cannot; SANDLOT_CODE_CONFLICT: somebody listens there already. NULL on
 * failure.
 */
SANDLOT_API struct sandlot_forward *sandlot_forward_open(struct sandlot_session *session, const struct sandlot_forward_request *request, struct sandlot_error *error);

/* The port here. */
SANDLOT_API uint16_t sandlot_forward_port(const struct sandlot_forward *forward);

/* A descriptor for poll(2): readable once the sandbox is known to be gone. It belongs to the forwarding. */
SANDLOT_API int sandlot_forward_descriptor(const struct sandlot_forward *forward);

/* Ends all connections, waits for them, frees it. NULL is fine. */
SANDLOT_API void sandlot_forward_close(struct sandlot_forward *forward);

/* Where the vendor's own network reaches a port of the sandbox. */
struct sandlot_port_url {
    size_t size;
    char *url;             /* "https://host", without a path */
    char *header;          /* "Name: value" that every request needs, a secret; NULL: none */
    int64_t expires_at_ms; /* UTC, since 1970; 0: with the sandbox */
    bool is_public;        /* whoever knows the URL gets in */
};

/* Asks for it. TTL_MS: wanted life of a token in it, 0: the vendor's default. 0, and URL (size set) is the caller's to
 * clear; -1: SANDLOT_CODE_NOT_SUPPORTED where the provider has none. */
SANDLOT_API int sandlot_port_url(struct sandlot_session *session, uint16_t port, int64_t ttl_ms, struct sandlot_port_url *url, struct sandlot_error *error);

/* Frees its texts. NULL is fine. */
SANDLOT_API void sandlot_port_url_clear(struct sandlot_port_url *url);

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

/* A provider that `provider` can name. */
struct sandlot_listed_provider {
    size_t size;
    const char *name;
    const char *source;       /* "config", "plugin" or "builtin" */
    const char *description;  /* NULL: it says nothing of itself */
    const char *working_dir;  /* in which commands start, unless the sandbox says otherwise */
    const char *package;      /* that it comes in; NULL: none is known */
    const char *capabilities; /* words with blanks between, as `sandlot providers NAME` shows them; "": none */
    const char *problem;      /* why it cannot be used, and what to do; NULL: it is ready as far as is known without a
                                 request */
    bool supports_sandbox_id;
    bool supports_snapshot_name;
};

/* Calls EACH for every provider there is, by name, until it returns false; runs no code of theirs but that of
 * built-ins which alone know where their credentials are. Strings are valid during the call only. 0 or -1. */
SANDLOT_API int sandlot_list_providers(struct sandlot *sandlot,
                                       bool (*each)(void *context, const struct sandlot_listed_provider *provider),
                                       void *context, struct sandlot_error *error);

/* What `default` in [sandboxes] of the configuration names; NULL: nothing. Calls without a provider do not look at it: it is for
 * those whose user left the choice to the configuration. Valid until sandlot_close. */
SANDLOT_API const char *sandlot_default_provider(const struct sandlot *sandlot);

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

/* ---- pausing, snapshots, forks --------------------------------------------------------------------------------------
 *
 * TARGET as for sandlot_delete. Each ends within ten minutes, or when it is cancelled, and blocks until then; any thread.
 * 0 or -1; SANDLOT_CODE_NOT_SUPPORTED, before anything is sent, where the provider has no such function: the message
 * names those here that have. Texts that are handed out are the caller's, to be freed with free(3).
 */

/* Stops sandbox ID so that sandlot_resume, and whatever else uses it, goes on with its files, or more. One that is paused
 * already, or runs already, is fine. */
SANDLOT_API int sandlot_pause(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                              struct sandlot_error *error);
SANDLOT_API int sandlot_resume(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                               struct sandlot_error *error);

/*
 * Keeps the state of sandbox ID under NAME; NULL: "sandlot-" and eight digits. *USE: what sandlot_list_snapshots tells
 * as its id, and what sandlot_session_options.snapshot_name and sandlot_delete_snapshot take. A NAME that is taken is
 * SANDLOT_CODE_CONFLICT, unless REPLACE: then the snapshot that has it goes first.
 */
SANDLOT_API int sandlot_snapshot(struct sandlot *sandlot, const struct sandlot_target *target, const char *id, const char *name, bool replace,
                                 char **use, struct sandlot_error *error);

/* The same of a sandbox that began as a folder of this machine, to which its snapshots refer else (`local`, parameter
 * workspace): what is in that folder now is kept too, so that it may change, or go. Of any other sandbox of such a
 * provider: as sandlot_snapshot. Since ABI 1.4 of the provider. */
SANDLOT_API int sandlot_snapshot_with_base(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                                           const char *name, bool replace, char **use, struct sandlot_error *error);

/* Calls EACH for every snapshot of the target's provider, all pages, as sandlot_list does; `mine` means nothing. */
SANDLOT_API int sandlot_list_snapshots(struct sandlot *sandlot, const struct sandlot_target *target,
                                       bool (*each)(void *context, const struct sandlot_listed_sandbox *snapshot),
                                       void *context, struct sandlot_error *error);

/* One that does not exist (any more) counts as deleted. */
SANDLOT_API int sandlot_delete_snapshot(struct sandlot *sandlot, const struct sandlot_target *target, const char *name,
                                        struct sandlot_error *error);

/* Makes a second sandbox with the files of ID; what else it has is the provider's word. It stays, as one that was opened
 * with `keep`, and may reach what the ledger knows that ID may. When the answer is lost it is looked for by its label,
 * never asked for again. */
SANDLOT_API int sandlot_fork(struct sandlot *sandlot, const struct sandlot_target *target, const char *id, char **new_id,
                             struct sandlot_error *error);

/* Deletes what dead processes left behind. Calls EACH (may be NULL) per leftover with its id (NULL if it was
 * never known), its provider, and NULL or the reason why it is still there. 0 if nothing is left, else -1. What only a
 * vendor who cannot list could tell of (SANDLOT_CODE_NOT_SUPPORTED, with the label to look for) does not count as left;
 * its record expires with the sandbox. */
SANDLOT_API int sandlot_collect_garbage(struct sandlot *sandlot,
                                        void (*each)(void *context, const char *provider, const char *id,
                                                     const struct sandlot_error *problem),
                                        void *context, struct sandlot_cancellation *cancellation,
                                        struct sandlot_error *error);

/* ---- jobs: the asynchronous forms -------------------------------------------------------------------------------- */

struct sandlot_job;

/*
 * The same calls, each running on a thread that no other has meanwhile. What the options point to must stay valid until the
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

/*
 * The operations on files, processes, terminals and tools likewise. What a blocking call fills in (PAGE, BYTES,
 * OCCURRENCES, TRUNCATED, EXIT_CODE, ID, NEXT, PROCESS, ANSWER) must stay valid until the job is freed; it is filled in
 * when the job is done, and the caller's to clear as after that call. EACH and all other callbacks are called on the
 * job's thread.
 */
SANDLOT_API struct sandlot_job *sandlot_submit_read_file(struct sandlot_session *session,
                                                         const struct sandlot_read *request, struct sandlot_page *page,
                                                         struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_write_file(struct sandlot_session *session,
                                                          const struct sandlot_write *request,
                                                          struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_edit_file(struct sandlot_session *session,
                                                         const struct sandlot_edit *request, uint64_t *occurrences,
                                                         struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_remove_file(struct sandlot_session *session,
                                                           const struct sandlot_remove *request,
                                                           struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_list_directory(
    struct sandlot_session *session, const struct sandlot_ls *request,
    bool (*each)(void *context, const struct sandlot_file_entry *entry), void *context,
    struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_find_files(
    struct sandlot_session *session, const struct sandlot_glob *request,
    bool (*each)(void *context, const struct sandlot_file_entry *entry), void *context,
    bool *truncated, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_search_files(
    struct sandlot_session *session, const struct sandlot_grep *request,
    bool (*each)(void *context, const struct sandlot_match *match), void *context,
    bool *truncated, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_upload(struct sandlot_session *session,
                                                      const struct sandlot_transfer_request *request,
                                                      struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_download(struct sandlot_session *session,
                                                        const struct sandlot_transfer_request *request,
                                                        struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_upload_from_memory(struct sandlot_session *session,
                                                                  const struct sandlot_upload_bytes *request,
                                                                  struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_download_to_memory(struct sandlot_session *session,
                                                                  const struct sandlot_download_bytes *request,
                                                                  struct sandlot_bytes *bytes,
                                                                  struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_run_terminal(struct sandlot_session *session,
                                                            const struct sandlot_terminal_request *request,
                                                            int *exit_code, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_start_process(struct sandlot_session *session,
                                                             const struct sandlot_start *request,
                                                             char id[SANDLOT_PROCESS_ID_SIZE],
                                                             struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_follow_process(struct sandlot_session *session,
                                                              const struct sandlot_follow *request, uint64_t *next,
                                                              struct sandlot_process *process,
                                                              struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_signal_process(struct sandlot_session *session,
                                                              const struct sandlot_signal *request,
                                                              struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_tool(struct sandlot_session *session,
                                                    const struct sandlot_tool_call *call,
                                                    struct sandlot_tool_answer *answer, struct sandlot_error *error);

/* A descriptor for poll(2) or epoll(7): readable once the job has ended, and from then on. It belongs to the job, and is
 * to be watched, never read. sandlot_job_free closes it; epoll_wait(2) called after that does not tell of it, though a
 * program that another thread starts at that moment may hold a copy. Events that epoll_wait has returned before are the
 * caller's to leave alone. */
SANDLOT_API int sandlot_job_descriptor(const struct sandlot_job *job);

/*
 * For event loops that cannot watch a descriptor: calls ENDED once, when the job has ended and its descriptor is
 * readable. That is on the job's thread; or on the calling one, before this returns, if the job has ended already. ENDED
 * may look at the job (sandlot_job_wait with 0, sandlot_job_session, sandlot_job_result), and must leave freeing it to
 * another thread or a later moment: sandlot_job_free waits until ENDED has returned, so that CONTEXT is used no more
 * after it. 0, or -1 with SANDLOT_CODE_USAGE where the job has somebody to tell already.
 */
SANDLOT_API int sandlot_job_notify(struct sandlot_job *job, void (*ended)(void *context), void *context,
                                   struct sandlot_error *error);

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

/*
 * The calls that remain, likewise; with these all texts, bytes and lists that are given must stay valid until the job is freed.
 * What USE, NEW_ID and URL get is the caller's as after the blocking call, once the job is done. Where that call takes no
 * cancellation (sandlot_port_url), sandlot_job_cancel has no effect on it.
 */
SANDLOT_API struct sandlot_job *sandlot_submit_list_processes(
    struct sandlot_session *session, bool (*each)(void *context, const struct sandlot_process *process), void *context,
    struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_write_process(struct sandlot_session *session, const char *id,
                                                             const void *bytes, size_t length, bool close,
                                                             uint64_t *taken, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_import(struct sandlot_session *session, const char *folder,
                                                      const char *const *exclude, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_list_changes(
    struct sandlot_session *session, const struct sandlot_changes_request *request,
    bool (*each)(void *context, const struct sandlot_change *change), void *context, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_export_changes(struct sandlot_session *session,
                                                              const struct sandlot_changes_request *request,
                                                              enum sandlot_export_format format, int fd,
                                                              struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_apply_changes(
    struct sandlot_session *session, const struct sandlot_changes_request *request,
    bool (*each)(void *context, const struct sandlot_change *change, const struct sandlot_error *problem),
    void *context, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_show_network(
    struct sandlot_session *session, void (*tell)(void *context, const struct sandlot_network_state *state),
    void *context, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_change_network(struct sandlot_session *session,
                                                              const struct sandlot_network_change *change,
                                                              struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_read_network_log(
    struct sandlot_session *session, uint64_t after,
    bool (*each)(void *context, const struct sandlot_network_event *event), void *context,
    struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_port_url(struct sandlot_session *session, uint16_t port, int64_t ttl_ms,
                                                        struct sandlot_port_url *url, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_list(
    struct sandlot *sandlot, const struct sandlot_target *target,
    bool (*each)(void *context, const struct sandlot_listed_sandbox *sandbox), void *context,
    struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_pause(struct sandlot *sandlot, const struct sandlot_target *target,
                                                     const char *id, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_resume(struct sandlot *sandlot, const struct sandlot_target *target,
                                                      const char *id, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_snapshot(struct sandlot *sandlot, const struct sandlot_target *target,
                                                        const char *id, const char *name, bool replace, char **use,
                                                        struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_snapshot_with_base(struct sandlot *sandlot,
                                                                  const struct sandlot_target *target, const char *id,
                                                                  const char *name, bool replace, char **use,
                                                                  struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_list_snapshots(
    struct sandlot *sandlot, const struct sandlot_target *target,
    bool (*each)(void *context, const struct sandlot_listed_sandbox *snapshot), void *context,
    struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_delete_snapshot(struct sandlot *sandlot,
                                                               const struct sandlot_target *target, const char *name,
                                                               struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_fork(struct sandlot *sandlot, const struct sandlot_target *target,
                                                    const char *id, char **new_id, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_collect_garbage(
    struct sandlot *sandlot,
    void (*each)(void *context, const char *provider, const char *id, const struct sandlot_error *problem),
    void *context, struct sandlot_error *error);

/* ---- volumes --------------------------------------------------------------------------------------------------------
 *
 * Storage with a name that outlives sandboxes (sandlot_session_options.volumes). TARGET, threads, time and
 * SANDLOT_CODE_NOT_SUPPORTED as for snapshots.
 */

/* One volume. Strings are valid during the call of EACH only. */
struct sandlot_volume_state {
    size_t size;
    const char *name;
    bool has_bytes; /* `bytes` could be counted */
    uint64_t bytes;
    uint64_t limit_bytes; /* 0: unknown, or none */
    uint32_t writers;     /* living sandboxes that may write to it */
    uint32_t readers;     /* and those that may only read it */
    int64_t used_at_ms;   /* when a sandbox last had it: UTC, since 1970; 0: unknown */
};

/* Calls EACH for every volume of the target's provider; false: enough. 0 or -1. */
SANDLOT_API int sandlot_list_volumes(struct sandlot *sandlot, const struct sandlot_target *target,
                                     bool (*each)(void *context, const struct sandlot_volume_state *volume),
                                     void *context, struct sandlot_error *error);

/* Removes a volume with all that it holds. One that does not exist (any more) counts as deleted; one that a living
 * sandbox has is SANDLOT_CODE_QUOTA, and the message names the sandbox. 0 or -1. */
SANDLOT_API int sandlot_delete_volume(struct sandlot *sandlot, const struct sandlot_target *target, const char *name,
                                      struct sandlot_error *error);

/* Both as jobs; what is given must stay valid until the job is freed. */
SANDLOT_API struct sandlot_job *sandlot_submit_list_volumes(
    struct sandlot *sandlot, const struct sandlot_target *target,
    bool (*each)(void *context, const struct sandlot_volume_state *volume), void *context, struct sandlot_error *error);
SANDLOT_API struct sandlot_job *sandlot_submit_delete_volume(struct sandlot *sandlot,
                                                             const struct sandlot_target *target, const char *name,
                                                             struct sandlot_error *error);

#ifdef __cplusplus
}
#endif

#endif
