/* The host that a request names, parsed once and strictly; everything later goes by the result. */
#ifndef SANDLOT_EGRESS_HOST_H
#define SANDLOT_EGRESS_HOST_H

#include "address.h"

#include <stdint.h>

enum { HOST_SIZE = 254 };

struct host {
    char name[HOST_SIZE]; /* lower case, no dot at the end; of an address its usual form, without brackets */
    bool is_address;
    address address;
};

/*
 * Reads LENGTH bytes as a host: a name of letters, digits, "-" and "_", or an address, one of version 6 in brackets.
 * False for all else: user names, escapes, blanks, controls, bytes beyond ASCII, zones, and numbers that some programs
 * take for an address (0x7f.1, 2130706433, 010.0.0.1).
 */
bool host_parse(const char *text, size_t length, struct host *host);

/* The same with ":PORT" at the end, 1 to 65535. Without it the port is DEFAULT_PORT; 0: then one is required. */
bool host_parse_authority(const char *text, size_t length, uint16_t default_port, struct host *host, uint16_t *port);

bool host_equals(const struct host *left, const struct host *right);

#endif
