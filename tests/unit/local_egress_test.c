/* What decides where a box may go: hosts, addresses, the list, and the readers of what a box sends. */
#include "egress/body.h"
#include "egress/head.h"
#include "egress/hello.h"
#include "egress/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- hosts ---- */

static void hosts_are_read_strictly(void **state)
{
    static const struct {
        const char *text;
        const char *name; /* NULL: refused */
    } rows[] = {
        {"example.com", "example.com"},
        {"EXAMPLE.Com.", "example.com"},
        {"xn--mnchen-3ya.example", "xn--mnchen-3ya.example"},
        {"_dmarc.example.com", "_dmarc.example.com"},
        {"localhost", "localhost"},
        {"192.0.2.1", "192.0.2.1"},
        {"[2001:DB8::1]", "2001:db8::1"},
        {"[::ffff:127.0.0.1]", "127.0.0.1"},
        {"a.0b", "a.0b"},
        {"", NULL},
        {".", NULL},
        {"example.com..", NULL},
        {"a..b", NULL},
        {".example.com", NULL},
        {"-a.example.com", NULL},
        {"a-.example.com", NULL},
        {"user@example.com", NULL},
        {"example.com/x", NULL},
        {"example.com%00.evil.com", NULL},
        {"example.com\\.evil.com", NULL},
        {"exa mple.com", NULL},
        {"m\xc3\xbcnchen.example", NULL},
        {"example.com\n", NULL},
        {"*.example.com", NULL},
        {"a{b.example.com", NULL},
        {"2130706433", NULL},
        {"0x7f.1", NULL},
        {"0x7f000001", NULL},
        {"127.1", NULL},
        {"0177.0.0.1", NULL},
        {"010.0.0.1", NULL},
        {"1.2.3.4.5", NULL},
        {"a.0x1", NULL},
        {"::1", NULL},
        {"[::1", NULL},
        {"x::1]", NULL},
        {"[fe80::1%eth0]", NULL},
        {"[127.0.0.1]", NULL},
        {"[]", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct host host;
        const bool read = host_parse(rows[i].text, strlen(rows[i].text), &host);

        if (read != (rows[i].name != NULL) || (read && strcmp(host.name, rows[i].name) != 0))
            fail_msg("%s: %s", rows[i].text, read ? host.name : "refused");
    }
    char name[HOST_SIZE];
    struct host host;

    memset(name, 'a', sizeof(name));
    assert_false(host_parse(name, 64, &host));
    assert_true(host_parse(name, 63, &host));
    for (size_t i = 50; i < sizeof(name); i += 50)
        name[i] = '.';
    assert_true(host_parse(name, HOST_SIZE - 1, &host));
    assert_false(host_parse(name, HOST_SIZE, &host));
    assert_false(host_parse("a\0b", 3, &host));
}

static void authorities_have_a_port(void **state)
{
    static const struct {
        const char *text;
        unsigned usual;
        unsigned port; /* 0: refused */
    } rows[] = {{"a.b:443", 0, 443},  {"a.b", 80, 80},      {"a.b", 0, 0},           {"a.b:0", 80, 0},
                {"a.b:65536", 80, 0}, {"a.b:", 80, 0},      {"a.b:+80", 80, 0},      {"a.b: 80", 80, 0},
                {"a.b:80:80", 80, 0}, {"a.b:8a", 80, 0},    {"[::1]:8080", 0, 8080}, {"[::1]", 80, 80},
                {"::1:80", 80, 0},    {"a.b:00080", 0, 80}, {"a.b:000080", 0, 0},    {"[::1]8080", 80, 0},
                {":80", 80, 0}};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct host host;
        uint16_t port = 0;
        const bool read =
            host_parse_authority(rows[i].text, strlen(rows[i].text), (uint16_t)rows[i].usual, &host, &port);

        if (read != (rows[i].port != 0) || (read && port != rows[i].port))
            fail_msg("%s: %d, port %u", rows[i].text, read, port);
    }
}

/* ---- addresses ---- */

static void addresses_have_classes(void **state)
{
    static const struct {
        const char *text;
        enum address_class class;
    } rows[] = {
        {"93.184.216.34", ADDRESS_PUBLIC},
        {"198.51.100.1", ADDRESS_PUBLIC},
        {"2606:4700::1", ADDRESS_PUBLIC},
        {"10.0.0.1", ADDRESS_PRIVATE},
        {"172.16.0.1", ADDRESS_PRIVATE},
        {"172.31.255.255", ADDRESS_PRIVATE},
        {"172.32.0.1", ADDRESS_PUBLIC},
        {"192.168.1.1", ADDRESS_PRIVATE},
        {"198.18.0.1", ADDRESS_PRIVATE},
        {"198.20.0.1", ADDRESS_PUBLIC},
        {"100.64.0.1", ADDRESS_PRIVATE},
        {"100.128.0.1", ADDRESS_PUBLIC},
        {"127.0.0.1", ADDRESS_LOOPBACK},
        {"127.255.255.254", ADDRESS_LOOPBACK},
        {"0.0.0.0", ADDRESS_UNSPECIFIED},
        {"0.1.2.3", ADDRESS_UNSPECIFIED},
        {"169.254.1.1", ADDRESS_LINK_LOCAL},
        {"169.254.169.254", ADDRESS_METADATA},
        {"169.254.170.2", ADDRESS_METADATA},
        {"100.100.100.200", ADDRESS_METADATA},
        {"168.63.129.16", ADDRESS_METADATA},
        {"192.0.0.192", ADDRESS_METADATA},
        {"192.0.0.8", ADDRESS_RESERVED},
        {"224.0.0.1", ADDRESS_MULTICAST},
        {"255.255.255.255", ADDRESS_RESERVED},
        {"239.255.255.255", ADDRESS_MULTICAST},
        {"::", ADDRESS_UNSPECIFIED},
        {"::1", ADDRESS_LOOPBACK},
        {"::ffff:127.0.0.1", ADDRESS_LOOPBACK},
        {"::127.0.0.1", ADDRESS_LOOPBACK},
        {"64:ff9b::7f00:1", ADDRESS_LOOPBACK},
        {"64:ff9b::a9fe:a9fe", ADDRESS_METADATA},
        {"64:ff9b::5db8:d822", ADDRESS_PUBLIC},
        {"64:ff9b:1::7f00:1", ADDRESS_LOOPBACK},
        {"2002:7f00:1::1", ADDRESS_LOOPBACK},
        {"2002:a00:1::1", ADDRESS_PRIVATE},
        {"2001:0:5db8:d822:0:0:80ff:fffe", ADDRESS_LOOPBACK}, /* Teredo, the client 127.0.0.1 */
        {"2001:0:a00:1:0:0:a247:27dd", ADDRESS_PRIVATE},      /* Teredo, the server 10.0.0.1 */
        {"2001:db8::5efe:127.0.0.1", ADDRESS_LOOPBACK},       /* ISATAP */
        {"2001:db8::200:5efe:10.0.0.1", ADDRESS_PRIVATE},
        {"2001:db8::1:5efe:10.0.0.1", ADDRESS_PUBLIC}, /* no ISATAP */
        {"2001:db8::400:5efe:10.0.0.1", ADDRESS_PUBLIC},
        {"::ffff:0:127.0.0.1", ADDRESS_LOOPBACK},
        {"fe80::1", ADDRESS_LINK_LOCAL},
        {"fec0::1", ADDRESS_PRIVATE},
        {"fd12::1", ADDRESS_PRIVATE},
        {"fd00:ec2::254", ADDRESS_METADATA},
        {"fd20:ce::254", ADDRESS_METADATA},
        {"ff02::1", ADDRESS_MULTICAST},
        {"100::1", ADDRESS_RESERVED},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        address value;

        assert_true(address_parse(rows[i].text, &value));
        if (address_class(&value) != rows[i].class)
            fail_msg("%s: %s", rows[i].text, address_class_name(address_class(&value)));
    }
    address one;
    address two;

    assert_true(address_parse("10.1.2.3", &one) && address_parse("10.1.3.3", &two));
    assert_true(address_in(&one, &two, 96 + 16));
    assert_true(address_in(&one, &two, 96 + 23));
    assert_false(address_in(&one, &two, 96 + 24));
    assert_true(address_in(&one, &two, 0));
    assert_false(address_in(&one, &two, 128));
}

/* ---- the list ---- */

static const char list[] = "host example.com 0\n"
                           "below wild.example 0\n"
                           "host git.example 22\n"
                           "host tls.example 443\n"
                           "host db.example 5432\n"
                           "credential git.example 443\n"
                           "network 10.0.0.5/32 5432\n"
                           "network 192.168.0.0/16 0\n"
                           "network 127.0.0.1/32 8080\n"
                           "network 127.0.0.3/32 0\n"
                           "network 0.0.0.0/0 9000\n"
                           "network 2001:db8::/32 0\n"
                           "network ::/80 0\n"; /* which, as bits, has all of version 4 in it */

static void destinations_are_decided(void **state)
{
    static const struct {
        const char *host;
        unsigned port;
        const char *rule; /* NULL: denied */
    } rows[] = {
        {"example.com", 443, "example.com"},
        {"example.com", 80, "example.com"},
        {"example.com", 22, NULL},
        {"example.com", 8443, NULL},
        {"a.example.com", 443, NULL},
        {"evilexample.com", 443, NULL},
        {"example.com.evil.com", 443, NULL},
        {"example.co", 443, NULL},
        {"wild.example", 443, NULL},
        {"a.wild.example", 443, "*.wild.example"},
        {"a.b.wild.example", 80, "*.wild.example"},
        {"evilwild.example", 443, NULL},
        {"git.example", 22, "git.example:22"},
        {"git.example", 443, "git.example:443"},
        {"git.example", 80, NULL},
        {"tls.example", 443, "tls.example:443"},
        {"tls.example", 80, NULL},
        {"db.example", 443, NULL},
        {"example.com", 5432, NULL}, /* a name has no address to compare */
        {"10.0.0.5", 5432, "10.0.0.5:5432"},
        {"10.0.0.5", 5433, NULL},
        {"10.0.0.6", 5432, NULL},
        {"192.168.3.4", 80, "192.168.0.0/16"},
        {"192.168.3.4", 22, NULL},
        {"[2001:db8::7]", 443, "2001:db8::/32"},
        {"[2001:db9::7]", 443, NULL},
        {"[::1:7]", 443, "::/80"},
        {"10.0.0.5", 443, NULL},
        {"93.184.216.34", 443, NULL},
        {"93.184.216.34", 9000, "0.0.0.0/0:9000"},
        {"[::ffff:10.0.0.5]", 5432, "10.0.0.5:5432"},
    };
    struct policy policy;

    (void)state;
    assert_true(policy_read(list, &policy));
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct host host;
        const char *reason;
        char rule[RULE_SIZE] = "";

        assert_true(address_parse("10.0.0.5", &host.address));
        assert_true(host_parse(rows[i].host, strlen(rows[i].host), &host));
        const struct policy_entry *found = policy_find(&policy, &host, (uint16_t)rows[i].port, &reason);

        if (found)
            policy_rule(found, rule);
        if (!found != !rows[i].rule || (found && strcmp(rule, rows[i].rule) != 0))
            fail_msg("%s:%u: %s", rows[i].host, rows[i].port, found ? rule : reason);
        /* of which two entries have other ports */
        if (!found && strcmp(rows[i].host, "git.example") == 0)
            assert_ptr_equal(reason, policy_other_port);
        if (!found && strcmp(rows[i].host, "evilexample.com") == 0)
            assert_ptr_equal(reason, policy_not_listed);
    }
    policy_clear(&policy);
}

static void forbidden_addresses_must_be_listed_themselves(void **state)
{
    static const struct {
        const char *address;
        unsigned port;
        enum address_class class;
        bool admitted;
    } rows[] = {
        {"93.184.216.34", 443, ADDRESS_PUBLIC, true},
        {"10.0.0.5", 5432, ADDRESS_PRIVATE, true},
        {"10.0.0.5", 443, ADDRESS_PRIVATE, false},
        {"10.0.0.6", 5432, ADDRESS_PRIVATE, false},
        {"192.168.9.9", 80, ADDRESS_PRIVATE, true},
        {"127.0.0.1", 8080, ADDRESS_LOOPBACK, true},
        {"127.0.0.1", 80, ADDRESS_LOOPBACK, false},
        {"127.0.0.2", 8080, ADDRESS_LOOPBACK, false},
        {"127.0.0.1", 9000, ADDRESS_LOOPBACK, false},
        {"127.0.0.3", 80, ADDRESS_LOOPBACK, false},
        {"169.254.169.254", 9000, ADDRESS_METADATA, false},
        {"169.254.1.1", 9000, ADDRESS_LINK_LOCAL, false},
        {"0.0.0.1", 9000, ADDRESS_UNSPECIFIED, false},
        {"224.0.0.1", 9000, ADDRESS_MULTICAST, false},
        {"240.0.0.1", 9000, ADDRESS_RESERVED, false},
        {"192.168.9.9", 80, ADDRESS_OWN, false},
        {"10.9.9.9", 9000, ADDRESS_PRIVATE, true},
        {"10.9.9.9", 80, ADDRESS_PRIVATE, false},
        {"::1:7", 80, ADDRESS_PRIVATE, true},
    };
    struct policy policy;

    (void)state;
    assert_true(policy_read(list, &policy));
    for (size_t i = 0; i < COUNT(rows); i++) {
        address value;

        assert_true(address_parse(rows[i].address, &value));
        if (policy_admits(&policy, &value, rows[i].class, (uint16_t)rows[i].port) != rows[i].admitted)
            fail_msg("%s:%u", rows[i].address, rows[i].port);
    }
    policy_clear(&policy);
}

static void an_open_policy_keeps_what_is_always_closed(void **state)
{
    static const enum address_class forbidden[] = {ADDRESS_RESERVED,   ADDRESS_MULTICAST, ADDRESS_UNSPECIFIED,
                                                   ADDRESS_LINK_LOCAL, ADDRESS_METADATA,  ADDRESS_LOOPBACK,
                                                   ADDRESS_OWN};
    const char *reason;
    struct policy policy;
    struct host host;
    char rule[RULE_SIZE];
    address value;

    (void)state;
    assert_true(policy_read(POLICY_OPEN, &policy));
    assert_true(host_parse("any.example", 11, &host) && address_parse("10.0.0.1", &value));
    const struct policy_entry *entry = policy_find(&policy, &host, 5432, &reason);

    assert_non_null(entry);
    policy_rule(entry, rule);
    assert_string_equal(rule, "open");
    assert_true(policy_admits(&policy, &value, ADDRESS_PUBLIC, 1) &&
                policy_admits(&policy, &value, ADDRESS_PRIVATE, 1));
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++)
        assert_false(policy_admits(&policy, &value, forbidden[i], 80));
    policy_clear(&policy);
    assert_false(policy_find(&policy, &host, 80, &reason));
    assert_false(policy_read("open\nopen\n", &policy) || policy_read("open", &policy));
}

struct closed {
    const char *address;
    bool found;
};

static bool look_whether_closed(void *context, const address *network, unsigned bits)
{
    struct closed *closed = context;
    address value;

    closed->found = closed->found || (address_parse(closed->address, &value) && address_in(&value, network, bits));
    return true;
}

static bool take_none(void *context, const address *network, unsigned bits)
{
    (void)context, (void)network, (void)bits;
    return false;
}

static void what_is_always_closed_is_listed(void **state)
{
    static const struct {
        const char *address;
        bool closed;
    } rows[] = {{"169.254.169.254", true},
                {"100.100.100.200", true},
                {"168.63.129.16", true},
                {"169.254.1.1", true},
                {"224.0.0.251", true},
                {"255.255.255.255", true},
                {"0.0.0.1", true},
                {"fe80::1", true},
                {"ff02::1", true},
                {"fd00:ec2::254", true},
                {"64:ff9b::169.254.1.1", true},
                {"64:ff9b::127.0.0.1", true},
                {"2002:7f00:1::1", true},
                {"2001:0:1::1", true},
                {"10.0.0.1", false},
                {"192.168.1.1", false},
                {"198.51.100.1", false},
                {"2001:db8::1", false},
                {"64:ff9b::8.8.8.8", false},
                {"127.0.0.1", false},
                {"::1", true}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct closed closed = {rows[i].address, false};

        assert_true(address_each_closed(look_whether_closed, &closed));
        if (closed.found != rows[i].closed)
            fail_msg("%s", rows[i].address);
    }
    assert_false(address_each_closed(take_none, NULL));
}

static void a_list_is_read_whole_or_not_at_all(void **state)
{
    static const char *const bad[] = {"host example.com\n",       "host example.com 65536\n",
                                      "host example.com 80 x\n",  "host example.com 80",
                                      "hast example.com 80\n",    "host 10.0.0.1 80\n",
                                      "network example.com 80\n", "network 10.0.0.0/33 80\n",
                                      "network 10.0.0.0/x 80\n",  "network 10.0.0.0/ 80\n",
                                      "network 10.0.0.0/8x 80\n", "hast 10.0.0.1 80\n",
                                      "host a 0\nhost b\n",       "\n"};
    struct policy policy;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        if (policy_read(bad[i], &policy) || policy.count || policy.entries)
            fail_msg("%s", bad[i]);
    assert_true(policy_read("", &policy));
    assert_int_equal(policy.count, 0);
    policy_clear(&policy);
    static const char line[] = "host a.b 0\n";
    char *long_list = calloc(POLICY_ENTRIES + 2, sizeof(line) - 1);

    assert_non_null(long_list);
    for (size_t i = 0; i < POLICY_ENTRIES; i++)
        strcpy(long_list + i * (sizeof(line) - 1), line);
    assert_true(policy_read(long_list, &policy));
    policy_clear(&policy);
    strcpy(long_list + POLICY_ENTRIES * (sizeof(line) - 1), line);
    assert_false(policy_read(long_list, &policy));
    free(long_list);
}

/* ---- heads ---- */

/* Reads REQUEST as a proxy does; the result is what goes to the server, "tunnel HOST:PORT", "more" or "bad". To be
 * freed. */
static char *passed(const char *request, size_t length, const struct target *within)
{
    static char written[HEAD_MOST + 512];
    struct head head;
    struct target target;
    size_t seen = 0;
    enum framing framing;
    uint64_t body;
    char *text = NULL;
    const long end = head_find_end(request, length, &seen);

    if (end == 0)
        return strdup("more");
    if (end < 0 || !head_parse(request, (size_t)end, HEAD_REQUEST, &head) || !head_target(&head, within, &target))
        return strdup("bad");
    if (target.tunnel) {
        assert_true(asprintf(&text, "tunnel %s:%u", target.host.name, target.port) > 0);
        return text;
    }
    if (!head_framing(&head, HEAD_REQUEST, &framing, &body))
        return strdup("bad");
    return strndup(written, head_write_request(&head, &target, true, written, sizeof(written)));
}

static const struct {
    const char *request;
    const char *passed;
} requests[] = {
    {"CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:443\r\n\r\n", "tunnel a.b:443"},
    {"CONNECT a.b:443 HTTP/1.1\r\nHost: a.b\r\n\r\n", "tunnel a.b:443"},
    {"CONNECT a.b:443 HTTP/1.0\r\n\r\n", "tunnel a.b:443"},
    {"CONNECT a.b:443 HTTP/1.1\r\n\r\n", "tunnel a.b:443"},
    {"CONNECT a.b:443 HTTP/1.1\r\nHost: a.b\r\nHost: a.b\r\n\r\n", "bad"},
    {"C http://a.b/ HTTP/1.0\r\n\r\n", "C / HTTP/1.0\r\nHost: a.b\r\nConnection: close\r\n\r\n"},
    {"C@ http://a.b/ HTTP/1.0\r\n\r\n", "bad"},
    {"CONNECT a.b:443 HTTP/1.1\r\nHost: c.d:443\r\n\r\n", "bad"},
    {"CONNECT a.b HTTP/1.1\r\n\r\n", "bad"},
    {"CONNECT u@a.b:443 HTTP/1.1\r\n\r\n", "bad"},
    {"GET http://a.b/x?y HTTP/1.1\r\nHost: a.b\r\n\r\n", "GET /x?y HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n"},
    {"GET http://a.b HTTP/1.1\r\nHost: A.b.:80\r\nAccept: */*\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: a.b\r\nAccept: */*\r\nConnection: close\r\n\r\n"},
    {"GET http://a.b:8080/ HTTP/1.1\r\nHost: a.b:8080\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: a.b:8080\r\nConnection: close\r\n\r\n"},
    {"GET http://[::1]:8080/ HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nHost: [::1]:8080\r\nConnection: close\r\n\r\n"},
    {"GET http://a.b/ HTTP/1.1\r\nHost:\t a.b \t\r\nDate: x\ty\r\nX-Long1: z\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: a.b\r\nDate: x\ty\r\nX-Long1: z\r\nConnection: close\r\n\r\n"},
    {"POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\n\r\n",
     "POST / HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"},
    /* what Connection does not name, and what only begins or ends like it, goes on */
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nX: Accept\r\nConnection: Cook, Accepts, abcdef\r\nAccept: */*\r\n"
     "Cookie: c\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: a.b\r\nX: Accept\r\nAccept: */*\r\nCookie: c\r\nConnection: close\r\n\r\n"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nProxy-Authorization: x\r\nConnection: keep-alive, X-Y\r\nX-Y: 1\r\n"
     "Keep-Alive: 5\r\nUpgrade: h2c\r\nTE: gzip\r\nTrailer: X\r\nCookie: c\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: a.b\r\nCookie: c\r\nConnection: close\r\n\r\n"},
    /* what tells a body's end stays whatever Connection says */
    {"POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nConnection: content-length\r\nContent-Length: 3\r\n\r\nabc",
     "POST / HTTP/1.1\r\nHost: a.b\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"},
    {"POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nConnection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n",
     "POST / HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: c.d\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b:81\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\n\r\n", "bad"},
    {"GET http://a.b?x HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET http://a.b@c.d/ HTTP/1.1\r\nHost: c.d\r\n\r\n", "bad"},
    {"GET https://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET ftps://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET httpx//a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET / HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 1, 1\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 1a\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length:\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 1000000000000000000\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: +1\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.0\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length : 1\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\n X: folded\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nno colon\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\nHost: a.b\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nX: a\rb\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nX: \x01\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nX: \x7f\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nX@: x\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nX[: x\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nX{: x\r\n\r\n", "bad"},
    {"GET http://a.b/\x01 HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET http://a.b/\x7f HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET  http://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET http://a.b/ x HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/2.0\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.2\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1x\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1 x\r\nHost: a.b\r\n\r\n", "bad"},
    {"GET http://a.b/\r\nHost: a.b\r\n\r\n", "bad"},
    {"\r\n\r\n", "bad"},
    {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\n", "more"},
    {"\x16\x03\x01", "more"},
};

static void requests_are_rewritten_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(requests); i++) {
        char *text = passed(requests[i].request, strlen(requests[i].request), NULL);

        if (strcmp(text, requests[i].passed) != 0)
            fail_msg("row %zu, %s: %s", i, requests[i].request, text);
        free(text);
    }
    char *nul = passed("GET http://a.b/\0 HTTP/1.1\r\n\r\n", 29, NULL);

    assert_string_equal(nul, "bad");
    free(nul);
}

static void a_tunnel_to_port_80_has_one_host(void **state)
{
    static const struct {
        const char *request;
        const char *passed;
    } rows[] = {{"GET /x HTTP/1.1\r\nHost: a.b\r\n\r\n", "GET /x HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n"},
                {"GET /x HTTP/1.1\r\nHost: c.d\r\n\r\n", "bad"},
                {"GET /x HTTP/1.1\r\n\r\n", "bad"},
                {"GET /x HTTP/1.0\r\n\r\n", "bad"},
                {"CONNECT /x HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
                {"GET http://c.d/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
                {"CONNECT c.d:80 HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"}};
    struct target within = {.tunnel = true, .port = 80};

    (void)state;
    assert_true(host_parse("a.b", 3, &within.host));
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = passed(rows[i].request, strlen(rows[i].request), &within);

        if (strcmp(text, rows[i].passed) != 0)
            fail_msg("%s: %s", rows[i].request, text);
        free(text);
    }
}

static bool is_request(const char *text)
{
    struct head head;

    return head_parse(text, strlen(text), HEAD_REQUEST, &head);
}

static void a_head_has_an_end(void **state)
{
    char *large = malloc(HEAD_MOST + 1);
    size_t seen = 0;
    static const char last[] = "\r\n\r\n";
    const size_t end_size = sizeof(last) - 1;

    (void)state;
    assert_non_null(large);
    memset(large, 'a', HEAD_MOST + 1);
    assert_int_equal(head_find_end(large, HEAD_MOST - 1, &seen), 0);
    assert_int_equal(head_find_end(large, HEAD_MOST, &seen), -1);
    /* one that comes at once, with its end */
    memcpy(large + HEAD_MOST + 1 - end_size, last, end_size);
    seen = 0;
    assert_int_equal(head_find_end(large, HEAD_MOST + 1, &seen), -1);
    memcpy(large + HEAD_MOST - end_size, last, end_size);
    seen = 0;
    assert_int_equal(head_find_end(large, HEAD_MOST, &seen), HEAD_MOST);
    free(large);
    /* byte by byte as at once */
    static const char request[] = "GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\nrest";

    seen = 0;
    for (size_t i = 1; i < sizeof(request) - 5; i++)
        assert_int_equal(head_find_end(request, i, &seen), 0);
    assert_int_equal(head_find_end(request, sizeof(request) - 5, &seen), sizeof(request) - 5);
    /* each of these two is refused by those who look for the end, and by those who read what stands before it */
    seen = 0;
    assert_int_equal(head_find_end("GET / HTTP/1.1\n", 15, &seen), -1);
    seen = 0;
    assert_int_equal(head_find_end("\n", 1, &seen), -1);
    seen = 0;
    assert_int_equal(head_find_end("GET /\0", 6, &seen), -1);
    assert_true(is_request("GET / HTTP/1.1\r\nX: y\r\n\r\n"));
    assert_false(is_request("GET / HTTP/1.1\nX: y\r\n\r\n"));
    assert_false(is_request("GET / HTTP/1.1\r\nX: y\rzZ: a\r\n\r\n"));
}

/* A head of so many fields. Is it read? */
static bool reads_fields(size_t count)
{
    char *text = calloc(1, 32 + count * 6);

    assert_non_null(text);
    strcpy(text, "GET / HTTP/1.1\r\n");
    for (size_t i = 0; i < count; i++)
        strcat(text, "X: y\r\n");
    strcat(text, "\r\n");
    const bool read = is_request(text);

    free(text);
    return read;
}

static void a_head_has_so_many_fields(void **state)
{
    (void)state;
    assert_true(reads_fields(HEAD_FIELDS));
    assert_false(reads_fields(HEAD_FIELDS + 1));
}

static void answers_are_read_strictly(void **state)
{
    static const struct {
        const char *answer;
        int status; /* 0: refused */
        enum framing framing;
        bool persists;
    } rows[] = {{"HTTP/1.1 200 OK\r\n\r\n", 200, FRAMING_UNTIL_END, true},
                {"HTTP/1.1 200\r\nContent-Length: 3\r\n\r\n", 200, FRAMING_LENGTH, true},
                {"HTTP/1.1 404 Not \xc3\xbc Found\r\nTransfer-Encoding: chunked\r\n\r\n", 404, FRAMING_CHUNKED, true},
                {"HTTP/1.0 200 OK\r\n\r\n", 200, FRAMING_UNTIL_END, false},
                {"HTTP/1.1 200 OK\r\nConnection: x, Close\r\n\r\n", 200, FRAMING_UNTIL_END, false},
                {"HTTP/1.1 599 x\r\nX: close\r\n\r\n", 599, FRAMING_UNTIL_END, true},
                {"HTTP/1.1 099 x\r\n\r\n", 0, FRAMING_NONE, false},
                {"HTTP/1.1 600 x\r\n\r\n", 0, FRAMING_NONE, false},
                {"HTTP/1.1 20 x\r\n\r\n", 0, FRAMING_NONE, false},
                {"HTTP/1.1 2000 x\r\n\r\n", 0, FRAMING_NONE, false},
                {"HTTP/1.1 2/0 x\r\n\r\n", 0, FRAMING_NONE, false},
                {"HTTP/1.1 2:0 x\r\n\r\n", 0, FRAMING_NONE, false},
                {"HTTP/1.1 200 \x01\r\n\r\n", 0, FRAMING_NONE, false},
                {"HTTP/1.1\r\n\r\n", 0, FRAMING_NONE, false},
                {"HTTP/2.0 200 OK\r\n\r\n", 0, FRAMING_NONE, false},
                {"ICY 200 OK\r\n\r\n", 0, FRAMING_NONE, false}};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct head head;
        enum framing framing;
        uint64_t length;
        const bool read = head_parse(rows[i].answer, strlen(rows[i].answer), HEAD_ANSWER, &head);

        if (read != (rows[i].status != 0))
            fail_msg("%s: %s", rows[i].answer, read ? "read" : "refused");
        if (!read)
            continue;
        assert_int_equal(head.status, rows[i].status);
        assert_true(head_framing(&head, HEAD_ANSWER, &framing, &length));
        assert_int_equal(framing, rows[i].framing);
        assert_int_equal(head_persists(&head, HEAD_ANSWER), rows[i].persists);
    }
}

/* What goes to the box: "Connection: close" behind the last final answer alone. */
static void answers_are_rewritten(void **state)
{
    static const char early[] = "HTTP/1.1 103 Early\r\nLink: x\r\nKeep-Alive: 5\r\n\r\n";
    static const char final[] = "HTTP/1.1 200 OK\r\nHost: x\r\n\r\n";
    char text[128] = "";
    struct head head;

    (void)state;
    assert_true(head_parse(early, sizeof(early) - 1, HEAD_ANSWER, &head));
    text[head_write_answer(&head, true, text, sizeof(text))] = '\0';
    assert_string_equal(text, "HTTP/1.1 103 Early\r\nLink: x\r\n\r\n");
    assert_true(head_parse(final, sizeof(final) - 1, HEAD_ANSWER, &head));
    text[head_write_answer(&head, true, text, sizeof(text))] = '\0';
    assert_string_equal(text, "HTTP/1.1 200 OK\r\nHost: x\r\nConnection: close\r\n\r\n");
    text[head_write_answer(&head, false, text, sizeof(text))] = '\0';
    assert_string_equal(text, final);
    assert_int_equal(head_write_answer(&head, false, text, sizeof(final) - 2), 0);
}

/* ---- bodies ---- */

static void bodies_end_where_they_say(void **state)
{
    static const struct {
        const char *bytes;
        long taken; /* -1: malformed; what follows the body is left */
        bool ended;
    } rows[] = {{"3\r\nabc\r\n0\r\n\r\nGET /", 13, true},
                {"3;x=y\r\nabc\r\n0\r\nT: v\r\n\r\nrest", 23, true},
                {"a\r\n0123456789\r\n0\r\n\r\n", 20, true},
                {"3\r\nab", 5, false},
                {"3\r\nabcX", -1, false},
                {"3\nabc", -1, false},
                {"\r\n", -1, false},
                {"-1\r\n", -1, false},
                {"0x3\r\n", -1, false},
                {"3 \r\nabc", -1, false},
                {"1000000000000000\r\n", -1, false},
                {"0\r\n\rX", -1, false},
                {"0;a\tb\r\n\r\n", 9, true},
                {"0;\x7f\r\n\r\n", -1, false},
                {"0;\x01\r\n\r\n", -1, false},
                {"0\r\nT: \x01\r\n\r\n", -1, false},
                {"0\r\nT\x01\r\n", -1, false},
                {"0\r\nT:\r\nU: v\r\n\r\n", 15, true},
                {"0\r\nGET / HTTP/1.1\r\n\r\n", -1, false},
                {"0\r\nT\r\n\r\n", -1, false},
                {"0\r\n: v\r\n\r\n", -1, false},
                {"0\r\nT : v\r\n\r\n", -1, false},
                {"0\r\nT: v\r\n folded\r\n\r\n", -1, false}};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct body body;
        const size_t length = strlen(rows[i].bytes);

        body_begin(&body, FRAMING_CHUNKED, 0);
        const long taken = body_take(&body, rows[i].bytes, length);

        if (taken != rows[i].taken || (taken >= 0 && body.ended != rows[i].ended))
            fail_msg("%s: %ld", rows[i].bytes, taken);
        /* byte by byte as at once */
        long sum = 0;

        body_begin(&body, FRAMING_CHUNKED, 0);
        for (size_t at = 0; at < length && sum >= 0; at++) {
            const long one = body_take(&body, rows[i].bytes + at, 1);

            sum = one < 0 ? -1 : sum + one;
        }
        assert_int_equal(sum, rows[i].taken);
    }
    struct body body;

    body_begin(&body, FRAMING_LENGTH, 4);
    assert_int_equal(body_take(&body, "abcdef", 6), 4);
    assert_true(body.ended);
    assert_int_equal(body_take(&body, "ef", 2), 0);
    body_begin(&body, FRAMING_LENGTH, 0);
    assert_true(body.ended);
    body_begin(&body, FRAMING_NONE, 0);
    assert_true(body.ended);
    assert_int_equal(body_take(&body, "ef", 2), 0);
    body_begin(&body, FRAMING_UNTIL_END, 0);
    assert_int_equal(body_take(&body, "ef", 2), 2);
}

/* What each byte of a chunked body is: data, of an extension, of a trailer, or what frames them. */
static void bodies_have_parts(void **state)
{
    static const char bytes[] = "3;x\r\nabc\r\n0\r\nT: v\r\n\r\n";
    static const char letters[] = {[BODY_DATA] = 'd', [BODY_FRAME] = 'f', [BODY_EXTENSION] = 'e', [BODY_TRAILER] = 't'};
    char parts[sizeof(bytes)] = "";
    struct body body;

    (void)state;
    body_begin(&body, FRAMING_CHUNKED, 0);
    for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
        enum body_part part;

        assert_int_equal(body_step(&body, bytes + i, 1, &part), 1);
        parts[i] = letters[part];
    }
    assert_string_equal(parts, "ffeffdddfffffttttffff");
    assert_true(body.ended);
}

/* An extension, the name of a trailer, its value. */
static void lines_of_bodies_have_a_bound(void **state)
{
    static const char *const beginnings[] = {"0;", "0\r\n", "0\r\nT:"};
    char line[8192];
    struct body body;

    (void)state;
    for (size_t i = 0; i < COUNT(beginnings); i++) {
        memset(line, 'x', sizeof(line));
        memcpy(line, beginnings[i], strlen(beginnings[i]));
        body_begin(&body, FRAMING_CHUNKED, 0);
        assert_int_equal(body_take(&body, line, 4000), 4000);
        assert_int_equal(body_take(&body, line + 4000, sizeof(line) - 4000), -1);
    }
}

/* ---- the ClientHello ---- */

/* A ClientHello in one record: the MIDDLE (session, ciphers, compressions), and the extensions. The length. */
static size_t make_hello_of(const unsigned char *middle, size_t middle_size, const unsigned char *extensions,
                            size_t size, unsigned char *record)
{
    const size_t message = 2 + 32 + middle_size + (size ? 2 + size : 0);
    unsigned char *at = record + 9;

    memcpy(record, "\x16\x03\x01", 3);
    record[3] = (unsigned char)((message + 4) >> 8), record[4] = (unsigned char)(message + 4);
    record[5] = 1, record[6] = 0, record[7] = (unsigned char)(message >> 8), record[8] = (unsigned char)message;
    memset(at, 3, 34);
    memcpy(at + 34, middle, middle_size);
    at += 34 + middle_size;
    if (size) {
        at[0] = (unsigned char)(size >> 8), at[1] = (unsigned char)size;
        memcpy(at + 2, extensions, size);
    }
    return 9 + message;
}

static size_t make_hello(const unsigned char *extensions, size_t size, unsigned char *record)
{
    return make_hello_of((const unsigned char *)"\x00\x00\x02\x13\x01\x01\x00", 7, extensions, size, record);
}

static void a_client_hello_names_its_server(void **state)
{
    /* the extension's length, the list's, the type, the name's */
    static const unsigned char one[] = "\x00\x00\x00\x08\x00\x06\x00\x00\x03"
                                       "a.b";
    static const unsigned char two[] = "\x00\x00\x00\x08\x00\x06\x00\x00\x03"
                                       "a.b\x00\x00\x00\x08\x00\x06\x00\x00\x03"
                                       "c.d";
    static const unsigned char two_names[] = "\x00\x00\x00\x0e\x00\x0c\x00\x00\x03"
                                             "a.b\x00\x00\x03"
                                             "c.d";
    static const unsigned char other[] = "\x00\x17\x00\x00";
    static const unsigned char odd_type[] = "\x00\x00\x00\x08\x00\x06\x01\x00\x03"
                                            "a.b";
    static const unsigned char beyond[] = "\x00\x00\x00\x08\x00\x06\x00\x00\x09"
                                          "a.b";
    static const unsigned char nul[] = "\x00\x00\x00\x08\x00\x06\x00\x00\x03"
                                       "a\x00"
                                       "b";
    static const unsigned char behind_list[] = "\x00\x00\x00\x09\x00\x06\x00\x00\x03"
                                               "a.b\x00";
    static const unsigned char no_name[] = "\x00\x00\x00\x05\x00\x03\x00\x00\x00";
    static const unsigned char no_list[] = "\x00\x00\x00\x00";
    static const struct {
        const unsigned char *extensions;
        size_t size;
        enum hello_result result;
        const char *name;
    } rows[] = {{one, sizeof(one) - 1, HELLO_FINE, "a.b"},
                {other, sizeof(other) - 1, HELLO_FINE, ""},
                {NULL, 0, HELLO_FINE, ""},
                {two, sizeof(two) - 1, HELLO_BAD, NULL},
                {two_names, sizeof(two_names) - 1, HELLO_BAD, NULL},
                {odd_type, sizeof(odd_type) - 1, HELLO_BAD, NULL},
                {beyond, sizeof(beyond) - 1, HELLO_BAD, NULL},
                {nul, sizeof(nul) - 1, HELLO_BAD, NULL},
                {behind_list, sizeof(behind_list) - 1, HELLO_BAD, NULL},
                {no_name, sizeof(no_name) - 1, HELLO_BAD, NULL},
                {no_list, sizeof(no_list) - 1, HELLO_BAD, NULL},
                {one, sizeof(one) - 2, HELLO_BAD, NULL}};
    unsigned char record[512];
    char name[HELLO_NAME_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const size_t length = make_hello(rows[i].extensions, rows[i].size, record);

        assert_int_equal(hello_parse(record, length, name), rows[i].result);
        if (rows[i].name)
            assert_string_equal(name, rows[i].name);
        for (size_t part = 0; part < length; part++)
            assert_int_equal(hello_parse(record, part, name), HELLO_MORE);
    }
    assert_int_equal(hello_parse((const unsigned char *)"GET / HTTP/1.1", 14, name), HELLO_BAD);
    assert_int_equal(hello_parse((const unsigned char *)"\x16\x02", 2, name), HELLO_BAD);
    assert_int_equal(hello_parse((const unsigned char *)"\x16\x03\x01\x00\x01\x02", 6, name), HELLO_BAD);
    assert_int_equal(hello_parse((const unsigned char *)"\x16\x03\x01\x00\x00", 5, name), HELLO_BAD);
    assert_int_equal(hello_parse((const unsigned char *)"\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9, name), HELLO_BAD);
}

static const unsigned char named[] = "\x00\x00\x00\x08\x00\x06\x00\x00\x03"
                                     "a.b";

/* What stands before the extensions. */
static void a_client_hello_offers_something(void **state)
{
    static const struct {
        const char *middle;
        size_t size;
        enum hello_result result;
    } rows[] = {
        {"\x01\x07\x00\x04\x13\x01\x13\x02\x02\x00\x01", 11, HELLO_FINE},
        {"\x00\x00\x00\x01\x00", 5, HELLO_BAD},             /* no cipher */
        {"\x00\x00\x03\x13\x01\x13\x01\x00", 8, HELLO_BAD}, /* half a cipher */
        {"\x00\x00\x02\x13\x01\x00", 6, HELLO_BAD},         /* no compression */
    };
    unsigned char record[512];
    char name[HELLO_NAME_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const size_t length =
            make_hello_of((const unsigned char *)rows[i].middle, rows[i].size, named, sizeof(named) - 1, record);

        if (hello_parse(record, length, name) != rows[i].result)
            fail_msg("row %zu", i);
    }
}

/* A message that is whole but shorter than what it says of its parts, and one that is longer. */
static void a_client_hello_is_as_long_as_it_says(void **state)
{
    enum { BEFORE_EXTENSIONS = 9 + 41 };
    unsigned char record[512];
    char name[HELLO_NAME_SIZE];
    const size_t length = make_hello(named, sizeof(named) - 1, record);

    (void)state;
    for (size_t cut = 10; cut < length; cut++) {
        record[4] = (unsigned char)(cut - 5);
        record[8] = (unsigned char)(cut - 9);
        if (hello_parse(record, cut, name) != (cut == BEFORE_EXTENSIONS ? HELLO_FINE : HELLO_BAD))
            fail_msg("%zu bytes", cut);
    }
    memset(record + length, 0, 4);
    record[4] = (unsigned char)(length + 4 - 5);
    record[8] = (unsigned char)(length + 4 - 9);
    assert_int_equal(hello_parse(record, length + 4, name), HELLO_BAD);
    /* one without extensions, behind which the record has some that are no part of it */
    make_hello(named, sizeof(named) - 1, record);
    record[8] = BEFORE_EXTENSIONS - 9;
    assert_int_equal(hello_parse(record, length, name), HELLO_BAD);
    make_hello(named, sizeof(named) - 1, record);
    record[0] = 0x17; /* application data */
    assert_int_equal(hello_parse(record, length, name), HELLO_BAD);
}

/* A ClientHello whose server's name has so many bytes. */
static enum hello_result parse_long_name(size_t name_length)
{
    unsigned char extension[512] = {0};
    unsigned char record[1024];
    char name[HELLO_NAME_SIZE];

    extension[2] = (unsigned char)((name_length + 5) >> 8), extension[3] = (unsigned char)(name_length + 5);
    extension[4] = (unsigned char)((name_length + 3) >> 8), extension[5] = (unsigned char)(name_length + 3);
    extension[7] = (unsigned char)(name_length >> 8), extension[8] = (unsigned char)name_length;
    memset(extension + 9, 'a', name_length);
    return hello_parse(record, make_hello(extension, 9 + name_length, record), name);
}

static void a_client_hello_has_a_bound(void **state)
{
    enum { FIRST = 1000 };
    unsigned char *record = calloc(1, FIRST + HELLO_MOST + 64);
    char name[HELLO_NAME_SIZE];

    (void)state;
    assert_int_equal(parse_long_name(HELLO_NAME_SIZE - 1), HELLO_FINE);
    assert_int_equal(parse_long_name(HELLO_NAME_SIZE), HELLO_BAD);
    assert_non_null(record);
    memcpy(record, "\x16\x03\x01\x40\x01\x01\x00\x3f\x00", 9);
    assert_int_equal(hello_parse(record, 9, name), HELLO_BAD); /* a record that is too large */
    memcpy(record, "\x16\x03\x01\x40\x00\x01\x00\x3f\xfd", 9);
    assert_int_equal(hello_parse(record, 9, name), HELLO_BAD); /* a message that is */
    memcpy(record, "\x16\x03\x01\x40\x00\x01\x00\x3f\xfc", 9);
    assert_int_equal(hello_parse(record, 9, name), HELLO_MORE);
    /* two records that are fine, and are too large together, though the message is not */
    memcpy(record, "\x16\x03\x01\x03\xe8\x01\x00\x3f\xf0", 9);
    memcpy(record + 5 + FIRST, "\x16\x03\x01\x40\x00", 5);
    assert_int_equal(hello_parse(record, 5 + FIRST + 5 + HELLO_MOST, name), HELLO_BAD);
    free(record);
}

/* The same message in records of one byte each, as some programs send it to slip past such readers. */
static void a_client_hello_in_many_records_is_one(void **state)
{
    static const unsigned char one[] = "\x00\x00\x00\x08\x00\x06\x00\x00\x03"
                                       "a.b";
    unsigned char record[512];
    unsigned char split[512 * 6];
    size_t used = 0;
    char name[HELLO_NAME_SIZE];
    const size_t length = make_hello(one, sizeof(one) - 1, record);

    (void)state;
    for (size_t i = 5; i < length; i++) {
        memcpy(split + used, "\x16\x03\x01\x00\x01", 5);
        split[used + 5] = record[i];
        used += 6;
    }
    assert_int_equal(hello_parse(split, used, name), HELLO_FINE);
    assert_string_equal(name, "a.b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_read_strictly),
        cmocka_unit_test(authorities_have_a_port),
        cmocka_unit_test(addresses_have_classes),
        cmocka_unit_test(destinations_are_decided),
        cmocka_unit_test(forbidden_addresses_must_be_listed_themselves),
        cmocka_unit_test(an_open_policy_keeps_what_is_always_closed),
        cmocka_unit_test(what_is_always_closed_is_listed),
        cmocka_unit_test(a_list_is_read_whole_or_not_at_all),
        cmocka_unit_test(requests_are_rewritten_or_refused),
        cmocka_unit_test(a_tunnel_to_port_80_has_one_host),
        cmocka_unit_test(a_head_has_an_end),
        cmocka_unit_test(a_head_has_so_many_fields),
        cmocka_unit_test(answers_are_read_strictly),
        cmocka_unit_test(answers_are_rewritten),
        cmocka_unit_test(bodies_end_where_they_say),
        cmocka_unit_test(bodies_have_parts),
        cmocka_unit_test(lines_of_bodies_have_a_bound),
        cmocka_unit_test(a_client_hello_names_its_server),
        cmocka_unit_test(a_client_hello_offers_something),
        cmocka_unit_test(a_client_hello_is_as_long_as_it_says),
        cmocka_unit_test(a_client_hello_has_a_bound),
        cmocka_unit_test(a_client_hello_in_many_records_is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
