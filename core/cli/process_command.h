/* What the commands that work on background processes have in common. */
#ifndef SANDLOT_CLI_PROCESS_COMMAND_H
#define SANDLOT_CLI_PROCESS_COMMAND_H

#include "cli/file_command.h"

/* Is a sandbox named that outlives this command? 0, or the exit status after the complaint. */
int process_command_check(const struct options *options);

/* The same as file_command, after that check. */
int process_command(const struct options *options, file_work work);

/* `exec --detach`: starts COMMAND and prints the id. */
int process_command_detach(const struct options *options, const char *command);

/* A process as `ps --json` tells it. NULL when out of memory. */
struct json_object *process_object(const struct sandlot_process *process);

/* "running", "exited", "lost". */
const char *process_state_name(enum sandlot_process_state state);

/* Nobody saw its end: an error of the sandbox, status 3. -1. */
int process_lost_error(struct sandlot_error *error, const char *id);

#endif
