#include "server/stdio.h"

#include "base/cleanup.h"
#include "server/lines.h"
#include "server/parent.h"
#include "server/writer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    CHUNK = 64 * 1024,
    INPUT_GRACE_MS = 1000,  /* for calls that run when the input ends */
    ORPHAN_GRACE_MS = 5000, /* for another process to speak after the parent has gone: launchers fork and leave */
    SETTLE_MS = 1000,
    FLUSH_MS = 500
};

struct stdio {
    struct channel channel; /* first: it is what the server knows */
    struct server *server;
    const struct stdio_options *options;
    struct peer peer;
    struct writer *writer;
    struct lines lines;
    int broken_fd; /* eventfd(2): the output is no use any more */
    int parent_fd;
    int64_t last_message_ms;
    int64_t orphan_ms; /* when the parent was seen to be gone; 0: it is there, or somebody spoke since */
    char chunk[CHUNK];
};

static void send_line(struct channel *channel, enum outgoing kind, const char *text, size_t length, enum rpc_code code)
{
    static const enum writer_manner manners[] = {[OUTGOING_ANSWER] = WRITER_NOW,
                                                 [OUTGOING_RESULT] = WRITER_WAIT,
                                                 [OUTGOING_NOTICE] = WRITER_NOW,
                                                 [OUTGOING_PROGRESS] = WRITER_MAYBE};

    (void)code;
    writer_send(((struct stdio *)channel)->writer, manners[kind], text, length);
}

static void keep(struct channel *channel)
{
    (void)channel; /* it lives as long as stdio_serve */
}

static void on_line(void *context, const char *text, size_t length)
{
    struct stdio *stdio = context;

    server_receive(stdio->server, &stdio->channel, text, length);
}

static void on_long_line(void *context)
{
    struct stdio *stdio = context;

    server_refuse(&stdio->channel, RPC_INVALID_REQUEST, "a message must be at most 16 MiB long");
}

static void on_broken(void *context)
{
    const struct stdio *stdio = context;
    static const uint64_t one = 1;

    while (write(stdio->broken_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}

/* How long to wait for the next event at most; -1: as long as it takes. */
static int patience(struct stdio *stdio)
{
    int64_t now_ms = sandlot_now_ms();
    int64_t until_ms = INT64_MAX;

    if (stdio->options->idle_timeout_ms)
        until_ms = stdio->last_message_ms + stdio->options->idle_timeout_ms;
    if (stdio->orphan_ms && stdio->orphan_ms + ORPHAN_GRACE_MS < until_ms)
        until_ms = stdio->orphan_ms + ORPHAN_GRACE_MS;
    if (until_ms == INT64_MAX)
        return -1;
    if (until_ms <= now_ms)
        return 0;
    return until_ms - now_ms < INT_MAX ? (int)(until_ms - now_ms) : INT_MAX;
}

/* Has one of the limits been reached? */
static bool is_over(struct stdio *stdio, enum stdio_end *end)
{
    int64_t now_ms = sandlot_now_ms();
    int64_t idle_ms = stdio->options->idle_timeout_ms;

    if (stdio->orphan_ms && now_ms >= stdio->orphan_ms + ORPHAN_GRACE_MS) {
        *end = STDIO_ORPHANED;
        return true;
    }
    if (idle_ms && server_is_busy(stdio->server))
        stdio->last_message_ms = now_ms; /* work is no idleness, and neither is the moment after it */
    if (!idle_ms || now_ms < stdio->last_message_ms + idle_ms)
        return false;
    *end = STDIO_IDLE;
    return true;
}

/* Takes what has come. False: it was the end. */
static bool receive(struct stdio *stdio)
{
    ssize_t got = read(stdio->options->input_fd, stdio->chunk, sizeof(stdio->chunk));

    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (got <= 0)
        return false;
    stdio->last_message_ms = sandlot_now_ms();
    stdio->orphan_ms = 0;
    lines_add(&stdio->lines, stdio->chunk, (size_t)got);
    return true;
}

static enum stdio_end serve(struct stdio *stdio)
{
    enum stdio_end end;

    for (;;) {
        struct pollfd fds[] = {{stdio->options->input_fd, POLLIN, 0},
                               {stdio->options->stop_fd, POLLIN, 0},
                               {stdio->broken_fd, POLLIN, 0},
                               {stdio->options->output_fd, 0, 0},
                               {stdio->parent_fd, POLLIN, 0}};

        if (poll(fds, sizeof(fds) / sizeof(fds[0]), patience(stdio)) < 0)
            continue; /* a signal: what it wants stands in stop_fd */
        if (fds[1].revents)
            return STDIO_STOPPED;
        if (fds[2].revents || fds[3].revents & (POLLERR | POLLNVAL))
            return STDIO_BROKEN;
        if (fds[4].revents) {
            close(stdio->parent_fd);
            stdio->parent_fd = -1;
            stdio->orphan_ms = sandlot_now_ms();
        }
        if (fds[0].revents && !receive(stdio))
            return STDIO_INPUT_ENDED;
        if (is_over(stdio, &end))
            return end;
    }
}

static bool start(struct stdio *stdio, struct server *server, const struct stdio_options *options)
{
    stdio->server = server;
    stdio->options = options;
    stdio->channel = (struct channel){.peer = &stdio->peer, .send = send_line, .destroy = keep, .references = 1};
    stdio->lines =
        (struct lines){.longest = SERVER_LONGEST_MESSAGE, .line = on_line, .too_long = on_long_line, .context = stdio};
    stdio->last_message_ms = sandlot_now_ms();
    stdio->parent_fd = parent_watch();
    stdio->broken_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    stdio->writer = stdio->broken_fd >= 0 ? writer_new(options->output_fd, on_broken, stdio) : NULL;
    return stdio->writer != NULL;
}

static void end(struct stdio *stdio)
{
    lines_discard(&stdio->lines);
    writer_free(stdio->writer);
    if (stdio->broken_fd >= 0)
        close(stdio->broken_fd);
    if (stdio->parent_fd >= 0)
        close(stdio->parent_fd);
    free(stdio);
}

enum stdio_end stdio_serve(struct server *server, const struct stdio_options *options, bool *left, bool *stuck)
{
    struct stdio *stdio = calloc(1, sizeof(*stdio));
    enum stdio_end why = STDIO_BROKEN;
    bool started = stdio && start(stdio, server, options);

    if (started) {
        why = serve(stdio);
        if (why == STDIO_INPUT_ENDED)
            lines_end(&stdio->lines);
        if (why == STDIO_BROKEN)
            writer_stop(stdio->writer);
    }
    bool in_peace = why == STDIO_INPUT_ENDED;

    *left = server_stop(server, in_peace ? INPUT_GRACE_MS : 0, in_peace ? options->stop_fd : -1) < 0;
    server_settle(server, SETTLE_MS); /* so that cancelled calls can say so */
    if (started) {
        writer_flush(stdio->writer, FLUSH_MS);
        /* Threads that wait for a client which does not read must not hold up the end. */
        writer_stop(stdio->writer);
    }
    *stuck = !server_free(server);
    if (stdio && !*stuck)
        end(stdio);
    return why;
}
