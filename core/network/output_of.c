#include "network/output_of.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* In a process group of its own, with its output into FD. 0 or an error number. */
static int start(const char *command, int fd, pid_t *pid)
{
    char *const arguments[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(size_t)command, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int failed = posix_spawn(pid, "/bin/sh", &actions, &attributes, arguments, environ);

    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Reads until the end. NULL: it read all of it. */
static const char *read_all(int fd, char *text, size_t maximum, size_t *length, int64_t deadline_ms, int cancel_fd)
{
    for (;;) {
        struct pollfd fds[] = {{fd, POLLIN, 0}, {cancel_fd, POLLIN, 0}};
        int64_t left = deadline_ms - sandlot_now_ms();

        if (left <= 0)
            return "took longer than 10 seconds and was ended";
        if (poll(fds, 2, (int)left) <= 0)
            continue;
        if (fds[1].revents)
            return "was ended by the cancellation";
        ssize_t count = read(fd, text + *length, maximum + 1 - *length);

        if (count == 0)
            return NULL;
        if (count < 0 && errno != EINTR)
            return "cannot be heard";
        *length += count > 0 ? (size_t)count : 0;
        if (*length > maximum)
            return "gives more than 16 KiB, which no header holds";
    }
}

/* Its output has ended, so it is about to: until the deadline. The status as waitpid(2) gives it; -1: it did not. */
static int wait_for(pid_t pid, int64_t deadline_ms)
{
    for (int status;; poll(NULL, 0, 1)) {
        pid_t ended = waitpid(pid, &status, WNOHANG);

        if (ended == pid)
            return status;
        if ((ended < 0 && errno != EINTR) || sandlot_now_ms() >= deadline_ms)
            return -1;
    }
}

/* Reads from PID and sees it end. NULL: it succeeded. */
static const char *follow(pid_t pid, int fd, char *text, size_t maximum, size_t *length, int64_t deadline_ms,
                          int cancel_fd)
{
    const char *why = read_all(fd, text, maximum, length, deadline_ms, cancel_fd);
    int status = why ? -1 : wait_for(pid, deadline_ms);

    if (status == -1) {
        kill(-pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        return why ? why : "took longer than 10 seconds and was ended";
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "failed; try it in a shell";
}

char *output_of(const char *command, int timeout_ms, size_t maximum, int cancel_fd, size_t *length, const char **why)
{
    int64_t deadline_ms = sandlot_now_ms() + timeout_ms;
    char *text = calloc(1, maximum + 2);
    int ends[2] = {-1, -1};
    pid_t pid;

    *length = 0;
    *why = "cannot be started";
    bool started = text && pipe2(ends, O_CLOEXEC) == 0 && start(command, ends[1], &pid) == 0;

    if (ends[1] >= 0)
        close(ends[1]);
    if (started)
        *why = follow(pid, ends[0], text, maximum, length, deadline_ms, cancel_fd);
    if (ends[0] >= 0)
        close(ends[0]);
    if (started && !*why)
        return text;
    if (text)
        explicit_bzero(text, maximum + 2);
    free(text);
    return NULL;
}
