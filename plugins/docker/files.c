#include "files.h"

#include "command.h"
#include "sandbox.h"
#include "tar_source.h"

#include <sandlot/sdk/archive.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/printed_download.h>
#include <sandlot/sdk/quoting.h>
#include <sandlot/sdk/staged_upload.h>

#include <string.h>

enum {
    PRINTED = 512 * 1024, /* bytes of several files that a script prints: one command for all */
    LEAST = 16,
    LONGEST_PATH = 4096,
    PLAIN_MODE = 0644
};

static struct script_place place_of(struct sandbox *sandbox)
{
    return (struct script_place){.provider = sandbox->docker, .sandbox = sandbox, .execute = command_execute};
}

/* ---- up ---------------------------------------------------------------------------------------------------------- */

static bool lengths_are_known(const struct staged_files *staged)
{
    for (size_t i = 0; i < staged->count; i++)
        if (staged->files[i].length == UINT64_MAX)
            return false;
    return true;
}

static enum sandlot_status store_by_archive(struct sandlot_call *call, struct sandbox *sandbox,
                                            struct staged_files *staged)
{
    static const char folder[] = "/tmp";
    AUTO_FREE char *target = http_target("/containers/{}/archive?path={}", sandbox->id, folder);
    AUTO_RESPONSE struct http_response response = {0};
    struct tar_source tar;

    tar_source_init(&tar, call, staged->files, staged->count, strlen(folder));
    const struct http_request request = {.method = "PUT",
                                         .target = target,
                                         .type = "application/x-tar",
                                         .body = {.source = &tar.source, .length = tar.length}};
    enum sandlot_status status = engine_send(call, sandbox->docker, &request, &response);

    staged->lost = status == SANDLOT_UNAVAILABLE && response.status == 0;
    return status;
}

static enum sandlot_status store_by_command(struct sandlot_call *call, struct sandbox *sandbox,
                                            const struct sandlot_file *file)
{
    const struct script_place place = place_of(sandbox);
    AUTO_FREE char *path = shell_word(file->path);
    AUTO_FREE char *script = NULL;

    if (!path || asprintf(&script, "umask 077\np=%s\nmkdir -p \"${p%%/*}\" && exec cat >\"$p\"\n", path) < 0)
        return engine_no_memory(call);
    return script_feed(call, &place, script, file->source, NULL);
}

static enum sandlot_status store(struct sandlot_call *call, void *handle, struct staged_files *staged)
{
    struct sandbox *sandbox = handle;
    enum sandlot_status status = SANDLOT_OK;

    /* What the engine stores belongs to root, and only root can put it into its place. */
    if (sandbox->archive && sandbox->root && lengths_are_known(staged))
        return store_by_archive(call, sandbox, staged);
    for (size_t i = 0; i < staged->count && status == SANDLOT_OK; i++)
        status = store_by_command(call, sandbox, &staged->files[i]);
    return status;
}

enum sandlot_status files_upload(struct sandlot_call *call, void *provider, void *handle,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer)
{
    const struct staged_upload_vendor vendor = {.scripts = place_of(handle),
                                                .clean_up = command_clean_up,
                                                .store = store,
                                                .mode = PLAIN_MODE,
                                                .carries = true,
                                                .least = LEAST};
    enum sandlot_status status = engine_meet(call, provider);

    return status == SANDLOT_OK ? staged_upload(call, &vendor, files, count, transfer) : status;
}

/* ---- down -------------------------------------------------------------------------------------------------------- */

struct receiving {
    const struct sandlot_file *file;
    uint64_t bytes;
    bool begun;
};

static enum sandlot_status on_entry(void *context, const struct tar_entry *entry, const struct sandlot_sink **sink)
{
    struct receiving *receiving = context;

    if (entry->folder || receiving->begun)
        return SANDLOT_OK;
    receiving->begun = true;
    receiving->bytes = entry->length;
    *sink = receiving->file->sink;
    return SANDLOT_OK;
}

static enum sandlot_status read_archive(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                        struct receiving *receiving)
{
    const struct tar_receiver receiver = {.context = receiving, .begin = on_entry};
    AUTO_FREE char *target = http_target("/containers/{}/archive?path={}", sandbox->id, path);
    AUTO_RESPONSE struct http_response response = {0};
    struct tar_reader *reader = NULL;
    enum sandlot_status status = tar_reader_open(call, &receiver, 0, &reader);

    if (status != SANDLOT_OK)
        return status;
    const struct http_request request = {
        .method = "GET", .target = target, .sink = tar_reader_sink(reader), .silence_ms = -1};

    status = engine_send(call, sandbox->docker, &request, &response);
    if (status == SANDLOT_OK)
        status = tar_reader_end(reader);
    tar_reader_free(reader);
    return status;
}

/* Where the file really is, for the engine follows no links, and looks as root: PATH, "" if it cannot be read or is
 * none. */
static enum sandlot_status resolve(struct sandlot_call *call, struct sandbox *sandbox, const char *said,
                                   char path[LONGEST_PATH])
{
    const struct script_place place = place_of(sandbox);
    AUTO_FREE char *word = shell_word(said);
    AUTO_FREE char *script = NULL;

    *path = '\0';
    if (!word ||
        asprintf(&script, "p=%s\n[ -f \"$p\" ] && [ -r \"$p\" ] && readlink -f -- \"$p\" && echo .\n", word) < 0)
        return engine_no_memory(call);
    enum sandlot_status status = script_read(call, &place, script, path, LONGEST_PATH);
    size_t length = strlen(path);

    if (length < 4 || strcmp(path + length - 3, "\n.\n") != 0)
        *path = '\0';
    else
        path[length - 3] = '\0';
    return status;
}

static enum sandlot_status tell_why(struct sandlot_call *call, struct sandbox *sandbox, const struct sandlot_file *file,
                                    size_t index, const struct sandlot_transfer *transfer)
{
    const struct script_place place = place_of(sandbox);
    char word[PRINTED_DOWNLOAD_WORD];
    enum sandlot_status status = printed_download_why(call, &place, file->path, word);

    if (status == SANDLOT_OK)
        transfer->done(transfer, index, *word ? word : "the container's programs cannot tell where it is", 0);
    return status;
}

static enum sandlot_status download_one(struct sandlot_call *call, void *handle, const struct sandlot_file *file,
                                        size_t index, const struct sandlot_transfer *transfer)
{
    struct sandbox *sandbox = handle;
    struct receiving receiving = {.file = file};
    char path[LONGEST_PATH];
    enum sandlot_status status = resolve(call, sandbox, file->path, path);

    if (status != SANDLOT_OK)
        return status;
    if (*path == '\0')
        return tell_why(call, sandbox, file, index, transfer);
    status = read_archive(call, sandbox, path, &receiving);
    if (status == SANDLOT_OK && receiving.begun)
        transfer->done(transfer, index, NULL, receiving.bytes);
    return status;
}

enum sandlot_status files_download(struct sandlot_call *call, void *provider, void *handle,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer)
{
    struct sandbox *sandbox = handle;
    const struct printed_download_vendor vendor = {.scripts = place_of(sandbox),
                                                   .one = sandbox->archive ? download_one : NULL,
                                                   .printed = PRINTED,
                                                   .least = LEAST};
    enum sandlot_status status = engine_meet(call, provider);

    return status == SANDLOT_OK ? printed_download(call, &vendor, files, count, transfer) : status;
}
