/* Images of the files of sandboxes. */
#ifndef SANDLOT_MODAL_SNAPSHOTS_H
#define SANDLOT_MODAL_SNAPSHOTS_H

#include <sandlot/provider.h>

/* For the table of the provider. */
enum sandlot_status snapshots_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                   const struct sandlot_sink *result);
enum sandlot_status snapshots_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status snapshots_delete(struct sandlot_call *call, void *provider, const char *name);
enum sandlot_status snapshots_fork(struct sandlot_call *call, void *provider, const char *id,
                                   const struct sandlot_create *request);

#endif
