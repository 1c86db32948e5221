/* Pauses: how long they last, and what ends them. */
#include <sandlot/sdk/pause.h>

#include "sdk_support.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/time.h>

#include <cmocka.h>

static int signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

/* A signal every 5 ms, whose handler does not restart what it interrupts. */
static void begin_signals(void)
{
    const struct sigaction action = {.sa_handler = count_signal};
    const struct itimerval often = {{0, 5000}, {0, 5000}};

    signals = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

static void end_signals(void)
{
    const struct itimerval never = {{0, 0}, {0, 0}};

    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_DFL);
}

static void test_lasts(void **state)
{
    struct test_call call;

    (void)state;
    test_call_open(&call, 0);
    begin_signals();
    int64_t begun_ms = sandlot_now_ms();
    bool on = pause_for(&call.call, 60);
    int64_t took_ms = sandlot_now_ms() - begun_ms;

    end_signals();
    assert_true(on);
    assert_true(took_ms >= 60);
    assert_true(signals > 0);
    assert_true(pause_for(&call.call, 0));
    assert_true(pause_for(&call.call, -5));
    test_call_close(&call);
}

static void test_ends_with_the_call(void **state)
{
    struct test_call call;
    int pause_ms = 60000;

    (void)state;
    test_call_open(&call, 30);
    assert_false(pause_for(&call.call, 60000));
    assert_int_equal(call.status, SANDLOT_OK);
    assert_int_equal(pause_longer(&call.call, "Acme", &pause_ms, 60000), SANDLOT_TIMEOUT);
    assert_string_equal(call.message, "Acme was not done in time; try again, or allow more time");
    test_call_close(&call);

    test_call_open(&call, 0);
    test_call_cancel(&call);
    assert_false(pause_for(&call.call, 60000));
    assert_false(pause_for(&call.call, 0));
    assert_int_equal(pause_longer(&call.call, "Acme", &pause_ms, 60000), SANDLOT_CANCELLED);
    assert_string_equal(call.message, "cancelled while waiting for Acme");
    test_call_close(&call);
}

static void test_grows(void **state)
{
    static const int wanted[] = {2, 4, 7, 10, 10};
    struct test_call call;
    int pause_ms = 1;

    (void)state;
    test_call_open(&call, 0);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        assert_int_equal(pause_longer(&call.call, "Acme", &pause_ms, 10), SANDLOT_OK);
        assert_int_equal(pause_ms, wanted[i]);
    }
    test_call_close(&call);
}

static void test_locks(void **state)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct test_call call;

    (void)state;
    test_call_open(&call, 30);
    assert_true(pause_until_locked(&call.call, &mutex));
    assert_false(pause_until_locked(&call.call, &mutex)); /* it is taken */
    assert_int_equal(call.status, SANDLOT_OK);
    pthread_mutex_unlock(&mutex);
    assert_true(pause_until_locked(&call.call, &mutex)); /* the call is over, but nobody has to be waited for */
    test_call_close(&call);

    test_call_open(&call, 0);
    test_call_cancel(&call);
    assert_false(pause_until_locked(&call.call, &mutex));
    pthread_mutex_unlock(&mutex);
    pthread_mutex_destroy(&mutex);
    test_call_close(&call);
}

static void test_again(void **state)
{
    struct pause few = {.service = "Acme", .first_ms = 1, .longest_ms = 1, .looks = 3};
    struct pause brief = {.service = "Acme", .first_ms = 20, .limit_ms = 10};
    struct pause over = {.service = "Acme", .first_ms = 1};
    enum sandlot_status status = SANDLOT_UNAVAILABLE;
    struct test_call call;

    (void)state;
    test_call_open(&call, 0);
    assert_true(pause_again(&call.call, &few, &status)); /* with three looks there are two pauses */
    assert_true(pause_again(&call.call, &few, &status));
    assert_false(pause_again(&call.call, &few, &status));
    assert_true(pause_again(&call.call, &brief, &status)); /* the limit counts from here */
    assert_false(pause_again(&call.call, &brief, &status));
    assert_int_equal(status, SANDLOT_UNAVAILABLE); /* as it was */
    assert_int_equal(call.status, SANDLOT_OK);
    test_call_cancel(&call);
    assert_false(pause_again(&call.call, &over, &status));
    assert_int_equal(status, SANDLOT_CANCELLED);
    assert_string_equal(call.message, "cancelled while waiting for Acme");
    test_call_close(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lasts), cmocka_unit_test(test_ends_with_the_call),
        cmocka_unit_test(test_locks), cmocka_unit_test(test_grows),
        cmocka_unit_test(test_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
