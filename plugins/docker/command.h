#ifndef SANDLOT_DOCKER_COMMAND_H
#define SANDLOT_DOCKER_COMMAND_H

#include <sandlot/provider.h>

/* execute of the table. */
enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result);

/* Runs a short SCRIPT that cleans up, in less than a second although CALL may be over. */
void command_clean_up(struct sandlot_call *call, void *sandbox, const char *script);

#endif
