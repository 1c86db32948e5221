/* terminal of the table. */
#ifndef SANDLOT_KUBERNETES_TERMINAL_H
#define SANDLOT_KUBERNETES_TERMINAL_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, terminal, terminal_run);

#endif
