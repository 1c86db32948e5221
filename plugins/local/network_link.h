/* The link of a box whose network is open: what the keeper gives it, and what its view says of it. */
#ifndef SANDLOT_LOCAL_NETWORK_LINK_H
#define SANDLOT_LOCAL_NETWORK_LINK_H

/* Of the package passt. */
#define LINK_PROGRAM "/usr/bin/pasta"
#define LINK_DEVICE "/dev/net/tun"

/* RFC 7335: addresses that hosts give their own translators, and nobody on the net. Of version 6 unique local ones. */
#define LINK_NAME "outside"
#define LINK_ADDRESS "192.0.0.2"
#define LINK_BITS "29"
#define LINK_MASK "255.255.255.248"
#define LINK_GATEWAY "192.0.0.1"
#define LINK_ADDRESS_6 "fd73:616e:646c::2"
#define LINK_GATEWAY_6 "fd73:616e:646c::1"

/* Where the box asks for names: what comes there goes to the resolver of the machine, and to no other port of it. */
#define LINK_RESOLVER "192.0.0.3"

/* Of a box with a list: what leads to the gate, and in the gate to the box. Addresses are as above; of version 6 there
 * are but these two. */
#define GATE_LINK "listed"
#define GATE_LINK_BACK "box"
enum { GATE_BITS_6 = 126 };

/* The addresses that stand for names in such a box (RFC 2544: nobody on the net has them). */
#define GATE_NAMES "198.18.0.0"
enum { GATE_NAMES_BITS = 15, GATE_RESOLVER_PORT = 53 };

#endif
