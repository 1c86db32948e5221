/*
 * stopped NUMBER FILE -- PROGRAM ARGUMENT...: runs PROGRAM, and stops who of it lays a box on one layer that has
 * everything (plugins/local/keeper/turn.h) at the NUMBER-th step of that, from 1: a name that changes, a mount that
 * moves. FILE is there from then on; once it is removed, all go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAUSE_MS = 5, HELD_LIMIT_MS = 60000, NEW_NAME = 3 };

/* The first name that changes, and no other thing that is done, begins with this. */
static const char first_name[] = "whole-";

/* Who runs PROGRAM has a kernel that asks LISTENER about each step. */
static int install(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_mount, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    };
    const struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
}

static bool is_first(const struct seccomp_notif *asked)
{
    char path[64];
    char name[sizeof(first_name)] = "";

    if (asked->data.nr == SYS_move_mount)
        return false;
    snprintf(path, sizeof(path), "/proc/%u/mem", asked->pid);
    const int memory = open(path, O_RDONLY | O_CLOEXEC);
    const bool read = memory >= 0 && pread(memory, name, sizeof(name), (off_t)asked->data.args[NEW_NAME]) > 0;

    close(memory);
    return read && strncmp(name, first_name, strlen(first_name)) == 0;
}

static void hold(const char *file)
{
    close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    for (int waited = 0; access(file, F_OK) == 0 && waited < HELD_LIMIT_MS; waited += PAUSE_MS)
        poll(NULL, 0, PAUSE_MS);
}

/* Until nobody is left who is asked about. */
static void answer(int listener, int number, const char *file)
{
    struct pollfd asks = {listener, POLLIN, 0};
    int step = 0;

    while (poll(&asks, 1, -1) >= 0 && !(asks.revents & POLLHUP)) {
        struct seccomp_notif asked = {0};

        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
            continue; /* it was killed */
        step += step > 0 || is_first(&asked);
        if (step == number)
            hold(file);
        struct seccomp_notif_resp go_on = {.id = asked.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &go_on);
    }
}

int main(int argument_count, char **arguments)
{
    int ends[2];
    int listener = -1;

    if (argument_count < 5 || strcmp(arguments[3], "--") != 0 || pipe2(ends, O_CLOEXEC) < 0)
        return 2;
    /* It has the descriptors of this process, of which the listener will be one. */
    if (syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0) == 0) {
        if (read(ends[0], &listener, sizeof(listener)) != sizeof(listener) || unshare(CLONE_FILES) < 0)
            _exit(2);
        setsid();
        for (int fd = 0; fd <= STDERR_FILENO; fd++)
            close(fd);
        answer(listener, atoi(arguments[1]), arguments[2]);
        _exit(0);
    }
    listener = install();
    if (write(ends[1], &listener, sizeof(listener)) == sizeof(listener) && listener >= 0)
        execvp(arguments[4], arguments + 4);
    perror("stopped");
    return 2;
}
