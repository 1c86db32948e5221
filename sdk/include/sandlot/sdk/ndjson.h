/*
 * sandlot/sdk/ndjson.h - a reader of newline-delimited JSON (one JSON value per line) that takes bytes as they come.
 *
 *   struct ndjson reader;
 *   ndjson_init(&reader, call, 1 << 20, on_value, context);
 *   request.sink = &reader.sink;
 *   status = http_send(call, client, &request, &response);
 *   if (status == SANDLOT_OK)
 *       status = ndjson_end(&reader);
 *   ndjson_clear(&reader);
 *
 * Lines end with LF or CRLF; lines without anything but blanks are passed over. A line that is no JSON, is longer than
 * the limit, or is not UTF-8 is SANDLOT_INTERNAL, told to the call with the number of the line. Memory is bounded by
 * the limit. One reader belongs to one thread at a time.
 */
#ifndef SANDLOT_SDK_NDJSON_H
#define SANDLOT_SDK_NDJSON_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

struct json_object;

/* VALUE (NULL for JSON's null) is the reader's: take a reference (json_object_get) to keep it. Read it with json.h. Any
 * status but SANDLOT_OK stops the stream and is returned from the sink. */
typedef enum sandlot_status (*ndjson_function)(void *context, struct json_object *value);

struct ndjson {
    struct sandlot_sink sink; /* feed it: http_request.sink, or ndjson_add */
    bool finished;            /* the callback may set it: http_request.enough may point here */
    uint64_t lines;           /* that have begun so far */

    /* private */
    struct sandlot_call *call;
    ndjson_function value;
    void *context;
    size_t limit;
    char *line;
    size_t length;
    size_t capacity;
    enum sandlot_status status;
};

/* LIMIT in bytes of one line. CALL: where faults are told; NULL: nowhere. Allocates nothing. The reader must not be
 * moved afterwards. */
void ndjson_init(struct ndjson *reader, struct sandlot_call *call, size_t limit, ndjson_function value, void *context);

/* The same as reader->sink.write. After any status but SANDLOT_OK nothing more is taken. */
enum sandlot_status ndjson_add(struct ndjson *reader, const void *bytes, size_t length);

/* The stream has ended: a last line without LF counts, and must be whole. */
enum sandlot_status ndjson_end(struct ndjson *reader);

void ndjson_clear(struct ndjson *reader);

#ifdef __cplusplus
}
#endif

#endif
