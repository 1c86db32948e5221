#include <sandlot/sdk/kept_source.h>

#include <stdlib.h>
#include <string.h>

/* Keeps what was read, if there is room; without it the source goes on, but not again. */
static void keep(struct kept_source *kept, const void *bytes, size_t length)
{
    if (!kept->lost && length > kept->most - kept->length)
        kept->lost = true;
    if (!kept->lost && length > kept->capacity - kept->length) {
        size_t wanted = 2 * (kept->length + length);
        size_t capacity = wanted < kept->most ? wanted : kept->most;
        char *larger = realloc(kept->bytes, capacity);

        kept->lost = !larger;
        kept->bytes = larger ? larger : kept->bytes;
        kept->capacity = larger ? capacity : kept->capacity;
    }
    if (kept->lost)
        return;
    memcpy(kept->bytes + kept->length, bytes, length);
    kept->length += length;
    kept->at = kept->length;
}

static enum sandlot_status read_kept(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length)
{
    struct kept_source *kept = source->context;

    if (kept->at < kept->length) {
        *length = kept->length - kept->at < capacity ? kept->length - kept->at : capacity;
        memcpy(buffer, kept->bytes + kept->at, *length);
        kept->at += *length;
        if (kept->at == kept->length)
            kept->source.poll_fd = kept->own->poll_fd;
        return SANDLOT_OK;
    }
    enum sandlot_status status = kept->own->read(kept->own, buffer, capacity, length);

    if (status == SANDLOT_OK && *length > 0)
        keep(kept, buffer, *length);
    return status;
}

void kept_source_open(struct kept_source *kept, const struct sandlot_source *own, size_t most)
{
    *kept = (struct kept_source){.own = own, .most = most};
    kept->source = (struct sandlot_source){
        .size = sizeof(kept->source), .context = kept, .read = read_kept, .poll_fd = own->poll_fd};
}

enum sandlot_status kept_source_rewind(void *context)
{
    struct kept_source *kept = context;

    if (kept->lost)
        return SANDLOT_UNSUPPORTED;
    kept->at = 0;
    kept->source.poll_fd = kept->length > 0 ? -1 : kept->own->poll_fd; /* what is kept is there at once */
    return SANDLOT_OK;
}

void kept_source_close(struct kept_source *kept)
{
    free(kept->bytes);
    kept->bytes = NULL;
}
