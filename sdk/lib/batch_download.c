/* Many small files out of a sandbox: one behind the other in the output of a script. */
#include "batch_download.h"
#include "batch.h"
#include "printed_reader.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/quoting.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { CHUNK = 64, LINE_SIZE = 64 + CHUNK * 24 };

/* ---- in the sandbox ---------------------------------------------------------------------------------------------- */

static bool write_chunks(const struct batch *batch, FILE *stream)
{
    fprintf(stream, "most=%d\n%s{\n", BATCH_SMALL, batch_chunk_script);
    for (size_t i = 0; i < batch->count; i++) {
        AUTO_FREE char *word = shell_word(batch->files[i].path);

        if (!word)
            return false;
        if (i % CHUNK == 0)
            fprintf(stream, "chunk %zu", i);
        fprintf(stream, " %s%s", word, i % CHUNK == CHUNK - 1 || i == batch->count - 1 ? "\n" : "");
    }
    fputs("} 2>/dev/null\n", stream);
    return true;
}

static char *make_script(const struct batch *batch)
{
    char *script = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&script, &size);
    bool whole = stream && write_chunks(batch, stream);

    return sdk_text_end(stream, &script, whole);
}

/* ---- its output -------------------------------------------------------------------------------------------------- */

/* What is being read. */
struct reading {
    struct printed_reader reader;
    struct batch *batch;
    bool *begun; /* of each file: some of it was passed on */
    char line[LINE_SIZE];
    size_t numbers[CHUNK];
    uint64_t sizes[CHUNK];
    size_t count; /* of the files of this chunk */
    size_t at;    /* the one at hand; COUNT: behind all */
};

static enum sandlot_status make_no_sense(const struct reading *reading)
{
    return sandlot_fail(reading->batch->call, SANDLOT_UNAVAILABLE,
                        "the sandbox's answer with files makes no sense; try again");
}

/* The numbers behind the word of a line; -1: they are none, or too many. */
static int read_numbers(const char *text, uint64_t numbers[CHUNK])
{
    int count = 0;

    while (*text == ' ') {
        char *end;

        if (count == CHUNK)
            return -1;
        numbers[count++] = strtoull(text + 1, &end, 10);
        if (end == text + 1)
            return -1;
        text = end;
    }
    return *text ? -1 : count;
}

static bool take_files(struct reading *reading, const char *text)
{
    uint64_t numbers[CHUNK];
    int count = read_numbers(text, numbers);

    for (int i = 0; i < count; i++) {
        if (numbers[i] >= reading->batch->count || reading->begun[numbers[i]])
            return false;
        reading->numbers[i] = (size_t)numbers[i];
    }
    reading->count = count > 0 ? (size_t)count : 0;
    return count > 0;
}

/* File AT, or the next one that has bytes, is at hand. */
static void go_on(struct reading *reading, size_t at)
{
    while (at < reading->count && reading->sizes[at] == 0)
        at++;
    reading->at = at;
    if (at == reading->count)
        return;
    reading->reader.left = reading->sizes[at];
    reading->reader.body = reading->batch->files[reading->numbers[at]].sink;
}

static void take_end(void *context)
{
    struct reading *reading = context;

    go_on(reading, reading->at + 1);
}

static bool take_sizes(struct reading *reading, const char *text)
{
    int count = read_numbers(text, reading->sizes);

    if (count <= 0 || (size_t)count != reading->count)
        return false;
    for (size_t i = 0; i < reading->count; i++)
        reading->begun[reading->numbers[i]] = true;
    go_on(reading, 0);
    return true;
}

static enum sandlot_status take_line(void *context, char *line)
{
    struct reading *reading = context;
    bool fits = true;

    if (!line)
        return make_no_sense(reading);
    if (strncmp(line, "files ", 6) == 0)
        fits = take_files(reading, line + 5);
    else if (strncmp(line, "sizes ", 6) == 0)
        fits = take_sizes(reading, line + 5);
    else if (strcmp(line, "same") == 0)
        for (size_t i = 0; i < reading->count; i++)
            batch_tell(reading->batch, reading->numbers[i], reading->sizes[i]);
    else
        fits = strcmp(line, "changed") == 0; /* the host begins again with them */
    if (strncmp(line, "files ", 6) != 0 && strncmp(line, "sizes ", 6) != 0)
        reading->count = reading->at = 0;
    return fits ? SANDLOT_OK : make_no_sense(reading);
}

static enum sandlot_status download_together(struct batch *batch, struct reading *reading)
{
    AUTO_FREE char *script = make_script(batch);

    if (!script)
        return sandlot_fail(batch->call, SANDLOT_INTERNAL, "there is not enough memory for a download; free some");
    *reading = (struct reading){.batch = batch, .begun = reading->begun};
    reading->reader = (struct printed_reader){.line = reading->line,
                                              .size = sizeof(reading->line),
                                              .take_line = take_line,
                                              .take_end = take_end,
                                              .context = reading};
    printed_reader_open(&reading->reader);
    enum sandlot_status status = batch_run(batch, script, NULL, &reading->reader.sink);

    if (batch_is_final(status))
        return status;
    /* What was begun and is not whole is the host's, which empties its side first. */
    for (size_t i = 0; i < batch->count; i++)
        batch->told[i] = batch->told[i] || reading->begun[i];
    return batch_move_rest(batch, NULL);
}

enum sandlot_status batch_download(struct sandlot_call *call, const struct batch_vendor *vendor,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer)
{
    struct batch batch = {.call = call, .vendor = vendor, .files = files, .count = count, .transfer = transfer};

    if (count < vendor->least)
        return vendor->move(call, vendor->provider, vendor->sandbox, files, count, transfer);
    AUTO_FREE struct reading *reading = calloc(1, sizeof(*reading));
    AUTO_FREE bool *begun = calloc(count + 1, sizeof(*begun));
    enum sandlot_status status = SANDLOT_INTERNAL;

    if (reading)
        reading->begun = begun;
    if (reading && begun && batch_open(&batch))
        status = download_together(&batch, reading);
    else
        status = sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a download; free some");
    free(batch.told);
    return status;
}
