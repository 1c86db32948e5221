#include "operations/derived/frame.h"

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "operations/file_error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAID_SIZE = 200,                             /* what a shell says for itself, in a message */
    NAMES_MAXIMUM = (FILE_NEIGHBOURS + 1) * 256, /* bytes of the names beside a file that is missing */
    PIECE = 16384,                               /* of decoded data handed on at once */
    MARK_SIZE = SCRIPT_MARK + 4,
    NOISE = 4096,  /* bytes that a channel may put after the output of a command that it has ended */
    END_MS = 1000, /* a command ends by itself so long before the call does */
};

enum place {
    BEFORE,   /* noise, until the beginning of the frame */
    NAME,     /* of the next record; or the end of the frame */
    WORD,     /* value of a record */
    COUNT,    /* of a data record */
    DATA,     /* after that */
    END_MARK, /* between its "<" and its ">" */
    AFTER     /* noise */
};

/* Data on its way from text to bytes. */
struct decoder {
    bool counted;
    uint64_t promised; /* characters that the encoder printed, line ends and blanks included */
    char kind;         /* 'b', 'u' or 'o' */
    uint64_t seen;     /* visible characters */
    uint64_t pads;     /* "=" at the end */
    uint32_t bits;
    unsigned int digits; /* in bits */
    char piece[PIECE];
    size_t length;
};

struct parser {
    struct sandlot_sink sink;
    const struct frame_receiver *receiver;
    struct sandlot_error problem; /* what stopped us */
    bool stopped;
    size_t noise; /* what came after that */

    enum place place;
    char begin[MARK_SIZE];
    char end[MARK_SIZE];
    size_t matched; /* of one of these */
    char name[FRAME_NAME + 1];
    char word[FRAME_WORD + 1];
    size_t name_length;
    size_t word_length;
    struct decoder decoder;

    bool done;
    char failure[24];             /* reason of s_fail */
    char missing[FRAME_WORD + 1]; /* tool of s_need */
    struct frame_bytes names;
    char said[SAID_SIZE]; /* the first bytes before the frame */
    size_t said_length;
};

int frame_damaged(struct sandlot_error *error, const char *what)
{
    return error_set(error, SANDLOT_CODE_TRUNCATED_TRANSPORT,
                     "what came from the sandbox was damaged on its way: %s; try again, and if it stays so, ask for "
                     "less at a time",
                     what);
}

int frame_number(const char *value, uint64_t *number, struct sandlot_error *error)
{
    int64_t parsed;

    if (!text_parse_integer(value, &parsed) || parsed < 0)
        return frame_damaged(error, "a number is none");
    *number = (uint64_t)parsed;
    return 0;
}

int frame_bytes_add(struct frame_bytes *bytes, const void *more, size_t length, struct sandlot_error *error)
{
    if (length > bytes->maximum - bytes->length)
        return frame_damaged(error, "there is more than was asked for");
    if (!bytes->bytes || bytes->length + length > bytes->capacity) {
        size_t capacity = (bytes->length + length) * 3 / 2 + 64;
        char *grown = realloc(bytes->bytes, capacity);

        if (!grown)
            return error_no_memory(error);
        bytes->bytes = grown;
        bytes->capacity = capacity;
    }
    if (length > 0)
        memcpy(bytes->bytes + bytes->length, more, length);
    bytes->length += length;
    return 0;
}

void frame_bytes_clear(struct frame_bytes *bytes)
{
    free(bytes->bytes);
    *bytes = (struct frame_bytes){.maximum = bytes->maximum};
}

/* ---- records ---- */

static int take_word(struct parser *parser)
{
    if (strcmp(parser->name, "done") == 0) {
        parser->done = true;
        return 0;
    }
    if (strcmp(parser->name, "fail") == 0) {
        snprintf(parser->failure, sizeof(parser->failure), "%.23s", parser->word);
        return 0;
    }
    if (strcmp(parser->name, "missing") == 0) {
        /* Blanks do not come through a frame. */
        for (size_t i = 0; i < sizeof(parser->missing); i++)
            parser->missing[i] = (char)(parser->word[i] == '_' ? ' ' : parser->word[i]);
        return 0;
    }
    if (!parser->receiver || !parser->receiver->word)
        return frame_damaged(&parser->problem, "there is a record that nobody asked for");
    return parser->receiver->word(parser->receiver->context, parser->name, parser->word, &parser->problem);
}

static int take_data(struct parser *parser, const char *bytes, size_t length)
{
    if (strcmp(parser->name, "names") == 0)
        return length > 0 ? frame_bytes_add(&parser->names, bytes, length, &parser->problem) : 0;
    if (!parser->receiver || !parser->receiver->data)
        return frame_damaged(&parser->problem, "there is a record that nobody asked for");
    return parser->receiver->data(parser->receiver->context, parser->name, bytes, length, &parser->problem);
}

/* ---- data ---- */

static int flush_piece(struct parser *parser)
{
    struct decoder *decoder = &parser->decoder;
    size_t length = decoder->length;

    decoder->length = 0;
    return length > 0 ? take_data(parser, decoder->piece, length) : 0;
}

static int put_byte(struct parser *parser, unsigned int byte)
{
    struct decoder *decoder = &parser->decoder;

    decoder->piece[decoder->length++] = (char)byte;
    return decoder->length == PIECE ? flush_piece(parser) : 0;
}

static int add_base64(struct parser *parser, char c)
{
    struct decoder *decoder = &parser->decoder;
    int value = base64_value(c);

    if (c == '=') {
        decoder->pads++;
        return 0;
    }
    if (value < 0 || decoder->pads > 0)
        return frame_damaged(&parser->problem, "base64 is none");
    decoder->bits = decoder->bits << 6 | (uint32_t)value;
    decoder->digits++;
    if (decoder->digits < 4)
        return 0;
    uint32_t bits = decoder->bits;

    decoder->digits = 0;
    decoder->bits = 0;
    if (put_byte(parser, bits >> 16 & 255) < 0 || put_byte(parser, bits >> 8 & 255) < 0)
        return -1;
    return put_byte(parser, bits & 255);
}

/* The same for as many digits of base64 as there are; returns how many. Most of what comes is that. */
static size_t add_digits(struct parser *parser, const char *text, size_t length)
{
    struct decoder *decoder = &parser->decoder;
    size_t room = (PIECE - 1 - decoder->length) / 3 * 4; /* a piece that is full is for put_byte to hand on */

    if (decoder->kind != 'b' || decoder->pads > 0 || decoder->digits > 0)
        return 0;
    size_t taken = base64_decode_run(text, length < room ? length : room, decoder->piece + decoder->length);

    decoder->length += taken / 4 * 3;
    decoder->seen += taken;
    return taken;
}

static int add_octal(struct parser *parser, char c)
{
    struct decoder *decoder = &parser->decoder;

    if (c < '0' || c > '7')
        return frame_damaged(&parser->problem, "an octal digit is none");
    decoder->bits = decoder->bits << 3 | (uint32_t)(c - '0');
    decoder->digits++;
    if (decoder->digits < 3)
        return 0;
    uint32_t bits = decoder->bits;

    decoder->digits = 0;
    decoder->bits = 0;
    return bits <= 255 ? put_byte(parser, bits) : frame_damaged(&parser->problem, "an octal number is too large");
}

/* The line before the text of uuencode -m without its blanks, the mode being any. */
static const char uuencode_begin[] = "begin-base64***-";

enum { UUENCODE_BEGIN = sizeof(uuencode_begin) - 1, UUENCODE_END = 4 /* "====" */ };

static int add_character(struct parser *parser, char c)
{
    struct decoder *decoder = &parser->decoder;
    uint64_t at = decoder->seen++;

    if (decoder->kind == 'o')
        return add_octal(parser, c);
    if (decoder->kind == 'b' || at >= UUENCODE_BEGIN)
        return add_base64(parser, c);
    return uuencode_begin[at] == '*' || uuencode_begin[at] == c
               ? 0
               : frame_damaged(&parser->problem, "the beginning of uuencode's text is not what it should be");
}

/* SEEN characters and the line ends between lines of WIDTH. */
static uint64_t with_line_ends(uint64_t seen, uint64_t width)
{
    return seen > 0 ? seen + (seen - 1) / width : 0;
}

/* Is it as long as the sandbox said? The encoders' line ends count too, but on the way here others may have come
 * and gone. */
static bool is_whole(const struct decoder *decoder)
{
    uint64_t seen = decoder->seen;
    uint64_t promised = decoder->promised;

    if (!decoder->counted)
        return true;
    if (decoder->kind == 'o') /* " 101 102", 16 to a line */
        return promised == with_line_ends(seen / 3 * 4, 64);
    if (decoder->kind == 'b')
        return promised == seen || promised == with_line_ends(seen, 76) || promised == with_line_ends(seen, 64);
    uint64_t text = seen - UUENCODE_BEGIN - UUENCODE_END;

    return promised == UUENCODE_BEGIN + 2 + 1 + with_line_ends(text, 60) + (text > 0 ? 1 : 0) + UUENCODE_END;
}

static int end_data(struct parser *parser)
{
    struct decoder *decoder = &parser->decoder;
    uint64_t pads = decoder->pads;

    if (decoder->kind == 'u') {
        if (decoder->seen < UUENCODE_BEGIN + UUENCODE_END || pads < UUENCODE_END)
            return frame_damaged(&parser->problem, "the end of uuencode's text is missing");
        pads -= UUENCODE_END;
    }
    bool complete = decoder->kind == 'o' ? decoder->digits == 0 : (decoder->digits + pads) % 4 == 0 && pads <= 2;

    if (!complete || !is_whole(decoder))
        return frame_damaged(&parser->problem, "some of it is missing");
    if (decoder->digits >= 2) {
        uint32_t bits = decoder->bits << 6 * (4 - decoder->digits);

        if (put_byte(parser, bits >> 16 & 255) < 0 || (decoder->digits == 3 && put_byte(parser, bits >> 8 & 255) < 0))
            return -1;
    }
    if (flush_piece(parser) < 0)
        return -1;
    return take_data(parser, NULL, 0);
}

static int begin_data(struct parser *parser, char kind)
{
    struct decoder *decoder = &parser->decoder;
    int64_t promised = 0;
    bool counted = strcmp(parser->word, "-") != 0;

    if (!strchr("buo", kind) || (counted && (!text_parse_integer(parser->word, &promised) || promised < 0)))
        return frame_damaged(&parser->problem, "the head of a record makes no sense");
    decoder->counted = counted;
    decoder->promised = (uint64_t)promised;
    decoder->kind = kind;
    decoder->seen = decoder->pads = 0;
    decoder->bits = decoder->digits = 0;
    decoder->length = 0;
    parser->place = DATA;
    return 0;
}

/* ---- the frame ---- */

static int add_to(struct parser *parser, char *text, size_t *length, size_t maximum, char c)
{
    if (*length == maximum)
        return frame_damaged(&parser->problem, "a word is too long");
    text[(*length)++] = c;
    text[*length] = '\0';
    return 0;
}

static int in_name(struct parser *parser, char c)
{
    if (c == '<' && parser->name_length == 0) {
        parser->place = END_MARK;
        parser->matched = 1;
        return 0;
    }
    if (c != ':' && c != '=')
        return add_to(parser, parser->name, &parser->name_length, FRAME_NAME, c);
    parser->place = c == ':' ? WORD : COUNT;
    parser->word_length = 0;
    parser->word[0] = '\0';
    return 0;
}

static void next_record(struct parser *parser)
{
    parser->place = NAME;
    parser->name_length = 0;
    parser->name[0] = '\0';
}

/* One visible character. */
static int feed(struct parser *parser, char c)
{
    int failed = 0;

    switch (parser->place) {
    case BEFORE:
        /* "<" occurs in a mark only as its first character. */
        parser->matched = parser->begin[parser->matched] == c ? parser->matched + 1 : c == '<';
        if (!parser->begin[parser->matched])
            next_record(parser);
        return 0;
    case NAME:
        return in_name(parser, c);
    case WORD:
        if (c != ';')
            return add_to(parser, parser->word, &parser->word_length, FRAME_WORD, c);
        failed = take_word(parser);
        next_record(parser);
        return failed;
    case COUNT:
        if (c == '-' || (c >= '0' && c <= '9'))
            return add_to(parser, parser->word, &parser->word_length, FRAME_WORD, c);
        return begin_data(parser, c);
    case DATA:
        if (c != ';')
            return add_character(parser, c);
        failed = end_data(parser);
        next_record(parser);
        return failed;
    case END_MARK:
        if (parser->end[parser->matched] != c)
            return frame_damaged(&parser->problem, "its end is not what it should be");
        if (!parser->end[++parser->matched])
            parser->place = AFTER;
        return 0;
    case AFTER:
        break;
    }
    return 0;
}

static enum sandlot_status receive(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct parser *parser = sink->context;
    const char *text = bytes;

    size_t i = 0;

    for (; i < length && !parser->stopped; i++) {
        if (parser->place == BEFORE && parser->said_length < SAID_SIZE - 1)
            parser->said[parser->said_length++] = text[i];
        if (parser->place == DATA)
            i += add_digits(parser, text + i, length - i);
        if (i < length && text[i] > ' ' && text[i] < 0x7f)
            parser->stopped = feed(parser, text[i]) < 0;
    }
    if (!parser->stopped)
        return SANDLOT_OK;
    /* It may be only that the command ran out of time, which will show when it has ended. */
    parser->noise += length - i;
    return parser->problem.code == SANDLOT_CODE_TRUNCATED_TRANSPORT && parser->noise <= NOISE ? SANDLOT_OK
                                                                                              : SANDLOT_CANCELLED;
}

/* ---- the errors ---- */

static int missing_error(const struct file_call *call, const struct parser *parser, struct sandlot_error *error)
{
    size_t count = 0;

    for (size_t i = 0; i < parser->names.length; i++)
        count += parser->names.bytes[i] == '\0';
    AUTO_FREE const char **names = calloc(count + 1, sizeof(*names));
    const char *at = parser->names.bytes;

    if (!names)
        return error_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        names[i] = at;
        at += strlen(at) + 1;
    }
    return file_error_missing(error, call, names, count <= FILE_NEIGHBOURS ? count : 0);
}

static int failure_error(const struct file_call *call, const struct parser *parser, struct sandlot_error *error)
{
    static const struct {
        const char *word;
        int reason;
    } reasons[] = {{"enotdir", ENOTDIR},     {"eacces", EACCES}, {"erofs", EROFS},
                   {"eisdir", EISDIR},       {"eloop", ELOOP},   {"enametoolong", ENAMETOOLONG},
                   {"enospc", ENOSPC},       {"edquot", EDQUOT}, {"eperm", EPERM},
                   {"etimedout", ETIMEDOUT}, {"eio", EIO},       {"ebusy", EBUSY}};

    if (parser->missing[0])
        return file_error_tool(error, call, parser->missing);
    if (strcmp(parser->failure, "enoent") == 0)
        return missing_error(call, parser, error);
    if (strcmp(parser->failure, "kind") == 0)
        return file_error_kind(error, call);
    if (strcmp(parser->failure, "working") == 0)
        return file_error_working_dir(error, call);
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (strcmp(reasons[i].word, parser->failure) == 0)
            return file_error_errno(error, call, reasons[i].reason);
    }
    return strcmp(parser->failure, "damaged") == 0
               ? error_set(error, SANDLOT_CODE_TRUNCATED_TRANSPORT,
                           "%s: what was sent to the sandbox was damaged on its way; nothing was changed, try again",
                           call->shown)
               : frame_damaged(error, "a reason for a failure is unknown");
}

static bool has_timed_out(const struct sandlot_exit *ended)
{
    return ended->timed_out || ended->exit_code == 124;
}

/* The command ended without (all of) a frame. */
static int no_frame_error(const struct file_call *call, struct parser *parser, const struct sandlot_exit *ended,
                          struct sandlot_error *error)
{
    bool begun = parser->place != BEFORE;
    AUTO_FREE char *said = begun ? strdup("") : text_utf8_replace(parser->said, parser->said_length, NULL);

    if (!said)
        return error_no_memory(error);
    if (has_timed_out(ended))
        return file_error_errno(error, call, ETIMEDOUT);
    if (ended->note)
        return error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                         "%s: the command in the sandbox that was to do it did not end well: %s", call->shown,
                         ended->note);
    if (ended->exit_code == 137)
        return error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                         "%s: the command in the sandbox that was to do it was killed, perhaps for want of memory; try "
                         "again",
                         call->shown);
    if (!begun && (ended->exit_code == 126 || ended->exit_code == 127))
        return error_set(error, SANDLOT_CODE_MISSING_TOOL,
                         "%s: the sandbox cannot run the shell script that file operations need (exit code %d%s%s); it "
                         "must have a POSIX shell",
                         call->shown, ended->exit_code, *said ? "): " : "", *said ? said : ")");
    return error_set(error, SANDLOT_CODE_TRUNCATED_TRANSPORT,
                     "%s: the answer from the sandbox %s (exit code %d)%s%s; try again, and if it stays so, ask for "
                     "less at a time",
                     call->shown, begun ? "is incomplete" : "is missing", ended->exit_code, *said ? ": " : "", said);
}

static int64_t time_limit(const struct file_call *call)
{
    int64_t left = call->deadline_ms - sandlot_now_ms();

    return left > 3 * END_MS ? left - END_MS : left > 0 ? left : 1;
}

static struct parser *parser_new(const struct script *script, const struct frame_receiver *receiver)
{
    struct parser *parser = calloc(1, sizeof(*parser));

    if (!parser)
        return NULL;
    parser->sink = (struct sandlot_sink){sizeof(parser->sink), parser, receive};
    parser->receiver = receiver;
    parser->names.maximum = NAMES_MAXIMUM;
    snprintf(parser->begin, sizeof(parser->begin), "<%s>", script->mark);
    snprintf(parser->end, sizeof(parser->end), "</%s>", script->mark);
    return parser;
}

int frame_run(const struct file_call *call, const struct script *script, const struct frame_receiver *receiver,
              struct sandlot_error *error)
{
    return frame_run_fed(call, script, NULL, receiver, error);
}

int frame_run_fed(const struct file_call *call, const struct script *script, const struct sandlot_source *input,
                  const struct frame_receiver *receiver, struct sandlot_error *error)
{
    struct sandlot_exit ended = {.size = sizeof(ended)};
    struct sandlot_error why = {0};
    AUTO_FREE struct parser *parser = parser_new(script, receiver);

    if (!parser || !script->text)
        return error_no_memory(error);
    const struct sandlot_command command = {.size = sizeof(command),
                                            .command = script->text,
                                            .working_dir = "/",
                                            .timeout_ms = time_limit(call),
                                            .input = input,
                                            .flags = script->flags};
    int failed =
        session_run(call->session, &command, &parser->sink, &ended, call->deadline_ms, call->cancel_fd, NULL, &why);

    if (parser->stopped && !failed && has_timed_out(&ended))
        failed = file_error_errno(error, call, ETIMEDOUT);
    else if (parser->stopped)
        failed = error_set(error, parser->problem.code, "%s", parser->problem.message);
    else if (failed)
        error_set(error, why.code, "%s", why.message);
    else if (parser->place != AFTER)
        failed = no_frame_error(call, parser, &ended, error);
    else if (parser->missing[0] || parser->failure[0])
        failed = failure_error(call, parser, error);
    else if (!parser->done)
        failed = frame_damaged(error, "it does not say how it ended");
    sandlot_error_clear(&why);
    sandlot_error_clear(&parser->problem);
    frame_bytes_clear(&parser->names);
    return failed;
}
