/* A provider of ABI 1.0 with every optional function. Its snapshots are $FIRST_FOLDER/snapshot-NAME. */
#include "boxes.h"

#include <dirent.h>

#define PARAMETERS(P) P(boolean, native, "true", optional, "whether open_root gives the files away")
SANDLOT_PARAMETERS(first_everything, PARAMETERS)

struct provider {
    bool native;
};

struct box {
    char *id;
    int looks; /* of ready */
};

static enum sandlot_status first_everything_open(struct sandlot_call *call, void **provider, bool native)
{
    struct provider *made = calloc(1, sizeof(*made));

    if (!made)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory; try again");
    made->native = native;
    *provider = made;
    return SANDLOT_OK;
}

static void first_close(void *provider)
{
    free(provider);
}

static enum sandlot_status copy_files(struct sandlot_call *call, const char *from, const char *to)
{
    char source[BOX_PATH];
    char target[BOX_PATH];

    if (!box_path(call, from, "files", source) || !box_path(call, to, "files", target))
        return SANDLOT_INVALID_ARGUMENT;
    if (!box_shell("test -d \"$1\" && mkdir -p \"$2\" && cp -a \"$1/.\" \"$2\"", source, target))
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no %s; take one that exists", from);
    return SANDLOT_OK;
}

static enum sandlot_status first_get_or_create(struct sandlot_call *call, void *provider,
                                               const struct sandlot_create *request, void **sandbox)
{
    char snapshot[128];
    void *id = NULL;

    (void)provider;
    enum sandlot_status status = box_get_or_create(call, request, &id);

    if (status == SANDLOT_OK && request->snapshot && !request->sandbox_id) {
        call->host->progress(call, "copying", 1, 2);
        snprintf(snapshot, sizeof(snapshot), "snapshot-%s", request->snapshot);
        status = copy_files(call, snapshot, id);
    }
    struct box *box = status == SANDLOT_OK ? calloc(1, sizeof(*box)) : NULL;

    if (!box) {
        free(id);
        return status == SANDLOT_OK ? SANDLOT_INTERNAL : status;
    }
    box->id = id;
    *sandbox = box;
    return SANDLOT_OK;
}

static enum sandlot_status first_ready(struct sandlot_call *call, void *provider, void *sandbox)
{
    struct box *box = sandbox;

    (void)call;
    (void)provider;
    return ++box->looks < 2 ? SANDLOT_UNAVAILABLE : SANDLOT_OK;
}

static void first_release(void *provider, void *sandbox)
{
    struct box *box = sandbox;

    (void)provider;
    free(box->id);
    free(box);
}

static enum sandlot_status first_delete(struct sandlot_call *call, void *provider, const char *id)
{
    (void)provider;
    return box_delete(call, id);
}

static enum sandlot_status tell(struct sandlot_call *call, const struct sandlot_listing *listing, const char *id)
{
    char path[BOX_PATH];
    char label[64] = "";
    int fd = box_path(call, id, "label", path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t length = fd >= 0 ? read(fd, label, sizeof(label) - 1) : -1;
    const struct sandlot_listed listed = {.size = sizeof(listed),
                                          .id = id,
                                          .state = "running",
                                          .created_at_ms = 1000,
                                          .run_label = length > 0 ? label : NULL};

    if (fd >= 0)
        close(fd);
    return listing->add(listing, &listed);
}

/* One entry of the folder per page; CURSOR is the last one that was told. */
static enum sandlot_status list_folder(struct sandlot_call *call, const char *cursor, bool snapshots,
                                       const struct sandlot_listing *listing)
{
    const char *folder = call->host->environment(call, "FIRST_FOLDER");
    struct dirent **entries = NULL;
    enum sandlot_status status = SANDLOT_OK;
    int count = folder ? scandir(folder, &entries, NULL, alphasort) : -1;
    bool told = false;

    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        bool is_snapshot = strncmp(name, "snapshot-", 9) == 0;

        if (name[0] == '.' || is_snapshot != snapshots || told || (cursor && strcmp(name, cursor) <= 0))
            continue;
        told = true;
        status = tell(call, listing, name);
        listing->next(listing, name);
    }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return count < 0 ? box_fault(call, "cannot list") : status;
}

static enum sandlot_status first_list(struct sandlot_call *call, void *provider, const char *cursor,
                                      const struct sandlot_listing *listing)
{
    (void)provider;
    return list_folder(call, cursor, false, listing);
}

static enum sandlot_status first_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                         const struct sandlot_command *command, const struct sandlot_sink *output,
                                         struct sandlot_exit *result)
{
    const struct box *box = sandbox;

    (void)provider;
    return box_execute(call, box->id, command, output, result);
}

static enum sandlot_status first_upload(struct sandlot_call *call, void *provider, void *sandbox,
                                        const struct sandlot_file *files, size_t count,
                                        const struct sandlot_transfer *transfer)
{
    (void)call;
    (void)provider;
    (void)sandbox;
    for (size_t i = 0; i < count; i++) {
        enum sandlot_status status;
        char buffer[65536];
        uint64_t bytes = 0;
        ssize_t length = 1;
        int from = box_collect(files[i].source, &status);
        int to = open(files[i].path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, files[i].mode ? files[i].mode : 0666);

        while (status == SANDLOT_OK && to >= 0 && (length = read(from, buffer, sizeof(buffer))) > 0)
            bytes += (uint64_t)write(to, buffer, (size_t)length);
        transfer->done(transfer, i, status == SANDLOT_OK && to >= 0 ? NULL : "invalid_path", bytes);
        if (from >= 0)
            close(from);
        if (to >= 0)
            close(to);
        if (status != SANDLOT_OK)
            return status;
    }
    return SANDLOT_OK;
}

static enum sandlot_status first_download(struct sandlot_call *call, void *provider, void *sandbox,
                                          const struct sandlot_file *files, size_t count,
                                          const struct sandlot_transfer *transfer)
{
    (void)call;
    (void)provider;
    (void)sandbox;
    for (size_t i = 0; i < count; i++) {
        enum sandlot_status status = SANDLOT_OK;
        char buffer[65536];
        uint64_t bytes = 0;
        ssize_t length = 0;
        int from = open(files[i].path, O_RDONLY | O_CLOEXEC);

        while (status == SANDLOT_OK && from >= 0 && (length = read(from, buffer, sizeof(buffer))) > 0) {
            status = files[i].sink->write(files[i].sink, buffer, (size_t)length);
            bytes += (uint64_t)length;
        }
        transfer->done(transfer, i, from < 0 ? "file_not_found" : NULL, bytes);
        if (from >= 0)
            close(from);
        if (status != SANDLOT_OK)
            return status;
    }
    return SANDLOT_OK;
}

static enum sandlot_status first_open_root(struct sandlot_call *call, void *provider, void *sandbox,
                                           struct sandlot_root *root)
{
    const struct provider *made = provider;

    (void)sandbox;
    if (!made->native)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED, "native is false; use commands");
    root->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    root->uid = geteuid();
    root->gid = getegid();
    return root->fd >= 0 ? SANDLOT_OK : box_fault(call, "cannot open /");
}

static enum sandlot_status first_terminal(struct sandlot_call *call, void *provider, void *sandbox,
                                          const struct sandlot_terminal *terminal, struct sandlot_exit *result)
{
    uint16_t rows = 0;
    uint16_t columns = 0;
    char text[128];

    terminal->window(terminal, &rows, &columns);
    int length = snprintf(text, sizeof(text), "%s %u x %u\n", terminal->term, (unsigned)rows, (unsigned)columns);
    enum sandlot_status status = terminal->output->write(terminal->output, text, (size_t)length);

    return status == SANDLOT_OK ? first_execute(call, provider, sandbox, terminal->command, terminal->output, result)
                                : status;
}

/* Paused is what has a file of that name. */
static enum sandlot_status first_pause(struct sandlot_call *call, void *provider, const char *id)
{
    char path[BOX_PATH];

    (void)provider;
    if (!box_path(call, id, "paused", path))
        return SANDLOT_INVALID_ARGUMENT;
    return box_shell(": >\"$1\"", path, NULL) ? SANDLOT_OK : SANDLOT_NOT_FOUND;
}

static enum sandlot_status first_resume(struct sandlot_call *call, void *provider, const char *id)
{
    char path[BOX_PATH];

    (void)provider;
    if (!box_path(call, id, "paused", path))
        return SANDLOT_INVALID_ARGUMENT;
    return unlink(path) == 0 ? SANDLOT_OK : SANDLOT_NOT_FOUND;
}

static enum sandlot_status first_snapshot(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                          const struct sandlot_sink *result)
{
    char snapshot[128];

    (void)provider;
    snprintf(snapshot, sizeof(snapshot), "snapshot-%s", name);
    enum sandlot_status status = copy_files(call, id, snapshot);

    return status == SANDLOT_OK ? result->write(result, snapshot, strlen(snapshot)) : status;
}

static enum sandlot_status first_list_snapshots(struct sandlot_call *call, void *provider, const char *cursor,
                                                const struct sandlot_listing *listing)
{
    (void)provider;
    return list_folder(call, cursor, true, listing);
}

static enum sandlot_status first_delete_snapshot(struct sandlot_call *call, void *provider, const char *name)
{
    char snapshot[128];

    (void)provider;
    snprintf(snapshot, sizeof(snapshot), "snapshot-%s", name);
    return box_delete(call, snapshot);
}

static enum sandlot_status first_fork(struct sandlot_call *call, void *provider, const char *id,
                                      const struct sandlot_create *request)
{
    void *copy = NULL;

    (void)provider;
    enum sandlot_status status = box_get_or_create(call, request, &copy);

    if (status == SANDLOT_OK)
        status = copy_files(call, id, copy);
    free(copy);
    return status;
}

static const struct sandlot_provider first_everything_provider = {
    SANDLOT_TABLE(first_everything),
    .flags = SANDLOT_STREAMS_OUTPUT | SANDLOT_SERIAL_SANDBOX,
    .close = first_close,
    .get_or_create = first_get_or_create,
    .ready = first_ready,
    .release = first_release,
    .delete_sandbox = first_delete,
    .list = first_list,
    .execute = first_execute,
    .upload = first_upload,
    .download = first_download,
    .open_root = first_open_root,
    .terminal = first_terminal,
    .pause = first_pause,
    .resume = first_resume,
    .snapshot = first_snapshot,
    .list_snapshots = first_list_snapshots,
    .delete_snapshot = first_delete_snapshot,
    .fork = first_fork,
};

#define METADATA(M)                                                                      \
    M(description, "Every function of ABI 1.0")                                          \
    M(snapshot_name, "yes")                                                              \
    M(capabilities, "list upload download files pause snapshot fork terminal streaming") \
    M(environment, "FIRST_FOLDER")
SANDLOT_ENTRY_POINT(first_everything, METADATA, PARAMETERS);
