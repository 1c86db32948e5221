#include "results/base.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "loader/host.h"
#include "results/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_MS = 120 * 1000 };

/* What the provider tells. */
struct telling {
    struct sandlot_changes changes;
    struct base *base;
    struct sandlot_error *error;
};

static void take_base(const struct sandlot_changes *changes, const char *host_folder, int64_t since_ms)
{
    struct telling *telling = changes->context;

    if (!host_folder || telling->base->folder)
        return;
    telling->base->folder = strdup(host_folder);
    telling->base->since_ms = since_ms;
}

static enum sandlot_status take_path(const struct sandlot_changes *changes, const char *path)
{
    struct telling *telling = changes->context;
    const struct node node = {.path = (char *)(uintptr_t)path};

    if (path && strcmp(path, ".") == 0) {
        telling->base->all = true;
        return SANDLOT_OK;
    }
    if (!path || !node_path_valid(path))
        error_set(telling->error, SANDLOT_CODE_PROVIDER_ERROR, "the provider names a changed path that is none");
    else if (nodes_add(&telling->base->candidates, &node, telling->error) == 0)
        return SANDLOT_OK;
    return SANDLOT_EXHAUSTED;
}

static int ask_provider(struct sandlot_session *session, int cancel_fd, struct base *base, bool *cannot,
                        struct sandlot_error *error)
{
    const struct provider *provider = session->provider;
    struct telling telling = {.base = base, .error = error};
    struct host_call call;

    *cannot = !provider->table.changes;
    if (*cannot)
        return 0;
    telling.changes = (struct sandlot_changes){sizeof(telling.changes), &telling, take_base, take_path};
    host_call_init(&call, provider->entry->name, provider->environment, sandlot_now_ms() + CALL_MS, cancel_fd);
    if (session_take_turn(session, call.call.deadline_ms, cancel_fd, error) != SANDLOT_OK) {
        host_call_clear(&call);
        return -1;
    }
    enum sandlot_status status =
        provider->table.changes(&call.call, provider->instance, session->sandbox, &telling.changes);

    session_give_turn_back(session);
    *cannot = status == SANDLOT_UNSUPPORTED && !base->folder;
    int failed = host_call_error(&call, status, "cannot tell what has changed", true, error);

    host_call_clear(&call);
    nodes_sort(&base->candidates);
    return failed;
}

/* What an import, or an earlier apply, has left. */
static int read_manifest(struct base *base, struct sandlot_error *error)
{
    size_t length = 0;
    AUTO_FREE char *text = base->record ? ledger_read_kept(base->record->label, &length) : NULL;

    return text ? manifest_read(text, length, &base->manifest, error) : 0;
}

static int refuse(const struct sandlot_session *session, struct sandlot_error *why, struct sandlot_error *error)
{
    const char *name = session->provider->entry->name;

    if (error_is_set(why))
        error_set(error, SANDLOT_CODE_NOT_SUPPORTED, "%s", why->message);
    else
        error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                  "nothing tells what the files of sandbox %s were before: %s keeps no base", session->id, name);
    sandlot_error_clear(why);
    return error_append(error, "; put a folder into it with 'sandlot import %s DIR' before the work begins",
                        session->id);
}

static int open_folder(struct base *base, struct sandlot_error *error)
{
    if (!base->folder)
        return error_no_memory(error);
    base->fd = open(base->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    base->reason = base->fd < 0 ? errno : 0;
    return 0;
}

static int use_manifest(struct base *base, struct sandlot_error *error)
{
    base->all = true;
    base->folder = strdup(base->manifest.folder);
    return open_folder(base, error);
}

int base_find(struct sandlot_session *session, int cancel_fd, struct base *base, struct sandlot_error *error)
{
    struct sandlot_error why = {0};
    bool cannot = false;

    *base = (struct base){.fd = -1, .record = ledger_find(session->provider->entry->name, session->id)};
    if (read_manifest(base, error) < 0)
        return -1;
    if (base->manifest.imported)
        return use_manifest(base, error);
    int failed = ask_provider(session, cancel_fd, base, &cannot, &why);

    if (cannot || (!failed && !base->folder))
        return refuse(session, &why, error);
    if (failed)
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    base->told = true;
    return failed ? -1 : open_folder(base, error);
}

void base_clear(struct base *base)
{
    if (base->fd >= 0)
        close(base->fd);
    free(base->folder);
    nodes_clear(&base->candidates);
    manifest_clear(&base->manifest);
    ledger_record_free(base->record);
    *base = (struct base){.fd = -1};
}

/* ---- what may differ --------------------------------------------------------------------------------------------- */

bool base_covers(const struct base *base, const char *path)
{
    AUTO_FREE char *above = base->all ? NULL : strdup(path);

    for (char *end = above; end; end = strrchr(above, '/')) {
        if (end != above)
            *end = '\0';
        if (nodes_find(&base->candidates, above))
            return true;
    }
    return base->all;
}

/* PATH lies in a folder that may not be looked into: that one is told. */
static int add_closed(const struct node_walk *walk, int folder_fd, const char *path, struct sandlot_error *error)
{
    AUTO_FREE char *above = strdup(path);
    const struct node closed = {.path = above, .type = NODE_FOLDER, .closed = true};

    if (!above)
        return error_no_memory(error);
    for (char *end = strrchr(above, '/'); end; end = strrchr(above, '/')) {
        const char *name;

        *end = '\0';
        AUTO_CLOSE int parent = beneath_open_parent(folder_fd, above, &name);

        if (parent >= 0 && node_searchable(parent))
            return nodes_add(walk->nodes, &closed, error);
    }
    return error_set(error, SANDLOT_CODE_PERMISSION_DENIED, "'.' cannot be looked at %s; change its mode", walk->where);
}

static int walk_candidate(const struct node_walk *walk, int folder_fd, const char *path, struct sandlot_error *error)
{
    const char *name = path;
    AUTO_CLOSE int parent = beneath_open_parent(folder_fd, path, &name);
    const struct node blocked = {.path = (char *)(uintptr_t)path, .type = NODE_BLOCKED};

    if (walk->marks_closed && (parent < 0 ? errno == EACCES : !node_searchable(parent)))
        return add_closed(walk, folder_fd, path, error);
    if (parent >= 0)
        return node_walk(walk, parent, name, path, error);
    if (errno == ENOENT || errno == ENOTDIR)
        return 0;
    if (errno == ELOOP)
        return nodes_add(walk->nodes, &blocked, error);
    return error_set(error, errno == EACCES ? SANDLOT_CODE_PERMISSION_DENIED : SANDLOT_CODE_INTERNAL_ERROR,
                     "'%.300s' cannot be looked at %s: %s", path, walk->where, strerror(errno));
}

int base_walk(const struct base *base, const struct node_walk *walk, int folder_fd, struct sandlot_error *error)
{
    const char *before = NULL;

    if (base->all)
        return node_walk(walk, folder_fd, ".", NULL, error);
    for (size_t i = 0; i < base->candidates.count; i++) {
        const char *path = base->candidates.items[i].path;

        /* Below one that was walked already. */
        if (before && node_path_within(path, before))
            continue;
        before = path;
        if ((!walk->leaves_out || !walk->leaves_out(walk->context, path)) &&
            walk_candidate(walk, folder_fd, path, error) < 0)
            return -1;
    }
    return 0;
}

static int list_manifest(const struct base *base, struct nodes *nodes, struct sandlot_error *error)
{
    for (size_t i = 0; i < base->manifest.nodes.count; i++)
        if (base_covers(base, base->manifest.nodes.items[i].path) &&
            nodes_add(nodes, &base->manifest.nodes.items[i], error) < 0)
            return -1;
    return 0;
}

int base_list(const struct base *base, int cancel_fd, struct nodes *nodes, struct sandlot_error *error)
{
    const struct node_walk walk = {.nodes = nodes, .cancel_fd = cancel_fd, .where = "on this machine"};

    if (!base->told)
        return list_manifest(base, nodes, error);
    int failed = base->fd >= 0 ? base_walk(base, &walk, base->fd, error) : 0;

    nodes_sort(nodes);
    return failed;
}

int base_need_folder(const struct base *base, struct sandlot_error *error)
{
    if (base->fd >= 0)
        return 0;
    return error_set(error, SANDLOT_CODE_FILE_NOT_FOUND,
                     "the folder %s, with which the sandbox is compared, cannot be opened: %s; put it back, or take "
                     "the changed files out with 'sandlot export --format tar'",
                     base->folder, strerror(base->reason));
}

int base_remember(struct base *base, struct sandlot_error *error)
{
    size_t length = 0;
    AUTO_FREE char *text = NULL;

    if (!base->record)
        return 0;
    if (!base->manifest.folder)
        base->manifest.folder = strdup(base->folder);
    text = base->manifest.folder ? manifest_write(&base->manifest, &length) : NULL;
    return text ? ledger_write_kept(base->record->label, text, length, error) : error_no_memory(error);
}
