/* Terminals. */
#ifndef SANDLOT_E2B_TERMINAL_H
#define SANDLOT_E2B_TERMINAL_H

#include "sandbox.h"

enum sandlot_status terminal_run(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_terminal *request, struct sandlot_exit *result);

#endif
