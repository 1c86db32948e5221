/*
 * A provider for the tests of the conformance kit that moves files itself, and has snapshots and forks. Its sandboxes
 * and snapshots are folders below the parameter `folder`, and there are no commands. It keeps every promise but the one
 * that the parameter `fault` names:
 *
 *   appends         what is longer keeps its end when a shorter file is put in its place
 *   most            from the 17th file of a call on none is taken
 *   needs_length    a file of unknown length stays empty, and counts as moved
 *   makes_way       a file in the way of a folder is removed
 *   live_snapshot   a snapshot goes on with the sandbox
 *   shared_fork     a fork and its original have the same files
 *   forgets_paused  resuming begins with no files
 */
#include <sandlot/provider.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFORMANCE_COPIES_PARAMETERS(P)                     \
    P(path, folder, "", required, "where the sandboxes are") \
    P(string, fault, "", optional, "the promise that is broken")
SANDLOT_PARAMETERS(conformance_copies, CONFORMANCE_COPIES_PARAMETERS)

enum { PATH_SIZE = 1024, MOST = 16 };

struct copies {
    const char *folder;
    const char *fault;
};

static bool is(const struct copies *copies, const char *fault)
{
    return copies->fault && strcmp(copies->fault, fault) == 0;
}

static enum sandlot_status conformance_copies_open(struct sandlot_call *call, void **provider, const char *folder,
                                                   const char *fault)
{
    struct copies *copies = malloc(sizeof(*copies));

    if (!copies)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    *copies = (struct copies){folder, fault};
    *provider = copies;
    return SANDLOT_OK;
}

static void copies_close(void *provider)
{
    free(provider);
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

/* KIND is "box" or "snapshot". */
static void path_of(const struct copies *copies, const char *kind, const char *name, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%s-%s", copies->folder, kind, name);
}

static bool is_there(const struct copies *copies, const char *kind, const char *name)
{
    char path[PATH_SIZE];

    path_of(copies, kind, name, path);
    return !strchr(name, '/') && access(path, F_OK) == 0;
}

/* Runs SCRIPT with FROM as $from and TO as $to. Neither has a quote in it: names are the host's. */
static enum sandlot_status run(struct sandlot_call *call, const char *script, const char *from, const char *to)
{
    char line[3 * PATH_SIZE];

    snprintf(line, sizeof(line), "from='%s' to='%s'; %s", from, to, script);
    return system(line) == 0 ? SANDLOT_OK : sandlot_fail(call, SANDLOT_INTERNAL, "this failed: %s", script);
}

static enum sandlot_status remove_folder(struct sandlot_call *call, const struct copies *copies, const char *kind,
                                         const char *name)
{
    char path[PATH_SIZE];

    path_of(copies, kind, name, path);
    return is_there(copies, kind, name) ? run(call, "rm -rf \"$to\"", "", path) : SANDLOT_OK;
}

static enum sandlot_status missing(struct sandlot_call *call, const char *name)
{
    return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is nothing of the name %s", name);
}

/* ---- sandboxes --------------------------------------------------------------------------------------------------- */

/* Makes the sandbox of REQUEST, as the folder FROM if there is one. */
static enum sandlot_status make(struct sandlot_call *call, const struct copies *copies,
                                const struct sandlot_create *request, const char *from, bool shared, char *path)
{
    path_of(copies, "box", request->run_label, path);
    enum sandlot_status status = run(call,
                                     !from    ? "mkdir \"$to\""
                                     : shared ? "ln -s \"$from\" \"$to\""
                                              : "cp -a \"$from/.\" \"$to\"",
                                     from ? from : "", path);

    if (status == SANDLOT_OK)
        call->host->created(call, request->run_label, "/");
    return status;
}

static enum sandlot_status copies_get_or_create(struct sandlot_call *call, void *provider,
                                                const struct sandlot_create *request, void **sandbox)
{
    struct copies *copies = provider;
    char path[PATH_SIZE];
    char from[PATH_SIZE];
    enum sandlot_status status = SANDLOT_OK;

    if (request->sandbox_id && !is_there(copies, "box", request->sandbox_id))
        return missing(call, request->sandbox_id);
    if (request->snapshot && !is_there(copies, "snapshot", request->snapshot))
        return missing(call, request->snapshot);
    if (request->snapshot)
        path_of(copies, "snapshot", request->snapshot, from);
    if (request->sandbox_id)
        path_of(copies, "box", request->sandbox_id, path);
    else
        status = make(call, copies, request, request->snapshot ? from : NULL, false, path);
    *sandbox = status == SANDLOT_OK ? strdup(path) : NULL;
    return status;
}

static void copies_release(void *provider, void *sandbox)
{
    (void)provider;
    free(sandbox);
}

static enum sandlot_status copies_delete(struct sandlot_call *call, void *provider, const char *id)
{
    return remove_folder(call, provider, "box", id);
}

static enum sandlot_status list(const struct copies *copies, const char *kind, const struct sandlot_listing *listing)
{
    const size_t length = strlen(kind);
    DIR *directory = opendir(copies->folder);
    enum sandlot_status status = SANDLOT_OK;

    for (const struct dirent *entry; directory && status == SANDLOT_OK && (entry = readdir(directory));) {
        if (strncmp(entry->d_name, kind, length) != 0 || entry->d_name[length] != '-')
            continue;
        const struct sandlot_listed listed = {.size = sizeof(listed),
                                              .id = entry->d_name + length + 1,
                                              .state = "running",
                                              .run_label = entry->d_name + length + 1};

        status = listing->add(listing, &listed);
    }
    if (directory)
        closedir(directory);
    return status;
}

static enum sandlot_status copies_list(struct sandlot_call *call, void *provider, const char *cursor,
                                       const struct sandlot_listing *listing)
{
    return cursor ? sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "there is no such page")
                  : list(provider, "box", listing);
}

static enum sandlot_status copies_open_root(struct sandlot_call *call, void *provider, void *sandbox,
                                            struct sandlot_root *root)
{
    (void)provider;
    root->fd = open(sandbox, O_PATH | O_DIRECTORY | O_CLOEXEC);
    root->uid = geteuid();
    root->gid = getegid();
    return root->fd >= 0 ? SANDLOT_OK : missing(call, sandbox);
}

/* ---- what keeps files -------------------------------------------------------------------------------------------- */

static enum sandlot_status copies_pause(struct sandlot_call *call, void *provider, const char *id)
{
    return is_there(provider, "box", id) ? SANDLOT_OK : missing(call, id);
}

static enum sandlot_status copies_resume(struct sandlot_call *call, void *provider, const char *id)
{
    char path[PATH_SIZE];

    path_of(provider, "box", id, path);
    return is(provider, "forgets_paused") ? run(call, "rm -rf \"$to\"/*", "", path) : copies_pause(call, provider, id);
}

static enum sandlot_status copies_snapshot(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                           const struct sandlot_sink *result)
{
    char from[PATH_SIZE];
    char to[PATH_SIZE];

    (void)result;
    if (!is_there(provider, "box", id))
        return missing(call, id);
    path_of(provider, "box", id, from);
    path_of(provider, "snapshot", name, to);
    return run(call, is(provider, "live_snapshot") ? "ln -s \"$from\" \"$to\"" : "cp -a \"$from/.\" \"$to\"", from, to);
}

static enum sandlot_status copies_list_snapshots(struct sandlot_call *call, void *provider, const char *cursor,
                                                 const struct sandlot_listing *listing)
{
    (void)call;
    (void)cursor;
    return list(provider, "snapshot", listing);
}

static enum sandlot_status copies_delete_snapshot(struct sandlot_call *call, void *provider, const char *name)
{
    return remove_folder(call, provider, "snapshot", name);
}

static enum sandlot_status copies_fork(struct sandlot_call *call, void *provider, const char *id,
                                       const struct sandlot_create *request)
{
    char from[PATH_SIZE];
    char path[PATH_SIZE];

    if (!is_there(provider, "box", id))
        return missing(call, id);
    path_of(provider, "box", id, from);
    return make(call, provider, request, from, is(provider, "shared_fork"), path);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static const char *problem(void)
{
    return errno == EISDIR    ? "is_directory"
           : errno == ENOTDIR ? "invalid_path"
           : errno == ENOENT  ? "file_not_found"
                              : "the file cannot be opened";
}

static int open_target(const struct copies *copies, const char *sandbox, const struct sandlot_file *file)
{
    char path[2 * PATH_SIZE];

    snprintf(path, sizeof(path), "%s%.1000s", sandbox, file->path);
    for (char *at = path + strlen(sandbox) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        if (mkdir(path, 0755) < 0 && is(copies, "makes_way") && unlink(path) == 0)
            mkdir(path, 0755);
    }
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (is(copies, "appends") ? 0 : O_TRUNC), 0644);
}

static enum sandlot_status copies_upload(struct sandlot_call *call, void *provider, void *sandbox,
                                         const struct sandlot_file *files, size_t count,
                                         const struct sandlot_transfer *transfer)
{
    char buffer[65536];

    (void)call;
    for (size_t i = 0; i < count; i++) {
        int fd = is(provider, "most") && i >= MOST ? (errno = ENOSPC, -1) : open_target(provider, sandbox, &files[i]);
        enum sandlot_status status = SANDLOT_OK;
        uint64_t bytes = 0;

        for (size_t length = 1; fd >= 0 && status == SANDLOT_OK && length > 0; bytes += length) {
            status = files[i].source->read(files[i].source, buffer, sizeof(buffer), &length);
            if (!(is(provider, "needs_length") && files[i].length == UINT64_MAX) && status == SANDLOT_OK &&
                write(fd, buffer, length) != (ssize_t)length)
                status = SANDLOT_EXHAUSTED;
        }
        transfer->done(transfer, i, fd < 0 ? problem() : status != SANDLOT_OK ? "it was not written" : NULL, bytes);
        if (fd >= 0)
            close(fd);
    }
    return SANDLOT_OK;
}

static const struct sandlot_provider conformance_copies_provider = {
    SANDLOT_TABLE(conformance_copies),
    .close = copies_close,
    .get_or_create = copies_get_or_create,
    .release = copies_release,
    .delete_sandbox = copies_delete,
    .list = copies_list,
    .upload = copies_upload,
    .open_root = copies_open_root,
    .pause = copies_pause,
    .resume = copies_resume,
    .snapshot = copies_snapshot,
    .list_snapshots = copies_list_snapshots,
    .delete_snapshot = copies_delete_snapshot,
    .fork = copies_fork,
};

#define CONFORMANCE_COPIES_METADATA(M)                                   \
    M(description, "Breaks a promise about files on request, for tests") \
    M(working_dir, "/")                                                  \
    M(snapshot_name, "yes")                                              \
    M(capabilities, "list upload files pause snapshot fork")
SANDLOT_ENTRY_POINT(conformance_copies, CONFORMANCE_COPIES_METADATA, CONFORMANCE_COPIES_PARAMETERS);
