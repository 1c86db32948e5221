#include "bare.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/random.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { ID_DIGITS = 16 };

/* What is noted of a sandbox. */
struct record {
    char label[64];
    int64_t created_ms;
    int64_t idle_ms; /* 0: no limit */
    int64_t hard_ms;
    bool keep;
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_id(const char *id)
{
    return strncmp(id, "mem-", 4) == 0 && strlen(id) == 4 + ID_DIGITS &&
           strspn(id + 4, "0123456789abcdef") == ID_DIGITS;
}

static int open_below(const struct vfs *vfs, const char *id, const char *path, int flags)
{
    char whole[96];

    snprintf(whole, sizeof(whole), "bare/%.40s/%s", id, path);
    return openat(vfs->store.fd, whole, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool write_record(int folder, const struct record *record)
{
    char text[256];

    snprintf(text, sizeof(text), "%" PRId64 " %" PRId64 " %" PRId64 " %d %s", record->created_ms, record->idle_ms,
             record->hard_ms, record->keep, record->label);
    return symlinkat(text, folder, "record") == 0;
}

static bool read_record(int folder, struct record *record)
{
    char text[256];
    ssize_t length = readlinkat(folder, "record", text, sizeof(text) - 1);
    int keep = 0;

    *record = (struct record){0};
    if (length <= 0)
        return false;
    text[length] = '\0';
    if (sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %d %63s", &record->created_ms, &record->idle_ms,
               &record->hard_ms, &keep, record->label) < 4)
        return false;
    record->keep = keep;
    return true;
}

static bool is_past(int folder, const struct record *record)
{
    struct stat used;
    int64_t now = now_ms();

    if (record->hard_ms > 0 && now > record->created_ms + record->hard_ms)
        return true;
    return record->idle_ms > 0 && fstatat(folder, "record", &used, AT_SYMLINK_NOFOLLOW) == 0 &&
           now > (int64_t)used.st_mtim.tv_sec * 1000 + record->idle_ms;
}

/* Without a record it is being made: then it is locked. */
static bool is_left(int folder)
{
    struct record record;
    bool known = read_record(folder, &record);

    if (known && is_past(folder, &record))
        return true;
    return !(known && record.keep) && flock(folder, LOCK_EX | LOCK_NB) == 0;
}

static bool sweep_one(void *context, const char *name)
{
    struct vfs *vfs = context;
    AUTO_CLOSE int folder = open_below(vfs, name, ".", O_RDONLY);
    AUTO_CLOSE int bare = folder >= 0 && is_left(folder) ? store_folder(&vfs->store, "bare") : -1;

    if (bare >= 0)
        tree_remove(bare, name);
    return true;
}

void bare_sweep(struct vfs *vfs)
{
    store_each(&vfs->store, "bare", sweep_one, vfs);
}

/* ---- creating -------------------------------------------------------------------------------------------------------
 */

/* Makes the folder, locked from its first moment on that others can see it by its name. -1 with errno. */
static int make_folder(struct vfs *vfs, const char *id)
{
    AUTO_CLOSE int bare = store_folder(&vfs->store, "bare");
    char hidden[48];

    snprintf(hidden, sizeof(hidden), ".%.40s", id);
    if (bare < 0 || mkdirat(bare, hidden, 0700) < 0)
        return -1;
    AUTO_CLOSE int folder = openat(bare, hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (folder < 0 || flock(folder, LOCK_EX | LOCK_NB) < 0 || mkdirat(folder, "root", 0755) < 0 ||
        mkdirat(folder, "root/workspace", 0755) < 0 || mkdirat(folder, "root/tmp", 0700) < 0 ||
        renameat(bare, hidden, bare, id) < 0)
        return -1;
    return take_fd(&folder);
}

void bare_end_leases(struct vfs *vfs, const char *id)
{
    pthread_mutex_lock(&vfs->lock);
    for (struct lease **at = &vfs->leases; *at;) {
        struct lease *lease = *at;

        if (id && strcmp(lease->id, id) != 0) {
            at = &lease->next;
            continue;
        }
        *at = lease->next;
        close(lease->fd);
        free(lease);
    }
    pthread_mutex_unlock(&vfs->lock);
}

static struct record record_of(const struct sandlot_create *request)
{
    struct record record = {.created_ms = now_ms(),
                            .idle_ms = request->idle_ttl_ms,
                            .hard_ms = request->hard_ttl_ms,
                            .keep = request->flags & SANDLOT_CREATE_KEEP};

    snprintf(record.label, sizeof(record.label), "%s", request->run_label ? request->run_label : "");
    return record;
}

/* Has the sandbox ID live as long as this process. Takes LOCK over, a descriptor of its locked folder. */
static bool hold(struct vfs *vfs, const char *id, int lock)
{
    struct lease *lease = lock < 0 ? NULL : malloc(sizeof(*lease));

    if (!lease) {
        if (lock >= 0)
            close(lock);
        return false;
    }
    lease->fd = lock;
    snprintf(lease->id, sizeof(lease->id), "%s", id);
    pthread_mutex_lock(&vfs->lock);
    lease->next = vfs->leases;
    vfs->leases = lease;
    pthread_mutex_unlock(&vfs->lock);
    return true;
}

enum sandlot_status bare_create(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_create *request,
                                struct sandbox *sandbox)
{
    const struct record record = record_of(request);
    char digits[ID_DIGITS + 1];

    random_digits(digits, ID_DIGITS);
    snprintf(sandbox->id, sizeof(sandbox->id), "mem-%s", digits);
    AUTO_CLOSE int folder = make_folder(vfs, sandbox->id);

    if (folder < 0 || !write_record(folder, &record) ||
        (!record.keep && !hold(vfs, sandbox->id, fcntl(folder, F_DUPFD_CLOEXEC, 0))))
        return store_fail(call, "the folder of the sandbox cannot be made");
    call->host->created(call, sandbox->id, NULL);
    return SANDLOT_OK;
}

/* ---- using ----------------------------------------------------------------------------------------------------------
 */

static enum sandlot_status not_found(struct sandlot_call *call, const char *id)
{
    return sandlot_fail(
        call, SANDLOT_NOT_FOUND,
        "sandbox %.64s was not found: there is none of that id, or it was deleted, or its time was over; "
        "`sandlot list` shows what there is",
        id);
}

enum sandlot_status bare_attach(struct sandlot_call *call, struct vfs *vfs, const char *id, struct sandbox *sandbox)
{
    AUTO_CLOSE int folder = is_id(id) ? open_below(vfs, id, ".", O_RDONLY) : -1;
    struct record record;

    if (folder < 0 || !read_record(folder, &record) || is_past(folder, &record))
        return not_found(call, id);
    snprintf(sandbox->id, sizeof(sandbox->id), "%s", id);
    return SANDLOT_OK;
}

enum sandlot_status bare_root(struct sandlot_call *call, struct vfs *vfs, const char *id, struct sandlot_root *root)
{
    AUTO_CLOSE int folder = open_below(vfs, id, ".", O_RDONLY);
    AUTO_CLOSE int files = open_below(vfs, id, "root", O_RDONLY);

    if (folder < 0 || files < 0)
        return not_found(call, id);
    const uint64_t size = tree_size(files);

    if (size > (uint64_t)vfs->parameters.size_mb << 20)
        return sandlot_fail(call, SANDLOT_EXHAUSTED,
                            "no space left: the files of sandbox %s take %" PRIu64 " MiB, and size_mb is %" PRId64
                            "; raise it, or delete the sandbox",
                            id, size >> 20, vfs->parameters.size_mb);
    utimensat(folder, "record", NULL, AT_SYMLINK_NOFOLLOW);
    root->fd = open_below(vfs, id, "root", O_PATH);
    root->uid = geteuid();
    root->gid = getegid();
    return root->fd < 0 ? not_found(call, id) : SANDLOT_OK;
}

enum sandlot_status bare_delete(struct sandlot_call *call, struct vfs *vfs, const char *id)
{
    AUTO_CLOSE int bare = is_id(id) ? store_folder(&vfs->store, "bare") : -1;

    if (!is_id(id) || (bare >= 0 && tree_remove(bare, id)))
        return SANDLOT_OK;
    return store_fail(call, "the files of the sandbox cannot be removed");
}

struct listing_bare {
    struct vfs *vfs;
    const struct sandlot_listing *listing;
    enum sandlot_status status;
};

static bool list_one(void *context, const char *name)
{
    struct listing_bare *all = context;
    AUTO_CLOSE int folder = open_below(all->vfs, name, ".", O_RDONLY);
    struct record record;

    if (folder < 0 || !read_record(folder, &record))
        return true;
    const struct sandlot_listed listed = {.size = sizeof(listed),
                                          .id = name,
                                          .state = "files-only",
                                          .created_at_ms = record.created_ms,
                                          .run_label = *record.label ? record.label : NULL};

    all->status = all->listing->add(all->listing, &listed);
    return all->status == SANDLOT_OK;
}

enum sandlot_status bare_list(struct vfs *vfs, const struct sandlot_listing *listing)
{
    struct listing_bare all = {vfs, listing, SANDLOT_OK};

    store_each(&vfs->store, "bare", list_one, &all);
    return all.status;
}
