#include "hold.h"

#include "proc.h"

#include <sandlot/provider.h>
#include <sandlot/sdk/cleanup.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    HOLD_LIMIT_MS = 5000,
    ROUND_LIMIT_MS = 200, /* then all goes on for a moment: whoever waits for a child of vfork(2) cannot be stopped */
    LEAVE_LIMIT_MS = 5,   /* for what is just ending: a command has told its end before its supervisor is gone */
    FIRST_PAUSE_US = 20,
    LONGEST_PAUSE_US = 1000
};

/* Waits a moment, each time longer. */
static void wait_a_moment(long *pause_us)
{
    nanosleep(&(struct timespec){0, *pause_us * 1000}, NULL);
    *pause_us = *pause_us * 2 < LONGEST_PAUSE_US ? *pause_us * 2 : LONGEST_PAUSE_US;
}

static bool note(struct hold *hold, pid_t pid, int64_t start_time)
{
    if (hold->count == hold->capacity) {
        const size_t capacity = hold->capacity ? 2 * hold->capacity : 64;
        struct held_process *grown = realloc(hold->processes, capacity * sizeof(*grown));

        if (!grown)
            return false;
        hold->processes = grown;
        hold->capacity = capacity;
    }
    hold->processes[hold->count++] = (struct held_process){pid, start_time};
    return true;
}

static bool is_noted(const struct hold *hold, pid_t pid)
{
    for (size_t i = 0; i < hold->count; i++)
        if (hold->processes[i].pid == pid)
            return true;
    return false;
}

/* To nobody else who may have the number by now. */
static void send_signal(const struct held_process *process, int number)
{
    AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);

    if (pidfd >= 0 && proc_status(process->pid).start_time == process->start_time)
        syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

static bool is_still(char state)
{
    return state == 'T' || state == 't' || state == 'Z' || state == 'X' || state == '\0';
}

static bool is_alive(pid_t pid)
{
    const char state = proc_status(pid).state;

    return state != 'Z' && state != 'X' && state != '\0';
}

/* Is there nothing but init? What has ended without being waited for has no files any more. */
static bool is_idle(const struct members *members)
{
    for (size_t i = 1; i < members->count; i++)
        if (is_alive(members->pids[i]))
            return false;
    return true;
}

static void await_leaving(struct members *members, pid_t init)
{
    const int64_t end_ms = sandlot_now_ms() + LEAVE_LIMIT_MS;
    long pause_us = FIRST_PAUSE_US;

    for (members_find(members, init); !is_idle(members) && sandlot_now_ms() < end_ms; members_find(members, init))
        wait_a_moment(&pause_us);
}

/* Stops what still runs. How many processes that were; -1: out of memory. */
static int stop_running(struct hold *hold, const struct members *members)
{
    int running = 0;

    for (size_t i = 0; i < members->count; i++) {
        const struct proc_status status = proc_status(members->pids[i]);

        if (is_still(status.state))
            continue;
        running++;
        if (is_noted(hold, members->pids[i]))
            continue;
        if (!note(hold, members->pids[i], status.start_time))
            return -1;
        send_signal(&hold->processes[hold->count - 1], SIGSTOP);
    }
    return running;
}

/* One round; false with *AGAIN: another one may do better. */
static bool stop_all(struct hold *hold, pid_t init, struct members *members, bool *again)
{
    const int64_t end_ms = sandlot_now_ms() + ROUND_LIMIT_MS;
    long pause_us = FIRST_PAUSE_US;

    for (;;) {
        members_find(members, init);
        const int running = stop_running(hold, members);

        *again = running >= 0 && members->count < MOST_MEMBERS;
        hold->idle = is_idle(members);
        if (running == 0 && *again)
            return true;
        if (!*again || sandlot_now_ms() >= end_ms)
            return false;
        wait_a_moment(&pause_us);
    }
}

bool hold_begin(struct hold *hold, pid_t init)
{
    static struct members members; /* large, and this is the keeper's main thread alone */
    const int64_t end_ms = sandlot_now_ms() + HOLD_LIMIT_MS;
    long pause_us = LONGEST_PAUSE_US;
    bool again = true;

    *hold = (struct hold){0};
    await_leaving(&members, init);
    while (again && sandlot_now_ms() < end_ms) {
        if (stop_all(hold, init, &members, &again))
            return true;
        hold_end(hold);
        wait_a_moment(&pause_us);
    }
    return false;
}

/* Children first: a shell that goes on is not to find its child stopped. */
void hold_end(struct hold *hold)
{
    while (hold->count > 0)
        send_signal(&hold->processes[--hold->count], SIGCONT);
    free(hold->processes);
    *hold = (struct hold){0};
}
