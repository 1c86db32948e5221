#include "cli/raw_mode.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

/* What may end the process. A signal from the keyboard is none of them: raw mode makes bytes of those. */
static const int ending[] = {SIGHUP,  SIGINT, SIGQUIT, SIGTERM, SIGABRT, SIGBUS,  SIGFPE,  SIGILL,
                             SIGSEGV, SIGSYS, SIGTRAP, SIGXCPU, SIGXFSZ, SIGALRM, SIGUSR1, SIGUSR2};

enum { ENDING_COUNT = sizeof(ending) / sizeof(ending[0]) };

static struct termios before;
static struct sigaction actions[ENDING_COUNT]; /* what each signal did before */
static volatile sig_atomic_t raw;

/* For signal handlers too, with SIGTTOU blocked: a process in the background would be stopped otherwise. */
static void bring_back(void)
{
    if (!raw)
        return;
    raw = 0;
    /* The answers of the terminal to what the sandbox has asked it are not for the shell of the user. */
    tcflush(STDIN_FILENO, TCIFLUSH);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void on_signal(int number)
{
    const int saved = errno;

    bring_back();
    for (size_t i = 0; i < ENDING_COUNT; i++)
        if (ending[i] == number)
            sigaction(number, &actions[i], NULL);
    raise(number); /* comes when this handler has returned */
    errno = saved;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < ENDING_COUNT; i++) {
        sigaction(ending[i], NULL, &actions[i]);
        if (actions[i].sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
    }
}

static void release_signals(void)
{
    struct sigaction current;

    for (size_t i = 0; i < ENDING_COUNT; i++)
        if (sigaction(ending[i], NULL, &current) == 0 && current.sa_handler == on_signal)
            sigaction(ending[i], &actions[i], NULL);
}

int raw_mode_enter(void)
{
    static bool registered;
    struct termios modes;

    if (tcgetattr(STDIN_FILENO, &before) < 0)
        return -1;
    if (!registered && atexit(raw_mode_leave) != 0) {
        errno = ENOMEM;
        return -1;
    }
    registered = true;
    modes = before;
    cfmakeraw(&modes);
    catch_signals();
    raw = 1;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &modes) == 0)
        return 0;
    const int reason = errno;

    raw = 0;
    release_signals();
    errno = reason;
    return -1;
}

void raw_mode_leave(void)
{
    sigset_t background;
    sigset_t mask;

    sigemptyset(&background);
    sigaddset(&background, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &background, &mask);
    bring_back();
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    release_signals();
}
