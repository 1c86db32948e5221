/*
 * sandlot/sdk/frames.h - a reader of length-prefixed frames that takes bytes as they come, and what writes their heads.
 *
 * Formats differ in what stands before the payload: a byte of flags or none, and the payload's length in 1, 2 or 4
 * bytes, big or little endian. Connect and gRPC streams are `frame_format_connect`: flags, then four bytes, big endian.
 * Those of container engines are `frame_format_engine`: 1 for output or 2 for errors, three zeros, four bytes, big
 * endian.
 *
 *   struct frames reader;
 *   frames_init(&reader, call, &frame_format_connect, 1 << 20, on_frame, context);
 *   request.sink = &reader.sink;
 *   status = http_send(call, client, &request, &response);
 *   if (status == SANDLOT_OK)
 *       status = frames_end(&reader);
 *   frames_clear(&reader);
 *
 * A frame that lies whole in what is added is passed on without a copy; otherwise memory is bounded by the limit. A
 * frame that announces more is SANDLOT_INTERNAL at once, told to the call. One reader belongs to one thread at a time.
 */
#ifndef SANDLOT_SDK_FRAMES_H
#define SANDLOT_SDK_FRAMES_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

struct frame_format {
    unsigned char flag_bytes;   /* 0 or 1; 4: the byte of flags and three that are zero */
    unsigned char length_bytes; /* 1, 2 or 4 */
    bool little_endian;
};

extern const struct frame_format frame_format_connect;
extern const struct frame_format frame_format_engine;

/* PAYLOAD is valid during the callback only, and not NULL. FLAGS is 0 in a format without. Any status but SANDLOT_OK
 * stops the stream and is returned from the sink. */
typedef enum sandlot_status (*frames_function)(void *context, unsigned char flags, const void *payload, size_t length);

struct frames {
    struct sandlot_sink sink; /* feed it: http_request.sink, or frames_add */
    bool finished;            /* the callback may set it: http_request.enough may point here */

    /* private */
    struct sandlot_call *call;
    struct frame_format format;
    frames_function frame;
    void *context;
    size_t limit;
    unsigned char head[8];
    size_t head_length; /* of it, that has come */
    unsigned char *payload;
    size_t capacity;
    size_t length; /* of the payload, that has come */
    enum sandlot_status status;
};

/* LIMIT in bytes of one payload. CALL: where faults are told; NULL: nowhere. Allocates nothing. The reader must not be
 * moved afterwards. */
void frames_init(struct frames *reader, struct sandlot_call *call, const struct frame_format *format, size_t limit,
                 frames_function frame, void *context);

/* The same as reader->sink.write. After any status but SANDLOT_OK nothing more is taken. */
enum sandlot_status frames_add(struct frames *reader, const void *bytes, size_t length);

/* The stream has ended: SANDLOT_INTERNAL if it did so inside a frame. */
enum sandlot_status frames_end(struct frames *reader);

void frames_clear(struct frames *reader);

/* Writes what stands before a payload of LENGTH bytes to HEAD, which has room for what the format wants, and returns
 * how many bytes that is; 0 if the format cannot say LENGTH. */
size_t frame_head(const struct frame_format *format, unsigned char flags, size_t length, unsigned char *head);

#ifdef __cplusplus
}
#endif

#endif
