#include "results/node.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "operations/local_file.h"
#include "results/digest.h"
#include "session/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 8000, BUFFER = 64 * 1024, FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC };

bool node_path_valid(const char *path)
{
    if (!*path || strlen(path) >= PATH_MAX)
        return false;
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        size_t length = strcspn(part, "/");

        if (length == 0 || length > NAME_MAX || (length == 1 && part[0] == '.') ||
            (length == 2 && part[0] == '.' && part[1] == '.'))
            return false;
    }
    return true;
}

bool node_path_within(const char *path, const char *folder)
{
    size_t length = strlen(folder);

    return strcmp(folder, ".") == 0 ||
           (strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/'));
}

void node_clear(struct node *node)
{
    free(node->path);
    free(node->target);
    *node = (struct node){0};
}

void nodes_clear(struct nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        node_clear(&nodes->items[i]);
    free(nodes->items);
    *nodes = (struct nodes){0};
}

static bool grow(struct nodes *nodes)
{
    size_t capacity = nodes->capacity ? 2 * nodes->capacity : 64;
    struct node *items =
        nodes->count < nodes->capacity ? nodes->items : realloc(nodes->items, capacity * sizeof(*nodes->items));

    if (!items)
        return false;
    nodes->capacity = nodes->count < nodes->capacity ? nodes->capacity : capacity;
    nodes->items = items;
    return true;
}

int nodes_add(struct nodes *nodes, const struct node *node, struct sandlot_error *error)
{
    nodes->bytes += strlen(node->path) + (node->target ? strlen(node->target) : 0);
    if (nodes->count >= NODES_MAXIMUM || nodes->bytes > NODES_BYTES_MAXIMUM)
        return error_set(error, SANDLOT_CODE_TOO_LARGE,
                         "there are too many files to be compared (more than %d, or too long names), the last one was "
                         "'%.200s'; name the paths that matter",
                         NODES_MAXIMUM, node->path);
    if (!grow(nodes))
        return error_no_memory(error);
    struct node copy = *node;

    copy.path = strdup(node->path);
    copy.target = node->target ? strdup(node->target) : NULL;
    if (!copy.path || (node->target && !copy.target)) {
        node_clear(&copy);
        return error_no_memory(error);
    }
    nodes->items[nodes->count++] = copy;
    return 0;
}

static int by_path(const void *left, const void *right)
{
    return strcmp(((const struct node *)left)->path, ((const struct node *)right)->path);
}

void nodes_sort(struct nodes *nodes)
{
    size_t kept = 0;

    if (nodes->count)
        qsort(nodes->items, nodes->count, sizeof(*nodes->items), by_path);
    for (size_t i = 0; i < nodes->count; i++) {
        if (kept && strcmp(nodes->items[kept - 1].path, nodes->items[i].path) == 0) {
            nodes->items[kept - 1].closed |= nodes->items[i].closed;
            node_clear(&nodes->items[i]);
        } else {
            nodes->items[kept++] = nodes->items[i];
        }
    }
    nodes->count = kept;
}

struct node *nodes_find(const struct nodes *nodes, const char *path)
{
    const struct node wanted = {.path = (char *)(uintptr_t)path};

    return nodes->count ? bsearch(&wanted, nodes->items, nodes->count, sizeof(wanted), by_path) : NULL;
}

bool nodes_hide(const struct nodes *nodes, const char *path)
{
    AUTO_FREE char *above = strdup(path);

    for (char *end = above ? strrchr(above, '/') : NULL; end; end = strrchr(above, '/')) {
        *end = '\0';
        const struct node *folder = nodes_find(nodes, above);

        if (folder && folder->closed)
            return true;
    }
    return !above; /* nobody's file is removed because there was no memory to look */
}

enum node_type node_type_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return NODE_FILE;
    case S_IFDIR:
        return NODE_FOLDER;
    case S_IFLNK:
        return NODE_LINK;
    case S_IFIFO:
        return NODE_FIFO;
    case S_IFSOCK:
        return NODE_SOCKET;
    default:
        return NODE_DEVICE;
    }
}

static char *read_target(int folder_fd, const char *name)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(folder_fd, name, target, sizeof(target) - 1);

    if (length < 0)
        return NULL;
    target[length] = '\0';
    return strdup(target);
}

int node_look(int folder_fd, const char *name, struct node *node)
{
    struct stat status;

    *node = (struct node){0};
    if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    node->type = node_type_of(status.st_mode);
    node->executable = node->type == NODE_FILE && status.st_mode & S_IXUSR;
    node->bytes = node->type == NODE_FILE || node->type == NODE_LINK ? (uint64_t)status.st_size : 0;
    node->changed_ms = (int64_t)status.st_ctim.tv_sec * 1000 + status.st_ctim.tv_nsec / 1000000;
    node->modified_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    if (node->type != NODE_LINK)
        return 0;
    node->target = read_target(folder_fd, name);
    return node->target ? 0 : -1;
}

bool node_searchable(int folder_fd)
{
    struct stat status;

    return fstatat(folder_fd, ".", &status, 0) == 0 || errno != EACCES;
}

bool node_same(const struct node *left, const struct node *right)
{
    if (left->type != right->type)
        return false;
    if (left->type == NODE_LINK)
        return strcmp(left->target, right->target) == 0;
    if (left->type != NODE_FILE)
        return true;
    return left->executable == right->executable && left->bytes == right->bytes && left->digested && right->digested &&
           memcmp(left->digest, right->digest, NODE_DIGEST) == 0;
}

static int nibble(char letter)
{
    return letter >= '0' && letter <= '9' ? letter - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

bool node_digest_read(const char *text, unsigned char digest[NODE_DIGEST])
{
    for (size_t i = 0; i < NODE_DIGEST; i++) {
        int high = nibble(text[2 * i]);
        int low = high < 0 ? -1 : nibble(text[2 * i + 1]);

        if (low < 0)
            return false;
        digest[i] = (unsigned char)(high << 4 | low);
    }
    return text[2 * NODE_DIGEST] == '\0';
}

void node_digest_write(const unsigned char digest[NODE_DIGEST], char text[NODE_DIGEST_TEXT])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < NODE_DIGEST; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[2 * NODE_DIGEST] = '\0';
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

static int walk_failed(const struct node_walk *walk, const char *path, int reason, struct sandlot_error *error)
{
    bool forbidden = reason == EACCES || reason == EPERM;

    return error_set(error, forbidden ? SANDLOT_CODE_PERMISSION_DENIED : SANDLOT_CODE_INTERNAL_ERROR,
                     "'%.300s' cannot be looked at %s (%s); %s", path, walk->where, strerror(reason),
                     forbidden ? "change its mode" : "try again");
}

static int walk_folder(const struct node_walk *walk, int fd, const char *path, unsigned depth,
                       struct sandlot_error *error);

static int walk_one(const struct node_walk *walk, int folder_fd, const char *name, const char *path, unsigned depth,
                    struct sandlot_error *error)
{
    struct node node CLEANUP(node_clear) = {0};

    if (walk->leaves_out && walk->leaves_out(walk->context, path))
        return 0;
    if (strlen(path) >= PATH_MAX || depth >= NODE_DEPTH)
        return error_set(error, SANDLOT_CODE_INVALID_PATH,
                         "the folders at '%.200s...' lie too deep below each other %s; move them up, or name the paths "
                         "that matter",
                         path, walk->where);
    if (node_look(folder_fd, name, &node) < 0)
        return walk_failed(walk, path, errno, error);
    if (node.type == NODE_NONE)
        return 0; /* gone meanwhile */
    AUTO_CLOSE int fd = node.type == NODE_FOLDER ? openat(folder_fd, name, FOLDER_FLAGS | O_NOFOLLOW) : -1;
    const int reason = node.type != NODE_FOLDER ? 0 : fd < 0 ? errno : node_searchable(fd) ? 0 : EACCES;

    node.closed = walk->marks_closed && reason == EACCES;
    node.path = strdup(path);
    if (!node.path)
        return error_no_memory(error);
    if (nodes_add(walk->nodes, &node, error) < 0)
        return -1;
    if (node.type != NODE_FOLDER || node.closed || reason == ENOENT || reason == ENOTDIR || reason == ELOOP)
        return 0;
    return reason ? walk_failed(walk, path, reason, error) : walk_folder(walk, take_fd(&fd), path, depth + 1, error);
}

/* Takes FD. PATH NULL: that of the start, which has none. */
static int walk_folder(const struct node_walk *walk, int fd, const char *path, unsigned depth,
                       struct sandlot_error *error)
{
    AUTO_DIRECTORY DIR *folder = fdopendir(fd);
    int failed = 0;
    const struct dirent *entry;

    if (!folder) {
        close(fd);
        return error_no_memory(error);
    }
    while (!failed && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        AUTO_FREE char *below = text_format("%s%s%s", path ? path : "", path ? "/" : "", entry->d_name);

        failed = below ? walk_one(walk, dirfd(folder), entry->d_name, below, depth, error) : error_no_memory(error);
        if (!failed)
            failed = cancellation_check(walk->cancel_fd, error);
    }
    return failed;
}

int node_walk(const struct node_walk *walk, int folder_fd, const char *name, const char *path,
              struct sandlot_error *error)
{
    if (path)
        return walk_one(walk, folder_fd, name, path, 0, error);
    AUTO_CLOSE int fd = openat(folder_fd, name, FOLDER_FLAGS);

    return fd < 0 ? walk_failed(walk, ".", errno, error) : walk_folder(walk, take_fd(&fd), NULL, 0, error);
}

/* Is there a NUL among the first LOOKED_AT bytes of a file? BUFFER has those after the first BEFORE. */
static bool looks_binary(const char *buffer, size_t length, uint64_t before)
{
    uint64_t left = before < LOOKED_AT ? LOOKED_AT - before : 0;

    return left > 0 && memchr(buffer, 0, length < left ? length : (size_t)left);
}

int node_digest_copy(int fd, int copy_fd, int cancel_fd, unsigned char digest[NODE_DIGEST], uint64_t *bytes,
                     bool *binary)
{
    AUTO_FREE char *buffer = malloc(BUFFER);
    struct digest state;
    ssize_t got = -1;

    if (!buffer)
        return -1;
    *bytes = 0;
    if (binary)
        *binary = false;
    digest_begin(&state);
    while ((got = read(fd, buffer, BUFFER)) > 0 || (got < 0 && errno == EINTR)) {
        if (got < 0)
            continue;
        if (copy_fd >= 0 && local_write(copy_fd, buffer, (size_t)got) < 0)
            return -1;
        if (binary && looks_binary(buffer, (size_t)got, *bytes))
            *binary = true;
        digest_add(&state, buffer, (size_t)got);
        *bytes += (uint64_t)got;
        if (cancellation_check(cancel_fd, NULL) < 0) {
            errno = ECANCELED;
            return -1;
        }
    }
    digest_end(&state, digest);
    return got < 0 ? -1 : 0;
}

int node_digest(int fd, int cancel_fd, unsigned char digest[NODE_DIGEST], uint64_t *bytes, bool *binary)
{
    return node_digest_copy(fd, -1, cancel_fd, digest, bytes, binary);
}
