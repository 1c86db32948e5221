/* What the commands on results of work have in common: whose they are, what is asked for, one line for a path. */
#ifndef SANDLOT_CLI_RESULTS_COMMAND_H
#define SANDLOT_CLI_RESULTS_COMMAND_H

#include "cli/file_command.h"
#include "results/judge.h"

/* What the words of the command line say. Lists belong to the options. */
struct results_words {
    const char *const *rest; /* behind the id, ended by NULL */
    size_t rest_count;
};

/* The course of such a command: the first argument is the sandbox unless --sandbox-id or --scope names it; at least
 * LEAST more must follow. WORK gets a struct results_words. The exit status. */
int results_command(const struct options *options, size_t least, file_work work);

/* PATHS (NULL: all) with what the options say of force, risks and trying out. */
struct sandlot_changes_request results_request(const struct context *context, const char *const *paths);

/* "! RISK  PATH" or, of a conflict, "! changed on this machine too  PATH", with a line end; to be freed. "" if there is
 * nothing to say of it; NULL when out of memory. */
char *results_warning(const struct change *change);

/* Adds the changes to OBJECT, as the list "changes". 0, or -1 with the error. */
int results_add_changes(struct json_object *object, const struct results *results, struct sandlot_error *error);

#endif
