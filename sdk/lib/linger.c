#include <sandlot/sdk/linger.h>

#include <fcntl.h>
#include <unistd.h>

enum { MOMENT_MS = 800 };

/* Passes a cancellation on, a moment late. */
static void *watch(void *context)
{
    const struct linger *linger = context;
    struct pollfd ends[] = {{linger->stop[0], POLLIN, 0}, {linger->cancel_fd, POLLIN, 0}};

    while (poll(ends, 2, -1) < 0)
        ;
    if (!ends[0].revents)
        poll(ends, 1, MOMENT_MS);
    close(linger->late[1]);
    return NULL;
}

static void close_both(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

void linger_begin(struct linger *linger, struct sandlot_call *call)
{
    *linger = (struct linger){.cancel_fd = call->cancel_fd};
    if (call->deadline_ms > 0)
        call->deadline_ms += MOMENT_MS;
    if (call->cancel_fd < 0 || pipe2(linger->stop, O_CLOEXEC) < 0)
        return;
    if (pipe2(linger->late, O_CLOEXEC) < 0) {
        close_both(linger->stop);
        return;
    }
    linger->watched = pthread_create(&linger->watcher, NULL, watch, linger) == 0;
    if (linger->watched) {
        call->cancel_fd = linger->late[0];
        return;
    }
    close_both(linger->stop);
    close_both(linger->late);
}

void linger_end(struct linger *linger)
{
    if (!linger->watched)
        return;
    close(linger->stop[1]);
    pthread_join(linger->watcher, NULL);
    close(linger->stop[0]);
    close(linger->late[0]);
}
