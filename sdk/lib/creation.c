#include <sandlot/sdk/creation.h>

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/linger.h>
#include <sandlot/sdk/pause.h>

enum { ASKINGS = 4, FIRST_PAUSE_MS = 300, LONGEST_WISH_MS = 60 * 1000 };

static enum sandlot_status ask(const struct creation *creation, struct attempt *attempt, struct http_response *response,
                               enum creation_next *next)
{
    struct linger linger;

    if (creation->lingers)
        linger_begin(&linger, &attempt->call);
    enum sandlot_status status = creation->ask(&attempt->call, creation->context, response, next);

    if (creation->lingers)
        linger_end(&linger);
    return status;
}

/* False: there may be one, and nobody can tell. */
static bool look_up(struct sandlot_call *call, const struct creation *creation, bool *found)
{
    struct attempt attempt;

    attempt_begin(&attempt, call, 0);
    return creation->look_up(&attempt.call, creation->context, found) == SANDLOT_OK;
}

enum sandlot_status creation_run(struct sandlot_call *call, const struct creation *creation)
{
    const int64_t longest_ms = creation->longest_wish_ms ? creation->longest_wish_ms : LONGEST_WISH_MS;
    struct pause pause = {.service = creation->service,
                          .first_ms = FIRST_PAUSE_MS,
                          .looks = creation->askings ? creation->askings : ASKINGS};

    for (;;) {
        AUTO_RESPONSE struct http_response response = {.retry_ms = -1};
        enum creation_next next = CREATION_OVER;
        struct attempt attempt;
        bool found = false;

        attempt_begin(&attempt, call, 0);
        enum sandlot_status status = ask(creation, &attempt, &response, &next);

        if (next == CREATION_CHANGED)
            continue;
        if (status == SANDLOT_OK)
            return status;
        bool over = next == CREATION_OVER || status == SANDLOT_CANCELLED || status == SANDLOT_TIMEOUT;

        if (!over && next == CREATION_UNCLEAR)
            over = !look_up(call, creation, &found);
        if (found)
            return SANDLOT_OK;
        over |= response.retry_ms > longest_ms;
        if (response.retry_ms > pause.first_ms && !over)
            pause.first_ms = (int)response.retry_ms;
        if (over || !pause_again(call, &pause, &status))
            return attempt_fail(&attempt, status);
    }
}
