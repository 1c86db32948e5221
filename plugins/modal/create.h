/* Making a sandbox. */
#ifndef SANDLOT_MODAL_CREATE_H
#define SANDLOT_MODAL_CREATE_H

#include "sandbox.h"

#define TAG_RUN "sandlot-run"

/*
 * Makes a sandbox as the parameters and REQUEST want it, once, whatever becomes of the answers, and tells the host its
 * id. SANDBOX may be NULL: only the id matters.
 */
enum sandlot_status create_sandbox(struct sandlot_call *call, struct modal *modal, const struct sandlot_create *request,
                                   struct sandbox **sandbox);

#endif
