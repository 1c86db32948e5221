/*
 * A reader of Daytona's bulk-download: a form (multipart/form-data) in which each part is a file or tells why there is
 * none. It takes bytes as they come, in constant memory.
 *
 * A file part says its length, and so many bytes are taken: the boundary is always the same, and a file may hold it. A
 * part without a length is a text that ends at the boundary.
 */
#ifndef SANDLOT_DAYTONA_MULTIPART_H
#define SANDLOT_DAYTONA_MULTIPART_H

#include <sandlot/provider.h>

enum {
    MULTIPART_LINE = 20 * 1024, /* a header has the name of a file, encoded */
    MULTIPART_BOUNDARY = 256,
    MULTIPART_TEXT = 16 * 1024,
    MULTIPART_NAME = 32
};

/* What receives the parts, in their order. Any status but SANDLOT_OK ends the reading with it. */
struct multipart_receiver {
    void *context;
    /* A part with a length begins, which is a file if its NAME says so. */
    enum sandlot_status (*begin)(void *context, const char *name, uint64_t length);
    enum sandlot_status (*data)(void *context, const void *bytes, size_t length);
    enum sandlot_status (*end)(void *context);
    /* A whole part without a length. TEXT ends with NUL, and was cut at MULTIPART_TEXT bytes. */
    enum sandlot_status (*text)(void *context, const char *name, const char *text, size_t length);
};

struct multipart {
    struct sandlot_sink sink; /* feed it: http_request.sink */
    bool finished;            /* the boundary that ends the form has come */

    /* private */
    struct sandlot_call *call;
    struct multipart_receiver receiver;
    enum { MULTIPART_FIRST, MULTIPART_BETWEEN, MULTIPART_HEADERS, MULTIPART_FILE, MULTIPART_WORDS } state;
    char boundary[MULTIPART_BOUNDARY]; /* with the two hyphens before it; the first line says it */
    char line[MULTIPART_LINE];
    size_t line_length;
    char name[MULTIPART_NAME];
    bool has_length;
    uint64_t left; /* bytes of a file that are to come */
    char words[MULTIPART_TEXT];
    size_t words_length;
};

/* The reader must not be moved afterwards, and needs no clearing. */
void multipart_init(struct multipart *reader, struct sandlot_call *call, const struct multipart_receiver *receiver);

#endif
