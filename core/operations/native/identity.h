/*
 * Under whose name this thread reaches files.
 *
 * A box of root's belongs to an otherwise unused user of the machine. To root's own rights no permission inside the box
 * would count, and what root creates could not be changed by the box; so root acts as the box's user meanwhile. An
 * ordinary user is the owner of his boxes already.
 *
 * A process that has done so no longer leaves core dumps (proc(5), suid_dumpable): its memory may hold what is not that
 * user's.
 */
#ifndef SANDLOT_NATIVE_IDENTITY_H
#define SANDLOT_NATIVE_IDENTITY_H

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/types.h>

/* Zero: nothing was changed. */
struct identity {
    bool assumed;
    uid_t uid; /* what was there before */
    gid_t gid;
    gid_t *groups;
    int group_count;
    bool rights_dropped;
    struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3]; /* of capabilities(7) */
    int death_signal;                                               /* of prctl(2), PR_SET_PDEATHSIG; 0: none */
};

/*
 * From now on files are reached as UID and GID, without supplementary groups, on this thread alone; what it opened
 * before stays open. *BEFORE is for identity_restore. 0, or -1 with errno, and nothing is changed then.
 */
int identity_assume(uid_t uid, gid_t gid, struct identity *before);

/* Back to what was before. Can be called again, and after a failure. */
void identity_restore(struct identity *before);

#endif
