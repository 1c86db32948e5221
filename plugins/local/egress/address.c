#include "address.h"

#include <arpa/inet.h>
#include <string.h>

enum { MAPPED_BITS = 96 };

struct range {
    const char *network;
    unsigned bits; /* of the version that NETWORK is written in */
    enum address_class class;
};

/* IANA's registries of special-purpose addresses, and what clouds use beside them. The first that fits counts. */
static const struct range ranges[] = {
    {"169.254.169.254", 32, ADDRESS_METADATA}, /* most clouds */
    {"169.254.170.2", 32, ADDRESS_METADATA},   /* containers at AWS */
    {"100.100.100.200", 32, ADDRESS_METADATA}, /* Alibaba */
    {"168.63.129.16", 32, ADDRESS_METADATA},   /* Azure */
    {"192.0.0.192", 32, ADDRESS_METADATA},     /* Oracle */
    {"0.0.0.0", 8, ADDRESS_UNSPECIFIED},
    {"10.0.0.0", 8, ADDRESS_PRIVATE},
    {"100.64.0.0", 10, ADDRESS_PRIVATE},
    {"127.0.0.0", 8, ADDRESS_LOOPBACK},
    {"169.254.0.0", 16, ADDRESS_LINK_LOCAL},
    {"172.16.0.0", 12, ADDRESS_PRIVATE},
    {"192.0.0.0", 24, ADDRESS_RESERVED},
    {"192.168.0.0", 16, ADDRESS_PRIVATE},
    {"198.18.0.0", 15, ADDRESS_PRIVATE},
    {"224.0.0.0", 4, ADDRESS_MULTICAST},
    {"240.0.0.0", 4, ADDRESS_RESERVED},
    {"fd00:ec2::254", 128, ADDRESS_METADATA},
    {"fd20:ce::254", 128, ADDRESS_METADATA},
    {"::", 128, ADDRESS_UNSPECIFIED},
    {"::1", 128, ADDRESS_LOOPBACK},
    {"fe80::", 10, ADDRESS_LINK_LOCAL},
    {"fec0::", 10, ADDRESS_PRIVATE},
    {"fc00::", 7, ADDRESS_PRIVATE},
    {"ff00::", 8, ADDRESS_MULTICAST},
    {"100::", 64, ADDRESS_RESERVED},
};

static void map_version_4(const void *four, address *result)
{
    memset(result, 0, sizeof(*result));
    memset(result->s6_addr + 10, 0xff, 2);
    memcpy(result->s6_addr + 12, four, 4);
}

bool address_parse(const char *text, address *result)
{
    struct in_addr four;

    if (inet_pton(AF_INET, text, &four) == 1) {
        map_version_4(&four, result);
        return true;
    }
    return inet_pton(AF_INET6, text, result) == 1;
}

void address_format(const address *value, char text[ADDRESS_SIZE])
{
    if (address_is_version_4(value))
        inet_ntop(AF_INET, value->s6_addr + 12, text, ADDRESS_SIZE);
    else
        inet_ntop(AF_INET6, value, text, ADDRESS_SIZE);
}

bool address_is_version_4(const address *value)
{
    return IN6_IS_ADDR_V4MAPPED(value);
}

bool address_equals(const address *left, const address *right)
{
    return memcmp(left, right, sizeof(*left)) == 0;
}

bool address_in(const address *value, const address *network, unsigned bits)
{
    const unsigned whole = bits / 8;
    const unsigned char mask = (unsigned char)(0xff00U >> bits % 8);

    if (memcmp(value->s6_addr, network->s6_addr, whole) != 0)
        return false;
    return bits % 8 == 0 || ((value->s6_addr[whole] ^ network->s6_addr[whole]) & mask) == 0;
}

static enum address_class class_by_range(const address *value)
{
    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        address network;

        address_parse(ranges[i].network, &network);
        if (address_in(value, &network, ranges[i].bits + (address_is_version_4(&network) ? MAPPED_BITS : 0)))
            return ranges[i].class;
    }
    return ADDRESS_PUBLIC;
}

#define NAT64 "64:ff9b::"

/* Mechanisms whose addresses carry one of version 4, and where they do. */
static const struct {
    const char *network;
    unsigned bits;
    unsigned offset;
    unsigned char flipped; /* what each byte is combined with */
} embeddings[] = {
    {NAT64, 96, 12, 0},          /* NAT64, RFC 6052 */
    {"::", 96, 12, 0},           /* IPv4-compatible, RFC 4291 */
    {"64:ff9b:1::", 48, 12, 0},  /* NAT64 of one's own, RFC 8215 */
    {"2002::", 16, 2, 0},        /* 6to4, RFC 3056 */
    {"2001::", 32, 12, 0xff},    /* Teredo, RFC 4380: the client */
    {"2001::", 32, 4, 0},        /* and its server */
    {"::ffff:0:0:0", 96, 12, 0}, /* IPv4-translated, RFC 2765 */
};

static bool is_isatap(const address *value)
{
    static const unsigned char mark[] = {0x5e, 0xfe};

    /* RFC 5214: ::0:5efe:a.b.c.d or ::200:5efe:a.b.c.d below any prefix. */
    return memcmp(value->s6_addr + 10, mark, sizeof(mark)) == 0 && value->s6_addr[9] == 0 &&
           (value->s6_addr[8] & ~3) == 0;
}

static enum address_class worse(enum address_class class, const address *value, unsigned offset, unsigned char flipped)
{
    unsigned char four[4];
    address embedded;

    for (size_t i = 0; i < sizeof(four); i++)
        four[i] = value->s6_addr[offset + i] ^ flipped;
    map_version_4(four, &embedded);
    const enum address_class other = class_by_range(&embedded);

    return other > class ? other : class;
}

enum address_class address_class(const address *value)
{
    enum address_class class = class_by_range(value);

    if (address_is_version_4(value))
        return class;
    for (size_t i = 0; i < sizeof(embeddings) / sizeof(*embeddings); i++) {
        address network;

        address_parse(embeddings[i].network, &network);
        if (address_in(value, &network, embeddings[i].bits))
            class = worse(class, value, embeddings[i].offset, embeddings[i].flipped);
    }
    return is_isatap(value) ? worse(class, value, 12, 0) : class;
}

address address_nat64(const address *value)
{
    address result;

    address_parse(NAT64, &result);
    memcpy(result.s6_addr + 12, value->s6_addr + 12, 4);
    return result;
}

bool address_each_closed(bool (*take)(void *context, const address *network, unsigned bits), void *context)
{
    address network;
    address translated;

    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        address_parse(ranges[i].network, &network);
        const bool four = address_is_version_4(&network);
        const unsigned bits = ranges[i].bits + (four ? MAPPED_BITS : 0);

        if (ranges[i].class <= ADDRESS_PRIVATE)
            continue;
        if (ranges[i].class != ADDRESS_LOOPBACK && !take(context, &network, bits))
            return false;
        translated = address_nat64(&network);
        if (four && !take(context, &translated, bits))
            return false;
    }
    /* Of the first, NAT64, machines without version 4 live; what it must not reach is closed by now. */
    for (size_t i = 1; i < sizeof(embeddings) / sizeof(*embeddings); i++) {
        address_parse(embeddings[i].network, &network);
        if (!take(context, &network, embeddings[i].bits))
            return false;
    }
    return true;
}

const char *address_class_name(enum address_class class)
{
    static const char *const names[] = {
        [ADDRESS_PUBLIC] = "public address",           [ADDRESS_PRIVATE] = "private address",
        [ADDRESS_RESERVED] = "reserved address",       [ADDRESS_MULTICAST] = "multicast address",
        [ADDRESS_UNSPECIFIED] = "unspecified address", [ADDRESS_LINK_LOCAL] = "link-local address",
        [ADDRESS_METADATA] = "cloud metadata address", [ADDRESS_LOOPBACK] = "loopback address",
        [ADDRESS_OWN] = "address of this machine",
    };

    return names[class];
}
