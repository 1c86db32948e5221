/* Calling a tool: from its arguments to the answer, as JSON. */
#include "tools/call.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/text.h"
#include "session/session.h"
#include "tools/json.h"
#include "tools/text.h"
#include "tools/work.h"

#include <inttypes.h>
#include <string.h>

enum { ERROR_TEXT = 1900, SHOWN_NAME = 60 };

#define CALL_LEAST SIZED_UP_TO(struct sandlot_tool_call, arguments)
#define ANSWER_LEAST SIZED_UP_TO(struct sandlot_tool_answer, meta)

static int (*const runs[TOOLS])(const struct work *work, struct reply *reply,
                                struct sandlot_error *error) = {[TOOL_LS] = tool_ls,
                                                                [TOOL_READ_FILE] = tool_read_file,
                                                                [TOOL_WRITE_FILE] = tool_write_file,
                                                                [TOOL_EDIT_FILE] = tool_edit_file,
                                                                [TOOL_GLOB] = tool_glob,
                                                                [TOOL_GREP] = tool_grep,
                                                                [TOOL_EXECUTE] = tool_execute,
                                                                [TOOL_PROCESS] = tool_process,
                                                                [TOOL_DELETE] = tool_delete};

bool sandlot_session_can_execute(const struct sandlot_session *session)
{
    return session->provider->table.execute;
}

int reply_set(struct reply *reply, char *text, size_t length, struct sandlot_error *error)
{
    reply->text = text;
    reply->text_length = length;
    return text ? 0 : error_no_memory(error);
}

static void reply_clear(struct reply *reply)
{
    free(reply->text);
    free(reply->data);
    *reply = (struct reply){.next_offset = -1};
}

/* An error that whoever called can read and mend becomes the reply. */
static void reply_with_problem(struct reply *reply, const struct sandlot_error *problem)
{
    size_t length = strlen(problem->message);
    size_t end = length > ERROR_TEXT ? ERROR_TEXT : length;

    while (end < length && end > 0 && ((unsigned char)problem->message[end] & 0xc0) == 0x80)
        end--;
    reply_clear(reply);
    reply->is_error = true;
    reply->text = text_format("%.*s%s", (int)end, problem->message, end < length ? " ..." : "");
    reply->text_length = reply->text ? strlen(reply->text) : 0;
}

static char *content_of(const struct reply *reply)
{
    struct buffer json = {0};

    buffer_add_text(&json, "[{\"type\":\"text\",\"text\":");
    json_add_string(&json, reply->text, reply->text_length);
    buffer_add(&json, "}", 1);
    if (reply->media.kind != MEDIA_NONE) {
        buffer_format(&json, ",{\"type\":\"%s\",\"data\":\"", reply->media.kind == MEDIA_IMAGE ? "image" : "audio");
        buffer_add(&json, reply->data, reply->data_length);
        buffer_format(&json, "\",\"mimeType\":\"%s\"}", reply->media.mime_type);
    }
    buffer_add(&json, "]", 1);
    return buffer_take(&json, NULL);
}

static const char *word(bool value)
{
    return value ? "true" : "false";
}

static char *meta_of(const struct reply *reply, const struct sandlot_session *session, enum sandlot_code code,
                     int64_t duration_ms)
{
    const char *id = sandlot_session_id(session);
    size_t id_length = 0;
    AUTO_FREE char *valid_id = text_utf8_replace(id ? id : "", id ? strlen(id) : 0, &id_length);
    struct buffer json = {0};

    if (!valid_id)
        return NULL;
    buffer_add_text(&json, "{\"sandlot/sandbox_id\":");
    json_add_string(&json, valid_id, id_length);
    buffer_format(&json, ",\"sandlot/duration_ms\":%" PRId64 ",\"sandlot/truncated\":%s", duration_ms,
                  word(reply->truncated));
    if (reply->ran && reply->has_exit_code)
        buffer_format(&json, ",\"sandlot/exit_code\":%d", reply->exit_code);
    if (reply->ran)
        buffer_format(&json, ",\"sandlot/timed_out\":%s", word(reply->timed_out));
    if (*reply->process)
        buffer_format(&json, ",\"sandlot/process\":\"%s\"", reply->process);
    if (reply->next_offset >= 0)
        buffer_format(&json, ",\"sandlot/next_offset\":%" PRId64, reply->next_offset);
    if (code != SANDLOT_CODE_OK)
        buffer_format(&json, ",\"sandlot/error\":\"%s\"", sandlot_code_name(code));
    buffer_add(&json, "}", 1);
    return buffer_take(&json, NULL);
}

static int answer_with(const struct reply *reply, const struct sandlot_session *session, enum sandlot_code code,
                       int64_t started_ms, struct sandlot_tool_answer *answer, struct sandlot_error *error)
{
    struct sandlot_tool_answer full = {.is_error = reply->is_error,
                                       .content = reply->text ? content_of(reply) : NULL,
                                       .meta = meta_of(reply, session, code, sandlot_now_ms() - started_ms)};

    if (!full.content || !full.meta) {
        free(full.content);
        free(full.meta);
        return error_no_memory(error);
    }
    sized_write(answer, &full, sizeof(full));
    return 0;
}

/* Reads the arguments and does the work. 0 with REPLY, which may be about a problem, -1 with the error. */
static int work_off(struct sandlot_session *session, const struct tool *tool, const struct sandlot_tool_call *call,
                    struct reply *reply, enum sandlot_code *code, struct sandlot_error *error)
{
    size_t maximum = call->maximum_bytes ? call->maximum_bytes : TEXT_DEFAULT;
    struct sandlot_error problem = {0};
    struct arguments arguments;
    enum arguments_state state = arguments_read(tool, call->arguments, &arguments, &problem);
    const struct work work = {.session = session,
                              .call = call,
                              .arguments = &arguments,
                              .maximum = maximum < TEXT_LEAST ? TEXT_LEAST : maximum};
    bool failed = state != ARGUMENTS_FINE || runs[tool - tool_table](&work, reply, &problem) < 0;
    bool passed_on = state == ARGUMENTS_NO_OBJECT || problem.code == SANDLOT_CODE_CANCELLED;

    if (failed && passed_on)
        error_set(error, problem.code, "%s", problem.message);
    else if (failed)
        reply_with_problem(reply, &problem);
    *code = failed ? problem.code : reply->timed_out ? SANDLOT_CODE_TIMEOUT : SANDLOT_CODE_OK;
    sandlot_error_clear(&problem);
    arguments_clear(&arguments);
    return failed && passed_on ? -1 : 0;
}

int tool_call(struct sandlot_session *session, const struct sandlot_tool_call *call, struct sandlot_tool_answer *answer,
              struct tool_news *news, struct sandlot_error *error)
{
    int64_t started_ms = sandlot_now_ms();
    const struct tool *tool = call->name ? tool_find(call->name) : NULL;

    *news = (struct tool_news){0};
    if (!tool)
        return error_set(error, SANDLOT_CODE_USAGE,
                         "there is no tool '%.*s'; the tools are ls, read_file, write_file, edit_file, glob, grep, "
                         "execute, process and delete",
                         SHOWN_NAME, call->name ? call->name : "");
    struct reply reply = {.next_offset = -1};
    enum sandlot_code code = SANDLOT_CODE_OK;
    int failed = work_off(session, tool, call, &reply, &code, error);

    if (!failed)
        failed = answer_with(&reply, session, code, started_ms, answer, error);
    if (!failed) {
        snprintf(news->process, sizeof(news->process), "%s", reply.process);
        news->next = reply.next_offset;
    }
    reply_clear(&reply);
    return failed;
}

void tool_news_arrived(struct sandlot_session *session, const struct tool_news *news)
{
    if (*news->process)
        process_cursor_set(session, news->process, news->next);
}

int sandlot_call_tool(struct sandlot_session *session, const struct sandlot_tool_call *call,
                      struct sandlot_tool_answer *answer, struct sandlot_error *error)
{
    struct sandlot_tool_call own;
    struct tool_news news;

    if (sized_read(&own, sizeof(own), call, CALL_LEAST, "sandlot_tool_call", error) < 0 ||
        sized_check(answer, ANSWER_LEAST, "sandlot_tool_answer", error) < 0)
        return -1;
    int failed = tool_call(session, &own, answer, &news, error);

    /* What nobody gets to see is news the next time. */
    if (!failed && cancellation_check(cancellation_fd(own.cancellation), NULL) == 0)
        tool_news_arrived(session, &news);
    return failed;
}

void sandlot_tool_answer_clear(struct sandlot_tool_answer *answer)
{
    if (!answer)
        return;
    free(answer->content);
    free(answer->meta);
    answer->content = NULL;
    answer->meta = NULL;
    answer->is_error = false;
}
