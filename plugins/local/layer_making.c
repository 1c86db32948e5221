#include "layer_making.h"

#include "layer_copy.h"
#include "sandbox.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/random.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { LOCK_PAUSE_MS = 5, LOCK_LIMIT_MS = 60000, HOLD_LIMIT_MS = 30000, ID_DIGITS = 13, TEXT_SIZE = 24 };

#define SIZE_FILE "size"

/* ---- locks ---- */

/* Opens the folder NAME of the state, makes it if need be, and waits for the LOCK of flock(2). */
static int lock_folder(struct client *client, struct sandlot_call *call, const char *name, int lock,
                       enum sandlot_status *status)
{
    const int state_fd = client_state(client, call, status);
    const int64_t end_ms = sandlot_now_ms() + sandlot_remaining_ms(call, LOCK_LIMIT_MS);

    if (state_fd < 0)
        return -1;
    mkdirat(state_fd, name, 0700);
    AUTO_CLOSE int fd = openat(state_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    while (fd >= 0 && flock(fd, lock | LOCK_NB) < 0) {
        struct pollfd cancelled = {call->cancel_fd, POLLIN, 0};

        if (errno != EWOULDBLOCK || sandlot_now_ms() >= end_ms) {
            *status = sandlot_fail(call, SANDLOT_TIMEOUT, "another snapshot is being made all the time; try again");
            return -1;
        }
        if (poll(&cancelled, 1, LOCK_PAUSE_MS) > 0) {
            *status = sandlot_fail(call, SANDLOT_CANCELLED, "cancelled while another snapshot was being made");
            return -1;
        }
    }
    if (fd < 0)
        *status = sandlot_fail(call, SANDLOT_UNAVAILABLE, "the folder %s of %.600s cannot be used: %s", name,
                               client->state_path, strerror(errno));
    return take_fd(&fd);
}

int layers_lock(struct client *client, struct sandlot_call *call, enum sandlot_status *status)
{
    return lock_folder(client, call, LAYERS_FOLDER, LOCK_SH, status);
}

/* ---- before ---- */

static enum sandlot_status read_box(struct layer_making *making)
{
    making->record = sandbox_record(making->sandbox);
    if (!making->record)
        return sandbox_ended(making->sandbox, making->call);
    if (!settings_read(making->record, &making->settings) || !layer_chain_read(making->settings.layers, &making->chain))
        return sandlot_fail(making->call, SANDLOT_INTERNAL, "the record of the sandbox cannot be read");
    if (making->settings.confinement == CONFINEMENT_LANDLOCK)
        return sandlot_fail(making->call, SANDLOT_UNSUPPORTED,
                            "a sandbox with confinement = \"landlock\" has no snapshots and no forks: nothing could be "
                            "laid over its files; use confinement = \"full\"");
    if (making->settings.in_memory)
        return sandlot_fail(making->call, SANDLOT_UNSUPPORTED,
                            "a sandbox with storage = \"memory\" has no snapshots and no forks: its files are nowhere "
                            "but in it; use storage = \"disk\"");
    if (!making->settings.base_ms)
        making->settings.base_ms = fields_get_number(making->record, "created_ms");
    AUTO_CLOSE int fd = openat(making->sandbox->folder_fd, "network", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return SANDLOT_OK;
    making->network = calloc(1, (size_t)status.st_size + 1);
    if (making->network && read(fd, making->network, (size_t)status.st_size) == status.st_size)
        return SANDLOT_OK;
    return sandlot_fail(making->call, SANDLOT_INTERNAL, "out of memory");
}

enum sandlot_status layer_making_begin(struct client *client, struct sandlot_call *call, const char *id,
                                       struct layer_making *making)
{
    enum sandlot_status status = SANDLOT_OK;

    *making = (struct layer_making){.client = client, .call = call, .layers_fd = -1, .snapshots_fd = -1};
    making->sandbox = sandbox_open(client, call, id, &status);
    if (!making->sandbox)
        return status;
    status = read_box(making);
    if (status == SANDLOT_OK)
        making->snapshots_fd = lock_folder(client, call, SNAPSHOTS_FOLDER, LOCK_EX, &status);
    if (status == SANDLOT_OK)
        making->layers_fd = layers_lock(client, call, &status);
    return status;
}

void layer_making_end(struct layer_making *making)
{
    if (making->layers_fd >= 0)
        close(making->layers_fd);
    if (making->snapshots_fd >= 0)
        close(making->snapshots_fd);
    settings_clear(&making->settings);
    sandbox_free(making->sandbox);
    free(making->network);
    free(making->record);
}

/* ---- how much there is ---- */

/* What layer ID took when it was made. One without a size is of somebody who was killed, and about to be removed. */
static uint64_t size_of(int layers_fd, const char *id)
{
    char path[NAME_MAX + sizeof("/" SIZE_FILE)];
    char text[TEXT_SIZE] = "";

    snprintf(path, sizeof(path), "%s/" SIZE_FILE, id);
    AUTO_CLOSE int fd = openat(layers_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 ? strtoull(text, NULL, 10) : 0;
}

static uint64_t size_of_all(int layers_fd)
{
    const int listed = openat(layers_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = listed >= 0 ? fdopendir(listed) : NULL;
    uint64_t bytes = 0;

    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (layer_id_valid(entry->d_name))
            bytes += size_of(layers_fd, entry->d_name);
    if (folder)
        closedir(folder);
    return bytes;
}

static int write_size(int layer, uint64_t bytes)
{
    char text[TEXT_SIZE];
    const int length = snprintf(text, sizeof(text), "%" PRIu64, bytes);
    AUTO_CLOSE int fd = openat(layer, SIZE_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    return fd >= 0 && write(fd, text, (size_t)length) == length ? 0 : -1;
}

/* ---- copying ---- */

/* Where the box's storage has what it wrote at PLACE. */
static const char *folder_of(const struct layer_making *making, enum layer_place place)
{
    const struct settings *settings = &making->settings;
    const bool overlay = settings->rootfs || settings->archive || making->chain.count > 0;

    if (place != LAYER_ROOT)
        return layer_places[place];
    return overlay ? "root-upper" : "root";
}

/* Is that the upper folder of an overlay? */
static bool is_marked(const struct layer_making *making, enum layer_place place)
{
    const struct settings *settings = &making->settings;

    return making->chain.count > 0 || (place == LAYER_WORKSPACE && settings->workspace) ||
           (place == LAYER_ROOT && (settings->rootfs || settings->archive));
}

/* Lays the older layers from the last to the first into LAYER, because there would be too many with this one. */
static enum sandlot_status copy_chain(struct layer_making *making, struct layer_copy *copy, int target,
                                      enum layer_place place)
{
    enum sandlot_status status = SANDLOT_OK;

    for (size_t i = making->chain.count; i > 0 && status == SANDLOT_OK; i--) {
        AUTO_CLOSE int layer =
            openat(making->layers_fd, making->chain.ids[i - 1], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        status = layer < 0 ? sandlot_fail(making->call, SANDLOT_INTERNAL, "a layer of the sandbox is gone")
                           : layer_copy(copy, layer, layer_places[place], target, true);
    }
    return status;
}

static enum sandlot_status copy_place(struct layer_making *making, struct layer_copy *copy, int layer, int storage,
                                      enum layer_place place)
{
    const bool squash = making->chain.count == LAYERS_MOST;

    if (mkdirat(layer, layer_places[place], 0700) < 0)
        return sandlot_fail(making->call, SANDLOT_UNAVAILABLE, "the snapshot could not be made: %s", strerror(errno));
    AUTO_CLOSE int target = openat(layer, layer_places[place], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    enum sandlot_status status = SANDLOT_OK;

    if (target < 0)
        return sandlot_fail(making->call, SANDLOT_UNAVAILABLE, "the snapshot could not be made: %s", strerror(errno));
    if (squash)
        status = copy_chain(making, copy, target, place);
    return status == SANDLOT_OK ? layer_copy(copy, storage, folder_of(making, place), target, is_marked(making, place))
                                : status;
}

static void note_chain(struct layer_making *making, const char *id)
{
    const size_t older = making->chain.count == LAYERS_MOST ? 0 : making->chain.count;
    int used = snprintf(making->layers, sizeof(making->layers), "%s", id);

    for (size_t i = 0; i < older; i++)
        used += snprintf(making->layers + used, sizeof(making->layers) - (size_t)used, " %s", making->chain.ids[i]);
}

static enum sandlot_status copy_box(struct layer_making *making, uint64_t left)
{
    struct layer_copy copy = {
        .call = making->call, .uid = making->sandbox->uid, .gid = making->sandbox->gid, .limit = left};
    char id[LAYER_ID_SIZE] = "layer-";

    random_digits(id + strlen(id), ID_DIGITS);
    AUTO_CLOSE int storage =
        openat(making->sandbox->folder_fd, "storage", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (storage < 0)
        return sandbox_ended(making->sandbox, making->call);
    making->made = mkdirat(making->layers_fd, id, 0700) == 0;
    AUTO_CLOSE int layer = openat(making->layers_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (layer < 0 || (copy.uid != geteuid() && fchown(layer, copy.uid, copy.gid) < 0))
        return sandlot_fail(making->call, SANDLOT_UNAVAILABLE,
                            "the snapshot could not be made: %s; free some disk space", strerror(errno));
    enum sandlot_status status = SANDLOT_OK;

    for (int place = 0; place < LAYER_PLACES && status == SANDLOT_OK; place++)
        status = copy_place(making, &copy, layer, storage, (enum layer_place)place);
    making->bytes = copy.bytes;
    if (status == SANDLOT_OK && write_size(layer, copy.bytes) < 0)
        status = sandlot_fail(making->call, SANDLOT_UNAVAILABLE,
                              "the snapshot could not be made: %s; free some disk "
                              "space",
                              strerror(errno));
    note_chain(making, id);
    return status;
}

/* ---- while the box stands still ---- */

/* Ends the HOLD, and hears whether the box has lived all the time: the files of one that ended were being removed. */
static enum sandlot_status release(struct layer_making *making, int hold)
{
    const int64_t deadline_ms = sandlot_now_ms() + HOLD_LIMIT_MS;
    struct received reply;
    enum protocol_result result = protocol_send(hold, MESSAGE_RELEASE, NULL, 0, NULL, 0, deadline_ms);

    if (result == PROTOCOL_OK)
        result = protocol_receive(hold, &reply, deadline_ms, -1);
    if (result != PROTOCOL_OK)
        return client_broken(making->call, result, "the keeper of local sandboxes");
    const enum sandlot_status status =
        reply.header.kind == MESSAGE_FAILED ? client_failure(making->call, &reply) : SANDLOT_OK;

    received_clear(&reply);
    return status;
}

enum sandlot_status layer_make(struct layer_making *making, uint64_t limit)
{
    const uint64_t used = size_of_all(making->layers_fd);
    struct received reply;
    int connection;

    if (used >= limit)
        return sandlot_fail(making->call, SANDLOT_EXHAUSTED,
                            "snapshots and forks take %" PRIu64 " MiB already, and may take %" PRIu64
                            "; delete some ('sandlot snapshots' shows them), or allow more with snapshots_mb",
                            used >> 20, limit >> 20);
    enum sandlot_status status =
        client_ask(making->client, making->call, MESSAGE_HOLD, making->sandbox->id, true, &reply, &connection);
    AUTO_CLOSE int hold = connection; /* everything goes on with its end */

    if (status != SANDLOT_OK)
        return status;
    received_clear(&reply);
    status = copy_box(making, limit - used);
    return status == SANDLOT_OK ? release(making, hold) : status;
}
