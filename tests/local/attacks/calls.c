/*
 * The system calls that a box refuses, each issued raw. The arguments are such that the kernel of a bare machine would
 * refuse them later and for another reason, or would do something harmless, so that EPERM and ENOSYS can
 * only come from the filter or from missing privilege.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* The numbers since 424 are the same on every architecture; older headers lack some. */
enum {
    CALL_IO_URING_SETUP = 425,
    CALL_IO_URING_ENTER = 426,
    CALL_IO_URING_REGISTER = 427,
    CALL_OPEN_TREE = 428,
    CALL_MOVE_MOUNT = 429,
    CALL_FSOPEN = 430,
    CALL_FSCONFIG = 431,
    CALL_FSMOUNT = 432,
    CALL_FSPICK = 433,
    CALL_CLONE3 = 435,
    CALL_MOUNT_SETATTR = 442,
    CALL_QUOTACTL_FD = 443,
    CALL_OPEN_TREE_ATTR = 467
};

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

#define NOWHERE ((long)(intptr_t) "/nonexistent")
#define BAD_POINTER 1L
#define BAD_FD (-1L)
#define HIGH_BITS (1L << 32)
#define NAMED(path) ((long)(intptr_t)(path))

static bool refused(long result)
{
    return result == -1 && (errno == EPERM || errno == ENOSYS);
}

static enum verdict call(const struct attack *attack)
{
    const long *a = attack->arguments;
    long result = syscall(attack->number, a[0], a[1], a[2], a[3], a[4], a[5]);

    if (refused(result))
        return HELD;
    return result == -1 ? through("the kernel looked at it (errno %d)", errno) : through("it returned %ld", result);
}

/* clone with a flag: the child that must not be ends at once. */
static enum verdict clone_with(const struct attack *attack)
{
    long pid = syscall(SYS_clone, attack->arguments[0] | SIGCHLD, NULL, NULL, NULL, NULL);

    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    if (refused(pid))
        return HELD;
    return pid < 0 ? through("the kernel looked at it (errno %d)", errno) : through("a process came of it");
}

/* A request on a terminal that the box itself has made; EPERM, or EACCES from Landlock. */
static enum verdict terminal_request(const struct attack *attack)
{
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char character = 'x';

    if (fd < 0)
        fd = STDIN_FILENO;
    long result = syscall(SYS_ioctl, fd, attack->arguments[0], &character);

    if (result == -1 && (errno == EPERM || errno == EACCES))
        return HELD;
    return through("the kernel looked at it (errno %d)", result == -1 ? errno : 0);
}

#ifdef __x86_64__
static long call_32_bit(long number)
{
    long result;

    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(0L), "c"(0L), "d"(0L), "S"(0L), "D"(0L)
                     : "memory", "cc", "r8", "r9", "r10", "r11");
    return result;
}

/* A kernel without 32-bit calls answers with SIGSEGV. */
static void no_such_instruction(int number)
{
    (void)number;
    _exit(HELD);
}

static enum verdict call_through_int80(const struct attack *attack)
{
    signal(SIGSEGV, no_such_instruction);
    long result = call_32_bit(attack->number);

    return result == -EPERM || result == -ENOSYS ? HELD : through("it returned %ld", result);
}
#endif

#define CALL(label, n, ...)                                                             \
    {                                                                                   \
        .name = "call-" label, .run = call, .number = (n), .arguments = { __VA_ARGS__ } \
    }
#define CLONE(label, flag) \
    {.name = "call-clone-" label, .run = clone_with, .arguments = {flag}}, CALL("unshare-" label, SYS_unshare, flag)
#define COMPAT(label, n)                                                      \
    {                                                                         \
        .name = "call-int80-" label, .run = call_through_int80, .number = (n) \
    }
#define X32(label, n) CALL("x32-" label, 0x40000000L | (n), 0)

const struct attack call_attacks[] = {
    CLONE("user", CLONE_NEWUSER),
    CLONE("mount", CLONE_NEWNS),
    CLONE("pid", CLONE_NEWPID),
    CLONE("network", CLONE_NEWNET),
    CLONE("ipc", CLONE_NEWIPC),
    CLONE("uts", CLONE_NEWUTS),
    CLONE("cgroup", CLONE_NEWCGROUP),
    CLONE("user-and-mount", CLONE_NEWUSER | CLONE_NEWNS),
    CALL("unshare-time", SYS_unshare, CLONE_NEWTIME),
    CALL("unshare-high-bits", SYS_unshare, HIGH_BITS | CLONE_NEWUSER),
    CALL("clone3", CALL_CLONE3, 0, 0),
    CALL("setns", SYS_setns, BAD_FD, 0),
    CALL("mount", SYS_mount, 0, NOWHERE, 0, 0, 0),
    CALL("umount2", SYS_umount2, NOWHERE, 0),
    CALL("pivot_root", SYS_pivot_root, NOWHERE, NOWHERE),
    CALL("chroot", SYS_chroot, NAMED("/")),
    CALL("fsopen", CALL_FSOPEN, NAMED("tmpfs"), 0),
    CALL("fsconfig", CALL_FSCONFIG, BAD_FD, 0, 0, 0, 0),
    CALL("fsmount", CALL_FSMOUNT, BAD_FD, 0, 0),
    CALL("fspick", CALL_FSPICK, AT_FDCWD, NOWHERE, 0),
    CALL("open_tree", CALL_OPEN_TREE, AT_FDCWD, NAMED("/"), 0),
    CALL("open_tree_attr", CALL_OPEN_TREE_ATTR, AT_FDCWD, NAMED("/"), 0, 0, 0),
    CALL("move_mount", CALL_MOVE_MOUNT, AT_FDCWD, NOWHERE, AT_FDCWD, NOWHERE, 0),
    CALL("mount_setattr", CALL_MOUNT_SETATTR, AT_FDCWD, NOWHERE, 0, 0, 0),
    CALL("bpf", SYS_bpf, 0, 0, 0),
    CALL("perf_event_open", SYS_perf_event_open, BAD_POINTER, 0, -1, -1, 0),
    CALL("userfaultfd", SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */),
    CALL("io_uring_setup", CALL_IO_URING_SETUP, 1, BAD_POINTER),
    CALL("io_uring_enter", CALL_IO_URING_ENTER, BAD_FD, 0, 0, 0, 0, 0),
    CALL("io_uring_register", CALL_IO_URING_REGISTER, BAD_FD, 0, 0, 0),
    CALL("io_setup", SYS_io_setup, 1, BAD_POINTER),
    CALL("vmsplice", SYS_vmsplice, BAD_FD, 0, 0, 0),
    CALL("keyctl", SYS_keyctl, 0, -3, 0),
    CALL("add_key", SYS_add_key, BAD_POINTER, BAD_POINTER, 0, 0, -3),
    CALL("request_key", SYS_request_key, BAD_POINTER, BAD_POINTER, 0, 0),
    CALL("kexec_load", SYS_kexec_load, 0, 0, 0, 0xdead),
    CALL("kexec_file_load", SYS_kexec_file_load, BAD_FD, BAD_FD, 0, 0, 0xffff),
    CALL("init_module", SYS_init_module, BAD_POINTER, 0, BAD_POINTER),
    CALL("finit_module", SYS_finit_module, BAD_FD, BAD_POINTER, 0),
    CALL("delete_module", SYS_delete_module, BAD_POINTER, 0),
    CALL("reboot", SYS_reboot, 0, 0, 0, 0),
    CALL("swapon", SYS_swapon, BAD_POINTER, 0),
    CALL("swapoff", SYS_swapoff, BAD_POINTER),
    CALL("acct", SYS_acct, BAD_POINTER),
    CALL("quotactl", SYS_quotactl, -1, NOWHERE, 0, 0),
    CALL("quotactl_fd", CALL_QUOTACTL_FD, BAD_FD, -1, 0, 0),
    CALL("syslog", SYS_syslog, 10, 0, 0),
#ifdef __x86_64__
    CALL("iopl", SYS_iopl, 0),
    CALL("ioperm", SYS_ioperm, 0, 0, 0),
    CALL("lookup_dcookie", SYS_lookup_dcookie, 0, 0, 0),
    CALL("mknod-device", SYS_mknod, NAMED("intruder-null"), S_IFCHR | 0600, 0x103),
#endif
    CALL("open_by_handle_at", SYS_open_by_handle_at, BAD_FD, BAD_POINTER, 0),
    CALL("name_to_handle_at", SYS_name_to_handle_at, AT_FDCWD, NAMED("/"), BAD_POINTER, BAD_POINTER, 0),
    CALL("fanotify_init", SYS_fanotify_init, 0x200 /* FAN_REPORT_FID */, 0),
    CALL("mknodat-character", SYS_mknodat, AT_FDCWD, NAMED("intruder-mem"), S_IFCHR | 0600, 0x101),
    CALL("mknodat-block", SYS_mknodat, AT_FDCWD, NAMED("intruder-disk"), S_IFBLK | 0600, 0x700),
    CALL("kcmp", SYS_kcmp, 0, 0, 0, 0, 0),
    CALL("move_pages", SYS_move_pages, 0, 0, 0, 0, 0, 0),
    CALL("migrate_pages", SYS_migrate_pages, 0, 0, 0, 0),
    CALL("personality", SYS_personality, 0x0040000 /* ADDR_NO_RANDOMIZE */),
    CALL("personality-32-bit", SYS_personality, 0x0008 /* PER_LINUX32 */),
    CALL("personality-read-implies-exec", SYS_personality, 0x0400000),
    {.name = "call-tiocsti", .run = terminal_request, .arguments = {TIOCSTI}},
    {.name = "call-tiocsti-high-bits", .run = terminal_request, .arguments = {HIGH_BITS | TIOCSTI}},
    {.name = "call-tioclinux", .run = terminal_request, .arguments = {TIOCLINUX}},
    {.name = "call-tioclinux-high-bits", .run = terminal_request, .arguments = {HIGH_BITS | TIOCLINUX}},
#ifdef __x86_64__
    COMPAT("getpid", 20),
    COMPAT("chroot", 61),
    COMPAT("mount", 21),
    COMPAT("umount", 22),
    COMPAT("umount2", 52),
    COMPAT("ptrace", 26),
    COMPAT("socketcall", 102),
    COMPAT("socket", 359),
    COMPAT("init_module", 128),
    COMPAT("personality", 136),
    COMPAT("pivot_root", 217),
    COMPAT("keyctl", 288),
    COMPAT("unshare", 310),
    COMPAT("perf_event_open", 336),
    COMPAT("open_by_handle_at", 342),
    COMPAT("setns", 346),
    COMPAT("process_vm_readv", 347),
    COMPAT("bpf", 357),
    COMPAT("userfaultfd", 374),
    COMPAT("io_uring_setup", 425),
    COMPAT("fsopen", 430),
    X32("getpid", SYS_getpid),
    X32("mount", SYS_mount),
    X32("chroot", SYS_chroot),
    X32("setns", SYS_setns),
    X32("unshare", SYS_unshare),
    X32("keyctl", SYS_keyctl),
    X32("socket", SYS_socket),
    X32("bpf", SYS_bpf),
    X32("ptrace", 521),
    X32("process_vm_readv", 539),
#endif
    {0},
};
