/* Other processes, their memory, and what processes share. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DESCRIPTORS_TO_TRY = 24 };

/* The box's init, the process that watches over this command, and a process of the host. On a bare machine the first
 * two are nobody's business. */
static size_t victims(pid_t pids[3])
{
    size_t count = 0;

    pids[count++] = (pid_t)bait_number("PID");
    if (!*bait("UNCONFINED")) {
        pids[count++] = 1;
        pids[count++] = getppid();
    }
    return count;
}

static bool own(pid_t pid)
{
    return pid == getpid() || pid == getppid();
}

static enum verdict signals(const struct attack *attack)
{
    pid_t pid = (pid_t)bait_number("PID");

    (void)attack;
    if (kill(pid, SIGUSR1) == 0)
        return through("sent a signal to process %d of the host", (int)pid);
    return kill(pid, 0) == 0 || errno != ESRCH ? through("process %d of the host can be seen", (int)pid) : HELD;
}

static enum verdict trace(const struct attack *attack)
{
    pid_t pids[3];
    size_t count = victims(pids);

    (void)attack;
    for (size_t i = 0; i < count; i++)
        if (ptrace(PTRACE_SEIZE, pids[i], NULL, NULL) == 0 || ptrace(PTRACE_ATTACH, pids[i], NULL, NULL) == 0)
            return through("traced process %d", (int)pids[i]);
    return HELD;
}

static enum verdict memory(const struct attack *attack)
{
    char byte = 0;
    struct iovec here = {&byte, 1};
    struct iovec there = {(void *)0x400000, 1};
    pid_t pids[3];
    size_t count = victims(pids);

    (void)attack;
    for (size_t i = 0; i < count; i++) {
        char path[64];

        /* EFAULT: it was allowed to look and there is nothing at this address. */
        if (process_vm_readv(pids[i], &here, 1, &there, 1, 0) >= 0 || errno == EFAULT)
            return through("read the memory of process %d", (int)pids[i]);
        snprintf(path, sizeof(path), "/proc/%d/mem", (int)pids[i]);
        int fd = own(pids[i]) ? -1 : open(path, O_RDONLY | O_CLOEXEC);

        if (fd >= 0)
            return through("opened %s", path);
    }
    return HELD;
}

static enum verdict foreign_descriptors(const struct attack *attack)
{
    pid_t pids[3];
    size_t count = victims(pids);

    (void)attack;
    for (size_t i = 0; i < count; i++) {
        int pidfd = own(pids[i]) ? -1 : (int)syscall(SYS_pidfd_open, pids[i], 0);

        for (int fd = 0; pidfd >= 0 && fd < DESCRIPTORS_TO_TRY; fd++)
            if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
                return through("took descriptor %d of process %d", fd, (int)pids[i]);
        if (pidfd >= 0)
            close(pidfd);
    }
    return HELD;
}

static enum verdict compare(const struct attack *attack)
{
    pid_t pids[3];
    size_t count = victims(pids);

    (void)attack;
    for (size_t i = 0; i < count; i++)
        if (syscall(SYS_kcmp, getpid(), pids[i], KCMP_FILE, 0, 0) >= 0)
            return through("compared with process %d", (int)pids[i]);
    return HELD;
}

static enum verdict namespaces(const struct attack *attack)
{
    static const char *const names[] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};
    pid_t pids[3];
    size_t count = victims(pids);

    (void)attack;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
            char path[64];

            snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pids[i], names[j]);
            int fd = open(path, O_RDONLY | O_CLOEXEC);
            bool entered = fd >= 0 && syscall(SYS_setns, fd, 0) == 0;

            if (fd >= 0)
                close(fd);
            if (entered)
                return through("entered %s", path);
        }
    return HELD;
}

/* What init knows: its memory is a copy of that of the program which started it. */
static enum verdict init_secrets(const struct attack *attack)
{
    static const char *const files[] = {"environ", "maps", "auxv", "mem", "syscall", "stack", "pagemap"};
    static const char *const links[] = {"root", "cwd", "exe", "fd/0", "fd/3"};
    char path[64];
    char text[512];

    (void)attack;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "/proc/1/%s", files[i]);
        if (read_start(AT_FDCWD, path, text, sizeof(text)) > 0)
            return through("read %s", path);
    }
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        snprintf(path, sizeof(path), "/proc/1/%s", links[i]);
        if (readlink(path, text, sizeof(text)) > 0)
            return through("followed %s", path);
    }
    return HELD;
}

static enum verdict limits(const struct attack *attack)
{
    struct rlimit old;

    (void)attack;
    return prlimit((pid_t)bait_number("PID"), RLIMIT_NOFILE, NULL, &old) == 0
               ? through("read a limit of a process of the host")
               : HELD;
}

/* Its priority, for the processor and for the disk, and the processors that it runs on: given as they are. */
static enum verdict scheduling(const struct attack *attack)
{
    const pid_t pid = (pid_t)bait_number("PID");
    const struct sched_param normal = {0};
    const int best_effort = 2 << 13 | 4;
    cpu_set_t processors;

    (void)attack;
    CPU_ZERO(&processors);
    CPU_SET(0, &processors);
    if (setpriority(PRIO_PROCESS, (id_t)pid, 0) == 0 || sched_setscheduler(pid, SCHED_OTHER, &normal) == 0)
        return through("set the priority of a process of the host");
    if (syscall(SYS_ioprio_set, 1, pid, best_effort) == 0)
        return through("set the disk priority of a process of the host");
    return sched_setaffinity(pid, sizeof(processors), &processors) == 0
               ? through("set the processors of a process of the host")
               : HELD;
}

static enum verdict keyrings(const struct attack *attack)
{
    static const int rings[] = {-1 /* thread */, -2 /* process */, -3 /* session */, -4 /* user */,
                                -5 /* user session */};

    (void)attack;
    for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++)
        if (syscall(SYS_keyctl, 10 /* KEYCTL_SEARCH */, rings[i], "user", bait("NAME"), 0) >= 0)
            return through("found the key of the host");
    if (syscall(SYS_request_key, "user", bait("NAME"), NULL, 0) >= 0)
        return through("asked for the key of the host");
    return syscall(SYS_add_key, "user", bait("INTRUDER"), "x", 1, -5) >= 0 ? through("added a key") : HELD;
}

static enum verdict system_v(const struct attack *attack)
{
    key_t key = (key_t)bait_number("IPC_KEY");
    struct shmid_ds segment;

    (void)attack;
    if (shmget(key, 0, 0) >= 0)
        return through("found the shared memory of the host");
    if (semget(key, 0, 0) >= 0)
        return through("found the semaphores of the host");
    if (msgget(key, 0) >= 0)
        return through("found the message queue of the host");
    if (shmctl((int)bait_number("SHM_ID"), IPC_STAT, &segment) == 0)
        return through("looked at the shared memory of the host");
    /* The other way round: attack_test.sh looks whether the host has these now. */
    key = (key_t)bait_number("INTRUDER_KEY");
    if (!*bait("UNCONFINED") && (shmget(key, 4096, IPC_CREAT | 0666) < 0 || msgget(key, IPC_CREAT | 0666) < 0))
        return through("shared memory does not work in the box: %s", strerror(errno));
    return HELD;
}

static enum verdict posix_ipc(const struct attack *attack)
{
    char name[256];

    (void)attack;
    snprintf(name, sizeof(name), "/%s", bait("NAME"));
    if (shm_open(name, O_RDONLY, 0) >= 0)
        return through("opened the shared memory %s of the host", name);
    if (syscall(SYS_mq_open, bait("NAME"), O_RDONLY | O_NONBLOCK, 0, NULL) >= 0)
        return through("opened the message queue %s of the host", name);
    if (*bait("UNCONFINED"))
        return HELD;
    snprintf(name, sizeof(name), "/%s", bait("INTRUDER"));
    return shm_open(name, O_RDWR | O_CREAT, 0666) < 0
               ? through("/dev/shm does not work in the box: %s", strerror(errno))
               : HELD;
}

static enum verdict identity(const struct attack *attack)
{
    static const char *const files[] = {"/proc/self/uid_map", "/proc/self/gid_map", "/proc/self/setgroups"};
    const gid_t root_group = 0;

    (void)attack;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        int fd = open(files[i], O_WRONLY | O_CLOEXEC);

        if (fd >= 0 && write(fd, i < 2 ? "0 0 1" : "allow", 5) == 5)
            return through("wrote %s", files[i]);
        if (fd >= 0)
            close(fd);
    }
    if (setgroups(1, &root_group) == 0)
        return through("joined group 0");
    if (getuid() != 0 && (setresuid(0, 0, 0) == 0 || setresgid(0, 0, 0) == 0))
        return through("became root");
    return setresuid(12345, 12345, 12345) == 0 ? through("became somebody else") : HELD;
}

const struct attack process_attacks[] = {
    {.name = "process-signals", .run = signals, .flags = NEEDS_NAMESPACES},
    {.name = "process-trace", .run = trace},
    {.name = "process-memory", .run = memory},
    {.name = "process-descriptors", .run = foreign_descriptors},
    {.name = "process-compare", .run = compare},
    {.name = "process-namespaces", .run = namespaces},
    {.name = "process-init-secrets", .run = init_secrets},
    {.name = "process-limits", .run = limits},
    {.name = "process-scheduling", .run = scheduling},
    {.name = "process-keyrings", .run = keyrings},
    {.name = "process-system-v", .run = system_v, .flags = NEEDS_NAMESPACES},
    {.name = "process-posix-ipc", .run = posix_ipc, .flags = NEEDS_NAMESPACES},
    {.name = "process-identity", .run = identity},
    {0},
};
