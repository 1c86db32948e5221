/* Making a sandbox, which Sandbox0 calls claiming it. */
#ifndef SANDBOX0_CREATE_H
#define SANDBOX0_CREATE_H

#include "sandbox.h"

/* Claims what REQUEST asks for, and tells the host of it. *ID is to be freed. */
enum sandlot_status create_claim(struct sandlot_call *call, struct sandbox0 *sandbox0,
                                 const struct sandlot_create *request, char **id, bool *running);

/* Sets the lifetimes of what REQUEST asks for in BODY, below `config`. */
enum sandlot_status create_set_lifetimes(struct sandlot_call *call, const struct parameters *parameters,
                                         const struct sandlot_create *request, struct json_builder *body);

#endif
