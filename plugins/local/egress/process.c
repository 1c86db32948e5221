/* What each proxy is made of, with and without an interceptor. */
#include "confine.h"
#include "egress.h"
#include "stand_in.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CONTROL_FD = 3, LOG_FD = 4 };

bool egress_prepare(struct egress *egress)
{
    *egress = (struct egress){.control_fd = CONTROL_FD, .log_fd = LOG_FD, .names_fd = -1, .epoll_fd = -1};
    for (int fd = CONTROL_FD; fd <= LOG_FD; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
            return false;
    prctl(PR_SET_NAME, "sandlot-egress", 0, 0, 0); /* else it is the number of a descriptor */
    signal(SIGPIPE, SIG_IGN);
    stand_in_open();
    if (confine_rights() < 0)
        return false;
    egress->resolver_fd = resolve_start();
    egress->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (egress->resolver_fd < 0 || egress->epoll_fd < 0 || pipe2(egress->pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    /* A user with many pipes is refused that; the smaller one is only slower. */
    fcntl(egress->pipe_fds[1], F_SETPIPE_SZ, STREAM_SIZE);
    return true;
}

int egress_serve(struct egress *egress)
{
    if (confine_calls() == 0)
        egress_run(egress);
    return 1;
}
