/* Functions of the table: the volumes of an owner, and their end. */
#ifndef SANDLOT_DOCKER_VOLUME_CALLS_H
#define SANDLOT_DOCKER_VOLUME_CALLS_H

#include <sandlot/sdk/function_of.h>

FUNCTION_OF(sandlot_provider, list_volumes, volume_calls_list);
FUNCTION_OF(sandlot_provider, delete_volume, volume_calls_delete);

#endif
