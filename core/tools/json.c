#include "tools/json.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DELETE = 0x7f, LONGEST_ESCAPE = 6 };

/* Does BYTE begin, or may it begin, what must be escaped? */
static inline bool is_special(unsigned char byte)
{
    return byte < 0x20 || byte == '"' || byte == '\\' || byte == DELETE || byte == 0xe2;
}

#define LANES(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The highest bit of a byte is set if it is 0, and perhaps of one after such a byte. */
static inline uint64_t zero_lanes(uint64_t word)
{
    return (word - LANES(1)) & ~word;
}

/* How many of LENGTH bytes, eight at a time, surely are ASCII and not special. */
static size_t plain_run(const unsigned char *bytes, size_t length)
{
    size_t run = 0;
    uint64_t word;

    for (; length - run >= sizeof(word); run += sizeof(word)) {
        memcpy(&word, bytes + run, sizeof(word));
        uint64_t other = word | (word - LANES(0x20)) | (word + LANES(1)) | zero_lanes(word ^ LANES('"')) |
                         zero_lanes(word ^ LANES('\\'));

        if (other & LANES(0x80))
            break;
    }
    return run;
}

/* How many bytes at AT, of which the first is special, must be escaped as one character; 0: none. */
static size_t escaped(const unsigned char *at, size_t left)
{
    if (*at != 0xe2)
        return 1;
    return left >= 3 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9) ? 3 : 0;
}

static void add_escape(struct buffer *buffer, const unsigned char *at)
{
    static const char letters[] = "\b\f\n\r\t\"\\";
    static const char names[] = "bfnrt\"\\";
    const char *letter = *at ? strchr(letters, *at) : NULL;
    char escape[LONGEST_ESCAPE + 1] = {'\\', letter ? names[letter - letters] : '\0'};

    if (*at == 0xe2)
        snprintf(escape, sizeof(escape), "\\u20%02x", at[2] - 0x80U);
    else if (!letter)
        snprintf(escape, sizeof(escape), "\\u%04x", *at);
    buffer_add(buffer, escape, letter ? 2 : LONGEST_ESCAPE);
}

bool json_add_string(struct buffer *buffer, const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t start = 0;

    buffer_add(buffer, "\"", 1);
    for (size_t i = plain_run(bytes, length); i < length;) {
        size_t size = is_special(bytes[i]) ? escaped(bytes + i, length - i) : 0;

        if (size == 0) {
            i++;
            continue;
        }
        buffer_add(buffer, text + start, i - start);
        add_escape(buffer, bytes + i);
        i += size;
        start = i;
        i += plain_run(bytes + i, length - i);
    }
    buffer_add(buffer, text + start, length - start);
    return buffer_add(buffer, "\"", 1);
}

bool json_add_text(struct buffer *buffer, const char *text)
{
    return json_add_string(buffer, text, strlen(text));
}

bool json_add_name(struct buffer *buffer, const char *name)
{
    char last = buffer->length > 0 ? buffer->bytes[buffer->length - 1] : '{';

    if (last != '{' && last != '[' && last != ':')
        buffer_add(buffer, ",", 1);
    json_add_text(buffer, name);
    return buffer_add(buffer, ":", 1);
}
