/* execute of the table. */
#ifndef SANDLOT_KUBERNETES_COMMAND_H
#define SANDLOT_KUBERNETES_COMMAND_H

#include "sandbox.h"

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *handle,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result);

/* See clean_up of staged_upload.h. */
void command_clean_up(struct sandlot_call *call, void *handle, const char *script);

/* Kills all that has SANDLOT_JOB=MARK among its variables. */
void command_kill(struct sandlot_call *call, struct sandbox *sandbox, const char *mark);

/* Fails the call for a program that could not be run. */
enum sandlot_status command_explain(struct sandlot_call *call, const struct exec_status *status);

/* What the user wants every command to see, as "NAME=value" with those of EXTRA behind, ended by NULL; to be freed with
 * command_free_variables. NULL: told. */
char **command_variables(struct sandlot_call *call, const struct sandbox *sandbox, const char *const *extra);
void command_free_variables(char **variables);

#endif
