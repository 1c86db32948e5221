/*
 * sandlot-egress: the way out of one box. The keeper starts it when something in the box connects to the box's
 * listener, with the socket to the keeper as descriptor 3, the listener as 4, the box's network.log as 5, no arguments
 * and no environment. It ends with the keeper or the box.
 */
#include "confine.h"
#include "egress.h"
#include "stand_in.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CONTROL_FD = 3, LISTENER_FD = 4, LOG_FD = 5 };

int main(void)
{
    struct egress egress = {.control_fd = CONTROL_FD, .listener_fd = LISTENER_FD, .log_fd = LOG_FD};

    for (int fd = CONTROL_FD; fd <= LOG_FD; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
            return 2;
    prctl(PR_SET_NAME, "sandlot-egress", 0, 0, 0); /* else it is the number of a descriptor */
    signal(SIGPIPE, SIG_IGN);
    stand_in_open();
    if (fcntl(LISTENER_FD, F_SETFL, O_NONBLOCK) < 0 || confine_rights() < 0)
        return 1;
    egress.resolver_fd = resolve_start();
    egress.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (egress.resolver_fd < 0 || egress.epoll_fd < 0 || confine_calls() < 0)
        return 1;
    egress_run(&egress);
    return 1;
}
