/* Many small files into a sandbox: an archive, and a script that puts its files into their places. */
#include "batch_upload.h"
#include "batch.h"

#include <sandlot/sdk/archive.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/placing.h>
#include <sandlot/sdk/quoting.h>
#include <sandlot/sdk/text_sink.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive_raw.h"
#include "text.h"

enum { LONGEST_NAME = 255, PLAIN_MODE = 0644, FATE_SIZE = 32, FOLDERS_AT_ONCE = 64 };

/* ---- what goes together ------------------------------------------------------------------------------------------ */

struct item {
    size_t number;    /* among all files */
    const char *name; /* the last part of its path */
    size_t folder;    /* its number among the folders */
    size_t offset;    /* of its content */
    size_t length;
};

struct archive {
    struct batch *batch;
    struct item *items;
    size_t count;
    char **folders;
    size_t folder_count;
    char *contents; /* of all, one behind the other */
    size_t used;
};

/* Bytes in memory as a source. */
struct memory {
    struct sandlot_source source;
    const char *bytes;
    size_t length;
    size_t at;
};

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for an upload; free some");
}

static enum sandlot_status read_memory(const struct sandlot_source *source, void *buffer, size_t capacity,
                                       size_t *length)
{
    struct memory *memory = source->context;

    *length = memory->length - memory->at < capacity ? memory->length - memory->at : capacity;
    if (*length > 0)
        memcpy(buffer, memory->bytes + memory->at, *length);
    memory->at += *length;
    return SANDLOT_OK;
}

static void open_memory(struct memory *memory, const char *bytes, size_t length)
{
    *memory = (struct memory){.bytes = bytes, .length = length};
    memory->source =
        (struct sandlot_source){.size = sizeof(memory->source), .context = memory, .read = read_memory, .poll_fd = -1};
}

/* One that every tar(1) and every shell takes as it stands. */
static bool is_plain_name(const char *name)
{
    size_t length = 0;

    for (; name[length]; length++)
        if ((unsigned char)name[length] < ' ' || name[length] == '\177')
            return false;
    return length > 0 && length <= LONGEST_NAME && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           sdk_utf8_valid(name, length);
}

/* False when out of memory. */
static bool find_folder(struct archive *archive, const char *path, size_t length, size_t *number)
{
    length = length > 0 ? length : 1; /* the root */
    /* Files of a folder mostly stand together. */
    for (size_t i = archive->folder_count; i > 0; i--)
        if (strncmp(archive->folders[i - 1], path, length) == 0 && !archive->folders[i - 1][length]) {
            *number = i - 1;
            return true;
        }
    archive->folders[archive->folder_count] = strndup(path, length);
    *number = archive->folder_count;
    return archive->folders[archive->folder_count++] != NULL;
}

/* Reads a file to its announced end. False: it has another one, or cannot be read; the host is to begin again with it.
 */
static bool read_file(struct archive *archive, const struct sandlot_file *file)
{
    char *bytes = archive->contents + archive->used;
    size_t length = 0;
    size_t got = 1;

    while (got > 0 && length <= file->length) {
        size_t room = (size_t)file->length - length + 1;

        if (file->source->read(file->source, bytes + length, room, &got) != SANDLOT_OK)
            return false;
        length += got;
    }
    return length == file->length;
}

/* Takes in the files from *NEXT on that may go together. SANDLOT_INTERNAL: no memory. */
static enum sandlot_status fill(struct archive *archive, size_t *next)
{
    struct batch *batch = archive->batch;

    for (; *next < batch->count; ++*next) {
        const struct sandlot_file *file = &batch->files[*next];
        const char *slash = strrchr(file->path, '/');
        struct item *item = &archive->items[archive->count];

        if (file->length > BATCH_SMALL || !slash || !is_plain_name(slash + 1))
            continue;
        if (archive->used + file->length + 1 > BATCH_TOGETHER)
            break;
        *item =
            (struct item){.number = *next, .name = slash + 1, .offset = archive->used, .length = (size_t)file->length};
        if (!read_file(archive, file)) {
            batch->told[*next] = true; /* for the host alone */
            continue;
        }
        if (!find_folder(archive, file->path, (size_t)(slash - file->path), &item->folder))
            return SANDLOT_INTERNAL;
        archive->used += item->length;
        archive->count++;
    }
    return SANDLOT_OK;
}

/* ---- the archive ------------------------------------------------------------------------------------------------- */

static bool write_script(const struct archive *archive, FILE *stream)
{
    fputs(batch_placing_script, stream);
    for (size_t i = 0; i < archive->folder_count; i++) {
        AUTO_FREE char *word = shell_word(archive->folders[i]);

        if (!word)
            return false;
        fprintf(stream, "%s %s%s", i % FOLDERS_AT_ONCE == 0 ? "mkdir -p" : "", word,
                i % FOLDERS_AT_ONCE == FOLDERS_AT_ONCE - 1 || i == archive->folder_count - 1 ? "\n" : "");
    }
    for (size_t i = 0; i < archive->folder_count; i++) {
        AUTO_FREE char *word = shell_word(archive->folders[i]);

        if (!word)
            return false;
        fprintf(stream, "D %zu %s\n", i, word);
    }
    fputs("disks\n", stream);
    for (size_t i = 0; i < archive->count; i++) {
        const struct item *item = &archive->items[i];
        uint32_t mode = archive->batch->files[item->number].mode;
        AUTO_FREE char *word = shell_word(item->name);

        if (!word)
            return false;
        fprintf(stream, "F %zu %zu %s %o\n", item->number, item->folder, word, mode ? mode & 07777 : PLAIN_MODE);
    }
    fputs("keep\nmove\n", stream);
    return true;
}

static char *make_script(const struct archive *archive, size_t *length)
{
    char *script = NULL;
    FILE *stream = open_memstream(&script, length);
    bool whole = stream && write_script(archive, stream);

    return sdk_text_end(stream, &script, whole);
}

static enum sandlot_status add_bytes(struct tar_writer *writer, const char *path, uint32_t mode, const char *bytes,
                                     size_t length)
{
    struct memory memory;

    open_memory(&memory, bytes, length);
    const struct sandlot_file file = {
        .size = sizeof(file), .path = path, .source = &memory.source, .length = length, .mode = mode};

    return tar_writer_add(writer, &file);
}

static enum sandlot_status keep_archive(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    return sdk_buffer_add(sink->context, bytes, length) == SDK_GROWN ? SANDLOT_OK : SANDLOT_INTERNAL;
}

static enum sandlot_status pack(const struct archive *archive, struct sdk_buffer *packed)
{
    const struct sandlot_sink sink = {.size = sizeof(sink), .context = packed, .write = keep_archive};
    struct tar_writer *writer = NULL;
    size_t length = 0;
    AUTO_FREE char *script = make_script(archive, &length);
    enum sandlot_status status = script ? tar_writer_open_raw(archive->batch->call, &sink, &writer) : SANDLOT_INTERNAL;

    if (status == SANDLOT_OK)
        status = add_bytes(writer, "run", 0600, script, length);
    for (size_t i = 0; i < archive->count && status == SANDLOT_OK; i++) {
        const struct item *item = &archive->items[i];
        uint32_t mode = archive->batch->files[item->number].mode;
        char path[LONGEST_NAME + 24];

        snprintf(path, sizeof(path), "%zu/%s", item->folder, item->name);
        status = add_bytes(writer, path, mode ? mode : PLAIN_MODE, archive->contents + item->offset, item->length);
    }
    if (status == SANDLOT_OK)
        status = tar_writer_end(writer);
    tar_writer_free(writer);
    return status;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static void tell_placed(void *context, size_t index, const char *error)
{
    struct batch *batch = context;

    if (!error)
        batch_tell(batch, index, batch->files[index].length);
}

static enum sandlot_status send(struct archive *archive)
{
    struct batch *batch = archive->batch;
    struct sdk_buffer packed = {.limit = SIZE_MAX};
    size_t capacity = archive->count * FATE_SIZE + 1;
    AUTO_FREE char *fates = malloc(capacity);
    struct text_sink heard;
    struct memory memory;
    enum sandlot_status status = fates ? pack(archive, &packed) : SANDLOT_INTERNAL;

    if (status == SANDLOT_OK) {
        text_sink_init(&heard, fates, capacity);
        open_memory(&memory, packed.bytes, packed.length);
        status = batch_run(batch, batch_unpacking_script, &memory.source, &heard.sink);
        placing_read(fates, batch->count, tell_placed, batch);
    }
    sdk_buffer_clear(&packed);
    return status;
}

/* Those that were read but not placed go the vendor's own way, from memory. */
static enum sandlot_status move_others(struct archive *archive)
{
    struct batch *batch = archive->batch;
    AUTO_FREE struct memory *memories = calloc(archive->count + 1, sizeof(*memories));
    AUTO_FREE struct sandlot_source *others = calloc(batch->count + 1, sizeof(*others));

    if (!memories || !others)
        return no_memory(batch->call);
    for (size_t i = 0; i < archive->count; i++) {
        const struct item *item = &archive->items[i];

        open_memory(&memories[i], archive->contents + item->offset, item->length);
        others[item->number] = memories[i].source;
        others[item->number].context = &memories[i];
    }
    /* What this archive has no part in has its turn in another one, or at the end. */
    AUTO_FREE bool *told = malloc((batch->count + 1) * sizeof(*told));

    if (!told)
        return no_memory(batch->call);
    memcpy(told, batch->told, (batch->count + 1) * sizeof(*told));
    for (size_t i = 0; i < batch->count; i++)
        batch->told[i] = batch->told[i] || !others[i].read;
    enum sandlot_status status = batch_move_rest(batch, others);

    for (size_t i = 0; i < batch->count; i++)
        batch->told[i] = others[i].read ? true : told[i]; /* their sources are spent */
    return status;
}

static void clear_archive(struct archive *archive)
{
    for (size_t i = 0; i < archive->folder_count; i++)
        free(archive->folders[i]);
    archive->folder_count = archive->count = archive->used = 0;
}

static enum sandlot_status upload_together(struct archive *archive)
{
    enum sandlot_status status = SANDLOT_OK;

    for (size_t next = 0; next < archive->batch->count && status == SANDLOT_OK;) {
        status = fill(archive, &next);
        if (status == SANDLOT_OK && archive->count > 0)
            status = send(archive);
        if (!batch_is_final(status) && archive->count > 0)
            status = move_others(archive);
        else if (archive->count == 0 && status != SANDLOT_OK)
            status = no_memory(archive->batch->call);
        clear_archive(archive);
    }
    return status;
}

enum sandlot_status batch_upload(struct sandlot_call *call, const struct batch_vendor *vendor,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer)
{
    struct batch batch = {.call = call, .vendor = vendor, .files = files, .count = count, .transfer = transfer};

    if (count < vendor->least)
        return vendor->move(call, vendor->provider, vendor->sandbox, files, count, transfer);
    struct archive archive = {.batch = &batch,
                              .items = calloc(count, sizeof(*archive.items)),
                              .folders = calloc(count, sizeof(*archive.folders)),
                              .contents = malloc(BATCH_TOGETHER + 1)};
    enum sandlot_status status = archive.items && archive.folders && archive.contents && batch_open(&batch)
                                     ? upload_together(&archive)
                                     : no_memory(call);

    if (status == SANDLOT_OK)
        status = batch_move_rest(&batch, NULL);
    clear_archive(&archive);
    free(archive.items);
    free(archive.folders);
    free(archive.contents);
    free(batch.told);
    return status;
}
