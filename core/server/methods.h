/* The methods of the protocol, in both of its eras; which one a request belongs to is decided by that request alone. */
#ifndef SANDLOT_SERVER_METHODS_H
#define SANDLOT_SERVER_METHODS_H

#include "server/calls.h"
#include "server/channel.h"

#include <stdbool.h>

/* What the methods answer from; made once by server.c. */
struct methods {
    struct calls *calls;
    char *info;         /* the server's description, JSON */
    char *instructions; /* a JSON string */
    char *tools;        /* a JSON array */
    char **tool_names;  /* ended by NULL */
};

/* Handles one message that has been taken apart. */
void methods_handle(const struct methods *methods, struct channel *channel, const struct message *message);

#endif
