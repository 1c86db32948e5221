/* Addresses of the internet: reading them, and which of them nothing in a box may reach unless the list names them. */
#ifndef SANDLOT_EGRESS_ADDRESS_H
#define SANDLOT_EGRESS_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

enum { ADDRESS_SIZE = INET6_ADDRSTRLEN };

/* An address of either version; one of version 4 in its mapped form, ::ffff:a.b.c.d. */
typedef struct in6_addr address;

/* What an address belongs to, from harmless to worst. */
enum address_class {
    ADDRESS_PUBLIC,
    ADDRESS_PRIVATE, /* of somebody's own network: RFC 1918, RFC 6598, unique local */
    ADDRESS_RESERVED,
    ADDRESS_MULTICAST,
    ADDRESS_UNSPECIFIED,
    ADDRESS_LINK_LOCAL,
    ADDRESS_METADATA, /* where clouds hand out credentials */
    ADDRESS_LOOPBACK,
    ADDRESS_OWN /* of an interface of this machine */
};

/* Reads an address in its one usual form: four decimal numbers without leading zeros, or version 6 without a zone. */
bool address_parse(const char *text, address *result);

/* Writes it as people do; a mapped one as version 4. */
void address_format(const address *value, char text[ADDRESS_SIZE]);

bool address_is_version_4(const address *value);

bool address_equals(const address *left, const address *right);

/* Are the first BITS (0 to 128, of the mapped form) of both the same? */
bool address_in(const address *value, const address *network, unsigned bits);

/* The class of VALUE, and of an address of version 4 that a transition mechanism would make of it, whichever is worse.
 * Never ADDRESS_OWN. */
enum address_class address_class(const address *value);

/* Calls TAKE for each network that stays closed where all else is open, BITS being of the mapped form: what is neither
 * public nor private, but loopback, and what a transition mechanism would make of it. False as soon as TAKE is. */
bool address_each_closed(bool (*take)(void *context, const address *network, unsigned bits), void *context);

/* What NAT64 (RFC 6052) makes of VALUE, which is of version 4. */
address address_nat64(const address *value);

/* "loopback address", for messages. */
const char *address_class_name(enum address_class class);

#endif
