#include "cli/signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Nobody is impatient sooner. Programs send twice within milliseconds: timeout(1) signals its child and then the whole
 * group, a shell that ends does as much. */
static const int64_t ONE_SIGNAL_MS = 1000;

static struct sandlot_cancellation *to_cancel;
static _Atomic int64_t first_ms; /* when the first one came, of CLOCK_MONOTONIC; 0: none did */
static volatile sig_atomic_t first;
static volatile sig_atomic_t patient;
static char farewell[2048];
static volatile sig_atomic_t farewell_length;

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1; /* never 0 */
}

static void on_signal(int number)
{
    int64_t came_ms = now_ms();
    int64_t none = 0;

    if (atomic_compare_exchange_strong(&first_ms, &none, came_ms)) {
        first = number;
        sandlot_cancel(to_cancel);
        return;
    }
    if (came_ms - none < ONE_SIGNAL_MS)
        return;
    /* A terminal that is closed sends SIGHUP more than once, from the kernel and from the shell. That is not
     * impatience. */
    if (number == SIGHUP || patient)
        return;
    if (write(STDERR_FILENO, farewell, (size_t)farewell_length) < 0)
        _exit(128 + number);
    _exit(128 + number);
}

/* Writing to a pipe without reader then fails with EPIPE, and beyond the limit of a file's size with EFBIG. Ignoring
 * the signals would do too, but programs that we start would inherit that. */
static void on_failed_write(int number)
{
    (void)number;
}

void signals_set_farewell(const char *text)
{
    size_t length = strnlen(text, sizeof(farewell));

    farewell_length = 0; /* a signal in between says nothing instead of half a sentence */
    memcpy(farewell, text, length);
    farewell_length = (sig_atomic_t)length;
}

void signals_install(struct sandlot_cancellation *cancellation)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction failed_write = {.sa_handler = on_failed_write, .sa_flags = SA_RESTART};
    sigset_t all;

    sigemptyset(&all);
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
        sigaddset(&all, ending[i]);
    to_cancel = cancellation;
    sigaction(SIGPIPE, &failed_write, NULL);
    sigaction(SIGXFSZ, &failed_write, NULL);
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
        struct sigaction action = {.sa_handler = on_signal, .sa_mask = all};
        struct sigaction old;

        /* nohup(1) asks to survive the terminal. SIGINT that is ignored is no such wish: shells without job control do
         * that to every background command, and a sandbox would stay behind. */
        if (ending[i] == SIGHUP && sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
            continue;
        sigaction(ending[i], &action, NULL);
    }
}

void signals_ignore_more(void)
{
    patient = 1;
}

int signals_received(void)
{
    return first;
}
