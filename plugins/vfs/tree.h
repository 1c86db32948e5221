/* Copying and removing whole folders, by descriptors: no name is followed anywhere, whoever changes the folder
 * meanwhile. */
#ifndef VFS_TREE_H
#define VFS_TREE_H

#include <sandlot/provider.h>
#include <sys/types.h>

/* A folder, and the user and group who own what is put into it. FD can be read (no O_PATH). */
struct place {
    int fd;
    uid_t uid;
    gid_t gid;
};

/* Copies all that is in FROM to TO: files with their holes, folders, links, modes and times. What is none of these is
 * left out. */
enum sandlot_status tree_copy(struct sandlot_call *call, const struct place *from, const struct place *to);

/* Removes PATH of FOLDER_FD with all below; what is not there is removed. */
bool tree_remove(int folder_fd, const char *path);

/* How many bytes lie in the folder FD and below. */
uint64_t tree_size(int fd);

/* Opens folder PATH of ROOT_FD (O_PATH), which no link leads out of. -1 with errno. To be closed. */
int tree_open(int root_fd, const char *path);

/* Makes PATH below PLACE with the folders above it, as its owner, with LENGTH bytes of TEXT. False with errno. */
bool tree_write(const struct place *place, const char *path, const char *text, size_t length);

#endif
