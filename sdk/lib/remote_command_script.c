#include "remote_command_script.h"

#include "remote_command_box.h"

#include <sandlot/sdk/cleanup.h>

#include <inttypes.h>
#include <string.h>

enum {
    MOST_STREAMED = 8 * 1024 * 1024, /* bytes of output in one answer, so that what was received is let go of */
    MOST_AT_ONCE = 4 * 1024 * 1024,
    LONGEST_PIECE = 8 /* of one byte of a value */
};

/* The command's text comes from a file: read as a whole, so that `$0` and the like are as with -c. */
static const char from_file[] = "set -- \"$(cat \"$1\" && echo .)\"; eval \"set --\n${1%.}\"";

/* ---- text -------------------------------------------------------------------------------------------------------- */

static bool add(struct sdk_buffer *text, const char *more)
{
    return sdk_buffer_add(text, more, strlen(more)) == SDK_GROWN;
}

/* How BYTE is written in single quotes, or, if PRINTED, in the format of printf(1) within them. */
static size_t put_byte(char out[LONGEST_PIECE], unsigned char byte, bool printed)
{
    bool plain = (byte >= ' ' && byte < 0x7f) || byte == '\n';

    if (printed && (!plain || byte == '\''))
        return (size_t)snprintf(out, LONGEST_PIECE, "\\%03o", byte);
    if (byte == '\'')
        return (size_t)snprintf(out, LONGEST_PIECE, "'\\''");
    if (printed && (byte == '%' || byte == '\\')) {
        out[0] = byte == '%' ? '%' : '\\';
        out[1] = (char)byte;
        return 2;
    }
    out[0] = (char)byte;
    return 1;
}

static bool add_bytes(struct sdk_buffer *text, const char *value, bool printed)
{
    char block[512];
    size_t used = 0;

    for (; *value; value++) {
        if (used > sizeof(block) - LONGEST_PIECE) {
            if (sdk_buffer_add(text, block, used) != SDK_GROWN)
                return false;
            used = 0;
        }
        used += put_byte(block + used, (unsigned char)*value, printed);
    }
    return sdk_buffer_add(text, block, used) == SDK_GROWN;
}

static bool is_plain(const char *value)
{
    for (; *value; value++)
        if ((*value < ' ' && *value != '\n') || *value > '~')
            return false;
    return true;
}

/* NAME=VALUE in ASCII without control characters. The "." keeps newlines at the end. */
static bool add_value(struct sdk_buffer *text, const char *name, const char *value)
{
    if (!add(text, name))
        return false;
    if (is_plain(value))
        return add(text, "='") && add_bytes(text, value, false) && add(text, "'\n");
    return add(text, "=$(printf '") && add_bytes(text, value, true) && add(text, ".')\n") && add(text, name) &&
           add(text, "=${") && add(text, name) && add(text, "%.}\n");
}

static bool add_number(struct sdk_buffer *text, const char *name, uint64_t number)
{
    char line[64];

    snprintf(line, sizeof(line), "%s=%" PRIu64 "\n", name, number);
    return add(text, line);
}

/* The variables of the command, as commands that export them. */
static bool add_environment(struct sdk_buffer *text, const char *const *variables)
{
    AUTO_FREE char *commands = NULL;
    struct sdk_buffer exports = {.limit = text->limit};
    bool done = true;

    for (; done && variables && *variables; variables++) {
        const char *value = strchr(*variables, '=');
        AUTO_FREE char *name = value ? strndup(*variables, (size_t)(value - *variables)) : NULL;

        done = name && add(&exports, "export ") && add(&exports, name) && add(&exports, "='") &&
               add_bytes(&exports, value + 1, false) && add(&exports, "'\n");
    }
    commands = sdk_buffer_take(&exports);
    return done && commands && add_value(text, "s_env", commands);
}

/* ---- scripts ----------------------------------------------------------------------------------------------------- */

static bool add_beginning(struct sdk_buffer *text, const struct remote_job *job, const struct remote_ask *ask)
{
    char halves[96];

    snprintf(halves, sizeof(halves), "s_a=%.16s\ns_b=%s\ns_id=%s\n", ask->token, ask->token + 16, job->id);
    return add(text, remote_box_prologue) && add(text, halves) && add_number(text, "s_linger", (uint64_t)job->linger_s);
}

static bool add_limit(struct sdk_buffer *text, int64_t timeout_ms)
{
    char limit[64] = "s_limit=\n";

    if (timeout_ms > 0 && timeout_ms % 1000 == 0)
        snprintf(limit, sizeof(limit), "s_limit=%" PRId64 "\n", timeout_ms / 1000);
    else if (timeout_ms > 0)
        snprintf(limit, sizeof(limit), "s_limit=%" PRId64 ".%03d\n", timeout_ms / 1000, (int)(timeout_ms % 1000));
    return add(text, limit);
}

static bool add_start(struct sdk_buffer *text, const struct remote_job *job)
{
    return add_value(text, "s_cmd", *job->text ? from_file : job->command->command) &&
           add_value(text, "s_cwd", job->working_dir ? job->working_dir : "") &&
           add_environment(text, job->command->environment) && add_value(text, "s_in", job->input) &&
           add_value(text, "s_long", job->text) && add_value(text, "s_seal", job->seal) &&
           add_limit(text, job->command->timeout_ms);
}

static size_t most_of(const struct remote_ask *ask)
{
    if (ask->answer_bytes > 0)
        return ask->answer_bytes;
    return ask->streams ? MOST_STREAMED : MOST_AT_ONCE;
}

bool remote_script_ask(struct sdk_buffer *text, const struct remote_job *job, const struct remote_ask *ask)
{
    return add_beginning(text, job, ask) && add_number(text, "s_at", ask->from) &&
           add_number(text, "s_hold", (uint64_t)ask->hold_ms / 10) &&
           add_number(text, "s_patience", (uint64_t)ask->patience_ms / 10) &&
           add_number(text, "s_most", most_of(ask)) && add_value(text, "s_streams", ask->streams ? "1" : "") &&
           add_value(text, "s_sealed", ask->sealed ? "1" : "") && add_value(text, "s_go", ask->start ? "1" : "") &&
           (!ask->start || add_start(text, job)) && add(text, remote_box_tools) &&
           (!ask->start || add(text, remote_box_supervisor)) && add(text, remote_box_common) &&
           (!ask->start || add(text, remote_box_start)) && add(text, remote_box_watch) && add(text, remote_box_run);
}

bool remote_script_kill(struct sdk_buffer *text, const struct remote_job *job, const struct remote_ask *ask)
{
    return add_beginning(text, job, ask) && add_value(text, "s_in", job->input) &&
           add_value(text, "s_long", job->text) && add(text, remote_box_tools) && add(text, remote_box_common) &&
           add(text, remote_box_kill);
}
