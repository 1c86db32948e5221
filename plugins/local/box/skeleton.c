#include "skeleton.h"

#include "../network_link.h"
#include "box.h"
#include "places.h"
#include "view_system.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const uint64_t EMPTY_DIGEST = 0xcbf29ce484222325;

enum kind { FOLDER = 'd', FILE_OF_TEXT = 'f', LINK = 'l' };

/* What is done with each entry: added to a digest, or made. */
struct layout {
    const struct box_mount *mounts;
    size_t mount_count;
    int folder_fd; /* -1: only the digest is wanted */
    uint64_t digest;
};

/* FNV-1a, which is enough where nobody gains by a collision: all that goes in is the host's own. */
static void digest_text(uint64_t *digest, const char *text)
{
    do
        *digest = (*digest ^ (unsigned char)*text) * 0x100000001b3;
    while (*text++);
}

static int make_file(int folder_fd, const char *path, const char *text)
{
    AUTO_CLOSE int fd = openat(folder_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static int make_parents(int folder_fd, const char *path)
{
    char parent[PATH_MAX];

    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
        if (mkdirat(folder_fd, parent, 0755) < 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

/* One entry at PATH, without a leading slash. TEXT: what is in a file, where a link leads. */
static int add(struct layout *layout, enum kind kind, const char *path, const char *text)
{
    const char name_of_kind[] = {(char)kind, '\0'};

    digest_text(&layout->digest, name_of_kind);
    digest_text(&layout->digest, path);
    digest_text(&layout->digest, text);
    if (layout->folder_fd < 0)
        return 0;
    if (make_parents(layout->folder_fd, path) < 0)
        return -1;
    if (kind == FILE_OF_TEXT)
        return make_file(layout->folder_fd, path, text);
    if (kind == LINK)
        return symlinkat(text, layout->folder_fd, path);
    return mkdirat(layout->folder_fd, path, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

/* The place for the host's PATH, or the same link. What the host does not have is left out. */
static int add_host(struct layout *layout, const char *path)
{
    char target[PATH_MAX];
    struct stat status;

    if (lstat(path, &status) < 0)
        return 0;
    if (!S_ISLNK(status.st_mode))
        return add(layout, S_ISDIR(status.st_mode) ? FOLDER : FILE_OF_TEXT, path + 1, "");
    const ssize_t length = readlink(path, target, sizeof(target) - 1);

    if (length <= 0)
        return -1;
    target[length] = '\0';
    return add(layout, LINK, path + 1, target);
}

/* The host's programs and libraries, and the files of /etc that they need. */
static int add_system(struct layout *layout)
{
    char path[64];

    for (const char *const *name = places_system; *name; name++) {
        snprintf(path, sizeof(path), "/%s", *name);
        if (add_host(layout, path) < 0)
            return -1;
    }
    for (const char *const *name = view_etc; *name; name++) {
        snprintf(path, sizeof(path), "/etc/%s", *name);
        if (add_host(layout, path) < 0)
            return -1;
    }
    for (const char *const *package_path = view_packages; *package_path; package_path++)
        if (add_host(layout, *package_path) < 0)
            return -1;
    for (const char *const *name = view_devices; *name; name++) {
        snprintf(path, sizeof(path), "dev/%s", *name);
        if (add(layout, FILE_OF_TEXT, path, "") < 0)
            return -1;
    }
    return 0;
}

/* The names of the box, none of the host's. */
static int add_names(struct layout *layout, bool root)
{
    const char *const files[][2] = {
        {"etc/passwd", root
                           ? "root:x:0:0:root:" BOX_HOME ":/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
                           : "root:x:0:0:root:/:/usr/sbin/nologin\nsandlot:x:1000:1000:sandlot:" BOX_HOME ":/bin/bash\n"
                             "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"},
        {"etc/group",
         root ? "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n" : "root:x:0:\ntty:x:5:\nsandlot:x:1000:\nnogroup:x:65534:\n"},
        {"etc/hosts", "127.0.0.1 localhost sandlot\n::1 localhost sandlot\n"},
        /* Where an open network has the machine's resolver; without one nothing leads there. */
        {"etc/resolv.conf", "nameserver " LINK_RESOLVER "\n"},
        {"etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"},
        {"etc/hostname", "sandlot\n"}};

    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        if (add(layout, FILE_OF_TEXT, files[i][0], files[i][1]) < 0)
            return -1;
    return 0;
}

static int add_places(struct layout *layout)
{
    static const char *const folders[] = {"dev/pts", "dev/shm",      "proc",       "run",
                                          "tmp",     SKELETON_EMPTY, &BOX_HOME[1], &BOX_WORKSPACE[1]};
    static const char *const links[][2] = {{"etc/mtab", "/proc/self/mounts"},
                                           {"dev/fd", "/proc/self/fd"},
                                           {"dev/stdin", "/proc/self/fd/0"},
                                           {"dev/stdout", "/proc/self/fd/1"},
                                           {"dev/stderr", "/proc/self/fd/2"},
                                           {"dev/ptmx", "pts/ptmx"},
                                           {"var/tmp", "/tmp"},
                                           {"var/run", "/run"}};

    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if (add(layout, FOLDER, folders[i], "") < 0)
            return -1;
    for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
        if (add(layout, LINK, links[i][0], links[i][1]) < 0)
            return -1;
    return 0;
}

/* Makes the folder PATH with all above it, as far as that is the skeleton's: what lies behind a link has its place
 * elsewhere in the box. */
static int make_place(int folder_fd, const char *path)
{
    char name[NAME_MAX + 1];
    AUTO_CLOSE int folder = openat(folder_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (const char *rest = path; *rest; rest += strspn(rest, "/")) {
        const size_t length = strcspn(rest, "/");

        if (snprintf(name, sizeof(name), "%.*s", (int)length, rest) >= (int)sizeof(name))
            return -1;
        if (mkdirat(folder, name, 0755) < 0 && errno != EEXIST)
            return -1;
        const int next = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (next < 0)
            return errno == ENOTDIR || errno == ELOOP ? 0 : -1;
        close(folder);
        folder = next;
        rest += length;
    }
    return 0;
}

/* The places of what the machine shows besides. */
static int add_mounts(struct layout *layout)
{
    for (size_t i = 0; i < layout->mount_count; i++) {
        digest_text(&layout->digest, layout->mounts[i].path);
        if (layout->folder_fd >= 0 && make_place(layout->folder_fd, layout->mounts[i].path + 1) < 0)
            return -1;
    }
    return 0;
}

static int add_all(struct layout *layout, bool fake_root)
{
    return add_system(layout) < 0 || add_names(layout, fake_root) < 0 || add_places(layout) < 0 ||
                   add_mounts(layout) < 0
               ? -1
               : 0;
}

/* Makes the skeleton WANTED beside its place NAME, and renames it when it is whole. What is left of one that failed
 * goes with the next keeper. */
static int make(int views_fd, const char *name, const struct layout *wanted, bool fake_root)
{
    static unsigned attempts;
    char unfinished[64];
    /* Boxes of root are other users and read what everybody may. What other threads of the keeper make meanwhile lies
     * in a folder of mode 0700. */
    const mode_t mask = umask(022);
    struct layout layout = {wanted->mounts, wanted->mount_count, -1, EMPTY_DIGEST};

    snprintf(unfinished, sizeof(unfinished), ".%s.%u", name, attempts++);
    if (mkdirat(views_fd, unfinished, 0755) == 0)
        layout.folder_fd = openat(views_fd, unfinished, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_CLOSE int folder = layout.folder_fd;
    const int added = folder >= 0 ? add_all(&layout, fake_root) : -1;

    umask(mask);
    if (added == 0 && layout.digest != wanted->digest)
        errno = EAGAIN; /* the host has been changed meanwhile */
    return added == 0 && layout.digest == wanted->digest ? renameat(views_fd, unfinished, views_fd, name) : -1;
}

int skeleton_open(int views_fd, bool fake_root, const struct box_mount *mounts, size_t count, char *reason, size_t size)
{
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct layout layout = {mounts, count, -1, EMPTY_DIGEST};
    char name[32];
    int fd = -1;

    if (add_all(&layout, fake_root) == 0) {
        snprintf(name, sizeof(name), "%016" PRIx64, layout.digest);
        fd = openat(views_fd, name, flags);
        if (fd < 0 && errno == ENOENT && make(views_fd, name, &layout, fake_root) == 0)
            fd = openat(views_fd, name, flags);
    }
    if (fd < 0)
        snprintf(reason, size,
                 "the root folder of boxes could not be made: %s; make sure that Sandlot's state folder has space and "
                 "may be written to",
                 strerror(errno));
    return fd;
}
