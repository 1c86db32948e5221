#include "note.h"

#include "cleanup.h"

#include <ini.h>
#include <sandlot/provider.h>
#include <string.h>

static void complain(struct note *note, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void complain(struct note *note, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (!*note->why)
        vsnprintf(note->why, sizeof(note->why), format, arguments);
    va_end(arguments);
}

static struct note_provider *add_provider(struct note *note, const char *name)
{
    struct note_provider *grown =
        note->count < NOTE_PROVIDERS ? realloc(note->providers, (note->count + 1) * sizeof(*grown)) : NULL;

    if (!grown) {
        complain(note, "it has more than %d providers, or memory ran out", NOTE_PROVIDERS);
        return NULL;
    }
    note->providers = grown;
    grown[note->count] = (struct note_provider){.name = strdup(name)};
    return grown[note->count].name ? &grown[note->count++] : NULL;
}

/* The place of KEY among the keys; their number if it is not there. */
static size_t find_key(const struct note_provider *provider, const char *key)
{
    size_t i = 0;

    while (i < provider->key_count && !(provider->keys[i].key && strcmp(provider->keys[i].key, key) == 0))
        i++;
    return i;
}

/* Keys whose words may stand in several lines. */
static bool is_list(const char *key)
{
    static const char *const lists[] = {"capabilities",  "credentials",   "environment", "project",
                                        "reads",         "writes",        "needs",       "inside",
                                        "inside_unless", "inside_network"};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (strcmp(key, lists[i]) == 0)
            return true;
    return false;
}

static int add_words(struct note_key *key, const char *value)
{
    char *joined;

    if (asprintf(&joined, "%s %s", key->value ? key->value : "", value) < 0)
        return 0;
    free(key->value);
    key->value = joined;
    return 1;
}

static int on_key(void *context, const char *section, const char *key, const char *value)
{
    struct note *note = context;
    struct note_provider *provider = note->count ? &note->providers[note->count - 1] : NULL;

    if (!provider || strcmp(provider->name, section) != 0) {
        if (note_find(note, section))
            complain(note, "the section [%s] stands there twice", section);
        provider = add_provider(note, section);
    }
    if (!provider)
        return 0;
    size_t place = find_key(provider, key);

    if (place < provider->key_count && is_list(key))
        return add_words(&provider->keys[place], value);
    if (place < provider->key_count)
        complain(note, "[%s] has the key %s twice", section, key);
    if (provider->key_count == NOTE_KEYS) {
        complain(note, "[%s] has more than %d keys", section, NOTE_KEYS);
        return 0;
    }
    provider->keys[provider->key_count++] = (struct note_key){strdup(key), strdup(value)};
    return 1;
}

/* What the reader of INI text would cut or misunderstand without a word. */
static void check_lines(struct note *note, const char *text)
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");

        if (length > SANDLOT_LINE_MAXIMUM)
            complain(note, "the line that begins \"%.40s\" has %zu bytes, more than %d", line, length,
                     SANDLOT_LINE_MAXIMUM);
        if (memmem(line, length, " ;", 2))
            complain(note, "the line that begins \"%.40s\" has \" ;\", which begins a comment", line);
        for (size_t i = 0; i < length; i++)
            if ((unsigned char)line[i] < ' ' && line[i] != '\t')
                complain(note, "the line that begins \"%.40s\" has a control character", line);
        line += length + (line[length] == '\n');
    }
}

void note_read(const char *text, size_t length, struct note *note)
{
    AUTO_FREE char *copy = calloc(1, length + 1);
    size_t size = strnlen(text, length);

    *note = (struct note){0};
    if (length > SANDLOT_NOTE_MAXIMUM)
        complain(note, "it has %zu bytes, more than %d", length, SANDLOT_NOTE_MAXIMUM);
    if (!copy) {
        complain(note, "memory ran out");
        return;
    }
    memcpy(copy, text, size);
    for (size_t i = size; i < length; i++)
        if (text[i])
            complain(note, "there are bytes behind the end of its text");
    check_lines(note, copy);
    int line = ini_parse_string(copy, on_key, note);

    if (line != 0)
        complain(note, "line %d makes no sense", line);
    if (note->count == 0)
        complain(note, "it names no provider");
}

const char *note_value(const struct note_provider *provider, const char *key)
{
    size_t place = find_key(provider, key);

    return place < provider->key_count ? provider->keys[place].value : NULL;
}

const struct note_provider *note_find(const struct note *note, const char *name)
{
    for (size_t i = 0; note->providers && i < note->count; i++)
        if (strcmp(note->providers[i].name, name) == 0)
            return &note->providers[i];
    return NULL;
}

bool note_has_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = text; at && *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strcspn(at, " ") == length && memcmp(at, word, length) == 0)
            return true;
    }
    return false;
}

void note_clear(struct note *note)
{
    for (size_t i = 0; i < note->count; i++) {
        for (size_t j = 0; j < note->providers[i].key_count; j++) {
            free(note->providers[i].keys[j].key);
            free(note->providers[i].keys[j].value);
        }
        free(note->providers[i].name);
    }
    free(note->providers);
    *note = (struct note){0};
}
