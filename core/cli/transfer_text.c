#include "cli/transfer_text.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* What is younger has no rate yet. */
enum { FIRST_RATE_MS = 1000 };

/* "512 bytes", "1.5 MiB"; to be freed. */
static char *size_text(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int unit = -1;

    while (value >= 1024 && unit + 1 < (int)(sizeof(units) / sizeof(units[0]))) {
        value /= 1024;
        unit++;
    }
    return unit < 0 ? text_format("%" PRIu64 " bytes", bytes) : text_format("%.1f %s", value, units[unit]);
}

/* ", 3.4 MiB/s, 9 s left", as far as there is enough to judge by; to be freed. */
static char *rate_text(uint64_t done, uint64_t total, int64_t elapsed_ms)
{
    uint64_t rate = elapsed_ms > 0 ? (uint64_t)((double)done * 1000 / (double)elapsed_ms) : 0;

    if (elapsed_ms < FIRST_RATE_MS || rate == 0)
        return strdup("");
    AUTO_FREE char *speed = size_text(rate);

    if (!speed || total <= done)
        return speed ? text_format(", %s/s", speed) : NULL;
    const uint64_t left_s = (total - done) / rate + 1;

    return text_format(", %s/s, %" PRIu64 " s left", speed, left_s);
}

char *transfer_text(uint64_t done, uint64_t total, int64_t elapsed_ms)
{
    AUTO_FREE char *moved = size_text(done);
    AUTO_FREE char *all = size_text(total);
    AUTO_FREE char *rate = rate_text(done, total, elapsed_ms);

    return moved && all && rate ? text_format("%s%s%s%s", moved, total ? " of " : "", total ? all : "", rate) : NULL;
}
