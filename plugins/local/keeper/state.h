/*
 * What the keeper has on disk, below STATE:
 *   boxes/ID/   record (the text form of settings.h), socket, storage/ (all that the box writes)
 *   ended/ID    why a box that nobody deleted is gone, for those who ask for it later
 *   rootfs/KEY/ the storage of a box that unpacked an archive; what it unpacked is in upper/
 *   layers/ID/  what boxes have written, for others to begin with (layers.h): a folder for each place, and its size
 *   snapshots/NAME  the record of a box that was kept, with its layers (snapshots.h)
 *   view/       the root folders of boxes (box/skeleton.h), made anew by each keeper
 *   spare/      the folder of the next box, made ahead
 *   places/     empty folders of boxes that have ended, for the next one (box/view.h)
 *   downloads/  images on their way (download.h)
 *   volumes/    what outlives boxes (volumes.h)
 *   trash/      what is being removed
 */
#ifndef SANDLOT_LOCAL_STATE_H
#define SANDLOT_LOCAL_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct state {
    int fd;
    int boxes_fd;
    int ended_fd;
    int rootfs_fd;
    int view_fd;
    int volumes_fd;
    int trash_fd;
    int places_fd;
    unsigned ends_remembered; /* by this keeper */
};

/* Opens what lies in the folder STATE_FD, makes it where it is missing, and starts the thread that empties the
 * trash and makes what is made ahead; STATE must stay. 0, or -1 with REASON. */
int state_open(struct state *state, int state_fd, char *reason, size_t size);

/* Calls EACH for every box that an earlier keeper left behind, and removes it. */
void state_sweep(struct state *state, void (*each)(void *context, const char *id), void *context);

/* What a box has on disk. */
struct box_folder {
    int fd;          /* O_PATH */
    int storage_fd;  /* O_PATH; storage/, with the empty folders upper, tmp and home, and maybe the places of a view */
    int listener_fd; /* a listening socket at "socket" */
};

/* Makes the folder of box ID, or takes one that was made ahead. Its storage belongs to UID and GID. VIEW_FD: the
 * skeleton (box/skeleton.h) that the box will show, for which the next folder is prepared; -1: none. 0, or -1 with
 * REASON. */
int state_make_box(const struct state *state, const char *id, uid_t uid, gid_t gid, int view_fd,
                   struct box_folder *folder, char *reason, size_t size);

/* Writes the file NAME of a folder as a whole or not at all. 0, or -1 with errno. */
int state_write(int folder_fd, const char *name, const char *text);

/* Removes NAME of the folder FOLDER_FD, all at once: the space is free soon after. What is not there is fine. 0, or -1
 * with errno. */
int state_discard(const struct state *state, int folder_fd, const char *name);

/* Closes *FD, if it is one, soon: where it is the last that holds a box's mounts the kernel then takes these down,
 * which takes the longer the more files they showed. It is -1 then. */
void state_close_later(int *fd);

/* Removes the folder of box ID; the space is free soon after. */
void state_discard_box(const struct state *state, const char *id);

/* Remembers for a day, and for the last 256 boxes at least, why box ID ended. */
void state_remember_end(struct state *state, const char *id, const char *reason);

/* Keeps the storage of box ID, of which no process lives, as the unpacked archive KEY; if there is one already, that
 * one stays. 0, or -1 with errno. */
int state_keep_rootfs(const struct state *state, const char *id, const char *key);

/* Removes the unpacked archives and images that were not used for a week, or, longest unused first, are more than 16
 * GiB together, and for which IN_USE is false. */
void state_sweep_rootfs(const struct state *state, bool (*in_use)(const void *context, const char *key),
                        const void *context);

/* Removes what was being fetched for programs that were killed (download.h). */
void state_sweep_downloads(const struct state *state);

/* Is the trash empty, or left to the next keeper because what is in it cannot be removed? */
bool state_is_clean(void);

#endif
