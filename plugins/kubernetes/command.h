/* execute of the table. */
#ifndef SANDLOT_KUBERNETES_COMMAND_H
#define SANDLOT_KUBERNETES_COMMAND_H

#include "sandbox.h"

#include <sandlot/sdk/staged_upload.h>

FUNCTION_OF(sandlot_provider, execute, command_execute);

/* See clean_up of staged_upload.h. */
FUNCTION_OF(staged_upload_vendor, clean_up, command_clean_up);

/* Kills all that has SANDLOT_JOB=MARK among its variables, and what has come of it. */
void command_kill(struct sandlot_call *call, struct sandbox *sandbox, const char *mark);

/* Fails the call for a program that could not be run. */
enum sandlot_status command_explain(struct sandlot_call *call, const struct exec_status *status);

/* What the user wants every command to see, as "NAME=value" with those of EXTRA behind, ended by NULL; to be freed with
 * command_free_variables. LASTING: and the one of programs that are a use of the pod as long as they run. NULL: it is
 * told. */
char **command_variables(struct sandlot_call *call, const struct sandbox *sandbox, const char *const *extra,
                         bool lasting);
void command_free_variables(char **variables);

#endif
