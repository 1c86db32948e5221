/* How a program, and what it has started, is ended and waited for. */
#include "process_child.h"

#include <sandlot/sdk/cleanup.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What begins new processes while it is being killed is not hunted for ever. */
enum { MOST_SWEEPS = 10, STAT_SIZE = 1024 };

/* To the group, or to the program alone as long as it has not got as far as having one. */
static void send_signal(const struct sdk_child *child, int number)
{
    if (kill(-child->pid, number) == 0)
        return;
    if (child->exited >= 0)
        syscall(SYS_pidfd_send_signal, child->exited, number, NULL, 0);
    else
        kill(child->pid, number);
}

void sdk_child_terminate(const struct sdk_child *child)
{
    send_signal(child, SIGTERM);
}

/* The session of the process whose folder in PROC is NAME, 0 if it has ended. */
static pid_t session_of(int proc, const char *name)
{
    char path[64];
    char text[STAT_SIZE];
    char state = 'Z';
    int session = 0;

    snprintf(path, sizeof(path), "%.32s/stat", name);
    AUTO_CLOSE int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

    text[length > 0 ? length : 0] = '\0';
    const char *behind_name = strrchr(text, ')'); /* the name itself may hold blanks and brackets */

    if (!behind_name || sscanf(behind_name, ") %c %*d %*d %d", &state, &session) != 2 || state == 'Z' || state == 'X')
        return 0;
    return session;
}

/* Kills one process if it is of SESSION. The pidfd is opened before the look, so that it is the same process. */
static bool kill_if_of(int proc, const char *name, pid_t session)
{
    pid_t pid = (pid_t)strtol(name, NULL, 10);
    AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    return fd >= 0 && session_of(proc, name) == session && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
}

/* One look at every process; were there any of SESSION? */
static bool sweep(pid_t session)
{
    DIR *directory = opendir("/proc");
    bool found = false;

    if (!directory)
        return false;
    for (struct dirent *item; (item = readdir(directory));)
        if (isdigit((unsigned char)item->d_name[0]))
            found |= kill_if_of(dirfd(directory), item->d_name, session);
    closedir(directory);
    return found;
}

void sdk_child_kill(const struct sdk_child *child)
{
    send_signal(child, SIGKILL);
    /* Programs such as timeout(1), and shells with job control, put what they start into groups of their own. */
    for (int i = 0; i < MOST_SWEEPS && sweep(child->pid); i++)
        continue;
}

int sdk_child_wait(struct sdk_child *child)
{
    int how = 0;
    pid_t waited;

    do
        waited = waitpid(child->pid, &how, 0);
    while (waited < 0 && errno == EINTR);
    if (waited < 0)
        return SANDLOT_EXIT_UNKNOWN;
    return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
}
