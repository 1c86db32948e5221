#include "stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct sandlot_cancellation *cancellation;
static int descriptor = -1;

static void on_signal(int number)
{
    static const uint64_t one = 1;
    int saved = errno;

    (void)number;
    if (cancellation)
        sandlot_cancel(cancellation);
    ssize_t ignored = write(descriptor, &one, sizeof(one)); /* it fails where it is readable already */

    (void)ignored;
    errno = saved;
}

void stop_begin(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    cancellation = sandlot_cancellation_new();
    descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
}

struct sandlot_cancellation *stop_cancellation(void)
{
    return cancellation;
}

int stop_descriptor(void)
{
    return descriptor;
}

bool stop_requested(void)
{
    struct pollfd stop = {descriptor, POLLIN, 0};

    return poll(&stop, 1, 0) > 0;
}
