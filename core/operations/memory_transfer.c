/* Transfers of one file from and to memory: a file in memory stands for it, and the transfer is as any other. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/sized.h"

#include <sandlot/sandlot.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int upload(struct sandlot_session *session, const struct sandlot_upload_bytes *request,
                  struct sandlot_error *error)
{
    AUTO_CLOSE int fd = memfd_create("sandlot-upload", MFD_CLOEXEC);
    const struct sandlot_transfer_item item = {
        .size = sizeof(item), .path = request->path, .fd = fd, .mode = request->mode};
    const struct sandlot_transfer_request transfer = {
        .size = sizeof(transfer), .items = &item, .count = 1, .cancellation = request->cancellation};

    if (fd < 0 || path_write_all(fd, request->content, request->content_length) < 0 || lseek(fd, 0, SEEK_SET) != 0)
        return error_no_memory(error);
    return sandlot_upload(session, &transfer, error);
}

int sandlot_upload_from_memory(struct sandlot_session *session, const struct sandlot_upload_bytes *request,
                               struct sandlot_error *error)
{
    struct sandlot_upload_bytes own;

    if (sized_read(&own, sizeof(own), request, SIZED_UP_TO(struct sandlot_upload_bytes, cancellation),
                   "sandlot_upload_bytes", error) < 0)
        return -1;
    if (own.content_length && !own.content)
        return error_set(error, SANDLOT_CODE_USAGE, "the content of '%s' is missing", own.path ? own.path : "");
    return upload(session, &own, error);
}

/* All that is in the file FD. */
static int take_content(int fd, struct sandlot_bytes *bytes, struct sandlot_error *error)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return error_no_memory(error);
    const size_t length = (size_t)status.st_size;
    char *content = malloc(length + 1);

    for (size_t done = 0; content && done < length;) {
        ssize_t got = pread(fd, content + done, length - done, (off_t)done);

        if (got <= 0) {
            free(content);
            content = NULL;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    if (!content)
        return error_no_memory(error);
    content[length] = '\0';
    bytes->content = content;
    bytes->length = length;
    return 0;
}

int sandlot_download_to_memory(struct sandlot_session *session, const struct sandlot_download_bytes *request,
                               struct sandlot_bytes *bytes, struct sandlot_error *error)
{
    struct sandlot_download_bytes own;

    if (sized_read(&own, sizeof(own), request, SIZED_UP_TO(struct sandlot_download_bytes, cancellation),
                   "sandlot_download_bytes", error) < 0 ||
        sized_check(bytes, SIZED_UP_TO(struct sandlot_bytes, length), "sandlot_bytes", error) < 0)
        return -1;
    AUTO_CLOSE int fd = memfd_create("sandlot-download", MFD_CLOEXEC);
    const struct sandlot_transfer_item item = {.size = sizeof(item), .path = own.path, .fd = fd};
    const struct sandlot_transfer_request transfer = {.size = sizeof(transfer),
                                                      .items = &item,
                                                      .count = 1,
                                                      .cancellation = own.cancellation,
                                                      .max_bytes = own.max_bytes};

    if (fd < 0)
        return error_no_memory(error);
    return sandlot_download(session, &transfer, error) < 0 ? -1 : take_content(fd, bytes, error);
}

void sandlot_bytes_clear(struct sandlot_bytes *bytes)
{
    if (!bytes)
        return;
    free(bytes->content);
    bytes->content = NULL;
    bytes->length = 0;
}
