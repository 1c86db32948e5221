/*
 * sandlot/sdk/text_sink.h - a sink that keeps the beginning of what it gets: for short answers of scripts.
 *
 *   char said[512];
 *   struct text_sink answer;
 *
 *   text_sink_init(&answer, said, sizeof(said));
 *   status = run_script(call, sandbox, script, &answer.sink);
 */
#ifndef SANDLOT_SDK_TEXT_SINK_H
#define SANDLOT_SDK_TEXT_SINK_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

struct text_sink {
    struct sandlot_sink sink; /* to be passed on; its context is this struct, which must not be moved */
    char *bytes;
    size_t capacity;
    size_t length;
};

/* Keeps CAPACITY - 1 bytes in BYTES, which are the caller's and end with NUL at any time; what does not fit is taken
 * and dropped. CAPACITY is at least 1. */
void text_sink_init(struct text_sink *text, char *bytes, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
