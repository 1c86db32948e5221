/* JSON-RPC messages: what one is, and what is wrong with it. */
#ifndef SANDLOT_SERVER_MESSAGE_H
#define SANDLOT_SERVER_MESSAGE_H

#include "server/scan.h"

enum rpc_code {
    RPC_OK = 0,
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_UNKNOWN_METHOD = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_UNSUPPORTED_VERSION = -32022,
    RPC_HEADER_MISMATCH = -32020
};

enum message_type {
    MESSAGE_INVALID, /* to be answered with the error */
    MESSAGE_REQUEST,
    MESSAGE_NOTIFICATION,
    MESSAGE_RESPONSE,
    MESSAGE_BATCH /* an array; its elements are messages, perhaps */
};

/* What is wrong: a code and a sentence that lives as long as the program, or that belongs to the struct. */
struct rpc_error {
    enum rpc_code code;
    const char *text;
};

/* All pieces point into the text that was parsed. */
struct message {
    enum message_type type;
    struct piece id;     /* as it was spelt; without text: none, or not readable */
    struct piece method; /* a string */
    struct piece params; /* an object, or without text */
    struct piece meta;   /* params._meta, an object, or without text */
    struct piece whole;
    bool modern; /* stands alone: it tells its own protocol version */
    struct rpc_error error;
};

/* Takes TEXT apart. What it is, and what is wrong with it, stands in *MESSAGE. */
void message_parse(const char *text, size_t length, struct message *message);

/* The same for one element of a batch. */
void message_read(struct piece whole, struct message *message);

/* Do two ids mean the same? Type and value count, not the spelling of a string. */
bool message_same_id(struct piece a, struct piece b);

/* Can PIECE be an id or a progress token: a string that is Unicode, or an integer? */
bool message_valid_id(struct piece piece);

#define META_PREFIX "io.modelcontextprotocol/"

#endif
