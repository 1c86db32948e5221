/*
 * sandlot/sdk/process.h - programs of this machine, run for a call: for providers that wrap a command-line tool.
 *
 *   const char *const words[] = {"acme", "run", "--box", id, "--", "sh", "-c", command->command, NULL};
 *   const struct process_options options = {.arguments = words,
 *                                           .environment = command->environment,
 *                                           .input = command->input,
 *                                           .output = output,
 *                                           .timeout_ms = command->timeout_ms};
 *   return process_run(call, &options, result);
 *
 * and for a tool whose answer matters, and whose failure is one of the call:
 *
 *   const char *const words[] = {"acme", "create", "--label", request->run_label, NULL};
 *   const struct process_options options = {.arguments = words};
 *   char *id;
 *   enum sandlot_status status = process_read(call, &options, &id, NULL);
 *   ...
 *   free(id);
 *
 * No shell is in between: every word reaches the program as it stands, blanks and quotes included. (What runs as a
 * shell command elsewhere, over ssh for example, is built with quoting.h.)
 *
 * THE PROGRAM  It is a session of its own (setsid(2)), without a terminal, with every signal at its default and no
 * descriptor of the host but its standard input, output and error. Everything in that session is ended when the call
 * ends early. What a program leaves running in the background when it ends by itself goes on, without holding the call
 * up: what it writes later is lost. If the thread that called, or its process, dies, the program is killed too.
 *
 * TIME      The call's deadline and cancellation, and `timeout_ms`, end the program: SIGTERM first, SIGKILL for
 * whatever of the session is left half a second later, or as soon as the program itself is gone. The function returns
 * within a second. What the program printed until its end is passed on when it was its own limit that ended it.
 *
 * ERRORS    Every function that returns a status other than SANDLOT_OK has said why through call->host->fail:
 *
 *   the program is not in PATH, or cannot be run              SANDLOT_DEPENDENCY_MISSING, with its name
 *   working_dir is not there, too many or too long words      SANDLOT_INVALID_ARGUMENT
 *   no process, descriptor or memory is left                  SANDLOT_EXHAUSTED
 *   deadline, cancellation                                    SANDLOT_TIMEOUT, SANDLOT_CANCELLED
 *   a source or sink that fails                               its own status
 *
 * SECRETS   Whoever may list processes can read the words of a program: give it secrets by its environment, a file or
 * its input, never as an argument. Messages and log lines name the program and nothing else of its command line; what
 * it prints as it fails is passed on by process_read.
 *
 * THREADS   Any number of threads may run programs at the same time.
 */
#ifndef SANDLOT_SDK_PROCESS_H
#define SANDLOT_SDK_PROCESS_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is run, and how. What is 0 or NULL has the default that stands beside it. Nothing is kept after the return. */
struct process_options {
    const char *const *arguments;       /* required: the program and its arguments, ended by NULL. A program without "/"
                                           is looked up in PATH */
    const char *const *environment;     /* "NAME=value" to add, or to set otherwise; ended by NULL; default: none */
    bool clean_environment;             /* of this process's own variables only PATH goes to the program; default: all
                                           do. For commands of a sandbox's user, who shall not see the host's secrets */
    const char *working_dir;            /* where it starts; default: the current folder of this process */
    const struct sandlot_source *input; /* standard input; default: empty. The program may leave it unread */
    const struct sandlot_sink *output;  /* standard output; default: thrown away. (process_read sets its own) */
    const struct sandlot_sink *errors;  /* standard error; default: goes with the standard output, in the order written.
                                           (process_read sets its own) */
    int64_t timeout_ms;                 /* ends it after so long; default: no limit but the call's deadline */
    uint64_t output_limit;              /* process_read: most bytes of output; default 1 MiB */
    enum sandlot_status failure;        /* process_read: the status of a program that fails; default SANDLOT_INTERNAL */
};

/* Options to run WORDS with the environment, working directory, input and time limit of COMMAND, for a provider whose
 * commands are programs of this machine. */
static inline struct process_options process_options_of(const struct sandlot_command *command, const char *const *words,
                                                        const struct sandlot_sink *output)
{
    const struct process_options options = {words,
                                            command->environment,
                                            false,
                                            command->working_dir,
                                            command->input,
                                            output,
                                            NULL,
                                            command->timeout_ms,
                                            0,
                                            SANDLOT_OK};

    return options;
}

/*
 * Runs a program and passes its output on as it comes. SANDLOT_OK once it ran, whatever its exit code and also after
 * timeout_ms; *RESULT (which may be NULL) then has exit_code (128 + n for signal n, 124 after timeout_ms,
 * SANDLOT_EXIT_UNKNOWN where the host has waited for all children itself) and timed_out, as sandlot_provider.execute
 * returns them. Its `size` and `note` stay the caller's.
 */
enum sandlot_status process_run(struct sandlot_call *call, const struct process_options *options,
                                struct sandlot_exit *result);

/*
 * Runs a program to its end and hands over what it printed to its standard output, without newlines at the end and with
 * a NUL behind, in *TEXT, to be freed. TEXT NULL: the output is not wanted; LENGTH may be NULL. Fails with
 * options->failure if the exit code is not 0, with SANDLOT_TIMEOUT after timeout_ms and with SANDLOT_INTERNAL if there
 * is more than output_limit; the sentence has the end of what the program printed to its standard error, as one line,
 * and begins it with "..." if it is not all.
 */
enum sandlot_status process_read(struct sandlot_call *call, const struct process_options *options, char **text,
                                 size_t *length);

#ifdef __cplusplus
}
#endif

#endif
