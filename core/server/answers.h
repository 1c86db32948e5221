/* The texts that go out. All are one line of JSON, to be freed; NULL when out of memory. */
#ifndef SANDLOT_SERVER_ANSWERS_H
#define SANDLOT_SERVER_ANSWERS_H

#include "server/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TEXT as a JSON string; what is not UTF-8 becomes U+FFFD. */
char *json_quote(const char *text, size_t length);

/* ID is the raw text, NULL to leave it out; DATA is JSON, or NULL. */
char *answer_error(const char *id, enum rpc_code code, const char *message, const char *data);

/* RESULT is an object's members, such as "\"a\":1"; may be "". INFO (NULL: a legacy answer) is the server's description
 * that modern results carry. META: more members of "_meta"; may be NULL. */
char *answer_result(const char *id, const char *result, const char *info, const char *meta);

/* The result of a tool. CONTENT is an array of blocks, META an object or NULL: the last block's "_meta", and the
 * result's own where there is no block. */
char *answer_tool(const char *id, const char *content, const char *meta, bool is_error, const char *info);

/* The content of a tool's result that is one text. */
char *answer_content(const char *text);

char *notice_progress(const char *token, int64_t elapsed_ms, const char *message, size_t length);

/* That a subscription ID stands; nothing can be subscribed to. */
char *notice_subscribed(const char *id);

#endif
