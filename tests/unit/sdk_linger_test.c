/* Calls that outlast their own end by a moment. */
#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/linger.h>
#include <sandlot/sdk/pause.h>

#include "sdk_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOMENT_MS = 800, LONG_MS = 60000 };

static struct test_call call;
static struct attempt attempt;
static struct linger linger;

static void begin(void)
{
    test_call_open(&call, LONG_MS);
    attempt_begin(&attempt, &call.call, 0);
    linger_begin(&linger, &attempt.call);
}

static void end(void)
{
    linger_end(&linger);
    test_call_close(&call);
}

static void test_nobody_cancels(void **state)
{
    (void)state;
    begin();
    assert_false(sandlot_cancelled(&attempt.call));
    assert_true(pause_for(&attempt.call, 10));
    assert_int_equal(attempt.call.deadline_ms, call.call.deadline_ms + MOMENT_MS);
    end();
}

static void test_cancelled_late(void **state)
{
    (void)state;
    begin();
    int64_t begun_ms = sandlot_now_ms();

    test_call_cancel(&call);
    assert_true(sandlot_cancelled(&call.call));
    assert_false(pause_for(&attempt.call, LONG_MS));
    assert_true(sandlot_now_ms() - begun_ms >= MOMENT_MS - 1);
    end();
}

/* What has been heard meanwhile is not waited for. */
static void test_ended_between(void **state)
{
    (void)state;
    begin();
    test_call_cancel(&call);
    end();
}

static void test_without_cancellation(void **state)
{
    (void)state;
    test_call_open(&call, 0);
    call.call.cancel_fd = -1;
    attempt_begin(&attempt, &call.call, 0);
    linger_begin(&linger, &attempt.call);
    assert_int_equal(attempt.call.cancel_fd, -1);
    assert_int_equal(attempt.call.deadline_ms, 0);
    linger_end(&linger);
    test_call_close(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nobody_cancels), cmocka_unit_test(test_cancelled_late),
                                       cmocka_unit_test(test_ended_between),
                                       cmocka_unit_test(test_without_cancellation)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
