#include "multipart.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static enum sandlot_status damaged(const struct multipart *reader, const char *what)
{
    return sandlot_fail(reader->call, SANDLOT_INTERNAL,
                        "Daytona's answer with files is damaged (%s); try again, and report it if it stays so", what);
}

/* ---- headers -------------------------------------------------------------------------------------------------- */

/* The value of header NAME if LINE is that; NULL if not. */
static const char *header_value(const char *line, const char *name)
{
    size_t length = strlen(name);

    if (strncasecmp(line, name, length) != 0 || line[length] != ':')
        return NULL;
    return line + length + 1 + strspn(line + length + 1, " \t");
}

/* The parameter `name` of a Content-Disposition; `filename` must not be taken for it. */
static void read_name(struct multipart *reader, const char *value)
{
    const char *at = value;

    while ((at = strcasestr(at, "name=\"")) && at > value && at[-1] != ' ' && at[-1] != ';')
        at += strlen("name=\"");
    size_t length = at ? strcspn(at + 6, "\"") : 0;

    if (!at || length >= MULTIPART_NAME)
        return;
    memcpy(reader->name, at + 6, length);
    reader->name[length] = '\0';
}

static enum sandlot_status take_header(struct multipart *reader)
{
    const char *disposition = header_value(reader->line, "Content-Disposition");
    const char *length = header_value(reader->line, "Content-Length");
    char *end;

    if (disposition)
        read_name(reader, disposition);
    if (!length)
        return SANDLOT_OK;
    if (!isdigit((unsigned char)*length))
        return damaged(reader, "a length is no number");
    reader->left = strtoull(length, &end, 10);
    reader->has_length = true;
    return *end ? damaged(reader, "a length is no number") : SANDLOT_OK;
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

static enum sandlot_status end_file(struct multipart *reader)
{
    reader->state = MULTIPART_BETWEEN;
    return reader->receiver.end(reader->receiver.context);
}

static enum sandlot_status end_headers(struct multipart *reader)
{
    reader->words_length = 0;
    reader->state = reader->has_length ? MULTIPART_FILE : MULTIPART_WORDS;
    if (!reader->has_length)
        return SANDLOT_OK;
    enum sandlot_status status = reader->receiver.begin(reader->receiver.context, reader->name, reader->left);

    return status == SANDLOT_OK && reader->left == 0 ? end_file(reader) : status;
}

static void add_words(struct multipart *reader)
{
    size_t room = MULTIPART_TEXT - 1 - reader->words_length;
    size_t length = reader->line_length < room ? reader->line_length : room;

    memcpy(reader->words + reader->words_length, reader->line, length);
    reader->words_length += length;
    reader->words[reader->words_length] = '\0';
}

/* 0: LINE is no boundary; 1: one between parts; 2: the last one. */
static int boundary_kind(const struct multipart *reader)
{
    size_t length = strlen(reader->boundary);

    if (strncmp(reader->line, reader->boundary, length) != 0)
        return 0;
    return reader->line[length] == '\0' ? 1 : strcmp(reader->line + length, "--") == 0 ? 2 : 0;
}

static enum sandlot_status next_part(struct multipart *reader, int kind)
{
    reader->finished = kind == 2;
    reader->state = MULTIPART_HEADERS;
    reader->has_length = false;
    reader->left = 0;
    reader->name[0] = '\0';
    return SANDLOT_OK;
}

static enum sandlot_status take_first(struct multipart *reader)
{
    size_t length = reader->line_length;
    bool empty = length > 4 && strcmp(reader->line + length - 2, "--") == 0;

    if (length < 3 || length >= MULTIPART_BOUNDARY || strncmp(reader->line, "--", 2) != 0)
        return damaged(reader, "it does not begin with a boundary");
    memcpy(reader->boundary, reader->line, length + 1);
    return next_part(reader, empty ? 2 : 1);
}

/* A line has come, without its end. */
static enum sandlot_status take_line(struct multipart *reader)
{
    int kind;

    reader->line[reader->line_length] = '\0';
    switch (reader->state) {
    case MULTIPART_FIRST:
        return take_first(reader);
    case MULTIPART_BETWEEN:
        kind = boundary_kind(reader);
        if (kind == 0 && reader->line_length > 0)
            return damaged(reader, "a file does not end where it should");
        return kind ? next_part(reader, kind) : SANDLOT_OK;
    case MULTIPART_HEADERS:
        return reader->line_length > 0 ? take_header(reader) : end_headers(reader);
    case MULTIPART_WORDS:
    default:
        kind = boundary_kind(reader);
        if (kind == 0) {
            add_words(reader);
            return SANDLOT_OK;
        }
        reader->words[reader->words_length] = '\0';
        enum sandlot_status status =
            reader->receiver.text(reader->receiver.context, reader->name, reader->words, reader->words_length);

        return status == SANDLOT_OK ? next_part(reader, kind) : status;
    }
}

/* ---- bytes ---------------------------------------------------------------------------------------------------- */

static enum sandlot_status take_file(struct multipart *reader, const char *bytes, size_t length, size_t *used)
{
    *used = length < reader->left ? length : (size_t)reader->left;
    enum sandlot_status status = reader->receiver.data(reader->receiver.context, bytes, *used);

    reader->left -= *used;
    return status == SANDLOT_OK && reader->left == 0 ? end_file(reader) : status;
}

static enum sandlot_status take_text(struct multipart *reader, const char *bytes, size_t length, size_t *used)
{
    const char *newline = memchr(bytes, '\n', length);
    size_t part = newline ? (size_t)(newline - bytes) : length;

    *used = newline ? part + 1 : part;
    if (part >= MULTIPART_LINE - reader->line_length)
        return damaged(reader, "a line is too long");
    memcpy(reader->line + reader->line_length, bytes, part);
    reader->line_length += part;
    if (!newline)
        return SANDLOT_OK;
    reader->line_length -= reader->line_length > 0 && reader->line[reader->line_length - 1] == '\r';
    enum sandlot_status status = take_line(reader);

    reader->line_length = 0;
    return status;
}

/* The last boundary may come without the end of a line. */
static enum sandlot_status look_for_end(struct multipart *reader)
{
    bool whole = reader->line_length == strlen(reader->boundary) + 2 && reader->line_length > 4 &&
                 (reader->state == MULTIPART_BETWEEN || reader->state == MULTIPART_WORDS);

    if (!whole)
        return SANDLOT_OK;
    reader->line[reader->line_length] = '\0';
    return boundary_kind(reader) == 2 ? take_line(reader) : SANDLOT_OK;
}

static enum sandlot_status add(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct multipart *reader = sink->context;
    const char *at = bytes;
    enum sandlot_status status = SANDLOT_OK;

    while (length > 0 && status == SANDLOT_OK && !reader->finished) {
        size_t used;

        status = reader->state == MULTIPART_FILE ? take_file(reader, at, length, &used)
                                                 : take_text(reader, at, length, &used);
        at += used;
        length -= used;
    }
    return status == SANDLOT_OK && !reader->finished ? look_for_end(reader) : status;
}

void multipart_init(struct multipart *reader, struct sandlot_call *call, const struct multipart_receiver *receiver)
{
    reader->sink = (struct sandlot_sink){sizeof(reader->sink), reader, add};
    reader->finished = false;
    reader->call = call;
    reader->receiver = *receiver;
    reader->state = MULTIPART_FIRST;
    reader->boundary[0] = '\0';
    reader->line_length = 0;
    reader->words_length = 0;
    next_part(reader, 1);
    reader->state = MULTIPART_FIRST;
}
