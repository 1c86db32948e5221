/*
 * sandlot/sdk/sse.h - a reader of server-sent events (text/event-stream) that takes bytes as they come.
 *
 *   struct sse reader;
 *   sse_init(&reader, call, 1 << 20, on_event, context);
 *   request.sink = &reader.sink;
 *   status = http_send(call, client, &request, &response);
 *   sse_clear(&reader);
 *
 * It follows the WHATWG's rules: lines end with CR, LF or CRLF, a byte order mark at the beginning is passed over,
 * lines of data are joined by LF, a comment is passed over, an event without data is none, and an event that the stream
 * does not finish with an empty line is dropped. No line and no event may be longer than the limit, which bounds the
 * memory to a few times of it. One reader belongs to one thread at a time.
 */
#ifndef SANDLOT_SDK_SSE_H
#define SANDLOT_SDK_SSE_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One event. All texts end with NUL, need not be UTF-8, and are valid during the callback only. */
struct sse_event {
    const char *type; /* "message" if the stream named none */
    const char *data;
    size_t length;  /* of data, which may hold NUL bytes */
    const char *id; /* the last id that the stream gave, "" before the first */
};

/* Any status but SANDLOT_OK stops the stream and is returned from the sink. */
typedef enum sandlot_status (*sse_function)(void *context, const struct sse_event *event);

struct sse {
    struct sandlot_sink sink; /* feed it: http_request.sink, or sse_add */
    bool finished;            /* the callback may set it: http_request.enough may point here */
    int64_t retry_ms;         /* the pause before connecting again that the stream asked for; -1: none */
    char *last_id;            /* for the header Last-Event-ID when connecting again; NULL or text */

    /* private */
    struct sandlot_call *call;
    sse_function event;
    void *context;
    size_t limit;
    struct sse_text {
        char *bytes;
        size_t length;
        size_t capacity;
    } line, data, type, id;
    unsigned char mark; /* bytes of the byte order mark seen; past it once the first line has begun */
    bool after_return;  /* the last byte was CR: an LF now belongs to it */
    bool has_data;
    enum sandlot_status status;
};

/*
 * LIMIT in bytes. CALL is where a fault is told: an event longer than LIMIT or a lack of memory make the sink return
 * SANDLOT_INTERNAL; NULL: told nowhere. Allocates nothing. The reader must not be moved afterwards.
 */
void sse_init(struct sse *reader, struct sandlot_call *call, size_t limit, sse_function event, void *context);

/* The same as reader->sink.write. After any status but SANDLOT_OK nothing more is taken. */
enum sandlot_status sse_add(struct sse *reader, const void *bytes, size_t length);

void sse_clear(struct sse *reader);

#ifdef __cplusplus
}
#endif

#endif
