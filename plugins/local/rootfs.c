#include "rootfs.h"

#include "execute.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MEMORY_MB = 1024, /* for the decompressor */
    PROCESSES = 32,
    OPEN_FILES = 1024,
    KEEP_LIMIT_MS = 30000,
    MAGIC = 8,
    ENTRIES_PER_MB = 256, /* files and folders that a disk limit allows, as the keeper's guard counts */
    FEWEST_ENTRIES = 100000
};

/* One archive, or image, being unpacked. */
struct unpacking {
    struct sandlot_call call; /* the first member: what `execute` is given, so that its failures can be worded here */
    struct sandlot_host host;
    struct sandlot_call *outer;
    const char *parameter; /* for messages: who said */
    const char *path;      /* what is unpacked */
    const char *tools;     /* for messages: what that takes */
    const char *command;   /* what unpacks it into the folder that it leaves as its own */
    const char *key;
    int fd; /* the archive, -1: it is an image */
    struct sandlot_source input;
    int64_t disk_mb;
    uint64_t done;
    uint64_t total;
    char line[512]; /* of tar's messages, as far as it has come */
    size_t line_length;
    char fault[512]; /* the first message that is one; "": none */
    char failure[1024];
};

static bool make_key(int fd, char key[ARCHIVE_KEY_SIZE])
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return false;
    snprintf(key, ARCHIVE_KEY_SIZE, "%llx-%llx-%llx-%llx-%lx-%llx-%lx", (unsigned long long)status.st_dev,
             (unsigned long long)status.st_ino, (unsigned long long)status.st_size,
             (unsigned long long)status.st_mtim.tv_sec, (unsigned long)status.st_mtim.tv_nsec,
             (unsigned long long)status.st_ctim.tv_sec, (unsigned long)status.st_ctim.tv_nsec);
    return true;
}

/* Is archive KEY there? Then it counts as used now, and is not swept for a week. */
static bool is_unpacked(int state_fd, const char *key)
{
    char path[ARCHIVE_KEY_SIZE + 16];

    snprintf(path, sizeof(path), "rootfs/%s", key);
    return utimensat(state_fd, path, NULL, AT_SYMLINK_NOFOLLOW) == 0;
}

/* tar recognises what an archive is compressed with only where it can seek. */
static const char *decompression(int fd)
{
    static const struct {
        const char *magic;
        size_t length;
        const char *option;
    } kinds[] = {{"\x1f\x8b", 2, "--gzip"},
                 {"\xfd"
                  "7zXZ",
                  5, "--xz"},
                 {"\x28\xb5\x2f\xfd", 4, "--zstd"},
                 {"BZh", 3, "--bzip2"},
                 {"LZIP", 4, "--lzip"}};
    char head[MAGIC];
    ssize_t got = pread(fd, head, sizeof(head), 0);

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (got >= (ssize_t)kinds[i].length && memcmp(head, kinds[i].magic, kinds[i].length) == 0)
            return kinds[i].option;
    return "";
}

/* ---- the host's side of tar ---- */

static enum sandlot_status note_failure(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    struct unpacking *unpacking = (struct unpacking *)(void *)call;

    if (!unpacking->failure[0])
        snprintf(unpacking->failure, sizeof(unpacking->failure), "%s", message);
    return status;
}

static enum sandlot_status read_archive(const struct sandlot_source *source, void *buffer, size_t capacity,
                                        size_t *length)
{
    struct unpacking *unpacking = source->context;
    ssize_t got;

    do
        got = read(unpacking->fd, buffer, capacity);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return sandlot_fail(&unpacking->call, SANDLOT_UNAVAILABLE, "it cannot be read: %s", strerror(errno));
    unpacking->done += (size_t)got;
    unpacking->outer->host->progress(unpacking->outer, "unpacking rootfs", unpacking->done, unpacking->total);
    *length = (size_t)got;
    return SANDLOT_OK;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);

    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* Is this message of tar none that the user has to act on? tar writes names escaped, so one is one line. */
static bool is_harmless(const char *line)
{
    /* A box has the few devices that it needs, and can make none. */
    return ends_with(line, ": Cannot mknod: Operation not permitted") ||
           strncmp(line, "tar: Removing leading `", strlen("tar: Removing leading `")) == 0 ||
           strncmp(line, "tar: Ignoring unknown extended header keyword", 45) == 0 ||
           strncmp(line, "tar: A lone zero block", 22) == 0 || strstr(line, ": implausibly old time stamp") ||
           ends_with(line, " s in the future") ||
           strcmp(line, "tar: Exiting with failure status due to previous errors") == 0;
}

static enum sandlot_status read_messages(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct unpacking *unpacking = sink->context;

    for (const char *at = bytes; at < (const char *)bytes + length; at++) {
        if (*at != '\n') {
            if (unpacking->line_length < sizeof(unpacking->line) - 1)
                unpacking->line[unpacking->line_length++] = *at;
            continue;
        }
        unpacking->line[unpacking->line_length] = '\0';
        unpacking->line_length = 0;
        if (!unpacking->fault[0] && !is_harmless(unpacking->line))
            memcpy(unpacking->fault, unpacking->line, sizeof(unpacking->fault));
    }
    return SANDLOT_OK;
}

/* ---- what came of it ---- */

/* The box ID is no concern of the user's, but why it ended is: most likely a limit. */
static enum sandlot_status explain_failure(const struct client *client, const struct unpacking *unpacking,
                                           const char *id, enum sandlot_status status)
{
    AUTO_FREE char *reason = status == SANDLOT_NOT_FOUND ? sandbox_why_ended(client->state_fd, id) : NULL;

    return sandlot_fail(unpacking->outer, reason ? SANDLOT_EXHAUSTED : status, "%s: %.400s could not be unpacked: %s",
                        unpacking->parameter, unpacking->path, reason ? reason : unpacking->failure);
}

static enum sandlot_status judge(const struct unpacking *unpacking, const struct sandlot_exit *result)
{
    if (result->note)
        return sandlot_fail(unpacking->outer, SANDLOT_EXHAUSTED, "%s: %.400s could not be unpacked: %s",
                            unpacking->parameter, unpacking->path, result->note);
    if (result->exit_code == 0 || (result->exit_code == 2 && !unpacking->fault[0]))
        return SANDLOT_OK;
    /* Go, in which umoci is written, says it in small letters. */
    if (result->exit_code == 128 + SIGXFSZ || strcasestr(unpacking->fault, "File too large") ||
        strcasestr(unpacking->fault, "No space left"))
        return sandlot_fail(unpacking->outer, SANDLOT_EXHAUSTED,
                            "%s: %.400s could not be unpacked: it holds more than disk_mb allows, or than there is "
                            "space on the disk; give it more with disk_mb",
                            unpacking->parameter, unpacking->path);
    if (result->exit_code == 127 || strstr(unpacking->fault, "Cannot exec"))
        return sandlot_fail(unpacking->outer, SANDLOT_DEPENDENCY_MISSING,
                            "%s: %.400s could not be unpacked: %s; install %s", unpacking->parameter, unpacking->path,
                            unpacking->fault, unpacking->tools);
    return sandlot_fail(unpacking->outer, SANDLOT_INVALID_ARGUMENT,
                        "%s: %.400s could not be unpacked: %s (status %d); name a complete one of a root file system",
                        unpacking->parameter, unpacking->path, unpacking->fault[0] ? unpacking->fault : "it failed",
                        result->exit_code);
}

/* Runs the unpacking tool in box ID, and counts what it made. */
static enum sandlot_status run_tool(struct client *client, struct unpacking *unpacking, const char *id)
{
    enum sandlot_status status = SANDLOT_OK;
    struct sandbox *sandbox = sandbox_open(client, unpacking->outer, id, &status);
    const struct sandlot_sink output = {sizeof(output), unpacking, read_messages};
    struct sandlot_exit result = {.size = sizeof(result)};
    AUTO_FREE char *text = NULL;

    if (!sandbox)
        return status;
    const long long allowed = unpacking->disk_mb * ENTRIES_PER_MB;
    const long long entries = allowed < FEWEST_ENTRIES ? FEWEST_ENTRIES : allowed;

    /* What fits into the time between two looks of the keeper's guard is counted here, and kept for state_sweep_rootfs.
     */
    if (asprintf(&text,
                 "export LC_ALL=C; %s; s=$?; [ $s = 0 ] || [ $s = 2 ] || exit $s; "
                 "[ -n \"$(ls -A)\" ] || { echo 'it holds no files'; exit 1; }; "
                 "size=$(du -sm . | cut -f 1); echo \"$size\" >\"$HOME/size\"; "
                 "[ \"$(find . | wc -l)\" -le %lld ] && [ \"$size\" -le %lld ] || "
                 "{ echo 'No space left for it'; exit 1; }; exit $s",
                 unpacking->command, entries, (long long)unpacking->disk_mb) < 0) {
        sandbox_free(sandbox);
        return sandlot_fail(unpacking->outer, SANDLOT_INTERNAL, "out of memory");
    }
    const struct sandlot_command command = {.size = sizeof(command), .command = text, .input = &unpacking->input};

    status = execute_command(sandbox, &unpacking->call, &command, &output, &result);
    sandbox_free(sandbox);
    return status == SANDLOT_OK ? judge(unpacking, &result) : explain_failure(client, unpacking, id, status);
}

/* Has the keeper end the box that hangs on CONNECTION and keep what it unpacked. */
static enum sandlot_status keep(struct client *client, const struct unpacking *unpacking, int connection)
{
    struct sandlot_call *call = unpacking->outer;
    int64_t deadline_ms = sandlot_now_ms() + sandlot_remaining_ms(call, KEEP_LIMIT_MS);
    struct received reply;
    enum sandlot_status status = SANDLOT_OK;
    enum protocol_result result = protocol_send(connection, MESSAGE_UNPACKED, NULL, 0, NULL, 0, deadline_ms);

    if (result == PROTOCOL_OK)
        result = protocol_receive(connection, &reply, deadline_ms, call->cancel_fd);
    if (result != PROTOCOL_OK)
        return client_broken(call, result, "the keeper of local sandboxes");
    if (reply.header.kind == MESSAGE_FAILED)
        status = client_failure(call, &reply);
    else if (!is_unpacked(client->state_fd, unpacking->key))
        status = sandlot_fail(call, SANDLOT_UNAVAILABLE,
                              "%s: what was unpacked could not be kept in the state folder %.600s; make sure that it "
                              "may be written to and has space",
                              unpacking->parameter, client->state_path);
    received_clear(&reply);
    return status;
}

/* Unpacks in a box of its own, to which SETTINGS are added. */
static enum sandlot_status unpack(struct client *client, struct unpacking *unpacking, const char *workspace)
{
    struct sandlot_call *call = unpacking->outer;
    const struct settings settings = {.archive = (char *)(uintptr_t)unpacking->key,
                                      .workspace = (char *)(uintptr_t)workspace,
                                      .unpacks = true,
                                      .memory_mb = MEMORY_MB,
                                      .processes = PROCESSES,
                                      .open_files = OPEN_FILES,
                                      .disk_mb = unpacking->disk_mb};
    AUTO_FREE char *text = settings_write(&settings);
    char key_afterwards[ARCHIVE_KEY_SIZE] = "";
    struct received reply;
    int fd;

    unpacking->call =
        (struct sandlot_call){sizeof(unpacking->call), &unpacking->host, call->deadline_ms, call->cancel_fd};
    unpacking->host = (struct sandlot_host){.size = offsetof(struct sandlot_host, log), .fail = note_failure};
    if (!text)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    enum sandlot_status status = client_ask(client, call, MESSAGE_CREATE, text, true, &reply, &fd);
    AUTO_CLOSE int connection = fd; /* the box ends with it */

    if (status != SANDLOT_OK)
        return status;
    if (reply.header.kind == MESSAGE_CREATED)
        status = run_tool(client, unpacking, reply.body);
    else
        status =
            sandlot_fail(call, SANDLOT_INTERNAL, "the keeper of local sandboxes gave an answer that makes no sense");
    received_clear(&reply);
    if (status != SANDLOT_OK)
        return status;
    if (unpacking->fd >= 0 && (!make_key(unpacking->fd, key_afterwards) || strcmp(unpacking->key, key_afterwards) != 0))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "rootfs: %.700s was changed while it was unpacked; try again",
                            unpacking->path);
    return keep(client, unpacking, connection);
}

enum sandlot_status rootfs_unpack(struct client *client, struct sandlot_call *call, const char *path, int64_t disk_mb,
                                  char key[ARCHIVE_KEY_SIZE])
{
    enum sandlot_status status = SANDLOT_OK;
    int state_fd = client_state(client, call, &status);
    struct stat archive;

    if (state_fd < 0)
        return status;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &archive) < 0 || !make_key(fd, key))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "rootfs: the archive %.700s cannot be opened: %s; name one that you can read", path,
                            strerror(errno));
    if (is_unpacked(state_fd, key))
        return SANDLOT_OK;
    char command[128];
    struct unpacking unpacking = {
        .outer = call,
        .parameter = "rootfs",
        .path = path,
        .tools = "tar and what the archive is compressed with",
        .command = command,
        .key = key,
        .fd = fd,
        .input = {sizeof(unpacking.input), &unpacking, read_archive, -1},
        .disk_mb = disk_mb,
        .total = (uint64_t)archive.st_size,
    };

    /* The owners of the archive do not exist in a box, which has one user; set-user-id bits would mean nothing there.
     */
    snprintf(command, sizeof(command), "tar -x %s --no-same-owner --no-same-permissions --delay-directory-restore -f -",
             decompression(fd));
    call->host->log(call, SANDLOT_LOG_INFO, "rootfs: the archive is unpacked, which is done once");
    return unpack(client, &unpacking, NULL);
}

bool rootfs_is_unpacked(struct client *client, const char *key)
{
    return is_unpacked(client->state_fd, key);
}

enum sandlot_status rootfs_unpack_image(struct client *client, struct sandlot_call *call,
                                        const struct image_layout *image, int64_t disk_mb)
{
    struct unpacking unpacking = {
        .outer = call,
        .parameter = "image",
        .path = image->name,
        .tools = "umoci",
        .command = "cat >\"$HOME/" IMAGE_CONFIG "\" && "
                   "umoci --log=error raw unpack --rootless --image .:" IMAGE_TAG " " IMAGE_FOLDER " && "
                   "chmod 755 " IMAGE_FOLDER " && cd " IMAGE_FOLDER,
        .key = image->key,
        .fd = -1,
        .input = *image->config,
        .disk_mb = disk_mb,
    };

    return unpack(client, &unpacking, image->folder);
}
