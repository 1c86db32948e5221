/* Creations: what is asked for again, when it is looked up, and what is told in the end. */
#include <sandlot/sdk/creation.h>

#include "sdk_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8 };

/* What each asking comes to. */
struct step {
    enum sandlot_status status;
    enum creation_next next;
    int64_t wish_ms;
};

static struct test_call call;
static struct step steps[MOST];
static enum sandlot_status looked;
static bool there;
static int askings;
static int looks;

static enum sandlot_status ask(struct sandlot_call *inner, void *context, struct http_response *response,
                               enum creation_next *next)
{
    const struct step *step = &steps[askings++];

    assert_ptr_equal(context, steps);
    assert_int_equal(response->retry_ms, -1);
    assert_int_equal(*next, CREATION_OVER);
    response->retry_ms = step->wish_ms;
    *next = step->next;
    return step->status == SANDLOT_OK ? SANDLOT_OK : sandlot_fail(inner, step->status, "asking %d", askings);
}

static enum sandlot_status look_up(struct sandlot_call *inner, void *context, bool *found)
{
    (void)context;
    looks++;
    *found = there;
    return looked == SANDLOT_OK ? looked : sandlot_fail(inner, looked, "the look failed");
}

/* COUNT askings that come to FIRST; whatever follows goes well. */
static enum sandlot_status run(struct step first, int count, bool lingers)
{
    const struct creation creation = {.service = "Acme",
                                      .context = steps,
                                      .ask = ask,
                                      .look_up = look_up,
                                      .askings = 3,
                                      .longest_wish_ms = 5,
                                      .lingers = lingers};

    memset(steps, 0, sizeof(steps));
    for (int i = 0; i < count; i++)
        steps[i] = first;
    askings = looks = 0;
    return creation_run(&call.call, &creation);
}

static int set_up(void **state)
{
    (void)state;
    test_call_open(&call, 0);
    looked = SANDLOT_OK;
    there = false;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_call_close(&call);
    return 0;
}

static void check(enum sandlot_status got, enum sandlot_status wanted, int wanted_askings, int wanted_looks,
                  const char *message)
{
    assert_int_equal(got, wanted);
    assert_int_equal(askings, wanted_askings);
    assert_int_equal(looks, wanted_looks);
    assert_string_equal(call.message, message);
}

static void test_goes_well(void **state)
{
    (void)state;
    check(run((struct step){0}, 0, false), SANDLOT_OK, 1, 0, "");
    check(run((struct step){0}, 0, true), SANDLOT_OK, 1, 0, "");
}

static void test_refused(void **state)
{
    const struct step over = {SANDLOT_AUTH, CREATION_OVER, -1};
    const struct step busy = {SANDLOT_UNAVAILABLE, CREATION_REFUSED, 1};

    (void)state;
    check(run(busy, 2, false), SANDLOT_OK, 3, 0, "");
    check(run(busy, 3, false), SANDLOT_UNAVAILABLE, 3, 0, "asking 3");
    test_call_close(&call);
    set_up(NULL);
    check(run(over, 1, false), SANDLOT_AUTH, 1, 0, "asking 1");
}

/* Whoever wants to be left alone for longer than is granted is not asked again; but it is looked what there is. */
static void test_wishes(void **state)
{
    (void)state;
    check(run((struct step){SANDLOT_UNAVAILABLE, CREATION_UNCLEAR, 6}, 1, false), SANDLOT_UNAVAILABLE, 1, 1,
          "asking 1");
}

/* Another request is no further asking. */
static void test_changed(void **state)
{
    (void)state;
    check(run((struct step){SANDLOT_INVALID_ARGUMENT, CREATION_CHANGED, -1}, 5, false), SANDLOT_OK, 6, 0, "");
}

static void test_unclear(void **state)
{
    const struct step lost = {SANDLOT_UNAVAILABLE, CREATION_UNCLEAR, -1};

    (void)state;
    check(run(lost, 1, true), SANDLOT_OK, 2, 1, "");
    there = true;
    check(run(lost, 2, false), SANDLOT_OK, 1, 1, "");
    there = false;
    looked = SANDLOT_INTERNAL; /* there may be one: so none is asked for */
    check(run(lost, 2, false), SANDLOT_UNAVAILABLE, 1, 1, "asking 1");
    test_call_close(&call);
    set_up(NULL);
    check(run(lost, 3, false), SANDLOT_UNAVAILABLE, 3, 3, "asking 3"); /* after the last one, too */
}

/* Nothing is looked up for a call that is over: that is the host's. */
static void test_cancelled(void **state)
{
    (void)state;
    check(run((struct step){SANDLOT_CANCELLED, CREATION_UNCLEAR, -1}, 1, true), SANDLOT_CANCELLED, 1, 0, "asking 1");
    test_call_close(&call);
    set_up(NULL);
    test_call_cancel(&call);
    check(run((struct step){SANDLOT_UNAVAILABLE, CREATION_REFUSED, -1}, 1, false), SANDLOT_CANCELLED, 1, 0,
          "cancelled while waiting for Acme");
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {EACH(test_goes_well), EACH(test_refused), EACH(test_wishes),
                                       EACH(test_changed),   EACH(test_unclear), EACH(test_cancelled)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
