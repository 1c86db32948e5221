/* What people are told of a transfer: how much, how fast, how long still. */
#include "cli/transfer_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct row {
    uint64_t done;
    uint64_t total;
    int64_t elapsed_ms;
    const char *told;
} rows[] = {
    {0, 0, 0, "0 bytes"},
    {1023, 1024, -1, "1023 bytes of 1.0 KiB"},
    {1 << 19, 1 << 20, 500, "512.0 KiB of 1.0 MiB"}, /* too early to judge */
    {1 << 19, 1 << 20, 999, "512.0 KiB of 1.0 MiB"},
    {1 << 19, 1 << 20, 1000, "512.0 KiB of 1.0 MiB, 512.0 KiB/s, 2 s left"},
    {1 << 20, 3 << 20, 2000, "1.0 MiB of 3.0 MiB, 512.0 KiB/s, 5 s left"},
    {999, 1000, 2000, "999 bytes of 1000 bytes, 499 bytes/s, 1 s left"},
    {1 << 20, 1 << 20, 2000, "1.0 MiB of 1.0 MiB, 512.0 KiB/s"}, /* nothing is left */
    {2 << 20, 1 << 20, 2000, "2.0 MiB of 1.0 MiB, 1.0 MiB/s"},   /* the file grew meanwhile */
    {1 << 20, 0, 2000, "1.0 MiB, 512.0 KiB/s"},                  /* nobody knows how much it is */
    {0, 1 << 20, 2000, "0 bytes of 1.0 MiB"},                    /* a rate of 0: no time is known */
    {1, 1 << 20, 2000, "1 bytes of 1.0 MiB"},
    {1, UINT64_MAX, 1000, "1 bytes of 16777216.0 TiB, 1 bytes/s, 18446744073709551615 s left"},
};

static void test_all_that_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *told = transfer_text(rows[i].done, rows[i].total, rows[i].elapsed_ms);

        assert_string_equal(told, rows[i].told);
        free(told);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_that_is_told)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
