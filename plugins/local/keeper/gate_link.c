#include "gate_link.h"

#include "../egress/address.h"
#include "../network_link.h"
#include "rtnetlink.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

enum { LINK_MTU = 65520 };

/* What each end is called, and its addresses. */
static const struct end {
    const char *name;
    const char *address;
    const char *address_6;
} ends[] = {
    [GATE_END_BOX] = {GATE_LINK, LINK_ADDRESS, LINK_ADDRESS_6},
    [GATE_END_GATE] = {GATE_LINK_BACK, LINK_GATEWAY, LINK_GATEWAY_6},
};

int gate_link_make(int fd, int box_fd)
{
    const struct ifinfomsg device = {.ifi_family = AF_UNSPEC};
    struct request request;

    request_begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &device, sizeof(device));
    request_add_text(&request, IFLA_IFNAME, ends[GATE_END_GATE].name);
    request_add_number(&request, IFLA_MTU, LINK_MTU);
    struct rtattr *info = request_enter(&request, IFLA_LINKINFO, NULL, 0);

    request_add_text(&request, IFLA_INFO_KIND, "veth");
    struct rtattr *data = request_enter(&request, IFLA_INFO_DATA, NULL, 0);
    struct rtattr *peer = request_enter(&request, VETH_INFO_PEER, &device, sizeof(device));

    request_add_text(&request, IFLA_IFNAME, ends[GATE_END_BOX].name);
    request_add_number(&request, IFLA_MTU, LINK_MTU);
    request_add_number(&request, IFLA_NET_NS_FD, (uint32_t)box_fd);
    request_leave(&request, peer);
    request_leave(&request, data);
    request_leave(&request, info);
    return request_send(fd, &request);
}

/* The device makes itself no address of version 6: behind one a box could have neighbours without number, whom the
 * kernel counts for the whole machine. A kernel that does not speak that version refuses, and makes none either. */
static void make_no_addresses(int fd, unsigned index)
{
    const struct ifinfomsg device = {.ifi_index = (int)index};
    const uint8_t none = IN6_ADDR_GEN_MODE_NONE;
    struct request request;

    request_begin(&request, RTM_NEWLINK, 0, &device, sizeof(device));
    struct rtattr *families = request_enter(&request, IFLA_AF_SPEC, NULL, 0);
    struct rtattr *version_6 = request_enter(&request, AF_INET6, NULL, 0);

    request_add(&request, IFLA_INET6_ADDR_GEN_MODE, &none, sizeof(none));
    request_leave(&request, version_6);
    request_leave(&request, families);
    request_send(fd, &request);
}

static int add_address(int fd, unsigned index, const char *text)
{
    address value = {0};

    address_parse(text, &value);
    const bool four = address_is_version_4(&value);
    const size_t size = four ? sizeof(struct in_addr) : sizeof(struct in6_addr);
    const void *bytes = value.s6_addr + sizeof(value) - size;
    const struct ifaddrmsg kind = {.ifa_family = four ? AF_INET : AF_INET6,
                                   .ifa_prefixlen =
                                       four ? (unsigned char)strtoul(LINK_BITS, NULL, 10) : (unsigned char)GATE_BITS_6,
                                   .ifa_flags = IFA_F_NODAD,
                                   .ifa_index = index};
    struct request request;

    request_begin(&request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &kind, sizeof(kind));
    request_add(&request, IFA_LOCAL, bytes, size);
    request_add(&request, IFA_ADDRESS, bytes, size);
    return request_send(fd, &request) == 0 || errno == EEXIST ? 0 : -1;
}

int gate_link_start(int fd, enum gate_end end, bool with_6)
{
    const unsigned index = if_nametoindex(ends[end].name);
    const struct ifinfomsg up = {.ifi_index = (int)index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct request request;

    if (!index)
        return -1;
    make_no_addresses(fd, index);
    if (add_address(fd, index, ends[end].address) < 0)
        return -1;
    if (with_6 && add_address(fd, index, ends[end].address_6) < 0 && errno != EOPNOTSUPP && errno != EACCES)
        return -1;
    request_begin(&request, RTM_NEWLINK, 0, &up, sizeof(up));
    return request_send(fd, &request);
}

int gate_link_remove(void)
{
    const unsigned index = if_nametoindex(ends[GATE_END_BOX].name);
    const struct ifinfomsg device = {.ifi_index = (int)index};
    AUTO_CLOSE int fd = rtnetlink_open(0);
    struct request request;

    if (!index)
        return 0;
    if (fd < 0)
        return -1;
    request_begin(&request, RTM_DELLINK, 0, &device, sizeof(device));
    return request_send(fd, &request);
}
