#include "http_relay_head.h"

#include <string.h>
#include <strings.h>

/* "METHOD TARGET HTTP/1.x", LENGTH bytes without the line's end */
static bool is_request_line(const char *line, size_t length)
{
    static const char version[] = " HTTP/1.";
    const size_t tail = sizeof(version); /* with the digit in place of the NUL */

    return length > tail + 2 && line[0] >= 'A' && line[0] <= 'Z' && memchr(line, ' ', length - tail) &&
           memcmp(line + length - tail, version, tail - 1) == 0;
}

/* Until the first line has ended it could be one, if nothing in it is out of place. */
static bool could_be_line(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)bytes[i] < ' ' && bytes[i] != '\r') || bytes[i] == 0x7f)
            return false;
    return length == 0 || (bytes[0] >= 'A' && bytes[0] <= 'Z');
}

enum http_relay_look http_relay_look(const char *bytes, size_t length, size_t *head_length)
{
    const char *line = memchr(bytes, '\n', length);
    size_t first = line ? (size_t)(line - bytes) : length;

    if (!could_be_line(bytes, first))
        return HTTP_RELAY_OTHER;
    if (line && (first == 0 || line[-1] != '\r' || !is_request_line(bytes, first - 1)))
        return HTTP_RELAY_OTHER;
    const char *end = memmem(bytes, length, "\r\n\r\n", 4);

    *head_length = end ? (size_t)(end - bytes) + 4 : 0;
    if (*head_length > HTTP_RELAY_HEAD || (!end && length >= HTTP_RELAY_HEAD))
        return HTTP_RELAY_LONG;
    return end ? HTTP_RELAY_WHOLE : HTTP_RELAY_MORE;
}

/* Is NAME, up to its colon or end, the name of the header in LINE? */
static bool has_name(const char *line, size_t length, const char *name)
{
    size_t name_length = strcspn(name, ":");

    return length > name_length && line[name_length] == ':' && strncasecmp(line, name, name_length) == 0;
}

/* Does the list in LINE, a header, have WORD? */
static bool lists(const char *line, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    const char *colon = memchr(line, ':', length);

    for (size_t at = colon ? (size_t)(colon - line) + 1 : length; at < length;) {
        size_t end = at;

        while (end < length && !strchr(", \t", line[end]))
            end++;
        if (end - at == word_length && strncasecmp(line + at, word, word_length) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

/* The next line behind *AT, with the lines that continue it, without the last line's end. False: the head ends. */
static bool next_line(const char *head, size_t length, size_t *at, const char **line, size_t *line_length)
{
    size_t begin = *at;
    size_t end = begin;

    do {
        const char *found = memmem(head + end, length - end, "\r\n", 2);

        if (!found)
            return false;
        *line_length = (size_t)(found - head) - begin;
        end = (size_t)(found - head) + 2;
    } while (end < length && (head[end] == ' ' || head[end] == '\t'));
    *line = head + begin;
    *at = end;
    return *line_length > 0;
}

static bool asks_for_upgrade(const char *head, size_t length)
{
    const char *line;
    size_t line_length;

    for (size_t at = 0; next_line(head, length, &at, &line, &line_length);)
        if (has_name(line, line_length, "Connection") && lists(line, line_length, "upgrade"))
            return true;
    return false;
}

static bool add(struct sdk_buffer *new, const char *bytes, size_t length)
{
    return sdk_buffer_add(new, bytes, length) == SDK_GROWN && sdk_buffer_add(new, "\r\n", 2) == SDK_GROWN;
}

static bool add_text(struct sdk_buffer *new, const char *name, const char *value)
{
    return sdk_buffer_add(new, name, strlen(name)) == SDK_GROWN && add(new, value, strlen(value));
}

bool http_relay_rewrite(const char *head, size_t length, const char *host, const char *header, struct sdk_buffer *new,
                        bool *upgrades)
{
    const char *line;
    size_t line_length;
    size_t at = 0;
    bool whole = next_line(head, length, &at, &line, &line_length) && add(new, line, line_length) &&
                 add_text(new, "Host: ", host);

    *upgrades = asks_for_upgrade(head, length);
    while (whole && next_line(head, length, &at, &line, &line_length)) {
        bool ours =
            has_name(line, line_length, "Host") || (header && has_name(line, line_length, header)) ||
            (!*upgrades && (has_name(line, line_length, "Connection") || has_name(line, line_length, "Keep-Alive")));

        whole = ours || add(new, line, line_length);
    }
    if (whole && header)
        whole = add_text(new, header, "");
    if (whole && !*upgrades)
        whole = add_text(new, "Connection: ", "close");
    return whole && add(new, "", 0);
}
