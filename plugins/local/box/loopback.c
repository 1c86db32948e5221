#include "loopback.h"

#include <sandlot/sdk/cleanup.h>

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int loopback_start(void)
{
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo"};

    request.ifr_flags = IFF_UP | IFF_RUNNING;
    return fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0 ? 0 : -1;
}
