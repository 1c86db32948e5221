#include "operations/native/identity.h"

#include "base/cleanup.h"

#include <errno.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Of the thread alone: setgroups(3) of the library would change all threads. */
static int set_groups(int count, const gid_t *groups)
{
    return (int)syscall(SYS_setgroups, count, groups);
}

/* setfsuid(2) cannot fail visibly: a second call with an invalid id changes nothing and returns what is in force. */
static bool is_acting_as(uid_t uid, gid_t gid)
{
    return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

/* Root's rights of this thread alone, as set by capset(2). */
static int set_rights(const struct __user_cap_data_struct *rights)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

    return (int)syscall(SYS_capset, &header, rights);
}

static int save_rights(struct identity *before)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

    return (int)syscall(SYS_capget, &header, before->rights);
}

/*
 * setfsuid(2) takes away only the rights to files. What is left would count where the kernel asks for more than the
 * owner and the mode: the memory maps and the kernel stacks of all processes under /proc, reserved space of a disk.
 */
static int drop_rights(struct identity *before)
{
    struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3];

    memcpy(rights, before->rights, sizeof(rights));
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        rights[i].effective = 0;
    before->rights_dropped = set_rights(rights) == 0;
    return before->rights_dropped ? 0 : -1;
}

/* The supplementary groups, with one spare place so that none is no failure. */
static int save_groups(struct identity *before)
{
    int count = getgroups(0, NULL);
    AUTO_FREE gid_t *groups = count >= 0 ? calloc((size_t)count + 1, sizeof(*groups)) : NULL;

    if (!groups || getgroups(count, groups) != count)
        return -1;
    before->groups = TAKE(groups);
    before->group_count = count;
    return 0;
}

int identity_assume(uid_t uid, gid_t gid, struct identity *before)
{
    *before = (struct identity){0};
    if (geteuid() != 0 || uid == 0)
        return 0;
    /* With this bit the kernel leaves a thread that changes its user all its rights. */
    if (prctl(PR_GET_SECUREBITS) & SECBIT_NO_SETUID_FIXUP) {
        errno = EPERM;
        return -1;
    }
    if (save_rights(before) < 0 || save_groups(before) < 0)
        return -1;
    before->assumed = true;
    if (before->group_count && set_groups(0, NULL) < 0) {
        free(TAKE(before->groups));
        *before = (struct identity){0};
        return -1;
    }
    prctl(PR_GET_PDEATHSIG, &before->death_signal);
    before->gid = (gid_t)setfsgid(gid);
    before->uid = (uid_t)setfsuid(uid);
    if (is_acting_as(uid, gid) && drop_rights(before) == 0)
        return 0;
    identity_restore(before);
    errno = EPERM;
    return -1;
}

void identity_restore(struct identity *before)
{
    if (!before->assumed)
        return;
    int saved = errno;

    setfsuid(before->uid);
    setfsgid(before->gid);
    /* A thread that went on without its rights or groups, or as somebody else, would fail in ways that nobody could
     * explain. */
    if (!is_acting_as(before->uid, before->gid) || (before->rights_dropped && set_rights(before->rights) < 0) ||
        (before->group_count && set_groups(before->group_count, before->groups) < 0))
        abort();
    /* The kernel forgets it with every such change. */
    if (before->death_signal)
        prctl(PR_SET_PDEATHSIG, before->death_signal);
    free(before->groups);
    *before = (struct identity){0};
    errno = saved;
}
