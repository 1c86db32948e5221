#include "operations/transfer_some.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SOME = 256,        /* files that are moved together by a command */
    SMALL = 24 * 1024, /* bytes of a file that may go with others */
    SMALL_TOGETHER = 96 * 1024,
    DOWN_TOGETHER = 1024 * 1024 /* bytes that come with one command */
};

/* The bytes of some files, one after the other. */
struct gathered {
    char *bytes;
    size_t length;
    struct small_file files[SOME];
    size_t count;
};

/* Adds a file if it is a small one. What is wrong with it shows when it is moved alone. */
static bool gather(struct gathered *gathered, struct moving *moving)
{
    const struct local_file *local = &moving->local;
    char *bytes = gathered->bytes + gathered->length;
    size_t length = 0;
    ssize_t got = 0;
    struct stat status;

    /* A pipe must be opened only once. */
    if (moving->settled || !moving->local_path || stat(moving->local_path, &status) < 0 || !S_ISREG(status.st_mode) ||
        moving_open(moving, NULL) < 0)
        return false;
    bool fits = local->start >= 0 && local->bytes <= SMALL && local->bytes < SMALL_TOGETHER - gathered->length;

    while (fits && length <= local->bytes &&
           ((got = read(local->fd, bytes + length, local->bytes + 1 - length)) > 0 || (got < 0 && errno == EINTR)))
        length += got > 0 ? (size_t)got : 0;
    fits = fits && got == 0 && length == local->bytes;
    if (fits)
        gathered->files[gathered->count++] =
            (struct small_file){.path = moving->remote, .bytes = bytes, .length = length, .mode = moving->mode};
    gathered->length += fits ? length : 0;
    local_close(&moving->local);
    local_init(&moving->local);
    return fits;
}

/* Moves small files that wait, from FIRST on, together. Returns how many have had their turn; those that are not
 * settled then are to be moved alone. */
static size_t upload_some(struct transfer *transfer, size_t first)
{
    struct moving *files[SOME];
    AUTO_FREE struct gathered *gathered = calloc(1, sizeof(*gathered));
    AUTO_FREE char *bytes = malloc(SMALL_TOGETHER);
    const struct file_call call = transfer_call_of(transfer, "", transfer->batch[first].path);
    size_t count = 0;

    if (!gathered || !bytes || error_is_set(&transfer->stopped))
        return 1;
    gathered->bytes = bytes;
    while (first + count < transfer->count && count < SOME && gather(gathered, &transfer->batch[first + count])) {
        files[count] = &transfer->batch[first + count];
        count++;
    }
    if (count < 2)
        return 1;
    const size_t locked = count;

    moving_lock_all(files, locked);
    for (size_t i = 0; i < count; i++)
        if (files[i]->settled)
            count = i; /* each of those after it alone, for here they stand in the order of their items */
    size_t tried = count > 1 ? transfer->some_route->upload_some(&call, gathered->files, count) : 1;

    for (size_t i = 0; i < tried && i < count; i++) {
        if (!gathered->files[i].moved)
            continue;
        files[i]->bytes = gathered->files[i].length;
        files[i]->settled = true;
        transfer_moved(transfer, files[i]->bytes);
    }
    for (size_t i = 0; i < locked; i++)
        moving_unlock(files[i]);
    return tried;
}

/* Not into what must be opened only once, and takes several files in their order. */
static bool may_come_with_others(const struct moving *moving)
{
    struct stat status;

    return !moving->settled && (moving->relative || (moving->local_path && (stat(moving->local_path, &status) < 0 ||
                                                                            S_ISREG(status.st_mode))));
}

static void store(struct moving *moving, const struct small_file *file)
{
    struct transfer *transfer = moving->transfer;

    if (moving_open(moving, &moving->problem) == 0 && local_write(moving->local.fd, file->bytes, file->length) < 0)
        moving_cannot_write(moving);
    moving_keep(moving);
    if (!error_is_set(&moving->problem)) {
        moving->bytes = file->length;
        transfer_moved(transfer, moving->bytes);
    }
    moving_settle(moving);
}

/* The same the other way. */
static size_t download_some(struct transfer *transfer, size_t first)
{
    AUTO_FREE struct small_file *files = calloc(SOME, sizeof(*files));
    AUTO_FREE char *bytes = malloc(DOWN_TOGETHER);
    const struct file_call call = transfer_call_of(transfer, "", transfer->batch[first].path);
    const uint64_t left = transfer->bound.left;
    size_t count = 0;

    if (!files || !bytes || error_is_set(&transfer->stopped))
        return 1;
    for (; count < SOME && first + count < transfer->count && may_come_with_others(&transfer->batch[first + count]);
         count++)
        files[count].path = transfer->batch[first + count].remote;
    if (count < 2)
        return 1;
    size_t tried = transfer->some_route->download_some(&call, files, count, bytes,
                                                       left < DOWN_TOGETHER ? (size_t)left : DOWN_TOGETHER);

    for (size_t i = 0; i < tried && i < count; i++)
        if (files[i].moved)
            store(&transfer->batch[first + i], &files[i]);
    return tried;
}

size_t transfer_some(struct transfer *transfer, size_t first)
{
    if (!transfer->some_route)
        return 1;
    return transfer->upload ? upload_some(transfer, first) : download_some(transfer, first);
}
