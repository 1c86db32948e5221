/* terminal of the table. */
#ifndef SANDLOT_KUBERNETES_TERMINAL_H
#define SANDLOT_KUBERNETES_TERMINAL_H

#include "sandbox.h"

enum sandlot_status terminal_run(struct sandlot_call *call, void *provider, void *handle,
                                 const struct sandlot_terminal *request, struct sandlot_exit *result);

#endif
