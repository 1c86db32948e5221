#include "volumes.h"

#include <sandlot/sdk/cleanup.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { RECORD_SIZE = 256 };

/* Opens the folder of the volume NAME, which must be the keeper's alone. -1 with errno. */
static int open_volume(const struct state *state, const char *name)
{
    AUTO_CLOSE int fd = openat(state->volumes_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return -1;
    errno = EPERM;
    return status.st_uid == geteuid() && !(status.st_mode & 0077) ? take_fd(&fd) : -1;
}

/* Makes the files of a volume, or makes them usable again: a box may have changed their mode, and a keeper may have
 * been killed before it gave them away. */
static int prepare_files(int volume_fd)
{
    const uid_t owner = geteuid() == 0 ? VOLUME_USER : geteuid();
    struct stat status;

    if (mkdirat(volume_fd, VOLUME_FILES, 0700) < 0 && errno != EEXIST)
        return -1;
    AUTO_CLOSE int files = openat(volume_fd, VOLUME_FILES, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (files < 0 || fstat(files, &status) < 0)
        return -1;
    if (status.st_uid != owner &&
        fchownat(volume_fd, VOLUME_FILES, owner, geteuid() == 0 ? VOLUME_USER : getegid(), AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if ((status.st_mode & 0700) != 0700 && fchmodat(volume_fd, VOLUME_FILES, 0700, 0) < 0)
        return -1;
    return take_fd(&files);
}

/* As an O_PATH descriptor is no way to write. */
static int write_limit(int volume_fd, uint64_t limit_mb)
{
    char *text = NULL;
    const int written =
        fields_add_number(&text, "limit_mb", (int64_t)limit_mb) ? state_write(volume_fd, "record", text) : -1;

    free(text);
    return written;
}

int volumes_open(const struct state *state, const struct wanted_volume *wanted, char *reason, size_t size)
{
    const int made = mkdirat(state->volumes_fd, wanted->name, 0700);
    AUTO_CLOSE int volume = made == 0 || errno == EEXIST ? open_volume(state, wanted->name) : -1;
    AUTO_CLOSE int files = volume >= 0 ? prepare_files(volume) : -1;

    if (files >= 0 && write_limit(volume, wanted->limit_mb) == 0)
        return take_fd(&files);
    snprintf(reason, size,
             "the volume %s cannot be opened: %s; make sure that Sandlot's state folder has space, and that its "
             "folder volumes/%s belongs to you alone, with mode 0700",
             wanted->name, strerror(errno), wanted->name);
    return -1;
}

void volumes_used(const struct state *state, const char *name)
{
    AUTO_CLOSE int volume = open_volume(state, name);

    if (volume >= 0)
        utimensat(volume, "record", NULL, AT_SYMLINK_NOFOLLOW);
}

static struct volume_facts read_facts(const struct state *state, const char *name)
{
    struct volume_facts facts = {.name = name};
    char text[RECORD_SIZE] = "";
    struct stat status;
    AUTO_CLOSE int volume = open_volume(state, name);
    AUTO_CLOSE int fd = volume >= 0 ? openat(volume, "record", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;

    if (fd < 0 || fstat(fd, &status) < 0 || read(fd, text, sizeof(text) - 1) < 0)
        return facts;
    facts.limit_mb = fields_get_number(text, "limit_mb");
    facts.used_ms = (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
    return facts;
}

void volumes_each(const struct state *state, void (*each)(void *context, const struct volume_facts *facts),
                  void *context)
{
    AUTO_CLOSE int copy = openat(state->volumes_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;

    if (folder)
        take_fd(&copy);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!settings_volume_valid(entry->d_name))
            continue;
        const struct volume_facts facts = read_facts(state, entry->d_name);

        each(context, &facts);
    }
    if (folder)
        closedir(folder);
}
