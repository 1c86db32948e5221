#include <sandlot/sdk/quoting.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool harmless(const char *text)
{
    static const char safe[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:@_"; /* "=" would assign */

    return *text && text[strspn(text, safe)] == '\0';
}

static size_t word_length(const char *text)
{
    size_t length = 2; /* the quotes */

    if (harmless(text))
        return strlen(text);
    for (; *text; text++)
        length += *text == '\'' ? 4 : 1;
    return length;
}

static char *put_word(char *out, const char *text)
{
    if (harmless(text))
        return stpcpy(out, text);
    *out++ = '\'';
    for (; *text; text++) {
        if (*text == '\'')
            out = stpcpy(out, "'\\''");
        else
            *out++ = *text;
    }
    return stpcpy(out, "'");
}

char *shell_word(const char *text)
{
    char *word = malloc(word_length(text) + 1);

    if (word)
        put_word(word, text);
    return word;
}

char *shell_words(const char *const *words)
{
    size_t length = 1;

    for (const char *const *word = words; *word; word++)
        length += word_length(*word) + 1;
    char *command = malloc(length);
    char *out = command;

    if (!command)
        return NULL;
    *out = '\0';
    for (const char *const *word = words; *word; word++) {
        if (word != words)
            *out++ = ' ';
        out = put_word(out, *word);
    }
    return command;
}
