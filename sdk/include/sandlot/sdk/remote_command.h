/*
 * sandlot/sdk/remote_command.h - runs a command in a sandbox over a channel that damages, reorders, delays or cuts what
 * it carries.
 *
 * Many services can only do this: run a shell command and bring back text. Standard output and error come apart, bytes
 * that are no UTF-8 are replaced, connections are cut after minutes, time limits leave children alive, and whether a
 * command whose answer was lost has run nobody knows. This turns such a channel into what `execute` promises: bytes in
 * the order written, a true exit code, a time limit that ends everything, and a command that runs once.
 *
 * HOW       A short script for POSIX sh (BusyBox suffices) is sent instead of the command. It starts the command as a
 * job of its own session under an id, unless that id was started already, keeps the output in a bounded spool in the
 * sandbox, and writes what it has, as framed base64, to its standard output until the command has ended or its time is
 * up. When the answer ends early, for whatever reason, the same job is asked again from the byte that is missing. So
 * sending twice never runs twice. A command that prints faster than it is read is slowed down, as by any pipe.
 *
 * IN THE SANDBOX  A job has a private folder .sandlot-ID below TMPDIR, /tmp, /var/tmp, /dev/shm or HOME, with at most
 * some 20 MiB of output that has not been fetched. It disappears 45 to 90 s after the end was told (within ten minutes
 * if nobody asks); until then the same question has the same answer. The command has one more variable, SANDLOT_JOB, by
 * which all that it started is found when it has to be ended. A job that nobody asks for lives on until its time limit,
 * or until it has waited for ten minutes to be read. What goes through `put` lies in /tmp under a name that nobody can
 * guess, until the command begins.
 *
 * A provider describes its channel once and calls remote_command_run from its execute. Threads: any number of commands
 * at a time.
 */
#ifndef SANDLOT_SDK_REMOTE_COMMAND_H
#define SANDLOT_SDK_REMOTE_COMMAND_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Longest script that `run` is given, in bytes; longer commands go through `put`. */
#define REMOTE_SCRIPT_MAXIMUM 98304

/* One script to be run by sh in the sandbox. */
struct remote_script {
    const char *text;   /* ASCII, no NUL; runs under sh, bash and BusyBox; reads nothing from standard input */
    const char *id;     /* unique to this sending, 36 bytes in the form of a UUID: for services that want one */
    int64_t longest_ms; /* the script ends by itself after at most this time (and a second) */
    bool urgent;        /* ends a command after a cancellation, or one whose output nobody wants; its answer has no
                           output. 900 ms for all of it */
};

struct remote_channel {
    void *context;

    /*
     * Runs SCRIPT once and passes its standard output on, in any pieces, as it comes where the service can; other text
     * in between does no harm. The exit code of the script means nothing. SANDLOT_OK when the script has ended or the
     * answer ended early (that is noticed from the output). SANDLOT_UNAVAILABLE: it may or may not have run, and is
     * asked again; so is SANDLOT_TIMEOUT as long as the deadline of CALL has not passed. Any other status ends the
     * command with that status.
     *
     * CALL is not the one of remote_command_run but stands in for it: what it is told by host->fail is told to the host
     * only if the command fails by it, and the call of an urgent script is not cancelled and has a deadline of its own.
     * So http_send and the like serve as ever. A sentence may also be written to REASON (CAPACITY bytes), and goes
     * before.
     */
    enum sandlot_status (*run)(struct sandlot_call *call, void *context, const struct remote_script *script,
                               const struct sandlot_sink *output, char *reason, size_t capacity);

    /* Writes LENGTH bytes (UINT64_MAX: unknown) of SOURCE to the new file PATH, for standard input and for commands
     * that are too long for a script. NULL: input is SANDLOT_UNSUPPORTED and such commands SANDLOT_INVALID_ARGUMENT. */
    enum sandlot_status (*put)(struct sandlot_call *call, void *context, const char *path,
                               const struct sandlot_source *source, uint64_t length);

    int64_t hold_ms; /* how long one script may run before it must answer: what the service's connections bear */
    bool streams;    /* `run` passes output on while the script runs; without it scripts answer sooner */
    const char *working_dir; /* where commands start that say nothing else; NULL: where the service starts scripts */
    size_t answer_bytes;     /* most bytes of output in one answer, for services whose answers must be kept in memory
                                whole; 0: 8 MiB if it streams, else 4 MiB */
};

/*
 * Around what `run` has to wait for before a script can run, such as a sandbox that wakes: that time is neither the
 * script's nor the command's. A script is otherwise not waited for much longer than the command's own time limit. CALL
 * is the one that `run` was given.
 */
void remote_wait_begin(struct sandlot_call *call);
void remote_wait_end(struct sandlot_call *call);

/* execute of provider.h over CHANNEL. */
enum sandlot_status remote_command_run(struct sandlot_call *call, const struct remote_channel *channel,
                                       const struct sandlot_command *command, const struct sandlot_sink *output,
                                       struct sandlot_exit *result);

/* Runs a short SCRIPT that cleans up, once, as an urgent one, also when CALL is over already. Nobody hears whether it
 * worked. */
void remote_clean_up(struct sandlot_call *call, const struct remote_channel *channel, const char *script);

/*
 * Both as functions, EXECUTE_ of the table and CLEAN_UP_ for staged_upload.h. Behind them stand the fields of the
 * channel but for its context, which is the sandbox: they may look at it, as `sandbox`.
 *
 *   REMOTE_COMMAND(acme_execute, clean_up, .run = run_script, .put = put_file, .hold_ms = 60000)
 */
#define REMOTE_COMMAND(execute_, clean_up_, ...)                                                           \
    enum sandlot_status execute_(struct sandlot_call *call, void *provider, void *sandbox,                 \
                                 const struct sandlot_command *command, const struct sandlot_sink *output, \
                                 struct sandlot_exit *result)                                              \
    {                                                                                                      \
        const struct remote_channel channel = {.context = sandbox, __VA_ARGS__};                           \
                                                                                                           \
        (void)provider;                                                                                    \
        return remote_command_run(call, &channel, command, output, result);                                \
    }                                                                                                      \
    void clean_up_(struct sandlot_call *call, void *sandbox, const char *script)                           \
    {                                                                                                      \
        const struct remote_channel channel = {.context = sandbox, __VA_ARGS__};                           \
                                                                                                           \
        remote_clean_up(call, &channel, script);                                                           \
    }

#ifdef __cplusplus
}
#endif

#endif
