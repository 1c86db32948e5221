#include "server/scan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The walk through a text. */
struct scanner {
    const char *at;
    const char *end;
};

static void skip_blanks(struct scanner *scanner)
{
    while (scanner->at < scanner->end &&
           (*scanner->at == ' ' || *scanner->at == '\t' || *scanner->at == '\n' || *scanner->at == '\r'))
        scanner->at++;
}

static bool take(struct scanner *scanner, char c)
{
    if (scanner->at >= scanner->end || *scanner->at != c)
        return false;
    scanner->at++;
    return true;
}

static bool skip_word(struct scanner *scanner, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(scanner->end - scanner->at) < length || memcmp(scanner->at, word, length) != 0)
        return false;
    scanner->at += length;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool skip_escape(struct scanner *scanner)
{
    char c = scanner->at < scanner->end ? *scanner->at++ : '\0';

    if (c != 'u')
        return c && strchr("\"\\/bfnrt", c);
    for (int i = 0; i < 4; i++)
        if (scanner->at >= scanner->end || hex_digit(*scanner->at++) < 0)
            return false;
    return true;
}

static bool skip_string(struct scanner *scanner)
{
    if (!take(scanner, '"'))
        return false;
    while (scanner->at < scanner->end) {
        unsigned char c = (unsigned char)*scanner->at++;

        if (c == '"')
            return true;
        if (c < 0x20 || (c == '\\' && !skip_escape(scanner)))
            return false;
    }
    return false;
}

static bool skip_digits(struct scanner *scanner)
{
    const char *start = scanner->at;

    while (scanner->at < scanner->end && *scanner->at >= '0' && *scanner->at <= '9')
        scanner->at++;
    return scanner->at > start;
}

static bool skip_number(struct scanner *scanner)
{
    take(scanner, '-');
    if (!take(scanner, '0') && !skip_digits(scanner))
        return false;
    if (take(scanner, '.') && !skip_digits(scanner))
        return false;
    if (!take(scanner, 'e') && !take(scanner, 'E'))
        return true;
    if (!take(scanner, '+'))
        take(scanner, '-');
    return skip_digits(scanner);
}

static bool skip_value(struct scanner *scanner, int depth);

/* What stands between the brackets, of which the first is taken. */
static bool skip_members(struct scanner *scanner, int depth, bool object)
{
    char closing = object ? '}' : ']';

    skip_blanks(scanner);
    if (take(scanner, closing))
        return true;
    for (;;) {
        skip_blanks(scanner);
        if (object) {
            if (!skip_string(scanner))
                return false;
            skip_blanks(scanner);
            if (!take(scanner, ':'))
                return false;
        }
        if (!skip_value(scanner, depth - 1))
            return false;
        skip_blanks(scanner);
        if (take(scanner, closing))
            return true;
        if (!take(scanner, ','))
            return false;
    }
}

static bool skip_value(struct scanner *scanner, int depth)
{
    skip_blanks(scanner);
    if (scanner->at >= scanner->end)
        return false;
    switch (*scanner->at) {
    case '{':
    case '[':
        return depth > 0 && skip_members(scanner, depth, *scanner->at++ == '{');
    case '"':
        return skip_string(scanner);
    case 't':
        return skip_word(scanner, "true");
    case 'f':
        return skip_word(scanner, "false");
    case 'n':
        return skip_word(scanner, "null");
    default:
        return skip_number(scanner);
    }
}

/* The value at the scanner, in a text that is known to be sound. */
static struct piece next_value(struct scanner *scanner)
{
    skip_blanks(scanner);
    const char *start = scanner->at;

    if (!skip_value(scanner, SCAN_DEEPEST + 1))
        return (struct piece){0};
    return (struct piece){start, (size_t)(scanner->at - start)};
}

bool scan_document(const char *text, size_t length, struct piece *value)
{
    struct scanner scanner = {text, text + length};

    skip_blanks(&scanner);
    const char *start = scanner.at;

    if (!skip_value(&scanner, SCAN_DEEPEST))
        return false;
    *value = (struct piece){start, (size_t)(scanner.at - start)};
    skip_blanks(&scanner);
    return scanner.at == scanner.end;
}

enum piece_kind piece_kind(struct piece piece)
{
    if (!piece.text)
        return PIECE_NONE;
    switch (*piece.text) {
    case '{':
        return PIECE_OBJECT;
    case '[':
        return PIECE_ARRAY;
    case '"':
        return PIECE_STRING;
    case 't':
    case 'f':
    case 'n':
        return PIECE_WORD;
    default:
        return PIECE_NUMBER;
    }
}

bool piece_absent(struct piece piece)
{
    return !piece.text || *piece.text == 'n';
}

bool piece_is_integer(struct piece piece)
{
    return piece_kind(piece) == PIECE_NUMBER && !memchr(piece.text, '.', piece.length) &&
           !memchr(piece.text, 'e', piece.length) && !memchr(piece.text, 'E', piece.length);
}

struct piece piece_member(struct piece object, const char *name)
{
    struct piece found = {0};

    if (piece_kind(object) != PIECE_OBJECT)
        return found;
    struct scanner scanner = {object.text + 1, object.text + object.length};

    do {
        struct piece key = next_value(&scanner);

        skip_blanks(&scanner);
        if (!key.text || !take(&scanner, ':'))
            break; /* the closing bracket of an empty object */
        struct piece value = next_value(&scanner);

        if (piece_equals(key, name))
            found = value;
        skip_blanks(&scanner);
    } while (take(&scanner, ','));
    return found;
}

bool piece_next(struct piece array, size_t *position, struct piece *element)
{
    struct scanner scanner = {array.text + (*position ? *position : 1), array.text + array.length};

    skip_blanks(&scanner);
    take(&scanner, ',');
    *element = next_value(&scanner);
    *position = (size_t)(scanner.at - array.text);
    return element->text != NULL;
}

bool piece_equals(struct piece piece, const char *text)
{
    size_t length = strlen(text);

    if (piece_kind(piece) != PIECE_STRING)
        return false;
    if (!memchr(piece.text, '\\', piece.length))
        return piece.length == length + 2 && memcmp(piece.text + 1, text, length) == 0;
    size_t decoded_length;
    char *decoded = piece_string(piece, &decoded_length);
    bool equal = decoded && decoded_length == length && memcmp(decoded, text, length) == 0;

    free(decoded);
    return equal;
}

static unsigned int four_digits(const char *at)
{
    unsigned int value = 0;

    for (int i = 0; i < 4; i++)
        value = value << 4 | (unsigned int)hex_digit(at[i]);
    return value;
}

/* Appends a code point as UTF-8. */
static char *put_character(char *out, unsigned int c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* The character behind "\u"; *AT is moved over its digits, and over those of the second half of a pair. */
static unsigned int unicode_escape(const char **at)
{
    unsigned int first = four_digits(*at);

    *at += 4;
    if (first < 0xd800 || first > 0xdfff)
        return first;
    if (first < 0xdc00 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        unsigned int second = four_digits(*at + 2);

        if (second >= 0xdc00 && second <= 0xdfff) {
            *at += 6;
            return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        }
    }
    return 0xfffd;
}

char *piece_string(struct piece piece, size_t *length)
{
    static const char escapes[] = "b\bf\fn\nr\rt\t";

    if (piece_kind(piece) != PIECE_STRING)
        return NULL;
    char *result = malloc(piece.length + 1); /* no escape is shorter than what it stands for */
    char *out = result;
    const char *end = piece.text + piece.length - 1;

    if (!result)
        return NULL;
    for (const char *at = piece.text + 1; at < end;) {
        if (*at != '\\') {
            *out++ = *at++;
            continue;
        }
        char c = at[1];

        at += 2;
        if (c == 'u') {
            out = put_character(out, unicode_escape(&at));
            continue;
        }
        const char *known = strchr(escapes, c);

        *out++ = known && c >= 'b' ? known[1] : c;
    }
    *out = '\0';
    if (length)
        *length = (size_t)(out - result);
    return result;
}

char *piece_copy(struct piece piece)
{
    char *copy = malloc(piece.length + 1);

    if (!copy)
        return NULL;
    memcpy(copy, piece.text, piece.length);
    copy[piece.length] = '\0';
    return copy;
}
