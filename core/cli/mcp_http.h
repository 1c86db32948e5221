/* sandlot mcp --http: where it listens, who may talk to it, and what it says of that. */
#ifndef SANDLOT_CLI_MCP_HTTP_H
#define SANDLOT_CLI_MCP_HTTP_H

#include "cli/context.h"
#include "server/http.h"

/* What the server needs before it can begin. */
struct mcp_http {
    const struct http_module *module;
    int listen_fd;
    char *name;  /* ADDRESS:PORT */
    char *token; /* NULL: none is wanted */
    char *address;
};

/* Loads the module, reads the token, listens. 0, or the exit status after the complaint. To be closed in any case. */
int mcp_http_open(struct mcp_http *http, const struct context *context);

/* Says where it is, serves until the end, frees SERVER. The exit status; *STUCK: the process must go at once. */
int mcp_http_serve(struct mcp_http *http, const struct context *context, struct server *server, bool *left,
                   bool *stuck);

void mcp_http_close(struct mcp_http *http);

#endif
