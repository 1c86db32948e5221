/* Calls of tools, for those who learn later whether anybody gets the answer. */
#ifndef SANDLOT_TOOLS_CALL_H
#define SANDLOT_TOOLS_CALL_H

#include <sandlot/sandlot.h>

/* What an answer tells of a background process: its output up to NEXT. */
struct tool_news {
    char process[SANDLOT_PROCESS_ID_SIZE]; /* "": nothing */
    int64_t next;
};

/* As sandlot_call_tool, with structs that are whole; NEWS, which it sets, stays news until tool_news_arrived. */
int tool_call(struct sandlot_session *session, const struct sandlot_tool_call *call, struct sandlot_tool_answer *answer,
              struct tool_news *news, struct sandlot_error *error);

/* The answer is on its way, or nobody can call it back any more. */
void tool_news_arrived(struct sandlot_session *session, const struct tool_news *news);

#endif
