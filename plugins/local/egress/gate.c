/* The way of programs that know no proxy: names become addresses that stand for them, and who dials one is heard. */
#include "egress.h"
#include "names.h"

#include <sandlot/sdk/cleanup.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { QUESTIONS = 32 /* before the others have their turn */, QUESTION_MOST = 4096, LENGTH_BYTES = 2 };

/* ---- names ---- */

/* Answers what the LENGTH BYTES ask for. The length of RESULT; 0: there is no answer. */
static size_t answer(struct egress *egress, const unsigned char *bytes, size_t length, unsigned char result[NAMES_MOST])
{
    struct names_question question;
    address value;

    if (!names_read(bytes, length, &question))
        return 0;
    const bool listed = *question.host.name && policy_names(&egress->policy, &question.host);
    enum names_answer told = listed ? NAMES_NOTHING : NAMES_UNKNOWN;

    /* One line in the log for a program that asks for addresses of both versions. */
    if (!listed && *question.host.name && question.for_address)
        log_name(egress, &question.host);
    if (listed && question.for_address && aliases_give(&egress->aliases, &question.host, &value))
        told = NAMES_ADDRESS;
    return names_write(bytes, &question, told, &value, result);
}

void gate_answer(struct egress *egress)
{
    for (int i = 0; i < QUESTIONS && egress->names_fd >= 0; i++) {
        unsigned char bytes[QUESTION_MOST];
        unsigned char result[NAMES_MOST];
        struct sockaddr_in from;
        socklen_t size = sizeof(from);
        const ssize_t got =
            recvfrom(egress->names_fd, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from, &size);

        if (got < 0)
            return;
        const size_t length = answer(egress, bytes, (size_t)got, result);

        /* Who does not take his answer asks once more. */
        if (length > 0 &&
            sendto(egress->names_fd, result, length, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from, size) < 0)
            continue;
    }
}

/* Takes the next question out of the stream, behind its length. False: it is not all there, or never can be. */
static bool answer_next(struct connection *connection)
{
    struct stream *box = &connection->streams[SIDE_BOX];
    struct stream *back = &connection->streams[SIDE_OUTSIDE];
    const unsigned char *bytes = (const unsigned char *)box->bytes + box->at;
    const size_t there = box->length - box->at;
    const size_t length = there < LENGTH_BYTES ? 0 : (size_t)bytes[0] << 8 | bytes[1];

    if (length == 0 || length > QUESTION_MOST || there - LENGTH_BYTES < length)
        return false;
    unsigned char *result = malloc(LENGTH_BYTES + NAMES_MOST);
    const size_t size = result ? answer(connection->egress, bytes + LENGTH_BYTES, length, result + LENGTH_BYTES) : 0;

    if (size > 0) {
        result[0] = (unsigned char)(size >> 8);
        result[1] = (unsigned char)size;
    }
    back->head = (char *)result;
    back->head_length = size > 0 ? LENGTH_BYTES + size : 0;
    box->at = box->cleared = box->taken = box->at + LENGTH_BYTES + length;
    return size > 0;
}

enum verdict filter_names(struct connection *connection)
{
    const struct stream *box = &connection->streams[SIDE_BOX];

    if (!connection_read(connection, SIDE_BOX))
        return VERDICT_END;
    do {
        if (!connection_write(connection, SIDE_OUTSIDE))
            return VERDICT_END;
        if (connection_pending(connection, SIDE_OUTSIDE)) {
            connection->ends[SIDE_BOX].wanted = EPOLLOUT;
            return VERDICT_WAIT;
        }
    } while (answer_next(connection));
    /* What is not all there may come; what never can be one keeps nothing but its own connection, for a while. */
    if (box->ended || connection->streams[SIDE_OUTSIDE].head || box->length == STREAM_SIZE)
        return VERDICT_END;
    connection->ends[SIDE_BOX].wanted = EPOLLIN;
    return VERDICT_WAIT;
}

/* ---- sockets ---- */

static void close_gate(struct egress *egress)
{
    for (size_t i = 1; i < egress->listener_count; i++) {
        egress_accept(egress, &egress->listeners[i]);
        close(take_fd(&egress->listeners[i].fd));
    }
    if (egress->listener_count > 1)
        egress->listener_count = 1;
    if (egress->names_fd >= 0)
        close(take_fd(&egress->names_fd));
}

void gate_replace(struct egress *egress, const int *fds, size_t count)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &egress->names};

    gate_answer(egress);
    close_gate(egress);
    if (count == 0)
        return;
    egress->names_fd = fds[0];
    epoll_ctl(egress->epoll_fd, EPOLL_CTL_ADD, egress->names_fd, &event);
    for (size_t i = 1; i < count; i++)
        egress_listen(egress, fds[i], i == 1 ? LISTENER_NAMES : LISTENER_DIRECT);
}
