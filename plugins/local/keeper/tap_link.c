#include "tap_link.h"

#include "../network_link.h"

#include <sandlot/sdk/cleanup.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/ipv6.h>
#include <linux/ipv6_route.h>
#include <linux/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { FIRST_FD = 3, MOST_FDS = 256, BITS_6 = 64, LINK_MTU = 65520 /* as pasta has it */ };

static void set_name(struct ifreq *request)
{
    *request = (struct ifreq){0};
    snprintf(request->ifr_name, sizeof(request->ifr_name), "%s", LINK_NAME);
}

static struct sockaddr address_4(const char *text)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr result;

    inet_pton(AF_INET, text, &four.sin_addr);
    memcpy(&result, &four, sizeof(result));
    return result;
}

/* Nobody else has an address there; to look for one would keep version 6 back for seconds. */
static void expect_no_others(void)
{
    AUTO_CLOSE int fd = open("/proc/sys/net/ipv6/conf/" LINK_NAME "/accept_dad", O_WRONLY | O_CLOEXEC);

    if (fd >= 0 && write(fd, "0", 1) < 0)
        return;
}

static int begin(int fd)
{
    struct ifreq request;

    expect_no_others();
    set_name(&request);
    request.ifr_mtu = LINK_MTU;
    if (ioctl(fd, SIOCSIFMTU, &request) < 0)
        return -1;
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    return ioctl(fd, SIOCSIFFLAGS, &request);
}

static int set_version_4(int fd)
{
    struct rtentry route = {.rt_flags = RTF_UP | RTF_GATEWAY,
                            .rt_dst = {.sa_family = AF_INET},
                            .rt_genmask = {.sa_family = AF_INET},
                            .rt_gateway = address_4(LINK_GATEWAY)};
    struct ifreq request;

    set_name(&request);
    request.ifr_addr = address_4(LINK_ADDRESS);
    if (ioctl(fd, SIOCSIFADDR, &request) < 0)
        return -1;
    request.ifr_netmask = address_4(LINK_MASK);
    return ioctl(fd, SIOCSIFNETMASK, &request) < 0 || ioctl(fd, SIOCADDRT, &route) < 0 ? -1 : 0;
}

static int set_version_6(int fd)
{
    AUTO_CLOSE int six = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request;

    set_name(&request);
    if (six < 0 || ioctl(fd, SIOCGIFINDEX, &request) < 0)
        return -1;
    struct in6_ifreq own = {.ifr6_prefixlen = BITS_6, .ifr6_ifindex = request.ifr_ifindex};
    struct in6_rtmsg route = {
        .rtmsg_flags = RTF_UP | RTF_GATEWAY, .rtmsg_metric = 1, .rtmsg_ifindex = request.ifr_ifindex};

    inet_pton(AF_INET6, LINK_ADDRESS_6, &own.ifr6_addr);
    inet_pton(AF_INET6, LINK_GATEWAY_6, &route.rtmsg_gateway);
    return ioctl(six, SIOCSIFADDR, &own) < 0 || ioctl(six, SIOCADDRT, &route) < 0 ? -1 : 0;
}

int tap_link_up(bool four, bool six)
{
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || begin(fd) < 0 || (four && set_version_4(fd) < 0))
        return -1;
    return six ? set_version_6(fd) : 0;
}

int tap_link_find(int pidfd)
{
    for (int number = FIRST_FD; number < MOST_FDS; number++) {
        struct ifreq request = {0};
        AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);

        if (fd >= 0 && ioctl(fd, TUNGETIFF, &request) == 0 && strcmp(request.ifr_name, LINK_NAME) == 0)
            return take_fd(&fd);
    }
    return -1;
}
