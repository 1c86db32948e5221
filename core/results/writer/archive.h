/* Tar archives of what has changed. */
#ifndef SANDLOT_RESULTS_WRITER_ARCHIVE_H
#define SANDLOT_RESULTS_WRITER_ARCHIVE_H

#include "results/writer.h"

/* As those of struct writer_module. */
struct writer_archive *archive_begin(writer_sink sink, void *context);
const char *archive_add(struct writer_archive *own, const struct writer_member *member);
const char *archive_end(struct writer_archive *own, bool abandoned);

#endif
