/* grep: the sandbox's grep finds the lines, this side decides which files count. */
#include "base/cleanup.h"
#include "base/error.h"
#include "operations/derived/derived.h"
#include "operations/derived/frame.h"
#include "operations/derived/search_box.h"

#include <string.h>

enum {
    NAME_MAXIMUM = 1 << 16,
    LINE_MAXIMUM = 64 << 20,
    END_MS = 1000 /* what a command's end may take beyond its time */
};

/* Where nothing was found and something failed: is that because a tool can do too little? */
static const char doubt_script[] =
    "echo x | grep -qaF -e x || s_need grep_with_-a\n"
    "[ ! -d \"$f\" ] || [ \"$(find / -prune -exec sh -c 'echo \"$1\"' x {} +)\" = / ] || "
    "s_need find_with_-exec_+\n"
    "s_end\n";

enum place {
    LINE_START,
    BLOCK_NAME,  /* between two NULs */
    LINE_NAME,   /* up to ":" */
    LINE_NUMBER, /* up to ":" */
    LINE_TEXT,   /* up to the newline */
    STATUS,      /* up to the newline */
    ENDED
};

struct reader {
    const struct file_call *call;
    const struct search *search;
    struct matches *found;
    bool begun;
    bool full;   /* there is more than may be kept */
    bool any;    /* a line or a block has come */
    bool failed; /* so the sandbox said */
    enum place place;
    bool in_block;
    struct frame_bytes name; /* of the file, NUL after it when it is whole */
    const char *path;        /* the same among FOUND; NULL: not there yet */
    bool wanted;             /* does the filter let the file through? */
    int64_t line;
    struct frame_bytes text;
};

/* A file's name is whole: does it count? */
static int take_name(struct reader *reader, struct sandlot_error *error)
{
    const struct pattern *filter = reader->search->filter;
    const char *name = reader->name.bytes;
    char whole[NAME_MAXIMUM];

    reader->path = NULL;
    reader->wanted = true;
    if (name[0] == '/' && strcmp(name, reader->call->path) == 0) {
        reader->path = matches_path(reader->found, name);
        return reader->path ? 0 : error_no_memory(error);
    }
    if (strncmp(name, "./", 2) != 0 || !name[2])
        return frame_damaged(error, "the name of a file is none");
    reader->wanted = !filter || pattern_matches(filter, name + 2);
    if (!reader->wanted)
        return 0;
    int length = snprintf(whole, sizeof(whole), "%s/%s", reader->call->path[1] ? reader->call->path : "", name + 2);

    if (length < 0 || (size_t)length >= sizeof(whole))
        return frame_damaged(error, "the name of a file is too long");
    reader->path = matches_path(reader->found, whole);
    return reader->path ? 0 : error_no_memory(error);
}

/* Takes bytes of a name up to STOP; 1 when it is whole. */
static int read_name(struct reader *reader, const char **at, const char *end, char stop, struct sandlot_error *error)
{
    const char *found = memchr(*at, stop, (size_t)(end - *at));
    size_t length = (size_t)((found ? found : end) - *at);

    if (frame_bytes_add(&reader->name, *at, length, error) < 0)
        return -1;
    *at += length + (found != NULL);
    if (!found)
        return 0;
    return frame_bytes_add(&reader->name, "", 1, error) < 0 ? -1 : 1;
}

/* Many lines of one file come one after the other: its name is looked at once. */
static int read_line_name(struct reader *reader, const char **at, const char *end, struct sandlot_error *error)
{
    int whole = read_name(reader, at, end, ':', error);

    if (whole != 1)
        return whole;
    const char *known = reader->path;
    const char *folder = reader->call->path[1] ? reader->call->path : "";
    size_t length = strlen(folder);
    bool same = known && strncmp(known, folder, length) == 0 && strlen(reader->name.bytes) > 2 &&
                strcmp(known + length, reader->name.bytes + 1) == 0;

    if (!same && take_name(reader, error) < 0)
        return -1;
    reader->place = LINE_NUMBER;
    reader->line = 0;
    return 0;
}

static int read_block_name(struct reader *reader, const char **at, const char *end, struct sandlot_error *error)
{
    int whole = read_name(reader, at, end, '\0', error);

    if (whole != 1)
        return whole;
    reader->in_block = reader->name.bytes[0] != '\0';
    reader->place = LINE_START;
    reader->path = NULL;
    return reader->in_block ? take_name(reader, error) : 0;
}

static int read_number(struct reader *reader, char c, struct sandlot_error *error)
{
    if (c == ':' && reader->line > 0) {
        reader->place = LINE_TEXT;
        reader->text.length = 0;
        return 0;
    }
    if (c < '0' || c > '9' || reader->line > INT64_MAX / 10 - 1)
        return frame_damaged(error, "the number of a line is none");
    reader->line = reader->line * 10 + (c - '0');
    return 0;
}

static int take_line(struct reader *reader, const char *text, size_t length, struct sandlot_error *error)
{
    reader->place = LINE_START;
    if (!reader->wanted)
        return 0;
    if (reader->found->bytes + length > MATCHES_BYTES_MAXIMUM) {
        reader->full = true;
        return error_set(error, SANDLOT_CODE_CANCELLED, "enough was found");
    }
    return matches_add(reader->found, reader->path, reader->line, text, length) ? 0 : error_no_memory(error);
}

static int read_text(struct reader *reader, const char **at, const char *end, struct sandlot_error *error)
{
    const char *text = *at;
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    size_t length = (size_t)((newline ? newline : end) - text);

    *at += length + (newline != NULL);
    if (newline && reader->text.length == 0)
        return take_line(reader, text, length, error);
    if (reader->text.length + length > LINE_MAXIMUM) {
        reader->full = true;
        return error_set(error, SANDLOT_CODE_CANCELLED, "enough was found");
    }
    if (reader->wanted && frame_bytes_add(&reader->text, text, length, error) < 0)
        return -1;
    return newline ? take_line(reader, reader->text.bytes ? reader->text.bytes : "", reader->text.length, error) : 0;
}

static int start_line(struct reader *reader, const char **at, struct sandlot_error *error)
{
    if (**at == '!' && !reader->in_block) {
        reader->place = STATUS;
        (*at)++;
        return 0;
    }
    reader->any = true;
    if (**at == '\0') {
        reader->place = BLOCK_NAME;
        reader->name.length = 0;
        (*at)++;
        return 0;
    }
    if (reader->in_block) {
        reader->place = LINE_NUMBER;
        reader->line = 0;
        return 0;
    }
    if (**at != '.')
        return frame_damaged(error, "a line does not begin with the name of a file");
    reader->place = LINE_NAME;
    reader->name.length = 0;
    return 0;
}

static int read_status(struct reader *reader, char c, struct sandlot_error *error)
{
    if (c == '\n')
        reader->place = ENDED;
    else if (c < '0' || c > '9')
        return frame_damaged(error, "the status of the search is none");
    else
        reader->failed = reader->failed || c != '0';
    return 0;
}

static int read_data(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    struct reader *reader = context;
    const char *at = bytes;
    const char *end = at + length;
    int failed = 0;

    if (strcmp(name, "lines") != 0)
        return frame_damaged(error, "there is a record that nobody asked for");
    if (length == 0 && reader->place != ENDED)
        return frame_damaged(error, "the last line is missing");
    while (at < end && !failed) {
        switch (reader->place) {
        case LINE_START:
            failed = start_line(reader, &at, error);
            break;
        case BLOCK_NAME:
            failed = read_block_name(reader, &at, end, error);
            break;
        case LINE_NAME:
            failed = read_line_name(reader, &at, end, error);
            break;
        case LINE_NUMBER:
            failed = read_number(reader, *at++, error);
            break;
        case LINE_TEXT:
            failed = read_text(reader, &at, end, error);
            break;
        case STATUS:
            failed = read_status(reader, *at++, error);
            break;
        case ENDED:
            failed = frame_damaged(error, "there is something after the last line");
            break;
        }
    }
    return failed;
}

static int read_word(void *context, const char *name, const char *value, struct sandlot_error *error)
{
    struct reader *reader = context;

    (void)value;
    reader->begun = strcmp(name, "begun") == 0;
    return reader->begun ? 0 : frame_damaged(error, "there is a record that nobody asked for");
}

/* Runs SCRIPT; 1: it was not finished, but what was found counts. */
static int run(const struct file_call *call, const struct script *script, struct reader *reader,
               struct sandlot_error *error)
{
    const struct frame_receiver receiver = {reader, read_word, read_data};
    struct file_call limited = *call;
    struct sandlot_error why = {0};

    limited.deadline_ms = sandlot_now_ms() + FILE_GREP_MS + END_MS;
    int failed = frame_run(&limited, script, &receiver, &why);
    bool cut = failed && (reader->full || (reader->begun && why.code == SANDLOT_CODE_TIMEOUT));

    if (failed && !cut)
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    return cut ? 1 : failed;
}

/* Fails if the tools of the sandbox are why nothing was found. */
static int doubt(const struct file_call *call, struct sandlot_error *error)
{
    CLEANUP(script_clear) struct script script;

    script_init(&script);
    script_set(&script, "f", call->path);
    script_add(&script, doubt_script);
    return frame_run(call, &script, NULL, error);
}

int derived_search(const struct file_call *call, const struct search *search, struct matches *found, bool *truncated,
                   struct sandlot_error *error)
{
    AUTO_FREE char *text = strndup(search->text, search->length);
    CLEANUP(script_clear) struct script script;
    struct reader reader = {.call = call,
                            .search = search,
                            .found = found,
                            .name = {.maximum = NAME_MAXIMUM},
                            .text = {.maximum = LINE_MAXIMUM}};

    script_init(&script);
    if (!text)
        return error_no_memory(error);
    script_set(&script, "f", call->path);
    script_set(&script, "p", text);
    script_add(&script, search_box);
    if (script.text && !script_fits(&script))
        return error_set(error, SANDLOT_CODE_INVALID_PATTERN,
                         "the text to look for is too long (%zu bytes); look for a part of it", search->length);
    int result = run(call, &script, &reader, error);

    if (result == 0 && reader.failed && !reader.any)
        result = doubt(call, error);
    frame_bytes_clear(&reader.name);
    frame_bytes_clear(&reader.text);
    if (result < 0)
        return -1;
    matches_sort(found);
    *truncated = result == 1;
    if (search->maximum > 0 && found->count > search->maximum) {
        found->count = (size_t)search->maximum;
        *truncated = true;
    }
    return 0;
}
