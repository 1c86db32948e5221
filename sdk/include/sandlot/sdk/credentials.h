/*
 * sandlot/sdk/credentials.h - finds a key by the names that it may have.
 *
 * NAMES is one variable or several alternatives, "ACME_API_KEY|ACME_TOKEN", in order of preference. Each is looked up
 * by the host: SANDLOT_NAME before NAME, in the process environment and then in the user's .env files; one that is
 * empty, or blanks alone, counts as absent. Declare the same text in the metadata's `credentials`, or a worker does not
 * see the variables.
 */
#ifndef SANDLOT_SDK_CREDENTIALS_H
#define SANDLOT_SDK_CREDENTIALS_H

#include <sandlot/sdk/http.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of the first of NAMES that is there, NULL if none is. FOUND, unless NULL, is set to where its name begins
 * within NAMES. The value is valid until the provider is unloaded. */
const char *credential_find(struct sandlot_call *call, const char *names, const char **found);

/*
 * Where that value came from, for messages about a key that was refused: the variable as the user has set it, with
 * SANDLOT_ before its name or without. To be freed; NULL: none of NAMES is there, or memory is short.
 */
char *credential_source(struct sandlot_call *call, const char *names);

/*
 * The same as credential_find for a key without which nothing works: SANDLOT_AUTH if there is none, with a sentence
 * that names SERVICE and the variables, and also if it holds blanks or control characters, which no key has and which a
 * header of HTTP cannot carry (mostly a newline that came along from a file).
 */
enum sandlot_status credential_require(struct sandlot_call *call, const char *service, const char *names,
                                       const char **value);

/*
 * Opens a client as http_client_open does, with the value of credential_require as `bearer` and that of
 * credential_source as `key_from`. OPTIONS says the rest, of which service and base_url are required.
 */
enum sandlot_status credential_open_client(struct sandlot_call *call, const char *names, struct http_options options,
                                           struct http_client **client);

#ifdef __cplusplus
}
#endif

#endif
