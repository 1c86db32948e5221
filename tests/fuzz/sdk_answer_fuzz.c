/* What the HTTP client makes of a stranger's headers and error texts, and the archive reader of its bytes. */
#include <sandlot/sdk/archive.h>
#include <sandlot/sdk/http.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum sandlot_status on_fail(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    (void)call;
    if (strchr(message, '\n'))
        abort();
    return status;
}

static enum sandlot_status on_begin(void *context, const struct tar_entry *entry, const struct sandlot_sink **sink)
{
    (void)context;
    (void)sink;
    if (*entry->name == '\0' || *entry->name == '/' || strcmp(entry->name, "..") == 0 ||
        strncmp(entry->name, "../", 3) == 0 || strstr(entry->name, "/../"))
        abort();
    return SANDLOT_OK;
}

static void read_archive(const uint8_t *data, size_t size)
{
    static const struct tar_receiver receiver = {NULL, on_begin, NULL};
    const struct sandlot_host host = {.size = sizeof(host), .fail = on_fail};
    struct sandlot_call call = {.size = sizeof(call), .host = &host, .cancel_fd = -1};
    struct tar_reader *reader;

    if (tar_reader_open(&call, &receiver, 1 << 20, &reader) != SANDLOT_OK)
        return;
    const struct sandlot_sink *sink = tar_reader_sink(reader);

    if (sink->write(sink, data, size) == SANDLOT_OK)
        tar_reader_end(reader);
    tar_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[64];

    if (size < 1)
        return 0;
    switch (data[0] % 3) {
    case 0:
        if (http_retry_after((const char *)data + 1, size - 1, INT64_C(1700000000000)) < -1)
            abort();
        break;
    case 1:
        http_error_text((const char *)data + 1, size - 1, text, sizeof(text));
        if (strlen(text) >= sizeof(text) || strpbrk(text, "\n\r\x1b"))
            abort();
        break;
    default:
        read_archive(data + 1, size - 1);
    }
    return 0;
}
