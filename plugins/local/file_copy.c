#include "file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BUFFER = 64 * 1024, CHUNK = 4 << 20 };

/* Copies some of LENGTH bytes at OFFSET. Returns how many, 0 at the end of the file, -1 with errno. */
static ssize_t copy_some(int from, int to, off_t offset, size_t length)
{
    char buffer[BUFFER];
    off_t from_offset = offset;
    off_t to_offset = offset;
    ssize_t copied = copy_file_range(from, &from_offset, to, &to_offset, length, 0);

    if (copied >= 0 || (errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS))
        return copied;
    ssize_t got = pread(from, buffer, length < sizeof(buffer) ? length : sizeof(buffer), offset);

    return got > 0 ? pwrite(to, buffer, (size_t)got, offset) : got;
}

/* Copies the bytes from START to END, between which the file has no hole. */
static enum sandlot_status copy_range(const struct copying *copying, int from, int to, off_t start, off_t end,
                                      const char *name)
{
    enum sandlot_status status = SANDLOT_OK;

    while (start < end && status == SANDLOT_OK) {
        ssize_t copied = copy_some(from, to, start, end - start < CHUNK ? (size_t)(end - start) : CHUNK);

        if (copied < 0)
            return copying->fail(copying->context, name);
        if (copied == 0)
            break; /* somebody has made it shorter */
        start += copied;
        status = copying->account(copying->context, (uint64_t)copied);
    }
    return status;
}

enum sandlot_status file_copy(const struct copying *copying, int from, int to, const struct stat *file,
                              const char *name)
{
    enum sandlot_status status = SANDLOT_OK;

    if (file->st_size == 0)
        return SANDLOT_OK;
    /* Where the file system can share the blocks nothing is written. */
    if (ioctl(to, FICLONE, from) == 0)
        return copying->account(copying->context, (uint64_t)file->st_blocks * 512);
    for (off_t at = 0; at < file->st_size && status == SANDLOT_OK;) {
        off_t start = lseek(from, at, SEEK_DATA);

        if (start < 0 && errno == ENXIO)
            break;
        if (start < 0)
            start = at;
        off_t end = lseek(from, start, SEEK_HOLE);

        if (end < 0 || end > file->st_size)
            end = file->st_size;
        status = copy_range(copying, from, to, start, end, name);
        at = end;
    }
    if (status == SANDLOT_OK && ftruncate(to, file->st_size) < 0)
        return copying->fail(copying->context, name);
    return status;
}
