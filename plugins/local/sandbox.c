#include "sandbox.h"

#include "tree_copy.h"

#include <sandlot/sdk/cleanup.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    RECORD_MAXIMUM = 64 * 1024,
    END_LIMIT_MS = 2000, /* until the keeper has written why a box ended */
    END_PAUSE_MS = 5,
    ROOT_LIMIT_MS = 10000
};

bool sandbox_id_valid(const char *id)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    const char *rest = id + 4;

    return strncmp(id, "box-", 4) == 0 && strlen(rest) == 12 && strspn(rest, letters) == 12;
}

/* boxes/ID or ended/ID, and what is below. */
static int open_below(int state_fd, const char *folder, const char *id, const char *file, int flags)
{
    char path[96];

    snprintf(path, sizeof(path), "%s/%s%s%s", folder, id, file ? "/" : "", file ? file : "");
    return openat(state_fd, path, flags | O_CLOEXEC | O_NOFOLLOW);
}

bool sandbox_exists(int state_fd, const char *id)
{
    AUTO_CLOSE int fd = open_below(state_fd, "boxes", id, NULL, O_PATH | O_DIRECTORY);

    return fd >= 0;
}

static int is_visible(const struct dirent *entry)
{
    return *entry->d_name != '.';
}

bool sandbox_leaves_any(int state_fd)
{
    static const char *const folders[] = {"boxes", "trash", "downloads"};
    int found = 0;

    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        struct dirent **entries = NULL;
        const int count = scandirat(state_fd, folders[i], &entries, is_visible, NULL);

        for (int entry = 0; entry < count; entry++)
            free(entries[entry]);
        free(entries);
        found += count > 0;
    }
    return found > 0;
}

/* The text of a small file, to be freed. Takes FD. */
static char *read_text(int fd)
{
    AUTO_CLOSE int file = fd;
    char *text = fd >= 0 ? malloc(RECORD_MAXIMUM) : NULL;
    ssize_t got = text ? read(file, text, RECORD_MAXIMUM - 1) : -1;

    if (got < 0) {
        free(text);
        return NULL;
    }
    text[got] = '\0';
    return text;
}

char *sandbox_why_ended(int state_fd, const char *id)
{
    char *reason = NULL;

    for (int waited = 0; !reason && waited <= END_LIMIT_MS; waited += END_PAUSE_MS) {
        reason = read_text(open_below(state_fd, "ended", id, NULL, O_RDONLY));
        if (reason || !sandbox_exists(state_fd, id))
            break;
        poll(NULL, 0, END_PAUSE_MS);
    }
    return reason;
}

static enum sandlot_status not_found(int state_fd, struct sandlot_call *call, const char *id)
{
    AUTO_FREE char *reason = sandbox_why_ended(state_fd, id);

    if (reason)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "sandbox %s was not found: %s; create another one", id, reason);
    if (sandbox_id_valid(id) && sandbox_exists(state_fd, id))
        return sandlot_fail(
            call, SANDLOT_NOT_FOUND,
            "sandbox %s was not found: it ended together with the keeper of this user's boxes; create another one", id);
    return sandlot_fail(
        call, SANDLOT_NOT_FOUND,
        "sandbox %.64s was not found: there is none of that id, or it was deleted; `sandlot list` shows what there is",
        id);
}

enum sandlot_status sandbox_ended(const struct sandbox *sandbox, struct sandlot_call *call)
{
    return not_found(sandbox->client->state_fd, call, sandbox->id);
}

void sandbox_free(struct sandbox *sandbox)
{
    if (!sandbox)
        return;
    for (size_t i = 0; i < sandbox->idle_count; i++)
        close(sandbox->idle[i]);
    if (sandbox->folder_fd >= 0)
        close(sandbox->folder_fd);
    pthread_mutex_destroy(&sandbox->lock);
    free(sandbox->working_dir);
    free(sandbox->id);
    free(sandbox);
}

/* In CONFINEMENT_LANDLOCK there is no view of its own, and the weaker mode is never silent. */
static bool note_confinement(struct sandbox *sandbox, struct sandlot_call *call, const char *record)
{
    AUTO_FREE char *confinement = fields_get(record, "confinement");

    if (!confinement)
        return false;
    sandbox->landlock = strcmp(confinement, "landlock") == 0;
    if (!sandbox->landlock) {
        sandbox->working_dir = fields_get(record, "start_dir");
        return true;
    }
    call->host->log(
        call, SANDLOT_LOG_WARNING,
        "confinement is \"landlock\": weaker than a full sandbox; commands can read the machine's system folders, and "
        "look up and change mode and times of any file that their user owns; they write in the sandbox's own folders "
        "only");
    return asprintf(&sandbox->working_dir, "%s/boxes/%s/storage/upper", sandbox->client->state_path, sandbox->id) >= 0;
}

char *sandbox_record(const struct sandbox *sandbox)
{
    return read_text(openat(sandbox->folder_fd, "record", O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

static bool read_record(struct sandbox *sandbox, struct sandlot_call *call)
{
    AUTO_FREE char *record = sandbox_record(sandbox);

    if (!record)
        return false;
    sandbox->uid = (uint32_t)fields_get_number(record, "host_uid");
    sandbox->gid = (uint32_t)fields_get_number(record, "host_gid");
    return note_confinement(sandbox, call, record);
}

struct sandbox *sandbox_open(struct client *client, struct sandlot_call *call, const char *id,
                             enum sandlot_status *status)
{
    int state_fd = client_state(client, call, status);

    if (state_fd < 0)
        return NULL;
    if (!sandbox_id_valid(id)) {
        *status = sandlot_fail(
            call, SANDLOT_NOT_FOUND,
            "sandbox %.64s was not found: ids of local sandboxes look like box-abcdefghijkl; `sandlot list` "
            "shows what there is",
            id);
        return NULL;
    }
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

    if (!sandbox) {
        *status = sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&sandbox->lock, NULL);
    sandbox->client = client;
    errno = 0;
    sandbox->id = strdup(id);
    sandbox->folder_fd = open_below(state_fd, "boxes", id, NULL, O_PATH | O_DIRECTORY);
    int connection = sandbox->folder_fd >= 0 ? protocol_connect(sandbox->folder_fd, "socket") : -1;

    if (connection >= 0)
        sandbox_give_back(sandbox, connection);
    if (connection >= 0 && sandbox->id && read_record(sandbox, call))
        return sandbox;
    /* Who answers is there, though there is no memory for what it is. */
    *status = connection >= 0 && errno == ENOMEM ? sandlot_fail(call, SANDLOT_INTERNAL, "out of memory")
                                                 : not_found(state_fd, call, id);
    sandbox_free(sandbox);
    return NULL;
}

void sandbox_log_limits(const struct sandbox *sandbox, struct sandlot_call *call, bool cpus)
{
    AUTO_FREE char *record = sandbox_record(sandbox);
    AUTO_FREE char *limits = record ? fields_get(record, "limits") : NULL;

    if (!limits)
        return;
    if (strncmp(limits, "per process", strlen("per process")) == 0)
        call->host->log(call, SANDLOT_LOG_INFO, "limits hold per process: no control group is writable");
    if (cpus && !strstr(limits, " cpu"))
        call->host->log(call, SANDLOT_LOG_WARNING,
                        "cpus: no control group for processors is writable; each process is tied to so many whole "
                        "processors instead, and may choose others");
}

static void report_copy(const struct tree_copy *copy)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "workspace: %.600s was copied (%" PRIu64 " files, %" PRIu64
             " MiB), because confinement \"landlock\" has no copy-on-write",
             copy->what, copy->files, copy->bytes >> 20);
    copy->call->host->log(copy->call, SANDLOT_LOG_WARNING, text);
    if (copy->left_out == 0)
        return;
    snprintf(text, sizeof(text),
             "workspace: %" PRIu64 " entries of %.600s were left out of the copy: they cannot be read, or are sockets, "
             "pipes or devices",
             copy->left_out, copy->what);
    copy->call->host->log(copy->call, SANDLOT_LOG_WARNING, text);
}

enum sandlot_status sandbox_copy_workspace(const struct sandbox *sandbox, struct sandlot_call *call, const char *path,
                                           uint64_t limit)
{
    AUTO_CLOSE int storage = openat(sandbox->folder_fd, "storage", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_CLOSE int target = openat(storage, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_CLOSE int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char too_large[1024];
    struct tree_copy copy = {.call = call,
                             .what = path,
                             .too_large = too_large,
                             .uid = sandbox->uid,
                             .gid = sandbox->gid,
                             .limit = limit,
                             .of_host = true,
                             .below = TREE_ON_NOTHING};

    if (target < 0)
        return sandbox_ended(sandbox, call);
    if (folder < 0)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "workspace: %.600s cannot be opened: %s; try again", path,
                            strerror(errno));
    snprintf(too_large, sizeof(too_large),
             "workspace: %.600s holds more than the sandbox may; give it more with disk_mb, or name a smaller folder",
             path);
    enum sandlot_status status = tree_copy(&copy, folder, ".", target, false);

    if (status == SANDLOT_OK)
        report_copy(&copy);
    return status;
}

int sandbox_connect(struct sandbox *sandbox, struct sandlot_call *call, enum sandlot_status *status)
{
    int connection = -1;

    pthread_mutex_lock(&sandbox->lock);
    if (sandbox->idle_count)
        connection = sandbox->idle[--sandbox->idle_count];
    pthread_mutex_unlock(&sandbox->lock);
    if (connection < 0)
        connection = protocol_connect(sandbox->folder_fd, "socket");
    if (connection < 0 && (errno == EMFILE || errno == ENFILE))
        *status = sandlot_fail(call, SANDLOT_EXHAUSTED, "the sandbox cannot be reached: %s", strerror(errno));
    else if (connection < 0)
        *status = sandbox_ended(sandbox, call);
    return connection;
}

void sandbox_give_back(struct sandbox *sandbox, int connection)
{
    pthread_mutex_lock(&sandbox->lock);
    if (sandbox->idle_count < IDLE_CONNECTIONS) {
        sandbox->idle[sandbox->idle_count++] = connection;
        connection = -1;
    }
    pthread_mutex_unlock(&sandbox->lock);
    if (connection >= 0)
        close(connection);
}

/* Takes what init handed out. Descriptors that the host has no place for are closed with REPLY. */
static enum sandlot_status take_root(const struct sandbox *sandbox, struct sandlot_call *call, struct received *reply,
                                     struct sandlot_root *root)
{
    if (reply->header.kind != MESSAGE_ROOT_IS || reply->fd_count != 2)
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "the sandbox gave no access to its files; delete it and create another");
    root->fd = received_take_fd(reply, 0);
    root->uid = sandbox->uid;
    root->gid = sandbox->gid;
    if (SANDLOT_HAS(root, alive_fd))
        root->alive_fd = received_take_fd(reply, 1);
    return SANDLOT_OK;
}

enum sandlot_status sandbox_root(struct sandbox *sandbox, struct sandlot_call *call, struct sandlot_root *root)
{
    enum sandlot_status status = SANDLOT_OK;
    int64_t deadline_ms = sandlot_now_ms() + sandlot_remaining_ms(call, ROOT_LIMIT_MS);
    AUTO_CLOSE int connection = sandbox_connect(sandbox, call, &status);
    struct received reply;

    if (connection < 0)
        return status;
    enum protocol_result result = protocol_send(connection, MESSAGE_ROOT, NULL, 0, NULL, 0, deadline_ms);

    if (result == PROTOCOL_OK)
        result = protocol_receive(connection, &reply, deadline_ms, call->cancel_fd);
    if (result == PROTOCOL_CLOSED)
        return sandbox_ended(sandbox, call);
    if (result != PROTOCOL_OK)
        return client_broken(call, result, "the sandbox");
    if (reply.header.kind == MESSAGE_FAILED)
        status = client_failure(call, &reply);
    else
        status = take_root(sandbox, call, &reply, root);
    received_clear(&reply);
    sandbox_give_back(sandbox, take_fd(&connection));
    return status;
}
