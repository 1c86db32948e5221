/*
 * The HTTP transport is a module of its own, loaded when it is asked for, so that the command runs without the library
 * that it uses. The executable exports nothing: what the module needs of the server comes in a table.
 */
#ifndef SANDLOT_SERVER_HTTP_MODULE_H
#define SANDLOT_SERVER_HTTP_MODULE_H

#include "server/channel.h"

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;

/* What the module calls; see server.h. */
struct http_host {
    void (*receive)(struct server *server, struct channel *channel, const char *text, size_t length);
    void (*hang_up)(struct server *server, const struct channel *channel);
    bool (*is_busy)(struct server *server);
};

/* Who may talk to the server. */
struct http_access {
    const char *token;          /* NULL: everybody may */
    const char *const *origins; /* besides those of this machine, if there is a token; ended by NULL */
    const char *address;        /* that the server listens on, "[...]" around IPv6; NULL: all of the machine's */
};

struct http_options {
    struct server *server;
    struct http_access access;
    int listen_fd; /* is closed by finish */
    int stop_fd;   /* readable once a signal asks for the end */
    int64_t idle_timeout_ms;
    size_t longest_message;
};

enum http_end { HTTP_STOPPED, HTTP_IDLE };

struct http;

/* The one symbol of the module. */
struct http_module {
    const char *version; /* SANDLOT_VERSION: the command takes a module of its own version only */
    /* Begins to listen. HOST and OPTIONS must live as long. NULL with *WHY, a sentence that needs no freeing. */
    struct http *(*start)(const struct http_host *host, const struct http_options *options, const char **why);
    /* Returns when it is time to end; from then on no new connection is taken. */
    enum http_end (*serve)(struct http *http);
    /* Waits a moment until the last answers are sent, then closes all connections. */
    void (*finish)(struct http *http);
    /* Only when no call is left that could answer. */
    void (*free)(struct http *http);
};

#define HTTP_MODULE_SYMBOL "sandlot_mcp_http"
#define HTTP_MODULE_NAME "sandlot-mcp-http.so"

#endif
