/*
 * Reaching files below a folder of this machine, and nothing else: no link on the way is followed, and none leads out.
 * Where the kernel has no openat2(2), or a filter keeps it from us, each part of a path is opened by itself, which
 * gives the same answers.
 */
#ifndef SANDLOT_RESULTS_BENEATH_H
#define SANDLOT_RESULTS_BENEATH_H

#include <stdbool.h>

/* Opens PATH (node_path_valid, or ".") below FOLDER_FD with FLAGS of open(2) but no O_CREAT. Never blocks, is closed on
 * exec. -1 with errno: ELOOP for a link on the way, or at its end without O_PATH. */
int beneath_open(int folder_fd, const char *path, int flags);

/* Opens the folder (O_PATH) in which PATH ends; *NAME is the last part, inside PATH. */
int beneath_open_parent(int folder_fd, const char *path, const char **name);

/* Tests set it: as if there were no openat2. */
extern bool beneath_by_parts;

#endif
