#include "tree_copy.h"

#include "file_copy.h"
#include "keeper/walk.h"

#include <sandlot/sdk/cleanup.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define OVERLAY_MARKS "user.overlay."
#define OVERLAY_ESCAPED "user.overlay.overlay."
#define OPAQUE "user.overlay.opaque"

enum { DEEPEST = 200, BLOCK = 4096, ATTRIBUTES = 4096, ATTRIBUTE = 4096 };

/* A file that has several names, and the first of these that was copied. */
struct linked {
    dev_t device; /* file systems that are mounted in a folder of the host number their files alike */
    ino_t inode;
    char path[];
};

/* One tree on its way into another. */
struct tree {
    struct tree_copy *copy;
    struct copying copying;
    bool marked;
    uid_t owner; /* of its top */
    int below;   /* what the present folder will lie on, as in struct tree_copy */
    int root;    /* of the target */
    void *seen;  /* the linked ones, of search.h */
    char path[PATH_MAX];
    size_t length;
};

/* ---- what goes wrong ---- */

static enum sandlot_status fail_entry(const void *context, const char *name)
{
    const struct tree *tree = context;
    const bool full = errno == ENOSPC || errno == EDQUOT;

    return sandlot_fail(tree->copy->call, full ? SANDLOT_EXHAUSTED : SANDLOT_UNAVAILABLE,
                        "%.255s could not be copied for %.600s: %s; %s", name, tree->copy->what, strerror(errno),
                        full ? "free some disk space" : "try again");
}

/* Adds BYTES on disk. May the copy go on? */
static enum sandlot_status account(void *context, uint64_t bytes)
{
    const struct tree *tree = context;
    struct tree_copy *copy = tree->copy;

    copy->bytes += (bytes + BLOCK - 1) / BLOCK * BLOCK;
    if (copy->bytes > copy->limit)
        return sandlot_fail(copy->call, SANDLOT_EXHAUSTED, "%s", copy->too_large);
    if (sandlot_cancelled(copy->call))
        return sandlot_fail(copy->call, SANDLOT_CANCELLED, "cancelled while files were copied for %.600s", copy->what);
    if (copy->call->deadline_ms && sandlot_now_ms() >= copy->call->deadline_ms)
        return sandlot_fail(copy->call, SANDLOT_TIMEOUT, "the files of %.600s could not be copied in time; remove some",
                            copy->what);
    return SANDLOT_OK;
}

/* ---- reading what its owner may not ---- */

/* Opens NAME although its mode may forbid it even to its owner, who we are. The mode is changed by what was found, so
 * a link in its place has no effect, and changed back. */
static int open_whatever(int folder, const char *name, int flags)
{
    const int fd = openat(folder, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0 || errno != EACCES)
        return fd;
    AUTO_CLOSE int found = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char path[64];
    struct stat status;

    if (found < 0 || fstat(found, &status) < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
    if (chmod(path, status.st_mode | S_IRWXU) < 0)
        return -1;
    const int opened = open(path, flags | O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    chmod(path, status.st_mode & 07777);
    return opened;
}

/* The same for what is copied, which is only changed where it is a box's. */
static int open_source(const struct tree *tree, int folder, const char *name, int flags)
{
    return tree->copy->of_host ? openat(folder, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                               : open_whatever(folder, name, flags);
}

/* NAME could not be opened because of errno, or has become something else. */
static enum sandlot_status fail_source(const struct tree *tree, const char *name)
{
    const bool expected = errno == EACCES || errno == EPERM || errno == ENOENT || errno == ELOOP || errno == ENOTDIR;

    if (!tree->copy->of_host || !expected)
        return fail_entry(tree, name);
    tree->copy->left_out++;
    return SANDLOT_OK;
}

/* ---- removing what is covered ---- */

static int remove_entry(int folder, const char *name, int depth);

static int empty_folder(int fd, int depth)
{
    const int listed = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = listed >= 0 ? fdopendir(listed) : NULL;
    int result = folder ? 0 : -1;

    for (struct dirent *entry; result == 0 && folder && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = remove_entry(fd, entry->d_name, depth + 1);
    if (folder)
        closedir(folder);
    return result;
}

/* Of our own copy, which is never deeper than what was copied. 0, also if it is not there; -1 with errno. */
static int remove_entry(int folder, const char *name, int depth)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    AUTO_CLOSE int fd = open_whatever(folder, name, O_DIRECTORY);

    if (fd < 0 || depth > DEEPEST || fchmod(fd, 0700) < 0 || empty_folder(fd, depth) < 0)
        return -1;
    return unlinkat(folder, name, AT_REMOVEDIR);
}

/* ---- what belongs to an entry ---- */

/* Marks of the overlay are its own business; a box in an overlay has such names of its own under another. */
static bool is_kept(const struct tree *tree, const char *attribute)
{
    if (strncmp(attribute, OVERLAY_MARKS, strlen(OVERLAY_MARKS)) == 0)
        return tree->marked && ((strcmp(attribute, OPAQUE) == 0 && tree->below != TREE_ON_NOTHING) ||
                                strncmp(attribute, OVERLAY_ESCAPED, strlen(OVERLAY_ESCAPED)) == 0);
    return strncmp(attribute, "user.", 5) == 0 || strncmp(attribute, "system.posix_acl_", 17) == 0;
}

static void copy_attributes(const struct tree *tree, int from, int to)
{
    char names[ATTRIBUTES];
    char value[ATTRIBUTE];
    const ssize_t length = flistxattr(from, names, sizeof(names));

    for (const char *name = names; name < names + (length > 0 ? length : 0); name += strlen(name) + 1) {
        const ssize_t size = is_kept(tree, name) ? fgetxattr(from, name, value, sizeof(value)) : -1;

        /* What the file system of the layers cannot keep it could not keep in the box either: it is the same one. */
        if (size >= 0 && fsetxattr(to, name, value, (size_t)size, 0) < 0)
            continue;
    }
}

static enum sandlot_status finish(const struct tree *tree, int fd, const struct stat *original, const char *name)
{
    const struct timespec times[2] = {original->st_atim, original->st_mtim};
    const struct tree_copy *copy = tree->copy;

    if (copy->uid != geteuid() && fchown(fd, copy->uid, copy->gid) < 0)
        return fail_entry(tree, name);
    if (fchmod(fd, original->st_mode & 01777) < 0 || futimens(fd, times) < 0)
        return fail_entry(tree, name);
    return SANDLOT_OK;
}

/* ---- entries ---- */

static int compare_linked(const void *left, const void *right)
{
    const struct linked *one = left;
    const struct linked *other = right;

    if (one->device != other->device)
        return one->device < other->device ? -1 : 1;
    return one->inode < other->inode ? -1 : one->inode > other->inode;
}

/* The path that FILE was copied to before; NULL: it was not, and is noted. */
static const char *first_name(struct tree *tree, const struct stat *file)
{
    struct linked *linked = malloc(sizeof(*linked) + tree->length + 1);

    if (!linked)
        return NULL; /* it becomes a file of its own */
    linked->device = file->st_dev;
    linked->inode = file->st_ino;
    memcpy(linked->path, tree->path, tree->length + 1);
    struct linked **found = tsearch(linked, &tree->seen, compare_linked);

    if (found && *found == linked)
        return NULL;
    free(linked);
    return found ? (*found)->path : NULL;
}

static enum sandlot_status copy_file(struct tree *tree, int from, int to, const char *name)
{
    AUTO_CLOSE int source = open_source(tree, from, name, 0);
    struct stat file;

    if (source < 0 || fstat(source, &file) < 0)
        return fail_source(tree, name);
    if (!S_ISREG(file.st_mode)) {
        errno = ENOENT; /* what was there is not any more */
        return fail_source(tree, name);
    }
    const char *other = file.st_nlink > 1 ? first_name(tree, &file) : NULL;

    if (other && linkat(tree->root, other, to, name, 0) == 0)
        return SANDLOT_OK;
    AUTO_CLOSE int target = openat(to, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (target < 0)
        return fail_entry(tree, name);
    tree->copy->files++;
    enum sandlot_status status = file_copy(&tree->copying, source, target, &file, name);

    copy_attributes(tree, source, target);
    return status == SANDLOT_OK ? finish(tree, target, &file, name) : status;
}

static enum sandlot_status copy_link(const struct tree *tree, int from, int to, const char *name)
{
    const struct tree_copy *copy = tree->copy;
    char path[PATH_MAX];
    const ssize_t length = readlinkat(from, name, path, sizeof(path) - 1);

    if (length < 0)
        return fail_entry(tree, name);
    path[length] = '\0';
    if (symlinkat(path, to, name) < 0 ||
        (copy->uid != geteuid() && fchownat(to, name, copy->uid, copy->gid, AT_SYMLINK_NOFOLLOW) < 0))
        return fail_entry(tree, name);
    return SANDLOT_OK;
}

/* A pipe, or the mark for what was removed: neither has a content. */
static enum sandlot_status copy_node(const struct tree *tree, int to, const char *name, mode_t mode)
{
    const struct tree_copy *copy = tree->copy;

    if (mknodat(to, name, mode, makedev(0, 0)) < 0 ||
        (copy->uid != geteuid() && fchownat(to, name, copy->uid, copy->gid, AT_SYMLINK_NOFOLLOW) < 0))
        return fail_entry(tree, name);
    return SANDLOT_OK;
}

static enum sandlot_status copy_entries(struct tree *tree, int from, int to, int depth);

/* The folder NAME of TO, which is there then, and ours to write into. Where it was removed before, all below it stays
 * so: the overlay that it comes from had another layer for that. -1 with errno. */
static int open_target(const struct tree *tree, int source, int to, const char *name)
{
    struct stat there = {0};
    const bool covers = tree->marked && fgetxattr(source, OPAQUE, NULL, 0) > 0;

    if (fstatat(to, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && (covers || !S_ISDIR(there.st_mode)) &&
        remove_entry(to, name, 0) < 0)
        return -1;
    if (mkdirat(to, name, 0700) < 0 && errno != EEXIST)
        return -1;
    AUTO_CLOSE int target = open_whatever(to, name, O_DIRECTORY);

    if (target < 0 || fchmod(target, 0700) < 0 || (S_ISCHR(there.st_mode) && fsetxattr(target, OPAQUE, "y", 1, 0) < 0))
        return -1;
    return take_fd(&target);
}

/* A folder of a box that its owner may not read, or not enter, is opened to him; attributes need that too. */
static bool is_locked(const struct tree *tree, const struct stat *folder)
{
    return !tree->copy->of_host && geteuid() != 0 && (folder->st_mode & S_IRWXU) != S_IRWXU;
}

static int unlock(const struct tree *tree, int fd, const struct stat *folder)
{
    return is_locked(tree, folder) ? fchmod(fd, (folder->st_mode | S_IRWXU) & 07777) : 0;
}

static void lock(const struct tree *tree, int fd, const struct stat *folder)
{
    if (is_locked(tree, folder))
        fchmod(fd, folder->st_mode & 07777);
}

/* What the folder NAME of the copy will lie on, as in struct tree_copy; to be closed if it is a folder. */
static int below_folder(const struct tree *tree, const char *name)
{
    if (tree->below < 0)
        return tree->below;
    const int fd = openat(tree->below, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0)
        return fd;
    return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? TREE_ON_NOTHING : TREE_ON_OTHERS;
}

/* Of the unlocked folder SOURCE, of which FOLDER tells. If it hides what is below, nothing in it has anything below. */
static enum sandlot_status copy_unlocked(struct tree *tree, int source, int to, const struct stat *folder,
                                         const char *name, int depth)
{
    const int around = tree->below;
    AUTO_CLOSE int below = below_folder(tree, name);
    AUTO_CLOSE int target = open_target(tree, source, to, name);

    if (target < 0)
        return fail_entry(tree, name);
    tree->below = below;
    copy_attributes(tree, source, target);
    if (fgetxattr(target, OPAQUE, NULL, 0) > 0)
        tree->below = TREE_ON_NOTHING;
    enum sandlot_status status = copy_entries(tree, source, target, depth);

    tree->below = around;
    return status == SANDLOT_OK ? finish(tree, target, folder, name) : status;
}

static enum sandlot_status copy_folder(struct tree *tree, int from, int to, const char *name, int depth)
{
    AUTO_CLOSE int source = open_source(tree, from, name, O_DIRECTORY);
    struct stat folder;

    if (source < 0 || fstat(source, &folder) < 0)
        return fail_source(tree, name);
    if (depth == DEEPEST)
        return sandlot_fail(tree->copy->call, SANDLOT_UNSUPPORTED,
                            "folders more than %d levels deep cannot be copied for %.600s; remove them: %.300s",
                            DEEPEST, tree->copy->what, tree->path);
    if (unlock(tree, source, &folder) < 0)
        return fail_entry(tree, name);
    enum sandlot_status status = copy_unlocked(tree, source, to, &folder, name, depth + 1);

    lock(tree, source, &folder);
    return status;
}

/* Root can read everything; its box gets of a folder of the host what it would be shown. */
static bool is_shown(const struct tree *tree, const struct stat *entry)
{
    const struct tree_copy *copy = tree->copy;

    return !copy->of_host || S_ISLNK(entry->st_mode) || entry->st_uid == tree->owner || copy->uid == geteuid() ||
           entry->st_mode & S_IROTH;
}

static enum sandlot_status copy_kind(struct tree *tree, int from, int to, const char *name, const struct stat *entry,
                                     int depth)
{
    const bool removed = tree->marked && S_ISCHR(entry->st_mode) && entry->st_rdev == 0;

    if (S_ISDIR(entry->st_mode))
        return copy_folder(tree, from, to, name, depth);
    if (remove_entry(to, name, 0) < 0)
        return fail_entry(tree, name);
    if (S_ISREG(entry->st_mode))
        return copy_file(tree, from, to, name);
    if (S_ISLNK(entry->st_mode))
        return copy_link(tree, from, to, name);
    if (S_ISFIFO(entry->st_mode) && !tree->copy->of_host)
        return copy_node(tree, to, name, entry->st_mode);
    /* What cannot be kept, a socket, hides what had its name before all the same. */
    if (tree->marked && tree->below != TREE_ON_NOTHING)
        return copy_node(tree, to, name, S_IFCHR);
    tree->copy->left_out += !removed;
    return SANDLOT_OK;
}

/* A place for a link of the host is that link; another one of that name is the box's own. */
static bool is_link_of_host(int from, const char *name)
{
    char path[NAME_MAX + 2];
    char here[PATH_MAX];
    char there[PATH_MAX];

    snprintf(path, sizeof(path), "/%s", name);
    const ssize_t length = readlinkat(from, name, here, sizeof(here));

    return length > 0 && readlink(path, there, sizeof(there)) == length && memcmp(here, there, (size_t)length) == 0;
}

/* A place for a mount, in which there never was anything. */
static bool is_empty_place(const struct tree *tree, int from, const char *name, const struct stat *entry, int depth)
{
    if (depth > 0 || !tree->copy->is_place || !tree->copy->is_place(name))
        return false;
    if (S_ISDIR(entry->st_mode))
        return walk_is_empty(from, name);
    return S_ISLNK(entry->st_mode) ? is_link_of_host(from, name) : S_ISREG(entry->st_mode) && entry->st_size == 0;
}

static enum sandlot_status copy_entry(struct tree *tree, int from, int to, const char *name, int depth)
{
    const size_t before = tree->length;
    const int added = snprintf(tree->path + before, sizeof(tree->path) - before, "%s%s", before ? "/" : "", name);
    struct stat entry;
    enum sandlot_status status = account(tree, BLOCK);

    if (before + (size_t)added >= sizeof(tree->path)) {
        errno = ENAMETOOLONG;
        return fail_entry(tree, name);
    }
    tree->length = before + (size_t)added;
    if (status == SANDLOT_OK && fstatat(from, name, &entry, AT_SYMLINK_NOFOLLOW) < 0)
        status = errno == ENOENT ? SANDLOT_OK : fail_entry(tree, name);
    else if (status == SANDLOT_OK && !is_shown(tree, &entry))
        tree->copy->left_out++;
    else if (status == SANDLOT_OK && !is_empty_place(tree, from, name, &entry, depth))
        status = copy_kind(tree, from, to, name, &entry, depth);
    tree->length = before;
    tree->path[before] = '\0';
    return status;
}

static enum sandlot_status copy_entries(struct tree *tree, int from, int to, int depth)
{
    const int listed = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = listed >= 0 ? fdopendir(listed) : NULL;
    enum sandlot_status status = SANDLOT_OK;

    if (!folder) {
        status = fail_source(tree, ".");
        if (listed >= 0)
            close(listed);
        return status;
    }
    for (struct dirent *entry; status == SANDLOT_OK && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = copy_entry(tree, from, to, entry->d_name, depth);
    closedir(folder);
    return status;
}

enum sandlot_status tree_copy(struct tree_copy *copy, int parent, const char *name, int to, bool marked)
{
    AUTO_FREE struct tree *tree = calloc(1, sizeof(*tree));
    struct stat folder;

    if (!tree)
        return sandlot_fail(copy->call, SANDLOT_INTERNAL, "out of memory");
    *tree = (struct tree){
        .copy = copy, .copying = {tree, account, fail_entry}, .marked = marked, .below = copy->below, .root = to};
    AUTO_CLOSE int source = open_source(tree, parent, name, O_DIRECTORY);

    if (source < 0 || fstat(source, &folder) < 0 || (!copy->of_host && fchmod(to, 0700) < 0) ||
        unlock(tree, source, &folder) < 0)
        return fail_entry(tree, name);
    tree->owner = folder.st_uid;
    copy_attributes(tree, source, to);
    enum sandlot_status status = copy_entries(tree, source, to, 0);

    lock(tree, source, &folder);
    tdestroy(tree->seen, free);
    return status == SANDLOT_OK && !copy->of_host ? finish(tree, to, &folder, name) : status;
}
