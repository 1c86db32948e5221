/* The transport over HTTP ("Streamable HTTP"): finds and runs the module that speaks it. */
#ifndef SANDLOT_SERVER_HTTP_H
#define SANDLOT_SERVER_HTTP_H

#include "server/http/module.h"
#include "server/server.h"

/* Loads the module. NULL with an error that says what to install. It is never unloaded. */
const struct http_module *http_load(struct sandlot_error *error);

/*
 * Listens on ADDRESS: "ADDRESS:PORT", "[ADDRESS]:PORT", "ADDRESS", "PORT" or NULL, with HTTP_ADDRESS and HTTP_PORT for
 * what is missing; port 0: a free one. Addresses are numbers, or "localhost". The socket, and "ADDRESS:PORT" in *NAME,
 * to be freed; -1 on error.
 */
int http_listen(const char *address, char **name, struct sandlot_error *error);

#define HTTP_ADDRESS "127.0.0.1"
#define HTTP_PORT "0"

/* Is NAME, as http_listen gave it, reachable from this machine only? */
bool http_is_loopback(const char *name);

/* The address in NAME, as Host has it, to be freed; *ALL: it stands for all of the machine's. NULL when out of memory.
 */
char *http_address_of(const char *name, bool *all);

/* Serves until it is time to end, then stops the server and frees it. *LEFT and *STUCK are as for stdio_serve. 0; or -1
 * with an error if it could not begin; the server is freed all the same. */
int http_serve(const struct http_module *module, const struct http_options *options, enum http_end *end, bool *left,
               bool *stuck, struct sandlot_error *error);

#endif
