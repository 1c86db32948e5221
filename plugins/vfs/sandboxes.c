#include "sandboxes.h"

#include "bare.h"
#include "grounds.h"
#include "snapshots.h"
#include "tree.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static enum sandlot_status open_store(struct sandlot_call *call, struct vfs *vfs, bool make)
{
    pthread_mutex_lock(&vfs->lock);
    enum sandlot_status status = vfs->store.fd < 0 ? store_open(call, &vfs->store, make) : SANDLOT_OK;

    pthread_mutex_unlock(&vfs->lock);
    return status;
}

/* Where there is no store there is nothing, and who only looks makes none. */
static bool has_store(struct sandlot_call *call, struct vfs *vfs, enum sandlot_status *status)
{
    *status = open_store(call, vfs, false);
    return *status == SANDLOT_OK && vfs->store.fd >= 0;
}

static bool is_bare(const char *id)
{
    return strncmp(id, "mem-", 4) == 0;
}

/* ---- the files of a sandbox -----------------------------------------------------------------------------------------
 */

enum sandlot_status sandboxes_open_root(struct sandlot_call *call, void *provider, void *handle,
                                        struct sandlot_root *root)
{
    struct sandbox *sandbox = handle;

    if (!sandbox->ground)
        return bare_root(call, provider, sandbox->id, root);
    const struct lower *lower = &sandbox->ground->lower;

    return lower->table->open_root(call, lower->instance, sandbox->box, root);
}

/* That of a box without a view of its own, which local serves no files of: a folder of the store. */
static enum sandlot_status open_in_store(struct sandlot_call *call, const char *path, struct place *place)
{
    struct stat folder;

    place->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (place->fd < 0 || fstat(place->fd, &folder) < 0)
        return store_fail(call, "the files cannot be reached");
    place->uid = folder.st_uid;
    place->gid = folder.st_gid;
    return SANDLOT_OK;
}

/* The folder in which the commands of SANDBOX start. To be closed. */
static enum sandlot_status open_workspace(struct sandlot_call *call, struct vfs *vfs, struct sandbox *sandbox,
                                          struct place *place)
{
    struct sandlot_root root = {.size = sizeof(root), .fd = -1, .alive_fd = -1};

    if (*sandbox->working_dir)
        return open_in_store(call, sandbox->working_dir, place);
    enum sandlot_status status = sandboxes_open_root(call, vfs, sandbox, &root);

    *place = (struct place){-1, root.uid, root.gid};
    if (status == SANDLOT_OK)
        place->fd = tree_open(root.fd, "/workspace");
    if (root.fd >= 0)
        close(root.fd);
    if (root.alive_fd >= 0)
        close(root.alive_fd);
    return status != SANDLOT_OK || place->fd >= 0 ? status : store_fail(call, "the files cannot be reached");
}

/* The path below the working directory that PATH means; NULL: it lies elsewhere. */
static const char *below_workspace(const char *path)
{
    static const char workspace[] = "/workspace/";

    if (strncmp(path, workspace, strlen(workspace)) == 0)
        path += strlen(workspace);
    if (*path == '/' || !*path)
        return NULL;
    for (const char *name = path; name; name = strchr(name, '/')) {
        name += *name == '/';
        if (strncmp(name, "..", 2) == 0 && (name[2] == '/' || name[2] == '\0'))
            return NULL;
    }
    return path;
}

/* The parameter files, whose paths all lead below the working directory; NULL in *FILES: there are none. */
static enum sandlot_status read_files(struct sandlot_call *call, const struct vfs *vfs, struct json_object **files)
{
    enum sandlot_status status = parameter_texts(call, "files", vfs->parameters.files, files);

    if (status != SANDLOT_OK || !*files)
        return status;
    json_object_object_foreach(*files, path, text)
    {
        (void)text;
        if (!below_workspace(path) || path[strlen(path) - 1] == '/')
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                "files: \"%.200s\" is no path of a file below the working directory; write it as "
                                "\"folder/name\"",
                                path);
    }
    return SANDLOT_OK;
}

/* Puts FILES into the new SANDBOX. */
static enum sandlot_status write_files(struct sandlot_call *call, struct vfs *vfs, struct sandbox *sandbox,
                                       struct json_object *files)
{
    struct place place = {.fd = -1};
    enum sandlot_status status = files ? open_workspace(call, vfs, sandbox, &place) : SANDLOT_OK;
    AUTO_CLOSE int fd = place.fd;

    if (status != SANDLOT_OK || !files)
        return status;
    json_object_object_foreach(files, path, text)
    {
        const size_t length = (size_t)json_object_get_string_len(text);

        if (!tree_write(&place, below_workspace(path), json_object_get_string(text), length))
            return store_fail(call, "a file of the parameter files cannot be written");
    }
    return SANDLOT_OK;
}

/* ---- creating and ending --------------------------------------------------------------------------------------------
 */

/* The file system of the box, or its folder, gets a copy of SNAPSHOT, an open folder. */
static enum sandlot_status copy_snapshot(struct sandlot_call *call, struct vfs *vfs, struct sandbox *sandbox,
                                         int snapshot)
{
    const struct place from = {snapshot, geteuid(), getegid()};
    struct place to;
    enum sandlot_status status = open_workspace(call, vfs, sandbox, &to);
    AUTO_CLOSE int fd = to.fd;

    return status == SANDLOT_OK ? tree_copy(call, &from, &to) : status;
}

static struct sandlot_create without_snapshot(const struct sandlot_create *request)
{
    struct sandlot_create create = {0};
    const size_t size = request->size < sizeof(create) ? request->size : sizeof(create);

    memcpy(&create, request, size);
    create.size = size;
    create.snapshot = NULL;
    return create;
}

static enum sandlot_status make_empty(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_create *request,
                                      struct sandbox *sandbox)
{
    if (!vfs->bare)
        return ground_create(call, vfs, request, sandbox);
    if (request->snapshot)
        return snapshot_not_found(call, request->snapshot);
    bare_sweep(vfs);
    return bare_create(call, vfs, request, sandbox);
}

static enum sandlot_status make(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_create *request,
                                struct sandbox *sandbox)
{
    AUTO_CLOSE int copy = request->snapshot ? snapshot_open(vfs, request->snapshot) : -1;

    if (copy < 0)
        return make_empty(call, vfs, request, sandbox);
    const struct sandlot_create empty = without_snapshot(request);
    enum sandlot_status status = make_empty(call, vfs, &empty, sandbox);

    return status == SANDLOT_OK ? copy_snapshot(call, vfs, sandbox, copy) : status;
}

static enum sandlot_status check_size(struct sandlot_call *call, const struct parameters *parameters)
{
    if (parameters->size_mb >= 1 && parameters->size_mb <= 1 << 20 && parameters->memory_mb > parameters->size_mb)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                        "size_mb must be between 1 and 1048576 and less than memory_mb, which counts the files too; "
                        "change one of them");
}

static enum sandlot_status create(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_create *request,
                                  struct sandbox *sandbox)
{
    enum sandlot_status status = check_size(call, &vfs->parameters);

    if (status == SANDLOT_OK)
        status = make(call, vfs, request, sandbox);
    return status;
}

static enum sandlot_status attach(struct sandlot_call *call, struct vfs *vfs, const char *id, struct sandbox *sandbox)
{
    if (is_bare(id))
        return bare_attach(call, vfs, id, sandbox);
    if (!vfs->bare)
        return ground_attach(call, vfs, id, sandbox);
    return sandlot_fail(call, SANDLOT_NOT_FOUND,
                        "sandbox %.64s was not found among those without commands, which are all that vfs has here",
                        id);
}

void sandboxes_release(void *provider, void *handle)
{
    struct sandbox *sandbox = handle;

    if (sandbox && sandbox->box)
        sandbox->ground->lower.table->release(sandbox->ground->lower.instance, sandbox->box);
    free(sandbox);
}

/* Makes a sandbox, or attaches to one, in a store that is open. To be released; NULL with *STATUS. */
static struct sandbox *get(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_create *request,
                           enum sandlot_status *status)
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

    if (!sandbox)
        *status = sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    else if (request->sandbox_id)
        *status = attach(call, vfs, request->sandbox_id, sandbox);
    else
        *status = create(call, vfs, request, sandbox);
    if (*status == SANDLOT_OK)
        return sandbox;
    sandboxes_release(vfs, sandbox);
    return NULL;
}

enum sandlot_status sandboxes_get_or_create(struct sandlot_call *call, void *provider,
                                            const struct sandlot_create *request, void **result)
{
    struct vfs *vfs = provider;
    struct json_object *files AUTO_DOCUMENT = NULL;
    enum sandlot_status status = request->sandbox_id ? SANDLOT_OK : read_files(call, vfs, &files);

    if (status == SANDLOT_OK)
        status = open_store(call, vfs, true);
    struct sandbox *sandbox = status == SANDLOT_OK ? get(call, vfs, request, &status) : NULL;

    if (sandbox && !request->sandbox_id)
        status = write_files(call, vfs, sandbox, files);
    if (status == SANDLOT_OK)
        *result = sandbox;
    else
        sandboxes_release(vfs, sandbox);
    return status;
}

enum sandlot_status sandboxes_delete(struct sandlot_call *call, void *provider, const char *id)
{
    struct vfs *vfs = provider;
    enum sandlot_status status = SANDLOT_OK;

    if (!has_store(call, vfs, &status))
        return status;
    if (is_bare(id))
        status = bare_delete(call, vfs, id);
    else if (!vfs->bare)
        status = ground_delete(call, vfs, id);
    bare_end_leases(vfs, id);
    if (status == SANDLOT_OK && !vfs->bare)
        ground_sweep(call, vfs);
    return status;
}

enum sandlot_status sandboxes_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    struct vfs *vfs = provider;
    enum sandlot_status status = SANDLOT_OK;

    if (cursor)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "there is one page; leave the cursor out");
    if (!has_store(call, vfs, &status))
        return status;
    bare_sweep(vfs);
    status = bare_list(vfs, listing);
    return status == SANDLOT_OK && !vfs->bare ? ground_list(call, vfs, listing) : status;
}

/* ---- commands -------------------------------------------------------------------------------------------------------
 */

static enum sandlot_status no_commands(struct sandlot_call *call, const struct sandbox *sandbox)
{
    return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                        "nothing runs in sandbox %s, which was made without walls for it; create another one",
                        sandbox->id);
}

enum sandlot_status sandboxes_execute(struct sandlot_call *call, void *provider, void *handle,
                                      const struct sandlot_command *command, const struct sandlot_sink *output,
                                      struct sandlot_exit *result)
{
    struct sandbox *sandbox = handle;

    if (!sandbox->ground)
        return no_commands(call, sandbox);
    const struct lower *lower = &sandbox->ground->lower;

    return lower->table->execute(call, lower->instance, sandbox->box, command, output, result);
}

enum sandlot_status sandboxes_terminal(struct sandlot_call *call, void *provider, void *handle,
                                       const struct sandlot_terminal *terminal, struct sandlot_exit *result)
{
    struct sandbox *sandbox = handle;

    if (!sandbox->ground)
        return no_commands(call, sandbox);
    const struct lower *lower = &sandbox->ground->lower;

    return lower->table->terminal(call, lower->instance, sandbox->box, terminal, result);
}

/* ---- snapshots and forks --------------------------------------------------------------------------------------------
 */

/* The host hears of new sandboxes only, and local tells of those that it finds, too. */
static void hear_nothing(struct sandlot_call *call, const char *id, const char *working_dir)
{
}

/* Opens the files of sandbox ID. The result is to be released, *PLACE's descriptor to be closed; NULL with *STATUS. */
static struct sandbox *files_of(struct sandlot_call *call, struct vfs *vfs, const char *id, struct place *place,
                                enum sandlot_status *status)
{
    const struct sandlot_create request = {.size = sizeof(request), .sandbox_id = id};
    struct attempt quiet;

    *status = open_store(call, vfs, true);
    if (*status != SANDLOT_OK)
        return NULL;
    attempt_begin(&quiet, call, 0);
    quiet.host.created = hear_nothing;
    struct sandbox *sandbox = get(&quiet.call, vfs, &request, status);

    if (sandbox)
        *status = open_workspace(call, vfs, sandbox, place);
    else
        attempt_fail(&quiet, *status);
    return sandbox;
}

/* Is sandbox ID a full box? Those of local have layers, and need no copies. */
static bool has_layers(const struct vfs *vfs, const char *id)
{
    return !vfs->bare && !is_bare(id) && !store_is_landlock(&vfs->store, id);
}

static enum sandlot_status copy_to_snapshot(struct sandlot_call *call, struct vfs *vfs, const char *id,
                                            const char *name)
{
    struct place place = {.fd = -1};
    enum sandlot_status status = SANDLOT_OK;
    struct sandbox *sandbox = files_of(call, vfs, id, &place, &status);
    AUTO_CLOSE int fd = place.fd;

    if (status == SANDLOT_OK)
        status = snapshot_make(call, vfs, &place, name);
    sandboxes_release(vfs, sandbox);
    return status;
}

enum sandlot_status sandboxes_snapshot(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                       const struct sandlot_sink *result)
{
    struct vfs *vfs = provider;
    enum sandlot_status status = open_store(call, vfs, true);
    AUTO_CLOSE int copy = status == SANDLOT_OK ? snapshot_open(vfs, name) : -1;

    if (copy >= 0)
        return snapshot_exists(call, name);
    if (status == SANDLOT_OK)
        status =
            has_layers(vfs, id) ? ground_snapshot(call, vfs, id, name, result) : copy_to_snapshot(call, vfs, id, name);
    return status;
}

enum sandlot_status sandboxes_list_snapshots(struct sandlot_call *call, void *provider, const char *cursor,
                                             const struct sandlot_listing *listing)
{
    struct vfs *vfs = provider;
    enum sandlot_status status = SANDLOT_OK;

    if (cursor)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "there is one page; leave the cursor out");
    if (!has_store(call, vfs, &status))
        return status;
    status = snapshot_list(vfs, listing);
    return status == SANDLOT_OK && !vfs->bare ? ground_list_snapshots(call, vfs, listing) : status;
}

enum sandlot_status sandboxes_delete_snapshot(struct sandlot_call *call, void *provider, const char *name)
{
    struct vfs *vfs = provider;
    enum sandlot_status status = SANDLOT_OK;

    if (!has_store(call, vfs, &status))
        return status;
    status = snapshot_delete(call, vfs, name);
    return status == SANDLOT_OK && !vfs->bare ? ground_delete_snapshot(call, vfs, name) : status;
}

static enum sandlot_status copy_to_fork(struct sandlot_call *call, struct vfs *vfs, const char *id,
                                        const struct sandlot_create *request)
{
    struct place from = {.fd = -1};
    struct place to = {.fd = -1};
    enum sandlot_status status = SANDLOT_OK;
    struct sandbox *original = files_of(call, vfs, id, &from, &status);
    AUTO_CLOSE int from_fd = from.fd;
    struct sandbox *copy = status == SANDLOT_OK ? get(call, vfs, request, &status) : NULL;

    if (copy)
        status = open_workspace(call, vfs, copy, &to);
    AUTO_CLOSE int to_fd = to.fd;

    if (status == SANDLOT_OK)
        status = tree_copy(call, &from, &to);
    sandboxes_release(vfs, original);
    sandboxes_release(vfs, copy);
    return status;
}

enum sandlot_status sandboxes_fork(struct sandlot_call *call, void *provider, const char *id,
                                   const struct sandlot_create *request)
{
    struct vfs *vfs = provider;
    enum sandlot_status status = open_store(call, vfs, true);

    if (status != SANDLOT_OK)
        return status;
    return has_layers(vfs, id) ? ground_fork(call, vfs, id, request) : copy_to_fork(call, vfs, id, request);
}
