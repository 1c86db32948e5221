/* What of the kernel can be seen and touched: /proc, /sys, devices, and the walls themselves. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    CALL_LANDLOCK_CREATE_RULESET = 444,
    CALL_LANDLOCK_RESTRICT_SELF = 446,
    CAPABILITIES = 64,
    LANDLOCK_LAYERS = 16,
    LANDLOCK_WITH_IOCTL = 5 /* the first version of Landlock that knows requests on devices */
};

static enum verdict privileges(const struct attack *attack)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

    (void)attack;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return through("new privileges can be had");
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2)
        return through("there is no filter");
    if (syscall(SYS_capget, &header, sets) < 0)
        return through("the capabilities cannot be asked for");
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        if (sets[i].effective || sets[i].permitted || sets[i].inheritable)
            return through("effective, permitted or inheritable capabilities: %x %x %x", sets[i].effective,
                           sets[i].permitted, sets[i].inheritable);
    for (int capability = 0; capability < CAPABILITIES; capability++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1)
            return through("capability %d is in the ambient set", capability);
    return HELD;
}

/* Outside of a user namespace of one's own, only a privileged caller could empty it. */
static enum verdict bounding_set(const struct attack *attack)
{
    (void)attack;
    for (int capability = 0; capability < CAPABILITIES; capability++)
        if (prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1)
            return through("capability %d is in the bounding set", capability);
    return HELD;
}

/* Of the groups of the machine that the caller is in, none may be left. */
static enum verdict groups(const struct attack *attack)
{
    gid_t list[64];
    int count = getgroups(64, list);

    (void)attack;
    for (int i = 0; i < count; i++)
        if (list[i] != getgid() && list[i] != 65534)
            return through("in group %d", (int)list[i]);
    return HELD;
}

static enum verdict proc_writes(const struct attack *attack)
{
    static const char *const paths[] = {"/proc/sys/kernel/core_pattern",
                                        "/proc/sys/kernel/modprobe",
                                        "/proc/sys/kernel/hotplug",
                                        "/proc/sys/kernel/hostname",
                                        "/proc/sys/kernel/ns_last_pid",
                                        "/proc/sys/kernel/yama/ptrace_scope",
                                        "/proc/sys/kernel/shmmax",
                                        "/proc/sys/vm/overcommit_memory",
                                        "/proc/sys/vm/drop_caches",
                                        "/proc/sys/fs/binfmt_misc/register",
                                        "/proc/sys/fs/pipe-max-size",
                                        "/proc/sys/net/ipv4/ip_forward",
                                        "/proc/sys/net/ipv4/ping_group_range",
                                        "/proc/sys/user/max_user_namespaces",
                                        "/proc/sysrq-trigger",
                                        "/proc/irq/default_smp_affinity",
                                        "/proc/irq/0/smp_affinity",
                                        "/proc/bus/pci/00/00.0",
                                        "/proc/mtrr",
                                        "/proc/acpi/wakeup",
                                        "/proc/scsi/scsi",
                                        "/proc/pressure/memory",
                                        "/proc/self/root/proc/sys/kernel/core_pattern",
                                        "/proc/1/root/proc/sys/kernel/core_pattern",
                                        "/proc/self/task/../../sys/kernel/core_pattern",
                                        "/sys/kernel/uevent_helper",
                                        "/sys/power/state",
                                        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                        "/sys/fs/cgroup/cgroup.procs",
                                        "/sys/kernel/mm/transparent_hugepage/enabled"};

    (void)attack;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        int fd = open(paths[i], O_WRONLY | O_CLOEXEC | O_NONBLOCK);

        if (fd < 0)
            continue;
        close(fd);
        return through("opened %s for writing", paths[i]);
    }
    return HELD;
}

static enum verdict proc_reads(const struct attack *attack)
{
    static const char *const paths[] = {
        "/proc/kcore",         "/proc/kallsyms",   "/proc/keys",        "/proc/timer_list",   "/proc/sched_debug",
        "/proc/kmsg",          "/proc/kpageflags", "/proc/kpagecount",  "/proc/slabinfo",     "/proc/vmallocinfo",
        "/proc/latency_stats", "/proc/scsi/scsi",  "/proc/acpi/wakeup", "/proc/pagetypeinfo", "/dev/mem",
        "/dev/kmsg",           "/dev/port"};
    char byte;

    (void)attack;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (read_start(AT_FDCWD, paths[i], &byte, 1) == 1)
            return through("read %s", paths[i]);
    return HELD;
}

static enum verdict sys_folder(const struct attack *attack)
{
    static const char *const paths[] = {"/sys/kernel",  "/sys/class",  "/sys/fs/cgroup",
                                        "/sys/devices", "/sys/fs/bpf", "/proc/sys/fs/binfmt_misc/status"};
    char byte;

    (void)attack;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct stat status;
        DIR *folder = NULL;

        if (stat(paths[i], &status) < 0)
            continue;
        if (!S_ISDIR(status.st_mode)) {
            if (read_start(AT_FDCWD, paths[i], &byte, 1) == 1)
                return through("read %s", paths[i]);
            continue;
        }
        folder = opendir(paths[i]);
        int entries = 0;

        while (folder && readdir(folder))
            entries++;
        if (folder)
            closedir(folder);
        if (entries > 2)
            return through("listed %s", paths[i]);
    }
    return HELD;
}

static bool is_harmless(const struct stat *status)
{
    unsigned high = major(status->st_rdev);
    unsigned low = minor(status->st_rdev);

    if (!S_ISCHR(status->st_mode))
        return !S_ISBLK(status->st_mode);
    if (high == 1) /* null, zero, full, random, urandom */
        return low == 3 || low == 5 || low == 7 || low == 8 || low == 9;
    return (high == 5 && (low == 0 || low == 2)) || (high >= 136 && high <= 143); /* tty, ptmx, pts */
}

static enum verdict devices(const struct attack *attack)
{
    static const char *const folders[] = {"/dev",     "/dev/pts",   "/dev/shm", "/dev/mapper",
                                          "/dev/net", "/dev/input", "/dev/dri"};
    char path[512];
    enum verdict verdict = HELD;

    (void)attack;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        DIR *folder = opendir(folders[i]);

        if (!folder)
            continue;
        for (const struct dirent *entry; verdict == HELD && (entry = readdir(folder));) {
            struct stat status;

            snprintf(path, sizeof(path), "%s/%s", folders[i], entry->d_name);
            if (lstat(path, &status) == 0 && !is_harmless(&status))
                verdict = through("there is the device %s", path);
        }
        closedir(folder);
    }
    return verdict;
}

static enum verdict terminal(const struct attack *attack)
{
    static const char *const paths[] = {"/dev/tty",  "/dev/console", "/dev/tty0",
                                        "/dev/tty1", "/dev/pts/0",   "/dev/ttyS0"};

    (void)attack;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (open(paths[i], O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) >= 0)
            return through("opened %s", paths[i]);
    return HELD;
}

/* Of sixteen possible layers of Landlock the box must have used at least one. */
static enum verdict landlock_is_on(const struct attack *attack)
{
    struct {
        unsigned long long file_access;
    } rules = {.file_access = 1 /* LANDLOCK_ACCESS_FS_EXECUTE */};
    int layers = 0;

    (void)attack;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int fd = (int)syscall(CALL_LANDLOCK_CREATE_RULESET, &rules, sizeof(rules), 0);

    if (fd < 0)
        return errno == EPERM ? HELD : through("Landlock cannot be asked (errno %d)", errno);
    while (layers < LANDLOCK_LAYERS && syscall(CALL_LANDLOCK_RESTRICT_SELF, fd, 0) == 0)
        layers++;
    return layers >= LANDLOCK_LAYERS ? through("no layer of Landlock was there before") : HELD;
}

/* Asking the random device for its entropy needs no privilege, so only Landlock can refuse it. */
static enum verdict landlock_on_devices(const struct attack *attack)
{
    long version = syscall(CALL_LANDLOCK_CREATE_RULESET, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */);
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    int bits = 0;

    (void)attack;
    if (fd < 0 || (version >= 0 && version < LANDLOCK_WITH_IOCTL))
        return HELD;
    bool answered = ioctl(fd, RNDGETENTCNT, &bits) == 0;

    close(fd);
    return answered ? through("a request on a device was answered") : HELD;
}

/* Where neither the workspace nor private folders are, nothing can be made even if a mount were writable. */
static enum verdict landlock_on_files(const struct attack *attack)
{
    static const char *const folders[] = {"/",    "/etc", "/usr",   "/dev", "/proc",
                                          "/var", "/bin", "/lib64", "/run", "/sys"};
    char path[256];

    (void)attack;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folders[i], bait("INTRUDER"));
        if (mkdir(path, 0777) == 0) {
            rmdir(path);
            return through("made a folder in %s", folders[i]);
        }
    }
    return HELD;
}

/* Every mount ignores setuid bits, and device nodes but for those below /dev and the null device that masks files of
 * /proc. */
static enum verdict mount_flags(const struct attack *attack)
{
    static char table[64 * 1024];
    ssize_t length = read_start(AT_FDCWD, "/proc/self/mountinfo", table, sizeof(table) - 1);
    char *rest = NULL;

    (void)attack;
    table[length < 0 ? 0 : length] = '\0';
    for (char *line = strtok_r(table, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char root[1024];
        char point[1024];
        char options[1024];

        if (sscanf(line, "%*s %*s %*s %1023s %1023s %1023s", root, point, options) != 3)
            continue;
        if (!strstr(options, "nosuid"))
            return through("%s heeds setuid bits", point);
        if (!strstr(options, "nodev") && strcmp(root, "/null") != 0 && strncmp(point, "/dev/", 5) != 0)
            return through("%s heeds device nodes", point);
    }
    return HELD;
}

const struct attack kernel_attacks[] = {
    {.name = "kernel-privileges", .run = privileges},
    {.name = "kernel-bounding-set", .run = bounding_set, .flags = NEEDS_NAMESPACES},
    {.name = "kernel-groups", .run = groups},
    {.name = "kernel-proc-writes", .run = proc_writes},
    {.name = "kernel-proc-reads", .run = proc_reads, .flags = NEEDS_NAMESPACES},
    {.name = "kernel-sys-folder", .run = sys_folder, .flags = NEEDS_NAMESPACES},
    {.name = "kernel-devices", .run = devices, .flags = NEEDS_NAMESPACES},
    {.name = "kernel-terminal", .run = terminal, .flags = NEEDS_NAMESPACES},
    {.name = "kernel-landlock-is-on", .run = landlock_is_on},
    {.name = "kernel-landlock-on-devices", .run = landlock_on_devices},
    {.name = "kernel-landlock-on-files", .run = landlock_on_files},
    {.name = "kernel-mount-flags", .run = mount_flags, .flags = NEEDS_NAMESPACES},
    {0},
};
