/* Are there credentials? */
#ifndef SANDLOT_MODAL_CHECK_H
#define SANDLOT_MODAL_CHECK_H

#include <sandlot/sdk/function_of.h>

/* As struct sandlot_provider has it. */
FUNCTION_OF(sandlot_provider, check, check_credentials);

#endif
