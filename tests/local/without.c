/*
 * without CALL... -- PROGRAM ARGUMENT...: runs PROGRAM where the kernel does not have these system calls (ENOSYS), as
 * an old one, an emulator or a debugging tool would. CALL: landlock, pidfd_open, pidfd_send_signal; or user_namespaces,
 * which are refused as the filter of a container engine does it; network_namespaces, of which unshare(2) makes no more
 * (ENOSPC); rtnetlink, of which the kernel has none (EPROTONOSUPPORT); mounts_beneath, the flag of move_mount(2) of
 * Linux 6.5 (EINVAL).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static long number_of(const char *name)
{
    if (strcmp(name, "landlock") == 0)
        return SYS_landlock_create_ruleset;
    if (strcmp(name, "pidfd_send_signal") == 0)
        return SYS_pidfd_send_signal;
    return strcmp(name, "pidfd_open") == 0 ? SYS_pidfd_open : -1;
}

static int install(const struct sock_fprog *filter)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter) < 0 ? -1 : 0;
}

/* clone3(2) is not there, because its flags cannot be seen, and the flag of the other two is refused. */
static int take_user_namespaces(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 2, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    return install(&filter);
}

/* Those that come with a process, by clone(2), are others. */
static int take_network_namespaces(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWNET, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    return install(&filter);
}

static int take_rtnetlink(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETLINK_ROUTE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    return install(&filter);
}

static int take_mounts_beneath(void)
{
    enum { BENEATH = 0x200 }; /* MOVE_MOUNT_BENEATH, which the headers may lack as well */
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_mount, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, BENEATH, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    return install(&filter);
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

    return call < 0 ? -1 : install(&filter);
}

static int take(const char *word)
{
    static const struct {
        const char *word;
        int (*take)(void);
    } others[] = {{"user_namespaces", take_user_namespaces},
                  {"network_namespaces", take_network_namespaces},
                  {"rtnetlink", take_rtnetlink},
                  {"mounts_beneath", take_mounts_beneath}};

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (strcmp(word, others[i].word) == 0)
            return others[i].take();
    return take_away(number_of(word));
}

int main(int argument_count, char **arguments)
{
    int i = 1;

    for (; i < argument_count && strcmp(arguments[i], "--") != 0; i++) {
        if (take(arguments[i]) < 0)
            return 2;
    }
    if (i + 1 < argument_count)
        execvp(arguments[i + 1], arguments + i + 1);
    perror("without");
    return 2;
}
