#include "loopback.h"

#include <sandlot/sdk/cleanup.h>

#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int loopback_start(void)
{
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo"};

    request.ifr_flags = IFF_UP | IFF_RUNNING;
    return fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0 ? 0 : -1;
}

int loopback_listen(uint16_t port)
{
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    if (fd < 0 || bind(fd, (const struct sockaddr *)&here, sizeof(here)) < 0 || listen(fd, SOMAXCONN) < 0)
        return -1;
    return take_fd(&fd);
}
