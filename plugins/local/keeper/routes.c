#include "routes.h"

#include "rtnetlink.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { MAPPED_BITS = 96, MESSAGE_BYTES = 32 * 1024, BEFORE_ALL = 1, LOOPBACK = 1 };

static bool is_four(const address *network, unsigned bits)
{
    return address_is_version_4(network) && bits >= MAPPED_BITS;
}

int routes_open(void)
{
    return rtnetlink_open(RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE);
}

/* ---- reading ---- */

int routes_ask(int fd)
{
    const struct {
        struct nlmsghdr head;
        struct rtmsg route;
    } request = {{sizeof(request), RTM_GETROUTE, NLM_F_REQUEST | NLM_F_DUMP, 0, 0}, {.rtm_family = AF_UNSPEC}};

    return send(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request) ? 0 : -1;
}

/* False: it is no route of the internet. */
static bool read_route(const struct nlmsghdr *head, struct route *route)
{
    const struct rtmsg *message = NLMSG_DATA(head);
    const struct rtattr *attribute = RTM_RTA(message);
    const bool four = message->rtm_family == AF_INET;
    const size_t size = four ? sizeof(struct in_addr) : sizeof(struct in6_addr);

    if (head->nlmsg_len < NLMSG_LENGTH(sizeof(*message)) || (!four && message->rtm_family != AF_INET6))
        return false;
    *route = (struct route){.bits = message->rtm_dst_len + (four ? MAPPED_BITS : 0U),
                            .own = message->rtm_type == RTN_LOCAL || message->rtm_type == RTN_BROADCAST ||
                                   message->rtm_type == RTN_ANYCAST};
    route->by_default = message->rtm_dst_len == 0 && message->rtm_type == RTN_UNICAST;
    if (four)
        memset(route->network.s6_addr + 10, 0xff, 2);
    for (int left = (int)RTM_PAYLOAD(head); RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
        if (attribute->rta_type == RTA_DST && RTA_PAYLOAD(attribute) >= size)
            memcpy(route->network.s6_addr + sizeof(route->network) - size, RTA_DATA(attribute), size);
    return true;
}

int routes_hear(int fd, int64_t deadline_ms, bool (*take)(void *context, const struct route *route), void *context,
                bool *all)
{
    _Alignas(struct nlmsghdr) char bytes[MESSAGE_BYTES];
    const ssize_t got = rtnetlink_receive(fd, bytes, sizeof(bytes), deadline_ms);
    const struct nlmsghdr *head = (const struct nlmsghdr *)(void *)bytes;
    struct route route;

    if (got < 0)
        return -1;
    for (size_t left = (size_t)got; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
        *all = *all || head->nlmsg_type == NLMSG_DONE;
        if (head->nlmsg_type == RTM_NEWROUTE && read_route(head, &route) && !take(context, &route)) {
            errno = ECANCELED;
            return -1;
        }
    }
    return 0;
}

/* ---- changing ---- */

/* A route to NETWORK, to which attributes may still be added. */
static void begin_route(struct request *request, uint16_t type, uint16_t flags, const address *network, unsigned bits,
                        const struct rtmsg *kind)
{
    const bool four = is_four(network, bits);
    const size_t size = four ? sizeof(struct in_addr) : sizeof(struct in6_addr);
    struct rtmsg route = *kind;

    route.rtm_family = four ? AF_INET : AF_INET6;
    route.rtm_dst_len = (unsigned char)(bits - (four ? MAPPED_BITS : 0));
    route.rtm_protocol = RTPROT_STATIC;
    request_begin(request, type, flags, &route, sizeof(route));
    request_add(request, RTA_DST, network->s6_addr + sizeof(*network) - size, size);
}

int routes_refuse(int fd, const address *network, unsigned bits)
{
    const bool four = is_four(network, bits);
    /* The kernel's own routes of version 6, of link-local and multicast addresses, are all in the table of what is
     * looked up first, or behind it. Of version 4 both tables are one. */
    const struct rtmsg kind = {.rtm_table = four ? RT_TABLE_MAIN : RT_TABLE_LOCAL, .rtm_type = RTN_UNREACHABLE};
    struct request request;

    begin_route(&request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, network, bits, &kind);
    request_add_number(&request, RTA_PRIORITY, BEFORE_ALL);
    if (request_send(fd, &request) == 0 || errno == EEXIST)
        return 0;
    return !four && (errno == EOPNOTSUPP || errno == EAFNOSUPPORT) ? 0 : -1;
}

/* 0 also if it is already as it is to be. */
static int change(int fd, struct request *request)
{
    return request_send(fd, request) == 0 || errno == EEXIST || errno == ESRCH ? 0 : -1;
}

static uint16_t type_of(enum route_change wanted)
{
    return wanted == ROUTE_ADD ? RTM_NEWROUTE : RTM_DELROUTE;
}

static uint16_t flags_of(enum route_change wanted)
{
    return wanted == ROUTE_ADD ? NLM_F_CREATE | NLM_F_EXCL : 0;
}

int routes_take_in(int fd, enum route_change wanted, const address *network, unsigned bits)
{
    const struct rtmsg kind = {.rtm_table = RT_TABLE_LOCAL, .rtm_type = RTN_LOCAL, .rtm_scope = RT_SCOPE_HOST};
    struct request request;

    begin_route(&request, type_of(wanted), flags_of(wanted), network, bits, &kind);
    request_add_number(&request, RTA_OIF, LOOPBACK);
    return change(fd, &request);
}

int routes_lead(int fd, enum route_change wanted, const address *network, unsigned bits, const address *gateway)
{
    const bool four = is_four(network, bits);
    const size_t size = four ? sizeof(struct in_addr) : sizeof(struct in6_addr);
    const struct rtmsg kind = {.rtm_table = RT_TABLE_MAIN, .rtm_type = RTN_UNICAST};
    struct request request;

    begin_route(&request, type_of(wanted), flags_of(wanted), network, bits, &kind);
    request_add(&request, RTA_GATEWAY, gateway->s6_addr + sizeof(*gateway) - size, size);
    return change(fd, &request);
}
