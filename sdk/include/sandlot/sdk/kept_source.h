/*
 * sandlot/sdk/kept_source.h - a source that can be read again from its beginning, as long as no more than its first
 * bytes have been read: for requests whose body comes from a pipe and that may have to be sent again.
 *
 *   struct kept_source kept;
 *
 *   kept_source_open(&kept, source, 1 << 20);
 *   const struct http_body body = {.source = &kept.source, .length = length, .rewind = kept_source_rewind,
 *                                  .rewind_context = &kept};
 *   ...
 *   kept_source_close(&kept);
 */
#ifndef SANDLOT_SDK_KEPT_SOURCE_H
#define SANDLOT_SDK_KEPT_SOURCE_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kept_source {
    struct sandlot_source source; /* to be read */
    const struct sandlot_source *own;
    char *bytes; /* what has been read of OWN, unless that was too much */
    size_t length;
    size_t capacity;
    size_t most;
    size_t at; /* what is read next of BYTES */
    bool lost; /* more than that was read */
};

/* Keeps MOST bytes at most. OWN must live as long, and the struct must not be moved. */
void kept_source_open(struct kept_source *kept, const struct sandlot_source *own, size_t most);

/* Back to the beginning of the struct kept_source CONTEXT, for http_body.rewind too; SANDLOT_UNSUPPORTED: too much was
 * read. */
enum sandlot_status kept_source_rewind(void *context);

void kept_source_close(struct kept_source *kept);

#ifdef __cplusplus
}
#endif

#endif
