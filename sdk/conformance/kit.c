#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *kit_configuration(const struct kit *kit, bool in_process)
{
    return in_process || kit->in_process ? "in_process.toml" : "process.toml";
}

/* The host's rule: SANDLOT_NAME first, then NAME; what is empty is absent. */
static const char *look_up(const char *name)
{
    char longer[160];

    snprintf(longer, sizeof(longer), "SANDLOT_%s", name);
    const char *value = getenv(longer);

    if (!value)
        value = getenv(name);
    return value && *value ? value : NULL;
}

const char *kit_credential(const struct kit *kit, size_t number, char *buffer, size_t size, const char **value)
{
    const char *word = note_value(kit->provider, "credentials");

    *value = NULL;
    for (; word && *(word += strspn(word, " ")) && number > 0; number--)
        word += strcspn(word, " ");
    if (!word || !*word)
        return NULL;
    const char *end = word + strcspn(word, " ");

    /* The first alternative, unless a later one is set. */
    for (const char *at = word; at < end && !*value; at += strcspn(at, "| ") + 1) {
        snprintf(buffer, size, "%.*s", (int)strcspn(at, "| "), at);
        *value = look_up(buffer);
    }
    if (!*value)
        snprintf(buffer, size, "%.*s", (int)strcspn(word, "| "), word);
    return buffer;
}

const char *kit_missing_credentials(const struct kit *kit, char *buffer, size_t size)
{
    char name[128];
    const char *value;
    size_t used = 0;

    *buffer = '\0';
    for (size_t i = 0; used < size && kit_credential(kit, i, name, sizeof(name), &value); i++)
        if (!value)
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", name);
    return used ? buffer : NULL;
}

bool kit_has(const struct kit *kit, const char *capability)
{
    return note_has_word(note_value(kit->provider, "capabilities"), capability);
}
