/*
 * upload and download: the files of one request in order, each with its own fate. They go through the vendor's own
 * transfer, some at a time, where the provider has one; else one by one on the route of all other file operations.
 */
#include "session/transfer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/sized.h"
#include "operations/file_error.h"
#include "operations/local_file.h"
#include "operations/sandbox_path.h"
#include "operations/stall.h"
#include "operations/transfer_tree.h"
#include "session/path_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BATCH = 512,       /* files that may wait to be moved together, or that a vendor is given at once */
    SOME = 256,        /* that are moved together by a command */
    OPEN_AT_ONCE = 32, /* where a vendor is given more files, they are open only while they move */
    SMALL = 24 * 1024, /* bytes of a file that may go with others */
    SMALL_TOGETHER = 96 * 1024,
    DOWN_TOGETHER = 1024 * 1024, /* bytes that come with one command */
    LOCK_MS = 60 * 1000,         /* for another call that changes the same file */
    TREE_MS = 10 * 60 * 1000,    /* to list a tree of the sandbox */
    PROGRAM_MODE = 0755
};

/* One file on its way. */
struct moving {
    struct transfer *transfer;
    size_t index; /* of its item */
    char *path;   /* in the sandbox, as the caller hears of it */
    char *remote; /* the same, made plain */
    char *local_path;
    const char *relative; /* part of a tree: its path below the transfer's folder; NULL: it is not */
    int fd;               /* of the caller, without local_path */
    uint32_t mode;
    struct local_file local;
    struct path_lock lock; /* an upload's */
    bool locked;
    struct sandlot_source source;
    struct sandlot_sink sink;
    bool takes_turns; /* its file on this machine is open only while its bytes move */
    bool waiting;     /* and it has not been yet */
    bool kept;        /* it is in its place on this machine, or will not be */
    bool settled;     /* its fate is known: PROBLEM, or all of it has moved */
    struct sandlot_error problem;
    uint64_t bytes;
};

struct transfer {
    struct sandlot_session *session;
    struct sandlot_transfer_request request;
    bool upload;
    bool vendor; /* the provider has a transfer of its own */
    struct stall stall;
    int folder_fd;                       /* where the tree that is being downloaded goes */
    const struct file_route *some_route; /* the one that moves small files together; NULL: none does */
    struct moving batch[BATCH];
    size_t batch_size;
    size_t count;
    uint64_t done;
    struct byte_bound bound; /* of a download */
    uint64_t total;
    size_t unknown;               /* items whose size is not part of TOTAL (yet) */
    struct sandlot_error first;   /* what goes wrong first */
    struct sandlot_error stopped; /* what keeps all that follow from being moved */
};

/* ---- what the caller hears ---- */

static void moved(void *context, uint64_t bytes)
{
    struct transfer *transfer = context;

    stall_moved(&transfer->stall);
    transfer->done += bytes;
    if (!transfer->upload)
        transfer->bound.left -= bytes;
    if (transfer->request.progress)
        transfer->request.progress(transfer->request.context, transfer->done, transfer->unknown ? 0 : transfer->total);
}

/* Nothing that follows can work either. */
static bool stops_all(enum sandlot_code code)
{
    return code == SANDLOT_CODE_CANCELLED || code == SANDLOT_CODE_SANDBOX_NOT_FOUND || code == SANDLOT_CODE_AUTH ||
           code == SANDLOT_CODE_PROVIDER_UNAVAILABLE || code == SANDLOT_CODE_PROVIDER_CRASHED ||
           code == SANDLOT_CODE_NOT_SUPPORTED;
}

static void report(struct transfer *transfer, size_t index, const char *path, const struct sandlot_error *problem,
                   uint64_t bytes)
{
    const struct sandlot_error *failure = error_is_set(problem) ? problem : NULL;

    if (failure)
        error_set(&transfer->first, failure->code, "%s", failure->message);
    if (failure && stops_all(failure->code))
        error_set(&transfer->stopped, failure->code, "%s", failure->message);
    if (transfer->request.done)
        transfer->request.done(transfer->request.context, index, path, failure, bytes);
}

/* ---- one file ---- */

static struct file_call call_of(struct transfer *transfer, const char *path, const char *shown)
{
    return (struct file_call){.session = transfer->session,
                              .verb = transfer->upload ? FILE_UPLOAD : FILE_DOWNLOAD,
                              .path = path,
                              .shown = shown,
                              .cancel_fd = transfer->stall.fd,
                              .moved = moved,
                              .context = transfer,
                              .bound = transfer->upload ? NULL : &transfer->bound};
}

static int open_local(struct moving *moving, struct sandlot_error *error)
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

/* What has come of it will not be kept, or comes again: others may use its part of the bound. What went into a pipe or
 * a descriptor of the caller stays there. */
static void give_back(struct moving *moving)
{
    if (!moving->transfer->upload && (moving->takes_turns || moving->local.temporary[0]))
        moving->transfer->bound.left += moving->bytes;
    moving->bytes = 0;
}

static void settle(struct moving *moving)
{
    moving->settled = true;
    if (error_is_set(&moving->problem))
        give_back(moving);
    stall_explain(&moving->transfer->stall, moving->path, &moving->problem);
}

static void cannot_write(struct moving *moving)
{
    error_set(&moving->problem, errno == ENOSPC ? SANDLOT_CODE_NO_SPACE : SANDLOT_CODE_INTERNAL_ERROR,
              "cannot write what was received of '%s': %s", moving->path, strerror(errno));
}

/* What was received gets its name on this machine. */
static void commit(struct moving *moving)
{
    if (!error_is_set(&moving->problem))
        local_commit(&moving->local, moving->local_path ? moving->local_path : moving->path, &moving->problem);
}

/* All of it has come. */
static void keep(struct moving *moving)
{
    commit(moving);
    local_close(&moving->local);
    moving->kept = true;
}

static int lock(struct moving *moving, struct sandlot_error *error)
{
    struct transfer *transfer = moving->transfer;

    if (!transfer->upload || moving->locked)
        return 0;
    int failed = path_lock_take(&transfer->session->path_locks, &moving->lock, moving->remote,
                                sandlot_now_ms() + LOCK_MS, transfer->stall.fd, error);

    moving->locked = !failed;
    return failed;
}

static void unlock(struct moving *moving)
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

/* Locks all of FILES, whose paths differ, always in the same order, so that two that wait for each other cannot be. A
 * file whose lock is not to be had is settled. */
static void lock_all(struct moving *const *files, size_t count)
{
    struct moving *sorted[BATCH];

    memcpy(sorted, files, count * sizeof(*files));
    qsort(sorted, count, sizeof(struct moving *), by_remote);
    for (size_t i = 0; i < count; i++)
        if (lock(sorted[i], &sorted[i]->problem) < 0)
            settle(sorted[i]);
}

static int move_on_route(struct moving *moving, struct sandlot_error *error)
{
    const struct transfer *transfer = moving->transfer;
    const struct file_call call = call_of(moving->transfer, moving->remote, moving->path);
    const struct file_route *route = file_route_of(&call, error);

    if (!route || lock(moving, error) < 0)
        return -1;
    return transfer->upload ? route->upload(&call, moving->local.fd, moving->mode, &moving->bytes, error)
                            : route->download(&call, moving->local.fd, &moving->bytes, error);
}

/* ---- small files together ---- */

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
        open_local(moving, NULL) < 0)
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
    const struct file_call call = call_of(transfer, "", transfer->batch[first].path);
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

    lock_all(files, locked);
    for (size_t i = 0; i < count; i++)
        if (files[i]->settled)
            count = i; /* each of those after it alone, for here they stand in the order of their items */
    size_t tried = count > 1 ? transfer->some_route->upload_some(&call, gathered->files, count) : 1;

    for (size_t i = 0; i < tried && i < count; i++) {
        if (!gathered->files[i].moved)
            continue;
        files[i]->bytes = gathered->files[i].length;
        files[i]->settled = true;
        moved(transfer, files[i]->bytes);
    }
    for (size_t i = 0; i < locked; i++)
        unlock(files[i]);
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

    if (open_local(moving, &moving->problem) == 0 && local_write(moving->local.fd, file->bytes, file->length) < 0)
        cannot_write(moving);
    keep(moving);
    if (!error_is_set(&moving->problem)) {
        moving->bytes = file->length;
        moved(transfer, moving->bytes);
    }
    settle(moving);
}

/* The same the other way. */
static size_t download_some(struct transfer *transfer, size_t first)
{
    AUTO_FREE struct small_file *files = calloc(SOME, sizeof(*files));
    AUTO_FREE char *bytes = malloc(DOWN_TOGETHER);
    const struct file_call call = call_of(transfer, "", transfer->batch[first].path);
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

static size_t move_some(struct transfer *transfer, size_t first)
{
    if (!transfer->some_route)
        return 1;
    return transfer->upload ? upload_some(transfer, first) : download_some(transfer, first);
}

/* ---- the vendor's own transfer ---- */

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
    int failed = open_local(moving, &moving->problem);

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
    keep(moving);
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
        moved(moving->transfer, (uint64_t)got);
        if (got == 0 || moving->bytes == moving->local.bytes)
            close_read(moving);
        return SANDLOT_OK;
    }
}

static enum sandlot_status write_sink(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct moving *moving = sink->context;
    const struct file_call call = call_of(moving->transfer, moving->remote, moving->path);

    if (!error_is_set(&moving->problem) && length > moving->transfer->bound.left) {
        file_error_bound(&moving->problem, &call);
        return SANDLOT_CANCELLED;
    }
    /* What cannot be stored is the fault of this one file: the others come behind it. */
    if (error_is_set(&moving->problem) || (moving->waiting && open_waiting(moving) < 0)) {
        settle(moving);
        return SANDLOT_OK;
    }
    if (local_write(moving->local.fd, bytes, length) < 0) {
        cannot_write(moving);
        return SANDLOT_CANCELLED;
    }
    moving->bytes += length;
    moved(moving->transfer, length);
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
    const struct file_call call = call_of(moving->transfer, moving->remote, moving->path);

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
    struct moving *files[BATCH];
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
    settle(moving);
}

/* Gives BATCH to the vendor. 0, or -1 with what concerns them all; those whose fate was not told are not settled. */
static int ask_vendor(struct transfer *transfer, struct vendor_batch *batch, struct sandlot_error *error)
{
    struct sandlot_file files[BATCH];
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
        settle(moving);
        return;
    }
    if (!moving->takes_turns && moving->bytes > 0 && !local_rewind(&moving->local)) {
        error_set(&moving->problem, SANDLOT_CODE_NETWORK,
                  "the transfer of '%s' failed half way and cannot be begun again, because its other end is a pipe",
                  moving->path);
        settle(moving);
        return;
    }
    give_back(moving);
    if (ask_vendor(moving->transfer, &alone, &why) < 0 && !moving->settled)
        error_set(&moving->problem, why.code, "%s", why.message);
    else if (!moving->settled)
        error_set(&moving->problem, SANDLOT_CODE_PROVIDER_ERROR,
                  "the provider did not say what became of '%s'; look whether it is there", moving->path);
    sandlot_error_clear(&why);
    settle(moving);
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
        else if (open_local(moving, &moving->problem) < 0)
            settle(moving);
        else if (many && moving->local.start >= 0)
            let_wait(moving);
        if (!moving->settled)
            batch->files[opened++] = moving;
    }
    lock_all(batch->files, opened);
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
            settle(moving);
            refused = true;
        }
    }
    for (size_t i = 0; refused && i < batch->count; i++) {
        struct moving *moving = batch->files[i];

        if (!moving->settled && moving->bytes > 0 && !moving->takes_turns && !local_rewind(&moving->local))
            ask_vendor_again(moving); /* which tells why it cannot */
        if (moving->settled)
            continue;
        give_back(moving);
        if (moving->takes_turns)
            let_wait(moving);
        batch->files[left++] = moving;
    }
    batch->count = refused ? left : batch->count;
    return refused && left > 0;
}

static void move_by_vendor(struct transfer *transfer)
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
            settle(moving); /* it was this machine's fault */
        } else if (stops_all(why.code)) {
            error_set(&moving->problem, why.code, "%s", why.message);
            settle(moving);
        } else {
            ask_vendor_again(moving);
        }
    }
    sandlot_error_clear(&why);
}

/* ---- files in their order ---- */

static void moving_clear(struct moving *moving)
{
    unlock(moving);
    local_close(&moving->local);
    sandlot_error_clear(&moving->problem);
    free(moving->path);
    free(moving->remote);
    free(moving->local_path);
    *moving = (struct moving){0};
}

/* A file's fate is known, or it is moved now. Tells it. */
static void finish(struct moving *moving)
{
    struct transfer *transfer = moving->transfer;

    if (!moving->settled) {
        if (open_local(moving, &moving->problem) == 0)
            move_on_route(moving, &moving->problem);
        settle(moving);
    }
    if (!transfer->upload && !moving->kept)
        commit(moving);
    if (error_is_set(&moving->problem))
        give_back(moving);
    report(transfer, moving->index, moving->path, &moving->problem, moving->bytes);
    moving_clear(moving);
}

/* Moves all that wait, and tells their fates. */
static void flush(struct transfer *transfer)
{
    size_t known = 0; /* so many have had their turn together */

    if (transfer->vendor) {
        move_by_vendor(transfer);
        known = transfer->count;
    }
    for (size_t i = 0; i < transfer->count; i++) {
        if (i >= known)
            known = i + move_some(transfer, i);
        finish(&transfer->batch[i]);
    }
    transfer->count = 0;
}

static bool waits(const struct transfer *transfer, const char *remote)
{
    for (size_t i = 0; i < transfer->count; i++) {
        const char *other = transfer->batch[i].remote;

        if (other && remote && strcmp(other, remote) == 0)
            return true;
    }
    return false;
}

/* Takes a file, whose strings are its own from now on, into the batch. */
static void add(struct transfer *transfer, const struct moving *file)
{
    if (transfer->count == transfer->batch_size || waits(transfer, file->remote))
        flush(transfer);
    struct moving *moving = &transfer->batch[transfer->count++];

    *moving = *file;
    moving->transfer = transfer;
    local_init(&moving->local);
    if (transfer->batch_size == 1)
        flush(transfer);
}

/* ---- folders ---- */

static void report_problem(struct transfer *transfer, size_t index, const char *path, struct sandlot_error *problem)
{
    flush(transfer);
    report(transfer, index, path, problem, 0);
    sandlot_error_clear(problem);
}

static char *join(const char *folder, const char *relative)
{
    char *path = NULL;
    size_t length = strlen(folder);

    return asprintf(&path, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", relative) < 0 ? NULL
                                                                                                           : path;
}

/* An empty folder; *REMOTE is its path in the sandbox. */
static void make_folder(struct transfer *transfer, size_t index, const char *remote, const char *relative)
{
    const struct file_call call = call_of(transfer, remote, remote);
    struct sandlot_error problem = {0};

    flush(transfer);
    if (error_is_set(&transfer->stopped)) {
        error_set(&problem, transfer->stopped.code, "%s", transfer->stopped.message);
    } else if (!transfer->upload) {
        local_make_below(transfer->folder_fd, relative, &problem);
    } else {
        const struct file_route *route = file_route_of(&call, &problem);

        if (route)
            route->make_directory(&call, &problem);
        stall_explain(&transfer->stall, remote, &problem);
    }
    report_problem(transfer, index, remote, &problem);
}

/* One entry of a tree: LOCAL and REMOTE are its paths on both sides, and are freed or taken. */
static void add_entry(struct transfer *transfer, const struct moving *item, const struct entries *entries, size_t at,
                      char *local, char *remote)
{
    const struct sandlot_file_entry *entry = &entries->items[at];
    const char *relative = transfer_tree_relative(entry->path, transfer->upload ? item->local_path : item->remote);
    struct sandlot_error problem = {0};

    if (entry->is_symlink) {
        error_set(
            &problem, SANDLOT_CODE_NOT_A_FILE,
            "'%s' was skipped: it is a link to a directory or out of the folder, a broken link or no regular file",
            entry->path);
        report_problem(transfer, item->index, remote, &problem);
    } else if (entry->is_dir) {
        if (transfer_tree_is_empty(entries, at))
            make_folder(transfer, item->index, remote, relative);
    } else if (!transfer->upload && entry->bytes > transfer->bound.left) {
        const struct file_call call = call_of(transfer, remote, remote);

        file_error_bound(&problem, &call);
        report_problem(transfer, item->index, remote, &problem);
    } else {
        struct moving file = {.index = item->index,
                              .path = strdup(remote),
                              .remote = TAKE(remote),
                              .local_path = transfer->upload ? TAKE(local) : NULL,
                              .relative = relative,
                              .mode = item->mode};

        local_init(&file.local);
        if (file.path) {
            add(transfer, &file);
        } else {
            error_no_memory(&problem);
            report_problem(transfer, item->index, entry->path, &problem);
            moving_clear(&file);
        }
    }
    free(local);
    free(remote);
}

/* All ENTRIES, found below the local folder (upload) or the sandbox's (download) of ITEM. */
static void add_tree(struct transfer *transfer, const struct moving *item, const struct entries *entries)
{
    const char *from = transfer->upload ? item->local_path : item->remote;

    uint64_t bytes = 0;

    for (size_t i = 0; i < entries->count; i++)
        bytes += entries->items[i].bytes;
    transfer->total += bytes;
    transfer->unknown -= bytes > 0; /* a listing may know no sizes */
    for (size_t i = 0; i < entries->count; i++) {
        const char *path = entries->items[i].path;
        const char *relative = transfer_tree_relative(path, from);
        char *remote = relative ? join(item->remote, relative) : NULL;
        char *local = strdup(path);

        if (remote && local) {
            add_entry(transfer, item, entries, i, local, remote);
            continue;
        }
        struct sandlot_error problem = {0};

        error_set(&problem, SANDLOT_CODE_INTERNAL_ERROR, "'%s' could not be placed below '%s'", path, item->path);
        report_problem(transfer, item->index, path, &problem);
        free(remote);
        free(local);
    }
    flush(transfer);
}

static int upload_tree(struct transfer *transfer, const struct moving *item, struct sandlot_error *error)
{
    CLEANUP(entries_clear) struct entries entries = {0};

    if (transfer_tree_local(item->local_path, &entries, error) < 0)
        return -1;
    if (entries.count == 0)
        make_folder(transfer, item->index, item->remote, "");
    add_tree(transfer, item, &entries);
    return 0;
}

static int download_tree(struct transfer *transfer, const struct moving *item, const struct entries *entries,
                         struct sandlot_error *error)
{
    if (path_make_folders(item->local_path, 0777) < 0)
        return error_set(error, errno == EACCES ? SANDLOT_CODE_PERMISSION_DENIED : SANDLOT_CODE_INVALID_PATH,
                         "cannot make the local directory '%s': %s", item->local_path, strerror(errno));
    transfer->folder_fd = open(item->local_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (transfer->folder_fd < 0)
        return error_set(error, SANDLOT_CODE_INVALID_PATH, "cannot open the local directory '%s': %s", item->local_path,
                         strerror(errno));
    add_tree(transfer, item, entries);
    if (entries->count == 0)
        report(transfer, item->index, item->path, NULL, 0);
    close(transfer->folder_fd);
    transfer->folder_fd = -1;
    return 0;
}

static bool is_local_folder(const char *path)
{
    struct stat status;

    return path && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* 1: the item is a folder, and all in it has had its turn; 0: it is none; -1 with the error. */
static int move_folder(struct transfer *transfer, const struct moving *item, struct sandlot_error *error)
{
    if (!transfer->request.recursive || !item->local_path)
        return 0;
    flush(transfer);
    if (error_is_set(&transfer->stopped))
        return error_set(error, transfer->stopped.code, "%s", transfer->stopped.message);
    if (transfer->upload)
        return !is_local_folder(item->local_path) ? 0 : upload_tree(transfer, item, error) < 0 ? -1 : 1;
    struct file_call call = call_of(transfer, item->remote, item->path);
    const struct file_route *route = file_route_of(&call, error);
    CLEANUP(entries_clear) struct entries entries = {0};
    struct sandlot_error why = {0};

    if (!route)
        return -1;
    call.verb = FILE_LIST;
    call.deadline_ms = sandlot_now_ms() + TREE_MS;
    stall_moved(&transfer->stall);
    int failed = route->tree(&call, &entries, &why);

    if (!failed) {
        entries_sort(&entries);
        return download_tree(transfer, item, &entries, error) < 0 ? -1 : 1;
    }
    stall_explain(&transfer->stall, item->path, &why);
    bool no_folder = why.code == SANDLOT_CODE_NOT_A_DIRECTORY || why.code == SANDLOT_CODE_PATH_NOT_FOUND;

    if (!no_folder)
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    return no_folder ? 0 : -1;
}

/* ---- the request ---- */

static int prepare_item(const struct transfer *transfer, const struct sandlot_transfer_item *item,
                        struct moving *moving, struct sandlot_error *error)
{
    moving->path = strdup(item->path ? item->path : "");
    moving->local_path = item->local_path ? strdup(item->local_path) : NULL;
    moving->fd = item->fd;
    moving->mode = item->mode & 07777;
    if (!moving->path || (item->local_path && !moving->local_path))
        return error_no_memory(error);
    moving->remote = sandbox_path(moving->path, transfer->session->working_dir, true, error);
    if (!moving->remote)
        return -1;
    size_t length = strlen(moving->path);

    /* Made plain it would be the file before the slash, which was not meant. */
    if (!transfer->request.recursive && moving->path[length - 1] == '/')
        return error_set(error, SANDLOT_CODE_IS_DIRECTORY, "'%s' names a directory; name a file in it", moving->path);
    return 0;
}

static void move_item(struct transfer *transfer, size_t index, const struct sandlot_transfer_item *item)
{
    struct moving moving = {.index = index};
    struct sandlot_error problem = {0};

    local_init(&moving.local);
    if (prepare_item(transfer, item, &moving, &problem) == 0) {
        int folder = move_folder(transfer, &moving, &problem);

        if (folder == 0) {
            add(transfer, &moving);
            return;
        }
    }
    if (error_is_set(&problem))
        report_problem(transfer, index, moving.path ? moving.path : "", &problem);
    moving_clear(&moving);
}

/* What is known of the sizes before anything moves. */
static void add_to_total(struct transfer *transfer, const struct sandlot_transfer_item *item)
{
    struct stat status;
    bool found =
        transfer->upload && (item->local_path ? stat(item->local_path, &status) == 0 : fstat(item->fd, &status) == 0);

    if (found && S_ISREG(status.st_mode)) {
        off_t at = item->local_path ? 0 : lseek(item->fd, 0, SEEK_CUR);

        transfer->total += at >= 0 && at < status.st_size ? (uint64_t)(status.st_size - at) : 0;
    } else {
        transfer->unknown++;
    }
}

static int read_item(const struct sandlot_transfer_request *request, size_t index, struct sandlot_transfer_item *item,
                     struct sandlot_error *error)
{
    const char *items = (const char *)request->items;

    return sized_read(item, sizeof(*item), items + index * request->items[0].size,
                      SIZED_UP_TO(struct sandlot_transfer_item, fd), "sandlot_transfer_item", error);
}

/* How many files are moved together. What is wrong with the route shows with the first file. */
static void choose_batch(struct transfer *transfer)
{
    const struct file_call call = call_of(transfer, "/", "/");
    const struct file_route *route = transfer->vendor ? NULL : file_route_of(&call, NULL);
    const bool some = route && (transfer->upload ? route->upload_some != NULL : route->download_some != NULL);

    transfer->some_route = some ? route : NULL;
    transfer->batch_size = transfer->vendor || transfer->some_route ? BATCH : 1;
}

static int run(struct transfer *transfer, struct sandlot_error *error)
{
    struct sandlot_transfer_item item;

    choose_batch(transfer);

    for (size_t i = 0; i < transfer->request.count; i++) {
        if (read_item(&transfer->request, i, &item, error) < 0)
            return -1;
        add_to_total(transfer, &item);
    }
    for (size_t i = 0; i < transfer->request.count; i++) {
        read_item(&transfer->request, i, &item, NULL);
        move_item(transfer, i, &item);
    }
    flush(transfer);
    const struct sandlot_error *problem = error_is_set(&transfer->stopped) ? &transfer->stopped : &transfer->first;

    return error_is_set(problem) ? error_set(error, problem->code, "%s", problem->message) : 0;
}

static int move_all(struct sandlot_session *session, const struct sandlot_transfer_request *request, bool upload,
                    struct sandlot_error *error)
{
    const struct sandlot_provider *table = &session->provider->table;
    struct sandlot_transfer_request own;

    if (sized_read(&own, sizeof(own), request, SIZED_UP_TO(struct sandlot_transfer_request, count),
                   "sandlot_transfer_request", error) < 0)
        return -1;
    if (own.count && !own.items)
        return error_set(error, SANDLOT_CODE_USAGE, "the list of the files to move is missing");
    if (upload && own.max_bytes)
        return error_set(error, SANDLOT_CODE_USAGE, "max_bytes is for downloads; leave it 0 for an upload");
    int cancel_fd = cancellation_fd(own.cancellation);

    if (cancellation_check(cancel_fd, error) < 0)
        return -1;
    struct transfer *transfer = calloc(1, sizeof(*transfer));

    if (!transfer)
        return error_no_memory(error);
    transfer->session = session;
    transfer->request = own;
    transfer->upload = upload;
    transfer->bound.maximum = transfer->bound.left = own.max_bytes ? own.max_bytes : UINT64_MAX;
    transfer->vendor = upload ? table->upload != NULL : table->download != NULL;
    transfer->folder_fd = -1;
    int failed = stall_start(&transfer->stall, cancel_fd, error) < 0 ? -1 : run(transfer, error);

    stall_end(&transfer->stall);
    sandlot_error_clear(&transfer->first);
    sandlot_error_clear(&transfer->stopped);
    free(transfer);
    return failed;
}

int sandlot_upload(struct sandlot_session *session, const struct sandlot_transfer_request *request,
                   struct sandlot_error *error)
{
    return move_all(session, request, true, error);
}

int sandlot_download(struct sandlot_session *session, const struct sandlot_transfer_request *request,
                     struct sandlot_error *error)
{
    return move_all(session, request, false, error);
}
