/* A sandbox for the length of one command: opened, named to the signal handler, closed, and complained about. */
#ifndef SANDLOT_CLI_SANDBOX_H
#define SANDLOT_CLI_SANDBOX_H

#include "cli/context.h"

/* Opens the session that the options ask for. NULL with *STATUS, the exit status after the complaint. */
struct sandlot_session *sandbox_open(const struct context *context, bool keep, int *status);

/* Closes it. 0; or -1 with ERROR after a warning that names what is left and how to delete it. */
int sandbox_close(const struct context *context, struct sandlot_session *session, struct sandlot_error *error);

/*
 * The course of a command that uses one sandbox: library, provider, CHECK (NULL: none; 0, or the exit status after the
 * complaint), sandbox, USE with INPUT, which closes the session and returns the exit status. The exit status.
 */
int sandbox_command(const struct options *options, int (*check)(const struct context *context),
                    int (*use)(const struct context *context, struct sandlot_session *session, const void *input),
                    const void *input);

/* Where --cwd says that a command starts, to be freed: a relative directory is one below the sandbox's working
 * directory. NULL when out of memory. */
char *sandbox_directory(const struct options *options, const struct sandlot_session *session);

#endif
