/* Terminals. */
#ifndef SANDLOT_E2B_TERMINAL_H
#define SANDLOT_E2B_TERMINAL_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, terminal, terminal_run);

#endif
