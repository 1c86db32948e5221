/* Are there credentials? */
#ifndef SANDLOT_MODAL_CHECK_H
#define SANDLOT_MODAL_CHECK_H

#include <sandlot/provider.h>

/* As struct sandlot_provider has it. */
enum sandlot_status check_credentials(struct sandlot_call *call, void *provider);

#endif
