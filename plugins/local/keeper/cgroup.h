/*
 * The limits of a box as a whole: control groups, version 1 or 2, where this user may make them. Where not, the limits
 * are those that each process of the box has for itself (setrlimit(2)) and what the guard watches.
 */
#ifndef SANDLOT_LOCAL_CGROUP_H
#define SANDLOT_LOCAL_CGROUP_H

#include "../box/box.h"
#include "../settings.h"

#include <stdio.h>
#include <sys/types.h>

enum cgroup_controller { CGROUP_MEMORY, CGROUP_PROCESSES, CGROUP_CPU, CGROUP_CONTROLLERS };

/* Where groups can be made. With version 2 all controllers share one folder. */
struct cgroups {
    int version;                 /* 1, 2, or 0: nowhere */
    int fds[CGROUP_CONTROLLERS]; /* O_PATH, -1: this controller cannot be used */
    char *paths[CGROUP_CONTROLLERS];
};

/* Looks where this process may make groups. */
void cgroups_find(struct cgroups *cgroups);

/* Makes the groups of box ID with its limits. 0, or -1 with REASON; nothing is left then. */
int cgroups_make(const struct cgroups *cgroups, const char *id, const struct settings *settings, char *reason,
                 size_t size);

/* Opens the groups of box ID for its first process to enter. 0, or -1 with errno. Either way to be closed. */
int cgroups_open(const struct cgroups *cgroups, const char *id, const struct settings *settings,
                 struct box_groups *groups);
void cgroups_close(const struct box_groups *groups);

/* Removes the groups of box ID. False if they are still busy: to be tried again. */
bool cgroups_remove(const struct cgroups *cgroups, const char *id);

/* How many processes of box ID its memory limit has killed. */
int64_t cgroups_memory_kills(const struct cgroups *cgroups, const char *id);

/* The file that counts them, open for reading; -1: there is none. */
int cgroups_memory_events(const struct cgroups *cgroups, const char *id);

/* What the limits hold for, for a box's record: "cgroup v1: memory processes cpu" or "per process". */
void cgroups_describe(const struct cgroups *cgroups, char *text, size_t size);

#endif
