/*
 * sandlot/sdk/archive.h - tar archives as streams, plain or compressed with gzip, in constant memory.
 *
 * Names in an archive are relative and stay below the folder that they are unpacked in: "a/b.txt". A leading "/" of a
 * name that is written is taken off; a name that is empty or has a ".." is refused, in writing and in reading.
 *
 * THREADS   One writer or reader belongs to one thread at a time. A reader has a thread of its own for the parser; it
 * runs only while the caller waits in the sink or in tar_reader_end, so callbacks never overlap with the caller.
 */
#ifndef SANDLOT_SDK_ARCHIVE_H
#define SANDLOT_SDK_ARCHIVE_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing ---------------------------------------------------------------------------------------------------- */

struct tar_writer;

/* A writer whose bytes go to SINK, which must outlive it. To be released with tar_writer_free. */
enum sandlot_status tar_writer_open(struct sandlot_call *call, const struct sandlot_sink *sink, bool gzip,
                                    struct tar_writer **writer);

/*
 * Adds one file: path, source, length and mode of FILE are read (mode 0: 0644). A file of unknown length is first
 * read into an unnamed file in TMPDIR (by the host's environment lookup) or /tmp, because the length stands before the
 * content. A source that ends before the announced length is SANDLOT_INVALID_ARGUMENT.
 */
enum sandlot_status tar_writer_add(struct tar_writer *writer, const struct sandlot_file *file);

/* Adds a folder. Not needed for files below it. */
enum sandlot_status tar_writer_add_folder(struct tar_writer *writer, const char *path, uint32_t mode);

/* Writes the end of the archive. Without it the archive is not whole. */
enum sandlot_status tar_writer_end(struct tar_writer *writer);

/* NULL is fine. */
void tar_writer_free(struct tar_writer *writer);

/* ---- reading ---------------------------------------------------------------------------------------------------- */

struct tar_entry {
    const char *name; /* relative, without a leading "./" or trailing "/" */
    bool folder;
    uint64_t length;
    uint32_t mode; /* permission bits */
};

/* What receives the entries, in the order of the archive. Any status but SANDLOT_OK ends the reading with it. */
struct tar_receiver {
    void *context;
    /* An entry begins. Its content goes to *SINK; left NULL: it is passed over. */
    enum sandlot_status (*begin)(void *context, const struct tar_entry *entry, const struct sandlot_sink **sink);
    /* Its content has come in full. NULL: not wanted. */
    enum sandlot_status (*end)(void *context, const struct tar_entry *entry);
};

struct tar_reader;

/*
 * A reader that is fed through tar_reader_sink; gzip is recognized. MOST is the number of bytes after which it stops
 * with SANDLOT_EXHAUSTED (archives can unpack to far more than their size): of content, and 512 for each file and
 * folder; 0: no limit. Links and devices are refused with SANDLOT_INTERNAL, as hostile names are. To be released with
 * tar_reader_free.
 */
enum sandlot_status tar_reader_open(struct sandlot_call *call, const struct tar_receiver *receiver, uint64_t most,
                                    struct tar_reader **reader);

/* Where the bytes of the archive are to be written: http_request.sink, for example. Belongs to the reader. */
const struct sandlot_sink *tar_reader_sink(struct tar_reader *reader);

/* No more bytes come. SANDLOT_OK: the archive was whole. */
enum sandlot_status tar_reader_end(struct tar_reader *reader);

/* NULL is fine. Also before the end: then the rest of the archive is dropped. */
void tar_reader_free(struct tar_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
