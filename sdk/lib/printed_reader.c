#include "printed_reader.h"

static enum sandlot_status take_bytes(struct printed_reader *reader, const char *bytes, size_t length)
{
    enum sandlot_status status = reader->body->write(reader->body, bytes, length);

    reader->left -= length;
    if (reader->left == 0 && reader->take_end)
        reader->take_end(reader->context);
    return status;
}

static enum sandlot_status take_letter(struct printed_reader *reader, char letter)
{
    if (letter == '\n') {
        reader->line[reader->used] = '\0';
        reader->used = 0;
        return reader->take_line(reader->context, reader->line);
    }
    if (reader->used == reader->size - 1)
        return reader->take_line(reader->context, NULL);
    reader->line[reader->used++] = letter;
    return SANDLOT_OK;
}

static enum sandlot_status take(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct printed_reader *reader = sink->context;
    const char *at = bytes;
    enum sandlot_status status = SANDLOT_OK;

    while (length > 0 && status == SANDLOT_OK) {
        size_t taken = reader->left == 0 ? 1 : reader->left < length ? (size_t)reader->left : length;

        status = reader->left == 0 ? take_letter(reader, *at) : take_bytes(reader, at, taken);
        at += taken;
        length -= taken;
    }
    return status;
}

void printed_reader_open(struct printed_reader *reader)
{
    reader->sink = (struct sandlot_sink){.size = sizeof(reader->sink), .context = reader, .write = take};
}
