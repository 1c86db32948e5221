/* A network policy as vendors write it, and what they cannot hold. */
#include <sandlot/sdk/network.h>

#include "sdk_support.h"

#include <sandlot/sdk/cleanup.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct sandlot_network_entry entries[] = {
    {SANDLOT_NETWORK_HOST, "a.example", 0},     {SANDLOT_NETWORK_BELOW, "b.example", 0},
    {SANDLOT_NETWORK_CIDR, "10.0.0.0/8", 0},    {SANDLOT_NETWORK_HOST, "c.example", 8443},
    {SANDLOT_NETWORK_CIDR, "2001:db8::/32", 0}, {SANDLOT_NETWORK_CIDR, "2001:db8::1/128", 5432}};
static const struct sandlot_network_credential credentials[] = {{"a.example", "A", "one", NULL, NULL, false},
                                                                {"d.example", "B", "two", NULL, NULL, false},
                                                                {"a.example", "C", "three", NULL, NULL, false}};

/* The first COUNT entries, and all credentials. */
static struct sandlot_network policy_of(size_t count)
{
    return (struct sandlot_network){.size = sizeof(struct sandlot_network),
                                    .mode = SANDLOT_NETWORK_ALLOW,
                                    .entries = entries,
                                    .entry_count = count,
                                    .credentials = credentials,
                                    .credential_count = 3};
}

/* MESSAGE: what LIMITS say to NETWORK; NULL: nothing. */
static void check(const struct network_limits *limits, const struct sandlot_network *network, const char *message)
{
    struct test_call call;

    test_call_open(&call, 0);
    assert_int_equal(network_check(&call.call, limits, network), message ? SANDLOT_UNSUPPORTED : SANDLOT_OK);
    if (message)
        assert_string_equal(call.message, message);
    test_call_close(&call);
}

static void test_asked(void **state)
{
    const struct sandlot_network network = policy_of(1);
    const struct sandlot_create asked = {.size = sizeof(asked), .network = &network};
    const struct sandlot_create old = {.size = offsetof(struct sandlot_create, network), .network = &network};

    (void)state;
    assert_ptr_equal(network_asked(&asked), &network);
    assert_null(network_asked(&old));
}

static void test_written(void **state)
{
    const struct sandlot_network network = policy_of(3);
    struct json_builder body = {0};

    (void)state;
    network_add(&body, "egress.names", &network, NETWORK_NAMES);
    network_add(&body, "egress.all", &network, NETWORK_ALL);
    AUTO_FREE char *text = json_finish(&body, NULL);
    AUTO_FREE char *names = network_join(&network, NETWORK_NAMES, ',');
    AUTO_FREE char *nothing = network_join(&(struct sandlot_network){0}, NETWORK_ALL, ',');

    assert_string_equal(text, "{\"egress\":{\"names\":[\"a.example\",\"*.b.example\"],"
                              "\"all\":[\"a.example\",\"*.b.example\",\"10.0.0.0/8\"]}}");
    assert_string_equal(names, "a.example,*.b.example");
    assert_string_equal(nothing, "");
    assert_int_equal(network_count(&network, NETWORK_CIDRS), 1);
}

static void test_nothing_written(void **state)
{
    struct json_builder body = {0};

    (void)state;
    network_add(&body, "allow", &(struct sandlot_network){0}, NETWORK_ALL);
    AUTO_FREE char *text = json_finish(&body, NULL);

    assert_string_equal(text, "{\"allow\":[]}");
}

static void test_limits(void **state)
{
    const struct sandlot_network all = policy_of(6);
    const struct sandlot_network some = policy_of(3);
    const struct sandlot_network off = {.mode = SANDLOT_NETWORK_OFF};

    (void)state;
    check(&(struct network_limits){.service = "Acme"}, NULL, NULL);
    check(&(struct network_limits){.service = "Acme"}, &off, NULL);
    check(&(struct network_limits){.service = "Acme", .never_off = "lets names out"}, &some, NULL);
    check(&(struct network_limits){.service = "Acme", .never_off = "lets names out"}, &off,
          "Acme lets names out; allow the hosts that it needs");
    check(&(struct network_limits){.service = "Acme", .no_ports = true, .no_ipv6 = true}, &some, NULL);
    check(&(struct network_limits){.service = "Acme", .most_names = 2, .most_networks = 1}, &some, NULL);
    check(&(struct network_limits){.service = "Acme", .no_ipv6 = true}, &all,
          "Acme cannot hold 2001:db8::/32, [2001:db8::1/128]:5432: there only IPv4 is known to hold; leave it out");
    check(&(struct network_limits){.service = "Acme", .no_ports = true}, &all,
          "Acme cannot hold c.example:8443, [2001:db8::1/128]:5432: it cannot open one port alone; leave the port out, "
          "which opens what the host has");
    check(&(struct network_limits){.service = "Acme", .most_names = 1}, &all,
          "Acme holds no more than 1 of the 3 names that were asked for; *.b.example is the first that is too much");
    check(&(struct network_limits){.service = "Acme", .most_networks = 2}, &all,
          "Acme holds no more than 2 of the 3 addresses and networks that were asked for; 2001:db8::1/128 is the first "
          "that is too much");
}

static void test_many_names(void **state)
{
    struct sandlot_network_entry many[10];
    const struct sandlot_network network = {.entries = many, .entry_count = 10};

    (void)state;
    for (size_t i = 0; i < 10; i++)
        many[i] = (struct sandlot_network_entry){SANDLOT_NETWORK_HOST, "x", 1};
    check(
        &(struct network_limits){.service = "Acme", .no_ports = true}, &network,
        "Acme cannot hold x:1, x:1, x:1, x:1, x:1, x:1, x:1, x:1 and 2 more: it cannot open one port alone; leave the "
        "port out, which opens what the host has");
}

static void test_credentials(void **state)
{
    struct sandlot_network network = policy_of(1);
    const struct sandlot_network below = policy_of(2); /* of which the second entry is *.b.example */
    struct sandlot_network_credential odd[] = {{"a.example", "A", "secret", NULL, NULL, true}};

    (void)state;
    assert_true(network_begins_host(&network, 0) && network_begins_host(&network, 1));
    assert_false(network_begins_host(&network, 2));
    assert_true(network_lists(&network, "a.example"));
    assert_false(network_lists(&network, "d.example"));
    assert_false(network_lists(&below, "b.example"));
    AUTO_DOCUMENT struct json_object *headers = network_headers(&network, "a.example");

    assert_string_equal(json_object_to_json_string_ext(headers, JSON_C_TO_STRING_PLAIN),
                        "{\"A\":\"one\",\"C\":\"three\"}");
    check(&(struct network_limits){.service = "Acme", .most_credential_hosts = 2}, &network, NULL);
    check(&(struct network_limits){.service = "Acme", .most_credential_hosts = 1}, &network,
          "Acme holds credentials for no more than 1 of the hosts; d.example is the first that is too much");
    network.trusted_file = "/etc/corp.pem";
    check(&(struct network_limits){.service = "Acme"}, &network,
          "Acme takes no authorities of your own for the credential for a.example; leave upstream_ca out");
    network = (struct sandlot_network){.credentials = odd, .credential_count = 1};
    check(
        &(struct network_limits){.service = "Acme"}, &network,
        "Acme sets the header of a credential by itself, over TLS alone: leave `plain` of the credential for a.example "
        "out");
    odd[0].plain = false;
    odd[0].placeholder_name = "TOKEN";
    check(&(struct network_limits){.service = "Acme"}, &network,
          "Acme sets the header of a credential by itself, over TLS alone: leave `placeholder` of the credential for "
          "a.example out");
}

static void test_excluded(void **state)
{
    const struct sandlot_network network = policy_of(1);
    const struct sandlot_create asked = {.size = sizeof(asked), .network = &network};
    const struct sandlot_create silent = {.size = sizeof(silent)};
    struct test_call call;

    (void)state;
    test_call_open(&call, 0);
    assert_int_equal(network_exclude(&call.call, NULL, "wall", true), SANDLOT_OK);
    assert_int_equal(network_exclude(&call.call, &network, "wall", false), SANDLOT_OK);
    assert_int_equal(network_exclude(&call.call, &network, "wall", true), SANDLOT_INVALID_ARGUMENT);
    assert_non_null(strstr(call.message, "the parameter wall and a network policy"));
    test_call_close(&call);
    test_call_open(&call, 0);
    assert_int_equal(network_refuse_fork(&call.call, "Acme", &silent), SANDLOT_OK);
    assert_int_equal(network_refuse_fork(&call.call, "Acme", &asked), SANDLOT_UNSUPPORTED);
    assert_non_null(strstr(call.message, "Acme takes no network policy for a fork"));
    test_call_close(&call);
    test_call_open(&call, 0);
    assert_int_equal(network_refuse_change(&call.call, "Acme", false), SANDLOT_OK);
    assert_int_equal(network_refuse_change(&call.call, "Acme", true), SANDLOT_UNSUPPORTED);
    assert_non_null(strstr(call.message, "Acme would forget the credentials"));
    test_call_close(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_asked),           cmocka_unit_test(test_written),
                                       cmocka_unit_test(test_nothing_written), cmocka_unit_test(test_limits),
                                       cmocka_unit_test(test_many_names),      cmocka_unit_test(test_credentials),
                                       cmocka_unit_test(test_excluded)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
