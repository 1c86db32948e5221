#include "base/cleanup.h"
#include "base/error.h"
#include "operations/file_error.h"
#include "operations/native/native.h"
#include "operations/native/open.h"
#include "operations/native/replace.h"

#include <errno.h>

enum { PIECE = 4 * 1024 * 1024 };

int native_put(const struct file_call *call, int root_fd, const void *content, size_t length,
               const struct statx *expected)
{
    AUTO_REPLACEMENT struct replacement replacement = NO_REPLACEMENT;
    const char *at = content;

    if (replacement_begin(root_fd, call->path, 0, &replacement) < 0)
        return -1;
    for (size_t left = length; left > 0;) {
        int stop = native_stop(call);
        ssize_t written = stop ? -1 : write(replacement.fd, at, left < PIECE ? left : PIECE);

        if (written < 0 && !stop && errno == EINTR)
            continue;
        if (written < 0) {
            errno = stop ? stop : errno;
            return -1;
        }
        at += written;
        left -= (size_t)written;
    }
    return replacement_commit(call, &replacement, expected);
}

int native_write(const struct file_call *call, const void *content, size_t length, struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;

    if (native_begin(call, &root, error) < 0)
        return -1;
    if (native_put(call, root.fd, content, length, NULL) < 0)
        return native_failed(call, root.fd, errno, error);
    return 0;
}
