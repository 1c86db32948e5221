#include "changes.h"

#include "layers.h"

#include <sandlot/sdk/cleanup.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { DEEPEST = 128 };

/* The way through the upper layer, and through the host's folder as far as that has the same folders. */
struct layers {
    struct sandlot_call *call;
    const struct sandlot_changes *changes;
    char path[PATH_MAX]; /* below the workspace */
    size_t length;
    unsigned depth;
    bool blind; /* the host's folder is not there (any more): that it had the same folders is assumed */
};

static enum sandlot_status tell(const struct layers *layers)
{
    return layers->changes->add(layers->changes, layers->length ? layers->path : ".");
}

/* A folder that hides what the host has there. Names of attributes that begin like this are the kernel's alone in a
 * box. */
static bool is_opaque(int fd)
{
    char value[4];

    return fgetxattr(fd, "user.overlay.opaque", value, sizeof(value)) > 0;
}

static int open_folder(int folder, const char *name)
{
    return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static enum sandlot_status visit_entries(struct layers *layers, int upper, int lower);

/* NAME of the upper layer. Only of a folder that both layers have, and that shows both, the entries are looked at. */
static enum sandlot_status visit(struct layers *layers, int upper, int lower, const char *name)
{
    AUTO_CLOSE int above = open_folder(upper, name);
    AUTO_CLOSE int below = above >= 0 ? open_folder(lower, name) : -1;

    if (above < 0 || (below < 0 && !layers->blind) || layers->depth >= DEEPEST || is_opaque(above))
        return tell(layers);
    layers->depth++;
    enum sandlot_status status = visit_entries(layers, take_fd(&above), below);

    layers->depth--;
    return status;
}

static enum sandlot_status visit_entry(struct layers *layers, int upper, int lower, const char *name)
{
    size_t before = layers->length;
    int added = snprintf(layers->path + before, sizeof(layers->path) - before, "%s%s", before ? "/" : "", name);

    if (sandlot_cancelled(layers->call))
        return sandlot_fail(layers->call, SANDLOT_CANCELLED, "cancelled while the changes were looked for");
    if (layers->call->deadline_ms && sandlot_now_ms() >= layers->call->deadline_ms)
        return sandlot_fail(layers->call, SANDLOT_TIMEOUT, "the changes could not be told in time");
    if (before + (size_t)added >= sizeof(layers->path)) {
        layers->path[before] = '\0';
        return tell(layers); /* all below the folder: who looks at it meets the name that is too long */
    }
    layers->length = before + (size_t)added;
    enum sandlot_status status = visit(layers, upper, lower, name);

    layers->length = before;
    layers->path[before] = '\0';
    return status;
}

/* Takes UPPER. */
static enum sandlot_status visit_entries(struct layers *layers, int upper, int lower)
{
    DIR *folder = fdopendir(upper);
    enum sandlot_status status = SANDLOT_OK;
    const struct dirent *entry;

    if (!folder) {
        close(upper);
        return sandlot_fail(layers->call, SANDLOT_INTERNAL, "out of memory");
    }
    while (status == SANDLOT_OK && (entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = visit_entry(layers, dirfd(folder), lower, entry->d_name);
    closedir(folder);
    return status;
}

static enum sandlot_status refuse(struct sandlot_call *call, const char *why)
{
    return sandlot_fail(call, SANDLOT_UNSUPPORTED, "%s", why);
}

/* One that the box began with: what it has is a change of the same folder, made in another box. */
static enum sandlot_status visit_layer(struct layers *layers, int state_fd, const char *id, int lower)
{
    char path[64];

    snprintf(path, sizeof(path), LAYERS_FOLDER "/%s/%s", id, layer_places[LAYER_WORKSPACE]);
    const int upper = open_folder(state_fd, path);

    if (upper < 0)
        return sandlot_fail(layers->call, SANDLOT_UNAVAILABLE, "a layer of the sandbox cannot be read: %s",
                            strerror(errno));
    return visit_entries(layers, upper, lower);
}

/* The layers on disk are the host's to read; those in memory are the box's alone, and all of it may differ. Takes
 * STORAGE_UPPER. */
static enum sandlot_status tell_layers(const struct sandbox *sandbox, struct sandlot_call *call,
                                       const struct sandlot_changes *changes, const char *workspace, bool in_memory,
                                       int storage_upper, const struct layer_chain *chain)
{
    AUTO_FREE struct layers *layers = calloc(1, sizeof(*layers));
    AUTO_CLOSE int upper = storage_upper;
    AUTO_CLOSE int lower = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (!layers)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    layers->call = call;
    layers->changes = changes;
    layers->blind = lower < 0;
    if (in_memory)
        return tell(layers);
    if (upper < 0)
        return sandbox_ended(sandbox, call);
    enum sandlot_status status = visit_entries(layers, take_fd(&upper), lower);

    for (size_t i = 0; i < chain->count && status == SANDLOT_OK; i++)
        status = visit_layer(layers, sandbox->client->state_fd, chain->ids[i], lower);
    return status;
}

/* Since when the host's folder may have been changed by others. */
static int64_t base_of(const char *record)
{
    const int64_t earlier = fields_get_number(record, "base_ms");

    return earlier ? earlier : fields_get_number(record, "created_ms");
}

enum sandlot_status changes_tell(const struct sandbox *sandbox, struct sandlot_call *call,
                                 const struct sandlot_changes *changes)
{
    /* Opened first: should it become a layer now, the record that is read then names that. */
    AUTO_CLOSE int upper = open_folder(sandbox->folder_fd, "storage/upper");
    AUTO_FREE char *record = sandbox_record(sandbox);
    AUTO_FREE char *workspace = record ? fields_get(record, "workspace") : NULL;
    AUTO_FREE char *ids = record ? fields_get(record, "layers") : NULL;
    struct layer_chain chain;

    if (!record || !layer_chain_read(ids, &chain))
        return sandbox_ended(sandbox, call);
    if (!workspace)
        return refuse(call, "the sandbox did not begin as a folder of this machine (parameter workspace)");
    if (sandbox->landlock)
        return refuse(call, "with confinement = \"landlock\" the workspace is a copy, of which nothing tells what "
                            "changed");
    changes->base(changes, workspace, base_of(record));
    return tell_layers(sandbox, call, changes, workspace, fields_get_number(record, "in_memory") != 0, take_fd(&upper),
                       &chain);
}
