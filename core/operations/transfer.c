/*
 * upload and download: the files of one request in order, each with its own fate. They go through the vendor's own
 * transfer, some at a time, where the provider has one (transfer_vendor.h); else one by one, or small ones together
 * (transfer_some.h), on the route of all other file operations.
 */
#include "session/transfer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/sized.h"
#include "operations/sandbox_path.h"
#include "operations/transfer_some.h"
#include "operations/transfer_tree.h"
#include "operations/transfer_vendor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TREE_MS = 10 * 60 * 1000 }; /* to list a tree of the sandbox */

/* ---- files in their order ---- */

/* A file's fate is known, or it is moved now. Tells it. */
static void finish(struct moving *moving)
{
    struct transfer *transfer = moving->transfer;

    if (!moving->settled) {
        if (moving_open(moving, &moving->problem) == 0)
            moving_on_route(moving, &moving->problem);
        moving_settle(moving);
    }
    if (!transfer->upload && !moving->kept)
        moving_commit(moving);
    if (error_is_set(&moving->problem))
        moving_give_back(moving);
    transfer_report(transfer, moving->index, moving->path, &moving->problem, moving->bytes);
    moving_clear(moving);
}

/* Moves all that wait, and tells their fates. */
static void flush(struct transfer *transfer)
{
    size_t known = 0; /* so many have had their turn together */

    if (transfer->vendor) {
        transfer_by_vendor(transfer);
        known = transfer->count;
    }
    for (size_t i = 0; i < transfer->count; i++) {
        if (i >= known)
            known = i + transfer_some(transfer, i);
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
    transfer_report(transfer, index, path, problem, 0);
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
    const struct file_call call = transfer_call_of(transfer, remote, remote);
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
        const struct file_call call = transfer_call_of(transfer, remote, remote);

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
        transfer_report(transfer, item->index, item->path, NULL, 0);
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
    struct file_call call = transfer_call_of(transfer, item->remote, item->path);
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
    const struct file_call call = transfer_call_of(transfer, "/", "/");
    const struct file_route *route = transfer->vendor ? NULL : file_route_of(&call, NULL);
    const bool some = route && (transfer->upload ? route->upload_some != NULL : route->download_some != NULL);

    transfer->some_route = some ? route : NULL;
    transfer->batch_size = transfer->vendor || transfer->some_route ? TRANSFER_BATCH : 1;
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
