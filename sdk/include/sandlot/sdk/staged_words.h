/*
 * sandlot/sdk/staged_words.h - staged files that travel as words of the command line of the script that places them:
 * for a `store` of staged_upload.h whose service starts a program with arguments and answers with what it prints. Then
 * a mebibyte, or as many small files as the host brings, is one request.
 *
 *   static enum sandlot_status store(struct sandlot_call *call, void *sandbox, struct staged_files *staged)
 *   {
 *       struct staged_words words;
 *       enum sandlot_status status = SANDLOT_UNSUPPORTED;
 *
 *       if (!staged_words_fit(staged))
 *           return store_otherwise(call, sandbox, staged);
 *       status = staged_words_make(call, staged, &words);
 *       if (status == SANDLOT_OK)
 *           status = run(call, sandbox, {"sh", "-c", words.script, "sh", words.words...}, text, sizeof(text));
 *       if (status == SANDLOT_OK)
 *           staged_upload_fates(staged, text);
 *       staged->lost = status == SANDLOT_UNAVAILABLE;
 *       staged_words_clear(&words);
 *       return status;
 *   }
 *
 * The script may be carried out twice, even at the same time. Of Linux it needs 2 MiB for arguments, 128 KiB for each.
 */
#ifndef SANDLOT_SDK_STAGED_WORDS_H
#define SANDLOT_SDK_STAGED_WORDS_H

#include <sandlot/sdk/staged_upload.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    STAGED_WORD_BYTES = 72 * 1024, /* of one word, 96 KiB in base64 */
    STAGED_WORDS_FILES = 32,
    STAGED_WORDS = 16 + STAGED_WORDS_FILES,
    STAGED_WORDS_BYTES = 16 * STAGED_WORD_BYTES /* of all files together */
};

struct staged_words {
    const char *words[STAGED_WORDS + 1]; /* "$1", "$2", ...; ended by NULL */
    char *script;                        /* for sh */

    /* private */
    size_t count;
    char *text; /* of the words */
    char *end;
    FILE *lines;
};

/* Do the files fit into a command line, and are their paths UTF-8, which most services want of one? */
bool staged_words_fit(const struct staged_files *staged);

/* Reads the files, which must fit. WORDS is to be cleared in any case. */
enum sandlot_status staged_words_make(struct sandlot_call *call, struct staged_files *staged,
                                      struct staged_words *words);

void staged_words_clear(struct staged_words *words);

#ifdef __cplusplus
}
#endif

#endif
