#include "base/cleanup.h"
#include "base/error.h"
#include "operations/edit_text.h"
#include "operations/file_error.h"
#include "operations/native/native.h"
#include "operations/native/open.h"
#include "operations/native/replace.h"

#include <errno.h>

enum {
    LARGEST = 64 * 1024 * 1024,
    TRIES = 3 /* for a file that changes meanwhile */
};

static int too_large(const struct file_call *call, struct sandlot_error *error)
{
    return error_set(
        error, SANDLOT_CODE_TOO_LARGE,
        "File '%s' is larger than %d MiB, the most that can be edited; change it with a command such as sed",
        call->shown, LARGEST >> 20);
}

/* The content of the file, to be freed, and what it was like when it was read. */
static char *load(const struct file_call *call, int root_fd, struct statx *status, size_t *length,
                  struct sandlot_error *error)
{
    struct stat opened;
    AUTO_CLOSE int fd = native_open_file(call, root_fd, &opened, error);

    if (fd < 0)
        return NULL;
    /* Looked at before it is read: what changes from now on is noticed. */
    char *text = native_status(fd, "", status) == 0
                     ? native_load(call, fd, (uint64_t)opened.st_size, LARGEST + 1, length)
                     : NULL;

    if (!text)
        native_failed(call, root_fd, errno, error);
    else if (*length > LARGEST)
        too_large(call, error);
    if (text && *length <= LARGEST)
        return text;
    free(text);
    return NULL;
}

/* Once. 1: done; 0: the file has changed meanwhile; -1: failed. */
static int edit_once(const struct file_call *call, int root_fd, const struct edit_wish *wish, uint64_t *occurrences,
                     struct sandlot_error *error)
{
    struct statx status;
    size_t length = 0;
    AUTO_FREE char *text = load(call, root_fd, &status, &length, error);
    AUTO_FREE char *result = NULL;
    size_t result_length = 0;

    if (!text || edit_apply(wish, text, length, &result, &result_length, occurrences, error) < 0)
        return -1;
    if (!result || native_put(call, root_fd, result, result_length, &status) == 0)
        return 1;
    return errno == ESTALE ? 0 : native_failed(call, root_fd, errno, error);
}

int native_edit(const struct file_call *call, const struct edit_wish *wish, uint64_t *occurrences,
                struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;

    if (native_begin(call, &root, error) < 0)
        return -1;
    for (int left = TRIES; left > 0; left--) {
        int done = edit_once(call, root.fd, wish, occurrences, error);

        if (done != 0)
            return done < 0 ? -1 : 0;
    }
    return error_set(error, SANDLOT_CODE_INTERNAL_ERROR,
                     "File '%s' was not edited: something else in the sandbox kept changing it meanwhile; read it "
                     "again and repeat the edit when it is quiet",
                     call->shown);
}
