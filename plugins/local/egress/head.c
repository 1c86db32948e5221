#include "head.h"

#include <string.h>
#include <strings.h>

enum { PORT_HTTP = 80, PORT_HTTPS = 443, LENGTH_DIGITS = 18, HEAD_EXTRA = 512 };

long head_find_end(const char *bytes, size_t length, size_t *seen)
{
    for (size_t i = *seen; i < length; i++) {
        if (bytes[i] == '\0' || (bytes[i] == '\n' && (i == 0 || bytes[i - 1] != '\r')))
            return -1;
        if (bytes[i] == '\n' && i >= 3 && bytes[i - 2] == '\n')
            return i + 1 <= HEAD_MOST ? (long)(i + 1) : -1;
    }
    *seen = length;
    return length < HEAD_MOST ? 0 : -1;
}

bool head_takes_name_byte(unsigned char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

static bool is_token(struct span span)
{
    for (size_t i = 0; i < span.length; i++)
        if (!head_takes_name_byte((unsigned char)span.at[i]))
            return false;
    return span.length > 0;
}

/* Text without controls; what is beyond ASCII has no meaning here and is only handed on. */
static bool is_value(struct span span)
{
    for (size_t i = 0; i < span.length; i++) {
        const unsigned char byte = (unsigned char)span.at[i];

        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

static bool is_target(struct span span)
{
    for (size_t i = 0; i < span.length; i++)
        if (span.at[i] <= ' ' || span.at[i] >= 0x7f)
            return false;
    return span.length > 0;
}

bool span_is(struct span span, const char *text)
{
    return strlen(text) == span.length && strncasecmp(span.at, text, span.length) == 0;
}

static struct span trim(struct span span)
{
    while (span.length && (*span.at == ' ' || *span.at == '\t'))
        span.at++, span.length--;
    while (span.length && (span.at[span.length - 1] == ' ' || span.at[span.length - 1] == '\t'))
        span.length--;
    return span;
}

static bool is_version(struct span span)
{
    return span.length == 8 && memcmp(span.at, "HTTP/1.", 7) == 0 && (span.at[7] == '0' || span.at[7] == '1');
}

/* Cuts LINE at its first two blanks; the third part of an answer may be missing, and may hold blanks. */
static void cut_start(struct span line, struct span parts[3])
{
    for (int i = 0; i < 3; i++) {
        const char *blank = i < 2 && line.length ? memchr(line.at, ' ', line.length) : NULL;

        parts[i] = (struct span){line.at, blank ? (size_t)(blank - line.at) : line.length};
        line.at += parts[i].length + (blank != NULL);
        line.length -= parts[i].length + (blank != NULL);
    }
}

static bool parse_status(struct head *head)
{
    const struct span text = head->start[1];

    if (text.length != 3 || text.at[0] < '1' || text.at[0] > '5')
        return false;
    for (size_t i = 0; i < 3; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        head->status = head->status * 10 + (text.at[i] - '0');
    }
    return true;
}

static bool parse_start(struct span line, enum head_kind kind, struct head *head)
{
    cut_start(line, head->start);
    if (kind == HEAD_ANSWER)
        return is_version(head->start[0]) && parse_status(head) && is_value(head->start[2]);
    return is_token(head->start[0]) && is_target(head->start[1]) && is_version(head->start[2]);
}

static bool parse_field(struct span line, struct head *head)
{
    const char *colon = memchr(line.at, ':', line.length);

    if (!colon || head->count == HEAD_FIELDS)
        return false;
    const size_t length = (size_t)(colon - line.at);
    const struct span value = {colon + 1, line.length - length - 1};

    /* A line that begins with a blank goes on with the one before it, and a blank before the colon hides a name:
     * neither is a token. */
    head->fields[head->count] = (struct field){{line.at, length}, trim(value), false};
    return is_token(head->fields[head->count++].name) && is_value(value);
}

bool head_parse(const char *bytes, size_t length, enum head_kind kind, struct head *head)
{
    const char *const end = bytes + length - 2; /* without the empty line */

    head->count = 0;
    head->status = 0;
    for (const char *at = bytes; at < end;) {
        const char *stop = memchr(at, '\r', (size_t)(end - at));

        if (!stop || stop[1] != '\n')
            return false;
        const struct span line = {at, (size_t)(stop - at)};

        if (!(at == bytes ? parse_start(line, kind, head) : parse_field(line, head)))
            return false;
        at = stop + 2;
    }
    return end > bytes;
}

const struct field *head_only(const struct head *head, const char *name, bool *several)
{
    const struct field *found = NULL;

    *several = false;
    for (size_t i = 0; i < head->count; i++) {
        if (!span_is(head->fields[i].name, name))
            continue;
        *several = *several || found;
        found = &head->fields[i];
    }
    return *several ? NULL : found;
}

static bool parse_length(struct span text, uint64_t *length)
{
    *length = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        *length = *length * 10 + (uint64_t)(text.at[i] - '0');
    }
    return text.length > 0 && text.length <= LENGTH_DIGITS;
}

bool head_framing(const struct head *head, enum head_kind kind, enum framing *framing, uint64_t *length)
{
    bool several_lengths;
    bool several_codings;
    const struct field *counted = head_only(head, "content-length", &several_lengths);
    const struct field *coded = head_only(head, "transfer-encoding", &several_codings);

    *length = 0;
    *framing = kind == HEAD_REQUEST ? FRAMING_NONE : FRAMING_UNTIL_END;
    if (several_lengths || several_codings || (counted && coded))
        return false;
    if (coded) {
        *framing = FRAMING_CHUNKED;
        return span_is(coded->value, "chunked") && head->start[kind == HEAD_REQUEST ? 2 : 0].at[7] == '1';
    }
    if (counted) {
        *framing = FRAMING_LENGTH;
        return parse_length(counted->value, length);
    }
    return true;
}

/* "http://authority/path" without anything else; the path may be missing. */
static bool parse_absolute(struct span text, struct target *target)
{
    static const char scheme[] = "http://";
    const size_t skip = sizeof(scheme) - 1;

    if (text.length <= skip || strncasecmp(text.at, scheme, skip) != 0)
        return false;
    const char *const authority = text.at + skip;
    const char *const end = text.at + text.length;
    const char *stop = authority;

    while (stop < end && *stop != '/' && *stop != '?' && *stop != '#')
        stop++;
    target->path = (struct span){stop, (size_t)(end - stop)};
    return (stop == end || *stop == '/') &&
           host_parse_authority(authority, (size_t)(stop - authority), PORT_HTTP, &target->host, &target->port);
}

/* Does the Host field name TARGET? PORT_LEFT_OUT is what no port stands for. */
static bool agrees(const struct field *field, const struct target *target, uint16_t port_left_out)
{
    struct host host;
    uint16_t port;

    return host_parse_authority(field->value.at, field->value.length, port_left_out, &host, &port) &&
           host_equals(&host, &target->host) && port == target->port;
}

bool head_target(const struct head *head, const struct target *within, struct target *target)
{
    bool several;
    const struct field *host = head_only(head, "host", &several);
    const bool may_lack_host = span_is(head->start[0], "CONNECT") || head->start[2].at[7] == '0';

    *target = (struct target){.tunnel = span_is(head->start[0], "CONNECT")};
    if (several || (!host && (within || !may_lack_host)))
        return false;
    if (within) {
        const uint16_t port = within->port;

        *target = *within;
        target->tunnel = false;
        target->path = head->start[1];
        return !span_is(head->start[0], "CONNECT") && *target->path.at == '/' && agrees(host, target, port);
    }
    if (target->tunnel
            ? !host_parse_authority(head->start[1].at, head->start[1].length, 0, &target->host, &target->port)
            : !parse_absolute(head->start[1], target))
        return false;
    /* Some programs leave the port of a tunnel out there. */
    return !host || agrees(host, target, target->tunnel ? target->port : PORT_HTTP);
}

/* ---- writing ---- */

struct writer {
    char *at;
    size_t left;
    bool full;
};

static void put(struct writer *writer, const char *bytes, size_t length)
{
    writer->full = writer->full || length > writer->left;
    if (writer->full)
        return;
    memcpy(writer->at, bytes, length);
    writer->at += length;
    writer->left -= length;
}

static void put_text(struct writer *writer, const char *text)
{
    put(writer, text, strlen(text));
}

static void put_span(struct writer *writer, struct span span, const char *behind)
{
    put(writer, span.at, span.length);
    put_text(writer, behind);
}

/* Is NAME one of the comma-separated words of a Connection field, and so for this hop only? */
static bool is_named_by_connection(const struct head *head, struct span name)
{
    for (size_t i = 0; i < head->count; i++) {
        struct span rest = head->fields[i].value;

        while (span_is(head->fields[i].name, "connection") && rest.length) {
            const char *comma = memchr(rest.at, ',', rest.length);
            const size_t length = comma ? (size_t)(comma - rest.at) : rest.length;
            const struct span word = trim((struct span){rest.at, length});

            if (word.length == name.length && strncasecmp(word.at, name.at, name.length) == 0)
                return true;
            rest.at += length + (comma != NULL);
            rest.length -= length + (comma != NULL);
        }
    }
    return false;
}

static bool is_for_this_hop(const struct head *head, struct span name)
{
    static const char *const always[] = {"connection", "keep-alive", "te", "trailer", "upgrade"};
    static const char *const never[] = {"content-length", "transfer-encoding"};

    /* What tells the body's end stays, also where Connection names it: else a body would pass for a request. */
    for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
        if (span_is(name, never[i]))
            return false;
    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
        if (span_is(name, always[i]))
            return true;
    return (name.length > 6 && strncasecmp(name.at, "proxy-", 6) == 0) || is_named_by_connection(head, name);
}

static void put_fields(struct writer *writer, const struct head *head, bool host)
{
    for (size_t i = 0; i < head->count; i++) {
        const struct field *field = &head->fields[i];

        if ((!field->ours && is_for_this_hop(head, field->name)) || (!host && span_is(field->name, "host")))
            continue;
        put_span(writer, field->name, ": ");
        put_span(writer, field->value, "\r\n");
    }
}

static void put_host(struct writer *writer, const struct target *target)
{
    const bool brackets = strchr(target->host.name, ':');
    char port[8];
    char *at = port + sizeof(port) - 1;

    put_text(writer, brackets ? "Host: [" : "Host: ");
    put_text(writer, target->host.name);
    put_text(writer, brackets ? "]" : "");
    *at = '\0';
    for (unsigned number = target->port; number; number /= 10)
        *--at = (char)('0' + number % 10);
    *--at = ':';
    put_text(writer, target->port == PORT_HTTP || target->port == PORT_HTTPS ? "" : at);
    put_text(writer, "\r\n");
}

bool head_persists(const struct head *head, enum head_kind kind)
{
    const struct span version = head->start[kind == HEAD_REQUEST ? 2 : 0];
    const struct span close = {"close", 5};

    return version.at[7] == '1' && !is_named_by_connection(head, close);
}

size_t head_size(const struct head *head)
{
    size_t size = HEAD_EXTRA;

    for (size_t i = 0; i < 3; i++)
        size += head->start[i].length;
    for (size_t i = 0; i < head->count; i++)
        size += head->fields[i].name.length + head->fields[i].value.length + 4;
    return size;
}

size_t head_write_request(const struct head *head, const struct target *target, bool last, char *result, size_t size)
{
    struct writer writer = {result, size, false};
    const struct span root = {"/", 1};

    put_span(&writer, head->start[0], " ");
    put_span(&writer, target->path.length ? target->path : root, " ");
    put_span(&writer, head->start[2], "\r\n");
    put_host(&writer, target);
    put_fields(&writer, head, false);
    put_text(&writer, last ? "Connection: close\r\n\r\n" : "\r\n");
    return writer.full ? 0 : size - writer.left;
}

size_t head_write_answer(const struct head *head, bool last, char *result, size_t size)
{
    struct writer writer = {result, size, false};

    put_span(&writer, head->start[0], " ");
    put_span(&writer, head->start[1], " ");
    put_span(&writer, head->start[2], "\r\n");
    put_fields(&writer, head, true);
    put_text(&writer, head->status < 200 || !last ? "\r\n" : "Connection: close\r\n\r\n");
    return writer.full ? 0 : size - writer.left;
}
