#include "results/import.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "results/beneath.h"
#include "results/box.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_BYTES = 60 * 1000 };

struct importing {
    struct sandlot_session *session;
    const struct import_request *request;
    int cancel_fd;
    struct base base;
};

/* ---- the folder here --------------------------------------------------------------------------------------------- */

static int begin(struct importing *importing, struct sandlot_error *error)
{
    struct base *base = &importing->base;
    const char *folder = importing->request->folder;
    const char *const *pattern = importing->request->exclude;

    base->record = ledger_find(importing->session->provider->entry->name, importing->session->id);
    if (!base->record)
        return error_set(
            error, SANDLOT_CODE_NOT_SUPPORTED,
            "nothing can be remembered of sandbox %s: this user's Sandlot has not made it; import into one "
            "that 'sandlot create' makes",
            importing->session->id);
    base->manifest.imported = base->all = true;
    base->manifest.folder = realpath(folder, NULL);
    base->fd = base->manifest.folder ? open(base->manifest.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (base->fd < 0)
        return error_set(error, errno == ENOTDIR ? SANDLOT_CODE_NOT_A_DIRECTORY : SANDLOT_CODE_FILE_NOT_FOUND,
                         "the folder %s cannot be opened: %s", folder, strerror(errno));
    for (; pattern && *pattern; pattern++)
        if (manifest_exclude(&base->manifest, *pattern, error) < 0)
            return -1;
    return 0;
}

static int digest(const struct importing *importing, struct node *node, struct sandlot_error *error)
{
    AUTO_CLOSE int fd = beneath_open_file(importing->base.fd, node->path);

    node->digested = fd >= 0 && node_digest(fd, importing->cancel_fd, node->digest, &node->bytes, NULL) == 0;
    if (node->digested)
        return 0;
    if (cancellation_check(importing->cancel_fd, error) < 0)
        return -1;
    return error_set(error, errno == EACCES ? SANDLOT_CODE_PERMISSION_DENIED : SANDLOT_CODE_INTERNAL_ERROR,
                     "'%s' in %s cannot be read: %s; change its mode, or leave it out with --exclude", node->path,
                     importing->base.manifest.folder, strerror(errno));
}

/* Pipes, sockets and devices stay here, and are not looked for later. */
static void drop_special(struct nodes *nodes)
{
    size_t kept = 0;

    for (size_t i = 0; i < nodes->count; i++) {
        enum node_type type = nodes->items[i].type;

        if (type == NODE_FILE || type == NODE_FOLDER || type == NODE_LINK)
            nodes->items[kept++] = nodes->items[i];
        else
            node_clear(&nodes->items[i]);
    }
    nodes->count = kept;
}

static int look(struct importing *importing, struct import_count *count, struct sandlot_error *error)
{
    struct nodes *nodes = &importing->base.manifest.nodes;
    const struct node_walk walk = {.nodes = nodes,
                                   .cancel_fd = importing->cancel_fd,
                                   .leaves_out = manifest_leaves_out,
                                   .context = &importing->base.manifest,
                                   .where = "on this machine"};

    if (node_walk(&walk, importing->base.fd, ".", NULL, error) < 0)
        return -1;
    nodes_sort(nodes);
    drop_special(nodes);
    for (size_t i = 0; i < nodes->count; i++) {
        if (nodes->items[i].type != NODE_FILE)
            continue;
        if (digest(importing, &nodes->items[i], error) < 0)
            return -1;
        count->files++;
        count->bytes += nodes->items[i].bytes;
    }
    return 0;
}

/* What was uploaded must be what is remembered. */
static int look_again(const struct importing *importing, struct sandlot_error *error)
{
    const struct nodes *nodes = &importing->base.manifest.nodes;

    for (size_t i = 0; i < nodes->count; i++) {
        const struct node *node = &nodes->items[i];
        struct node now CLEANUP(node_clear) = {0};
        const char *name = node->path;
        AUTO_CLOSE int parent = beneath_open_parent(importing->base.fd, node->path, &name);

        if (parent < 0 || node_look(parent, name, &now) < 0 || now.type != node->type ||
            (node->type == NODE_FILE && (now.changed_ms != node->changed_ms || now.bytes != node->bytes)))
            return error_set(error, SANDLOT_CODE_CONFLICT, "'%s' in %s was changed while it was imported; import again",
                             node->path, importing->base.manifest.folder);
    }
    return 0;
}

/* ---- what commands make ------------------------------------------------------------------------------------------ */

static int run(const struct importing *importing, const char *command, struct sandlot_error *error)
{
    const struct sandlot_execution execution = {
        .size = sizeof(execution), .command = command, .cancellation = importing->request->cancellation};
    struct sandlot_result result = {.size = sizeof(result)};
    int failed = sandlot_execute(importing->session, &execution, &result, error);

    if (!failed && !(result.has_exit_code && result.exit_code == 0))
        failed =
            error_set(error, SANDLOT_CODE_PROVIDER_ERROR, "folders and links could not be made in the sandbox: %.300s",
                      result.output ? result.output : "no reason is known");
    sandlot_result_clear(&result);
    return failed;
}

/* The words that make NODE; false when out of memory. */
static bool add_words(char **command, const struct node *node)
{
    AUTO_FREE char *relative = text_format("./%s", node->path);
    AUTO_FREE char *path = relative ? text_shell_quote(relative) : NULL;
    AUTO_FREE char *target = node->target ? text_shell_quote(node->target) : NULL;

    if (!path || (node->target && !target))
        return false;
    if (node->type == NODE_FOLDER)
        return text_append(command, "mkdir -p -- %s || exit 1\n", path);
    return text_append(command, "rm -f -- %s && ln -s -- %s %s || exit 1\n", path, target, path);
}

/* Folders, before the files, or links, behind them. */
static int make(const struct importing *importing, enum node_type type, struct sandlot_error *error)
{
    const struct nodes *nodes = &importing->base.manifest.nodes;
    AUTO_FREE char *place = text_shell_quote(sandlot_session_working_dir(importing->session));
    AUTO_FREE char *command = NULL;

    for (size_t i = 0; i < nodes->count && place; i++) {
        if (nodes->items[i].type != type)
            continue;
        if ((!command && !text_append(&command, "cd %s || exit 1\n", place)) || !add_words(&command, &nodes->items[i]))
            return error_no_memory(error);
        if (strlen(command) < COMMAND_BYTES)
            continue;
        if (run(importing, command, error) < 0)
            return -1;
        free(TAKE(command));
    }
    return !place ? error_no_memory(error) : command ? run(importing, command, error) : 0;
}

/* ---- the files --------------------------------------------------------------------------------------------------- */

static void on_progress(void *context, uint64_t done, uint64_t total)
{
    const struct importing *importing = context;

    if (importing->request->progress)
        importing->request->progress(NULL, done, total);
}

static void ignore(void *context, size_t index, const char *path, const struct sandlot_error *problem, uint64_t bytes)
{
    (void)context;
    (void)index;
    (void)path;
    (void)problem;
    (void)bytes;
}

static int fill_items(const struct importing *importing, struct sandlot_transfer_item *items, size_t *count,
                      struct sandlot_error *error)
{
    const struct base *base = &importing->base;
    const char *place = sandlot_session_working_dir(importing->session);

    for (size_t i = 0; i < base->manifest.nodes.count; i++) {
        const struct node *node = &base->manifest.nodes.items[i];
        struct sandlot_transfer_item *item = &items[*count];

        if (node->type != NODE_FILE)
            continue;
        *item = (struct sandlot_transfer_item){
            .size = sizeof(*item),
            .path = text_format("%s/%s", strcmp(place, "/") == 0 ? "" : place, node->path),
            .local_path = text_format("%s/%s", base->manifest.folder, node->path),
            .mode = node->executable ? 0755 : 0644};
        ++*count;
        if (!item->path || !item->local_path)
            return error_no_memory(error);
    }
    return 0;
}

static int upload(struct importing *importing, struct sandlot_error *error)
{
    size_t count = 0;
    AUTO_FREE struct sandlot_transfer_item *items = calloc(importing->base.manifest.nodes.count + 1, sizeof(*items));
    int failed = items ? fill_items(importing, items, &count, error) : error_no_memory(error);
    const struct sandlot_transfer_request request = {.size = sizeof(request),
                                                     .items = items,
                                                     .count = count,
                                                     .done = ignore,
                                                     .progress = on_progress,
                                                     .context = importing,
                                                     .cancellation = importing->request->cancellation};

    if (!failed && count)
        failed = sandlot_upload(importing->session, &request, error);
    for (size_t i = 0; i < count; i++) {
        free((char *)(uintptr_t)items[i].path);
        free((char *)(uintptr_t)items[i].local_path);
    }
    return failed;
}

/* What lay in the working directory before is nobody's work either. */
static int add_present(struct importing *importing, struct sandlot_error *error)
{
    struct box box = {.stage = NO_STAGE};
    struct nodes present = {0};
    struct nodes more = {0};
    const struct nodes *nodes = &importing->base.manifest.nodes;
    int failed = box_begin(importing->session, importing->request->cancellation, &box, error);

    if (!failed)
        failed = box_list(&box, &importing->base, &present, error);
    drop_special(&present);
    for (size_t i = 0; i < present.count && !failed; i++) {
        struct box_file file = {.path = present.items[i].path};
        const struct node *imported = nodes_find(nodes, file.path);

        if (imported && imported->type == present.items[i].type)
            continue;
        if (imported) {
            failed = error_set(error, SANDLOT_CODE_CONFLICT,
                               "'%s' is something else in the sandbox than in %s; remove it there and import again",
                               file.path, importing->base.manifest.folder);
            break;
        }
        if (box.native && present.items[i].type == NODE_FILE) {
            failed = box_measure(&box, &file, 1, error);
            present.items[i].digested = !file.problem;
            memcpy(present.items[i].digest, file.digest, NODE_DIGEST);
            free(file.problem);
        }
        if (!failed)
            failed = nodes_add(&more, &present.items[i], error);
    }
    if (!failed)
        failed = manifest_merge(&importing->base.manifest, &more, error);
    nodes_clear(&more);
    nodes_clear(&present);
    box_end(&box);
    return failed;
}

int import_folder(struct sandlot_session *session, const struct import_request *request, struct import_count *count,
                  struct sandlot_error *error)
{
    struct importing importing = {.session = session,
                                  .request = request,
                                  .cancel_fd = cancellation_fd(request->cancellation),
                                  .base = {.fd = -1}};

    *count = (struct import_count){0};
    int failed = begin(&importing, error);

    if (!failed)
        failed = look(&importing, count, error);
    if (!failed)
        failed = make(&importing, NODE_FOLDER, error);
    if (!failed)
        failed = upload(&importing, error);
    if (!failed)
        failed = make(&importing, NODE_LINK, error);
    if (!failed)
        failed = look_again(&importing, error);
    if (!failed)
        failed = add_present(&importing, error);
    if (!failed)
        failed = base_remember(&importing.base, error);
    base_clear(&importing.base);
    return failed;
}
