#include "operations/stall.h"

#include "base/error.h"
#include "operations/files.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

void stall_moved(const struct stall *stall)
{
    const struct itimerspec limit = {.it_value = {.tv_sec = FILE_STALL_MS / 1000}};

    timerfd_settime(stall->timer_fd, 0, &limit, NULL);
}

static bool watch(const struct stall *stall, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(stall->fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

int stall_start(struct stall *stall, int cancel_fd, struct sandlot_error *error)
{
    *stall = (struct stall){epoll_create1(EPOLL_CLOEXEC), timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                            cancel_fd};
    if (stall->fd < 0 || stall->timer_fd < 0 || !watch(stall, stall->timer_fd) ||
        (cancel_fd >= 0 && !watch(stall, cancel_fd)))
        return error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "cannot watch over a transfer: %s", strerror(errno));
    stall_moved(stall);
    return 0;
}

void stall_end(struct stall *stall)
{
    if (stall->fd >= 0)
        close(stall->fd);
    if (stall->timer_fd >= 0)
        close(stall->timer_fd);
    stall->fd = stall->timer_fd = -1;
}

void stall_explain(const struct stall *stall, const char *shown, struct sandlot_error *error)
{
    struct pollfd fds[2] = {{stall->timer_fd, POLLIN, 0}, {stall->cancel_fd, POLLIN, 0}};

    if (!error || error->code != SANDLOT_CODE_CANCELLED || poll(fds, 2, 0) <= 0 || fds[1].revents)
        return;
    sandlot_error_clear(error);
    error_set(error, SANDLOT_CODE_TIMEOUT,
              "the transfer of '%s' was given up because nothing moved for %d s; try again", shown,
              FILE_STALL_MS / 1000);
}
