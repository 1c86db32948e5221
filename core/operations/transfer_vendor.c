#include "operations/transfer_vendor.h"

#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { OPEN_AT_ONCE = 32 }; /* where a vendor is given more files, they are open only while they move */

/* Descriptors are few and files many. Where a vendor is given many, a regular file to be read is looked at, closed, and
 * opened again when its turn comes; one to be written is opened with its first byte. */
static void let_wait(struct moving *moving)
{
    uint64_t bytes = moving->local.bytes;

    local_close(&moving->local);
    moving->local.bytes = bytes;
    moving->takes_turns = moving->waiting = true;
}

static int open_waiting(struct moving *moving)
{
    uint32_t mode = moving->mode; /* as the vendor was told */

    moving->waiting = false;
    local_close(&moving->local);
    int failed = moving_open(moving, &moving->problem);

    moving->mode = mode;
    return failed;
}

/* All of it has been read. */
static void close_read(struct moving *moving)
{
    if (!moving->takes_turns)
        return;
    let_wait(moving);
    moving->waiting = false;
}

/* It is named now rather than at the end of all. */
static void keep_received(struct moving *moving)
{
    if (moving->waiting && !error_is_set(&moving->problem))
        open_waiting(moving); /* an empty one */
    moving_keep(moving);
}

static enum sandlot_status read_source(const struct sandlot_source *source, void *buffer, size_t capacity,
                                       size_t *length)
{
    struct moving *moving = source->context;

    *length = 0;
    if (moving->waiting && open_waiting(moving) < 0)
        return SANDLOT_INTERNAL;
    if (moving->local.fd < 0)
        return SANDLOT_OK; /* read to its end, and closed */
    for (;;) {
        struct pollfd fds[2] = {{moving->local.fd, POLLIN, 0}, {moving->transfer->stall.fd, POLLIN, 0}};

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return SANDLOT_INTERNAL;
        if (fds[1].revents)
            return SANDLOT_CANCELLED;
        ssize_t got = fds[0].revents ? read(moving->local.fd, buffer, capacity) : -1;

        if (got < 0 && fds[0].revents && errno != EINTR && errno != EAGAIN)
            return SANDLOT_INTERNAL;
        if (got < 0)
            continue;
        *length = (size_t)got;
        moving->bytes += (uint64_t)got;
        transfer_moved(moving->transfer, (uint64_t)got);
        if (got == 0 || moving->bytes == moving->local.bytes)
            close_read(moving);
        return SANDLOT_OK;
    }
}

static enum sandlot_status write_sink(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct moving *moving = sink->context;
    const struct file_call call = transfer_call_of(moving->transfer, moving->remote, moving->path);

    if (!error_is_set(&moving->problem) && length > moving->transfer->bound.left) {
        file_error_bound(&moving->problem, &call);
        return SANDLOT_CANCELLED;
    }
    /* What cannot be stored is the fault of this one file: the others come behind it. */
    if (error_is_set(&moving->problem) || (moving->waiting && open_waiting(moving) < 0)) {
        moving_settle(moving);
        return SANDLOT_OK;
    }
    if (local_write(moving->local.fd, bytes, length) < 0) {
        moving_cannot_write(moving);
        return SANDLOT_CANCELLED;
    }
    moving->bytes += length;
    transfer_moved(moving->transfer, length);
    return SANDLOT_OK;
}

/* What a vendor says of one file: a code, or words of its own. */
static void vendor_problem(struct moving *moving, const char *text)
{
    static const struct {
        const char *name;
        int reason;
    } codes[] = {
        {"file_not_found", ENOENT}, {"permission_denied", EACCES}, {"is_directory", EISDIR}, {"invalid_path", ELOOP}};
    const struct file_call call = transfer_call_of(moving->transfer, moving->remote, moving->path);

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strcmp(text, codes[i].name) == 0) {
            file_error_errno(&moving->problem, &call, codes[i].reason);
            return;
        }
    error_set(&moving->problem, SANDLOT_CODE_PROVIDER_ERROR, "'%s' could not be %s: %s", moving->path,
              moving->transfer->upload ? "uploaded" : "downloaded", text);
}

/* The files of one call to the vendor. */
struct vendor_batch {
    struct moving *files[TRANSFER_BATCH];
    size_t count;
};

static void vendor_done(const struct sandlot_transfer *transfer, size_t index, const char *text, uint64_t bytes)
{
    const struct vendor_batch *batch = transfer->context;

    if (index >= batch->count || batch->files[index]->settled)
        return;
    struct moving *moving = batch->files[index];

    if (text)
        vendor_problem(moving, text);
    else if (moving->bytes != bytes || (moving->local.bytes != LOCAL_SIZE_UNKNOWN && bytes < moving->local.bytes))
        error_set(&moving->problem, SANDLOT_CODE_TRUNCATED_TRANSPORT, "only a part of '%s' was moved; try again",
                  moving->path);
    if (moving->takes_turns && !moving->transfer->upload)
        keep_received(moving);
    moving_settle(moving);
}

/* Gives BATCH to the vendor. 0, or -1 with what concerns them all; those whose fate was not told are not settled. */
static int ask_vendor(struct transfer *transfer, struct vendor_batch *batch, struct sandlot_error *error)
{
    struct sandlot_file files[TRANSFER_BATCH];
    const struct sandlot_transfer fate = {.size = sizeof(fate), .context = batch, .done = vendor_done};

    for (size_t i = 0; i < batch->count; i++) {
        struct moving *moving = batch->files[i];

        moving->source = (struct sandlot_source){sizeof(moving->source), moving, read_source,
                                                 moving->waiting ? -1 : moving->local.fd};
        moving->sink = (struct sandlot_sink){sizeof(moving->sink), moving, write_sink};
        files[i] = (struct sandlot_file){.size = sizeof(files[i]),
                                         .path = moving->remote,
                                         .source = transfer->upload ? &moving->source : NULL,
                                         .length = moving->local.bytes,
                                         .mode = moving->mode,
                                         .sink = transfer->upload ? NULL : &moving->sink};
    }
    return session_transfer(transfer->session, transfer->upload, files, batch->count, &fate, 0, transfer->stall.fd,
                            error);
}

/* Alone, after a batch that failed as a whole or did not say what became of this one. */
static void ask_vendor_again(struct moving *moving)
{
    struct vendor_batch alone = {.files = {moving}, .count = 1};
    struct sandlot_error why = {0};

    if (moving->takes_turns && open_waiting(moving) < 0) {
        moving_settle(moving);
        return;
    }
    if (!moving->takes_turns && moving->bytes > 0 && !local_rewind(&moving->local)) {
        error_set(&moving->problem, SANDLOT_CODE_NETWORK,
                  "the transfer of '%s' failed half way and cannot be begun again, because its other end is a pipe",
                  moving->path);
        moving_settle(moving);
        return;
    }
    moving_give_back(moving);
    if (ask_vendor(moving->transfer, &alone, &why) < 0 && !moving->settled)
        error_set(&moving->problem, why.code, "%s", why.message);
    else if (!moving->settled)
        error_set(&moving->problem, SANDLOT_CODE_PROVIDER_ERROR,
                  "the provider did not say what became of '%s'; look whether it is there", moving->path);
    sandlot_error_clear(&why);
    moving_settle(moving);
}

/* Takes the files that wait and can be opened and locked. */
static void fill_batch(struct transfer *transfer, struct vendor_batch *batch)
{
    size_t opened = 0;

    for (size_t i = 0; i < transfer->count; i++) {
        struct moving *moving = &transfer->batch[i];

        bool many = transfer->count > OPEN_AT_ONCE && (moving->local_path || moving->relative);

        if (many && !transfer->upload && !error_is_set(&transfer->stopped))
            let_wait(moving);
        else if (moving_open(moving, &moving->problem) < 0)
            moving_settle(moving);
        else if (many && moving->local.start >= 0)
            let_wait(moving);
        if (!moving->settled)
            batch->files[opened++] = moving;
    }
    moving_lock_all(batch->files, opened);
    for (size_t i = 0; i < opened; i++)
        if (!batch->files[i]->settled)
            batch->files[batch->count++] = batch->files[i];
}

/*
 * Files of BATCH that this machine would not take have stopped it: they are settled, and the others that are not are
 * made ready to be asked for again. False: it was not so, or no other is left.
 */
static bool leave_out_refused(struct vendor_batch *batch)
{
    size_t left = 0;
    bool refused = false;

    for (size_t i = 0; i < batch->count; i++) {
        struct moving *moving = batch->files[i];

        if (!moving->settled && moving->problem.code == SANDLOT_CODE_TOO_LARGE) {
            moving_settle(moving);
            refused = true;
        }
    }
    for (size_t i = 0; refused && i < batch->count; i++) {
        struct moving *moving = batch->files[i];

        if (!moving->settled && moving->bytes > 0 && !moving->takes_turns && !local_rewind(&moving->local))
            ask_vendor_again(moving); /* which tells why it cannot */
        if (moving->settled)
            continue;
        moving_give_back(moving);
        if (moving->takes_turns)
            let_wait(moving);
        batch->files[left++] = moving;
    }
    batch->count = refused ? left : batch->count;
    return refused && left > 0;
}

void transfer_by_vendor(struct transfer *transfer)
{
    struct vendor_batch batch = {.count = 0};
    struct sandlot_error why = {0};

    fill_batch(transfer, &batch);
    if (batch.count == 0)
        return;
    do {
        sandlot_error_clear(&why);
        ask_vendor(transfer, &batch, &why);
    } while (why.code == SANDLOT_CODE_CANCELLED && leave_out_refused(&batch));
    for (size_t i = 0; i < batch.count; i++) {
        struct moving *moving = batch.files[i];

        if (moving->settled)
            continue;
        if (error_is_set(&moving->problem)) {
            moving_settle(moving); /* it was this machine's fault */
        } else if (transfer_stops_all(why.code)) {
            error_set(&moving->problem, why.code, "%s", why.message);
            moving_settle(moving);
        } else {
            ask_vendor_again(moving);
        }
    }
    sandlot_error_clear(&why);
}
