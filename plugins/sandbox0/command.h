/* Commands: contexts of Sandbox0, each of which is one program. */
#ifndef SANDBOX0_COMMAND_H
#define SANDBOX0_COMMAND_H

#include "sandbox.h"

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result);

/* As staged_upload.h wants it. */
void command_clean_up(struct sandlot_call *call, void *sandbox, const char *script);

#endif
