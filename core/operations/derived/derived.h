/* The operations of the derived route (struct file_route), each one command in the sandbox where its size allows. */
#ifndef SANDLOT_OPERATIONS_DERIVED_DERIVED_H
#define SANDLOT_OPERATIONS_DERIVED_DERIVED_H

#include "operations/files.h"

int derived_read(const struct file_call *call, const struct page_wish *wish, struct sandlot_page *page,
                 struct sandlot_error *error);
int derived_write(const struct file_call *call, const void *content, size_t length, struct sandlot_error *error);
int derived_edit(const struct file_call *call, const struct edit_wish *wish, uint64_t *occurrences,
                 struct sandlot_error *error);
int derived_list(const struct file_call *call, struct entries *entries, struct sandlot_error *error);
int derived_find(const struct file_call *call, const struct pattern *pattern, bool directories, struct entries *found,
                 bool *truncated, struct sandlot_error *error);
int derived_search(const struct file_call *call, const struct search *search, struct matches *found, bool *truncated,
                   struct sandlot_error *error);
int derived_remove(const struct file_call *call, struct sandlot_error *error);
int derived_upload(const struct file_call *call, int source_fd, uint32_t mode, uint64_t *bytes,
                   struct sandlot_error *error);
size_t derived_upload_some(const struct file_call *call, struct small_file *files, size_t count);
int derived_download(const struct file_call *call, int target_fd, uint64_t *bytes, struct sandlot_error *error);
size_t derived_download_some(const struct file_call *call, struct small_file *files, size_t count, char *bytes,
                             size_t room);
int derived_make_directory(const struct file_call *call, struct sandlot_error *error);
int derived_tree(const struct file_call *call, struct entries *entries, struct sandlot_error *error);

#endif
