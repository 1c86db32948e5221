/* Times as services write them. */
#include <sandlot/provider.h>
#include <sandlot/sdk/timestamp.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void reads_times(void **state)
{
    (void)state;
    assert_int_equal(timestamp_read("1970-01-01T00:00:01Z"), 1000);
    assert_int_equal(timestamp_read("2026-01-02T03:04:05.000Z"), 1767323045000);
    assert_int_equal(timestamp_read("2026-01-02T03:04:05.6789Z"), 1767323045678);
    assert_int_equal(timestamp_read("2026-01-02 03:04:05.7"), 1767323045700);
    assert_int_equal(timestamp_read("2026-01-02T04:04:05+01:00"), 1767323045000);
    assert_int_equal(timestamp_read("2026-01-01T21:34:05.001-0530"), 1767323045001);
}

static void refuses_others(void **state)
{
    static const char *const texts[] = {"",
                                        "yesterday",
                                        "2026-01-02",
                                        "2026-01-02T03:04",
                                        "2026-01-02T03:04:05 o'clock",
                                        "2026-01-02T03:04:05+1",
                                        "2026-01-02T03:04:05+01:000",
                                        "1767323045"};

    (void)state;
    assert_int_equal(timestamp_read(NULL), 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_int_equal(timestamp_read(texts[i]), 0);
}

static void knows_our_clock(void **state)
{
    const int64_t before_ms = sandlot_now_ms();
    const int64_t at_ms = timestamp_on_our_clock(timestamp_now() + 60000);

    (void)state;
    assert_true(timestamp_now() > timestamp_read("2024-01-01T00:00:00Z"));
    assert_true(at_ms >= before_ms + 60000 - 2 && at_ms <= sandlot_now_ms() + 60000 + 2); /* all are rounded */
}

static int64_t slept_ms;

/* As if this machine had slept: only one of its clocks stood still. */
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the names are reserved ones
int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (syscall(SYS_clock_gettime, clock, now) != 0)
        return -1;
    if (clock != CLOCK_MONOTONIC)
        now->tv_sec += slept_ms / 1000;
    return 0;
}

static void knows_of_sleep(void **state)
{
    const int64_t end_ms = timestamp_steady(timestamp_now() + 60000);

    (void)state;
    assert_true(end_ms - timestamp_steady_now() > 0);
    slept_ms = 60000;
    assert_true(end_ms - timestamp_steady_now() <= 0);
    slept_ms = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_times),
        cmocka_unit_test(refuses_others),
        cmocka_unit_test(knows_our_clock),
        cmocka_unit_test(knows_of_sleep),
    };

    return cmocka_run_group_tests_name("sdk_timestamp", tests, NULL, NULL);
}
