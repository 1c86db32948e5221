#include "operations/transfer_file.h"

#include "base/error.h"
#include "session/path_lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOCK_MS = 60 * 1000, /* for another call that changes the same file */
    PROGRAM_MODE = 0755
};

void transfer_moved(void *context, uint64_t bytes)
{
    struct transfer *transfer = context;

    stall_moved(&transfer->stall);
    transfer->done += bytes;
    if (!transfer->upload)
        transfer->bound.left -= bytes;
    if (transfer->request.progress)
        transfer->request.progress(transfer->request.context, transfer->done, transfer->unknown ? 0 : transfer->total);
}

bool transfer_stops_all(enum sandlot_code code)
{
    return code == SANDLOT_CODE_CANCELLED || code == SANDLOT_CODE_SANDBOX_NOT_FOUND || code == SANDLOT_CODE_AUTH ||
           code == SANDLOT_CODE_PROVIDER_UNAVAILABLE || code == SANDLOT_CODE_PROVIDER_CRASHED ||
           code == SANDLOT_CODE_NOT_SUPPORTED;
}

void transfer_report(struct transfer *transfer, size_t index, const char *path, const struct sandlot_error *problem,
                     uint64_t bytes)
{
    const struct sandlot_error *failure = error_is_set(problem) ? problem : NULL;

    if (failure)
        error_set(&transfer->first, failure->code, "%s", failure->message);
    if (failure && transfer_stops_all(failure->code))
        error_set(&transfer->stopped, failure->code, "%s", failure->message);
    if (transfer->request.done)
        transfer->request.done(transfer->request.context, index, path, failure, bytes);
}

/* ---- one file ---- */

struct file_call transfer_call_of(struct transfer *transfer, const char *path, const char *shown)
{
    return (struct file_call){.session = transfer->session,
                              .verb = transfer->upload ? FILE_UPLOAD : FILE_DOWNLOAD,
                              .path = path,
                              .shown = shown,
                              .cancel_fd = transfer->stall.fd,
                              .moved = transfer_moved,
                              .context = transfer,
                              .bound = transfer->upload ? NULL : &transfer->bound};
}

int moving_open(struct moving *moving, struct sandlot_error *error)
{
    struct transfer *transfer = moving->transfer;
    struct local_file *local = &moving->local;

    if (error_is_set(&transfer->stopped))
        return error_set(error, transfer->stopped.code, "%s", transfer->stopped.message);
    stall_moved(&transfer->stall);
    if (!transfer->upload && moving->relative)
        return local_open_below(local, transfer->folder_fd, moving->relative, error);
    if (!moving->local_path)
        return local_borrow(local, moving->fd, moving->path, error);
    if (!transfer->upload)
        return local_open_target(local, moving->local_path, moving->remote, error);
    if (local_open_source(local, moving->local_path, transfer->stall.fd, error) < 0)
        return -1;
    if (moving->relative && local->executable)
        moving->mode = PROGRAM_MODE;
    return 0;
}

void moving_give_back(struct moving *moving)
{
    if (!moving->transfer->upload && (moving->takes_turns || moving->local.temporary[0]))
        moving->transfer->bound.left += moving->bytes;
    moving->bytes = 0;
}

void moving_settle(struct moving *moving)
{
    moving->settled = true;
    if (error_is_set(&moving->problem))
        moving_give_back(moving);
    stall_explain(&moving->transfer->stall, moving->path, &moving->problem);
}

void moving_cannot_write(struct moving *moving)
{
    error_set(&moving->problem, errno == ENOSPC ? SANDLOT_CODE_NO_SPACE : SANDLOT_CODE_INTERNAL_ERROR,
              "cannot write what was received of '%s': %s", moving->path, strerror(errno));
}

void moving_commit(struct moving *moving)
{
    if (!error_is_set(&moving->problem))
        local_commit(&moving->local, moving->local_path ? moving->local_path : moving->path, &moving->problem);
}

void moving_keep(struct moving *moving)
{
    moving_commit(moving);
    local_close(&moving->local);
    moving->kept = true;
}

static int moving_lock(struct moving *moving, struct sandlot_error *error)
{
    struct transfer *transfer = moving->transfer;

    if (!transfer->upload || moving->locked)
        return 0;
    int failed = path_lock_take(&transfer->session->path_locks, &moving->lock, moving->remote,
                                sandlot_now_ms() + LOCK_MS, transfer->stall.fd, error);

    moving->locked = !failed;
    return failed;
}

void moving_unlock(struct moving *moving)
{
    if (moving->locked)
        path_lock_give_back(&moving->transfer->session->path_locks, &moving->lock);
    moving->locked = false;
}

static int by_remote(const void *left, const void *right)
{
    const struct moving *const *a = left;
    const struct moving *const *b = right;

    return strcmp((*a)->remote, (*b)->remote);
}

void moving_lock_all(struct moving *const *files, size_t count)
{
    struct moving *sorted[TRANSFER_BATCH];

    memcpy(sorted, files, count * sizeof(*files));
    qsort(sorted, count, sizeof(struct moving *), by_remote);
    for (size_t i = 0; i < count; i++)
        if (moving_lock(sorted[i], &sorted[i]->problem) < 0)
            moving_settle(sorted[i]);
}

int moving_on_route(struct moving *moving, struct sandlot_error *error)
{
    const struct transfer *transfer = moving->transfer;
    const struct file_call call = transfer_call_of(moving->transfer, moving->remote, moving->path);
    const struct file_route *route = file_route_of(&call, error);

    if (!route || moving_lock(moving, error) < 0)
        return -1;
    return transfer->upload ? route->upload(&call, moving->local.fd, moving->mode, &moving->bytes, error)
                            : route->download(&call, moving->local.fd, &moving->bytes, error);
}

void moving_clear(struct moving *moving)
{
    moving_unlock(moving);
    local_close(&moving->local);
    sandlot_error_clear(&moving->problem);
    free(moving->path);
    free(moving->remote);
    free(moving->local_path);
    *moving = (struct moving){0};
}
