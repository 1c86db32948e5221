#include "redact.h"

#include "text.h"

#include <sandlot/sdk/cleanup.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SHORTEST_SECRET = 4 };

void sdk_secrets_init(struct sdk_secrets *secrets)
{
    pthread_mutex_init(&secrets->lock, NULL);
    secrets->texts = NULL;
    secrets->count = 0;
    secrets->incomplete = false;
}

void sdk_secrets_clear(struct sdk_secrets *secrets)
{
    for (size_t i = 0; i < secrets->count; i++) {
        explicit_bzero(secrets->texts[i], strlen(secrets->texts[i]));
        free(secrets->texts[i]);
    }
    free(secrets->texts);
    pthread_mutex_destroy(&secrets->lock);
}

static bool known(const struct sdk_secrets *secrets, const char *text)
{
    for (size_t i = 0; i < secrets->count; i++)
        if (strcmp(secrets->texts[i], text) == 0)
            return true;
    return false;
}

/* TEXT is NULL if there was no memory for it. */
static void add(struct sdk_secrets *secrets, const char *text)
{
    if (text && known(secrets, text))
        return;
    char *copy = text ? strdup(text) : NULL;
    char **grown = copy ? realloc(secrets->texts, (secrets->count + 1) * sizeof(*grown)) : NULL;

    if (!grown) {
        secrets->incomplete = true;
        free(copy);
        return;
    }
    secrets->texts = grown;
    secrets->texts[secrets->count++] = copy;
}

void sdk_secrets_add(struct sdk_secrets *secrets, const char *text)
{
    if (!text || strlen(text) < SHORTEST_SECRET)
        return;
    AUTO_FREE char *encoded = sdk_percent_encode(text);

    pthread_mutex_lock(&secrets->lock);
    add(secrets, text);
    add(secrets, encoded);
    pthread_mutex_unlock(&secrets->lock);
}

/* Marks in HIDDEN, which has a flag for each byte of TEXT, every place where SECRET stands. */
static void mark(char *text, size_t length, const char *secret, bool *hidden)
{
    size_t size = strlen(secret);

    for (char *at = text; (at = memmem(at, length - (size_t)(at - text), secret, size)); at++)
        memset(hidden + (at - text), true, size);
}

void sdk_redact(struct sdk_secrets *secrets, char *text)
{
    size_t length = strlen(text);
    AUTO_FREE bool *hidden = calloc(length + 1, sizeof(*hidden));
    char *out = text;

    if (length < SHORTEST_SECRET)
        return;
    pthread_mutex_lock(&secrets->lock);
    for (size_t i = 0; i < secrets->count && hidden; i++)
        mark(text, length, secrets->texts[i], hidden);
    if (hidden && secrets->incomplete)
        memset(hidden, true, length);
    pthread_mutex_unlock(&secrets->lock);
    if (!hidden) {
        memcpy(text, "***", sizeof("***"));
        return;
    }
    for (size_t i = 0; i < length; i++) {
        if (!hidden[i]) {
            *out++ = text[i];
        } else if (i == 0 || !hidden[i - 1]) {
            memcpy(out, "***", 3); /* no secret is shorter, so this never passes what is still to be read */
            out += 3;
        }
    }
    *out = '\0';
}
