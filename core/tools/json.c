#include "tools/json.h"

#include <string.h>

enum { DELETE = 0x7f };

/* How many bytes at AT must be escaped as one character; 0: none. */
static size_t escaped(const unsigned char *at, size_t left)
{
    if (*at < 0x20 || *at == '"' || *at == '\\' || *at == DELETE)
        return 1;
    return left >= 3 && at[0] == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9) ? 3 : 0;
}

static void add_escape(struct buffer *buffer, const unsigned char *at)
{
    static const char letters[] = "\b\f\n\r\t\"\\";
    static const char names[] = "bfnrt\"\\";
    const char *letter = *at ? strchr(letters, *at) : NULL;

    if (letter)
        buffer_format(buffer, "\\%c", names[letter - letters]);
    else if (*at == 0xe2)
        buffer_format(buffer, "\\u20%02x", at[2] - 0x80);
    else
        buffer_format(buffer, "\\u%04x", *at);
}

bool json_add_string(struct buffer *buffer, const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t start = 0;

    buffer_add(buffer, "\"", 1);
    for (size_t i = 0; i < length;) {
        size_t size = escaped(bytes + i, length - i);

        if (size == 0) {
            i++;
            continue;
        }
        buffer_add(buffer, text + start, i - start);
        add_escape(buffer, bytes + i);
        i += size;
        start = i;
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
