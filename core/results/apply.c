#include "results/apply.h"

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "operations/local_file.h"
#include "results/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    BUFFER = 256 * 1024,
    TEMPORARY = 32,
    TEMPORARY_TRIES = 8,
    CHANGED_MEANWHILE = EREMCHG /* what stands at the path is not what was judged */
};

struct applying {
    struct results *results;
    bool (*each)(void *context, const struct sandlot_change *change, const struct sandlot_error *problem);
    void *context;
    struct nodes written; /* what stands there from now on, for who asks later */
    size_t count;         /* of paths that were written */
    size_t left_out;
    char *names; /* of the first of those that were left out */
};

static void tell(const struct applying *applying, const struct change *change, const struct sandlot_error *problem)
{
    const struct sandlot_change told = results_public(change);

    if (applying->each)
        applying->each(applying->context, &told, problem);
}

/* ---- writing one path -------------------------------------------------------------------------------------------- */

/* What stands in the way of another kind must go before: a folder for a file, a file for a folder. */
static bool is_removal(const struct change *change)
{
    if (!change->after)
        return true;
    return change->before && change->before->type != change->after->type &&
           (change->before->type == NODE_FOLDER || change->after->type == NODE_FOLDER);
}

/* Is what was judged still there? Somebody may work in the folder while the files before this one are written. */
static int check_stood(const struct change *change, bool removing, int parent, const char *name)
{
    static const struct stood nothing = {NODE_NONE, 0, 0};
    const bool made_room = is_removal(change) && !removing;
    const struct stood *stood = made_room ? &nothing : &change->stood;
    const enum node_type wanted = removing ? NODE_NONE : change->after->type;
    struct node now CLEANUP(node_clear);

    if (node_look(parent, name, &now) < 0)
        return -1;
    if (now.type == wanted && (wanted == NODE_NONE || wanted == NODE_FOLDER))
        return 0;
    if (now.type == stood->type &&
        (now.type == NODE_FOLDER || (now.bytes == stood->bytes && now.modified_ns == stood->modified_ns)))
        return 0;
    errno = made_room && now.type == NODE_FOLDER ? ENOTEMPTY : CHANGED_MEANWHILE;
    return -1;
}

static int copy_all(int from, int to)
{
    AUTO_FREE char *buffer = malloc(BUFFER);
    ssize_t got = -1;

    while (buffer && ((got = read(from, buffer, BUFFER)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0 && local_write(to, buffer, (size_t)got) < 0)
            return -1;
    return got < 0 ? -1 : 0;
}

/* A name that nobody has, for the time until the file is whole. */
static int temporary_name(char name[TEMPORARY])
{
    uint64_t random;

    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -1;
    snprintf(name, TEMPORARY, ".sandlot-%016" PRIx64, random);
    return 0;
}

/* An existing file keeps who may read and write it; a new one is for whom the umask lets. */
static int set_mode(int fd, const struct stat *before, bool executable)
{
    if (!before)
        return 0;
    mode_t mode = before->st_mode & 0777;

    return fchmod(fd, executable ? mode | (mode & 0444) >> 2 : mode & ~(mode_t)0111);
}

static int create(int parent, bool executable, char name[TEMPORARY])
{
    int fd = -1;

    for (int left = TEMPORARY_TRIES; fd < 0 && left > 0; left--) {
        if (temporary_name(name) < 0)
            return -1;
        fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, executable ? 0755 : 0644);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* The temporary file gets its name. Where nothing stood nothing is replaced. */
static int place(int parent, const char *temporary, const char *name, bool replaces)
{
    if (replaces)
        return renameat(parent, temporary, parent, name);
    if (renameat2(parent, temporary, parent, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    /* A file system that cannot say so. */
    return linkat(parent, temporary, parent, name, 0) < 0 ? -1 : unlinkat(parent, temporary, 0);
}

static int write_file(const struct applying *applying, const struct change *change, int parent, const char *name)
{
    struct stat before;
    char temporary[TEMPORARY];
    bool stands = fstatat(parent, name, &before, AT_SYMLINK_NOFOLLOW) == 0;
    const struct stat *kept = stands && S_ISREG(before.st_mode) ? &before : NULL;
    AUTO_CLOSE int from = box_open_fetched(&applying->results->box, change->index);
    AUTO_CLOSE int to = from >= 0 ? create(parent, change->after->executable, temporary) : -1;

    if (to < 0)
        return -1;
    int failed = copy_all(from, to) < 0 || set_mode(to, kept, change->after->executable) < 0 ||
                         close(take_fd(&to)) < 0 || check_stood(change, false, parent, name) < 0 ||
                         place(parent, temporary, name, stands) < 0
                     ? errno
                     : 0;

    if (failed)
        unlinkat(parent, temporary, 0);
    errno = failed;
    return failed ? -1 : 0;
}

static int write_link(const struct change *change, int parent, const char *name)
{
    char temporary[TEMPORARY];

    if (temporary_name(temporary) < 0 || symlinkat(change->after->target, parent, temporary) < 0)
        return -1;
    if (renameat(parent, temporary, parent, name) == 0)
        return 0;
    int reason = errno;

    unlinkat(parent, temporary, 0);
    errno = reason;
    return -1;
}

/* A file with several names becomes one of its own, as it did in the sandbox: the other names keep their mode. */
static int change_mode(const struct applying *applying, const struct change *change, int parent, const char *name)
{
    AUTO_CLOSE int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat before;

    if (fd < 0 || fstat(fd, &before) < 0)
        return -1;
    return before.st_nlink > 1 ? write_file(applying, change, parent, name)
                               : set_mode(fd, &before, change->after->executable);
}

static int make_folder(int parent, const char *name)
{
    struct stat status;

    if (mkdirat(parent, name, 0777) == 0)
        return 0;
    if (errno == EEXIST && fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode))
        return 0;
    return -1;
}

static int remove_path(const struct change *change, int parent, const char *name)
{
    bool folder = change->stood.type == NODE_FOLDER;

    return unlinkat(parent, name, folder ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT ? 0 : -1;
}

/* Opens the folder of PATH, and makes it where it is not there, through no link. */
static int open_parent(int folder_fd, const char *path, const char **name)
{
    int parent = beneath_open_parent(folder_fd, path, name);
    AUTO_FREE char *prefix = parent < 0 && errno == ENOENT ? strdup(path) : NULL;

    for (char *slash = prefix ? strchr(prefix, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        const char *part;

        *slash = '\0';
        AUTO_CLOSE int above = beneath_open_parent(folder_fd, prefix, &part);

        if (above < 0 || make_folder(above, part) < 0)
            return -1;
        *slash = '/';
    }
    return prefix ? beneath_open_parent(folder_fd, path, name) : parent;
}

static int write_one(const struct applying *applying, const struct change *change, bool removing)
{
    const char *name = change->path;
    AUTO_CLOSE int parent = open_parent(applying->results->folder_fd, change->path, &name);

    if (parent < 0)
        return removing && errno == ENOTDIR ? 0 : -1;
    if (check_stood(change, removing, parent, name) < 0)
        return -1;
    if (removing)
        return remove_path(change, parent, name);
    switch (change->after->type) {
    case NODE_FOLDER:
        return make_folder(parent, name);
    case NODE_LINK:
        return write_link(change, parent, name);
    default:
        return change->kind == SANDLOT_CHANGE_MODE && !change->conflict ? change_mode(applying, change, parent, name)
                                                                        : write_file(applying, change, parent, name);
    }
}

/* ---- which ones -------------------------------------------------------------------------------------------------- */

static bool is_forced(const struct applying *applying, const char *path)
{
    const char *const *force = applying->results->request.force;
    AUTO_FREE char *encoded = force && !text_utf8_valid(path, strlen(path)) ? base64_encode(path, strlen(path)) : NULL;

    for (; force && *force; force++)
        if (strcmp(*force, path) == 0 || (encoded && strcmp(*force, encoded) == 0))
            return true;
    return false;
}

/* Why CHANGE is left out; NULL: it is not. */
static const char *reason_of(const struct applying *applying, const struct change *change)
{
    if (change->never)
        return change->problem ? change->problem : change->risk;
    if (applying->results->request.allow_risky)
        return NULL;
    return change->risk ? change->risk : change->together ? "it goes with a path above it that is left out" : NULL;
}

static void tell_left_out(struct applying *applying, const struct change *change, const char *reason, const char *more)
{
    struct sandlot_error problem = {0};

    error_set(&problem, SANDLOT_CODE_PERMISSION_DENIED, "%s%s", reason, more);
    tell(applying, change, &problem);
    sandlot_error_clear(&problem);
    if (applying->left_out++ < 3)
        text_append(&applying->names, "%s%s", applying->names ? ", " : "", change->path);
}

static bool leave_out(struct applying *applying, const struct change *change)
{
    const char *reason = reason_of(applying, change);

    if (reason)
        tell_left_out(applying, change, reason, change->never ? "; it is never taken over" : "; --risky takes it over");
    return reason;
}

/* Nothing is written if there is one. */
static int check_conflicts(const struct applying *applying, struct sandlot_error *error)
{
    const struct results *results = applying->results;
    AUTO_FREE char *names = NULL;
    size_t count = 0;

    for (size_t i = 0; i < results->count; i++) {
        const struct change *change = &results->changes[i];

        if (!change->conflict || reason_of(applying, change) || is_forced(applying, change->path))
            continue;
        struct sandlot_error problem = {0};

        error_set(&problem, SANDLOT_CODE_CONFLICT, "it was changed on this machine too");
        tell(applying, change, &problem);
        sandlot_error_clear(&problem);
        if (count++ < 3)
            text_append(&names, "%s%s", names ? ", " : "", change->path);
    }
    if (count == 0)
        return 0;
    return error_set(
        error, SANDLOT_CODE_CONFLICT,
        "%zu %s changed on this machine after the sandbox was made (%s%s), so nothing was written; look at "
        "'sandlot diff', then overwrite single ones with --force PATH",
        count, count == 1 ? "path was" : "paths were", names ? names : "?", count > 3 ? ", ..." : "");
}

static int remember_one(struct applying *applying, const struct change *change, struct sandlot_error *error)
{
    struct node node = change->after ? *change->after : (struct node){0};

    node.path = (char *)(uintptr_t)change->path;
    return nodes_add(&applying->written, &node, error);
}

static int failed_at(const struct applying *applying, const struct change *change, int reason,
                     struct sandlot_error *error)
{
    bool full = reason == ENOSPC || reason == EDQUOT;
    const char *why = reason == ELOOP               ? "a link of this machine leads there"
                      : reason == CHANGED_MEANWHILE ? "it was changed on this machine meanwhile"
                                                    : strerror(reason);

    return error_set(error,
                     full                                  ? SANDLOT_CODE_NO_SPACE
                     : reason == CHANGED_MEANWHILE         ? SANDLOT_CODE_CONFLICT
                     : reason == EACCES || reason == EPERM ? SANDLOT_CODE_PERMISSION_DENIED
                                                           : SANDLOT_CODE_INTERNAL_ERROR,
                     "'%s' could not be written: %s; %zu %s before it and are whole, the others are as they were",
                     change->path, why, applying->count,
                     applying->count == 1 ? "path was written" : "paths were written");
}

static int check_wanted(const struct applying *applying, struct sandlot_error *error)
{
    if (cancellation_check(applying->results->cancel_fd, NULL) == 0)
        return 0;
    return error_set(error, SANDLOT_CODE_CANCELLED,
                     "cancelled; %zu %s written and whole, the others are as they were; apply again for the rest",
                     applying->count, applying->count == 1 ? "path is" : "paths are");
}

static bool was_folder(const struct change *change)
{
    return change->before && change->before->type == NODE_FOLDER;
}

/* A folder that still holds something of this machine's stays. */
static bool is_harmless(const struct change *change, int reason)
{
    return (was_folder(change) || change->stood.type == NODE_FOLDER) &&
           (reason == ENOTEMPTY || reason == EEXIST || reason == EISDIR);
}

static int do_one(struct applying *applying, const struct change *change, bool removing, struct sandlot_error *error)
{
    bool dry = applying->results->request.dry_run;

    if (check_wanted(applying, error) < 0)
        return -1;
    if (!dry && !change->there && write_one(applying, change, removing) < 0) {
        int reason = errno;

        if (!is_harmless(change, reason))
            return failed_at(applying, change, reason, error);
        if (!removing || !was_folder(change))
            tell_left_out(applying, change, "its folder on this machine still holds something", "");
        return 0;
    }
    /* What is replaced by something of another kind is told, and remembered, when that stands there. */
    if (removing && change->after)
        return 0;
    applying->count++;
    tell(applying, change, NULL);
    return dry ? 0 : remember_one(applying, change, error);
}

static int backwards(const void *left, const void *right)
{
    return strcmp((*(const struct change *const *)right)->path, (*(const struct change *const *)left)->path);
}

/* First all that goes, what lies in folders before these; then all that comes, the other way round. */
static int write_all(struct applying *applying, const struct change **chosen, size_t count, struct sandlot_error *error)
{
    int failed = 0;

    qsort(chosen, count, sizeof(struct change *), backwards);
    for (size_t i = 0; i < count && !failed; i++)
        if (is_removal(chosen[i]))
            failed = do_one(applying, chosen[i], true, error);
    for (size_t i = count; i-- > 0 && !failed;)
        if (chosen[i]->after)
            failed = do_one(applying, chosen[i], false, error);
    return failed;
}

static int remember(struct applying *applying, struct sandlot_error *error)
{
    struct base *base = &applying->results->base;

    if (!applying->results->own_folder || applying->written.count == 0)
        return 0;
    nodes_sort(&applying->written);
    return manifest_merge(&base->manifest, &applying->written, error) < 0 ? -1 : base_remember(base, error);
}

static int finish(struct applying *applying, struct sandlot_error *error)
{
    if (applying->left_out == 0)
        return 0;
    return error_set(
        error, SANDLOT_CODE_PERMISSION_DENIED,
        "%zu %s left out (%s%s); look at %s with 'sandlot diff', and take over what you trust with --risky",
        applying->left_out, applying->left_out == 1 ? "path was" : "paths were",
        applying->names ? applying->names : "?", applying->left_out > 3 ? ", ..." : "",
        applying->left_out == 1 ? "it" : "them");
}

int apply_write(struct results *results,
                bool (*each)(void *context, const struct sandlot_change *change, const struct sandlot_error *problem),
                void *context, struct sandlot_error *error)
{
    struct applying applying = {.results = results, .each = each, .context = context};
    AUTO_FREE const struct change **chosen = calloc(results->count + 1, sizeof(*chosen));
    size_t count = 0;

    if (!chosen)
        return error_no_memory(error);
    int failed = check_conflicts(&applying, error);

    for (size_t i = 0; i < results->count && !failed; i++)
        if (!leave_out(&applying, &results->changes[i]))
            chosen[count++] = &results->changes[i];
    if (!failed)
        failed = write_all(&applying, chosen, count, error);
    /* What was written is remembered also where the rest failed. */
    if (remember(&applying, error) < 0)
        failed = -1;
    if (!failed)
        failed = finish(&applying, error);
    nodes_clear(&applying.written);
    free(applying.names);
    return failed;
}
