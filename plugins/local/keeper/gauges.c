#include "gauges.h"

#include "proc.h"

#include <sandlot/sdk/cleanup.h>

#include <limits.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/netlink_diag.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MESSAGE_OVERHEAD = 64, /* bytes of the kernel's for each */
    SEMAPHORE_BYTES = 64,
    DATAGRAMS = 11,    /* that one socket takes unread, net.unix.max_dgram_qlen and the one that is let through */
    PIECE_BYTES = 768, /* that a stream keeps for each piece that was sent, be it one byte */
    BOTH_WAYS = 3,     /* what a socket is shut to whose other end is closed, in both directions */
    ANSWER_BYTES = 32 * 1024
};

/* ---- System V ---- */

/* Adds up what COUNT_LINE finds in each line but the first, which has the titles. */
static uint64_t sum_lines(int fd, uint64_t (*count_line)(const char *line))
{
    static struct lines lines;
    uint64_t sum = 0;

    if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return 0;
    lines.fd = fd;
    lines.at = lines.end = 0;
    for (const char *line = lines_next(&lines); line && (line = lines_next(&lines));)
        sum += count_line(line);
    return sum;
}

static uint64_t segment_bytes(const char *line)
{
    unsigned long long resident = 0;
    unsigned long long swapped = 0;

    sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu", &resident, &swapped);
    return resident + swapped;
}

static uint64_t queue_bytes(const char *line)
{
    unsigned long long bytes = 0;
    unsigned long long messages = 0;

    sscanf(line, "%*s %*s %*s %llu %llu", &bytes, &messages);
    return bytes + (messages + 1) * MESSAGE_OVERHEAD;
}

static uint64_t semaphore_bytes(const char *line)
{
    unsigned long long semaphores = 0;

    sscanf(line, "%*s %*s %*s %llu", &semaphores);
    return (semaphores + 1) * SEMAPHORE_BYTES;
}

uint64_t gauges_system_v(const int gauges[BOX_GAUGES])
{
    return sum_lines(gauges[BOX_GAUGE_SEGMENTS], segment_bytes) + sum_lines(gauges[BOX_GAUGE_MESSAGES], queue_bytes) +
           sum_lines(gauges[BOX_GAUGE_SEMAPHORES], semaphore_bytes);
}

/* ---- sockets ---- */

/* The attribute TYPE among those in LENGTH bytes from FIRST on, if it has SIZE bytes at least; NULL otherwise. */
static const void *attribute(const struct nlattr *first, long length, int type, size_t size)
{
    while (length >= NLA_HDRLEN && first->nla_len >= NLA_HDRLEN && first->nla_len <= length) {
        if (first->nla_type == type)
            return first->nla_len >= NLA_HDRLEN + size ? (const char *)first + NLA_HDRLEN : NULL;
        length -= (long)NLA_ALIGN(first->nla_len);
        first = (const struct nlattr *)(const void *)((const char *)first + NLA_ALIGN(first->nla_len));
    }
    return NULL;
}

/* What one socket can have sent unread: the kernel's limit, as a socket tells that asks for all. */
static uint64_t most_sent(void)
{
    static int most;
    const int all = INT_MAX;
    socklen_t size = sizeof(most);

    if (most)
        return (uint64_t)most;
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &all, sizeof(all)) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &most, &size) < 0)
        return UINT32_MAX;
    return (uint64_t)most;
}

/* What waits to be read from a socket. Of what lies in a datagram socket the kernel tells the first only; of a stream
 * the bytes alone, so that where no sender says any more what they take, it is as much as they can. */
static uint64_t waiting_bytes(const struct unix_diag_msg *message, uint64_t queued, bool sender_is_closed)
{
    if (message->udiag_type == SOCK_DGRAM)
        return queued * DATAGRAMS;
    if (!sender_is_closed)
        return queued;
    return queued < most_sent() / PIECE_BYTES ? queued * PIECE_BYTES : most_sent();
}

/* That, and what the socket has sent that nobody has read. */
static uint64_t local_bytes(const struct nlmsghdr *header)
{
    const struct unix_diag_msg *message = NLMSG_DATA(header);
    const struct nlattr *first = (const struct nlattr *)(const void *)(message + 1);
    const long length = (long)NLMSG_PAYLOAD(header, sizeof(*message));
    const struct unix_diag_rqlen *queues = attribute(first, length, UNIX_DIAG_RQLEN, sizeof(*queues));
    const uint8_t *shut = attribute(first, length, UNIX_DIAG_SHUTDOWN, sizeof(*shut));

    if (!queues || message->udiag_state == TCP_LISTEN)
        return 0;
    return waiting_bytes(message, queues->udiag_rqueue, shut && *shut == BOTH_WAYS) + queues->udiag_wqueue;
}

static uint64_t netlink_bytes(const struct nlmsghdr *header)
{
    const struct netlink_diag_msg *message = NLMSG_DATA(header);
    const uint32_t *memory =
        attribute((const struct nlattr *)(const void *)(message + 1), (long)NLMSG_PAYLOAD(header, sizeof(*message)),
                  NETLINK_DIAG_MEMINFO, (SK_MEMINFO_RMEM_ALLOC + 1) * sizeof(*memory));

    return memory ? memory[SK_MEMINFO_RMEM_ALLOC] : 0;
}

static uint64_t network_bytes(const struct nlmsghdr *header)
{
    const struct inet_diag_msg *message = NLMSG_DATA(header);
    const uint32_t *memory =
        attribute((const struct nlattr *)(const void *)(message + 1), (long)NLMSG_PAYLOAD(header, sizeof(*message)),
                  INET_DIAG_SKMEMINFO, (SK_MEMINFO_WMEM_QUEUED + 1) * sizeof(*memory));

    if (!memory)
        return 0;
    return (uint64_t)memory[SK_MEMINFO_RMEM_ALLOC] + memory[SK_MEMINFO_WMEM_ALLOC] + memory[SK_MEMINFO_WMEM_QUEUED];
}

/* Sends REQUEST and adds up what the answers say. */
static uint64_t ask(int fd, struct nlmsghdr *request, uint64_t (*count_answer)(const struct nlmsghdr *answer))
{
    static _Alignas(struct nlmsghdr) char answers[ANSWER_BYTES];
    uint64_t sum = 0;

    request->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    if (send(fd, request, request->nlmsg_len, MSG_DONTWAIT) < 0)
        return 0;
    /* The answer is there when the request has been sent: the kernel writes a part of it each time one is taken. */
    for (;;) {
        ssize_t got = recv(fd, answers, sizeof(answers), MSG_DONTWAIT);

        if (got <= 0)
            return sum;
        for (const struct nlmsghdr *answer = (const struct nlmsghdr *)(const void *)answers; NLMSG_OK(answer, got);
             answer = NLMSG_NEXT(answer, got)) {
            if (answer->nlmsg_type == NLMSG_DONE || answer->nlmsg_type == NLMSG_ERROR)
                return sum;
            if (answer->nlmsg_type == SOCK_DIAG_BY_FAMILY)
                sum += count_answer(answer);
        }
    }
}

/* Of the one protocol that a box may use (box/walls.c): the kernel goes through the sockets of all boxes, and each
 * protocol has some. */
uint64_t gauges_netlink(const int gauges[BOX_GAUGES])
{
    struct {
        struct nlmsghdr header;
        struct netlink_diag_req request;
    } netlink = {{.nlmsg_len = sizeof(netlink)},
                 {.sdiag_family = AF_NETLINK, .sdiag_protocol = NETLINK_ROUTE, .ndiag_show = NDIAG_SHOW_MEMINFO}};

    return ask(gauges[BOX_GAUGE_SOCKETS], &netlink.header, netlink_bytes);
}

uint64_t gauges_sockets(const int gauges[BOX_GAUGES])
{
    static const uint8_t families[] = {AF_INET, AF_INET6};
    static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP};
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } local = {{.nlmsg_len = sizeof(local)},
               {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_RQLEN}};
    uint64_t sum = ask(gauges[BOX_GAUGE_SOCKETS], &local.header, local_bytes) + gauges_netlink(gauges);

    for (size_t i = 0; i < 4; i++) {
        struct {
            struct nlmsghdr header;
            struct inet_diag_req_v2 request;
        } network = {{.nlmsg_len = sizeof(network)},
                     {.sdiag_family = families[i / 2],
                      .sdiag_protocol = protocols[i % 2],
                      .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
                      .idiag_states = UINT32_MAX}};

        sum += ask(gauges[BOX_GAUGE_SOCKETS], &network.header, network_bytes);
    }
    return sum;
}
