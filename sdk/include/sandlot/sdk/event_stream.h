/*
 * sandlot/sdk/event_stream.h - a reader of Amazon's event streams (application/vnd.amazon.eventstream) that takes bytes
 * as they come.
 *
 *   struct event_stream reader;
 *   event_stream_init(&reader, call, 16 << 20, on_message, context);
 *   request.sink = &reader.sink;
 *   status = http_send(call, client, &request, &response);
 *   if (status == SANDLOT_OK)
 *       status = event_stream_end(&reader);
 *   event_stream_clear(&reader);
 *
 * Both checksums of a message are verified before it is passed on. A message that is damaged, longer than the limit, or
 * cut off by the end of the stream is SANDLOT_INTERNAL, told to the call. An exception that the service puts into the
 * stream is a message like any other: its kind says so. Memory grows with what has come, up to the limit. One reader
 * belongs to one thread at a time.
 */
#ifndef SANDLOT_SDK_EVENT_STREAM_H
#define SANDLOT_SDK_EVENT_STREAM_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

enum event_stream_kind {
    EVENT_STREAM_EVENT,     /* also where the message does not say */
    EVENT_STREAM_EXCEPTION, /* one of the service's model, with a payload that describes it */
    EVENT_STREAM_ERROR      /* any other, described by `text` */
};

/* One message. All texts end with NUL, need not be UTF-8, and are valid during the callback only, as the payload is. */
struct event_stream_message {
    enum event_stream_kind kind;
    const char *type;         /* :event-type, :exception-type or :error-code; "" if it has none */
    const char *content_type; /* "" if it has none */
    const char *text;         /* :error-message; "" if it has none */
    const void *payload;      /* not NULL */
    size_t length;
};

/* Any status but SANDLOT_OK stops the stream and is returned from the sink. */
typedef enum sandlot_status (*event_stream_function)(void *context, const struct event_stream_message *message);

struct event_stream {
    struct sandlot_sink sink; /* feed it: http_request.sink, or event_stream_add */
    bool finished;            /* the callback may set it: http_request.enough may point here */

    /* private */
    struct sandlot_call *call;
    event_stream_function message;
    void *context;
    size_t limit;
    unsigned char *bytes; /* of the message at hand */
    size_t length;
    size_t capacity;
    size_t wanted; /* its length; 0: not known yet */
    enum sandlot_status status;
};

/* LIMIT in bytes of one message. CALL: where faults are told; NULL: nowhere. Allocates nothing. The reader must not be
 * moved afterwards. */
void event_stream_init(struct event_stream *reader, struct sandlot_call *call, size_t limit,
                       event_stream_function message, void *context);

/* The same as reader->sink.write. After any status but SANDLOT_OK nothing more is taken. */
enum sandlot_status event_stream_add(struct event_stream *reader, const void *bytes, size_t length);

/* The stream has ended: SANDLOT_INTERNAL if it did so inside a message. */
enum sandlot_status event_stream_end(struct event_stream *reader);

void event_stream_clear(struct event_stream *reader);

#ifdef __cplusplus
}
#endif

#endif
