/* Names in the place of ids: they are looked up once, before a command begins. */
#ifndef SANDLOT_CLI_NAMES_H
#define SANDLOT_CLI_NAMES_H

#include "cli/options.h"

/* The id of the sandbox that TEXT names, of the provider of --sandbox if one is named; to be freed. NULL: it is no
 * name.
 */
char *names_to_id(const struct options *options, const char *text);

/* Puts ids in the place of names, in --sandbox-id and in the arguments that are ids. */
void names_to_ids(struct options *options);

#endif
