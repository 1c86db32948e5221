/* One client for each address. */
#include <sandlot/sdk/clients.h>

#include "failing_allocator.h"
#include "sdk_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int opened;
static int closed;
static enum sandlot_status answer;
static struct test_call call;

/* A client is its address. */
static enum sandlot_status open_text(struct sandlot_call *own, void *context, const char *address, void **client)
{
    assert_ptr_equal(context, &opened);
    if (answer != SANDLOT_OK)
        return sandlot_fail(own, answer, "it cannot be opened");
    opened++;
    *client = strdup(address);
    return *client ? SANDLOT_OK : sandlot_fail(own, SANDLOT_INTERNAL, "no memory");
}

static void close_text(void *client)
{
    closed++;
    free(client);
}

static int set_up(void **state)
{
    (void)state;
    opened = closed = 0;
    answer = SANDLOT_OK;
    test_call_open(&call, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_call_close(&call);
    return 0;
}

static void test_addresses(void **state)
{
    struct clients clients;
    const char *one;
    const char *again;
    const char *other;

    (void)state;
    clients_init(&clients, &opened, open_text, close_text);
    assert_int_equal(clients_get(&call.call, &clients, "https://a/x/", &one), SANDLOT_OK);
    assert_string_equal(one, "https://a/x");
    assert_int_equal(clients_get(&call.call, &clients, "https://a/x", &again), SANDLOT_OK);
    assert_ptr_equal(one, again);
    assert_int_equal(clients_get(&call.call, &clients, "https://a", &other), SANDLOT_OK);
    assert_string_equal(other, "https://a");
    assert_int_equal(clients_get(&call.call, &clients, "https://a/xy", &other), SANDLOT_OK);
    assert_string_equal(other, "https://a/xy");
    assert_int_equal(opened, 3);
    clients_clear(&clients);
    assert_int_equal(closed, 3);
}

/* What could not be opened is tried again the next time. */
static void test_failure(void **state)
{
    struct clients clients;
    const char *client = "none";

    (void)state;
    clients_init(&clients, &opened, open_text, close_text);
    answer = SANDLOT_AUTH;
    assert_int_equal(clients_get(&call.call, &clients, "a", &client), SANDLOT_AUTH);
    assert_null(client);
    assert_string_equal(call.message, "it cannot be opened");
    answer = SANDLOT_OK;
    assert_int_equal(clients_get(&call.call, &clients, "a", &client), SANDLOT_OK);
    assert_string_equal(client, "a");
    clients_clear(&clients);
    assert_int_equal(closed, 1);
}

static void test_no_memory(void **state)
{
    (void)state;
    if (!ALLOCATOR_REPLACED)
        skip();
    for (long at = 0; at < 2; at++) {
        struct clients clients;
        const char *client;

        clients_init(&clients, &opened, open_text, close_text);
        atomic_store(&countdown, at);
        enum sandlot_status status = clients_get(&call.call, &clients, "a", &client);

        atomic_store(&countdown, -1);
        assert_int_equal(status, SANDLOT_INTERNAL);
        assert_null(client);
        assert_true(*call.message);
        clients_clear(&clients);
        assert_int_equal(closed, 0);
    }
}

static void test_safety(void **state)
{
    (void)state;
    assert_true(clients_are_as_safe("https://a", "https://b"));
    assert_true(clients_are_as_safe("http://a", "HTTPS://b"));
    assert_true(clients_are_as_safe("http://a", "http://b"));
    assert_false(clients_are_as_safe("https://a", "http://b"));
    assert_false(clients_are_as_safe("http://a", "ftp://b"));
    assert_false(clients_are_as_safe("http://a", ""));
}

static enum sandlot_status open_one(struct sandlot_call *own, void *context)
{
    struct http_client **one = context;
    static int times;

    assert_ptr_equal(own, &call.call);
    if (times++ == 0)
        return SANDLOT_AUTH;
    assert_int_equal(times, 2); /* never again once it is there */
    *one = (struct http_client *)&times;
    return SANDLOT_OK;
}

static void test_once(void **state)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct http_client *one = NULL;

    (void)state;
    assert_int_equal(clients_open_once(&call.call, &lock, &one, open_one, &one), SANDLOT_AUTH);
    assert_null(one);
    assert_int_equal(clients_open_once(&call.call, &lock, &one, open_one, &one), SANDLOT_OK);
    assert_non_null(one);
    assert_int_equal(clients_open_once(&call.call, &lock, &one, open_one, &one), SANDLOT_OK);
    assert_int_equal(pthread_mutex_trylock(&lock), 0);
    pthread_mutex_unlock(&lock);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {EACH(test_addresses), EACH(test_failure), EACH(test_no_memory), EACH(test_once),
                                       cmocka_unit_test(test_safety)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
