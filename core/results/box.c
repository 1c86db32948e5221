#include "results/box.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "operations/derived/contents.h"
#include "operations/native/open.h"
#include "results/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIST_MS = 10 * 60 * 1000,
    OPENED = 16 /* files of a native box at once, of JOB_TREES_DESCRIPTORS: each time costs some twenty system calls */
};

static struct file_call call_of(const struct box *box, int64_t limit_ms)
{
    const char *place = sandlot_session_working_dir(box->session);

    return (struct file_call){.session = box->session,
                              .verb = FILE_DOWNLOAD,
                              .path = place,
                              .shown = place,
                              .deadline_ms = sandlot_now_ms() + limit_ms,
                              .cancel_fd = cancellation_fd(box->cancellation)};
}

int box_begin(struct sandlot_session *session, struct sandlot_cancellation *cancellation, struct box *box,
              struct sandlot_error *error)
{
    *box = (struct box){.session = session, .cancellation = cancellation, .stage = NO_STAGE};
    const struct file_call call = call_of(box, FILE_CALL_MS);
    const struct file_route *route = file_route_of(&call, error);

    box->native = route == &native_route;
    return route ? 0 : -1;
}

/* ---- the stage --------------------------------------------------------------------------------------------------- */

static void stage_name(size_t index, char name[24])
{
    snprintf(name, 24, "%zu", index);
}

void box_end(struct box *box)
{
    stage_end(&box->stage);
}

static int need_stage(struct box *box, struct sandlot_error *error)
{
    if (box->stage.path || stage_begin(&box->stage) == 0)
        return 0;
    return error_set(error, SANDLOT_CODE_INTERNAL_ERROR,
                     "no folder for fetched files can be made below TMPDIR or /tmp: %s; set TMPDIR to another one",
                     strerror(errno));
}

int box_open_fetched(const struct box *box, size_t index)
{
    char name[24];

    stage_name(index, name);
    return openat(box->stage.fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

/* The working directory of a native box, while this thread acts as the box's user. */
struct inside {
    struct native_root root;
    int fd; /* O_PATH */
};

static void leave(struct inside *inside)
{
    if (inside->fd >= 0)
        close(inside->fd);
    native_end(&inside->root);
}

static int enter(const struct box *box, struct inside *inside, struct sandlot_error *error)
{
    const struct file_call call = call_of(box, LIST_MS);

    *inside = (struct inside){.root = NATIVE_NO_ROOT, .fd = -1};
    if (native_begin(&call, &inside->root, error) < 0)
        return -1;
    inside->fd = native_open(inside->root.fd, call.path, O_PATH | O_DIRECTORY);
    return inside->fd >= 0 ? 0 : native_failed(&call, inside->root.fd, errno, error);
}

static int list_native(const struct box *box, const struct base *base, struct nodes *nodes, struct sandlot_error *error)
{
    struct inside inside CLEANUP(leave);
    const struct node_walk walk = {.nodes = nodes,
                                   .cancel_fd = cancellation_fd(box->cancellation),
                                   .leaves_out = manifest_leaves_out,
                                   .context = &base->manifest,
                                   .where = "in the sandbox",
                                   .marks_closed = true};

    if (enter(box, &inside, error) < 0)
        return -1;
    return base_walk(base, &walk, inside.fd, error);
}

struct listing {
    const struct base *base;
    struct nodes *nodes;
};

static int take_content(void *context, const struct content *content, struct sandlot_error *error)
{
    const struct listing *listing = context;
    struct node node = {.path = (char *)(uintptr_t)content->path,
                        .type = node_type_of(content->mode),
                        .closed = content->closed,
                        .bytes = content->bytes,
                        .target = (char *)(uintptr_t)content->target};

    if (!node_path_valid(node.path))
        return error_set(error, SANDLOT_CODE_INVALID_PATH,
                         "'%.200s...' in the sandbox is no path that could be taken over; name the paths that matter",
                         node.path);
    if (!base_covers(listing->base, node.path) || manifest_leaves_out(&listing->base->manifest, node.path))
        return 0;
    node.executable = node.type == NODE_FILE && content->mode & S_IXUSR;
    node.digested = node.type == NODE_FILE && content->digest && node_digest_read(content->digest, node.digest);
    return nodes_add(listing->nodes, &node, error);
}

int box_list(const struct box *box, const struct base *base, struct nodes *nodes, struct sandlot_error *error)
{
    const struct file_call call = call_of(box, LIST_MS);
    struct listing listing = {base, nodes};
    int failed =
        box->native ? list_native(box, base, nodes, error) : contents_list(&call, take_content, &listing, error);

    nodes_sort(nodes);
    return failed;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static int problem(struct box_file *file, const char *what, int reason, struct sandlot_error *error)
{
    if (reason == ECANCELED)
        return error_set(error, SANDLOT_CODE_CANCELLED, "cancelled");
    free(file->problem);
    file->problem = text_format("%s (%s)", what, reason == ELOOP ? "a link stands there" : strerror(reason));
    return file->problem ? 0 : error_no_memory(error);
}

/* Opens FILES[0] to FILES[COUNT - 1] under one credential switch; the FDS that could not be are -1, with the problem
 * noted. 0 or -1; to be closed in any case. */
static int open_native(const struct box *box, struct box_file *files, int *fds, size_t count,
                       struct sandlot_error *error)
{
    struct inside inside CLEANUP(leave);

    for (size_t i = 0; i < count; i++)
        fds[i] = -1;
    if (enter(box, &inside, error) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        fds[i] = beneath_open_file(inside.fd, files[i].path);
        if (fds[i] < 0 && problem(&files[i], "it cannot be opened in the sandbox", errno, error) < 0)
            return -1;
    }
    return 0;
}

/* What has been fetched: its length and digest are those that count. */
static int look_at_fetched(const struct box *box, struct box_file *file, struct sandlot_error *error)
{
    AUTO_CLOSE int fd = box_open_fetched(box, file->index);

    if (fd < 0 || node_digest(fd, cancellation_fd(box->cancellation), file->digest, &file->bytes, &file->binary) < 0)
        return problem(file, "what was fetched of it cannot be read", errno, error);
    file->here = true;
    return 0;
}

/* Says what FROM is, which is FILE in the sandbox. */
static int measure_opened(const struct box *box, struct box_file *file, int from, struct sandlot_error *error)
{
    if (node_digest(from, cancellation_fd(box->cancellation), file->digest, &file->bytes, &file->binary) == 0)
        return 0;
    return problem(file, "it cannot be read in the sandbox", errno, error);
}

/* Copies FROM. Its bytes may change meanwhile: the digest is of those that were copied. */
static int fetch_opened(const struct box *box, struct box_file *file, int from, struct sandlot_error *error)
{
    char name[24];

    stage_name(file->index, name);
    AUTO_CLOSE int to = openat(box->stage.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    file->here = to >= 0 && node_digest_copy(from, to, cancellation_fd(box->cancellation), file->digest, &file->bytes,
                                             &file->binary) == 0;
    if (file->here)
        return 0;
    int reason = errno;

    if (reason == ENOSPC || reason == EDQUOT)
        return error_set(error, SANDLOT_CODE_NO_SPACE,
                         "there is no room in %s for what is fetched; set TMPDIR to a folder with more",
                         box->stage.path);
    return problem(file, "it cannot be fetched from the sandbox", reason, error);
}

typedef int take_opened(const struct box *box, struct box_file *file, int from, struct sandlot_error *error);

static int take_some(const struct box *box, struct box_file *files, size_t count, take_opened *take,
                     struct sandlot_error *error)
{
    int fds[OPENED];
    int failed = open_native(box, files, fds, count, error);

    for (size_t i = 0; i < count; i++) {
        AUTO_CLOSE int from = fds[i];

        if (!failed && from >= 0)
            failed = take(box, &files[i], from, error);
    }
    return failed;
}

/* Of a native box. */
static int take_all(const struct box *box, struct box_file *files, size_t count, take_opened *take,
                    struct sandlot_error *error)
{
    for (size_t at = 0; at < count; at += OPENED)
        if (take_some(box, files + at, count - at < OPENED ? count - at : OPENED, take, error) < 0)
            return -1;
    return 0;
}

int box_measure(const struct box *box, struct box_file *files, size_t count, struct sandlot_error *error)
{
    return take_all(box, files, count, measure_opened, error);
}

/* The fate of files that are downloaded together. */
static void note_fate(void *context, size_t index, const char *path, const struct sandlot_error *why, uint64_t bytes)
{
    struct box_file *file = (struct box_file *)context + index;

    (void)path;
    (void)bytes;
    if (!why)
        return;
    free(file->problem);
    file->problem = strdup(why->message);
}

/* Does it concern all files? */
static bool stops(const struct sandlot_error *why)
{
    return why->code == SANDLOT_CODE_CANCELLED || why->code == SANDLOT_CODE_SANDBOX_NOT_FOUND ||
           why->code == SANDLOT_CODE_AUTH || why->code == SANDLOT_CODE_NETWORK || why->code == SANDLOT_CODE_NO_SPACE ||
           why->code == SANDLOT_CODE_PROVIDER_UNAVAILABLE || why->code == SANDLOT_CODE_PROVIDER_CRASHED;
}

static char *absolute(const struct box *box, const char *path)
{
    const char *place = sandlot_session_working_dir(box->session);

    return text_format("%s/%s", strcmp(place, "/") == 0 ? "" : place, path);
}

static int download(const struct box *box, struct sandlot_transfer_item *items, struct box_file *files, size_t count,
                    struct sandlot_error *error)
{
    struct sandlot_error why = {0};
    const struct sandlot_transfer_request request = {.size = sizeof(request),
                                                     .items = items,
                                                     .count = count,
                                                     .done = note_fate,
                                                     .context = files,
                                                     .cancellation = box->cancellation};
    int failed = sandlot_download(box->session, &request, &why);

    if (failed && stops(&why))
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    return error_is_set(error) ? -1 : 0;
}

static int fill_items(const struct box *box, const struct box_file *files, size_t count,
                      struct sandlot_transfer_item *items, struct sandlot_error *error)
{
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct sandlot_transfer_item){.size = sizeof(items[i]),
                                                  .path = absolute(box, files[i].path),
                                                  .local_path = text_format("%s/%zu", box->stage.path, files[i].index)};
        if (!items[i].path || !items[i].local_path)
            return error_no_memory(error);
    }
    return 0;
}

static int fetch_by_transfer(const struct box *box, struct box_file *files, size_t count, struct sandlot_error *error)
{
    AUTO_FREE struct sandlot_transfer_item *items = calloc(count, sizeof(*items));

    if (!items)
        return error_no_memory(error);
    int failed = fill_items(box, files, count, items, error);

    if (!failed)
        failed = download(box, items, files, count, error);
    for (size_t i = 0; i < count && !failed; i++)
        if (!files[i].problem)
            failed = look_at_fetched(box, &files[i], error);
    for (size_t i = 0; i < count; i++) {
        free((char *)(uintptr_t)items[i].path);
        free((char *)(uintptr_t)items[i].local_path);
    }
    return failed;
}

int box_fetch(struct box *box, struct box_file *files, size_t count, struct sandlot_error *error)
{
    if (count == 0)
        return 0;
    if (need_stage(box, error) < 0)
        return -1;
    return box->native ? take_all(box, files, count, fetch_opened, error) : fetch_by_transfer(box, files, count, error);
}
