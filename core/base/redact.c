#include "base/redact.h"

#include "base/text.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SHORTEST_SECRET = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **secrets;
static size_t secret_count;

static bool known(const char *value)
{
    for (size_t i = 0; i < secret_count; i++)
        if (strcmp(secrets[i], value) == 0)
            return true;
    return false;
}

/* Longest first, so that a secret which contains another is replaced whole. */
static void insert(char *value)
{
    size_t at = secret_count++;

    while (at > 0 && strlen(secrets[at - 1]) < strlen(value)) {
        secrets[at] = secrets[at - 1];
        at--;
    }
    secrets[at] = value;
}

void redact_add(const char *value)
{
    if (!value || strlen(value) < SHORTEST_SECRET)
        return;
    pthread_mutex_lock(&lock);
    if (!known(value)) {
        char **grown = realloc(secrets, (secret_count + 1) * sizeof(*secrets));
        char *copy = strdup(value);

        if (grown)
            secrets = grown;
        if (grown && copy)
            insert(copy);
        else
            free(copy);
    }
    pthread_mutex_unlock(&lock);
}

static char *replace_all(char *text, const char *secret)
{
    size_t length = strlen(secret);
    char *at;

    while (text && (at = strstr(text, secret))) {
        char *next = text_format("%.*s***%s", (int)(at - text), text, at + length);

        free(text);
        text = next;
    }
    return text;
}

char *redact(const char *text)
{
    char *clean = strdup(text);

    pthread_mutex_lock(&lock);
    for (size_t i = 0; clean && i < secret_count; i++)
        clean = replace_all(clean, secrets[i]);
    pthread_mutex_unlock(&lock);
    return clean;
}

void redact_clear(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < secret_count; i++)
        free(secrets[i]);
    free(secrets);
    secrets = NULL;
    secret_count = 0;
    pthread_mutex_unlock(&lock);
}
