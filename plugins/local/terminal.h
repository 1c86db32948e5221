/* An interactive terminal in a box, from the provider's side. */
#ifndef SANDLOT_LOCAL_TERMINAL_H
#define SANDLOT_LOCAL_TERMINAL_H

#include "sandbox.h"

/* As `terminal` of sandlot/provider.h. */
enum sandlot_status terminal_run(struct sandbox *sandbox, struct sandlot_call *call,
                                 const struct sandlot_terminal *request, struct sandlot_exit *result);

#endif
