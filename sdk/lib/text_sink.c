#include <sandlot/sdk/text_sink.h>

#include <string.h>

static enum sandlot_status keep(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct text_sink *text = sink->context;
    size_t room = text->capacity - 1 - text->length;

    length = length < room ? length : room;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
    return SANDLOT_OK;
}

void text_sink_init(struct text_sink *text, char *bytes, size_t capacity)
{
    *text = (struct text_sink){
        .sink = {.size = sizeof(text->sink), .context = text, .write = keep}, .bytes = bytes, .capacity = capacity};
    bytes[0] = '\0';
}
