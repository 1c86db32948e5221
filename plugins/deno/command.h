/* Commands: scripts of sandlot/sdk/remote_command.h, each a process of the sandbox whose output comes as a stream. */
#ifndef SANDLOT_DENO_COMMAND_H
#define SANDLOT_DENO_COMMAND_H

#include <sandlot/provider.h>

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result);

/* As in staged_upload.h. */
void command_clean_up(struct sandlot_call *call, void *sandbox, const char *script);

#endif
