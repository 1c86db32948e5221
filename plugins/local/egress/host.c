#include "host.h"

#include <string.h>

enum { LABEL_MOST = 63 };

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter_or_digit(char byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'z');
}

static bool is_label(const char *label, size_t length)
{
    if (length == 0 || length > LABEL_MOST || label[0] == '-' || label[length - 1] == '-')
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_letter_or_digit(label[i]) && label[i] != '-' && label[i] != '_')
            return false;
    return true;
}

/* Does LABEL, the last of a name, make the whole an address for inet_aton(3)? Only digits, or hexadecimal. */
static bool looks_like_number(const char *label)
{
    return strspn(label, "0123456789") == strlen(label) || (label[0] == '0' && label[1] == 'x');
}

static bool is_name(const char *name)
{
    const char *label = name;

    for (;;) {
        const char *end = strchrnul(label, '.');

        if (!is_label(label, (size_t)(end - label)))
            return false;
        if (!*end)
            return !looks_like_number(label);
        label = end + 1;
    }
}

/* Copies TEXT in lower case. False if it is too long or holds a NUL. */
static bool copy_lower(const char *text, size_t length, char result[HOST_SIZE])
{
    if (length == 0 || length >= HOST_SIZE || memchr(text, '\0', length))
        return false;
    for (size_t i = 0; i < length; i++)
        result[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
    result[length] = '\0';
    return true;
}

bool host_parse(const char *text, size_t length, struct host *host)
{
    const bool brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';

    host->is_address = false;
    if (length > 1 && text[length - 1] == '.')
        length--;
    if (!copy_lower(text + brackets, length - (brackets ? 2 : 0), host->name))
        return false;
    if (brackets ? strchr(host->name, ':') && address_parse(host->name, &host->address)
                 : !strchr(host->name, ':') && address_parse(host->name, &host->address)) {
        host->is_address = true;
        address_format(&host->address, host->name);
        return true;
    }
    return !brackets && is_name(host->name);
}

static bool parse_port(const char *text, size_t length, uint16_t *port)
{
    unsigned long number = 0;

    if (length == 0 || length > 5)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(text[i]))
            return false;
        number = number * 10 + (unsigned long)(text[i] - '0');
    }
    *port = (uint16_t)number;
    return number > 0 && number <= UINT16_MAX;
}

bool host_parse_authority(const char *text, size_t length, uint16_t default_port, struct host *host, uint16_t *port)
{
    const char *end = text + length;
    const char *bracket = length && *text == '[' ? memchr(text, ']', length) : NULL;
    const char *from = bracket ? bracket : text;
    const char *colon = memchr(from, ':', (size_t)(end - from));

    *port = default_port;
    if (colon && !parse_port(colon + 1, (size_t)(end - colon - 1), port))
        return false;
    return (colon || default_port) && host_parse(text, (size_t)((colon ? colon : end) - text), host);
}

bool host_equals(const struct host *left, const struct host *right)
{
    return left->is_address == right->is_address && strcmp(left->name, right->name) == 0;
}
