/* The reply about what a command has printed: all of it, or its ends and where the rest is. */
#ifndef SANDLOT_TOOLS_EXECUTE_REPLY_H
#define SANDLOT_TOOLS_EXECUTE_REPLY_H

#include "operations/output.h"
#include "tools/text.h"
#include "tools/work.h"

/* What a command printed, ready to be shown. */
struct printed {
    char *text; /* to be freed */
    size_t length;
    bool incomplete; /* more came than is kept at all */
    uint64_t total;  /* bytes that came */
};

/* Takes what OUTPUT holds. PRINTED->text is NULL when out of memory. */
void printed_take(struct output *output, struct printed *printed);

/* Shows PRINTED, with STATUS as its last line. 0 or -1. */
int execute_reply(const struct work *work, const struct printed *printed, const char *status, struct reply *reply,
                  struct sandlot_error *error);

/* `execute` with `background` (process_tool.c). */
int execute_in_background(const struct work *work, struct reply *reply, struct sandlot_error *error);

#endif
