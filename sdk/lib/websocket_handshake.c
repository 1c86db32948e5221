#include "websocket_handshake.h"

#include "http_raw.h"
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

char *handshake_headers(const char *key, const char *protocols)
{
    return sdk_format("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                      "Sec-WebSocket-Key: %s\r\n%s%s%s",
                      key, protocols ? "Sec-WebSocket-Protocol: " : "", protocols ? protocols : "",
                      protocols ? "\r\n" : "");
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
    if (http_raw_status(head) != 101 || !EVP_Digest(joined, strlen(joined), digest, NULL, EVP_sha1(), NULL))
        return false;
    EVP_EncodeBlock(expected, digest, sizeof(digest));
    http_raw_header(head, length, "Sec-WebSocket-Accept", value, sizeof(value));
    if (strcmp(value, (const char *)expected) != 0)
        return false;
    http_raw_header(head, length, "Upgrade", value, sizeof(value));
    if (!lists(value, "websocket"))
        return false;
    http_raw_header(head, length, "Sec-WebSocket-Protocol", value, sizeof(value));
    if (*value == '\0')
        return true;
    if (!lists(protocols, value))
        return false;
    *protocol = strdup(value);
    return *protocol;
}
