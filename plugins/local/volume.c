#include "volume.h"

#include "box/box.h"
#include "keeper/walk.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_LIMIT_MB = 8192, ANSWER_LIMIT_MS = 10000 };

/* An unpacked tree may have so many entries for each MiB of the limit before it is no longer counted; as the guard. */
enum { ENTRIES_PER_MB = 256, FEWEST_ENTRIES = 100000 };

static const char wrong_place[] = "a cache is best in the home, such as " BOX_HOME "/.cache";

/* What is a box's own: where no volume may be, and neither in most of them. */
static const struct own {
    const char *path;
    bool below; /* nor anywhere below it */
    const char *advice;
} own[] = {
    {"/proc", true, wrong_place},
    {"/dev", true, wrong_place},
    {"/sys", true, wrong_place},
    {"/run", true, wrong_place},
    {"/etc", true, wrong_place},
    {"/usr", true, wrong_place},
    {"/bin", true, wrong_place},
    {"/sbin", true, wrong_place},
    {"/lib", true, wrong_place},
    {"/lib32", true, wrong_place},
    {"/lib64", true, wrong_place},
    {"/libx32", true, wrong_place},
    {"/var/run", true, wrong_place},
    {"/var/tmp", true, wrong_place},
    {"/var/lib/dpkg", true, wrong_place},
    {"/var/lib/rpm", true, wrong_place},
    {"/var/lib", false, wrong_place},
    {"/var", false, wrong_place},
    {"/tmp", false, "name a folder in it"},
    {"/home", false, "name a folder in " BOX_HOME},
    {BOX_HOME, false, "name a folder in it"},
    {BOX_WORKSPACE, true,
     "what lies there is the work that comes home; put the volume elsewhere, and tell the tool where"},
};

/* Is PATH the folder OUTER, or does it begin with that? */
static bool lies_in(const char *path, const char *outer)
{
    const size_t length = strlen(outer);

    return strncmp(path, outer, length) == 0 && (!path[length] || path[length] == '/');
}

static enum sandlot_status refuse(struct sandlot_call *call, const struct sandlot_volume *volume, const char *what,
                                  const char *advice)
{
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the volume %.64s cannot be at %.300s, %.300s; %s",
                        volume->name, volume->path, what, advice);
}

/* The host has seen to the form of paths; what would end a line of the keeper's is looked for here, too. */
static bool has_controls(const char *path)
{
    for (; *path; path++)
        if ((unsigned char)*path < ' ' || *path == '\x7f')
            return true;
    return false;
}

static enum sandlot_status judge_place(struct sandlot_call *call, const struct settings *settings,
                                       const struct sandlot_volume *volume)
{
    if (!settings_volume_valid(volume->name) || *volume->path != '/' || !volume->path[1] ||
        has_controls(volume->path) || strstr(volume->path, "/../"))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "a volume has a name or a path that none can have; write NAME:/absolute/path");
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(volume->path, own[i].path) == 0 || (own[i].below && lies_in(volume->path, own[i].path)))
            return refuse(call, volume, "which a sandbox has of its own", own[i].advice);
    if (settings->start_dir &&
        (lies_in(settings->start_dir, volume->path) || lies_in(volume->path, settings->start_dir)))
        return refuse(call, volume, "which is the working directory, holds it or lies in it", "name another folder");
    return SANDLOT_OK;
}

/* A folder of the machine that is shown is read-only, and no place for another one. */
static enum sandlot_status judge_shown(struct sandlot_call *call, const struct settings *settings,
                                       const struct sandlot_volume *volume)
{
    AUTO_FREE char *copy = settings->show ? strdup(settings->show) : NULL;
    struct shown shown[SHOWN_MOST];
    const int count = copy ? settings_shown(copy, shown) : 0;

    for (int i = 0; i < count; i++)
        if (lies_in(volume->path, shown[i].place) || lies_in(shown[i].place, volume->path))
            return refuse(call, volume, "where a folder is that `show` names, or above it", "name another folder");
    return SANDLOT_OK;
}

static enum sandlot_status add(struct sandlot_call *call, const struct sandlot_volume *volume, char **text)
{
    const uint64_t mebibyte = UINT64_C(1) << 20;
    const uint64_t limit_mb = volume->limit_bytes / mebibyte + (volume->limit_bytes % mebibyte != 0);
    const struct wanted_volume wanted = {.name = volume->name,
                                         .path = volume->path,
                                         .limit_mb = limit_mb ? limit_mb : DEFAULT_LIMIT_MB,
                                         .flags = volume->flags};

    return settings_add_volume(text, &wanted) ? SANDLOT_OK : sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
}

enum sandlot_status volume_judge(struct sandlot_call *call, const struct settings *settings,
                                 const struct sandlot_create *request, char **text)
{
    const size_t count = SANDLOT_HAS(request, volume_count) ? request->volume_count : 0;
    enum sandlot_status status = SANDLOT_OK;

    if (count && settings->confinement == CONFINEMENT_LANDLOCK)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "volumes need confinement = \"full\": \"landlock\" can mount nothing; leave them out");
    if (count > VOLUMES_MOST)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "%zu volumes are too many; name at most %d", count,
                            VOLUMES_MOST);
    for (size_t i = 0; i < count && status == SANDLOT_OK; i++) {
        status = judge_place(call, settings, &request->volumes[i]);
        if (status == SANDLOT_OK)
            status = judge_shown(call, settings, &request->volumes[i]);
        if (status == SANDLOT_OK)
            status = add(call, &request->volumes[i], text);
    }
    return status;
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

/* What the volume NAME holds; UINT64_MAX: it cannot be counted, or is much more than the volume may hold. */
static uint64_t measure(int state_fd, const char *name, int64_t limit_mb)
{
    const uint64_t entries = (uint64_t)limit_mb * ENTRIES_PER_MB;
    const struct usage limit = {((uint64_t)limit_mb << 20) * 4,
                                (entries > FEWEST_ENTRIES ? entries : FEWEST_ENTRIES) * 2};
    struct usage used = {0, 0};
    char path[VOLUME_NAME_SIZE + 32];

    snprintf(path, sizeof(path), "volumes/%s/files", name);
    AUTO_CLOSE int files = openat(state_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (files < 0)
        return errno == ENOENT ? 0 : UINT64_MAX;
    walk_measure(state_fd, path, &limit, &used);
    return used.bytes > limit.bytes || used.entries > limit.entries ? UINT64_MAX : used.bytes;
}

static enum sandlot_status add_listed(int state_fd, const struct sandlot_volume_listing *listing, const char *record)
{
    AUTO_FREE char *name = fields_get(record, "name");
    const int64_t limit_mb = fields_get_number(record, "limit_mb");

    if (!name || !settings_volume_valid(name) || limit_mb < 0)
        return SANDLOT_OK;
    const struct sandlot_listed_volume listed = {.size = sizeof(listed),
                                                 .name = name,
                                                 .bytes = measure(state_fd, name, limit_mb),
                                                 .limit_bytes = (uint64_t)limit_mb << 20,
                                                 .writers = (uint32_t)fields_get_number(record, "writers"),
                                                 .readers = (uint32_t)fields_get_number(record, "readers"),
                                                 .used_at_ms = fields_get_number(record, "used_ms")};

    return listing->add(listing, &listed);
}

enum sandlot_status volume_list(struct client *client, struct sandlot_call *call, const char *cursor,
                                const struct sandlot_volume_listing *listing)
{
    enum sandlot_status status = SANDLOT_OK;
    const int state_fd = client_state(client, call, &status);
    struct received reply;
    int fd = -1;

    if (state_fd < 0)
        return status;
    if (cursor)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "volumes are listed in one page; leave the cursor out");
    status = client_ask(client, call, MESSAGE_VOLUMES, "", true, &reply, &fd);
    AUTO_CLOSE int connection = fd;

    while (status == SANDLOT_OK && connection >= 0) {
        const uint32_t kind = reply.header.kind;

        if (kind == MESSAGE_LISTED)
            status = add_listed(state_fd, listing, reply.body);
        received_clear(&reply);
        if (kind != MESSAGE_LISTED || status != SANDLOT_OK)
            break;
        const enum protocol_result result = protocol_receive(
            connection, &reply, sandlot_now_ms() + sandlot_remaining_ms(call, ANSWER_LIMIT_MS), call->cancel_fd);

        if (result != PROTOCOL_OK)
            return client_broken(call, result, "the keeper of local sandboxes");
    }
    return status;
}

/* ---- deleting ---------------------------------------------------------------------------------------------------- */

enum sandlot_status volume_delete(struct client *client, struct sandlot_call *call, const char *name)
{
    struct received reply;
    int connection;

    if (!settings_volume_valid(name))
        return SANDLOT_OK; /* there is none of that name */
    const enum sandlot_status status = client_ask(client, call, MESSAGE_DELETE_VOLUME, name, true, &reply, &connection);

    if (status != SANDLOT_OK)
        return status;
    received_clear(&reply);
    close(connection);
    return SANDLOT_OK;
}
