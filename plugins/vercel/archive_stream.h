/*
 * Files as one gzip-compressed tar, which is what Vercel takes. What is small is made in memory, so that it can be sent
 * again; all else is made by a thread while it is sent.
 */
#ifndef SANDLOT_VERCEL_ARCHIVE_STREAM_H
#define SANDLOT_VERCEL_ARCHIVE_STREAM_H

#include <sandlot/provider.h>

/* Content of files that are packed in memory. */
#define ARCHIVE_SMALL ((uint64_t)1024 * 1024)

/* Are FILES that small for sure? */
bool archive_is_small(const struct sandlot_file *files, size_t count);

/* The archive of FILES, whose paths are the names in it; to be freed. */
enum sandlot_status archive_pack(struct sandlot_call *call, const struct sandlot_file *files, size_t count,
                                 char **bytes, size_t *length);

struct archive_stream;

/* The same as a source. FILES must live until archive_stream_close, which comes before the sources are used otherwise.
 */
enum sandlot_status archive_stream_open(struct sandlot_call *call, const struct sandlot_file *files, size_t count,
                                        struct archive_stream **made);
const struct sandlot_source *archive_stream_source(struct archive_stream *stream);

/* NULL is fine. Also before its end. */
void archive_stream_close(struct archive_stream *stream);

#endif
