#include "routes.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

enum { MAPPED_BITS = 96, RECEIVE_BYTES = 1 << 20, MESSAGE_BYTES = 32 * 1024, ANSWER_MS = 5000, BEFORE_ALL = 1 };

int routes_open(void)
{
    AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    const struct sockaddr_nl here = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE};
    const int bytes = RECEIVE_BYTES;

    if (fd < 0 || bind(fd, (const struct sockaddr *)&here, sizeof(here)) < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    return take_fd(&fd);
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

static ssize_t receive(int fd, void *bytes, size_t size, int64_t deadline_ms)
{
    for (;;) {
        struct pollfd ready = {fd, POLLIN, 0};
        const ssize_t got = recv(fd, bytes, size, MSG_DONTWAIT);
        const int64_t left = deadline_ms ? deadline_ms - sandlot_now_ms() : 0;

        if (got >= 0 || (errno != EAGAIN && errno != EINTR) || left <= 0)
            return got;
        if (poll(&ready, 1, (int)left) < 0 && errno != EINTR)
            return -1;
    }
}

int routes_hear(int fd, int64_t deadline_ms, bool (*take)(void *context, const struct route *route), void *context,
                bool *all)
{
    _Alignas(struct nlmsghdr) char bytes[MESSAGE_BYTES];
    const ssize_t got = receive(fd, bytes, sizeof(bytes), deadline_ms);
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

/* ---- closing ---- */

struct closing {
    struct nlmsghdr head;
    struct rtmsg route;
    char attributes[RTA_SPACE(sizeof(address)) + RTA_SPACE(sizeof(uint32_t))];
};

static void add_attribute(struct closing *closing, unsigned short type, const void *value, size_t size)
{
    struct rtattr *attribute = (struct rtattr *)(void *)((char *)closing + NLMSG_ALIGN(closing->head.nlmsg_len));

    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(size);
    memcpy(RTA_DATA(attribute), value, size);
    closing->head.nlmsg_len = NLMSG_ALIGN(closing->head.nlmsg_len) + (uint32_t)RTA_SPACE(size);
}

/* The kernel's answer to what was asked, which may come behind news of routes: 0 or its error. */
static int await_answer(int fd, uint32_t number)
{
    const int64_t deadline_ms = sandlot_now_ms() + ANSWER_MS;

    for (;;) {
        _Alignas(struct nlmsghdr) char bytes[MESSAGE_BYTES];
        const ssize_t got = receive(fd, bytes, sizeof(bytes), deadline_ms);
        const struct nlmsghdr *head = (const struct nlmsghdr *)(void *)bytes;

        if (got < 0)
            return errno;
        for (size_t left = (size_t)got; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left))
            if (head->nlmsg_type == NLMSG_ERROR && head->nlmsg_seq == number)
                return -((const struct nlmsgerr *)NLMSG_DATA(head))->error;
    }
}

int routes_refuse(int fd, const address *network, unsigned bits)
{
    const bool four = address_is_version_4(network) && bits >= MAPPED_BITS;
    const size_t size = four ? sizeof(struct in_addr) : sizeof(struct in6_addr);
    const uint32_t before_all = BEFORE_ALL;
    struct closing closing = {
        .head = {NLMSG_LENGTH(sizeof(struct rtmsg)), RTM_NEWROUTE,
                 NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, BEFORE_ALL, 0},
        /* The kernel's own routes of version 6, of link-local and multicast addresses, are all in the table of what is
         * looked up first, or behind it. Of version 4 both tables are one. */
        .route = {.rtm_family = four ? AF_INET : AF_INET6,
                  .rtm_dst_len = (unsigned char)(bits - (four ? MAPPED_BITS : 0)),
                  .rtm_table = four ? RT_TABLE_MAIN : RT_TABLE_LOCAL,
                  .rtm_protocol = RTPROT_STATIC,
                  .rtm_type = RTN_UNREACHABLE}};

    add_attribute(&closing, RTA_DST, network->s6_addr + sizeof(*network) - size, size);
    add_attribute(&closing, RTA_PRIORITY, &before_all, sizeof(before_all));
    if (send(fd, &closing, closing.head.nlmsg_len, 0) < 0)
        return -1;
    const int failed = await_answer(fd, BEFORE_ALL);

    if (failed == 0 || failed == EEXIST || (!four && (failed == EOPNOTSUPP || failed == EAFNOSUPPORT)))
        return 0;
    errno = failed;
    return -1;
}
