#include "layer_making.h"

#include "box/places.h"
#include "keeper/walk.h"
#include "sandbox.h"
#include "tree_copy.h"

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

#define ESTIMATED '?'

static const uint64_t ESTIMATE_LIMIT = UINT64_C(1) << 30;
enum { ESTIMATE_SHARE = 4 };

enum {
    LOCK_PAUSE_MS = 5,
    LOCK_LIMIT_MS = 60000,
    HOLD_LIMIT_MS = 30000,
    ID_DIGITS = 13,
    TEXT_SIZE = 24,
    MESSAGE_SIZE = 256
};

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
    const struct settings *settings = &making->settings;

    if (!settings_read(making->record, &making->settings) || !layer_chain_read(settings->layers, &making->chain) ||
        !layer_chain_read(settings->root_layers ? settings->root_layers : settings->layers, &making->root_chain))
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

    *making = (struct layer_making){
        .client = client, .call = call, .hold = -1, .layers_fd = -1, .snapshots_fd = -1, .layer_fd = -1};
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
    if (making->hold >= 0)
        close(making->hold); /* with it everything in the box goes on */
    if (making->layer_fd >= 0)
        close(making->layer_fd);
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

/* What the file of a size says. One without is of somebody who was killed, and about to be removed. */
struct size {
    uint64_t bytes;
    bool estimated; /* it is no more than that: nobody has counted it */
};

static struct size read_size(int layers_fd, const char *id)
{
    char path[NAME_MAX + sizeof("/" SIZE_FILE)];
    char text[TEXT_SIZE] = "";
    char *end = text;

    snprintf(path, sizeof(path), "%s/" SIZE_FILE, id);
    AUTO_CLOSE int fd = openat(layers_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        return (struct size){0, false};
    const uint64_t bytes = strtoull(text, &end, 10);

    return (struct size){bytes, *end == ESTIMATED};
}

/* All at once, for another program may be reading it. */
static int write_size(int layer, struct size size)
{
    char text[TEXT_SIZE];
    const int length =
        snprintf(text, sizeof(text), size.estimated ? "%" PRIu64 "%c" : "%" PRIu64, size.bytes, ESTIMATED);
    AUTO_CLOSE int fd = openat(layer, SIZE_FILE ".new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    return fd >= 0 && write(fd, text, (size_t)length) == length ? renameat(layer, SIZE_FILE ".new", layer, SIZE_FILE)
                                                                : -1;
}

static uint64_t count(int folder, const char *name)
{
    static const struct usage no_limit = {UINT64_MAX / 2, UINT64_MAX / 2};
    struct usage used = {0, 0};

    walk_measure(folder, name, &no_limit, &used);
    return used.bytes;
}

uint64_t layer_size(int layers_fd, const char *id)
{
    struct size size = read_size(layers_fd, id);

    if (!size.estimated)
        return size.bytes;
    AUTO_CLOSE int layer = openat(layers_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    size = (struct size){count(layers_fd, id), false};
    if (layer >= 0)
        write_size(layer, size); /* if it cannot be noted it is counted again */
    return size.bytes;
}

/* What all layers take; COUNTED: not by estimates. */
static uint64_t size_of_all(int layers_fd, bool counted)
{
    const int listed = openat(layers_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = listed >= 0 ? fdopendir(listed) : NULL;
    uint64_t bytes = 0;

    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (layer_id_valid(entry->d_name))
            bytes += counted ? layer_size(layers_fd, entry->d_name) : read_size(layers_fd, entry->d_name).bytes;
    if (folder)
        closedir(folder);
    return bytes;
}

/* ---- copying ---- */

/* Where the box's storage has what it wrote at PLACE. */
static const char *folder_of(const struct layer_making *making, enum layer_place place)
{
    const struct settings *settings = &making->settings;
    const bool overlay = settings->rootfs || settings->archive || making->root_chain.count > 0;

    if (place != LAYER_ROOT)
        return layer_places[place];
    return overlay ? "root-upper" : "root";
}

/* Is that the upper folder of an overlay? */
static bool is_marked(const struct layer_making *making, enum layer_place place)
{
    const struct settings *settings = &making->settings;

    if (place == LAYER_ROOT)
        return making->root_chain.count > 0 || settings->rootfs || settings->archive;
    return making->chain.count > 0 || (place == LAYER_WORKSPACE && settings->workspace);
}

/* Lays the older layers, from the last to the first, into TARGET. */
static enum sandlot_status copy_chain(struct layer_making *making, struct tree_copy *copy, int target,
                                      enum layer_place place)
{
    const struct layer_chain *chain = place == LAYER_ROOT ? &making->root_chain : &making->chain;
    enum sandlot_status status = SANDLOT_OK;

    for (size_t i = chain->count; i > 0 && status == SANDLOT_OK; i--) {
        AUTO_CLOSE int layer =
            openat(making->layers_fd, chain->ids[i - 1], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        status = layer < 0 ? sandlot_fail(making->call, SANDLOT_INTERNAL, "a layer of the sandbox is gone")
                           : tree_copy(copy, layer, layer_places[place], target, true);
    }
    return status;
}

/* Is all that the box lies on laid together in the layer? */
static bool squashes(const struct layer_making *making)
{
    return making->with_base || making->chain.count == LAYERS_MOST;
}

/* The folder of the host that the box of RECORD began as, if it is still the same; -1: it is not. */
static int same_base(const char *record, const struct settings *settings)
{
    AUTO_CLOSE int fd = open(settings->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat folder;

    return fd >= 0 && fstat(fd, &folder) == 0 &&
                   (int64_t)folder.st_dev == fields_get_number(record, "workspace_device") &&
                   (int64_t)folder.st_ino == fields_get_number(record, "workspace_inode")
               ? take_fd(&fd)
               : -1;
}

/* The folder that the box has at PLACE below all layers, to be closed; or one of enum tree_below. */
static int below_layers(const struct layer_making *making, enum layer_place place)
{
    const struct settings *settings = &making->settings;
    const char *path = place == LAYER_ROOT ? settings->rootfs : NULL;
    char archive[ARCHIVE_PATH_SIZE];

    if (place == LAYER_WORKSPACE && making->with_base)
        return TREE_ON_NOTHING; /* that folder is a part of the layer */
    if (place == LAYER_ROOT && settings->archive) {
        settings_archive_path(settings->archive, archive);
        path = archive;
    }
    const bool on_base = place == LAYER_WORKSPACE && settings->workspace;

    if (!path && !on_base)
        return TREE_ON_NOTHING;
    const int fd = on_base ? same_base(making->record, settings)
                           : openat(making->client->state_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 ? fd : TREE_ON_OTHERS;
}

static enum sandlot_status fail_making(const struct layer_making *making)
{
    const int reason = errno;
    const bool full = reason == ENOSPC || reason == EDQUOT;

    return sandlot_fail(making->call, full ? SANDLOT_EXHAUSTED : SANDLOT_UNAVAILABLE,
                        "the snapshot could not be made: %s; %s", strerror(reason),
                        full ? "free some disk space" : "make sure that the state folder may be written to");
}

/* The folder of PLACE in the layer, to be closed; made if it is not there. -1 with errno. */
static int place_open(const struct layer_making *making, enum layer_place place)
{
    if (mkdirat(making->layer_fd, layer_places[place], 0700) < 0 && errno != EEXIST)
        return -1;
    return openat(making->layer_fd, layer_places[place], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static enum sandlot_status copy_place(struct layer_making *making, struct tree_copy *copy, int storage,
                                      enum layer_place place)
{
    AUTO_CLOSE int target = place_open(making, place);
    AUTO_CLOSE int below = squashes(making) ? below_layers(making, place) : TREE_ON_OTHERS;
    enum sandlot_status status = SANDLOT_OK;

    if (target < 0)
        return fail_making(making);
    copy->below = below;
    if (squashes(making))
        status = copy_chain(making, copy, target, place);
    return status == SANDLOT_OK ? tree_copy(copy, storage, folder_of(making, place), target, is_marked(making, place))
                                : status;
}

/* NEWEST, unless it is NULL, and then the OLDER ones. */
static void write_chain(const char *newest, const struct layer_chain *older, char *text, size_t size)
{
    int used = snprintf(text, size, "%s", newest ? newest : "");

    for (size_t i = 0; i < older->count; i++)
        used += snprintf(text + used, size - (size_t)used, "%s%s", used ? " " : "", older->ids[i]);
}

/* The chains of what begins with the layer; SAME_ROOT: that has nothing for "/". */
static void note_chains(struct layer_making *making, bool same_root)
{
    static const struct layer_chain none;
    const bool squashed = squashes(making);

    write_chain(making->id, squashed ? &none : &making->chain, making->layers, sizeof(making->layers));
    write_chain(same_root ? NULL : making->id, squashed ? &none : &making->root_chain, making->root_layers,
                sizeof(making->root_layers));
}

/* ---- while the box stands still ---- */

/* Asks the keeper about the box that is held. */
static enum sandlot_status ask(const struct layer_making *making, uint32_t kind, const char *body,
                               struct received *reply)
{
    const int64_t deadline_ms = sandlot_now_ms() + HOLD_LIMIT_MS;
    enum protocol_result result = protocol_send(making->hold, kind, body, strlen(body), NULL, 0, deadline_ms);

    if (result == PROTOCOL_OK)
        result = protocol_receive(making->hold, reply, deadline_ms, -1);
    return result == PROTOCOL_OK ? SANDLOT_OK : client_broken(making->call, result, "the keeper of local sandboxes");
}

/* Ends the hold, and hears whether the box has lived all the time: the files of one that ended were being removed. */
static enum sandlot_status release(const struct layer_making *making)
{
    struct received reply = {0};
    enum sandlot_status status = ask(making, MESSAGE_RELEASE, "", &reply);

    if (status != SANDLOT_OK)
        return status;
    if (reply.header.kind == MESSAGE_FAILED)
        status = client_failure(making->call, &reply);
    received_clear(&reply);
    return status;
}

static bool is_refusal(const struct received *reply)
{
    struct failure failure = {0};

    memcpy(&failure, reply->body, reply->header.length < sizeof(failure) ? reply->header.length : sizeof(failure));
    return failure.status == SANDLOT_UNSUPPORTED;
}

/* Has the keeper make what the box has written a part of the layer, or lay the box on that, as KIND says; *DONE: it
 * has. */
static enum sandlot_status turn_box(const struct layer_making *making, uint32_t kind, bool *done)
{
    struct received reply = {0};
    enum sandlot_status status = ask(making, kind, making->id, &reply);

    *done = false;
    if (status != SANDLOT_OK)
        return status;
    *done = reply.header.kind == MESSAGE_DONE;
    if (!*done && !is_refusal(&reply))
        status = client_failure(making->call, &reply);
    received_clear(&reply);
    return status;
}

/* Has the box written anything but in "/"? */
static bool has_written(int storage)
{
    for (int place = 0; place < LAYER_ROOT; place++)
        if (!walk_is_empty(storage, layer_places[place]))
            return true;
    return false;
}

/* All but "/", which is a part already. What is turned takes SIZE. */
static enum sandlot_status fill_layer(struct layer_making *making, struct tree_copy *copy, int storage,
                                      struct size size)
{
    enum sandlot_status status = SANDLOT_OK;
    bool done = false;

    size.bytes += copy->bytes;
    if (!squashes(making) && has_written(storage)) {
        if (write_size(making->layer_fd, size) < 0)
            return fail_making(making);
        status = turn_box(making, MESSAGE_TURN, &done);
    }
    for (int place = 0; place < LAYER_ROOT && status == SANDLOT_OK && !done; place++)
        status = copy_place(making, copy, storage, (enum layer_place)place);
    if (status == SANDLOT_OK && !done && write_size(making->layer_fd, (struct size){copy->bytes, false}) < 0)
        status = fail_making(making);
    /* What was laid together once need not be so again: the next ones are as cheap as the first. */
    if (status == SANDLOT_OK && making->chain.count == LAYERS_MOST && making->root_chain.count == 0 &&
        !making->with_base)
        status = turn_box(making, MESSAGE_REBASE, &making->rebased);
    return status;
}

static enum sandlot_status begin_layer(struct layer_making *making)
{
    const struct sandbox *sandbox = making->sandbox;

    if (making->made)
        return SANDLOT_OK;
    strcpy(making->id, "layer-");
    random_digits(making->id + strlen(making->id), ID_DIGITS);
    making->made = mkdirat(making->layers_fd, making->id, 0700) == 0;
    making->layer_fd = openat(making->layers_fd, making->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (making->layer_fd < 0 || (sandbox->uid != geteuid() && fchown(making->layer_fd, sandbox->uid, sandbox->gid) < 0))
        return fail_making(making);
    return SANDLOT_OK;
}

/* Into TEXT, for a layer of more than the bytes that are LEFT. */
static void say_too_large(uint64_t left, char text[MESSAGE_SIZE])
{
    snprintf(text, MESSAGE_SIZE,
             "the snapshot would be larger than what is left for snapshots and forks, %" PRIu64
             " MiB; delete some ('sandlot snapshots' shows them), or allow more with snapshots_mb",
             left >> 20);
}

/* A copy into the layer, of which LIMIT bytes may be; TEXT has its messages. */
static struct tree_copy copy_into(const struct layer_making *making, uint64_t limit, char text[MESSAGE_SIZE])
{
    say_too_large(limit, text);
    return (struct tree_copy){.call = making->call,
                              .what = "the snapshot",
                              .too_large = text,
                              .uid = making->sandbox->uid,
                              .gid = making->sandbox->gid,
                              .limit = limit,
                              .bytes = making->base_bytes,
                              .below = TREE_ON_NOTHING};
}

static enum sandlot_status make_of_box(struct layer_making *making, uint64_t left, struct size size)
{
    char text[MESSAGE_SIZE];
    struct tree_copy copy = copy_into(making, left, text);
    AUTO_CLOSE int storage =
        openat(making->sandbox->folder_fd, "storage", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (storage < 0)
        return sandbox_ended(making->sandbox, making->call);
    enum sandlot_status status = begin_layer(making);

    if (status != SANDLOT_OK)
        return status;
    copy.is_place = making->settings.rootfs || making->settings.archive ? NULL : places_have;
    status = copy_place(making, &copy, storage, LAYER_ROOT);
    copy.is_place = NULL;
    note_chains(making, walk_is_empty(making->layer_fd, layer_places[LAYER_ROOT]));
    return status == SANDLOT_OK ? fill_layer(making, &copy, storage, size) : status;
}

static enum sandlot_status fail_full(const struct layer_making *making, uint64_t used, uint64_t limit)
{
    return sandlot_fail(making->call, SANDLOT_EXHAUSTED,
                        "snapshots and forks take %" PRIu64 " MiB already, and may take %" PRIu64
                        "; delete some ('sandlot snapshots' shows them), or allow more with snapshots_mb",
                        used >> 20, limit >> 20);
}

/* Is LIMIT so far away that estimates are good enough? They are too low where others have freed space. */
static bool is_far(uint64_t used, uint64_t most, uint64_t limit)
{
    const uint64_t share = limit / ESTIMATE_SHARE;

    return limit >= ESTIMATE_LIMIT && used < share && most < share - used;
}

/* The box stands still; it has written at most MOST bytes, as far as can be told without counting. */
static enum sandlot_status make_within(struct layer_making *making, uint64_t limit, uint64_t most)
{
    struct size size = {most, true};
    uint64_t used = size_of_all(making->layers_fd, false);

    if (!is_far(used, most, limit)) {
        used = size_of_all(making->layers_fd, true);
        size = (struct size){count(making->sandbox->folder_fd, "storage"), false};
    }
    if (used >= limit)
        return fail_full(making, used, limit);
    if (!squashes(making) && size.bytes > limit - used) {
        char text[MESSAGE_SIZE];

        say_too_large(limit - used, text);
        return sandlot_fail(making->call, SANDLOT_EXHAUSTED, "%s", text);
    }
    return make_of_box(making, limit - used, size);
}

/* ---- what the box began as ---- */

int layer_base_open(struct sandlot_call *call, const char *record, const struct settings *settings,
                    enum sandlot_status *status)
{
    const int fd = same_base(record, settings);

    if (fd >= 0)
        return fd;
    *status = sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                           "the sandbox began as the folder %.700s, which is no longer there, or is another one; put "
                           "it back to its place",
                           settings->workspace);
    return -1;
}

static void tell_what_is_missing(const struct layer_making *making, uint64_t left_out)
{
    char text[1024];

    if (left_out == 0)
        return;
    snprintf(text, sizeof(text),
             "%" PRIu64 " entries of the folder %.700s are not in the snapshot: they cannot be read, or are sockets, "
             "pipes or devices",
             left_out, making->settings.workspace);
    making->call->host->log(making->call, SANDLOT_LOG_WARNING, text);
}

/* Copies the folder into the layer, beneath what will come from the box. */
static enum sandlot_status copy_base(struct layer_making *making, uint64_t limit)
{
    const uint64_t used = size_of_all(making->layers_fd, true);
    enum sandlot_status status = SANDLOT_OK;
    char text[MESSAGE_SIZE];

    if (used >= limit)
        return fail_full(making, used, limit);
    AUTO_CLOSE int base = layer_base_open(making->call, making->record, &making->settings, &status);

    if (base >= 0)
        status = begin_layer(making);
    if (status != SANDLOT_OK)
        return status;
    AUTO_CLOSE int target = place_open(making, LAYER_WORKSPACE);
    struct tree_copy copy = copy_into(making, limit - used, text);

    if (target < 0)
        return fail_making(making);
    copy.of_host = true;
    status = tree_copy(&copy, base, ".", target, false);
    making->base_bytes = copy.bytes;
    if (status == SANDLOT_OK)
        tell_what_is_missing(making, copy.left_out);
    return status;
}

/* ---- in one ---- */

enum sandlot_status layer_make(struct layer_making *making, uint64_t limit)
{
    struct received reply = {0};
    enum sandlot_status status = making->with_base ? copy_base(making, limit) : SANDLOT_OK;

    if (status == SANDLOT_OK)
        status =
            client_ask(making->client, making->call, MESSAGE_HOLD, making->sandbox->id, true, &reply, &making->hold);
    if (status != SANDLOT_OK)
        return status;
    const uint64_t most = strtoull(reply.body, NULL, 10);

    received_clear(&reply);
    status = make_within(making, limit, most);
    return status == SANDLOT_OK ? release(making) : status;
}
