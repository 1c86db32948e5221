/* The first bytes of a connection to a port: whatever they are, what goes on is one head with the host and header of
 * ours. */
#include "../../sdk/lib/http_relay_head.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char header[] = "Token: secret";
    struct sdk_buffer new = {.limit = SIZE_MAX / 4};
    const char *bytes = (const char *)data;
    size_t length = 0;
    bool upgrades;

    if (size == 0 || http_relay_look(bytes, size, &length) != HTTP_RELAY_WHOLE)
        return 0;
    if (length > size || !http_relay_rewrite(bytes, length, "h.example", header, &new, &upgrades))
        abort();
    const char *end = memmem(new.bytes, new.length, "\r\n\r\n", 4);

    if (!end || end + 4 != new.bytes + new.length || !memmem(new.bytes, new.length, "\r\nHost: h.example\r\n", 19) ||
        !memmem(new.bytes, new.length, "\r\nToken: secret\r\n", 17))
        abort();
    sdk_buffer_clear(&new);
    return 0;
}
