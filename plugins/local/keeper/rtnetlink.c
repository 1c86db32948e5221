#include "rtnetlink.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <string.h>
#include <sys/socket.h>

enum { RECEIVE_BYTES = 1 << 20, MESSAGE_BYTES = 32 * 1024, ANSWER_MS = 5000, NUMBER = 1 };

int rtnetlink_open(unsigned groups)
{
    AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    const struct sockaddr_nl here = {.nl_family = AF_NETLINK, .nl_groups = groups};
    const int bytes = RECEIVE_BYTES;

    if (fd < 0 || bind(fd, (const struct sockaddr *)&here, sizeof(here)) < 0)
        return -1;
    if (groups)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    return take_fd(&fd);
}

ssize_t rtnetlink_receive(int fd, void *bytes, size_t size, int64_t deadline_ms)
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

/* Where the next attribute goes. */
static void *end_of(struct request *request)
{
    return (char *)request + NLMSG_ALIGN(request->head.nlmsg_len);
}

void request_begin(struct request *request, uint16_t type, uint16_t flags, const void *fixed, size_t size)
{
    memset(request, 0, sizeof(*request));
    request->head =
        (struct nlmsghdr){(uint32_t)NLMSG_LENGTH(size), type, (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags), NUMBER, 0};
    memcpy(NLMSG_DATA(&request->head), fixed, size);
}

void request_add(struct request *request, unsigned short type, const void *value, size_t size)
{
    struct rtattr *attribute = end_of(request);

    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(size);
    if (size > 0)
        memcpy(RTA_DATA(attribute), value, size);
    request->head.nlmsg_len = NLMSG_ALIGN(request->head.nlmsg_len) + (uint32_t)RTA_SPACE(size);
}

void request_add_text(struct request *request, unsigned short type, const char *text)
{
    request_add(request, type, text, strlen(text) + 1);
}

void request_add_number(struct request *request, unsigned short type, uint32_t number)
{
    request_add(request, type, &number, sizeof(number));
}

struct rtattr *request_enter(struct request *request, unsigned short type, const void *fixed, size_t size)
{
    struct rtattr *nest = end_of(request);

    request_add(request, type, fixed, size);
    return nest;
}

void request_leave(struct request *request, struct rtattr *nest)
{
    nest->rta_len = (unsigned short)((char *)end_of(request) - (char *)nest);
}

/* The kernel's answer, which may come behind news of other things: 0 or its error. */
static int await_answer(int fd)
{
    const int64_t deadline_ms = sandlot_now_ms() + ANSWER_MS;

    for (;;) {
        _Alignas(struct nlmsghdr) char bytes[MESSAGE_BYTES];
        const ssize_t got = rtnetlink_receive(fd, bytes, sizeof(bytes), deadline_ms);
        const struct nlmsghdr *head = (const struct nlmsghdr *)(void *)bytes;

        if (got < 0)
            return errno;
        for (size_t left = (size_t)got; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left))
            if (head->nlmsg_type == NLMSG_ERROR && head->nlmsg_seq == NUMBER)
                return -((const struct nlmsgerr *)NLMSG_DATA(head))->error;
    }
}

int request_send(int fd, struct request *request)
{
    if (send(fd, request, request->head.nlmsg_len, 0) < 0)
        return -1;
    const int failed = await_answer(fd);

    if (failed == 0)
        return 0;
    errno = failed;
    return -1;
}
