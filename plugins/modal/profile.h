/* The file in which Modal's own tools keep credentials, ~/.modal.toml: one table of TOML per profile. */
#ifndef SANDLOT_MODAL_PROFILE_H
#define SANDLOT_MODAL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

/* What a profile says. NULL: nothing. */
struct profile {
    char *name;
    char *token_id;
    char *token_secret;
    char *server_url;
    char *environment;
    char *image_builder_version;
    bool active;
    bool sandbox_v1; /* sandbox_v2 = false */
};

/*
 * Reads TEXT and chooses: the profile WANTED, or with NULL the active one, else the one called "default"; an empty one
 * if there is none. PROFILE is to be cleared. False: the file makes no sense, and REASON (CAPACITY bytes) tells why and
 * where, or memory is short.
 */
bool profile_read(const char *text, size_t length, const char *wanted, struct profile *profile, char *reason,
                  size_t capacity);

void profile_clear(struct profile *profile);

#endif
