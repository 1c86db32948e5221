#include "results/writer/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 64 * 1024 };

struct writer_archive {
    struct archive *archive;
    writer_sink sink;
    void *context;
    char buffer[BUFFER];
};

static la_ssize_t write_out(struct archive *archive, void *context, const void *bytes, size_t length)
{
    const struct writer_archive *own = context;

    if (own->sink(own->context, bytes, length))
        return (la_ssize_t)length;
    archive_set_error(archive, EPIPE, "no more is wanted");
    return -1;
}

struct writer_archive *archive_begin(writer_sink sink, void *context)
{
    struct writer_archive *own = calloc(1, sizeof(*own));

    if (!own)
        return NULL;
    own->sink = sink;
    own->context = context;
    own->archive = archive_write_new();
    /* GNU's: names of any bytes and any length, as they are. That of pax would want to know in which letters. */
    if (own->archive && archive_write_set_format_gnutar(own->archive) == ARCHIVE_OK &&
        archive_write_open(own->archive, own, NULL, write_out, NULL) == ARCHIVE_OK)
        return own;
    archive_end(own, true);
    return NULL;
}

static struct archive_entry *entry_of(const struct writer_member *member)
{
    struct archive_entry *entry = archive_entry_new();
    size_t length = strlen(member->path);

    if (!entry)
        return NULL;
    archive_entry_set_pathname(entry, member->path);
    archive_entry_set_perm(entry, (__LA_MODE_T)member->mode);
    archive_entry_set_mtime(entry, 0, 0); /* times are not taken over, and the same changes give the same archive */
    if (member->target) {
        archive_entry_set_filetype(entry, AE_IFLNK);
        archive_entry_set_symlink(entry, member->target);
    } else if (length && member->path[length - 1] == '/') {
        archive_entry_set_filetype(entry, AE_IFDIR);
    } else {
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_size(entry, (la_int64_t)member->length);
    }
    return entry;
}

static const char *put(struct writer_archive *own, const void *bytes, size_t length)
{
    return archive_write_data(own->archive, bytes, length) == (la_ssize_t)length ? NULL : "";
}

static const char *put_file(struct writer_archive *own, const struct writer_member *member)
{
    uint64_t left = member->length;
    const char *reason = NULL;

    while (left > 0 && !reason) {
        ssize_t got = read(member->fd, own->buffer, left < BUFFER ? (size_t)left : BUFFER);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return "a file could not be read";
        left -= (uint64_t)got;
        reason = put(own, own->buffer, (size_t)got);
    }
    return reason;
}

const char *archive_add(struct writer_archive *own, const struct writer_member *member)
{
    struct archive_entry *entry = entry_of(member);
    const char *reason = NULL;

    if (!entry)
        return "out of memory";
    bool failed = archive_write_header(own->archive, entry) < ARCHIVE_WARN;

    archive_entry_free(entry);
    if (failed)
        return "";
    if (member->fd >= 0)
        reason = put_file(own, member);
    else if (member->bytes)
        reason = put(own, member->bytes, (size_t)member->length);
    return reason;
}

const char *archive_end(struct writer_archive *own, bool abandoned)
{
    bool failed = false;

    if (own->archive && abandoned)
        archive_write_fail(own->archive);
    else if (own->archive)
        failed = archive_write_close(own->archive) != ARCHIVE_OK;
    if (own->archive)
        archive_write_free(own->archive);
    free(own);
    return failed ? "" : NULL;
}
