#include "snapshots.h"

#include "layer_making.h"
#include "layers.h"
#include "sandbox.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/snapshot_name.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { SWEEP_LIMIT_MS = 5000 };

void snapshot_basis_clear(struct snapshot_basis *basis)
{
    settings_clear(&basis->settings);
    if (basis->lock >= 0)
        close(take_fd(&basis->lock));
}

void snapshots_sweep(struct client *client, struct sandlot_call *call)
{
    struct attempt attempt;
    struct received reply;
    int connection;

    /* What is not removed now is when a keeper next begins, or a box that had such a layer ends. */
    attempt_begin_urgent(&attempt, call, SWEEP_LIMIT_MS);
    if (client_ask(client, &attempt.call, MESSAGE_SWEEP, "", true, &reply, &connection) != SANDLOT_OK)
        return;
    received_clear(&reply);
    close(connection);
}

/* ---- records ---- */

/* What a box of the RECORD begins with. A folder that a snapshot refers to must still be the same. */
static enum sandlot_status read_basis(struct sandlot_call *call, const char *record, struct settings *settings)
{
    enum sandlot_status status = SANDLOT_OK;

    if (!settings_read(record, settings))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "the record of the snapshot cannot be read: another version of Sandlot wrote it; make the "
                            "snapshot anew");
    if (settings->workspace) {
        const int base = layer_base_open(call, record, settings, &status);

        if (base >= 0)
            close(base);
    }
    return status;
}

static char *write_basis(const struct layer_making *making)
{
    struct settings settings = making->settings;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    settings.layers = (char *)(uintptr_t)making->layers;
    settings.root_layers = (char *)(uintptr_t)making->root_layers;
    settings.run_label[0] = '\0';
    if (making->with_base) {
        settings.workspace = NULL;
        settings.base_ms = 0;
    }
    AUTO_FREE char *text = settings_write(&settings);
    static const char *const copied[] = {"workspace_device", "workspace_inode"};

    if (!text || !fields_add_number(&text, "created_ms", (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000))
        return NULL;
    for (size_t i = 0; settings.workspace && i < sizeof(copied) / sizeof(*copied); i++)
        if (!fields_add_number(&text, copied[i], fields_get_number(making->record, copied[i])))
            return NULL;
    char *result = text;

    text = NULL;
    return result;
}

/* Gives the layer that was made its NAME, all at once. */
static enum sandlot_status write_snapshot(struct sandlot_call *call, const struct layer_making *making,
                                          const char *name)
{
    AUTO_FREE char *text = write_basis(making);
    const int folder = making->snapshots_fd;
    char temporary[SNAPSHOT_NAME_LONGEST + 8];

    if (!text)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    snprintf(temporary, sizeof(temporary), ".%s.new", name);
    AUTO_CLOSE int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
        renameat2(folder, temporary, folder, name, RENAME_NOREPLACE) == 0)
        return SANDLOT_OK;
    const int failed = errno;

    unlinkat(folder, temporary, 0);
    if (failed == EEXIST)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "there is a snapshot \"%s\" already; delete it, or take another name", name);
    return sandlot_fail(call, failed == ENOSPC || failed == EDQUOT ? SANDLOT_EXHAUSTED : SANDLOT_UNAVAILABLE,
                        "the snapshot could not be recorded: %s; free some disk space", strerror(failed));
}

/* ---- snapshots ---- */

static void tell_what_shows_through(struct sandlot_call *call, const struct layer_making *making)
{
    const struct settings *settings = &making->settings;
    char text[1024];

    if (!settings->workspace || making->with_base)
        return;
    snprintf(text, sizeof(text),
             "the snapshot keeps what the sandbox changed, and refers to the folder %.700s: what is changed there from "
             "now on shows in sandboxes that start from it, unless --with-base puts the folder into the snapshot",
             settings->workspace);
    call->host->log(call, SANDLOT_LOG_WARNING, text);
}

enum sandlot_status snapshot_make(struct client *client, struct sandlot_call *call, const char *id, const char *name,
                                  bool with_base, uint64_t limit)
{
    struct layer_making making;
    enum sandlot_status status = snapshot_name_check(call, name);

    if (status != SANDLOT_OK)
        return status;
    status = layer_making_begin(client, call, id, &making);
    making.with_base = with_base && making.settings.workspace;
    /* The box is not held from the beginning. But the keeper waits for the locks that we have, and removes what we
     * leave should we be killed. */
    if (making.with_base)
        snapshots_sweep(client, call);
    if (status == SANDLOT_OK)
        status = layer_make(&making, limit);
    if (status == SANDLOT_OK)
        status = write_snapshot(call, &making, name);
    if (status == SANDLOT_OK)
        tell_what_shows_through(call, &making);
    const bool leaves = making.made && (making.rebased || status != SANDLOT_OK);

    layer_making_end(&making);
    if (leaves)
        snapshots_sweep(client, call);
    return status;
}

enum sandlot_status snapshot_of_fork(struct client *client, struct sandlot_call *call, const char *id, uint64_t limit,
                                     struct snapshot_basis *basis)
{
    struct layer_making making;

    *basis = (struct snapshot_basis){.lock = -1};
    enum sandlot_status status = layer_making_begin(client, call, id, &making);

    if (status == SANDLOT_OK)
        status = layer_make(&making, limit);
    AUTO_FREE char *record = status == SANDLOT_OK ? write_basis(&making) : NULL;

    if (status == SANDLOT_OK)
        status =
            record ? read_basis(call, record, &basis->settings) : sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    if (status == SANDLOT_OK) {
        basis->settings.network = making.network;
        making.network = NULL;
        basis->lock = take_fd(&making.layers_fd);
        basis->leaves = making.rebased;
    }
    layer_making_end(&making);
    return status;
}

enum sandlot_status snapshot_find(struct client *client, struct sandlot_call *call, const char *name,
                                  struct snapshot_basis *basis)
{
    enum sandlot_status status = snapshot_name_check(call, name);

    *basis = (struct snapshot_basis){.lock = -1};
    if (status != SANDLOT_OK)
        return status;
    basis->lock = layers_lock(client, call, &status);
    if (basis->lock < 0)
        return status;
    AUTO_CLOSE int folder = openat(client->state_fd, SNAPSHOTS_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_FREE char *record = folder >= 0 ? fields_read(folder, name) : NULL;

    if (record)
        return read_basis(call, record, &basis->settings);
    return sandlot_fail(call, SANDLOT_NOT_FOUND,
                        "there is no snapshot \"%.64s\"; `sandlot snapshots` shows what there is", name);
}

static int is_listed(const struct dirent *entry)
{
    return snapshot_name_valid(entry->d_name);
}

/* What it has that no older snapshot has: its newest layer. */
static uint64_t size_of(int layers, const char *record)
{
    AUTO_FREE char *ids = fields_get(record, "layers");
    struct layer_chain chain;

    return layers >= 0 && layer_chain_read(ids, &chain) && chain.count > 0 ? layer_size(layers, chain.ids[0]) : 0;
}

static enum sandlot_status list_one(const struct sandlot_listing *listing, int layers, int folder, const char *name)
{
    AUTO_FREE char *record = fields_read(folder, name);
    char state[64];

    if (!record)
        return SANDLOT_OK; /* it was deleted meanwhile */
    snprintf(state, sizeof(state), "kept, %.1f mib", (double)size_of(layers, record) / (1 << 20));
    const struct sandlot_listed listed = {
        .size = sizeof(listed), .id = name, .state = state, .created_at_ms = fields_get_number(record, "created_ms")};

    return listing->add(listing, &listed);
}

enum sandlot_status snapshots_list(struct client *client, struct sandlot_call *call,
                                   const struct sandlot_listing *listing)
{
    enum sandlot_status status = SANDLOT_OK;
    const int state_fd = client_state(client, call, &status);
    AUTO_CLOSE int folder =
        state_fd < 0 ? -1 : openat(state_fd, SNAPSHOTS_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_CLOSE int layers =
        folder < 0 ? -1 : openat(state_fd, LAYERS_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dirent **entries = NULL;
    const int count = folder < 0 ? 0 : scandirat(folder, ".", &entries, is_listed, alphasort);

    for (int i = 0; i < count; i++) {
        if (status == SANDLOT_OK)
            status = list_one(listing, layers, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return count < 0 ? sandlot_fail(call, SANDLOT_UNAVAILABLE, "the snapshots cannot be listed: %s", strerror(errno))
                     : status;
}

enum sandlot_status snapshot_delete(struct client *client, struct sandlot_call *call, const char *name)
{
    enum sandlot_status status = SANDLOT_OK;
    const int state_fd = client_state(client, call, &status);
    char path[SNAPSHOT_NAME_LONGEST + 16];

    if (state_fd < 0 || !snapshot_name_valid(name))
        return status;
    snprintf(path, sizeof(path), SNAPSHOTS_FOLDER "/%s", name);
    if (unlinkat(state_fd, path, 0) == 0)
        snapshots_sweep(client, call);
    else if (errno != ENOENT)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "the snapshot cannot be deleted: %s; make sure that the state folder %.600s may be written "
                            "to",
                            strerror(errno), client->state_path);
    return SANDLOT_OK;
}
