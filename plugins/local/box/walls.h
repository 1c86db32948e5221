/*
 * The walls around the commands of a box, apart from its namespaces: a seccomp filter, a Landlock domain, no
 * capabilities, and resource limits.
 */
#ifndef SANDLOT_LOCAL_WALLS_H
#define SANDLOT_LOCAL_WALLS_H

#include "reason.h"
#include "settings.h"

#include <sys/resource.h>
#include <sys/types.h>

struct box_mount; /* of box.h */

/* The seccomp filters of both confinements. libseccomp writes them once, in the keeper; a box only loads one. */
struct seccomp_program;

/* NULL with REASON, one sentence, if it cannot be made. */
struct seccomp_program *walls_filter_new(char *reason, size_t reason_size);
void walls_filter_free(struct seccomp_program *program);

/* Loads the filter for CONFINEMENT into this process, for good. Needs no_new_privs. */
int walls_filter_load(const struct seccomp_program *program, enum confinement confinement, struct reason *reason);

/* Empties the bounding set, where the caller may; for root that is before it becomes an ordinary user. */
void walls_drop_bounding_set(void);

/* Drops every capability from all sets, for good, and sets no_new_privs. */
int walls_drop_capabilities(struct reason *reason);

/* Enters the Landlock domain of a full box, after its last mount. */
int walls_landlock_box(struct reason *reason);

/*
 * Makes the Landlock ruleset of CONFINEMENT_LANDLOCK: the system and the COUNT folders of MOUNTS read-only, and the
 * folders upper, tmp and home of STORAGE_FD. Returns its descriptor, to be entered by each command.
 */
int walls_landlock_ruleset(int storage_fd, const struct box_mount *mounts, size_t count, struct reason *reason);

/* Enters RULESET. For a command between vfork and exec: touches no memory. 0 or -1 with errno. */
int walls_landlock_enter(int ruleset);

/* One box may have the so-manieth part of what the kernel counts for a user as a whole. */
enum { WALLS_SHARE = 4 };

struct limits {
    struct {
        int resource;
        rlim_t value;
    } entries[8];
    size_t count;
};

/* The limits of SETTINGS for commands. OTHERS: processes that the kernel counts for the same user outside the box. */
void walls_limits(const struct settings *settings, bool memory_cgroup, rlim_t others, struct limits *limits);

/* Sets them on this process; between vfork and exec. */
void walls_limits_apply(const struct limits *limits);

#endif
