/* Making a sandbox: a handshake, whose headers say what is wanted and what has come of it. */
#ifndef SANDLOT_DENO_CREATE_H
#define SANDLOT_DENO_CREATE_H

#include "sandbox.h"

enum sandlot_status create_sandbox(struct sandlot_call *call, struct deno *deno, const struct sandlot_create *request,
                                   struct sandbox **sandbox);

#endif
