/* What a box sees of the machine: its programs and libraries, harmless parts of /etc, six devices, and a /proc. */
#ifndef SANDLOT_LOCAL_VIEW_SYSTEM_H
#define SANDLOT_LOCAL_VIEW_SYSTEM_H

struct view;

/* The entries of the host's /etc that a box may read, ended by NULL. None of them holds a secret. */
extern const char *const view_etc[];

extern const char *const view_devices[];

/* What the machine knows of its packages: builds ask dpkg-query and rpm for it. Absolute, ended by NULL. */
extern const char *const view_packages[];

/* The host's programs and libraries, and the files of /etc that they need. */
int view_show_system(const struct view *view);

/* The authority of the box's own proxy, over the machine's, where programs look by themselves. */
int view_show_authority(const struct view *view);

/*
 * The /proc of the box's own processes. Its kernel entries are checked by the global user, who is an ordinary one in
 * every box; the covers are the second wall.
 */
int view_make_proc(const struct view *view);

/* /dev, and what is in memory: /run and /dev/shm. */
int view_make_devices(const struct view *view);

#endif
