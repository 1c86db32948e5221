/*
 * without CALL... -- PROGRAM ARGUMENT...: runs PROGRAM where the kernel does not have these system calls (ENOSYS), as
 * an old one, an emulator or a debugging tool would. CALL: landlock, pidfd_open.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static long number_of(const char *name)
{
    if (strcmp(name, "landlock") == 0)
        return SYS_landlock_create_ruleset;
    return strcmp(name, "pidfd_open") == 0 ? SYS_pidfd_open : -1;
}

static int take_away(long call)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    return call < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                   syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0
               ? -1
               : 0;
}

int main(int argument_count, char **arguments)
{
    int i = 1;

    for (; i < argument_count && strcmp(arguments[i], "--") != 0; i++)
        if (take_away(number_of(arguments[i])) < 0)
            return 2;
    if (i + 1 < argument_count)
        execvp(arguments[i + 1], arguments + i + 1);
    perror("without");
    return 2;
}
