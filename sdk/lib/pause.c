#include <sandlot/sdk/pause.h>

#include <limits.h>
#include <poll.h>

enum { FIRST_MS = 250, LONGEST_MS = 2000, LOOK_MS = 50, SECOND_NS = 1000 * 1000 * 1000 };

static bool is_over(const struct sandlot_call *call)
{
    return sandlot_cancelled(call) || (call->deadline_ms != 0 && sandlot_now_ms() >= call->deadline_ms);
}

bool pause_for(const struct sandlot_call *call, int64_t milliseconds)
{
    const int64_t end_ms = sandlot_now_ms() + milliseconds;
    struct pollfd cancel = {call->cancel_fd, POLLIN, 0};

    /* A signal of the host's may end poll(2) before its time. */
    for (int64_t left_ms; !is_over(call) && (left_ms = end_ms - sandlot_now_ms()) > 0;)
        poll(&cancel, call->cancel_fd >= 0, sandlot_remaining_ms(call, left_ms < INT_MAX ? (int)left_ms : INT_MAX));
    return !is_over(call);
}

enum sandlot_status pause_longer(struct sandlot_call *call, const char *service, int *milliseconds, int longest_ms)
{
    const bool on = pause_for(call, *milliseconds);
    const int longer_ms = *milliseconds + *milliseconds / 2 + 1;

    *milliseconds = longer_ms < longest_ms ? longer_ms : longest_ms;
    if (on)
        return SANDLOT_OK;
    if (sandlot_cancelled(call))
        return sandlot_fail(call, SANDLOT_CANCELLED, "cancelled while waiting for %s", service);
    return sandlot_fail(call, SANDLOT_TIMEOUT, "%s was not done in time; try again, or allow more time", service);
}

bool pause_again(struct sandlot_call *call, struct pause *pause, enum sandlot_status *status)
{
    const int64_t now_ms = sandlot_now_ms();

    if (pause->made++ == 0) {
        pause->end_ms = now_ms + pause->limit_ms;
        pause->first_ms = pause->first_ms ? pause->first_ms : FIRST_MS;
        pause->longest_ms = pause->longest_ms ? pause->longest_ms : LONGEST_MS;
    }
    if ((pause->limit_ms > 0 && now_ms >= pause->end_ms) || pause->made == pause->looks)
        return false;
    const enum sandlot_status paused = pause_longer(call, pause->service, &pause->first_ms, pause->longest_ms);

    *status = paused == SANDLOT_OK ? *status : paused;
    return paused == SANDLOT_OK;
}

bool pause_until_locked(const struct sandlot_call *call, pthread_mutex_t *mutex)
{
    do {
        struct timespec end;

        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_nsec += LOOK_MS * (SECOND_NS / 1000);
        end.tv_sec += end.tv_nsec / SECOND_NS;
        end.tv_nsec %= SECOND_NS;
        if (pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &end) == 0)
            return true;
    } while (!is_over(call));
    return false;
}
