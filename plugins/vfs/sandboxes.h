/* The functions of the table. */
#ifndef VFS_SANDBOXES_H
#define VFS_SANDBOXES_H

#include "vfs.h"

enum sandlot_status sandboxes_get_or_create(struct sandlot_call *call, void *provider,
                                            const struct sandlot_create *request, void **result);
void sandboxes_release(void *provider, void *handle);
enum sandlot_status sandboxes_delete(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status sandboxes_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status sandboxes_execute(struct sandlot_call *call, void *provider, void *handle,
                                      const struct sandlot_command *command, const struct sandlot_sink *output,
                                      struct sandlot_exit *result);
enum sandlot_status sandboxes_terminal(struct sandlot_call *call, void *provider, void *handle,
                                       const struct sandlot_terminal *terminal, struct sandlot_exit *result);
enum sandlot_status sandboxes_open_root(struct sandlot_call *call, void *provider, void *handle,
                                        struct sandlot_root *root);
enum sandlot_status sandboxes_snapshot(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                       const struct sandlot_sink *result);
enum sandlot_status sandboxes_list_snapshots(struct sandlot_call *call, void *provider, const char *cursor,
                                             const struct sandlot_listing *listing);
enum sandlot_status sandboxes_delete_snapshot(struct sandlot_call *call, void *provider, const char *name);
enum sandlot_status sandboxes_fork(struct sandlot_call *call, void *provider, const char *id,
                                   const struct sandlot_create *request);

#endif
