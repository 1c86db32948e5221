/* What is sent to the sandbox. */
#ifndef SANDLOT_SDK_REMOTE_COMMAND_SCRIPT_H
#define SANDLOT_SDK_REMOTE_COMMAND_SCRIPT_H

#include <sandlot/sdk/random.h>
#include <sandlot/sdk/remote_command.h>

#include "text.h"

enum { REMOTE_TOKEN_DIGITS = 32, REMOTE_TOKEN_SIZE = REMOTE_TOKEN_DIGITS + 1, REMOTE_ID_SIZE = RANDOM_UUID_SIZE };

/* One job: what does not change from script to script. */
struct remote_job {
    const struct sandlot_command *command;
    const char *working_dir; /* NULL: where scripts start */
    char id[REMOTE_ID_SIZE];
    char seal[REMOTE_TOKEN_SIZE]; /* stands behind the command's output */
    char input[64];               /* file of the standard input, "" if there is none */
    char text[64];                /* file of a command that is too long for a script, or "" */
    int linger_s;
};

/* One sending. */
struct remote_ask {
    char id[REMOTE_ID_SIZE];
    char token[REMOTE_TOKEN_SIZE]; /* marks the lines of its answer */
    bool start;                    /* the job, if it is not there */
    bool sealed;                   /* the seal has been received */
    bool streams;
    size_t answer_bytes; /* as in remote_channel */
    uint64_t from;       /* the first byte that is missing */
    int64_t hold_ms;     /* answer within this time */
    int64_t patience_ms; /* without streaming: hand out what has waited for so long */
};

/* Write the script to TEXT, whose limit is set. False: out of memory or beyond the limit. */
bool remote_script_ask(struct sdk_buffer *text, const struct remote_job *job, const struct remote_ask *ask);
bool remote_script_kill(struct sdk_buffer *text, const struct remote_job *job, const struct remote_ask *ask);

#endif
