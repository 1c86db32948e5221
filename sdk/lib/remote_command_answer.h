/*
 * What comes back from the sandbox: lines that carry the token of the sending, with base64 between them.
 *
 *   TOKEN data OFFSET LENGTH KIND     base64 (b) or hexadecimal (o) follows
 *   TOKEN sum ...                     of cksum or sha256sum over the same bytes; now they count
 *   TOKEN end CODE LATE TOTAL         twice in the line: a damaged code must not be taken for one
 *   TOKEN error WHY OFFSET            twice
 *   TOKEN lost OFFSET                 twice; the supervisor is gone
 *   TOKEN more | absent | killed
 *
 * All else is noise. Whatever is damaged, missing or out of order makes the answer one that was cut: the same is asked
 * again, so nothing here is an error but a sink that refuses.
 */
#ifndef SANDLOT_SDK_REMOTE_COMMAND_ANSWER_H
#define SANDLOT_SDK_REMOTE_COMMAND_ANSWER_H

#include "remote_command_script.h"

enum {
    REMOTE_FRAME_MAXIMUM = 1024 * 1024, /* bytes of one frame */
    REMOTE_SEAL_LENGTH = 2 + REMOTE_TOKEN_SIZE - 1 + 1
};

enum remote_verdict { REMOTE_CUT, REMOTE_MORE, REMOTE_END, REMOTE_ABSENT, REMOTE_ERROR, REMOTE_LOST, REMOTE_KILLED };

/* The output of a job, over all sendings. */
struct remote_output {
    const struct sandlot_sink *sink;
    enum sandlot_status status; /* of the sink */
    char seal[REMOTE_SEAL_LENGTH + 1];
    bool sealed;     /* the command's output is complete */
    uint64_t offset; /* bytes that have come, the seal and what followed it included */
    char *bytes;     /* bytes kept back, then those of the frame at hand */
    size_t kept;     /* they may be the beginning of the seal */
    size_t length;   /* of the frame so far */
};

/* SEAL: the job's. False: out of memory. */
bool remote_output_open(struct remote_output *output, const struct sandlot_sink *sink, const char *seal);
void remote_output_close(struct remote_output *output);

/* Hands on what was kept back, when no seal will come any more. */
enum sandlot_status remote_output_finish(struct remote_output *output);

/* The answer to one sending. */
struct remote_answer {
    struct sandlot_sink sink; /* for the channel */
    struct remote_output *output;
    const char *token;

    char line[512];
    size_t used;
    bool too_long; /* the rest of the line is passed over */

    bool in_frame;
    bool damaged; /* the frame at hand */
    char kind;
    uint64_t at;       /* of the frame at hand */
    uint64_t promised; /* its length */
    uint32_t bits;
    int digits;
    bool padded;

    bool progressed; /* something new has come */
    enum remote_verdict verdict;
    int code;
    bool late;
    char error[16];
};

void remote_answer_init(struct remote_answer *answer, struct remote_output *output, const char *token);

/* After the last byte: takes a last line that has no end. */
void remote_answer_finish(struct remote_answer *answer);

/* What cksum(1) prints first. */
uint32_t remote_cksum(const void *bytes, size_t length);

#endif
