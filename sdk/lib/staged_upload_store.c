/* From the host's sources to the vendor's `store`. */
#include "staged_upload.h"

#include <sandlot/sdk/cleanup.h>

#include <stdlib.h>
#include <string.h>

enum { SMALL = 4 << 20 }; /* a file of so many bytes is stored together with others */

/* Files FIRST to END - 1, one behind the other. */
struct bundle {
    struct sandlot_source source;
    struct staged_upload *upload;
    size_t first;
    size_t end;
    size_t at;      /* the file that is being read */
    uint64_t bytes; /* of all, so far */
};

/* What is being stored: where its files are among all. */
struct storing {
    struct staged_upload *upload;
    size_t first;
    size_t end;
    bool together; /* they are one to the vendor */
};

void staged_upload_tell(struct staged_upload *upload, size_t index, const char *error)
{
    struct staged_file *file = &upload->files[index];

    if (!file->told)
        upload->transfer->done(upload->transfer, index, error, error ? 0 : file->bytes);
    file->told = true;
}

static void tell_refused(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    const struct storing *storing = transfer->context;

    (void)bytes;
    for (size_t i = storing->first; error && i < storing->end; i++)
        if (storing->together ? index == 0 : i - storing->first == index)
            staged_upload_tell(storing->upload, i, error);
}

static enum sandlot_status store(const struct storing *storing, const struct sandlot_file *files, size_t count,
                                 FILE *first, bool *lost)
{
    struct staged_upload *upload = storing->upload;
    const struct sandlot_transfer refused = {.size = sizeof(refused), .context = (void *)storing, .done = tell_refused};
    struct staged_files staged = {
        .files = files, .count = count, .refused = &refused, .first = first, .upload = upload};
    enum sandlot_status status = upload->vendor->store(upload->call, upload->vendor->scripts.sandbox, &staged);

    *lost = status != SANDLOT_OK && staged.lost;
    return status;
}

static struct sandlot_file unseen_file(const char *path, const struct sandlot_source *source, uint64_t length)
{
    return (struct sandlot_file){
        .size = sizeof(struct sandlot_file), .path = path, .source = source, .length = length, .mode = 0600};
}

/* ---- all in one request ------------------------------------------------------------------------------------------ */

static enum sandlot_status store_all(struct staged_upload *upload, FILE *first, bool *lost)
{
    const struct storing storing = {.upload = upload, .end = upload->count};
    AUTO_FREE struct sandlot_file *files = calloc(upload->count, sizeof(*files));

    if (!files)
        return SANDLOT_INTERNAL;
    for (size_t i = 0; i < upload->count; i++)
        files[i] = unseen_file(upload->files[i].name, &upload->files[i].source, upload->files[i].file->length);
    return store(&storing, files, upload->count, first, lost);
}

/* ---- one request for each ---------------------------------------------------------------------------------------- */

static enum sandlot_status read_bundle(const struct sandlot_source *source, void *buffer, size_t capacity,
                                       size_t *length)
{
    struct bundle *bundle = source->context;

    *length = 0;
    for (; bundle->at < bundle->end; bundle->at++) {
        struct staged_file *file = &bundle->upload->files[bundle->at];
        uint64_t left = file->file->length == UINT64_MAX ? UINT64_MAX : file->file->length - file->bytes;

        if (file->bytes == 0)
            file->begin = bundle->bytes;
        if (left == 0)
            continue;
        enum sandlot_status status =
            file->source.read(&file->source, buffer, left < capacity ? (size_t)left : capacity, length);

        if (status != SANDLOT_OK)
            return status;
        bundle->bytes += *length;
        if (*length > 0)
            return SANDLOT_OK;
    }
    return SANDLOT_OK;
}

static bool is_small(const struct staged_file *file)
{
    return file->file->length <= SMALL;
}

/* The files from FIRST on that are stored together, and their length. One alone keeps its own way to say when it can be
 * read. */
static uint64_t fill_bundle(struct bundle *bundle, struct staged_upload *upload, size_t first)
{
    uint64_t length = upload->files[first].file->length;
    size_t end = first + 1;

    if (is_small(&upload->files[first]))
        for (; end < upload->count && is_small(&upload->files[end]); end++)
            length += upload->files[end].file->length;
    *bundle = (struct bundle){.upload = upload, .first = first, .end = end, .at = first};
    bundle->source = (struct sandlot_source){.size = sizeof(bundle->source),
                                             .context = bundle,
                                             .read = read_bundle,
                                             .poll_fd = end == first + 1 ? upload->files[first].source.poll_fd : -1};
    return length;
}

static void note_bundle(const struct bundle *bundle)
{
    for (size_t i = bundle->first; i < bundle->end; i++) {
        struct staged_file *file = &bundle->upload->files[i];

        file->name = bundle->upload->files[bundle->first].name;
        file->stored = bundle->bytes;
        file->together = bundle->end > bundle->first + 1;
    }
}

/* What was lost in one says nothing of the next. */
static enum sandlot_status store_each(struct staged_upload *upload, FILE *first, bool *lost)
{
    enum sandlot_status worst = SANDLOT_OK;

    for (size_t at = 0; at < upload->count;) {
        struct bundle bundle;
        uint64_t length = fill_bundle(&bundle, upload, at);
        const struct sandlot_file file = unseen_file(upload->files[at].name, &bundle.source, length);
        const struct storing storing = {.upload = upload, .first = at, .end = bundle.end, .together = true};
        bool unanswered = false;
        enum sandlot_status status = store(&storing, &file, 1, first, &unanswered);

        if (status != SANDLOT_OK && !unanswered) {
            *lost = false;
            return status;
        }
        worst = unanswered ? status : worst;
        *lost = *lost || unanswered;
        note_bundle(&bundle);
        at = bundle.end;
    }
    return worst;
}

enum sandlot_status staged_upload_store(struct staged_upload *upload, bool *lost)
{
    size_t size = 0;
    FILE *first = open_memstream(&upload->first, &size);
    enum sandlot_status status = SANDLOT_INTERNAL;

    *lost = false;
    if (first)
        status = upload->vendor->single ? store_each(upload, first, lost) : store_all(upload, first, lost);
    if (first && fclose(first) != 0)
        status = SANDLOT_INTERNAL;
    return status;
}

/* ---- a file for a command ---------------------------------------------------------------------------------------- */

enum { LONGEST_REFUSAL = 256, LONGEST_WORD = 16 };

static void keep_refusal(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    (void)index, (void)bytes;
    snprintf(transfer->context, LONGEST_REFUSAL, "%s", error ? error : "");
}

/* Runs what is to be done FIRST: its last line says that all before it went well. */
static enum sandlot_status finish(struct sandlot_call *call, const struct staged_upload_vendor *vendor, FILE *first,
                                  char **script)
{
    char said[LONGEST_WORD];

    fputs("echo done\n", first);
    if (fclose(first) != 0)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a script; free some");
    enum sandlot_status status = script_read(call, &vendor->scripts, *script, said, sizeof(said));

    return status != SANDLOT_OK || strcmp(said, "done\n") == 0
               ? status
               : sandlot_fail(call, SANDLOT_UNAVAILABLE,
                              "a file for a command could not be put together in the sandbox; look whether its disk is "
                              "full");
}

enum sandlot_status staged_put(struct sandlot_call *call, const struct staged_upload_vendor *vendor, const char *path,
                               const struct sandlot_source *source, uint64_t length)
{
    char refusal[LONGEST_REFUSAL] = "";
    const struct sandlot_transfer refused = {.size = sizeof(refused), .context = refusal, .done = keep_refusal};
    const struct sandlot_file file = unseen_file(path, source, length);
    AUTO_FREE char *script = NULL;
    size_t size = 0;
    FILE *first = open_memstream(&script, &size);
    struct staged_files staged = {.files = &file, .count = 1, .refused = &refused, .first = first};

    if (!first)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a script; free some");
    enum sandlot_status status = vendor->store(call, vendor->scripts.sandbox, &staged);

    if (status == SANDLOT_OK && *refusal)
        status = sandlot_fail(call, SANDLOT_INTERNAL, "a file for a command could not be stored in the sandbox: %s",
                              refusal);
    if (status == SANDLOT_OK && ftell(first) > 0)
        return finish(call, vendor, first, &script);
    fclose(first);
    return status;
}
