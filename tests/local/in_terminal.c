/*
 * Runs a command in a terminal of its own and plays the user:
 *
 *   in_terminal [STEP...] -- COMMAND [ARGUMENT...]
 *
 *   expect=TEXT     waits until TEXT is printed, after what the last one found
 *   type=TEXT       types it
 *   size=ROWSxCOLS  changes the window
 *   raw             waits until the terminal is in raw mode
 *   signal=NUMBER   sends the command a signal
 *   wait=MS         waits
 *   close           closes the terminal
 *
 * Everything that is printed goes to standard output. The exit status is that of the command, 128 + n for signal n; 99
 * with the reason on standard error if a step fails, the command does not end, or it leaves the terminal in other modes
 * than it found.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { STEP_MS = 20000, PAUSE_MS = 10, FAILED = 99 };

static int controller = -1;
static pid_t child;
static char *seen; /* all that was printed */
static size_t seen_length;
static size_t searched; /* how far the last expect went */

static _Noreturn void fail(const char *what, const char *value)
{
    fprintf(stderr, "in_terminal: %s %s; printed since: <<%.*s>>\n", what, value, (int)(seen_length - searched),
            seen ? seen + searched : "");
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    exit(FAILED);
}

static long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Takes what is printed within PAUSE_MS. False when the other side is closed. */
static bool listen_once(void)
{
    struct pollfd fd = {controller, POLLIN, 0};
    char bytes[65536];

    if (controller < 0 || poll(&fd, 1, PAUSE_MS) <= 0)
        return controller >= 0;
    ssize_t got = read(controller, bytes, sizeof(bytes));

    if (got <= 0)
        return false;
    if (write(STDOUT_FILENO, bytes, (size_t)got) != got)
        fail("cannot write", "the output");
    seen = realloc(seen, seen_length + (size_t)got);
    if (!seen)
        abort();
    memcpy(seen + seen_length, bytes, (size_t)got);
    seen_length += (size_t)got;
    return true;
}

static void expect(const char *text)
{
    const long end = now_ms() + STEP_MS;

    for (;;) {
        const char *found =
            seen_length > searched ? memmem(seen + searched, seen_length - searched, text, strlen(text)) : NULL;

        if (found) {
            searched = (size_t)(found - seen) + strlen(text);
            return;
        }
        if (!listen_once() || now_ms() > end)
            fail("did not see", text);
    }
}

static void type(const char *text)
{
    for (size_t done = 0, length = strlen(text); done < length;) {
        ssize_t written = write(controller, text + done, length - done);

        if (written < 0 && errno != EAGAIN)
            fail("cannot type", text);
        done += written > 0 ? (size_t)written : 0;
        listen_once();
    }
}

static bool is_raw(void)
{
    struct termios modes;

    return tcgetattr(controller, &modes) == 0 && !(modes.c_lflag & (ICANON | ECHO | ISIG));
}

static void set_size(const char *value)
{
    struct winsize size = {0};
    char *rest = NULL;

    size.ws_row = (unsigned short)strtoul(value, &rest, 10);
    size.ws_col = (unsigned short)strtoul(rest + (*rest == 'x'), NULL, 10);
    if (ioctl(controller, TIOCSWINSZ, &size) < 0)
        fail("cannot set the size", value);
}

static void pass_time(long duration_ms, bool until_raw)
{
    const long end = now_ms() + duration_ms;

    while (now_ms() < end && !(until_raw && is_raw()))
        if (!listen_once())
            return;
    if (until_raw && !is_raw())
        fail("the terminal did not get", "raw");
}

static const char *value_of(const char *step, const char *name)
{
    const size_t length = strlen(name);

    return strncmp(step, name, length) == 0 ? step + length : NULL;
}

static void play(const char *step)
{
    const char *value;

    if ((value = value_of(step, "expect=")))
        expect(value);
    else if ((value = value_of(step, "type=")))
        type(value);
    else if ((value = value_of(step, "size=")))
        set_size(value);
    else if ((value = value_of(step, "signal=")))
        kill(child, (int)strtol(value, NULL, 10));
    else if ((value = value_of(step, "wait=")))
        pass_time(strtol(value, NULL, 10), false);
    else if (strcmp(step, "raw") == 0)
        pass_time(STEP_MS, true);
    else if (strcmp(step, "close") == 0)
        controller = close(controller) < 0 ? controller : -1;
    else
        fail("there is no step", step);
}

static int open_pair(void)
{
    controller = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (controller < 0 || grantpt(controller) < 0 || unlockpt(controller) < 0)
        fail("cannot open", "a terminal");
    int terminal = open(ptsname(controller), O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (terminal < 0)
        fail("cannot open", "the terminal");
    set_size("24x80");
    return terminal;
}

static void start(char **command, int terminal)
{
    child = fork();
    if (child != 0)
        return;
    setsid();
    if (ioctl(terminal, TIOCSCTTY, 0) < 0 || dup2(terminal, 0) < 0 || dup2(terminal, 1) < 0 || dup2(terminal, 2) < 0)
        _exit(FAILED);
    execvp(command[0], command);
    _exit(FAILED);
}

/* Waits for the end; nothing of the output is lost, as our own copy of TERMINAL is still open. */
static int ending(void)
{
    const long end = now_ms() + STEP_MS;
    int status;

    while (waitpid(child, &status, WNOHANG) == 0) {
        if (now_ms() > end)
            fail("the command did not", "end");
        if (!listen_once() || controller < 0)
            poll(NULL, 0, PAUSE_MS);
    }
    child = 0;
    for (size_t before = SIZE_MAX; controller >= 0 && before != seen_length;) {
        before = seen_length;
        listen_once();
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    struct termios before;
    struct termios after;
    int steps = 1;

    while (steps < argc && strcmp(argv[steps], "--") != 0)
        steps++;
    if (steps + 1 >= argc)
        fail("there is no", "command");
    int terminal = open_pair();

    if (tcgetattr(terminal, &before) < 0)
        fail("cannot read", "the modes");
    start(argv + steps + 1, terminal);
    for (int i = 1; i < steps; i++)
        play(argv[i]);
    int status = ending();

    if (controller >= 0 && (tcgetattr(terminal, &after) < 0 || before.c_lflag != after.c_lflag ||
                            before.c_iflag != after.c_iflag || before.c_oflag != after.c_oflag))
        fail("the modes of the terminal", "have changed");
    close(terminal);
    free(seen);
    return status;
}
