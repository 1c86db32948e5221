/* Secrets of one client, kept out of what it says. */
#ifndef SANDLOT_SDK_REDACT_H
#define SANDLOT_SDK_REDACT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct sdk_secrets {
    pthread_mutex_t lock;
    char **texts;
    size_t count;
    bool incomplete; /* one could not be kept: nobody knows what to look for, and nothing may be told */
};

void sdk_secrets_init(struct sdk_secrets *secrets);
void sdk_secrets_clear(struct sdk_secrets *secrets);

/* Adds TEXT, and TEXT as it stands in a URL. What cannot be added for lack of memory makes every text all secret. */
void sdk_secrets_add(struct sdk_secrets *secrets, const char *text);

/* Replaces every secret within TEXT, in place, by "***". */
void sdk_redact(struct sdk_secrets *secrets, char *text);

#endif
