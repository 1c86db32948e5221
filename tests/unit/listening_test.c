/* What is told of ports: the kernel's table as a sandbox shows it, and sockets that listen here. */
#include "base/cleanup.h"
#include "operations/listener.h"
#include "operations/listening.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static const char four[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:1435 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0\n"
    "   1: 00000000:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 100 0 0 10 0\n"
    "   2: 0100007F:0BB8 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 20 4 30 10 -1\n"
    "   3: 0100007F:1F90 0100007F:9C42 06 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 20 4 30 10 -1\n"
    "   4: 0100007F:0C38 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4 1 0 100 0 0 10 0\n";
static const char six[] =
    "   0: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A 00000000:00000000\n"
    "   1: 00000000000000000000000000000000:0BB8 00000000000000000000000000000000:0000 0A 00000000:00000000";

static void assert_text(const struct listening *listening, const char *wanted)
{
    AUTO_FREE char *text = listening_text(listening);

    assert_string_equal(text, wanted);
}

static void test_tables(void **state)
{
    struct listening listening = {0};

    (void)state;
    assert_text(&listening, "no other port has a server either");
    listening_add(&listening, six);
    assert_text(&listening, "22 and 3000 do");
    listening_add(&listening,
                  four); /* once each; what is connected or closing does not listen; nor a box's own proxy */
    assert_text(&listening, "22, 3000 and 5173 do");
    assert_true(listening_has(&listening, 5173));
    assert_false(listening_has(&listening, 8080));
    assert_false(listening_has(&listening, 3128));
}

/* The table is the sandbox's word. */
static void test_forged_tables(void **state)
{
    struct listening listening = {0};
    char line[64];

    (void)state;
    listening_add(&listening, "");
    listening_add(&listening, "\n\n: 0A\n 0: :1234 : 0A\n 0: 00000000:00000 00000000:0000 0A\n9999999999: 0:0 0:0 0A");
    listening_add(&listening, " 0: 0000000000000000000000000000000000000000000:1234 0:0 0A\n 1: 00000000:12");
    assert_int_equal(listening.count, 0);
    for (unsigned port = 60000; port > 0; port--) {
        snprintf(line, sizeof(line), "   1: 00000000:%04X 00000000:0000 0A", port);
        listening_add(&listening, line);
    }
    assert_int_equal(listening.count, LISTENING_MOST);
    for (size_t i = 1; i < listening.count; i++)
        assert_true(listening.ports[i - 1] < listening.ports[i]);
    AUTO_FREE char *text = listening_text(&listening);

    assert_non_null(strstr(text, " and more do"));
}

static uint16_t port_of(int fd)
{
    struct sockaddr_in6 where;
    socklen_t length = sizeof(where);

    assert_int_equal(getsockname(fd, (struct sockaddr *)&where, &length), 0);
    return ntohs(where.sin6_port); /* where the other family has it too */
}

static void test_both_loopbacks(void **state)
{
    struct listener listener;
    struct listener again;
    struct sandlot_error error = {0};

    (void)state;
    assert_int_equal(listener_open(&listener, NULL, 0, &error), 0);
    assert_true(listener.port > 0);
    assert_int_equal(port_of(listener.fds[0]), listener.port);
    if (listener.fds[1] >= 0)
        assert_int_equal(port_of(listener.fds[1]), listener.port);
    assert_int_equal(listener_open(&again, NULL, listener.port, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_CONFLICT);
    listener_close(&again);
    listener_close(&listener);
    sandlot_error_clear(&error);
}

static void test_addresses(void **state)
{
    static const char *const wrong[] = {"localhost", "", "127.0.0.1:80", "198.51.100.77", "/tmp"};
    struct listener listener;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sandlot_error error = {0};

        assert_int_equal(listener_open(&listener, wrong[i], 0, &error), -1);
        assert_int_equal(error.code, SANDLOT_CODE_USAGE);
        listener_close(&listener);
        sandlot_error_clear(&error);
    }
    assert_int_equal(listener_open(&listener, "127.0.0.2", 0, NULL), 0);
    assert_int_equal(listener.fds[1], -1);
    listener_close(&listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_forged_tables),
        cmocka_unit_test(test_both_loopbacks),
        cmocka_unit_test(test_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
