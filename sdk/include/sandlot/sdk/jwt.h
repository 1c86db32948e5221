/*
 * sandlot/sdk/jwt.h - what a JSON Web Token says of itself (RFC 7519): whom it is for, and until when.
 *
 * Nothing is verified: only who issued the token can do that. Threads: any.
 */
#ifndef SANDLOT_SDK_JWT_H
#define SANDLOT_SDK_JWT_H

#include <json-c/json.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The claims of TOKEN, to be read by json.h and released with json_object_put. NULL: it is none (keys of services
 * mostly are not), or memory is short. */
struct json_object *jwt_claims(const char *token);

/* Milliseconds until TOKEN expires, 0 if it has; OTHERWISE_MS if it does not say, or nothing that makes sense. */
int64_t jwt_lifetime_ms(const char *token, int64_t otherwise_ms);

#ifdef __cplusplus
}
#endif

#endif
