/* Sandboxes by their ids. */
#ifndef SANDLOT_MODAL_LIFECYCLE_H
#define SANDLOT_MODAL_LIFECYCLE_H

#include <sandlot/provider.h>

/* For the table of the provider. */
enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);

#endif
