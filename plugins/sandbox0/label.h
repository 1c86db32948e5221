/* The label of its creation at a sandbox, as the id of a service that leads nobody anywhere. */
#ifndef SANDBOX0_LABEL_H
#define SANDBOX0_LABEL_H

#include "sandbox.h"

/* Sets LABEL, unless it is NULL, in the `config` of BODY. */
void label_set(struct json_builder *body, const char *label);

/* The label of the sandbox in DOCUMENT, whose it is; NULL: none. */
const char *label_read(struct json_object *document);

/* Does the service refuse a claim for the sake of the label? */
bool label_is_refused(const struct http_response *response);

/*
 * Looks for the sandbox that was claimed with LABEL not before BEGUN_MS (of sandlot_now_ms), and tells the host of it.
 * *ID, to be freed: NULL if there is none.
 */
enum sandlot_status label_find(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *label,
                               int64_t begun_ms, char **id);

#endif
