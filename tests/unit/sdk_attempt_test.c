/* Calls within calls. */
#include <sandlot/sdk/attempt.h>

#include "sdk_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct test_call call;

static int set_up(void **state)
{
    (void)state;
    test_call_open(&call, 60000);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_call_close(&call);
    return 0;
}

static void test_message_is_kept(void **state)
{
    struct attempt attempt;

    (void)state;
    attempt_begin(&attempt, &call.call, 0);
    assert_int_equal(sandlot_fail(&attempt.call, SANDLOT_UNAVAILABLE, "the first %s", "way"), SANDLOT_UNAVAILABLE);
    sandlot_fail(&attempt.call, SANDLOT_INTERNAL, "a second thought");
    assert_int_equal(call.status, SANDLOT_OK);
    assert_string_equal(attempt.reason, "the first way");
    assert_int_equal(attempt_fail(&attempt, SANDLOT_UNAVAILABLE), SANDLOT_UNAVAILABLE);
    assert_int_equal(call.status, SANDLOT_UNAVAILABLE);
    assert_string_equal(call.message, "the first way");
}

static void test_no_message(void **state)
{
    struct attempt attempt;

    (void)state;
    attempt_begin(&attempt, &call.call, 0);
    attempt_fail(&attempt, SANDLOT_INTERNAL);
    assert_true(*call.message);
}

static struct sandlot_call *told; /* whose progress and creation it was */
static int times;

static void on_progress(struct sandlot_call *own, const char *what, uint64_t done, uint64_t total)
{
    (void)what, (void)done, (void)total;
    told = own;
    times++;
}

static void on_created(struct sandlot_call *own, const char *id, const char *working_dir)
{
    assert_string_equal(id, "id");
    assert_null(working_dir);
    told = own;
    times++;
}

static void test_services_are_passed_on(void **state)
{
    static const struct variable variables[] = {{"ACME_API_KEY", "k"}, {NULL, NULL}};
    struct attempt attempt;

    (void)state;
    call.variables = variables;
    call.host.progress = on_progress;
    call.host.created = on_created;
    attempt_begin(&attempt, &call.call, 0);
    attempt.call.host->log(&attempt.call, SANDLOT_LOG_DEBUG, "a line");
    attempt.call.host->progress(&attempt.call, "waiting", 1, 2);
    attempt.call.host->created(&attempt.call, "id", NULL);
    assert_int_equal(times, 2);
    assert_ptr_equal(told, &call.call);
    assert_non_null(strstr(call.log, "a line"));
    assert_string_equal(attempt.call.host->environment(&attempt.call, "ACME_API_KEY"), "k");
}

static void test_time(void **state)
{
    struct attempt attempt;

    (void)state;
    attempt_begin(&attempt, &call.call, 0);
    assert_true(attempt.call.deadline_ms == call.call.deadline_ms);
    attempt_begin(&attempt, &call.call, 100);
    assert_in_range(sandlot_remaining_ms(&attempt.call, 1000), 1, 100);
    attempt_begin(&attempt, &call.call, 120000);
    assert_true(attempt.call.deadline_ms == call.call.deadline_ms);
}

static void test_a_deadline_that_moves(void **state)
{
    struct attempt first;
    struct attempt second;
    struct attempt limited;

    (void)state;
    call.call.deadline_ms = 1000;
    attempt_begin(&first, &call.call, 0);
    attempt_begin(&second, &first.call, 0);
    attempt_begin_urgent(&limited, &first.call, 100);
    int64_t limit_ms = limited.call.deadline_ms;

    call.call.deadline_ms = 2000;
    assert_int_equal(attempt_deadline(&second.call), 2000);
    first.call.deadline_ms = 1500;
    assert_int_equal(attempt_deadline(&second.call), 1500);
    assert_int_equal(attempt_deadline(&limited.call), limit_ms);
    attempt_begin(&limited, &second.call, 0);
    assert_int_equal(limited.call.deadline_ms, 1500);
}

static void test_urgent(void **state)
{
    struct attempt attempt;

    (void)state;
    test_call_cancel(&call);
    attempt_begin(&attempt, &call.call, 0);
    assert_true(sandlot_cancelled(&attempt.call));
    call.call.deadline_ms = 1;
    int64_t begin = sandlot_now_ms();

    attempt_begin_urgent(&attempt, &call.call, 900);
    assert_false(sandlot_cancelled(&attempt.call));
    assert_in_range(attempt.call.deadline_ms, begin + 900, sandlot_now_ms() + 900);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {EACH(test_message_is_kept),        EACH(test_no_message),
                                       EACH(test_services_are_passed_on), EACH(test_time),
                                       EACH(test_a_deadline_that_moves),  EACH(test_urgent)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
