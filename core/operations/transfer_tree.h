/* What lies below a folder that is moved as a whole. */
#ifndef SANDLOT_OPERATIONS_TRANSFER_TREE_H
#define SANDLOT_OPERATIONS_TRANSFER_TREE_H

#include "operations/entries.h"

/*
 * All files and folders below local folder PATH, sorted, with is_dir and bytes. Links to files count as files; what
 * cannot be moved (links to folders, devices, broken links) has is_symlink. 0 or -1.
 */
int transfer_tree_local(const char *path, struct entries *entries, struct sandlot_error *error);

/* Is folder entry AT of these sorted ENTRIES empty? Others are made on the way to their files. */
bool transfer_tree_is_empty(const struct entries *entries, size_t at);

/* What is left of PATH below FOLDER, without a slash before it; NULL if it does not lie below it. */
const char *transfer_tree_relative(const char *path, const char *folder);

#endif
