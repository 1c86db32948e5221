#include <sandlot/sdk/archive.h>
#include <sandlot/sdk/cleanup.h>

#include "archive_names.h"
#include "archive_raw.h"
#include "text.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 128 * 1024, FILE_MODE = 0644, FOLDER_MODE = 0755 };

struct tar_writer {
    struct sandlot_call *call;
    const struct sandlot_sink *sink;
    struct archive *archive;
    enum sandlot_status status; /* of the sink */
    locale_t utf8;              /* libarchive takes names by the locale, which in a provider is whatever the host has */
    bool ended;
    bool dropped; /* nothing is to reach the sink any more */
    char block[BLOCK];
};

/* Never fails: libarchive leaks what it compresses with when it is stopped halfway. After a fault the rest is dropped.
 */
static la_ssize_t on_write(struct archive *archive, void *context, const void *bytes, size_t length)
{
    struct tar_writer *writer = context;

    (void)archive;
    if (writer->status == SANDLOT_OK && !writer->dropped)
        writer->status = writer->sink->write(writer->sink, bytes, length);
    return (la_ssize_t)length;
}

/* What libarchive could not do; a sink that stopped has told why itself. */
static enum sandlot_status fail(struct tar_writer *writer)
{
    const char *why = archive_error_string(writer->archive);

    if (writer->status == SANDLOT_OK)
        writer->status = sandlot_fail(writer->call, SANDLOT_INTERNAL,
                                      "an archive could not be written: %s; report it to the author of the provider",
                                      why ? why : "there is not enough memory");
    return writer->status;
}

static enum sandlot_status open_writer(struct sandlot_call *call, const struct sandlot_sink *sink,
                                       int (*set_format)(struct archive *), bool gzip, struct tar_writer **writer)
{
    struct tar_writer *made = calloc(1, sizeof(*made));

    *writer = NULL;
    if (!made)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for an archive; free some");
    made->call = call;
    made->sink = sink;
    made->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    made->archive = archive_write_new();
    if (made->utf8 && made->archive && set_format(made->archive) == ARCHIVE_OK &&
        (!gzip || archive_write_add_filter_gzip(made->archive) == ARCHIVE_OK) &&
        archive_write_set_bytes_in_last_block(made->archive, 1) == ARCHIVE_OK &&
        archive_write_open(made->archive, made, NULL, on_write, NULL) == ARCHIVE_OK) {
        *writer = made;
        return SANDLOT_OK;
    }
    tar_writer_free(made);
    return sandlot_fail(call, SANDLOT_INTERNAL,
                        "an archive could not be begun; check the memory, and that the locale C.UTF-8 is installed");
}

enum sandlot_status tar_writer_open(struct sandlot_call *call, const struct sandlot_sink *sink, bool gzip,
                                    struct tar_writer **writer)
{
    return open_writer(call, sink, archive_write_set_format_pax_restricted, gzip, writer);
}

enum sandlot_status tar_writer_open_raw(struct sandlot_call *call, const struct sandlot_sink *sink,
                                        struct tar_writer **writer)
{
    return open_writer(call, sink, archive_write_set_format_gnutar, false, writer);
}

static struct archive_entry *new_entry(const struct tar_writer *writer, const char *path, uint32_t mode, bool folder)
{
    AUTO_FREE char *copy = strdup(path + strspn(path, "/"));
    const char *name = copy ? sdk_archive_name(copy) : NULL;
    bool fit = name && strcmp(name, ".") != 0 && sdk_utf8_valid(name, strlen(name));
    struct archive_entry *entry = fit ? archive_entry_new() : NULL;

    if (!entry) {
        sandlot_fail(writer->call, SANDLOT_INVALID_ARGUMENT,
                     "the path '%.200s' cannot be put into an archive; it must be UTF-8, not empty, and without '..', "
                     "unless memory is short",
                     path);
        return NULL;
    }
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, folder ? AE_IFDIR : AE_IFREG);
    archive_entry_set_perm(entry, mode);
    archive_entry_set_mtime(entry, time(NULL), 0);
    archive_entry_set_size(entry, 0);
    return entry;
}

static int write_header(struct tar_writer *writer, struct archive_entry *entry)
{
    locale_t before = uselocale(writer->utf8);
    int written = archive_write_header(writer->archive, entry);

    uselocale(before);
    archive_entry_free(entry);
    return written;
}

enum sandlot_status tar_writer_add_folder(struct tar_writer *writer, const char *path, uint32_t mode)
{
    struct archive_entry *entry = new_entry(writer, path, mode ? mode & 07777 : FOLDER_MODE, true);

    if (!entry)
        return SANDLOT_INVALID_ARGUMENT;
    if (writer->status != SANDLOT_OK) {
        archive_entry_free(entry);
        return writer->status;
    }
    return write_header(writer, entry) == ARCHIVE_OK ? writer->status : fail(writer);
}

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

/* Reads SOURCE to its end into an unnamed file, because the length stands before the content. */
static enum sandlot_status spool(struct tar_writer *writer, const struct sandlot_source *source, int *file,
                                 uint64_t *total)
{
    const char *folder = writer->call->host->environment(writer->call, "TMPDIR");
    AUTO_CLOSE int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    size_t length = 0;

    *total = 0;
    for (enum sandlot_status status; fd >= 0; *total += length) {
        status = source->read(source, writer->block, BLOCK, &length);
        if (status != SANDLOT_OK)
            return status;
        if (length == 0 && lseek(fd, 0, SEEK_SET) == 0) {
            *file = take_fd(&fd);
            return SANDLOT_OK;
        }
        if (length == 0 || !write_all(fd, writer->block, length))
            break;
    }
    char why[128];

    return sandlot_fail(writer->call, SANDLOT_UNAVAILABLE,
                        "data of unknown length could not be kept in %.200s: %s; make room there or set TMPDIR",
                        folder && *folder ? folder : "/tmp", strerror_r(errno, why, sizeof(why)));
}

static enum sandlot_status read_file(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length)
{
    const int *fd = source->context;
    ssize_t got;

    do
        got = read(*fd, buffer, capacity);
    while (got < 0 && errno == EINTR);
    *length = got < 0 ? 0 : (size_t)got;
    return SANDLOT_OK; /* a short file is noticed by its length */
}

static enum sandlot_status add_content(struct tar_writer *writer, const struct sandlot_source *source, uint64_t length,
                                       const char *path)
{
    size_t got;

    for (uint64_t left = length; left > 0; left -= got) {
        enum sandlot_status status = source->read(source, writer->block, left < BLOCK ? (size_t)left : BLOCK, &got);

        if (status != SANDLOT_OK)
            return status;
        if (got == 0)
            return sandlot_fail(writer->call, SANDLOT_INVALID_ARGUMENT,
                                "the data for %.200s ended %" PRIu64 " of %" PRIu64 " bytes early; try again", path,
                                left, length);
        if (archive_write_data(writer->archive, writer->block, got) != (la_ssize_t)got)
            return fail(writer);
        if (writer->status != SANDLOT_OK)
            return writer->status;
    }
    return SANDLOT_OK;
}

static enum sandlot_status add_file(struct tar_writer *writer, const struct sandlot_file *file,
                                    const struct sandlot_source *source, uint64_t length)
{
    struct archive_entry *entry = new_entry(writer, file->path, file->mode ? file->mode & 07777 : FILE_MODE, false);

    if (!entry)
        return SANDLOT_INVALID_ARGUMENT;
    archive_entry_set_size(entry, (la_int64_t)length);
    if (write_header(writer, entry) != ARCHIVE_OK)
        return fail(writer);
    enum sandlot_status status = add_content(writer, source, length, file->path);

    if (status != SANDLOT_OK)
        writer->status = status; /* the archive cannot go on in the middle of a file */
    return status;
}

enum sandlot_status tar_writer_add(struct tar_writer *writer, const struct sandlot_file *file)
{
    AUTO_CLOSE int fd = -1;
    const struct sandlot_source spooled = {.size = sizeof(spooled), .context = &fd, .read = read_file, .poll_fd = -1};
    uint64_t length = file->length;

    if (writer->status != SANDLOT_OK)
        return writer->status;
    if (length != UINT64_MAX)
        return add_file(writer, file, file->source, length);
    enum sandlot_status status = spool(writer, file->source, &fd, &length);

    return status == SANDLOT_OK ? add_file(writer, file, &spooled, length) : status;
}

enum sandlot_status tar_writer_end(struct tar_writer *writer)
{
    if (writer->status == SANDLOT_OK && !writer->ended && archive_write_close(writer->archive) != ARCHIVE_OK)
        return fail(writer);
    writer->ended = true;
    return writer->status;
}

void tar_writer_free(struct tar_writer *writer)
{
    if (!writer)
        return;
    if (writer->archive) {
        writer->dropped = true; /* freeing writes the end, which nobody has asked for */
        archive_write_free(writer->archive);
    }
    if (writer->utf8)
        freelocale(writer->utf8);
    free(writer);
}
