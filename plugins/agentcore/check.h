/* Are there credentials? */
#ifndef SANDLOT_AGENTCORE_CHECK_H
#define SANDLOT_AGENTCORE_CHECK_H

#include <sandlot/sdk/function_of.h>

/* As struct sandlot_provider has it. */
FUNCTION_OF(sandlot_provider, check, check_credentials);

#endif
