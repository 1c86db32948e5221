#include "link.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Of what the socket does not take at once, so much waits in memory. */
enum { HEADER = 8, WINDOW = 1 << 20, BACKLOG = 1 << 18 };
enum { MESSAGE = 1, DATA, END, CREDIT };

static void frame(struct link *link, unsigned kind, unsigned stream, uint32_t channel, const void *payload,
                  size_t length)
{
    uint32_t header[2] = {htole32((uint32_t)length | stream << 24 | kind << 28), htole32(channel)};
    bytes_add(&link->out, header, HEADER);
    bytes_add(&link->out, payload, length);
}

static void push(struct link *link)
{
    size_t done = 0;
    while (done < link->out.length) {
        ssize_t written = write(link->watch.fd, link->out.data + done, link->out.length - done);
        if (written < 0)
            break; /* where the other end is gone, reading tells */
        done += (size_t)written;
    }
    bytes_drop(&link->out, done);
    watch_set(&link->watch, EPOLLIN | (link->out.length > 0 ? EPOLLOUT : 0));
}

bool link_flush(struct link *link)
{
    struct outlet *next;
    push(link);
    if (!link->full || link->out.length >= BACKLOG)
        return false;
    link->full = false;
    for (struct outlet *outlet = TAILQ_FIRST(&link->outlets); outlet; outlet = next) {
        next = TAILQ_NEXT(outlet, entry); /* it may end by that */
        outlet->resume(outlet);
    }
    return true;
}

void link_send(struct link *link, struct json_object *message)
{
    size_t length;
    const char *text = json_object_to_json_string_length(message, JSON_C_TO_STRING_PLAIN, &length);
    frame(link, MESSAGE, 0, 0, text, length);
    json_object_put(message);
}

void link_credit(struct link *link, uint32_t channel, size_t length)
{
    uint32_t payload = htole32((uint32_t)length);
    if (length > 0)
        frame(link, CREDIT, 0, channel, &payload, sizeof payload);
}

/* ---- streams that we write ---- */

void outlet_begin(struct link *link, struct outlet *outlet, uint32_t channel, unsigned stream,
                  void (*resume)(struct outlet *))
{
    *outlet = (struct outlet){.channel = channel, .stream = stream, .left = WINDOW, .resume = resume};
    TAILQ_INSERT_TAIL(&link->outlets, outlet, entry);
}

size_t outlet_room(struct link *link, const struct outlet *outlet)
{
    if (link->out.length >= BACKLOG)
        push(link);
    if (link->out.length >= BACKLOG) {
        link->full = true;
        return 0;
    }
    return outlet->left < LINK_PIECE ? outlet->left : LINK_PIECE;
}

/* Who has sent is the last to go on, so that none waits for another. */
void outlet_send(struct link *link, struct outlet *outlet, const char *bytes, size_t length)
{
    outlet->left -= length;
    frame(link, DATA, outlet->stream, outlet->channel, bytes, length);
    TAILQ_REMOVE(&link->outlets, outlet, entry);
    TAILQ_INSERT_TAIL(&link->outlets, outlet, entry);
}

void outlet_end(struct link *link, struct outlet *outlet)
{
    TAILQ_REMOVE(&link->outlets, outlet, entry);
    frame(link, END, outlet->stream, outlet->channel, NULL, 0);
}

/* ---- what comes ---- */

static void take_credit(struct link *link, uint32_t channel, unsigned stream, size_t length)
{
    struct outlet *outlet = TAILQ_FIRST(&link->outlets);
    while (outlet && (outlet->channel != channel || outlet->stream != stream))
        outlet = TAILQ_NEXT(outlet, entry);
    if (!outlet)
        return;
    outlet->left += length;
    outlet->resume(outlet);
}

static void take_message(struct link *link, const char *text, size_t length)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *message = json_tokener_parse_ex(tokener, text, (int)length);
    json_tokener_free(tokener);
    if (!message) {
        link->closed(link);
        return;
    }
    link->message(link, message);
    json_object_put(message);
}

static void take_frame(struct link *link, unsigned what, uint32_t channel, const char *payload, size_t length)
{
    uint32_t credit;
    switch (what >> 4) {
    case MESSAGE:
        take_message(link, payload, length);
        break;
    case DATA:
        link->data(link, channel, payload, length);
        break;
    case END:
        link->end(link, channel);
        break;
    case CREDIT:
        memcpy(&credit, payload, sizeof credit);
        take_credit(link, channel, what & 15, le32toh(credit));
        break;
    default:
        link->closed(link);
    }
}

static void take_frames(struct link *link)
{
    size_t at = 0;
    while (link->in.length - at >= HEADER) {
        const char *begin = link->in.data + at;
        uint32_t header[2];
        memcpy(header, begin, sizeof header);
        size_t length = le32toh(header[0]) & 0xffffff;
        if (link->in.length - at - HEADER < length)
            break;
        take_frame(link, le32toh(header[0]) >> 24, le32toh(header[1]), begin + HEADER, length);
        at += HEADER + length;
    }
    bytes_drop(&link->in, at);
}

static void link_ready(struct watch *watch, uint32_t events)
{
    struct link *link = container_of(watch, struct link, watch);
    char piece[LINK_PIECE];
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0)
        return; /* there is room: the loop writes */
    ssize_t length = read(watch->fd, piece, sizeof piece);
    if (length > 0) {
        bytes_add(&link->in, piece, (size_t)length);
        take_frames(link);
    } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
        link->closed(link);
    }
}

void link_begin(struct link *link, int poll, int fd)
{
    TAILQ_INIT(&link->outlets);
    watch_begin(&link->watch, poll, fd, link_ready);
    watch_set(&link->watch, EPOLLIN);
}
