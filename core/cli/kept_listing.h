/* Listing what a provider keeps beside sandboxes: snapshots, volumes. */
#ifndef SANDLOT_CLI_KEPT_LISTING_H
#define SANDLOT_CLI_KEPT_LISTING_H

#include "cli/context.h"
#include "cli/output.h"

/* What is listed, in the form in which it will be printed. */
struct kept_listing {
    struct json_object *array; /* with --json */
    struct table table;        /* without */
};

/* What is kept, and who knows. */
struct kept_kind {
    const char *what;   /* "snapshots", also the key in the JSON */
    const char *advice; /* how to make one, for a list that is empty */
    size_t columns;
    /* Fills LISTING. 0 or -1. */
    int (*ask)(struct sandlot *sandlot, const struct sandlot_target *target, struct kept_listing *listing,
               struct sandlot_error *error);
};

/* Asks the provider of CONTEXT and prints what it has. The exit status. */
int kept_list(const struct context *context, const struct kept_kind *kind);

#endif
