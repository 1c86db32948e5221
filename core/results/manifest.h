/*
 * What is remembered of a sandbox's base on this machine, beside its record in the ledger: the folder that was
 * imported, file by file; or, where the provider tells the base by itself, only what `apply` has written there last.
 *
 * The text form is texts that end with NUL: "sandlot base 1", "imported" or "applied", the folder, then "x" and a
 * pattern that was left out, and for each path "d", PATH; "l", PATH, TARGET; or "f" (executable: "F"), PATH, length,
 * digest.
 */
#ifndef SANDLOT_RESULTS_MANIFEST_H
#define SANDLOT_RESULTS_MANIFEST_H

#include "operations/pattern.h"
#include "results/node.h"

enum { MANIFEST_PATTERNS = 256 };

struct manifest {
    bool imported;
    char *folder; /* absolute, on this machine */
    char *patterns[MANIFEST_PATTERNS];
    struct pattern *compiled[MANIFEST_PATTERNS];
    size_t pattern_count;
    struct nodes nodes; /* sorted */
};

/* Reads TEXT, which is trusted with nothing: 0, or -1 when it is none. To be cleared in any case. */
int manifest_read(const char *text, size_t length, struct manifest *manifest, struct sandlot_error *error);

/* To be freed; NULL when out of memory. */
char *manifest_write(const struct manifest *manifest, size_t *length);

/* Adds a pattern of --exclude. 0 or -1 with invalid_pattern. */
int manifest_exclude(struct manifest *manifest, const char *pattern, struct sandlot_error *error);

/* Was PATH, or a folder above it, left out? MANIFEST is a struct manifest. */
bool manifest_leaves_out(const void *manifest, const char *path);

/* What stands at each path of CHANGED, sorted, from now on: NODE_NONE takes it out. */
int manifest_merge(struct manifest *manifest, const struct nodes *changed, struct sandlot_error *error);

void manifest_clear(struct manifest *manifest);

#endif
