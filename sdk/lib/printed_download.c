#include "printed_download.h"
#include "printed_reader.h"
#include "text.h"

#include <sandlot/sdk/batch.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/printed_download.h>
#include <sandlot/sdk/quoting.h>
#include <sandlot/sdk/text_format.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 96 };

/* What is known of a file. */
enum fate { FATE_NONE, FATE_BEGUN, FATE_TOLD };

struct reading {
    struct printed_reader reader;
    struct sandlot_call *call;
    const struct sandlot_file *files;
    size_t count;
    const struct sandlot_transfer *transfer;
    enum fate *fates;
    char line[LINE_SIZE];
    size_t index;    /* of the file at hand */
    uint64_t length; /* of it */
    bool in_file;    /* its end has not come */
};

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a download; free some");
}

/* ---- the script -------------------------------------------------------------------------------------------------- */

/* Has the vendor a way of its own for FILE? */
static bool has_own_way(const struct printed_download_vendor *vendor, const struct sandlot_file *file)
{
    return vendor->one && (!vendor->utf8 || text_is_utf8(file->path));
}

/* Prints the files that have a way of the vendor's, or those that have none. */
static bool write_files(FILE *stream, const struct printed_download_vendor *vendor, const struct sandlot_file *files,
                        size_t count, bool own)
{
    for (size_t i = 0; i < count; i++) {
        if (has_own_way(vendor, &files[i]) != own)
            continue;
        AUTO_FREE char *path = shell_word(files[i].path);

        if (!path)
            return false;
        fprintf(stream, "get %zu %s\n", i, path);
    }
    return true;
}

static bool write_script(FILE *stream, const struct printed_download_vendor *vendor, const struct sandlot_file *files,
                         size_t count)
{
    fputs(printed_download_why_script, stream);
    fputs(printed_download_get_script, stream);
    fprintf(stream, "picky=picky most=%" PRIu64 "\n", vendor->printed);
    if (count > 1 && vendor->printed > 0 && !write_files(stream, vendor, files, count, true))
        return false;
    fputs("picky= most=\n", stream);
    return write_files(stream, vendor, files, count, false);
}

static char *make_script(const struct printed_download_vendor *vendor, const struct sandlot_file *files, size_t count)
{
    char *script = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&script, &size);
    bool whole = stream && write_script(stream, vendor, files, count);

    return sdk_text_end(stream, &script, whole);
}

/* ---- its output -------------------------------------------------------------------------------------------------- */

static enum sandlot_status make_no_sense(const struct reading *reading)
{
    return sandlot_fail(reading->call, SANDLOT_UNAVAILABLE,
                        "what the sandbox says of files to be downloaded makes no sense; try again");
}

static void tell(struct reading *reading, size_t index, const char *error)
{
    reading->fates[index] = FATE_TOLD;
    reading->transfer->done(reading->transfer, index, error, error ? 0 : reading->length);
}

/* Behind the bytes of a file. */
static enum sandlot_status take_end(struct reading *reading, size_t index, const char *word)
{
    bool same = strcmp(word, "same") == 0;

    if (index != reading->index || (!same && strcmp(word, "changed") != 0))
        return make_no_sense(reading);
    reading->in_file = false;
    if (same)
        tell(reading, index, NULL);
    return SANDLOT_OK;
}

static enum sandlot_status take_fate(struct reading *reading, size_t index, const char *word)
{
    static const char *const errors[] = {"file_not_found", "permission_denied", "is_directory", "invalid_path"};

    if (strncmp(word, "file ", 5) == 0) {
        reading->fates[index] = FATE_BEGUN;
        reading->index = index;
        reading->length = reading->reader.left = strtoull(word + 5, NULL, 10);
        reading->reader.body = reading->files[index].sink;
        reading->in_file = true;
        return SANDLOT_OK;
    }
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (strcmp(word, errors[i]) == 0)
            tell(reading, index, errors[i]);
    return SANDLOT_OK;
}

static enum sandlot_status take_line(void *context, char *line)
{
    struct reading *reading = context;
    char *word = NULL;
    unsigned long index = line ? strtoul(line, &word, 10) : 0;

    if (!line || word == line || *word != ' ' || index >= reading->count)
        return make_no_sense(reading);
    if (reading->in_file)
        return take_end(reading, index, word + 1);
    return reading->fates[index] == FATE_NONE ? take_fate(reading, index, word + 1) : make_no_sense(reading);
}

/* ---- download ---------------------------------------------------------------------------------------------------- */

static enum sandlot_status print_files(struct reading *reading, const struct printed_download_vendor *vendor)
{
    AUTO_FREE char *script = make_script(vendor, reading->files, reading->count);

    if (!script)
        return no_memory(reading->call);
    reading->reader = (struct printed_reader){
        .line = reading->line, .size = sizeof(reading->line), .take_line = take_line, .context = reading};
    printed_reader_open(&reading->reader);
    return script_run(reading->call, &vendor->scripts, script, &reading->reader.sink);
}

/* As batch.h wants it: PROVIDER is the vendor's description. */
static enum sandlot_status download_some(struct sandlot_call *call, void *provider, void *sandbox,
                                         const struct sandlot_file *files, size_t count,
                                         const struct sandlot_transfer *transfer)
{
    const struct printed_download_vendor *vendor = provider;
    AUTO_FREE enum fate *fates = calloc(count + 1, sizeof(*fates));
    struct reading reading = {.call = call, .files = files, .count = count, .transfer = transfer, .fates = fates};
    bool prints = count > 1 && vendor->printed > 0;
    enum sandlot_status status = SANDLOT_OK;

    if (!fates)
        return no_memory(call);
    for (size_t i = 0; i < count; i++)
        prints = prints || !has_own_way(vendor, &files[i]);
    if (prints)
        status = print_files(&reading, vendor);
    for (size_t i = 0; i < count && status == SANDLOT_OK; i++)
        if (fates[i] == FATE_NONE && has_own_way(vendor, &files[i]))
            status = vendor->one(call, sandbox, &files[i], i, transfer);
    return status;
}

static enum sandlot_status execute(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result)
{
    const struct printed_download_vendor *vendor = provider;

    return vendor->scripts.execute(call, vendor->scripts.provider, sandbox, command, output, result);
}

enum sandlot_status printed_download(struct sandlot_call *call, const struct printed_download_vendor *vendor,
                                     const struct sandlot_file *files, size_t count,
                                     const struct sandlot_transfer *transfer)
{
    const struct batch_vendor batch = {.provider = (void *)vendor,
                                       .sandbox = vendor->scripts.sandbox,
                                       .execute = execute,
                                       .move = download_some,
                                       .least = vendor->least ? vendor->least : SIZE_MAX};

    return batch_download(call, &batch, files, count, transfer);
}

enum sandlot_status printed_download_why(struct sandlot_call *call, const struct script_place *place, const char *path,
                                         char word[PRINTED_DOWNLOAD_WORD])
{
    AUTO_FREE char *quoted = shell_word(path);
    AUTO_FREE char *script = NULL;

    *word = '\0';
    if (!quoted || asprintf(&script, "%sp=%s\n{ [ -f \"$p\" ] && [ -r \"$p\" ]; } || why \"$p\"\n",
                            printed_download_why_script, quoted) < 0)
        return no_memory(call);
    enum sandlot_status status = script_read(call, place, script, word, PRINTED_DOWNLOAD_WORD);

    word[strcspn(word, "\n")] = '\0';
    return status;
}
