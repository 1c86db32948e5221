/* What becomes of a request: refused for its header fields, handed to the server, or both refused and answered. */
#ifndef SANDLOT_SERVER_HTTP_REQUEST_H
#define SANDLOT_SERVER_HTTP_REQUEST_H

#include "server/http/exchange.h"

/* Looks at the path and the header fields; a refusal stands in EXCHANGE. */
void request_check(struct exchange *exchange, const struct http_access *access, const char *method, const char *path);

/*
 * Takes the message in the body. What the fields say against it is answered at once, through the channel; else
 * the server gets it. *WANTS_PROGRESS: the client asked for it. *EXPECTS: there will be an answer.
 */
void request_receive(struct exchange *exchange, const struct http_host *host, struct server *server,
                     bool *wants_progress, bool *expects);

/* The HTTP status for an answer. */
unsigned int request_status(const struct exchange *exchange);

#endif
