#include "hello.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    RECORD_HEAD = 5,
    RECORD_HANDSHAKE = 22,
    RECORD_MOST = 16 * 1024,
    MESSAGE_HEAD = 4,
    CLIENT_HELLO = 1,
    RANDOM_SIZE = 34, /* with the version before it */
    EXTENSION_SERVER_NAME = 0,
    NAME_HOST = 0
};

/* A part of a message that is being read. */
struct reader {
    const unsigned char *at;
    size_t left;
    bool failed;
};

static uint32_t read_number(struct reader *reader, size_t bytes)
{
    uint32_t number = 0;

    reader->failed = reader->failed || reader->left < bytes;
    for (size_t i = 0; i < bytes && !reader->failed; i++)
        number = number << 8 | reader->at[i];
    reader->at += reader->failed ? 0 : bytes;
    reader->left -= reader->failed ? 0 : bytes;
    return number;
}

static struct reader read_part(struct reader *reader, size_t length)
{
    struct reader part = {reader->at, length, false};

    reader->failed = reader->failed || reader->left < length;
    if (reader->failed)
        return (struct reader){reader->at, 0, true};
    reader->at += length;
    reader->left -= length;
    return part;
}

/* A part that begins with its own length in BYTES bytes. */
static struct reader read_counted(struct reader *reader, size_t bytes)
{
    return read_part(reader, read_number(reader, bytes));
}

/* The list of server names: one, of a host. */
static bool read_server_name(struct reader extension, char name[HELLO_NAME_SIZE])
{
    struct reader list = read_counted(&extension, 2);
    const uint32_t type = read_number(&list, 1);
    const struct reader host = read_counted(&list, 2);

    if (extension.failed || extension.left || list.failed || list.left || type != NAME_HOST)
        return false;
    if (host.left == 0 || host.left >= HELLO_NAME_SIZE || memchr(host.at, '\0', host.left))
        return false;
    memcpy(name, host.at, host.left);
    name[host.left] = '\0';
    return true;
}

static bool read_extensions(struct reader *extensions, char name[HELLO_NAME_SIZE])
{
    while (extensions->left && !extensions->failed) {
        const uint32_t type = read_number(extensions, 2);
        const struct reader extension = read_counted(extensions, 2);

        if (extensions->failed)
            break;
        if (type == EXTENSION_SERVER_NAME && (*name || !read_server_name(extension, name)))
            return false;
    }
    return !extensions->failed;
}

static bool read_hello(struct reader hello, char name[HELLO_NAME_SIZE])
{
    read_part(&hello, RANDOM_SIZE);
    read_counted(&hello, 1); /* session */
    const struct reader ciphers = read_counted(&hello, 2);
    const struct reader compressions = read_counted(&hello, 1);

    if (hello.failed || ciphers.left < 2 || ciphers.left % 2 || compressions.left == 0)
        return false;
    if (hello.left == 0)
        return true; /* TLS 1.2 may do without any extension */
    struct reader extensions = read_counted(&hello, 2);

    return hello.left == 0 && read_extensions(&extensions, name) && !hello.failed;
}

/* Appends the contents of the records to MESSAGE. HELLO_MORE when the records end with the bytes. */
static enum hello_result join_records(const unsigned char *bytes, size_t length, unsigned char *message, size_t *used)
{
    size_t wanted = MESSAGE_HEAD;

    while (*used < wanted) {
        if (length && bytes[0] != RECORD_HANDSHAKE)
            return HELLO_BAD;
        if (length > 1 && bytes[1] != 3)
            return HELLO_BAD;
        if (length < RECORD_HEAD)
            return HELLO_MORE;
        const size_t size = (size_t)bytes[3] << 8 | bytes[4];
        const size_t there = length - RECORD_HEAD < size ? length - RECORD_HEAD : size;

        if (size == 0 || size > RECORD_MOST || *used + there > HELLO_MOST)
            return HELLO_BAD;
        memcpy(message + *used, bytes + RECORD_HEAD, there);
        *used += there;
        if (*used && message[0] != CLIENT_HELLO)
            return HELLO_BAD;
        if (*used >= MESSAGE_HEAD)
            wanted = MESSAGE_HEAD + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
        if (wanted > HELLO_MOST)
            return HELLO_BAD;
        if (there < size && *used < wanted)
            return HELLO_MORE;
        bytes += RECORD_HEAD + there;
        length -= RECORD_HEAD + there;
    }
    /* Nothing may follow it: a client has to wait for the answer. */
    return *used == wanted ? HELLO_FINE : HELLO_BAD;
}

enum hello_result hello_parse(const unsigned char *bytes, size_t length, char name[HELLO_NAME_SIZE])
{
    unsigned char message[HELLO_MOST];
    size_t used = 0;
    const enum hello_result joined = join_records(bytes, length, message, &used);

    name[0] = '\0';
    if (joined != HELLO_FINE)
        return joined;
    const struct reader hello = {message + MESSAGE_HEAD, used - MESSAGE_HEAD, false};

    return read_hello(hello, name) ? HELLO_FINE : HELLO_BAD;
}
