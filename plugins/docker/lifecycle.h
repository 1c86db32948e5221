#ifndef SANDLOT_DOCKER_LIFECYCLE_H
#define SANDLOT_DOCKER_LIFECYCLE_H

#include <sandlot/provider.h>

/* Functions of the table. */
enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status lifecycle_pause(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_resume(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_check(struct sandlot_call *call, void *provider);

#endif
