/* Running one command in a box, from the provider's side. */
#ifndef SANDLOT_LOCAL_EXECUTE_H
#define SANDLOT_LOCAL_EXECUTE_H

#include "sandbox.h"

/* As `execute` of sandlot/provider.h. */
enum sandlot_status execute_command(struct sandbox *sandbox, struct sandlot_call *call,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result);

#endif
