/* What the headers and trailers of an answer say of a gRPC call. */
#ifndef SANDLOT_SDK_GRPC_ANSWER_H
#define SANDLOT_SDK_GRPC_ANSWER_H

#include <sandlot/sdk/grpc.h>

enum { GRPC_NO_CODE = -1, GRPC_LONGEST_DETAILS = 8192, GRPC_LONGEST_TEXT = 2048 };

struct grpc_verdict {
    int code;                     /* GRPC_NO_CODE: none came */
    bool trailing;                /* it stands behind the first block, and so behind all messages */
    bool first_over;              /* the first block of headers */
    char text[GRPC_LONGEST_TEXT]; /* grpc-message, decoded, as one line */
    bool is_grpc;                 /* by its content type */
    unsigned char *details;       /* to be freed; NULL: none, or nothing that can be read */
    size_t details_length;
};

/* HEADERS are lines that end with "\r\n" or "\n", the trailers behind the headers: of two of a name the last counts. */
void grpc_verdict_read(struct grpc_verdict *verdict, const char *headers, size_t length);
void grpc_verdict_clear(struct grpc_verdict *verdict);

/* The code of an answer that has none, by its HTTP status. */
int grpc_code_of_http(int status);

enum sandlot_status grpc_status_of(int code);

/* What a user can do after a call that ended with STATUS. */
const char *grpc_hint_after(enum sandlot_status status);

#endif
