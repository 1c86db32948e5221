/* Paths, folders and small files of the machine that Sandlot runs on. */
#ifndef SANDLOT_BASE_PATH_H
#define SANDLOT_BASE_PATH_H

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The user's folder for one kind of file, "/sandlot" appended, by the XDG base directory specification:
 * $XDG_CONFIG_HOME, $XDG_DATA_HOME, $XDG_STATE_HOME if set to an absolute path, else the usual
 * default below $HOME (without HOME: the home folder of getpwuid(3)). Nothing is created. To be freed; NULL when out of
 * memory.
 */
char *path_config_home(void);
char *path_data_home(void);
char *path_state_home(void);

/* PATH made absolute against BASE (NULL: the current directory), a leading "~/" against HOME. Only text: links are
 * not followed. To be freed. */
char *path_absolute(const char *path, const char *base);

/* Everything before the last "/" of PATH ("/" and "." as dirname(3) has them). To be freed. */
char *path_parent(const char *path);

/* Creates folder PATH and its parents with MODE. 0, or -1 with errno. */
int path_make_folders(const char *path, unsigned int mode);

/*
 * Could anybody but root and the current user have put this file there? NULL if not; else a sentence that
 * names the file or folder at fault, to be freed. Checks all that lies on the way from the root, each link with the
 * folders that lead to it and those that it leads through: owner root or the user, not writable by group or others (a
 * folder with the sticky bit may be, as long as what lies in it on the way passes).
 */
char *path_distrust(const char *path);

/* The whole of a file of at most MAXIMUM bytes, with NUL appended; *LENGTH may be NULL. To be freed; NULL with errno
 * (EFBIG: larger than that; EISDIR and the like: not a regular file). Never blocks on a FIFO. */
char *path_read_file(const char *path, size_t maximum, size_t *length);

/* Why one could not be read, by errno: what strerror(3) says, but in plain words of what is no regular file. */
const char *path_read_problem(int reason);

/* The same in two steps, for who looks at the file in between: opens it, with further FLAGS of open(2); reads it. */
int path_open_file(int folder_fd, const char *path, int flags);
char *path_read_descriptor(int fd, size_t maximum, size_t *length);

/* Replaces the file NAME in the folder FD by rename(2), mode 0600. DURABLE: it outlasts a power failure from then on.
 * 0, or -1 with errno. */
int path_write_atomically(int folder_fd, const char *name, const void *bytes, size_t length, bool durable);

/* Writes all of it. 0, or -1 with errno. */
int path_write_all(int fd, const void *bytes, size_t length);

/* The folder in which this library or executable lies, links resolved. To be freed. */
char *path_of_this_program(void);

#endif
