/*
 * What a box sees of the file system: nothing but what is put there. The system folders read-only, a few files of /etc,
 * an own /proc, /dev, /tmp and home, and the workspace. "/" takes new entries and keeps those.
 */
#ifndef SANDLOT_LOCAL_VIEW_H
#define SANDLOT_LOCAL_VIEW_H

#include "view_folders.h"

/*
 * Makes, in the new storage folder STORAGE_FD, the folder that becomes "/" of a box which shows the skeleton
 * SKELETON_FD, and the places in it, which are some fifteen. Folders are taken from PLACES_FD as far as there are any.
 * What cannot be made is left to view_enter, which makes all that is missing. Whose that "/" is to be is told by
 * view_give_root, which passes over a storage that has none: 0, or -1 with errno. The places stay the caller's, since
 * what is mounted on them hides them.
 */
void view_make_root(int storage_fd, int skeleton_fd, int places_fd);
int view_give_root(int storage_fd, uid_t uid, gid_t gid);

/*
 * Keeps in PLACES_FD what view_make_root made in STORAGE_FD for a box of which no process lives: to make and remove
 * folders takes a file system much longer than to rename them. No box ever reaches a place, for something is mounted on
 * it as long as the box lives. A name that this host's skeleton lacks is no place, and the box may have made something
 * there itself: hence IS_EMPTY. Neither this nor the two above allocates memory.
 */
void view_keep_places(int storage_fd, int places_fd, bool (*is_empty)(int folder_fd, const char *name));

/* Builds the view, enters it and lets go of everything else. Needs CAP_SYS_ADMIN in the namespaces of the box only. */
int view_enter(const struct box_request *request, const struct view_folders *found, struct reason *reason);

#endif
