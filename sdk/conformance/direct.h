/*
 * Calls the provider's table as the host does, in this process: for what the public API does not show, such as labels
 * in listings, and messages before the host takes secrets out of them.
 */
#ifndef SANDLOT_CONFORMANCE_DIRECT_H
#define SANDLOT_CONFORMANCE_DIRECT_H

#include "kit.h"

#include <sandlot/provider.h>

enum { HEARD_SIZE = 65536, DIRECT_MS = 120000 };

struct direct {
    const struct kit *kit;
    void *library;
    const struct sandlot_provider *table;
    void *provider; /* what open stored */
    bool opened;
    char **lists;           /* the parameters that are arrays, as open was given them; ended by NULL */
    int64_t limit_ms;       /* the deadline of the calls that follow, from each call's begin; 0: two minutes */
    bool cancelled;         /* the calls that follow are cancelled before they begin */
    char id[512];           /* from host->created */
    char message[1024];     /* the first of the last call that failed */
    char heard[HEARD_SIZE]; /* all messages and log lines, one after the other */
    size_t heard_length;
};

/* Loads the file and asks the entry function for the table. False: direct->message says why. */
bool direct_load(const struct kit *kit, struct direct *direct);

/* Calls open with the kit's parameters over the defaults, as the host does. SECRET stands for every parameter that is a
 * secret, unless it is NULL. */
enum sandlot_status direct_open(struct direct *direct, const char *secret);

/* Makes a sandbox under the run's label with PURPOSE behind it; its id is in direct->id then. The runner hears of it,
 * and of a creation of which nobody knows what came. */
enum sandlot_status direct_create(struct direct *direct, const char *purpose);

/* The runner hears of it. */
enum sandlot_status direct_delete(struct direct *direct, const char *id);

/* One page; LISTING belongs to the caller. */
enum sandlot_status direct_list(struct direct *direct, const char *cursor, const struct sandlot_listing *listing);

/* Calls close, and leaves the library loaded: its code may still be needed by threads of its own. */
void direct_close(struct direct *direct);

/* Does TEXT fit the kind, as a default or a value? */
bool direct_value_fits(enum sandlot_parameter_kind kind, const char *text);

const char *status_name(enum sandlot_status status);

#endif
