#include "walls.h"

#include "box.h"
#include "view_system.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- seccomp ---- */

struct filter_code {
    struct sock_filter *instructions;
    unsigned short count;
};

struct seccomp_program {
    struct filter_code full;
    struct filter_code reduced;
};

/* Calls that no command of a box needs, and that reach kernel code which is seldom walked or would build a nested box.
 */
static const char *const denied_calls[] = {
    /* namespaces and mounts */
    "unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick",
    "open_tree", "move_mount", "mount_setattr",
    /* kernel interfaces of wide reach */
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "fanotify_init",
    "fanotify_mark", "lookup_dcookie", "keyctl", "add_key", "request_key",
    /* other processes */
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp", "move_pages",
    "migrate_pages",
    /* the machine as a whole */
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module", "query_module",
    "get_kernel_syms", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "iopl", "ioperm",
    "settimeofday", "stime", "clock_settime", "adjtimex", "clock_adjtime", "sethostname", "setdomainname", "vhangup",
    "nfsservctl", "uselib", "modify_ldt", "_sysctl", "sysfs", "ustat",
    /* files past their names */
    "open_by_handle_at", "name_to_handle_at"};

/*
 * What only confinement landlock refuses besides, for Landlock has no word for it, and a command there has its user's
 * rights: to hear of files that it cannot open, and to read and write the attributes of files that it cannot read.
 */
static const char *const denied_without_view[] = {"inotify_init", "inotify_init1", "setxattr",  "lsetxattr",
                                                  "getxattr",     "lgetxattr",     "listxattr", "llistxattr",
                                                  "removexattr",  "lremovexattr"};

/* Calls whose first argument is a process and 0 for the own one: the limits and the share of the processors that other
 * processes of the same user have. */
static const char *const denied_on_others[] = {"prlimit64", "sched_setaffinity", "sched_setparam", "sched_setscheduler",
                                               "sched_setattr"};

/* Newer than the libseccomp that knows names: open_tree_attr is a mount call; setxattrat, getxattrat, listxattrat and
 * removexattrat come before it, file_getattr and file_setattr after it. The numbers are the same on every architecture.
 */
enum {
    FIRST_ATTRIBUTE_CALL = 463,
    CALL_OPEN_TREE_ATTR = 467,
    LAST_ATTRIBUTE_CALL = 469,
    FIRST_UNKNOWN_CALL = 470,
    LAST_UNKNOWN_CALL = 511
};

static const unsigned long new_namespaces[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWNET,
                                               CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};

#if defined(__s390x__)
enum { CLONE_FLAGS_ARGUMENT = 1 };
#else
enum { CLONE_FLAGS_ARGUMENT = 0 };
#endif

/* Adds a rule; the first failure stays in *RESULT. */
static void deny(scmp_filter_ctx context, int *result, uint32_t action, int call, unsigned count,
                 const struct scmp_arg_cmp *comparisons)
{
    int failed = *result ? 0 : seccomp_rule_add_array(context, action, call, count, comparisons);

    if (failed)
        *result = failed;
}

static void deny_named(scmp_filter_ctx context, int *result)
{
    for (size_t i = 0; i < sizeof denied_calls / sizeof *denied_calls; i++) {
        int call = seccomp_syscall_resolve_name(denied_calls[i]);

        if (call >= 0)
            deny(context, result, SCMP_ACT_ERRNO(EPERM), call, 0, NULL);
    }
    deny(context, result, SCMP_ACT_ERRNO(EPERM), CALL_OPEN_TREE_ATTR, 0, NULL);
    /* Its requests come off one count for the whole machine, fs.aio-max-nr. Databases that ask for it do without where
     * it is not there. */
    deny(context, result, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(io_setup), 0, NULL);
    /* One byte of a huge page keeps all of it in a pipe, where nothing counts it. Programs copy instead. */
    deny(context, result, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(vmsplice), 0, NULL);
    /* The C library falls back from clone3, whose flags a filter cannot see, to clone, whose flags it can. */
    deny(context, result, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0, NULL);
    /* What a later kernel brings is not there for a box until somebody has looked at it. */
    for (int call = FIRST_UNKNOWN_CALL; call <= LAST_UNKNOWN_CALL; call++)
        deny(context, result, SCMP_ACT_ERRNO(ENOSYS), call, 0, NULL);
}

static void deny_by_argument(scmp_filter_ctx context, int *result)
{
    const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
    /* The kernel looks at the low 32 bits of these arguments only, so the filter must not look at the others. */
    const uint64_t low = UINT32_MAX;
    const struct scmp_arg_cmp push = SCMP_A1_64(SCMP_CMP_MASKED_EQ, low, TIOCSTI);
    const struct scmp_arg_cmp console = SCMP_A1_64(SCMP_CMP_MASKED_EQ, low, TIOCLINUX);
    const struct scmp_arg_cmp no_query = SCMP_A0_64(SCMP_CMP_NE, UINT32_MAX, 0);
    const mode_t kinds[] = {S_IFCHR, S_IFBLK};

    for (size_t i = 0; i < sizeof new_namespaces / sizeof *new_namespaces; i++) {
        const struct scmp_arg_cmp flag =
            SCMP_CMP64(CLONE_FLAGS_ARGUMENT, SCMP_CMP_MASKED_EQ, new_namespaces[i], new_namespaces[i]);

        deny(context, result, refuse, SCMP_SYS(clone), 1, &flag);
    }
    deny(context, result, refuse, SCMP_SYS(ioctl), 1, &push);
    deny(context, result, refuse, SCMP_SYS(ioctl), 1, &console);
    deny(context, result, refuse, SCMP_SYS(personality), 1, &no_query);
    for (size_t i = 0; i < 2; i++) {
        const struct scmp_arg_cmp mode = SCMP_A1_64(SCMP_CMP_MASKED_EQ, S_IFMT, kinds[i]);
        const struct scmp_arg_cmp mode_at = SCMP_A2_64(SCMP_CMP_MASKED_EQ, S_IFMT, kinds[i]);

        if (SCMP_SYS(mknod) >= 0)
            deny(context, result, refuse, SCMP_SYS(mknod), 1, &mode);
        deny(context, result, refuse, SCMP_SYS(mknodat), 1, &mode_at);
    }
}

/* Of the socket families UNIX, INET, INET6 and NETLINK (ROUTE only) are left; each of them is the network namespace's
 * own. Of the protocols TCP and UDP, for the guard sees the queues of no other (keeper/gauges.c): programs that would
 * like MPTCP do with TCP. */
static void deny_socket_families(scmp_filter_ctx context, int *result)
{
    const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
    const struct scmp_arg_cmp beyond = SCMP_A0_64(SCMP_CMP_GT, AF_NETLINK, 0);
    const struct scmp_arg_cmp netlink[] = {SCMP_A0_64(SCMP_CMP_EQ, AF_NETLINK, 0), SCMP_A2_64(SCMP_CMP_NE, 0, 0)};
    const struct scmp_arg_cmp others[] = {SCMP_A0_64(SCMP_CMP_NE, AF_NETLINK, 0),
                                          SCMP_A2_64(SCMP_CMP_GT, IPPROTO_UDP, 0)};

    for (unsigned family = 0; family < AF_NETLINK; family++) {
        const struct scmp_arg_cmp same = SCMP_A0_64(SCMP_CMP_EQ, family, 0);

        if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
            deny(context, result, refuse, SCMP_SYS(socket), 1, &same);
    }
    deny(context, result, refuse, SCMP_SYS(socket), 1, &beyond);
    deny(context, result, refuse, SCMP_SYS(socket), 2, netlink);
    deny(context, result, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 2, others);
}

/*
 * Without a network namespace no socket may be made at all: not INET, but not UNIX either, for Landlock does not keep a
 * command from connecting to a D-Bus or container engine's socket of the host. A socketpair of streams cannot be
 * connected elsewhere and stays allowed; one of datagrams can. System V and POSIX IPC would be the host's too.
 */
static void deny_sockets(scmp_filter_ctx context, int *result)
{
    static const char *const shared[] = {"shmget",     "shmat",   "shmctl", "semget",     "semop",
                                         "semtimedop", "semctl",  "msgget", "msgsnd",     "msgrcv",
                                         "msgctl",     "mq_open", "ipc",    "socketcall", "mq_unlink"};
    const unsigned kinds[] = {SOCK_DGRAM, SOCK_RAW};

    deny(context, result, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 0, NULL);
    for (size_t i = 0; i < 2; i++) {
        const struct scmp_arg_cmp kind = SCMP_A1_64(SCMP_CMP_MASKED_EQ, 0xf, kinds[i]);

        deny(context, result, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socketpair), 1, &kind);
    }
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        int call = seccomp_syscall_resolve_name(shared[i]);

        if (call >= 0)
            deny(context, result, SCMP_ACT_ERRNO(EPERM), call, 0, NULL);
    }
}

/* What touches other processes and files of the user, where there are no namespaces to hide them. */
static void deny_without_view(scmp_filter_ctx context, int *result)
{
    const struct scmp_arg_cmp other = SCMP_A0_64(SCMP_CMP_NE, 0, 0);
    const struct scmp_arg_cmp other_second = SCMP_A1_64(SCMP_CMP_NE, 0, 0);
    const struct scmp_arg_cmp user = SCMP_A0_64(SCMP_CMP_MASKED_EQ, UINT32_MAX, PRIO_USER);
    const struct scmp_arg_cmp io_user = SCMP_A0_64(SCMP_CMP_MASKED_EQ, UINT32_MAX, IOPRIO_WHO_USER);

    for (size_t i = 0; i < sizeof denied_on_others / sizeof *denied_on_others; i++)
        deny(context, result, SCMP_ACT_ERRNO(EPERM), seccomp_syscall_resolve_name(denied_on_others[i]), 1, &other);
    deny(context, result, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setpriority), 1, &other_second);
    deny(context, result, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setpriority), 1, &user);
    deny(context, result, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioprio_set), 1, &other_second);
    deny(context, result, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioprio_set), 1, &io_user);
    /* As of a file system that has none: programs that copy files put up with that. */
    for (size_t i = 0; i < sizeof denied_without_view / sizeof *denied_without_view; i++) {
        int call = seccomp_syscall_resolve_name(denied_without_view[i]);

        if (call >= 0)
            deny(context, result, SCMP_ACT_ERRNO(EOPNOTSUPP), call, 0, NULL);
    }
    for (int call = FIRST_ATTRIBUTE_CALL; call <= LAST_ATTRIBUTE_CALL; call++)
        if (call != CALL_OPEN_TREE_ATTR)
            deny(context, result, SCMP_ACT_ERRNO(ENOSYS), call, 0, NULL);
}

/* Writes the instructions of the filter for CONFINEMENT to FD. */
static int write_filter(int fd, enum confinement confinement)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    int result = context ? 0 : -ENOMEM;

    if (!context)
        return -1;
    /* A 32-bit or x32 call has other numbers: none of the rules would see it, so it ends the process. */
    if (seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) < 0 ||
        seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2) < 0)
        result = -EINVAL;
    deny_named(context, &result);
    deny_by_argument(context, &result);
    if (confinement == CONFINEMENT_LANDLOCK) {
        deny_sockets(context, &result);
        deny_without_view(context, &result);
    } else {
        deny_socket_families(context, &result);
    }
    if (result == 0)
        result = seccomp_export_bpf(context, fd);
    seccomp_release(context);
    return result;
}

static int read_code(int fd, struct filter_code *code)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return -1;
    const size_t size = (size_t)status.st_size;

    code->count = (unsigned short)(size / sizeof *code->instructions);
    code->instructions = malloc(size);
    return code->instructions && pread(fd, code->instructions, size, 0) == (ssize_t)size ? 0 : -1;
}

/*
 * libseccomp works in a child: it leaves a megabyte of free heap behind, over which the caller's own memory would then
 * be scattered. Every box begins as a copy of that, and keeps each page that the keeper goes on writing to.
 */
static int make_filter(struct filter_code *code, enum confinement confinement)
{
    AUTO_CLOSE int fd = memfd_create("seccomp", MFD_CLOEXEC);
    const pid_t pid = fd >= 0 ? _Fork() : -1;
    int status = -1;

    if (pid == 0)
        _exit(write_filter(fd, confinement) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status == 0 ? read_code(fd, code) : -1;
}

struct seccomp_program *walls_filter_new(char *reason, size_t reason_size)
{
    struct seccomp_program *program = calloc(1, sizeof *program);

    if (program && make_filter(&program->full, CONFINEMENT_FULL) == 0 &&
        make_filter(&program->reduced, CONFINEMENT_LANDLOCK) == 0)
        return program;
    walls_filter_free(program);
    snprintf(reason, reason_size,
             "the seccomp filter cannot be written: libseccomp refused a rule or memory is short; "
             "use libseccomp 2.5 or later");
    return NULL;
}

void walls_filter_free(struct seccomp_program *program)
{
    if (!program)
        return;
    free(program->full.instructions);
    free(program->reduced.instructions);
    free(program);
}

int walls_filter_load(const struct seccomp_program *program, enum confinement confinement, struct reason *reason)
{
    const struct filter_code *code = confinement == CONFINEMENT_FULL ? &program->full : &program->reduced;
    const struct sock_fprog filter = {.len = code->count, .filter = code->instructions};

    /* Safe: a filter can only take away, and no_new_privs is set. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0)
        return 0;
    return reason_set(reason,
                      "the seccomp filter cannot be loaded (%s): use a kernel with CONFIG_SECCOMP_FILTER, or an "
                      "outer container that allows seccomp(2)",
                      strerror(errno));
}

/* ---- capabilities ---- */

void walls_drop_bounding_set(void)
{
    for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) > 0; capability++)
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

int walls_drop_capabilities(struct reason *reason)
{
    const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                               SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                               SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};

    /* The locked bits make user 0 of the box nobody special. Needs CAP_SETPCAP, which only a full box has here. */
    prctl(PR_SET_SECUREBITS, bits, 0, 0, 0);
    walls_drop_bounding_set();
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    /* Safe: rights are only given up from here on. */
    if (syscall(SYS_capset, &header, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return reason_set(reason, "capabilities cannot be dropped: %s; the outer container forbids it",
                          strerror(errno));
    return 0;
}

/* ---- Landlock ---- */

/* The kernel's interface as of ABI 6, for the headers of the build machine may be older than its kernel. */
struct ruleset {
    uint64_t handled_access_fs;
    uint64_t handled_access_net; /* ABI 4 */
    uint64_t scoped;             /* ABI 6 */
};

enum {
    REFER_ABI = 2,
    TRUNCATE_ABI = 3,
    NET_ABI = 4,
    IOCTL_ABI = 5,
    SCOPE_ABI = 6,
    ACCESS_TRUNCATE = 1 << 14,
    ACCESS_IOCTL = 1 << 15,
    ACCESS_OF_ABI_1 = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1,
    ACCESS_DEVICES = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK,
    ACCESS_READ = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    ACCESS_USE = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE,
    /* Those that a rule for a single file may name. */
    ACCESS_OF_FILES = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
                      ACCESS_TRUNCATE | ACCESS_IOCTL,
    NET_ALL = 3,  /* bind and connect by TCP */
    SCOPE_ALL = 3 /* abstract UNIX sockets and signals */
};

/* A ruleset under construction. */
struct domain {
    int fd;
    uint64_t all; /* every right to files that this kernel knows */
};

/* Begins a ruleset with all that the kernel knows. LEAST is the oldest ABI that will do. */
static int domain_new(struct domain *domain, int least, bool network, struct reason *reason)
{
    const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct ruleset ruleset = {.handled_access_fs = ACCESS_OF_ABI_1};

    if (abi < 1)
        return reason_set(reason,
                          "Landlock is not there (%s): use Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK, and "
                          "put landlock into the boot parameter lsm=",
                          strerror(errno));
    if (abi < least)
        return reason_set(reason,
                          "Landlock of this kernel has ABI %ld, and this confinement needs %d (Linux 6.12), because "
                          "earlier ones do not guard signals; use a newer kernel or confinement full",
                          abi, least);
    if (abi >= REFER_ABI)
        ruleset.handled_access_fs |= LANDLOCK_ACCESS_FS_REFER;
    if (abi >= TRUNCATE_ABI)
        ruleset.handled_access_fs |= ACCESS_TRUNCATE;
    if (abi >= IOCTL_ABI)
        ruleset.handled_access_fs |= ACCESS_IOCTL;
    if (abi >= NET_ABI && !network)
        ruleset.handled_access_net = NET_ALL;
    if (abi >= SCOPE_ABI)
        ruleset.scoped = SCOPE_ALL;
    domain->all = ruleset.handled_access_fs;
    /* Older kernels take the longer struct too, as long as what they do not know is zero. */
    domain->fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0);
    if (domain->fd < 0)
        return reason_set(reason, "a Landlock ruleset cannot be made: %s; free memory, then try again",
                          strerror(errno));
    return 0;
}

/* Allows ACCESS below PATH of FOLDER_FD. What is not there needs no rule. */
static void domain_allow(const struct domain *domain, int folder_fd, const char *path, uint64_t access)
{
    AUTO_CLOSE int fd = openat(folder_fd, path, O_PATH | O_CLOEXEC);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return;
    if (!S_ISDIR(status.st_mode))
        access &= ACCESS_OF_FILES;
    const struct landlock_path_beneath_attr rule = {.allowed_access = access & domain->all, .parent_fd = fd};

    /* A rule that is refused allows nothing: the wall is then higher, not lower. */
    syscall(SYS_landlock_add_rule, domain->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

int walls_landlock_box(struct reason *reason)
{
    struct domain domain = {.fd = -1};

    if (domain_new(&domain, 1, true, reason) < 0)
        return -1;
    AUTO_CLOSE int fd = domain.fd;
    const uint64_t everything = domain.all & ~(uint64_t)ACCESS_DEVICES & ~(uint64_t)ACCESS_IOCTL;

    /* "/" takes new entries, and a rule holds for all below: the system is kept by its read-only mounts and its owner.
     */
    domain_allow(&domain, AT_FDCWD, "/", everything);
    domain_allow(&domain, AT_FDCWD, "/proc", ACCESS_USE);
    domain_allow(&domain, AT_FDCWD, "/dev", ACCESS_USE | ACCESS_TRUNCATE);
    domain_allow(&domain, AT_FDCWD, "/dev/pts", ACCESS_USE | ACCESS_IOCTL);
    domain_allow(&domain, AT_FDCWD, "/dev/tty", ACCESS_USE | ACCESS_IOCTL);
    /* Safe: a domain can only take away. */
    if (walls_landlock_enter(fd) < 0)
        return reason_set(reason, "the Landlock domain cannot be entered: %s; see `sandlot doctor`", strerror(errno));
    return 0;
}

int walls_landlock_ruleset(int storage_fd, const struct box_mount *mounts, size_t count, struct reason *reason)
{
    static const char *const systems[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
    static const char *const facts[] = {"/proc/cpuinfo", "/proc/meminfo", "/proc/stat",       "/proc/loadavg",
                                        "/proc/uptime",  "/proc/version", "/proc/filesystems"};
    static const char *const own[] = {"upper", "tmp", "home"};
    struct domain domain = {.fd = -1};
    char path[64];

    if (domain_new(&domain, SCOPE_ABI, false, reason) < 0)
        return -1;
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        domain_allow(&domain, AT_FDCWD, systems[i], ACCESS_READ);
    for (const char *const *name = view_etc; *name; name++) {
        snprintf(path, sizeof path, "/etc/%s", *name);
        domain_allow(&domain, AT_FDCWD, path, ACCESS_READ);
    }
    for (const char *const *name = view_packages; *name; name++)
        domain_allow(&domain, AT_FDCWD, *name, ACCESS_READ);
    for (size_t i = 0; i < count; i++)
        domain_allow(&domain, mounts[i].fd, ".", ACCESS_READ);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        domain_allow(&domain, AT_FDCWD, devices[i],
                     LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE);
    /* The command's own terminal, where it was given one: every other command leads a session without any. */
    domain_allow(&domain, AT_FDCWD, "/dev/tty",
                 LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_IOCTL);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        domain_allow(&domain, AT_FDCWD, facts[i], LANDLOCK_ACCESS_FS_READ_FILE);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        domain_allow(&domain, storage_fd, own[i], domain.all & ~(uint64_t)ACCESS_DEVICES & ~(uint64_t)ACCESS_IOCTL);
    return domain.fd;
}

int walls_landlock_enter(int ruleset)
{
    return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

/* ---- limits ---- */

static void add_limit(struct limits *limits, int resource, rlim_t value)
{
    limits->entries[limits->count].resource = resource;
    limits->entries[limits->count++].value = value;
}

/* What a box may have of something that its user has so much of. */
static rlim_t share_of(int resource)
{
    struct rlimit limit;

    return getrlimit(resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ? RLIM_INFINITY
                                                                              : limit.rlim_cur / WALLS_SHARE;
}

void walls_limits(const struct settings *settings, bool memory_cgroup, rlim_t others, struct limits *limits)
{
    const rlim_t mebibyte = 1024 * 1024;
    const rlim_t locked = 64 * 1024;

    limits->count = 0;
    /* 1 and not 0: only that keeps a core dump from the program in core_pattern too, which would run as root (core(5)).
     */
    add_limit(limits, RLIMIT_CORE, 1);
    add_limit(limits, RLIMIT_MEMLOCK, locked);
    /* Both are counted for the user, so that one box must not have all of them. */
    add_limit(limits, RLIMIT_SIGPENDING, share_of(RLIMIT_SIGPENDING));
    add_limit(limits, RLIMIT_MSGQUEUE, share_of(RLIMIT_MSGQUEUE));
    if (settings->open_files > 0)
        add_limit(limits, RLIMIT_NOFILE, (rlim_t)settings->open_files);
    /* The kernel counts init and the supervisors too. */
    if (settings->processes > 0)
        add_limit(limits, RLIMIT_NPROC, (rlim_t)settings->processes + others);
    if (settings->disk_mb > 0)
        add_limit(limits, RLIMIT_FSIZE, (rlim_t)settings->disk_mb * mebibyte);
    /* Only where nothing better counts: it takes reserved memory for used, which sanitizers and virtual machines
     * reserve freely. */
    if (settings->memory_mb > 0 && !memory_cgroup)
        add_limit(limits, RLIMIT_DATA, (rlim_t)settings->memory_mb * mebibyte);
}

void walls_limits_apply(const struct limits *limits)
{
    for (size_t i = 0; i < limits->count; i++) {
        struct rlimit limit;

        if (getrlimit(limits->entries[i].resource, &limit) < 0)
            continue;
        /* A limit that is lower already stays: only a privileged process may raise one. */
        if (limit.rlim_max > limits->entries[i].value)
            limit.rlim_max = limits->entries[i].value;
        limit.rlim_cur = limit.rlim_max;
        setrlimit(limits->entries[i].resource, &limit);
    }
}
