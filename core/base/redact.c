#include "base/redact.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORTEST_SECRET = 4,
    SHORTEST_LINE = 16 /* of a secret of several lines: a shorter one may be any word */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **secrets;
static size_t secret_count;

static void give_lock_back(void)
{
    pthread_mutex_unlock(&lock);
}

static void lock_for_fork(void)
{
    pthread_mutex_lock(&lock);
}

/* A child that is forked off gets the list as a whole, and the lock from the thread that it has. */
static void expect_forks(void)
{
    pthread_atfork(lock_for_fork, give_lock_back, give_lock_back);
}

static void take_lock(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, expect_forks);
    pthread_mutex_lock(&lock);
}

static bool known(const char *value)
{
    for (size_t i = 0; i < secret_count; i++)
        if (strcmp(secrets[i], value) == 0)
            return true;
    return false;
}

static void add(const char *value, size_t length)
{
    AUTO_FREE char *copy = length >= SHORTEST_SECRET ? strndup(value, length) : NULL;

    if (!copy || known(copy))
        return;
    char **grown = realloc(secrets, (secret_count + 1) * sizeof(*secrets));

    if (!grown)
        return;
    secrets = grown;
    secrets[secret_count++] = TAKE(copy);
}

void redact_add(const char *value)
{
    if (!value)
        return;
    size_t length = strlen(value);

    while (length > 0 && isspace((unsigned char)value[length - 1]))
        length--; /* a key that was read from a file often has a newline which nobody quotes */
    take_lock();
    add(value, length);
    /* The lines of a key in PEM are quoted one by one. */
    for (const char *line = value; line < value + length;) {
        size_t size = strcspn(line, "\r\n");

        if (size >= SHORTEST_LINE)
            add(line, size);
        line += size + strspn(line + size, "\r\n");
    }
    give_lock_back();
}

/* Marks in HIDDEN, which has a flag for each byte of TEXT, every place where SECRET stands. */
static void mark(const char *text, size_t text_length, const char *secret, bool *hidden)
{
    size_t length = strlen(secret);
    const char *end = text + text_length;

    for (const char *at = text; (at = memmem(at, (size_t)(end - at), secret, length)); at++)
        memset(hidden + (at - text), true, length);
}

/* TEXT with "***" for each run of hidden bytes; to be freed. */
static char *without_hidden(const char *text, size_t length, const bool *hidden, size_t *clean_length)
{
    char *clean = malloc(length + 1); /* no secret is shorter than what takes its place */
    char *out = clean;

    if (!clean)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        if (!hidden[i])
            *out++ = text[i];
        else if (i == 0 || !hidden[i - 1])
            out = mempcpy(out, "***", 3);
    }
    *out = '\0';
    *clean_length = (size_t)(out - clean);
    return clean;
}

char *redact_bytes(const void *bytes, size_t length, size_t *copy_length)
{
    AUTO_FREE bool *hidden = calloc(length + 1, sizeof(*hidden));

    if (!hidden)
        return NULL;
    /* All are looked for in the text as it came: those that overlap are hidden together. */
    take_lock();
    for (size_t i = 0; i < secret_count; i++)
        mark(bytes, length, secrets[i], hidden);
    give_lock_back();
    return without_hidden(bytes, length, hidden, copy_length);
}

char *redact(const char *text)
{
    size_t unused;

    return redact_bytes(text, strlen(text), &unused);
}

bool redact_knows_any(void)
{
    take_lock();
    bool any = secret_count > 0;

    give_lock_back();
    return any;
}

void redact_clear(void)
{
    take_lock();
    for (size_t i = 0; i < secret_count; i++)
        free(secrets[i]);
    free(secrets);
    secrets = NULL;
    secret_count = 0;
    give_lock_back();
}
