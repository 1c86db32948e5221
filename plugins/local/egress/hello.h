/* The first bytes of a TLS client: the server that it names (SNI). */
#ifndef SANDLOT_EGRESS_HELLO_H
#define SANDLOT_EGRESS_HELLO_H

#include <stddef.h>

enum hello_result {
    HELLO_MORE, /* the ClientHello goes on */
    HELLO_FINE,
    HELLO_BAD /* this is none, or it names no or more than one server in a way that could be misread */
};

enum { HELLO_MOST = 16 * 1024, HELLO_NAME_SIZE = 256 };

/*
 * Reads a ClientHello (RFC 8446, 4.1.2) from LENGTH bytes of TLS records. HELLO_FINE: NAME is the server name, "" if
 * there is none; what an encrypted ClientHello hides counts as not said.
 */
enum hello_result hello_parse(const unsigned char *bytes, size_t length, char name[HELLO_NAME_SIZE]);

#endif
