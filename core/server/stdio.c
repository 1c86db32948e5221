/*
 * Some threads take turns at reading. If a message brings a call the one that has the turn passes it on and runs the
 * call itself: so no call waits for a thread to wake up, and there is always one that reads. The thread that serves
 * watches for all other reasons to end.
 */
#include "server/stdio.h"

#include "base/cleanup.h"
#include "server/lines.h"
#include "server/parent.h"
#include "server/writer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sandlot/provider.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    READERS = 3, /* one that has the turn, one that runs a call, one that has just done so */
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
    int broken_fd; /* eventfd(2): the output is no use any more */
    int over_fd;   /* eventfd(2): nothing is read any more */
    int parent_fd;
    _Atomic int64_t last_message_ms;
    _Atomic int64_t orphan_ms; /* when the parent was seen to be gone; 0: it is there, or somebody spoke since */
    pthread_t readers[READERS];
    size_t reader_count;
    int wake_fd;            /* epoll(7): the input, for one thread at a time, and over_fd */
    bool takes_turns;       /* else there is one reader, for a file: epoll(7) does not know those */
    atomic_uint waiting;    /* readers that wait for input */
    sem_t leave;            /* one for each reader that may end */
    pthread_mutex_t taking; /* input, and all below */
    bool over;
    struct lines lines;
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

static void raise_event(int fd)
{
    static const uint64_t one = 1;

    while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}

static void on_broken(void *context)
{
    raise_event(((const struct stdio *)context)->broken_fd);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Gives the turn to whichever reader is the first to see input. */
static bool pass_turn(const struct stdio *stdio, int operation)
{
    struct epoll_event input = {.events = EPOLLIN | EPOLLONESHOT};

    return epoll_ctl(stdio->wake_fd, operation, stdio->options->input_fd, &input) == 0;
}

/* Returns with the turn, or at the end. */
static void wait_for_turn(struct stdio *stdio)
{
    struct epoll_event event;

    if (!stdio->takes_turns)
        return;
    atomic_fetch_add(&stdio->waiting, 1);
    while (epoll_wait(stdio->wake_fd, &event, 1, -1) < 0 && errno == EINTR)
        continue;
    atomic_fetch_sub(&stdio->waiting, 1);
}

/* With the turn. */
static void wait_for_input(const struct stdio *stdio)
{
    struct pollfd fds[] = {{stdio->options->input_fd, POLLIN, 0}, {stdio->over_fd, POLLIN, 0}};

    while (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0 && errno == EINTR)
        continue;
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

/* With the turn, and input. *CALL is one to be run, with the turn passed on, or NULL. False: nothing more is read. */
static bool take_messages(struct stdio *stdio, struct call **call)
{
    *call = NULL;
    pthread_mutex_lock(&stdio->taking);
    if (!stdio->over) {
        /* Without another one that reads meanwhile this thread must not run anything. */
        bool offers = stdio->waiting > 0;

        if (offers)
            server_offer(stdio->server);
        bool goes_on = receive(stdio);

        if (offers)
            *call = server_claim(stdio->server);
        if (!goes_on || (*call && !pass_turn(stdio, EPOLL_CTL_MOD))) {
            stdio->over = true;
            raise_event(stdio->over_fd);
        }
    }
    bool goes_on = !stdio->over;

    pthread_mutex_unlock(&stdio->taking);
    return goes_on;
}

/* Stays until the end, because what a provider has started may be tied to the life of this thread. */
static void *read_input(void *argument)
{
    struct stdio *stdio = argument;
    bool goes_on = true;

    while (goes_on) {
        struct call *call;

        wait_for_turn(stdio);
        while ((goes_on = take_messages(stdio, &call)) && !call)
            wait_for_input(stdio);
        if (call)
            server_run(stdio->server, call);
    }
    while (sem_wait(&stdio->leave) < 0 && errno == EINTR)
        continue;
    return NULL;
}

/* False: there is no thread at all. */
static bool start_reading(struct stdio *stdio)
{
    struct epoll_event over = {.events = EPOLLIN};
    sigset_t all;
    sigset_t old;

    stdio->wake_fd = epoll_create1(EPOLL_CLOEXEC);
    if (stdio->wake_fd < 0 || epoll_ctl(stdio->wake_fd, EPOLL_CTL_ADD, stdio->over_fd, &over) < 0)
        return false;
    stdio->takes_turns = pass_turn(stdio, EPOLL_CTL_ADD);
    size_t wanted = stdio->takes_turns ? READERS : 1;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the main thread */
    while (stdio->reader_count < wanted &&
           pthread_create(&stdio->readers[stdio->reader_count], NULL, read_input, stdio) == 0)
        stdio->reader_count++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return stdio->reader_count > 0;
}

/* After this no message is taken. Calls that the readers run go on. */
static void stop_reading(struct stdio *stdio)
{
    pthread_mutex_lock(&stdio->taking);
    stdio->over = true;
    pthread_mutex_unlock(&stdio->taking);
    raise_event(stdio->over_fd);
}

static void end_readers(struct stdio *stdio)
{
    for (size_t i = 0; i < stdio->reader_count; i++)
        sem_post(&stdio->leave);
    for (size_t i = 0; i < stdio->reader_count; i++)
        pthread_join(stdio->readers[i], NULL);
}

/* ---- every reason to end ----------------------------------------------------------------------------------------- */

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

static enum stdio_end serve(struct stdio *stdio)
{
    enum stdio_end end;

    for (;;) {
        struct pollfd fds[] = {{stdio->over_fd, POLLIN, 0},
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
        if (fds[0].revents)
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
    stdio->over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    stdio->wake_fd = -1;
    pthread_mutex_init(&stdio->taking, NULL);
    sem_init(&stdio->leave, 0, 0);
    if (stdio->broken_fd < 0 || stdio->over_fd < 0)
        return false;
    stdio->writer = writer_new(options->output_fd, on_broken, stdio);
    return stdio->writer && start_reading(stdio);
}

static void end(struct stdio *stdio)
{
    const int fds[] = {stdio->broken_fd, stdio->over_fd, stdio->wake_fd, stdio->parent_fd};

    end_readers(stdio);
    lines_discard(&stdio->lines);
    writer_free(stdio->writer);
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    sem_destroy(&stdio->leave);
    pthread_mutex_destroy(&stdio->taking);
    free(stdio);
}

enum stdio_end stdio_serve(struct server *server, const struct stdio_options *options, bool *left, bool *stuck)
{
    struct stdio *stdio = calloc(1, sizeof(*stdio));
    enum stdio_end why = STDIO_BROKEN;
    bool started = stdio && start(stdio, server, options);

    if (started) {
        why = serve(stdio);
        stop_reading(stdio);
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
