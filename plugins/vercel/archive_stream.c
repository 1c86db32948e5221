#include "archive_stream.h"

#include <errno.h>
#include <pthread.h>
#include <sandlot/sdk/archive.h>
#include <sandlot/sdk/cleanup.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OVERHEAD = 64 * 1024 };

/* ---- in memory --------------------------------------------------------------------------------------------------- */

bool archive_is_small(const struct sandlot_file *files, size_t count)
{
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++) {
        if (files[i].length > ARCHIVE_SMALL - total)
            return false;
        total += files[i].length;
    }
    return true;
}

struct packed {
    struct sandlot_call *call;
    char *bytes;
    size_t length;
    size_t capacity;
};

static enum sandlot_status pack_bytes(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct packed *packed = sink->context;

    if (length > packed->capacity - packed->length) {
        size_t capacity = 2 * (packed->capacity + length) + OVERHEAD;
        char *larger = realloc(packed->bytes, capacity);

        if (!larger)
            return sandlot_fail(packed->call, SANDLOT_INTERNAL, "there is not enough memory for an upload; free some");
        packed->bytes = larger;
        packed->capacity = capacity;
    }
    memcpy(packed->bytes + packed->length, bytes, length);
    packed->length += length;
    return SANDLOT_OK;
}

static enum sandlot_status write_archive(struct sandlot_call *call, const struct sandlot_file *files, size_t count,
                                         const struct sandlot_sink *sink)
{
    struct tar_writer *writer = NULL;
    enum sandlot_status status = tar_writer_open(call, sink, true, &writer);

    for (size_t i = 0; i < count && status == SANDLOT_OK; i++)
        status = tar_writer_add(writer, &files[i]);
    if (status == SANDLOT_OK)
        status = tar_writer_end(writer);
    tar_writer_free(writer);
    return status;
}

enum sandlot_status archive_pack(struct sandlot_call *call, const struct sandlot_file *files, size_t count,
                                 char **bytes, size_t *length)
{
    struct packed packed = {.call = call};
    const struct sandlot_sink sink = {.size = sizeof(sink), .context = &packed, .write = pack_bytes};
    enum sandlot_status status = write_archive(call, files, count, &sink);

    if (status != SANDLOT_OK) {
        free(packed.bytes);
        packed = (struct packed){0};
    }
    *bytes = packed.bytes;
    *length = packed.length;
    return status;
}

/* ---- by a thread ------------------------------------------------------------------------------------------------- */

/* One of the caller's sources, which is not waited for once nobody wants the archive any more. */
struct guarded {
    struct sandlot_source source;
    const struct sandlot_source *own;
    int output;
};

struct archive_stream {
    struct sandlot_source source; /* what the request reads from */
    struct sandlot_call *call;
    struct sandlot_file *files;
    struct guarded *guarded;
    size_t count;
    int input;  /* the request's end of the socket pair */
    int output; /* the thread's */
    pthread_t thread;
    bool runs;                  /* the thread is to be joined */
    enum sandlot_status status; /* of the thread; to be looked at after it was joined */
};

static enum sandlot_status read_guarded(const struct sandlot_source *source, void *buffer, size_t capacity,
                                        size_t *length)
{
    const struct guarded *guarded = source->context;
    struct pollfd fds[2] = {{guarded->output, 0, 0}, {guarded->own->poll_fd, POLLIN, 0}};

    if (guarded->own->poll_fd >= 0)
        while (poll(fds, 2, -1) < 0 && errno == EINTR)
            ;
    if (fds[0].revents & (POLLHUP | POLLERR))
        return SANDLOT_CANCELLED;
    return guarded->own->read(guarded->own, buffer, capacity, length);
}

static enum sandlot_status send_bytes(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    const struct archive_stream *stream = sink->context;
    const char *at = bytes;

    while (length > 0) {
        ssize_t sent = send(stream->output, at, length, MSG_NOSIGNAL);

        if (sent < 0 && errno != EINTR)
            return SANDLOT_CANCELLED; /* nobody wants it any more */
        at += sent > 0 ? sent : 0;
        length -= sent > 0 ? (size_t)sent : 0;
    }
    return SANDLOT_OK;
}

static void *run_thread(void *context)
{
    struct archive_stream *stream = context;
    const struct sandlot_sink sink = {.size = sizeof(sink), .context = stream, .write = send_bytes};

    stream->status = write_archive(stream->call, stream->files, stream->count, &sink);
    shutdown(stream->output, SHUT_WR);
    return NULL;
}

static enum sandlot_status end_thread(struct archive_stream *stream)
{
    if (stream->runs)
        pthread_join(stream->thread, NULL);
    stream->runs = false;
    return stream->status;
}

/* The archive has ended only if the thread says so. */
static enum sandlot_status read_stream(const struct sandlot_source *source, void *buffer, size_t capacity,
                                       size_t *length)
{
    struct archive_stream *stream = source->context;
    ssize_t got;

    do
        got = recv(stream->input, buffer, capacity, 0);
    while (got < 0 && errno == EINTR);
    *length = got > 0 ? (size_t)got : 0;
    return got > 0 ? SANDLOT_OK : got < 0 ? SANDLOT_INTERNAL : end_thread(stream);
}

static bool copy_files(struct archive_stream *stream, const struct sandlot_file *files, size_t count)
{
    stream->files = calloc(count, sizeof(*stream->files));
    stream->guarded = calloc(count, sizeof(*stream->guarded));
    stream->count = count;
    for (size_t i = 0; stream->files && stream->guarded && i < count; i++) {
        struct guarded *guarded = &stream->guarded[i];

        *guarded = (struct guarded){.own = files[i].source, .output = stream->output};
        guarded->source = (struct sandlot_source){.size = sizeof(guarded->source),
                                                  .context = guarded,
                                                  .read = read_guarded,
                                                  .poll_fd = files[i].source->poll_fd};
        stream->files[i] = files[i];
        stream->files[i].source = &guarded->source;
    }
    return stream->files && stream->guarded;
}

enum sandlot_status archive_stream_open(struct sandlot_call *call, const struct sandlot_file *files, size_t count,
                                        struct archive_stream **made)
{
    struct archive_stream *stream = calloc(1, sizeof(*stream));
    int pair[2];

    if (!stream || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        free(stream);
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "there is not enough memory, or no more file descriptor, for an upload; free some");
    }
    stream->call = call;
    stream->input = pair[0];
    stream->output = pair[1];
    stream->source = (struct sandlot_source){
        .size = sizeof(stream->source), .context = stream, .read = read_stream, .poll_fd = stream->input};
    stream->runs = copy_files(stream, files, count) && pthread_create(&stream->thread, NULL, run_thread, stream) == 0;
    if (!stream->runs) {
        archive_stream_close(stream);
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for an upload; free some");
    }
    *made = stream;
    return SANDLOT_OK;
}

const struct sandlot_source *archive_stream_source(struct archive_stream *stream)
{
    return &stream->source;
}

void archive_stream_close(struct archive_stream *stream)
{
    if (!stream)
        return;
    shutdown(stream->input, SHUT_RDWR); /* the thread notices */
    end_thread(stream);
    close(stream->input);
    close(stream->output);
    free(stream->files);
    free(stream->guarded);
    free(stream);
}
