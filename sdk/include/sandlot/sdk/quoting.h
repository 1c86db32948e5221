/* sandlot/sdk/quoting.h - words for a POSIX shell. No text may get into a shell command another way. */
#ifndef SANDLOT_SDK_QUOTING_H
#define SANDLOT_SDK_QUOTING_H

#ifdef __cplusplus
extern "C" {
#endif

/* TEXT as one word, to be freed: as it stands if it is harmless, else in single quotes. NULL when out of memory. */
char *shell_word(const char *text);

/* WORDS, ended by NULL, as one command, to be freed. NULL when out of memory. */
char *shell_words(const char *const *words);

#ifdef __cplusplus
}
#endif

#endif
