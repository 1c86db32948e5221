/*
 * All files of one upload travel as the standard input of one process: one after the other, then the script that puts
 * them into their places, then a trailer of fixed size that says how long that script is. The process stages what
 * comes in one file and runs the script only if the trailer is there, so nothing happens by halves: what was cut, or
 * given up here, has none. The word that begins the trailer is unknown to whoever made the files.
 *
 * Modal's own tool for files takes one at a time, with a request more for each, leaves the beginning of a broken
 * transfer under the final name, and knows no modes.
 */
#include "operations.h"

#include "message.h"
#include "process.h"

#include <sandlot/sdk/batch.h>
#include <sandlot/sdk/placing.h>
#include <sandlot/sdk/random.h>
#include <sandlot/sdk/text_sink.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PREFIX_SIZE = 64,
    LENGTH_DIGITS = 20,
    LONGEST_FATE = 64,
    LONGEST_UPLOAD_S = 6 * 3600, /* what is left behind ends by itself */
    PLAIN_MODE = 0644
};

/* Bytes on their way to a process. */
struct feed {
    struct sandlot_call *call;
    struct process process;
    char *buffer; /* PROCESS_PIECE of them */
    size_t used;
    uint64_t total; /* that went in */
};

/* ---- feeding ---------------------------------------------------------------------------------------------------- */

static enum sandlot_status flush(struct feed *feed, bool last)
{
    enum sandlot_status status = process_write(feed->call, &feed->process, feed->buffer, feed->used, last);

    feed->used = 0;
    return status;
}

static enum sandlot_status add(struct feed *feed, const char *bytes, size_t length)
{
    enum sandlot_status status = SANDLOT_OK;

    while (length > 0 && status == SANDLOT_OK) {
        size_t room = PROCESS_PIECE - feed->used;
        size_t piece = length < room ? length : room;

        memcpy(feed->buffer + feed->used, bytes, piece);
        feed->used += piece;
        feed->total += piece;
        bytes += piece;
        length -= piece;
        if (feed->used == PROCESS_PIECE)
            status = flush(feed, false);
    }
    return status;
}

/* All of SOURCE, or LENGTH bytes of it, straight into the buffer. */
static enum sandlot_status add_source(struct feed *feed, const struct sandlot_source *source, uint64_t length)
{
    uint64_t begin = feed->total;

    while (feed->total - begin < length && !feed->process.closed) {
        uint64_t left = length - (feed->total - begin);
        size_t room = PROCESS_PIECE - feed->used;
        size_t got = 0;
        enum sandlot_status status =
            source->read(source, feed->buffer + feed->used, left < room ? (size_t)left : room, &got);

        if (status != SANDLOT_OK)
            return status;
        if (got == 0)
            break;
        feed->used += got;
        feed->total += got;
        if (feed->used == PROCESS_PIECE && (status = flush(feed, false)) != SANDLOT_OK)
            return status;
    }
    if (length == UINT64_MAX || feed->total - begin == length || feed->process.closed)
        return SANDLOT_OK;
    return sandlot_fail(feed->call, SANDLOT_INVALID_ARGUMENT,
                        "a file to upload ended after %" PRIu64 " of %" PRIu64
                        " bytes; try again when nobody changes it",
                        feed->total - begin, length);
}

static enum sandlot_status begin(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                                 struct feed *feed)
{
    const char *const words[] = {"sh", "-c", script, NULL};

    feed->call = call;
    feed->buffer = malloc(PROCESS_PIECE);
    return feed->buffer ? process_start(call, sandbox, words, NULL, LONGEST_UPLOAD_S, true, &feed->process)
                        : api_no_memory(call);
}

/* ---- what the process says -------------------------------------------------------------------------------------- */

static enum sandlot_status hear(struct feed *feed, char *bytes, size_t capacity)
{
    struct text_sink text;

    text_sink_init(&text, bytes, capacity);
    return process_read(feed->call, &feed->process, &text.sink);
}

/* ---- several files ---------------------------------------------------------------------------------------------- */

/* P is what all staged names begin with, K the word, 32 letters long. */
static const char staging[] = "p=%s k=%s\n"
                              "trap 'rm -f \"$p\"*' 0\n"
                              "trap 'exit 1' 1 2 15\n"
                              "umask 077\n"
                              "cat >\"$p\" || { echo full; exit; }\n"
                              "t=$(tail -c 52 \"$p\" | tr '\\0' ' ')\n"
                              "[ \"${t%%%% *}\" = \"$k\" ] || { echo cut; exit; }\n"
                              "n=$((${t##* }))\n"
                              "tail -c $((n + 52)) \"$p\" | head -c \"$n\" >\"$p.place\"\n"
                              "umask 022\n"
                              ". \"$p.place\"\n";

struct upload {
    const struct sandlot_file *files;
    size_t count;
    const struct sandlot_transfer *transfer;
    struct placing_file *places;
    bool *told;
    char prefix[PREFIX_SIZE];
    char word[33];
    char *fates;
    size_t fates_size;
};

static void name_upload(struct upload *upload)
{
    char key[RANDOM_UUID_SIZE];

    random_uuid(key);
    snprintf(upload->prefix, sizeof(upload->prefix), "/tmp/.sandlot-%s", key);
    random_digits(upload->word, sizeof(upload->word) - 1);
}

static enum sandlot_status send_files(struct feed *feed, struct upload *upload)
{
    for (size_t i = 0; i < upload->count; i++) {
        const struct sandlot_file *file = &upload->files[i];
        uint64_t offset = feed->total;
        enum sandlot_status status = add_source(feed, file->source, file->length);

        if (status != SANDLOT_OK)
            return status;
        upload->places[i] = (struct placing_file){.staged = upload->prefix,
                                                  .part = true,
                                                  .offset = offset,
                                                  .bytes = feed->total - offset,
                                                  .mode = file->mode ? file->mode : PLAIN_MODE,
                                                  .target = file->path};
    }
    return SANDLOT_OK;
}

/* The script names the length of the whole, of which it is a part: its own length follows from that, and settles soon.
 */
static char *make_script(struct upload *upload, uint64_t before)
{
    uint64_t whole = before;

    for (;;) {
        for (size_t i = 0; i < upload->count; i++)
            upload->places[i].staged_bytes = whole;
        char *script = placing_script(upload->prefix, upload->places, upload->count);
        uint64_t longer = script ? before + strlen(script) + sizeof(upload->word) - 1 + LENGTH_DIGITS : whole;

        if (longer == whole)
            return script;
        free(script);
        whole = longer;
    }
}

static enum sandlot_status send_script(struct feed *feed, struct upload *upload)
{
    AUTO_FREE char *script = make_script(upload, feed->total);
    char trailer[sizeof(upload->word) + LENGTH_DIGITS];

    if (!script)
        return api_no_memory(feed->call);
    snprintf(trailer, sizeof(trailer), "%s%*zu", upload->word, LENGTH_DIGITS, strlen(script));
    enum sandlot_status status = add(feed, script, strlen(script));

    if (status == SANDLOT_OK)
        status = add(feed, trailer, sizeof(trailer) - 1);
    return status == SANDLOT_OK ? flush(feed, true) : status;
}

static void tell(void *context, size_t index, const char *error)
{
    struct upload *upload = context;

    if (!upload->told[index])
        upload->transfer->done(upload->transfer, index, error, error ? 0 : upload->places[index].bytes);
    upload->told[index] = true;
}

static enum sandlot_status read_fates(struct feed *feed, struct upload *upload)
{
    enum sandlot_status status = hear(feed, upload->fates, upload->fates_size);

    if (status != SANDLOT_OK)
        return status;
    bool full = strncmp(upload->fates, "full", 4) == 0;

    placing_read(upload->fates, upload->count, tell, upload);
    for (size_t i = 0; i < upload->count; i++) {
        if (!upload->told[i] && full)
            tell(upload, i, "it could not be written whole; look whether the disk of the sandbox is full");
        if (!upload->told[i])
            return sandlot_fail(feed->call, SANDLOT_UNAVAILABLE,
                                "Modal's sandbox %.100s did not say whether all files got to their places; try again",
                                feed->process.sandbox->id);
    }
    return SANDLOT_OK;
}

static enum sandlot_status upload_all(struct sandlot_call *call, struct sandbox *sandbox, struct upload *upload)
{
    AUTO_FREE char *script = NULL;
    struct feed feed = {0};

    name_upload(upload);
    if (asprintf(&script, staging, upload->prefix, upload->word) < 0)
        return api_no_memory(call);
    enum sandlot_status status = begin(call, sandbox, script, &feed);

    if (status == SANDLOT_OK) {
        status = send_files(&feed, upload);
        if (status == SANDLOT_OK)
            status = send_script(&feed, upload);
        if (status != SANDLOT_OK)
            process_abandon(call, &feed.process); /* without a trailer what is staged goes */
        else
            status = read_fates(&feed, upload);
    }
    free(feed.buffer);
    return status;
}

static enum sandlot_status upload_some_files(struct sandlot_call *call, void *provider, void *sandbox,
                                             const struct sandlot_file *files, size_t count,
                                             const struct sandlot_transfer *transfer)
{
    size_t fates_size = count * LONGEST_FATE + 1;
    AUTO_FREE struct placing_file *places = calloc(count + 1, sizeof(*places));
    AUTO_FREE bool *told = calloc(count + 1, sizeof(*told));
    AUTO_FREE char *fates = malloc(fates_size);
    struct upload upload = {.files = files,
                            .count = count,
                            .transfer = transfer,
                            .places = places,
                            .told = told,
                            .fates = fates,
                            .fates_size = fates_size};

    (void)provider;
    if (!places || !told || !fates)
        return api_no_memory(call);
    return count == 0 ? SANDLOT_OK : upload_all(call, sandbox, &upload);
}

/* ---- one new file ----------------------------------------------------------------------------------------------- */

/* A file that a command is to read: unseen until it is whole. */
static const char writing[] =
    "p=%s\n"
    "umask 077\n"
    "cat >\"$p.new\" && [ \"$(wc -c <\"$p.new\")\" -gt 0 ] && [ \"$(tail -c 32 \"$p.new\")\" = %s ] &&\n"
    "head -c \"$(($(wc -c <\"$p.new\") - 32))\" \"$p.new\" >\"$p.cut\" && mv \"$p.cut\" \"$p\" && echo written\n"
    "rm -f \"$p.new\" \"$p.cut\"\n";

enum sandlot_status upload_new_file(struct sandlot_call *call, void *handle, const char *path,
                                    const struct sandlot_source *source, uint64_t length)
{
    struct sandbox *sandbox = handle;
    struct upload names;
    AUTO_FREE char *script = NULL;
    struct feed feed = {0};
    char fate[LONGEST_FATE];

    name_upload(&names);
    if (asprintf(&script, writing, path, names.word) < 0)
        return api_no_memory(call);
    enum sandlot_status status = begin(call, sandbox, script, &feed);

    if (status == SANDLOT_OK) {
        status = add_source(&feed, source, length);
        if (status == SANDLOT_OK)
            status = add(&feed, names.word, strlen(names.word));
        if (status == SANDLOT_OK)
            status = flush(&feed, true);
        if (status != SANDLOT_OK)
            process_abandon(call, &feed.process); /* without a trailer what is staged goes */
        else
            status = hear(&feed, fate, sizeof(fate));
    }
    free(feed.buffer);
    if (status == SANDLOT_OK && strcmp(fate, "written\n") != 0)
        status =
            sandlot_fail(call, SANDLOT_UNAVAILABLE,
                         "standard input for the command could not be kept in Modal's sandbox %.100s; look whether "
                         "its disk is full",
                         sandbox->id);
    return status;
}

BATCH_UPLOAD(upload_files, command_execute, .move = upload_some_files, .least = 16)
