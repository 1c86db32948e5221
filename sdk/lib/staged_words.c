#include <sandlot/sdk/staged_words.h>

#include "staged_upload.h"

#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/text_format.h>

#include <stdlib.h>

bool staged_words_fit(const struct staged_files *staged)
{
    uint64_t all = 0;

    for (size_t i = 0; i < staged->count; i++) {
        if (staged->files[i].length > STAGED_WORDS_BYTES - all)
            return false;
        all += staged->files[i].length;
    }
    for (size_t i = 0; staged->upload && i < staged->upload->count; i++)
        if (!text_is_utf8(staged->upload->files[i].file->path))
            return false;
    return staged->count <= STAGED_WORDS_FILES;
}

/* One word of FILE. False: the file has ended, or *STATUS. */
static bool add_word(struct staged_words *words, const struct sandlot_file *file, char *bytes,
                     enum sandlot_status *status)
{
    size_t length = 0;
    size_t got = 1;

    while (*status == SANDLOT_OK && got > 0 && length < STAGED_WORD_BYTES) {
        *status = file->source->read(file->source, bytes + length, STAGED_WORD_BYTES - length, &got);
        length += *status == SANDLOT_OK ? got : 0;
    }
    if (*status != SANDLOT_OK || length == 0 || words->count == STAGED_WORDS)
        return false;
    words->words[words->count++] = words->end;
    words->end += base64_write(words->end, bytes, length);
    *words->end++ = '\0';
    return length == STAGED_WORD_BYTES;
}

static enum sandlot_status add_file(struct staged_words *words, const struct sandlot_file *file, char *bytes)
{
    size_t before = words->count;
    enum sandlot_status status = SANDLOT_OK;

    while (add_word(words, file, bytes, &status))
        ;
    fputs("(umask 077; printf %s", words->lines);
    for (size_t i = before; i < words->count; i++)
        fprintf(words->lines, " \"${%zu}\"", i + 1);
    fprintf(words->lines, " | base64 -d >%s) || exit 1\n", file->path);
    return status;
}

/* Two of it may run at once, when an answer was lost: one waits for the other, and then does the same again. */
static const char waiting[] =
    "d=%s n=0\n"
    "d=${d%%/*}\n"
    "while ! mkdir \"$d.lock\" 2>/dev/null && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done\n"
    "(umask 077; mkdir -p \"$d\") || exit 1\n";

static enum sandlot_status write_lines(struct staged_words *words, struct staged_files *staged, char *bytes)
{
    enum sandlot_status status = SANDLOT_OK;

    fprintf(words->lines, waiting, staged->files[0].path);
    for (size_t i = 0; i < staged->count && status == SANDLOT_OK; i++)
        status = add_file(words, &staged->files[i], bytes);
    AUTO_FREE char *placing = staged_upload_script(staged);

    fprintf(words->lines, "set --\n%s", placing ? placing : "exit 1\n");
    return status;
}

enum sandlot_status staged_words_make(struct sandlot_call *call, struct staged_files *staged,
                                      struct staged_words *words)
{
    AUTO_FREE char *bytes = malloc(STAGED_WORD_BYTES);
    enum sandlot_status status = SANDLOT_OK;
    size_t size;

    *words = (struct staged_words){.text = malloc(STAGED_WORDS * (STAGED_WORD_BYTES / 3 * 4 + 1))};
    words->end = words->text;
    words->lines = bytes && words->text ? open_memstream(&words->script, &size) : NULL;
    if (words->lines)
        status = write_lines(words, staged, bytes);
    if (words->lines && fclose(words->lines) == 0)
        return status;
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for the files of an upload; free some");
}

void staged_words_clear(struct staged_words *words)
{
    free(words->script);
    free(words->text);
    *words = (struct staged_words){0};
}
