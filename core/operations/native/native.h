/* Files through the descriptor of the sandbox's root: the functions of struct file_route (operations/files.h). */
#ifndef SANDLOT_NATIVE_NATIVE_H
#define SANDLOT_NATIVE_NATIVE_H

#include "operations/files.h"

int native_read(const struct file_call *call, const struct page_wish *wish, struct sandlot_page *page,
                struct sandlot_error *error);
int native_write(const struct file_call *call, const void *content, size_t length, struct sandlot_error *error);
int native_edit(const struct file_call *call, const struct edit_wish *wish, uint64_t *occurrences,
                struct sandlot_error *error);
int native_list(const struct file_call *call, struct entries *entries, struct sandlot_error *error);
int native_find(const struct file_call *call, const struct pattern *pattern, bool directories, struct entries *found,
                bool *truncated, struct sandlot_error *error);
int native_search(const struct file_call *call, const struct search *search, struct matches *found, bool *truncated,
                  struct sandlot_error *error);
int native_remove(const struct file_call *call, struct sandlot_error *error);
int native_upload(const struct file_call *call, int source_fd, uint32_t mode, uint64_t *bytes,
                  struct sandlot_error *error);
int native_download(const struct file_call *call, int target_fd, uint64_t *bytes, struct sandlot_error *error);
int native_make_directory(const struct file_call *call, struct sandlot_error *error);
int native_tree(const struct file_call *call, struct entries *entries, struct sandlot_error *error);

#endif
