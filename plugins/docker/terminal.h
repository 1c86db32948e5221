#ifndef SANDLOT_DOCKER_TERMINAL_H
#define SANDLOT_DOCKER_TERMINAL_H

#include <sandlot/sdk/function_of.h>

/* terminal of the table. */
FUNCTION_OF(sandlot_provider, terminal, terminal_run);

#endif
