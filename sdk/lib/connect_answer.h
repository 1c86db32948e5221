/* What the bytes of a Connect answer mean. */
#ifndef SANDLOT_SDK_CONNECT_ANSWER_H
#define SANDLOT_SDK_CONNECT_ANSWER_H

#include <sandlot/sdk/connect.h>
#include <sandlot/sdk/frames.h>

enum {
    CONNECT_NO_CODE = -1, /* nothing said how the call ended */
    CONNECT_LONGEST_TEXT = 512
};

/* Reads a stream; feed it by FRAMES.sink. */
struct connect_reader {
    struct frames frames;
    connect_message_function on_message;
    void *context;
    size_t messages;
    bool over;                       /* the frame that ends the stream has come */
    int code;                        /* what it said; CONNECT_NO_CODE: there was none. A stream that makes no sense is
                                        GRPC_INTERNAL */
    char text[CONNECT_LONGEST_TEXT]; /* what it said to that */
    enum sandlot_status stopped;     /* by on_message */
};

/* Must not be moved afterwards. */
void connect_reader_init(struct connect_reader *reader, size_t limit, connect_message_function on_message,
                         void *context);

/* The bytes have ended: CODE is what is to be known, never CONNECT_NO_CODE. */
void connect_reader_end(struct connect_reader *reader);
void connect_reader_clear(struct connect_reader *reader);

/* The code by its name, "not_found"; CONNECT_NO_CODE if there is none of that name. */
int connect_code_of(const char *name);

/* What ERROR, {"code": ..., "message": ...}, says, into TEXT too; CONNECT_NO_CODE if it is none. */
int connect_error_read(struct json_object *error, char text[CONNECT_LONGEST_TEXT]);

#endif
