/* One call of a tool: what it is to do, and what became of it. */
#ifndef SANDLOT_TOOLS_WORK_H
#define SANDLOT_TOOLS_WORK_H

#include "tools/arguments.h"
#include "tools/media.h"

#include <sandlot/sandlot.h>

struct work {
    struct sandlot_session *session;
    const struct sandlot_tool_call *call;
    const struct arguments *arguments;
    size_t maximum; /* bytes of text */
};

struct reply {
    char *text; /* of TEXT_LENGTH bytes, UTF-8 */
    size_t text_length;
    struct media media; /* kind MEDIA_NONE: the text is all */
    char *data;         /* of the media, base64 */
    size_t data_length;
    bool is_error;
    bool truncated; /* something is not shown */
    bool ran;       /* a command ran: the next three count */
    bool has_exit_code;
    bool timed_out;
    int exit_code;
    int64_t next_offset;                   /* -1: none */
    char process[SANDLOT_PROCESS_ID_SIZE]; /* the background process that it is about; "": none */
};

/* Takes TEXT (NULL: out of memory) of LENGTH bytes as the reply's. 0 or -1 with the error. */
int reply_set(struct reply *reply, char *text, size_t length, struct sandlot_error *error);

/* Each does one tool's work. 0 with the reply, or -1 with the error. */
int tool_ls(const struct work *work, struct reply *reply, struct sandlot_error *error);
int tool_read_file(const struct work *work, struct reply *reply, struct sandlot_error *error);
int tool_write_file(const struct work *work, struct reply *reply, struct sandlot_error *error);
int tool_edit_file(const struct work *work, struct reply *reply, struct sandlot_error *error);
int tool_glob(const struct work *work, struct reply *reply, struct sandlot_error *error);
int tool_grep(const struct work *work, struct reply *reply, struct sandlot_error *error);
int tool_execute(const struct work *work, struct reply *reply, struct sandlot_error *error);
int tool_process(const struct work *work, struct reply *reply, struct sandlot_error *error);
int tool_delete(const struct work *work, struct reply *reply, struct sandlot_error *error);

#endif
