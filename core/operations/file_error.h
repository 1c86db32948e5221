/* What went wrong with a path, in the same words on every route. Each returns -1. */
#ifndef SANDLOT_OPERATIONS_FILE_ERROR_H
#define SANDLOT_OPERATIONS_FILE_ERROR_H

#include "operations/files.h"

/*
 * Says what errno REASON means for this call: ENOENT and ENOTDIR are file_not_found (path_not_found for ls, glob and
 * grep; ENOTDIR when writing invalid_path), EACCES, EPERM and EROFS permission_denied, EISDIR is_directory (not_a_file
 * for edit), ELOOP and ENAMETOOLONG invalid_path, ENOSPC and EDQUOT no_space, ECANCELED cancelled, ETIMEDOUT timeout,
 * ENOMEM out of memory, EBUSY of what is to be removed permission_denied, anything else internal_error with its text.
 */
int file_error_errno(struct sandlot_error *error, const struct file_call *call, int reason);

/* Of a directory with more names none are looked at. */
enum { FILE_NEIGHBOURS = 400 };

/* "File 'a.py' not found. Files in /w: app.py, main.py." NAMES are those of the parent directory, in any order and any
 * number; the few that are most like the one that was meant are told. COUNT 0: nothing is known of the parent. */
int file_error_missing(struct sandlot_error *error, const struct file_call *call, const char *const *names,
                       size_t count);

/* A pipe, socket or device where a regular file is wanted: not_a_file; a file where ls and glob want a directory:
 * not_a_directory. */
int file_error_kind(struct sandlot_error *error, const struct file_call *call);

/* What is to be removed is the working directory, or holds it: invalid_path. */
int file_error_working_dir(struct sandlot_error *error, const struct file_call *call);

/* The sandbox lacks TOOL: missing_tool. */
int file_error_tool(struct sandlot_error *error, const struct file_call *call, const char *tool);

/* The file is more than what is left of the bound on the download: too_large. */
int file_error_bound(struct sandlot_error *error, const struct file_call *call);

#endif
