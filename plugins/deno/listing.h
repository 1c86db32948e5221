/* The list of sandboxes, and who is looked for in it. */
#ifndef SANDLOT_DENO_LISTING_H
#define SANDLOT_DENO_LISTING_H

#include "api.h"

FUNCTION_OF(sandlot_provider, list, listing_list);

/* The id of the running sandbox with RUN_LABEL, "" if there is none. */
enum sandlot_status listing_find(struct sandlot_call *call, struct deno *deno, const char *run_label, char id[ID_SIZE]);

/* Is sandbox ID not running (any more)? *GONE stays as it is if that cannot be told. For refusals that may mean it. */
void listing_look(struct sandlot_call *call, struct deno *deno, const char *id, bool *gone);

#endif
