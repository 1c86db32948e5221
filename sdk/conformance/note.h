/* The text of the note: what the file tells the host of its providers before any of its code runs. */
#ifndef SANDLOT_CONFORMANCE_NOTE_H
#define SANDLOT_CONFORMANCE_NOTE_H

#include <stdbool.h>
#include <stddef.h>

enum { NOTE_KEYS = 320, NOTE_PROVIDERS = 64 };

struct note_key {
    char *key;
    char *value;
};

struct note_provider {
    char *name;
    struct note_key keys[NOTE_KEYS];
    size_t key_count;
};

struct note {
    struct note_provider *providers;
    size_t count;
    char why[256]; /* what is wrong with it as a text; "": nothing */
};

/* Reads LENGTH bytes. What is wrong goes to note->why; what could be read is there all the same. */
void note_read(const char *text, size_t length, struct note *note);

/* The value of KEY; NULL: it is not there. */
const char *note_value(const struct note_provider *provider, const char *key);

const struct note_provider *note_find(const struct note *note, const char *name);

/* Is WORD one of the words of TEXT, which blanks separate? TEXT may be NULL. */
bool note_has_word(const char *text, const char *word);

void note_clear(struct note *note);

#endif
