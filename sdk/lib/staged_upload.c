#include "staged_upload.h"

#include <sandlot/sdk/batch.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/placing.h>
#include <sandlot/sdk/random.h>

#include <stdlib.h>
#include <string.h>

enum {
    LONGEST_FATE = 64,
    CARRIED = 48 * 1024, /* bytes of content in a script */
    GROUP = 3,           /* that begin four characters of base64 */
    DIGITS = 16
};

static const char usual_prefix[] = "/tmp/.sandlot-";

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for an upload; free some");
}

/* ---- fates ------------------------------------------------------------------------------------------------------- */

static void tell_any(void *context, size_t index, const char *error)
{
    staged_upload_tell(context, index, error);
}

static bool all_are_told(const struct staged_upload *upload)
{
    size_t told = 0;

    while (told < upload->count && upload->files[told].told)
        told++;
    return told == upload->count;
}

char *staged_upload_script(const struct staged_files *staged)
{
    return staged_upload_write(staged->upload, false);
}

bool staged_upload_fates(struct staged_files *staged, char *text)
{
    placing_read(text, staged->upload->count, tell_any, staged->upload);
    return all_are_told(staged->upload);
}

/* *LACKING: nothing was done, for the sandbox cannot unpack contents. */
static enum sandlot_status place(struct staged_upload *upload, bool carried, bool *lacking)
{
    size_t capacity = upload->count * LONGEST_FATE + sizeof(STAGED_LACKING);
    AUTO_FREE char *script = staged_upload_write(upload, carried);
    AUTO_FREE char *fates = malloc(capacity);

    if (!script || !fates)
        return no_memory(upload->call);
    upload->begun = true;
    enum sandlot_status status = script_read(upload->call, &upload->vendor->scripts, script, fates, capacity);

    if (status != SANDLOT_OK)
        return status;
    upload->begun = false; /* it has */
    *lacking = strcmp(fates, STAGED_LACKING) == 0;
    placing_read(fates, upload->count, tell_any, upload);
    return SANDLOT_OK;
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status read_counted(const struct sandlot_source *source, void *buffer, size_t capacity,
                                        size_t *length)
{
    struct staged_file *file = source->context;

    if (file->content) {
        size_t left = (size_t)file->file->length - file->at;

        *length = left < capacity ? left : capacity;
        memcpy(buffer, file->content + file->at, *length);
        file->at += *length;
        file->bytes += *length;
        return SANDLOT_OK;
    }
    enum sandlot_status status = file->file->source->read(file->file->source, buffer, capacity, length);

    if (status == SANDLOT_OK)
        file->bytes += *length;
    return status;
}

/* ---- contents in the script -------------------------------------------------------------------------------------- */

static bool fits_into_script(const struct staged_upload *upload)
{
    uint64_t together = 0;

    for (size_t i = 0; i < upload->count; i++) {
        uint64_t length = upload->files[i].file->length;

        if (length > CARRIED || together + length + GROUP > CARRIED)
            return false;
        together += length + GROUP;
    }
    return true;
}

static enum sandlot_status keep_content(struct staged_upload *upload, struct staged_file *file)
{
    const struct sandlot_source *own = file->file->source;
    size_t wanted = (size_t)file->file->length;
    char *content = malloc(wanted + 1);
    size_t got = 1;
    enum sandlot_status status = content ? SANDLOT_OK : no_memory(upload->call);

    while (status == SANDLOT_OK && file->bytes < wanted && got > 0) {
        got = 0;
        status = own->read(own, content + file->bytes, wanted - (size_t)file->bytes, &got);
        file->bytes += got;
    }
    file->content = content;
    file->source.poll_fd = -1;
    if (status == SANDLOT_OK && file->bytes < wanted)
        return sandlot_fail(upload->call, SANDLOT_INVALID_ARGUMENT,
                            "the content of %.200s ended before its announced length; upload it again",
                            file->file->path);
    return status;
}

/* *LACKING: that did not work, and the contents are still to be stored. */
static enum sandlot_status carry(struct staged_upload *upload, bool *lacking)
{
    enum sandlot_status status = SANDLOT_OK;

    for (size_t i = 0; i < upload->count && status == SANDLOT_OK; i++) {
        snprintf(upload->names[i], STAGED_NAME, "%s/%zu", upload->prefix, i);
        status = keep_content(upload, &upload->files[i]);
    }
    if (status == SANDLOT_OK)
        status = place(upload, true, lacking);
    for (size_t i = 0; i < upload->count && *lacking; i++)
        upload->files[i].bytes = 0;
    return status;
}

/* ---- upload ------------------------------------------------------------------------------------------------------ */

static enum sandlot_status store_and_place(struct staged_upload *upload)
{
    bool lost = false;
    bool lacking = false;

    /* A service that takes one file at a time may make no folders. */
    for (size_t i = 0; i < upload->count; i++)
        snprintf(upload->names[i], STAGED_NAME, "%s%c%zu", upload->prefix, upload->vendor->single ? '.' : '/', i);
    upload->begun = true;
    enum sandlot_status stored = staged_upload_store(upload, &lost);

    if (stored == SANDLOT_INTERNAL)
        no_memory(upload->call); /* unless somebody has said something else */
    if ((stored != SANDLOT_OK && !lost) || all_are_told(upload))
        return stored;
    enum sandlot_status placed = place(upload, false, &lacking);

    return stored != SANDLOT_OK ? stored : placed;
}

/* What was stored of files that come to nothing. */
static void clean_up(const struct staged_upload *upload)
{
    char script[STAGED_PREFIX + 16];

    snprintf(script, sizeof(script), "rm -rf %s*\n", upload->prefix);
    upload->vendor->clean_up(upload->call, upload->vendor->scripts.sandbox, script);
}

static enum sandlot_status upload_all(struct staged_upload *upload)
{
    bool lacking = true;
    enum sandlot_status status = SANDLOT_OK;

    if (upload->vendor->carries && fits_into_script(upload)) {
        lacking = false;
        status = carry(upload, &lacking);
    }
    if (status == SANDLOT_OK && lacking)
        status = store_and_place(upload);
    if (upload->begun && status != SANDLOT_OK && status != SANDLOT_AUTH && status != SANDLOT_NOT_FOUND)
        clean_up(upload);
    return status;
}

static bool prepare(struct staged_upload *upload, const struct sandlot_file *files)
{
    char digits[DIGITS + 1];

    random_digits(digits, DIGITS);
    snprintf(upload->prefix, STAGED_PREFIX, "%.40s%s", upload->vendor->prefix ? upload->vendor->prefix : usual_prefix,
             digits);
    upload->files = calloc(upload->count, sizeof(*upload->files));
    upload->names = calloc(upload->count, sizeof(*upload->names));
    for (size_t i = 0; upload->files && upload->names && i < upload->count; i++) {
        struct staged_file *file = &upload->files[i];

        *file = (struct staged_file){.file = &files[i], .name = upload->names[i]};
        file->source = (struct sandlot_source){
            .size = sizeof(file->source), .context = file, .read = read_counted, .poll_fd = files[i].source->poll_fd};
    }
    return upload->files && upload->names;
}

static enum sandlot_status upload_by_stages(struct sandlot_call *call, void *provider, void *sandbox,
                                            const struct sandlot_file *files, size_t count,
                                            const struct sandlot_transfer *transfer)
{
    struct staged_upload upload = {.call = call, .vendor = provider, .transfer = transfer, .count = count};
    enum sandlot_status status = SANDLOT_OK;

    (void)sandbox;
    if (count > 0)
        status = prepare(&upload, files) ? upload_all(&upload) : no_memory(call);
    for (size_t i = 0; upload.files && i < count; i++)
        free(upload.files[i].content);
    free(upload.files);
    free(upload.names);
    free(upload.first);
    return status;
}

/* As batch.h wants it: PROVIDER is the vendor's description. */
static enum sandlot_status execute(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result)
{
    const struct staged_upload_vendor *vendor = provider;

    return vendor->scripts.execute(call, vendor->scripts.provider, sandbox, command, output, result);
}

enum sandlot_status staged_upload(struct sandlot_call *call, const struct staged_upload_vendor *vendor,
                                  const struct sandlot_file *files, size_t count,
                                  const struct sandlot_transfer *transfer)
{
    const struct batch_vendor batch = {.provider = (void *)vendor,
                                       .sandbox = vendor->scripts.sandbox,
                                       .execute = execute,
                                       .move = upload_by_stages,
                                       .least = vendor->least ? vendor->least : SIZE_MAX};

    return batch_upload(call, &batch, files, count, transfer);
}
