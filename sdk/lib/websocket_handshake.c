#include "websocket_handshake.h"

#include "text.h"

#include <sandlot/sdk/cleanup.h>

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

enum { KEY_BYTES = 16, SHA1_BYTES = 20 };

bool handshake_key(char key[HANDSHAKE_KEY])
{
    unsigned char bytes[KEY_BYTES];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    EVP_EncodeBlock((unsigned char *)key, bytes, sizeof(bytes));
    return true;
}

/* The lines of HEADERS in the form of HTTP. */
static bool add_headers(struct sdk_buffer *text, const struct curl_slist *headers)
{
    for (; headers; headers = headers->next) {
        const char *line = headers->data;
        size_t name = strcspn(line, ":;");

        if (line[name] == ':' && line[name + 1] == '\0')
            continue; /* to libcurl: leave this header out */
        if (sdk_buffer_add(text, line, name) != SDK_GROWN || sdk_buffer_add(text, ":", 1) != SDK_GROWN ||
            sdk_buffer_add(text, line + name + 1, strlen(line + name + 1)) != SDK_GROWN ||
            sdk_buffer_add(text, "\r\n", 2) != SDK_GROWN)
            return false;
    }
    return true;
}

char *handshake_request(const char *url, const struct curl_slist *headers, const char *user_agent, const char *key,
                        const char *protocols)
{
    const char *host = strstr(url, "://");

    host = host ? host + 3 : url;
    size_t authority = strcspn(host, "/?#");
    const char *path = host + authority;
    const char *user = memrchr(host, '@', authority);

    if (user) {
        authority -= (size_t)(user + 1 - host);
        host = user + 1;
    }
    AUTO_FREE char *first = sdk_format(
        "GET %s%.*s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n%s%s%s",
        *path == '/' ? "" : "/", (int)strcspn(path, "#"), path, (int)authority, host, user_agent, key,
        protocols ? "Sec-WebSocket-Protocol: " : "", protocols ? protocols : "", protocols ? "\r\n" : "");
    struct sdk_buffer text = {.limit = SIZE_MAX / 4};

    if (first && sdk_buffer_add(&text, first, strlen(first)) == SDK_GROWN && add_headers(&text, headers) &&
        sdk_buffer_add(&text, "\r\n", 2) == SDK_GROWN)
        return sdk_buffer_take(&text);
    sdk_buffer_clear(&text);
    return NULL;
}

int handshake_status(const char *head)
{
    return strncmp(head, "HTTP/1.", 7) == 0 && head[7] && head[8] == ' ' ? atoi(head + 9) : 0;
}

/* The value of header NAME within HEAD, cut at CAPACITY; "" if there is none. */
static void header(const char *head, size_t length, const char *name, char *value, size_t capacity)
{
    const char *end = head + length;

    *value = '\0';
    for (const char *line = head; line < end;) {
        const char *stop = memchr(line, '\r', (size_t)(end - line));
        size_t size = (size_t)((stop ? stop : end) - line);
        size_t name_length = strlen(name);

        if (size > name_length && strncasecmp(line, name, name_length) == 0 && line[name_length] == ':')
            sdk_one_line(value, capacity, line + name_length + 1, size - name_length - 1);
        line = stop ? stop + 2 : end;
    }
}

size_t handshake_body_length(const char *head, size_t length)
{
    char value[32];

    header(head, length, "Content-Length", value, sizeof(value));
    return strtoul(value, NULL, 10);
}

/* Is WORD one of those of LIST, which commas separate? */
static bool lists(const char *list, const char *word)
{
    size_t length = strlen(word);

    while (list && *list) {
        list += strspn(list, ", \t");
        size_t size = strcspn(list, ", \t");

        if (size == length && strncasecmp(list, word, size) == 0)
            return true;
        list += size;
    }
    return false;
}

bool handshake_accepted(const char *head, size_t length, const char *key, const char *protocols, char **protocol)
{
    char joined[HANDSHAKE_KEY + 40];
    unsigned char digest[SHA1_BYTES];
    unsigned char expected[SHA1_BYTES * 2];
    char value[128];

    snprintf(joined, sizeof(joined), "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    if (handshake_status(head) != 101 || !EVP_Digest(joined, strlen(joined), digest, NULL, EVP_sha1(), NULL))
        return false;
    EVP_EncodeBlock(expected, digest, sizeof(digest));
    header(head, length, "Sec-WebSocket-Accept", value, sizeof(value));
    if (strcmp(value, (const char *)expected) != 0)
        return false;
    header(head, length, "Upgrade", value, sizeof(value));
    if (!lists(value, "websocket"))
        return false;
    header(head, length, "Sec-WebSocket-Protocol", value, sizeof(value));
    if (*value == '\0')
        return true;
    if (!lists(protocols, value))
        return false;
    *protocol = strdup(value);
    return *protocol;
}
