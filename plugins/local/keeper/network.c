#include "network.h"

#include "../box/loopback.h"
#include "thread.h"

#include <sandlot/sdk/cleanup.h>

#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum { NETWORK_STACK = 64 * 1024 };

/* The thread that makes them, of which the process has one. */
static struct {
    sem_t wanted;
    atomic_int fd; /* -1: there is none */
    int home_fd;
} ahead = {.fd = -1};

static int open_network(void)
{
    return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* -1 on failure: then boxes make their own. */
static int make_network(void)
{
    /* Safe: leaves the machine's network for an empty one, in which this thread does nothing else. */
    if (unshare(CLONE_NEWNET) < 0)
        return -1;
    AUTO_CLOSE int fd = open_network();
    const bool up = fd >= 0 && loopback_start() == 0;

    /* Safe: back into its own. A namespace that it cannot leave is not one for a box alone. */
    return setns(ahead.home_fd, CLONE_NEWNET) == 0 && up ? take_fd(&fd) : -1;
}

static void *make_ahead(void *nothing)
{
    (void)nothing;
    for (;;) {
        if (sem_wait(&ahead.wanted) == 0 && atomic_load(&ahead.fd) < 0)
            atomic_store(&ahead.fd, make_network());
    }
    return NULL;
}

void network_start(struct network *network)
{
    network->home_fd = -1;
    if (geteuid() != 0 || sem_init(&ahead.wanted, 0, 0) < 0)
        return;
    AUTO_CLOSE int home = open_network();

    ahead.home_fd = home;
    if (home >= 0 && thread_start(make_ahead, NETWORK_STACK) == 0)
        network->home_fd = take_fd(&home);
}

int network_take(void)
{
    return atomic_exchange(&ahead.fd, -1);
}

void network_want(const struct network *network)
{
    if (network->home_fd >= 0)
        sem_post(&ahead.wanted);
}
