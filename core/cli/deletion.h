/* Commands that list or delete what a provider keeps beside sandboxes: snapshots, volumes. */
#ifndef SANDLOT_CLI_DELETION_H
#define SANDLOT_CLI_DELETION_H

#include "cli/context.h"

/* What is deleted, and how. */
struct deletion {
    const char *what; /* "snapshot"; the command that lists them has an "s" behind it */
    const char *key;  /* of its name in the JSON of a result */
    int (*delete)(struct sandlot *sandlot, const struct sandlot_target *target, const char *name,
                  struct sandlot_error *error);
};

/* The course of a command that does WORK at the provider that the options mean. The exit status. */
int deletion_with_provider(const struct options *options, int (*work)(const struct context *context));

/* The whole command that deletes what its arguments name; one that fails does not stop the others. The exit status. */
int deletion_command(const struct options *options, const struct deletion *deletion);

#endif
