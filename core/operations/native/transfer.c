/*
 * Whole files in and out. Bytes move between open descriptors, so that meanwhile this thread is itself again: the
 * caller's function that is told of the progress must not run as the sandbox's user.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "operations/file_error.h"
#include "operations/local_file.h"
#include "operations/native/native.h"
#include "operations/native/open.h"
#include "operations/native/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>

enum {
    BUFFER_BYTES = 256 * 1024,
    RANGE_BYTES = 8 * 1024 * 1024, /* in one system call, between two looks at the time */
    USE_MS = 5 * 1000              /* a long transfer counts as a use of the sandbox so often */
};

struct transfer {
    const struct file_call *call;
    int from;
    int to;
    bool from_waits; /* it may block: no regular file */
    bool to_waits;
    int64_t used_ms; /* when the sandbox was used last */
    uint64_t bytes;
    int failed; /* the descriptor that failed; -1: neither */
    struct sandlot_error *error;
};

static bool is_regular(int fd, struct stat *status)
{
    return fstat(fd, status) == 0 && S_ISREG(status->st_mode);
}

/* Waits until FD, which may block, is ready for EVENTS. A transfer in which nothing moves for too long is cancelled by
 * its caller. 0 or -1 with errno. */
static int wait_for(const struct transfer *transfer, int fd, short events)
{
    const int64_t deadline_ms = transfer->call->deadline_ms;
    struct pollfd fds[2] = {{fd, events, 0}, {transfer->call->cancel_fd, POLLIN, 0}};

    for (;;) {
        int64_t left = deadline_ms ? deadline_ms - sandlot_now_ms() : INT_MAX;
        int ready = left > 0 ? poll(fds, 2, left < INT_MAX ? (int)left : INT_MAX) : 0;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0)
            return -1;
        if (!fds[1].revents && fds[0].revents)
            return 0;
        errno = fds[1].revents ? ECANCELED : ETIMEDOUT;
        return -1;
    }
}

/* LENGTH more bytes have moved. 0; -1 with errno if it is to stop, or with the error if the sandbox has gone. */
static int moved(struct transfer *transfer, size_t length)
{
    const struct file_call *call = transfer->call;
    const int64_t now_ms = sandlot_now_ms();

    transfer->bytes += length;
    if (call->moved)
        call->moved(call->context, length);
    if (now_ms - transfer->used_ms >= USE_MS) {
        struct session_root *root =
            session_root_take(call->session, call->deadline_ms, call->cancel_fd, transfer->error);

        if (!root)
            return -1;
        session_root_give_back(call->session, root);
        transfer->used_ms = now_ms;
    }
    errno = native_stop(call);
    return errno ? -1 : 0;
}

/* How many more bytes may move. */
static uint64_t room(const struct transfer *transfer)
{
    const struct byte_bound *bound = transfer->call->bound;

    return bound ? bound->left : UINT64_MAX;
}

/*
 * Passes over a hole of FROM, which becomes one of TO: a file of a few blocks may say that it is as large as it likes.
 * *RANGE: how much follows that is none. Where holes are not known all of it is data.
 */
static int pass_hole(struct transfer *transfer, size_t *range)
{
    const off_t at = lseek(transfer->from, 0, SEEK_CUR);
    off_t data = lseek(transfer->from, at, SEEK_DATA);
    struct stat from = {0};

    *range = RANGE_BYTES;
    if (data < 0 && errno == ENXIO && fstat(transfer->from, &from) == 0) /* nothing but a hole up to its end */
        data = from.st_size > at ? from.st_size : at;
    const off_t hole = data >= 0 ? lseek(transfer->from, data, SEEK_HOLE) : -1;

    if (hole > data)
        *range = hole - data < RANGE_BYTES ? (size_t)(hole - data) : RANGE_BYTES;
    if (lseek(transfer->from, data > at ? data : at, SEEK_SET) < 0)
        return -1;
    if (data <= at)
        return 0;
    if ((uint64_t)(data - at) > room(transfer))
        return file_error_bound(transfer->error, transfer->call);
    const off_t end = lseek(transfer->to, data - at, SEEK_CUR);

    if (end < 0 || ftruncate(transfer->to, end) < 0) {
        transfer->failed = transfer->to;
        return -1;
    }
    return moved(transfer, (size_t)(data - at));
}

/* What the kernel can copy by itself. Whatever ends it, the end of the file too, is looked into by move_rest. */
static int move_ranges(struct transfer *transfer, bool passes_holes)
{
    size_t range = RANGE_BYTES;

    for (;;) {
        if (passes_holes && pass_hole(transfer, &range) < 0)
            return -1;
        const size_t most = range < room(transfer) ? range : (size_t)room(transfer);
        ssize_t copied = copy_file_range(transfer->from, NULL, transfer->to, NULL, most, 0);

        if (copied < 0 && errno == EINTR)
            continue;
        if (copied <= 0)
            return 0;
        if (moved(transfer, (size_t)copied) < 0)
            return -1;
    }
}

/* A pipe that is ready takes so much without blocking. */
static size_t write_maximum(const struct transfer *transfer)
{
    return transfer->to_waits ? PIPE_BUF : BUFFER_BYTES;
}

static int write_out(struct transfer *transfer, const char *bytes, size_t length)
{
    const size_t maximum = write_maximum(transfer);

    while (length > 0) {
        if (transfer->to_waits && wait_for(transfer, transfer->to, POLLOUT) < 0)
            return -1;
        ssize_t written = write(transfer->to, bytes, length < maximum ? length : maximum);

        if (written < 0 && (errno == EINTR || (errno == EAGAIN && transfer->to_waits)))
            continue;
        if (written < 0) {
            transfer->failed = transfer->to;
            return -1;
        }
        bytes += written;
        length -= (size_t)written;
        if (moved(transfer, (size_t)written) < 0)
            return -1;
    }
    return 0;
}

static int move_rest(struct transfer *transfer, bool passes_holes)
{
    AUTO_FREE char *buffer = malloc(BUFFER_BYTES);

    while (buffer) {
        if (transfer->from_waits && wait_for(transfer, transfer->from, POLLIN) < 0)
            return -1;
        size_t range = BUFFER_BYTES;

        if (passes_holes && pass_hole(transfer, &range) < 0)
            return -1;
        ssize_t got = read(transfer->from, buffer, range < BUFFER_BYTES ? range : BUFFER_BYTES);

        if (got < 0 && (errno == EINTR || (errno == EAGAIN && transfer->from_waits)))
            continue;
        if (got < 0)
            transfer->failed = transfer->from;
        if (got <= 0)
            return (int)got;
        if ((uint64_t)got > room(transfer))
            return file_error_bound(transfer->error, transfer->call);
        if (write_out(transfer, buffer, (size_t)got) < 0)
            return -1;
    }
    return -1;
}

/* Moves all that FROM holds. 0 or -1 with errno. */
static int move_all(struct transfer *transfer)
{
    struct stat from = {0};
    struct stat to = {0};

    transfer->from_waits = !is_regular(transfer->from, &from);
    transfer->to_waits = !is_regular(transfer->to, &to);
    transfer->used_ms = sandlot_now_ms();
    errno = native_stop(transfer->call);
    if (errno)
        return -1;
    /* A regular file without a size may still have content, as those under /proc. */
    bool has_size = !transfer->from_waits && !transfer->to_waits && from.st_size > 0;
    bool passes_holes = has_size && local_stands_at_end(transfer->to, &to);

    if (has_size && move_ranges(transfer, passes_holes) < 0)
        return -1;
    return move_rest(transfer, passes_holes);
}

/* This machine's side of a transfer failed, for REASON. */
static int local_failed(const struct file_call *call, int reason, struct sandlot_error *error)
{
    if (call->verb == FILE_UPLOAD)
        return error_set(error, reason == EISDIR ? SANDLOT_CODE_IS_DIRECTORY : SANDLOT_CODE_INTERNAL_ERROR,
                         "cannot read what is to become '%s': %s; check the file on this machine", call->shown,
                         strerror(reason));
    return error_set(error, reason == ENOSPC || reason == EDQUOT ? SANDLOT_CODE_NO_SPACE : SANDLOT_CODE_INTERNAL_ERROR,
                     "cannot write what comes from '%s': %s; check the target on this machine", call->shown,
                     strerror(reason));
}

static int transfer_failed(const struct transfer *transfer, int local_fd, int root_fd, int reason,
                           struct sandlot_error *error)
{
    if (error_is_set(error))
        return -1;
    if (transfer->failed == local_fd)
        return local_failed(transfer->call, reason, error);
    return native_failed(transfer->call, root_fd, reason, error);
}

int native_upload(const struct file_call *call, int source_fd, uint32_t mode, uint64_t *bytes,
                  struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;
    AUTO_REPLACEMENT struct replacement replacement = NO_REPLACEMENT;

    if (native_begin(call, &root, error) < 0)
        return -1;
    if (replacement_begin(root.fd, call->path, mode, &replacement) < 0)
        return native_failed(call, root.fd, errno, error);
    struct transfer transfer = {.call = call, .from = source_fd, .to = replacement.fd, .failed = -1, .error = error};

    identity_restore(&root.identity);
    int done = move_all(&transfer);
    int reason = errno;

    *bytes = transfer.bytes;
    if (identity_assume(root.shared->uid, root.shared->gid, &root.identity) < 0)
        return native_failed(call, root.fd, errno, error);
    if (done < 0)
        return transfer_failed(&transfer, source_fd, root.fd, reason, error);
    if (replacement_commit(call, &replacement, NULL) < 0)
        return native_failed(call, root.fd, errno, error);
    return 0;
}

int native_download(const struct file_call *call, int target_fd, uint64_t *bytes, struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;
    struct stat status;

    if (native_begin(call, &root, error) < 0)
        return -1;
    AUTO_CLOSE int fd = native_open_file(call, root.fd, &status, error);

    if (fd < 0)
        return -1;
    /* A file may grow from now on: what moves is counted too. */
    if (call->bound && (uint64_t)status.st_size > call->bound->left)
        return file_error_bound(error, call);
    struct transfer transfer = {.call = call, .from = fd, .to = target_fd, .failed = -1, .error = error};

    identity_restore(&root.identity);
    int done = move_all(&transfer);

    *bytes = transfer.bytes;
    return done == 0 ? 0 : transfer_failed(&transfer, target_fd, root.fd, errno, error);
}

int native_make_directory(const struct file_call *call, struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;

    if (native_begin(call, &root, error) < 0)
        return -1;
    AUTO_CLOSE int fd = native_make_folders(root.fd, call->path);

    return fd >= 0 ? 0 : native_failed(call, root.fd, errno, error);
}
