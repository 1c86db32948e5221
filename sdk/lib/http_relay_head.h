/* The head of a request on its way to the URL of a port. */
#ifndef SANDLOT_SDK_HTTP_RELAY_HEAD_H
#define SANDLOT_SDK_HTTP_RELAY_HEAD_H

#include "text.h"

enum { HTTP_RELAY_HEAD = 64 * 1024 };

enum http_relay_look {
    HTTP_RELAY_MORE,  /* it is not whole yet */
    HTTP_RELAY_WHOLE, /* LENGTH bytes */
    HTTP_RELAY_OTHER, /* this is no HTTP/1 */
    HTTP_RELAY_LONG   /* longer than a head may be */
};

/* What the first bytes of a connection are. */
enum http_relay_look http_relay_look(const char *bytes, size_t length, size_t *head_length);

/*
 * Adds to NEW the head that is HEAD, LENGTH bytes and whole, with HOST as Host, HEADER ("Name: value", NULL: none) in
 * the place of what has its name, and without a promise of further requests. *UPGRADES: it asks for another protocol.
 * False when out of memory.
 */
bool http_relay_rewrite(const char *head, size_t length, const char *host, const char *header, struct sdk_buffer *new,
                        bool *upgrades);

#endif
