/* What commands dial by CONNECT is asked of the box's wall, which is the emulator's: see ../outside.mjs. */
#include "agent.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PROXY_PORT = 3128, LONGEST_HEAD = 1 << 16, LONGEST_HOST = 256 };

/* In this order. */
enum stage { CONNECTING, ASKED, CONNECTED, ANSWERED };

struct visitor {
    LIST_ENTRY(visitor) entry;
    struct agent *agent;
    struct watch watch;
    enum stage stage;
    struct bytes head;
    int64_t number; /* of the dialling */
    char host[LONGEST_HOST];
    int port;
};

static void leave(struct visitor *visitor)
{
    watch_end(&visitor->watch);
    bytes_free(&visitor->head);
    LIST_REMOVE(visitor, entry);
    free(visitor);
}

/* A short answer, which any socket has room for. */
static void say(struct visitor *visitor, const char *text)
{
    ssize_t written = write(visitor->watch.fd, text, strlen(text));
    (void)written; /* who has gone is noticed by the next read */
}

static void say_last(struct visitor *visitor, const char *text)
{
    say(visitor, text);
    shutdown(visitor->watch.fd, SHUT_WR);
    visitor->stage = ANSWERED;
    watch_set(&visitor->watch, EPOLLIN);
}

/* ---- what has been asked ---- */

/* "CONNECT HOST:PORT ...", where HOST may be in brackets: sets both. */
static bool read_request(struct visitor *visitor, char *line)
{
    static const char method[] = "CONNECT ";
    char *host = line + strlen(method), *end, *colon, *rest;
    if (strncmp(line, method, strlen(method)) != 0 || !(end = strchr(host, ' ')))
        return false;
    *end = '\0';
    colon = strrchr(host, ':');
    if (!colon || !isdigit((unsigned char)colon[1]))
        return false;
    visitor->port = (int)strtol(colon + 1, &rest, 10);
    host += *host == '[';
    colon -= colon > host && colon[-1] == ']';
    *colon = '\0';
    snprintf(visitor->host, sizeof visitor->host, "%s", host);
    return *rest == '\0' && *host && !strpbrk(host, "]\r\n");
}

static struct json_object *event_with_target(const struct visitor *visitor, const char *name)
{
    struct json_object *event = json_object_new_object();
    json_object_object_add(event, "event", json_object_new_string(name));
    json_object_object_add(event, "host", json_object_new_string(visitor->host));
    json_object_object_add(event, "port", json_object_new_int(visitor->port));
    return event;
}

static void dial(struct visitor *visitor)
{
    if (!read_request(visitor, visitor->head.data)) {
        say_last(visitor, "HTTP/1.1 405 Method Not Allowed\r\n\r\n");
        return;
    }
    struct json_object *event = event_with_target(visitor, "dial");
    visitor->number = ++visitor->agent->dialled;
    json_object_object_add(event, "number", json_object_new_int64(visitor->number));
    link_send(&visitor->agent->link, event);
    visitor->stage = ASKED;
    watch_set(&visitor->watch, 0);
}

static void add_header(struct json_object *headers, char *line)
{
    char *colon = strchr(line, ':');
    if (!colon)
        return;
    *colon++ = '\0';
    for (char *letter = line; *letter; letter++)
        *letter = (char)tolower((unsigned char)*letter);
    colon += strspn(colon, " \t");
    for (size_t length = strlen(colon); length > 0 && strchr(" \t\r", colon[length - 1]); length--)
        colon[length - 1] = '\0';
    json_object_object_add(headers, line, json_object_new_string(colon));
}

/* The request after CONNECT has come: every host answers alike. */
static void serve(struct visitor *visitor)
{
    struct json_object *event = event_with_target(visitor, "ask"), *headers = json_object_new_object();
    char text[LONGEST_HOST + 32], response[LONGEST_HOST + 128], *rest = visitor->head.data, *line;
    strsep(&rest, "\n"); /* the request itself */
    while ((line = strsep(&rest, "\n")))
        add_header(headers, line);
    json_object_object_add(event, "headers", headers);
    link_send(&visitor->agent->link, event);
    snprintf(text, sizeof text, "reached %s:%d\n", visitor->host, visitor->port);
    snprintf(response, sizeof response, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
             strlen(text), text);
    say_last(visitor, response);
}

/* ---- connections ---- */

static void take_head(struct visitor *visitor)
{
    bytes_add(&visitor->head, "", 1);
    if (visitor->stage == CONNECTING)
        dial(visitor);
    else
        serve(visitor);
}

static void visitor_ready(struct watch *watch, uint32_t events)
{
    struct visitor *visitor = container_of(watch, struct visitor, watch);
    char piece[4096];
    ssize_t length = read(watch->fd, piece, sizeof piece);
    if (length < 0 && errno == EAGAIN && (events & EPOLLERR) == 0)
        return;
    if (length < 0 || visitor->stage == ASKED || (length == 0 && visitor->stage == ANSWERED)) {
        leave(visitor);
        return;
    }
    if (visitor->stage == ANSWERED)
        return;
    bytes_add(&visitor->head, piece, (size_t)length);
    char *end = visitor->head.length > 0 ? memmem(visitor->head.data, visitor->head.length, "\r\n\r\n", 4) : NULL;
    if (end)
        visitor->head.length = (size_t)(end - visitor->head.data);
    if (end || length == 0 || visitor->head.length > LONGEST_HEAD)
        take_head(visitor);
}

static void visitor_comes(struct watch *watch, uint32_t events)
{
    struct agent *agent = container_of(watch, struct agent, outside);
    int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    (void)events;
    if (fd < 0)
        return;
    struct visitor *visitor = claim(sizeof *visitor);
    visitor->agent = agent;
    LIST_INSERT_HEAD(&agent->visitors, visitor, entry);
    watch_begin(&visitor->watch, agent->poll, fd, visitor_ready);
    watch_set(&visitor->watch, EPOLLIN);
}

void outside_dialled(struct agent *agent, struct json_object *message)
{
    struct visitor *visitor = LIST_FIRST(&agent->visitors);
    while (visitor && (visitor->stage != ASKED || visitor->number != number_of(message, "number", 0)))
        visitor = LIST_NEXT(visitor, entry);
    if (!visitor)
        return; /* has gone since */
    if (!is_set(message, "allowed")) {
        say_last(visitor, "HTTP/1.1 403 Forbidden\r\n\r\n");
        return;
    }
    say(visitor, "HTTP/1.1 200 Connected\r\n\r\n");
    visitor->stage = CONNECTED;
    visitor->head.length = 0;
    watch_set(&visitor->watch, EPOLLIN);
}

bool outside_begin(struct agent *agent)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(PROXY_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, SOMAXCONN) != 0)
        return false;
    watch_begin(&agent->outside, agent->poll, fd, visitor_comes);
    watch_set(&agent->outside, EPOLLIN);
    return true;
}
