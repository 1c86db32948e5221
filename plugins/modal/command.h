/* Commands in a sandbox. */
#ifndef SANDLOT_MODAL_COMMAND_H
#define SANDLOT_MODAL_COMMAND_H

#include <sandlot/provider.h>

/* For the table of the provider. */
enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result);

#endif
