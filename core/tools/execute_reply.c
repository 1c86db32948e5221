#include "tools/execute_reply.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "tools/saved_output.h"

#include <inttypes.h>
#include <string.h>

enum { NOTE_ROOM = 1200, LONGEST_REASON = 300 };

static char *note_of_incomplete(const struct printed *printed)
{
    return printed->incomplete ? text_format("the command printed %" PRIu64
                                             " bytes, of which only the first and the last %" PRIu64 " were kept",
                                             printed->total, SANDLOT_DEFAULT_OUTPUT_LIMIT / 2)
                               : strdup("");
}

/* What is not shown, and where it is: PATH, or nowhere, for the reason WHY. */
static char *note_of_gap(const struct printed *printed, const struct text_gap *gap, const char *path,
                         const struct sandlot_error *why)
{
    AUTO_FREE char *incomplete = note_of_incomplete(printed);
    AUTO_FREE char *left_out =
        gap->whole_lines ? text_format("%" PRIu64 " line%s", gap->lines_left_out, gap->lines_left_out == 1 ? "" : "s")
                         : text_format("%zu bytes", gap->bytes_left_out);

    if (!incomplete || !left_out)
        return NULL;
    if (!path)
        return text_format("[Output cut: %s left out after line %" PRIu64 "%s%s. Nothing was saved: %.*s. Run the "
                           "command again with its output redirected to a file.]",
                           left_out, gap->lines_before, *incomplete ? "; " : "", incomplete, LONGEST_REASON,
                           why->message);
    if (printed->incomplete)
        return text_format("[Output cut: %s left out after line %" PRIu64 "; the saved file %s is incomplete too: %s. "
                           "Page through it with read_file offset and limit, or grep it.]",
                           left_out, gap->lines_before, path, incomplete);
    return text_format("[Output cut: %s left out after line %" PRIu64 "; all of it is in %s, page through it with "
                       "read_file offset and limit, or grep it.]",
                       left_out, gap->lines_before, path);
}

/* The output does not fit: its ends, and where the rest is. */
static int reply_in_part(const struct work *work, const struct printed *printed, const struct text_gap *gap,
                         const char *status, struct reply *reply, struct sandlot_error *error)
{
    struct sandlot_error why = {0};
    AUTO_FREE char *path = saved_output(work->session, printed->text, printed->length, work->call->cancellation, &why);

    if (why.code == SANDLOT_CODE_CANCELLED) {
        sandlot_error_clear(&why);
        return error_set(error, SANDLOT_CODE_CANCELLED, "the call was cancelled while its output was saved");
    }
    AUTO_FREE char *note = note_of_gap(printed, gap, path, &why);
    /* The reason may be cut within a character. */
    AUTO_FREE char *valid = note ? text_utf8_replace(note, strlen(note), NULL) : NULL;
    size_t length = 0;
    char *text = valid ? text_of_result(printed->text, printed->length, gap, valid, status, &length) : NULL;

    sandlot_error_clear(&why);
    reply->truncated = true;
    return reply_set(reply, text, length, error);
}

int execute_reply(const struct work *work, const struct printed *printed, const char *status, struct reply *reply,
                  struct sandlot_error *error)
{
    struct text_gap gap;

    if (!printed->text || !status)
        return error_no_memory(error);
    size_t room = work->maximum - strlen(status) - 2;

    if (printed->length > room && text_gap_find(printed->text, printed->length, room - NOTE_ROOM, &gap))
        return reply_in_part(work, printed, &gap, status, reply, error);
    AUTO_FREE char *incomplete = note_of_incomplete(printed);
    AUTO_FREE char *note = incomplete && *incomplete ? text_format("[Output incomplete: %s.]", incomplete) : NULL;
    size_t length = 0;
    char *text = text_of_result(printed->text, printed->length, NULL, note, status, &length);

    reply->truncated = printed->incomplete;
    return reply_set(reply, text, length, error);
}

void printed_take(struct output *output, struct printed *printed)
{
    size_t length = 0;

    printed->total = output->total;
    AUTO_FREE char *raw = output_take(output, &length, &printed->incomplete);

    printed->text = raw ? text_of_output(raw, length, &printed->length) : NULL;
}
