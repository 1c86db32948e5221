/* Where folders of the host lie, by descriptor: no link on the way and no second name makes a difference. */
#ifndef SANDLOT_LOCAL_FOLDER_H
#define SANDLOT_LOCAL_FOLDER_H

#include <stdbool.h>

/* Opens the folder PATH (O_PATH), or of a file the folder that it lies in. -1 with errno. */
int folder_of(const char *path);

/* Does the folder INNER_FD lie in OUTER_FD, or is it that? False where one of them is none. */
bool folder_lies_within(int inner_fd, int outer_fd);

#endif
