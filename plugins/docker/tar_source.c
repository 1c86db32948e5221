#include "tar_source.h"

#include <inttypes.h>
#include <string.h>

enum {
    END_BLOCKS = 2,
    NAME = 0,
    MODE = 100,
    USER = 108,
    GROUP = 116,
    SIZE = 124,
    TIME = 136,
    SUM = 148,
    TYPE = 156,
    MAGIC = 257
};

static const uint64_t largest_octal = 077777777777;

static uint64_t filled_up(uint64_t length)
{
    return (TAR_BLOCK - length % TAR_BLOCK) % TAR_BLOCK;
}

/* POSIX has eleven octal digits; larger numbers are written as GNU tar does, in base 256. */
static void write_size(char *field, uint64_t size)
{
    if (size <= largest_octal) {
        snprintf(field, 12, "%011" PRIo64, size);
        return;
    }
    memset(field, 0, 12);
    field[0] = (char)0x80;
    for (int i = 11; i > 3; i--, size >>= 8)
        field[i] = (char)(size & 0xff);
}

static void write_head(struct tar_source *tar, const struct sandlot_file *file)
{
    char *block = tar->block;
    unsigned int sum = 0;

    memset(block, 0, TAR_BLOCK);
    snprintf(block + NAME, TAR_LONGEST_NAME, "%s", file->path + tar->skipped);
    snprintf(block + MODE, 8, "%07o", (file->mode ? file->mode : 0644) & 07777);
    snprintf(block + USER, 8, "%07o", 0);
    snprintf(block + GROUP, 8, "%07o", 0);
    write_size(block + SIZE, file->length);
    snprintf(block + TIME, 12, "%011" PRIo64, (uint64_t)time(NULL));
    memset(block + SUM, ' ', 8);
    block[TYPE] = tar->type;
    memcpy(block + MAGIC, "ustar\00000", 8);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + SUM, 8, "%06o", sum);
    tar->block_left = TAR_BLOCK;
}

static size_t take(size_t capacity, uint64_t left)
{
    return left < capacity ? (size_t)left : capacity;
}

static enum sandlot_status read_content(struct tar_source *tar, void *buffer, size_t capacity, size_t *length)
{
    const struct sandlot_file *file = &tar->files[tar->next - 1];
    enum sandlot_status status = file->source->read(file->source, buffer, take(capacity, tar->left), length);

    if (status != SANDLOT_OK)
        return status;
    tar->left -= *length;
    return *length > 0 ? SANDLOT_OK
                       : sandlot_fail(tar->call, SANDLOT_INVALID_ARGUMENT,
                                      "the content of a file ended before its announced length; upload it again");
}

/* The next block that is not content. False: the archive has ended. */
static bool next_block(struct tar_source *tar)
{
    if (tar->next < tar->count) {
        const struct sandlot_file *file = &tar->files[tar->next++];

        write_head(tar, file);
        tar->left = file->length;
        tar->fill = filled_up(file->length);
        return true;
    }
    if (tar->next >= tar->count + END_BLOCKS)
        return false;
    tar->next++;
    memset(tar->block, 0, TAR_BLOCK);
    tar->block_left = TAR_BLOCK;
    return true;
}

static enum sandlot_status read_archive(const struct sandlot_source *source, void *buffer, size_t capacity,
                                        size_t *length)
{
    struct tar_source *tar = source->context;

    *length = 0;
    if (tar->block_left == 0 && tar->left > 0)
        return read_content(tar, buffer, capacity, length);
    if (tar->block_left == 0 && tar->fill > 0) {
        *length = take(capacity, tar->fill);
        memset(buffer, 0, *length);
        tar->fill -= *length;
        return SANDLOT_OK;
    }
    if (tar->block_left == 0 && !next_block(tar))
        return SANDLOT_OK;
    *length = take(capacity, tar->block_left);
    memcpy(buffer, tar->block + TAR_BLOCK - tar->block_left, *length);
    tar->block_left -= *length;
    return SANDLOT_OK;
}

void tar_source_init(struct tar_source *tar, struct sandlot_call *call, const struct sandlot_file *files, size_t count,
                     size_t folder_length)
{
    *tar = (struct tar_source){
        .call = call, .files = files, .count = count, .skipped = folder_length + 1, .type = TAR_FILE};
    tar->source =
        (struct sandlot_source){.size = sizeof(tar->source), .context = tar, .read = read_archive, .poll_fd = -1};
    tar->length = (uint64_t)END_BLOCKS * TAR_BLOCK;
    for (size_t i = 0; i < count; i++)
        tar->length += TAR_BLOCK + files[i].length + filled_up(files[i].length);
}
