#include "outside.h"

#include "boxes.h"
#include "outside_guard.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { OPEN_LIMIT_MS = 15000, CLOSE_LIMIT_MS = 3000 };

void outside_prepare(struct outside *outside, struct box *box, int network_fd, int user_fd)
{
    *outside = (struct outside){.source = {SOURCE_OUTSIDE},
                                .box = box,
                                .network_fd = network_fd,
                                .user_fd = user_fd,
                                .guard_fd = -1,
                                .pid = -1};
}

/* Waits until the guard ends or says something; *LENGTH bytes of TEXT, 0: it has ended. False: it is late. */
static bool listen_to_guard(const struct outside *outside, int limit_ms, char *text, size_t size, ssize_t *length)
{
    const int64_t end = sandlot_now_ms() + limit_ms;
    struct pollfd ready = {outside->guard_fd, POLLIN, 0};
    int64_t left;

    while ((left = end - sandlot_now_ms()) > 0) {
        if (poll(&ready, 1, (int)left) <= 0)
            continue;
        *length = recv(outside->guard_fd, text, size, MSG_DONTWAIT);
        if (*length >= 0 || (errno != EAGAIN && errno != EINTR))
            return true;
    }
    return false;
}

/* pasta goes with its guard: by its own word, or where that does not come by the kernel's. */
static void dismiss(struct outside *outside)
{
    char byte;
    ssize_t length;

    if (outside->pid > 0) {
        shutdown(outside->guard_fd, SHUT_WR);
        listen_to_guard(outside, CLOSE_LIMIT_MS, &byte, 1, &length);
        kill(outside->pid, SIGKILL);
        while (waitpid(outside->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (outside->guard_fd >= 0)
        close(take_fd(&outside->guard_fd));
    outside->pid = -1;
}

static int start(struct outside *outside, char *reason, size_t size)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        snprintf(reason, size, "no socket can be made for the open network: %s; raise the limit of open files",
                 strerror(errno));
        return -1;
    }
    AUTO_CLOSE int theirs = pair[1];
    const struct outside_guard guard = {outside->network_fd, outside->user_fd, theirs, getpid()};

    outside->guard_fd = pair[0];
    outside->pid = _Fork(); /* the keeper has threads: thread.h */
    if (outside->pid == 0)
        outside_guard_become(&guard);
    if (outside->pid > 0)
        return 0;
    snprintf(reason, size, "no process can be made for the open network: %s; try again", strerror(errno));
    close(take_fd(&outside->guard_fd));
    return -1;
}

/* Hears whether it is open. */
static int await(const struct outside *outside, char *reason, size_t size)
{
    char text[OUTSIDE_GUARD_TEXT] = "";
    ssize_t length = 0;

    if (!listen_to_guard(outside, OPEN_LIMIT_MS, text, sizeof(text) - 1, &length))
        snprintf(reason, size, "the network of the box was not open in time; the machine is busy, try again");
    else if (length == 1 && text[0] == OUTSIDE_GUARD_READY)
        return 0;
    else
        snprintf(reason, size, "the network of the box cannot be opened: %s",
                 length > 0 ? text : "its guard was killed; try again");
    return -1;
}

int outside_open(struct keeper *keeper, struct outside *outside, char *reason, size_t size)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &outside->source};

    if (outside->box && outside->guard_fd >= 0)
        return 0;
    if (!outside->box || outside->user_fd < 0 || outside->network_fd < 0) {
        snprintf(reason, size,
                 "the network of this sandbox cannot be opened any more: it was made for all sandboxes of root alike; "
                 "create one with --network open");
        return -1;
    }
    if (start(outside, reason, size) < 0)
        return -1;
    if (await(outside, reason, size) == 0 && epoll_ctl(keeper->epoll_fd, EPOLL_CTL_ADD, outside->guard_fd, &event) == 0)
        return 0;
    dismiss(outside);
    return -1;
}

void outside_close(struct outside *outside)
{
    if (outside->box)
        dismiss(outside);
}

void outside_heard(const struct keeper *keeper, struct outside *outside)
{
    dismiss(outside);
    way_break(keeper, &outside->box->way);
}

void outside_end(struct outside *outside)
{
    if (!outside->box)
        return;
    dismiss(outside);
    if (outside->network_fd >= 0)
        close(take_fd(&outside->network_fd));
    if (outside->user_fd >= 0)
        close(take_fd(&outside->user_fd));
}
