/* The tool that reads files, as text or as an image or a sound. */
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "tools/text.h"
#include "tools/work.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

static int reply_with_media(const char *path, const void *bytes, size_t length, struct reply *reply,
                            struct sandlot_error *error)
{
    AUTO_FREE char *shown = text_path(path);
    AUTO_FREE char *pixels =
        reply->media.width > 0 ? text_format(", %u x %u pixels", reply->media.width, reply->media.height) : strdup("");
    char *text = shown && pixels ? text_format("%s: %s, %zu bytes%s", shown, reply->media.name, length, pixels) : NULL;

    reply->data = base64_encode(bytes, length);
    reply->data_length = base64_length(length);
    if (!reply->data) {
        free(text);
        return error_no_memory(error);
    }
    return reply_set(reply, text, text ? strlen(text) : 0, error);
}

static int reply_with_binary(const char *path, const void *bytes, size_t length, struct reply *reply,
                             struct sandlot_error *error)
{
    media_detect(bytes, length, &reply->media);
    if (reply->media.kind != MEDIA_NONE)
        return reply_with_media(path, bytes, length, reply, error);
    char *text = text_of_binary(path, bytes, length);

    return reply_set(reply, text, text ? strlen(text) : 0, error);
}

/* More than may be shown, and whole pages: the kernel refuses a write to a page of which a part is out of bounds. */
enum { MEMORY = 4 << 20 };

/* A place for the file in memory that cannot grow, whatever the sandbox sends. */
static int bounded_memory(void)
{
    int fd = memfd_create("sandlot-media", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd >= 0 && (ftruncate(fd, MEMORY) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void remember_bytes(void *context, size_t index, const char *path, const struct sandlot_error *problem,
                           uint64_t bytes)
{
    (void)index, (void)path, (void)problem;
    *(uint64_t *)context = bytes;
}

static int error_too_large(const char *path, struct sandlot_error *error)
{
    return error_set(error, SANDLOT_CODE_TOO_LARGE,
                     "File '%s' is larger than the 3.75 MB that can be shown of an image or a sound. Make a smaller "
                     "copy with execute (convert FILE -resize 1600x1600 SMALL.png, or ffmpeg) and read that.",
                     path);
}

/* Downloads the file to FD. *LENGTH is what came; if that is not all of it, more than may be shown. */
static int fetch(const struct work *work, const char *path, int fd, size_t *length, struct sandlot_error *error)
{
    AUTO_FREE char *absolute =
        path[0] == '/' ? strdup(path) : text_format("%s/%s", sandlot_session_working_dir(work->session), path);
    struct sandlot_transfer_item item = {.size = sizeof(item), .path = absolute, .fd = fd};
    uint64_t bytes = 0;
    struct sandlot_transfer_request request = {.size = sizeof(request),
                                               .items = &item,
                                               .count = 1,
                                               .done = remember_bytes,
                                               .context = &bytes,
                                               .cancellation = work->call->cancellation};
    struct sandlot_error why = {0};

    if (!absolute)
        return error_no_memory(error);
    int failed = sandlot_download(work->session, &request, &why);
    off_t written = lseek(fd, 0, SEEK_CUR);

    *length = (size_t)bytes;
    if (failed && written > MEDIA_MAXIMUM && why.code != SANDLOT_CODE_CANCELLED) {
        *length = written < MEMORY ? (size_t)written : MEMORY;
        failed = 0;
    }
    if (failed)
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    return failed;
}

/* Says what a large binary file is: BYTES, LENGTH of them, are all of it or, if they are more than may be shown, its
 * beginning. */
static int error_large_binary(const char *path, const void *bytes, size_t length, struct sandlot_error *error)
{
    enum { ENOUGH = 4096 };
    AUTO_FREE char *shown = text_path(path);
    AUTO_FREE char *size = length > MEDIA_MAXIMUM ? strdup("more than 3.75 MB") : text_format("%zu bytes", length);
    struct media media;

    if (!shown || !size)
        return error_no_memory(error);
    media_detect(bytes, length < ENOUGH ? length : ENOUGH, &media);
    if (media.kind != MEDIA_NONE)
        return error_too_large(shown, error);
    return error_set(error, SANDLOT_CODE_TOO_LARGE,
                     "File '%s' is binary (%s, %s), larger than the %d bytes that are read of such a file. %s", shown,
                     media.name, size, SANDLOT_PAGE_BYTES, media.advice);
}

/* A binary file that is larger than what is read of such files: an image or a sound may still be shown, and of others
 * it can be told what they are. */
static int read_large_binary(const struct work *work, const char *path, struct reply *reply,
                             struct sandlot_error *error)
{
    AUTO_CLOSE int fd = bounded_memory();
    size_t length = 0;

    if (fd < 0)
        return error_no_memory(error);
    if (fetch(work, path, fd, &length, error) < 0)
        return -1;
    if (length == 0) /* it was emptied meanwhile */
        return reply_with_binary(path, "", 0, reply, error);
    void *bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);

    if (bytes == MAP_FAILED)
        return error_no_memory(error);
    struct media media;

    media_detect(bytes, length, &media);
    int failed = media.kind != MEDIA_NONE && length <= MEDIA_MAXIMUM
                     ? reply_with_binary(path, bytes, length, reply, error)
                     : error_large_binary(path, bytes, length, error);

    munmap(bytes, length);
    return failed;
}

static int reply_with_page(const struct work *work, const struct sandlot_read *request, const struct sandlot_page *page,
                           struct reply *reply, struct sandlot_error *error)
{
    size_t length = 0;

    if (page->binary && !page->empty)
        return reply_with_binary(request->path, page->content, page->content_length, reply, error);
    char *text = text_of_page(request, page, work->maximum, &reply->next_offset, &length);

    /* With numbers before its lines the text is longer than the content, unless a part is left out. */
    reply->truncated = page->truncated || reply->next_offset != page->next_offset ||
                       (page->end_line > 0 && length < page->content_length);
    return reply_set(reply, text, length, error);
}

int tool_read_file(const struct work *work, struct reply *reply, struct sandlot_error *error)
{
    const struct argument *limit = argument(work->arguments, "limit");
    const struct sandlot_read request = {.size = sizeof(request),
                                         .path = argument(work->arguments, "file_path")->text,
                                         .offset = argument(work->arguments, "offset")->number,
                                         .has_limit = limit->given,
                                         .limit = limit->number,
                                         .cancellation = work->call->cancellation};
    struct sandlot_page page = {.size = sizeof(page)};
    struct sandlot_error why = {0};
    int failed = sandlot_read_file(work->session, &request, &page, &why);

    if (!failed)
        failed = reply_with_page(work, &request, &page, reply, error);
    else if (why.code == SANDLOT_CODE_TOO_LARGE)
        failed = read_large_binary(work, request.path, reply, error);
    else
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    sandlot_page_clear(&page);
    return failed;
}
