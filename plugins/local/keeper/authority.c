#include "authority.h"

#include "../authorities.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { PART_SIZE = 64 * 1024 };

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        const ssize_t written = write(fd, bytes, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Not copy_file_range(2): on many file systems that knows only whole blocks. */
static int append(int to, int from)
{
    AUTO_FREE char *part = malloc(PART_SIZE);
    ssize_t got = part ? 1 : -1;

    while (got > 0 && (got = read(from, part, PART_SIZE)) > 0)
        if (write_all(to, part, (size_t)got) < 0)
            return -1;
    return got < 0 ? -1 : 0;
}

/* The file NAME of FOLDER, which begins with FIRST and goes on with what is read FROM. The box is another user. */
static int write_file(int folder, const char *name, const char *first, int from)
{
    AUTO_CLOSE int to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    return to >= 0 && write_all(to, first, strlen(first)) == 0 && append(to, from) == 0 ? fchmod(to, 0444) : -1;
}

int authority_folder(int box_fd, const char *certificate, int truststore_fd)
{
    AUTO_CLOSE int from = authorities_open();

    if (from < 0 || (mkdirat(box_fd, "authority", 0700) < 0 && errno != EEXIST))
        return -1;
    AUTO_CLOSE int folder = openat(box_fd, "authority", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    /* Ours first: programs that look for an authority by its name find it soon. */
    if (write_file(folder, "ca-certificates.crt", certificate, from) < 0 ||
        (truststore_fd >= 0 && write_file(folder, "cacerts", "", truststore_fd) < 0) ||
        fchmodat(box_fd, "authority", 0755, 0) < 0)
        return -1;
    return take_fd(&folder);
}
