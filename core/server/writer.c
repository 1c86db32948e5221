#include "server/writer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    MAYBE_BELOW = 64 * 1024,
    WAIT_ABOVE = 1024 * 1024,
    HOPELESS_ABOVE = 64 * 1024 * 1024 /* answers that nobody waited with, and nobody has read */
};

struct line {
    struct line *next;
    size_t length;
    size_t written;
    char text[];
};

struct writer {
    int fd;
    bool socket;
    bool pipe;   /* that can be written to without waiting, whatever its flags */
    int stop_fd; /* eventfd(2): wakes the thread out of its poll */
    void (*broken)(void *context);
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* the queue got longer or shorter, or it is over */
    struct line *first;
    struct line **last;
    size_t unread;
    bool closed;
    bool has_thread;
    pthread_t thread;
};

static void drop_all(struct writer *writer)
{
    while (writer->first) {
        struct line *line = writer->first;

        writer->first = line->next;
        free(line);
    }
    writer->last = &writer->first;
    writer->unread = 0;
}

/* With the lock held. True: BROKEN is to be called, without it. */
static bool close_down(struct writer *writer)
{
    bool news = !writer->closed;

    writer->closed = true;
    drop_all(writer);
    pthread_cond_broadcast(&writer->changed);
    return news;
}

/*
 * Writes as much as the reader takes now. The descriptor's own flags stay as they are, because others may share them:
 * what poll(2) calls writable takes PIPE_BUF bytes without blocking, and nobody else writes here.
 */
static ssize_t write_some(struct writer *writer, const char *bytes, size_t length)
{
    if (writer->socket)
        return send(writer->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (writer->pipe) {
        const struct iovec part = {(void *)(uintptr_t)bytes, length};
        ssize_t written = pwritev2(writer->fd, &part, 1, -1, RWF_NOWAIT);

        if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
            return written;
        writer->pipe = false; /* older kernels do not know this of pipes */
    }
    struct pollfd ready = {writer->fd, POLLOUT, 0};

    if (poll(&ready, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(writer->fd, bytes, length < PIPE_BUF ? length : PIPE_BUF);
}

/* With the lock held. False: the reader is gone. */
static bool write_queue(struct writer *writer)
{
    while (writer->first) {
        struct line *line = writer->first;
        ssize_t written = write_some(writer, line->text + line->written, line->length - line->written);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno == EAGAIN;
        line->written += (size_t)written;
        writer->unread -= (size_t)written;
        if (line->written < line->length)
            continue;
        writer->first = line->next;
        if (!writer->first)
            writer->last = &writer->first;
        free(line);
    }
    return true;
}

/* Only runs once a client has been slow. */
static void *write_the_rest(void *argument)
{
    struct writer *writer = argument;
    bool news = false;

    pthread_mutex_lock(&writer->lock);
    while (!writer->closed) {
        if (!writer->first) {
            pthread_cond_wait(&writer->changed, &writer->lock);
            continue;
        }
        struct pollfd fds[2] = {{writer->fd, POLLOUT, 0}, {writer->stop_fd, POLLIN, 0}};

        pthread_mutex_unlock(&writer->lock);
        poll(fds, 2, -1);
        pthread_mutex_lock(&writer->lock);
        if (!writer->closed && !write_queue(writer))
            news = close_down(writer);
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->lock);
    if (news)
        writer->broken(writer->context);
    return NULL;
}

/* With the lock held. False: there is no thread, and nobody will ever write the rest. */
static bool start_thread(struct writer *writer)
{
    sigset_t all;
    sigset_t old;

    if (writer->has_thread)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    writer->has_thread = pthread_create(&writer->thread, NULL, write_the_rest, writer) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return writer->has_thread;
}

struct writer *writer_new(int fd, void (*broken)(void *context), void *context)
{
    struct writer *writer = calloc(1, sizeof(*writer));
    struct stat status;
    pthread_condattr_t monotonic;

    if (!writer)
        return NULL;
    *writer = (struct writer){.fd = fd, .broken = broken, .context = context};
    bool known = fstat(fd, &status) == 0;

    writer->socket = known && S_ISSOCK(status.st_mode);
    writer->pipe = known && S_ISFIFO(status.st_mode);
    writer->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (writer->stop_fd < 0) {
        free(writer);
        return NULL;
    }
    writer->last = &writer->first;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&writer->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return writer;
}

static struct line *new_line(const char *text, size_t length)
{
    struct line *line = malloc(sizeof(*line) + length + 1);

    if (!line)
        return NULL;
    *line = (struct line){.length = length + 1};
    memcpy(line->text, text, length);
    line->text[length] = '\n';
    return line;
}

/* With the lock held. False: the reader is gone, or cannot be served. */
static bool add_line(struct writer *writer, struct line *line)
{
    bool idle = !writer->first;

    *writer->last = line;
    writer->last = &line->next;
    writer->unread += line->length;
    if (writer->unread > HOPELESS_ABOVE)
        return false;
    /* While the thread waits for the reader there is nothing to try. */
    if (idle && !write_queue(writer))
        return false;
    if (!writer->first)
        return true;
    pthread_cond_broadcast(&writer->changed);
    return start_thread(writer);
}

void writer_send(struct writer *writer, enum writer_manner manner, const char *text, size_t length)
{
    struct line *line = new_line(text, length);
    bool news = false;

    pthread_mutex_lock(&writer->lock);
    while (manner == WRITER_WAIT && !writer->closed && writer->unread > WAIT_ABOVE)
        pthread_cond_wait(&writer->changed, &writer->lock);
    if (writer->closed || (manner == WRITER_MAYBE && writer->unread > MAYBE_BELOW)) {
        free(line);
    } else if (line ? !add_line(writer, line) : manner != WRITER_MAYBE) {
        /* Without memory an answer would be missing: that is the end too. */
        news = close_down(writer);
    }
    pthread_mutex_unlock(&writer->lock);
    if (news)
        writer->broken(writer->context);
}

void writer_flush(struct writer *writer, int timeout_ms)
{
    int64_t until_ms = sandlot_now_ms() + timeout_ms;
    struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};

    pthread_mutex_lock(&writer->lock);
    while (writer->first && pthread_cond_timedwait(&writer->changed, &writer->lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&writer->lock);
}

void writer_stop(struct writer *writer)
{
    static const uint64_t one = 1;

    pthread_mutex_lock(&writer->lock);
    close_down(writer);
    pthread_mutex_unlock(&writer->lock);
    while (write(writer->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}

void writer_free(struct writer *writer)
{
    if (!writer)
        return;
    writer_stop(writer);
    if (writer->has_thread)
        pthread_join(writer->thread, NULL);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->lock);
    close(writer->stop_fd);
    free(writer);
}
