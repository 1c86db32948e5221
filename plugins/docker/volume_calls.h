/* Functions of the table: the volumes of an owner, and their end. */
#ifndef SANDLOT_DOCKER_VOLUME_CALLS_H
#define SANDLOT_DOCKER_VOLUME_CALLS_H

#include <sandlot/provider.h>

enum sandlot_status volume_calls_list(struct sandlot_call *call, void *provider, const char *cursor,
                                      const struct sandlot_volume_listing *listing);
enum sandlot_status volume_calls_delete(struct sandlot_call *call, void *provider, const char *name);

#endif
