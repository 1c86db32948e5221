/* Making a sandbox. */
#ifndef SANDLOT_VERCEL_CREATE_H
#define SANDLOT_VERCEL_CREATE_H

#include "record.h"

/* Makes the sandbox that REQUEST asks for, tells the host of it, and stores in *RECORD, to be cleared, what Vercel
 * says. */
enum sandlot_status create_sandbox(struct sandlot_call *call, struct vercel *vercel,
                                   const struct sandlot_create *request, struct record *record);

/* The name and tags of what REQUEST asks for: for the body of any request that makes a sandbox. LONGEST_MS: the longest
 * session of this plan. */
enum sandlot_status create_set_name(struct sandlot_call *call, const struct vercel *vercel,
                                    const struct sandlot_create *request, int64_t longest_ms,
                                    struct json_builder *body);

/*
 * Sends REQUEST, which makes a sandbox called NAME, and looks it up where the answer is lost or says no more than that
 * the name is taken. *REFUSAL: the word of a 400, "" for none; the record is then empty.
 */
enum sandlot_status create_send(struct sandlot_call *call, struct vercel *vercel, enum api_scope scope,
                                struct rest_request *request, const char *name, struct record *record,
                                char refusal[64]);

/* How long the first session is to last, cut to what the plan allows. */
int64_t create_timeout_ms(const struct parameters *parameters, const struct sandlot_create *request);

#endif
