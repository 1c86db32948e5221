#include "base/descriptors.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct descriptors {
    pthread_mutex_t lock;
    rlim_t promised;
    rlim_t others; /* that are open, as far as it is known */
    pid_t process; /* a forked child has none of the threads that were promised any */
};

struct descriptors *descriptors_new(void)
{
    struct descriptors *descriptors = calloc(1, sizeof(*descriptors));

    if (!descriptors)
        return NULL;
    pthread_mutex_init(&descriptors->lock, NULL);
    descriptors->process = getpid();
    return descriptors;
}

void descriptors_free(struct descriptors *descriptors)
{
    if (!descriptors)
        return;
    pthread_mutex_destroy(&descriptors->lock);
    free(descriptors);
}

/* Whatever another thread held at that moment. */
static void forget_parent(struct descriptors *descriptors)
{
    pthread_mutex_init(&descriptors->lock, NULL);
    descriptors->promised = 0;
    descriptors->process = getpid();
}

/* How many are open; no more than these are others'. RLIM_INFINITY: nobody can tell. */
static rlim_t count_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    rlim_t count = 0;

    if (!folder)
        return RLIM_INFINITY;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/*
 * A descriptor has the lowest number that is free. While nothing is promised all below FD are others'; later those that
 * are more than was promised. That others have closed some since then shows only if all are counted, which is done
 * before anybody is refused. An eighth of the limit is for what they open meanwhile.
 */
static bool has_room(struct descriptors *descriptors, rlim_t fd, unsigned count)
{
    struct rlimit limit;
    const rlim_t most_kept = 64;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return true;
    const rlim_t kept = limit.rlim_cur / 8 < most_kept ? limit.rlim_cur / 8 : most_kept;
    const rlim_t wanted = descriptors->promised + count + kept;

    if (descriptors->promised == 0 || fd > descriptors->others + descriptors->promised)
        descriptors->others = fd - descriptors->promised;
    if (descriptors->others + wanted <= limit.rlim_cur)
        return true;
    const rlim_t open = count_open();

    if (open < descriptors->others)
        descriptors->others = open;
    return descriptors->others + wanted <= limit.rlim_cur;
}

bool descriptors_promise(struct descriptors *descriptors, int fd, unsigned count)
{
    if (fd < 0)
        return false;
    if (descriptors->process != getpid())
        forget_parent(descriptors);
    pthread_mutex_lock(&descriptors->lock);
    const bool has = has_room(descriptors, (rlim_t)fd, count);

    if (has)
        descriptors->promised += count;
    pthread_mutex_unlock(&descriptors->lock);
    return has;
}

void descriptors_give_back(struct descriptors *descriptors, unsigned count)
{
    if (descriptors->process != getpid())
        return;
    pthread_mutex_lock(&descriptors->lock);
    /* What a forked child gives back may have been promised to its parent. */
    descriptors->promised -= count < descriptors->promised ? count : descriptors->promised;
    pthread_mutex_unlock(&descriptors->lock);
}
