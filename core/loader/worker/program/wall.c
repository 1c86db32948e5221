/* What the provider's code must not reach: everything but what it was given. */
#include "loader/worker/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- files: Landlock --------------------------------------------------------------------------------------------- */

/* The kernel's interface as of ABI 6, for the headers of the build machine may be older than its kernel. */
struct ruleset {
    uint64_t handled_access_fs;
    uint64_t handled_access_net; /* ABI 4 */
    uint64_t scoped;             /* ABI 6 */
};

enum {
    REFER_ABI = 2,
    TRUNCATE_ABI = 3,
    IOCTL_ABI = 5,
    SCOPE_ABI = 6,
    ACCESS_TRUNCATE = 1 << 14,
    ACCESS_IOCTL = 1 << 15,
    ACCESS_OF_ABI_1 = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1,
    ACCESS_DEVICES = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK,
    ACCESS_READ = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    /* Those that a rule for a single file may name. */
    ACCESS_OF_FILES = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
                      ACCESS_TRUNCATE | ACCESS_IOCTL,
    SCOPE_ALL = 3 /* abstract UNIX sockets and signals */
};

/* A ruleset under construction. */
struct domain {
    int fd;
    uint64_t all; /* every right to files that this kernel knows */
};

/* False: there is no Landlock here. */
static bool domain_new(struct domain *domain)
{
    const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct ruleset ruleset = {.handled_access_fs = ACCESS_OF_ABI_1};

    if (abi < 1)
        return false;
    ruleset.handled_access_fs |= abi >= REFER_ABI ? LANDLOCK_ACCESS_FS_REFER : 0;
    ruleset.handled_access_fs |= abi >= TRUNCATE_ABI ? ACCESS_TRUNCATE : 0;
    ruleset.handled_access_fs |= abi >= IOCTL_ABI ? ACCESS_IOCTL : 0;
    ruleset.scoped = abi >= SCOPE_ABI ? SCOPE_ALL : 0;
    domain->all = ruleset.handled_access_fs;
    /* Older kernels take the longer struct too, as long as what they do not know is zero. */
    domain->fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
    return domain->fd >= 0;
}

/* Allows ACCESS at PATH. What is not there needs no rule; one that is refused allows nothing. */
static void domain_allow(const struct domain *domain, const char *path, uint64_t access)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat status;

    if (fd < 0)
        return;
    if (fstat(fd, &status) < 0 || !S_ISDIR(status.st_mode))
        access &= ACCESS_OF_FILES;
    const struct landlock_path_beneath_attr rule = {.allowed_access = access & domain->all, .parent_fd = fd};

    syscall(SYS_landlock_add_rule, domain->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(fd);
}

static void domain_allow_each(const struct domain *domain, const char *const *paths, uint64_t access)
{
    for (; *paths; paths++)
        domain_allow(domain, *paths, access);
}

/* Programs, libraries, certificates, and how to find a host by its name. */
static void allow_system(const struct domain *domain)
{
    static const char *const folders[] = {
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
        "/run/current-system", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/connman",
        /* what programs ask for that look how large the machine is */
        "/proc/self", "/proc/sys", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime",
        "/proc/version", "/proc/filesystems", "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup",
        "/sys/kernel/mm", NULL};
    static const char *const public_settings[] = {"/etc/resolv.conf",
                                                  "/etc/hosts",
                                                  "/etc/host.conf",
                                                  "/etc/nsswitch.conf",
                                                  "/etc/gai.conf",
                                                  "/etc/services",
                                                  "/etc/protocols",
                                                  "/etc/networks",
                                                  "/etc/passwd",
                                                  "/etc/group",
                                                  "/etc/localtime",
                                                  "/etc/timezone",
                                                  "/etc/ld.so.cache",
                                                  "/etc/ld.so.conf",
                                                  "/etc/ld.so.conf.d",
                                                  "/etc/ssl/certs",
                                                  "/etc/ssl/openssl.cnf",
                                                  "/etc/ca-certificates",
                                                  "/etc/pki/tls/certs",
                                                  "/etc/pki/ca-trust",
                                                  "/etc/crypto-policies",
                                                  "/etc/os-release",
                                                  "/etc/alternatives",
                                                  "/etc/mime.types",
                                                  "/etc/locale.alias",
                                                  "/etc/profile",
                                                  "/etc/inputrc",
                                                  "/etc/terminfo",
                                                  NULL};
    static const char *const settings[] = {"/etc", NULL};

    domain_allow_each(domain, folders, ACCESS_READ);
    /* All of /etc, because a file there is replaced by another one when the network changes; but what only root may
     * read there is not for a provider of root's. */
    domain_allow_each(domain, geteuid() == 0 ? public_settings : settings, ACCESS_READ);
}

/* Where providers put what they need for a moment, and the devices without a memory. */
static void allow_scratch(const struct domain *domain, uint64_t everything)
{
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", NULL};

    domain_allow_each(domain, devices, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE);
    domain_allow(domain, "/tmp", everything);
}

/* PLACES: each with "r" or "w" before it, ended by NULL. False: there is no Landlock here. */
static bool shut_files(char *const *places)
{
    struct domain domain;

    if (!domain_new(&domain))
        return false;
    const uint64_t everything = domain.all & ~(uint64_t)(ACCESS_DEVICES | ACCESS_IOCTL);

    allow_system(&domain);
    allow_scratch(&domain, everything);
    for (; *places; places++)
        domain_allow(&domain, *places + 1, **places == 'w' ? everything : ACCESS_READ);
    if (syscall(SYS_landlock_restrict_self, domain.fd, 0) < 0)
        worker_give_up("the provider cannot be confined: the kernel refuses its Landlock domain");
    close(domain.fd);
    return true;
}

/* ---- calls: seccomp ---------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define OUR_ARCHITECTURE (AUDIT_ARCH_X86_64)
#elif defined(__aarch64__)
#define OUR_ARCHITECTURE (AUDIT_ARCH_AARCH64)
#elif defined(__riscv) && __riscv_xlen == 64
#define OUR_ARCHITECTURE (AUDIT_ARCH_RISCV64)
#elif defined(__i386__)
#define OUR_ARCHITECTURE (AUDIT_ARCH_I386)
#elif defined(__arm__)
#define OUR_ARCHITECTURE (AUDIT_ARCH_ARM)
#elif defined(__powerpc64__)
#define OUR_ARCHITECTURE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? AUDIT_ARCH_PPC64LE : AUDIT_ARCH_PPC64)
#elif defined(__s390x__)
#define OUR_ARCHITECTURE (AUDIT_ARCH_S390X)
#elif defined(__loongarch__)
#define OUR_ARCHITECTURE (AUDIT_ARCH_LOONGARCH64)
#else
#error "add the audit architecture of this processor"
#endif

/* The sanitizers' search for leaks traces its own process. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MAY_TRACE 1
#endif
#endif
#if !defined(MAY_TRACE) && defined(__SANITIZE_ADDRESS__)
#define MAY_TRACE 1
#endif
#ifndef MAY_TRACE
#define MAY_TRACE 0
#endif

/* Ways past the names of files, into other processes, and to keys that the kernel holds for the user. io_uring makes
 * calls that no filter sees. */
static const int refused_calls[] = {SYS_process_vm_readv,
                                    SYS_process_vm_writev,
                                    SYS_kcmp,
                                    SYS_pidfd_getfd,
                                    SYS_process_madvise,
                                    SYS_perf_event_open,
                                    SYS_bpf,
                                    SYS_userfaultfd,
                                    SYS_keyctl,
                                    SYS_add_key,
                                    SYS_request_key,
                                    SYS_io_uring_setup,
                                    SYS_io_uring_enter,
                                    SYS_io_uring_register,
                                    SYS_open_by_handle_at,
                                    SYS_unshare,
                                    SYS_setns,
                                    SYS_mount,
                                    SYS_umount2,
                                    SYS_pivot_root,
                                    SYS_open_tree,
                                    SYS_move_mount,
                                    SYS_fsopen,
                                    SYS_fsmount,
                                    SYS_mount_setattr,
#ifdef SYS_shmget
                                    SYS_shmget,
                                    SYS_shmat,
                                    SYS_shmctl,
                                    SYS_semget,
                                    SYS_semctl,
                                    SYS_msgget,
                                    SYS_msgctl,
                                    SYS_msgsnd,
                                    SYS_msgrcv,
#endif
                                    SYS_mq_open};

enum { MOST_INSTRUCTIONS = 256, REFUSED = SECCOMP_RET_ERRNO | EACCES };

struct program {
    struct sock_filter code[MOST_INSTRUCTIONS];
    unsigned short length;
};

static void put(struct program *program, unsigned code, uint32_t value, unsigned if_true, unsigned if_false)
{
    program->code[program->length++] = (struct sock_filter){(uint16_t)code, (uint8_t)if_true, (uint8_t)if_false, value};
}

static void load(struct program *program, size_t offset)
{
    put(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void refuse_call(struct program *program, int call)
{
    put(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1);
    put(program, BPF_RET | BPF_K, REFUSED, 0, 0);
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { LOW_HALF = 0 };
#else
enum { LOW_HALF = 4 };
#endif

/* Refuses CALL if its argument INDEX, masked, is VALUE, or (NOT) is another one. */
static void refuse_argument(struct program *program, int call, size_t index, uint32_t mask, uint32_t value, bool not )
{
    put(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 5);
    load(program, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t) + LOW_HALF);
    put(program, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    put(program, BPF_JMP | BPF_JEQ | BPF_K, value, not, !not );
    put(program, BPF_RET | BPF_K, REFUSED, 0, 0);
    load(program, offsetof(struct seccomp_data, nr));
}

/*
 * No sockets of the machine's own: behind them are the session's services, key agents and container engines, which do
 * what a stranger asks for as if the user did. A pair of streams leads nowhere else; one of datagrams may.
 */
static void refuse_local_sockets(struct program *program)
{
    const uint32_t kind = 0xf;
    const uint32_t all = UINT32_MAX;

    refuse_argument(program, SYS_socket, 0, all, AF_UNIX, false);
    refuse_argument(program, SYS_socketpair, 1, kind, SOCK_DGRAM, false);
    refuse_argument(program, SYS_socketpair, 1, kind, SOCK_RAW, false);
}

/* The limits and the share of the processors that other processes of the user have; its own are those of process 0. */
static void refuse_on_others(struct program *program)
{
    static const int first_is_process[] = {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setparam,
                                           SYS_sched_setscheduler, SYS_sched_setattr};
    const uint32_t all = UINT32_MAX;

    for (size_t i = 0; i < sizeof(first_is_process) / sizeof(first_is_process[0]); i++)
        refuse_argument(program, first_is_process[i], 0, all, 0, true);
    refuse_argument(program, SYS_setpriority, 1, all, 0, true);
    refuse_argument(program, SYS_setpriority, 0, all, PRIO_USER, false);
    refuse_argument(program, SYS_ioprio_set, 1, all, 0, true);
    refuse_argument(program, SYS_ioprio_set, 0, all, IOPRIO_WHO_USER, false);
}

static void shut_calls(void)
{
    struct program program = {.length = 0};

    load(&program, offsetof(struct seccomp_data, arch));
    put(&program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)OUR_ARCHITECTURE, 1, 0);
    put(&program, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0); /* other numbers, which no rule knows */
    load(&program, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
    put(&program, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* likewise x32 */
    put(&program, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
#endif
    for (size_t i = 0; i < sizeof(refused_calls) / sizeof(refused_calls[0]); i++)
        refuse_call(&program, refused_calls[i]);
    if (!MAY_TRACE)
        refuse_call(&program, SYS_ptrace);
    refuse_local_sockets(&program);
    refuse_on_others(&program);
    put(&program, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    const struct sock_fprog filter = {.len = program.length, .filter = program.code};

    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) < 0)
        worker_give_up("the provider cannot be confined: the kernel refuses its system call filter (seccomp); use one "
                       "with CONFIG_SECCOMP_FILTER");
}

/* ---- rights ------------------------------------------------------------------------------------------------------ */

/* Root's worker is an ordinary process of user 0; nobody's can become more than it is. */
static void drop_rights(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};

    for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) > 0; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
            break; /* an ordinary user's: nothing in it can be had */
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &header, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        worker_give_up("the provider cannot be confined: its capabilities cannot be dropped");
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return written;
}

/* The same user in a namespace of its own. */
static bool enter_user_namespace(void)
{
    const unsigned user = geteuid();
    const unsigned group = getegid();
    char users[64];
    char groups[64];

    snprintf(users, sizeof(users), "%u %u 1", user, user);
    snprintf(groups, sizeof(groups), "%u %u 1", group, group);
    return unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/uid_map", users) && write_text("/proc/self/gid_map", groups);
}

/*
 * Without Landlock, a user namespace still keeps other processes' memory and environment out of reach: the kernel asks
 * whoever reads them for rights in theirs. Tried in a child first, for one that can be entered but not filled leaves a
 * process without its user.
 */
static void shut_processes(void)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(enter_user_namespace() ? EXIT_SUCCESS : EXIT_FAILURE);
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
        enter_user_namespace();
}

void wall_raise(char *const *places)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* the kernel lets nobody in who could gain rights afterwards */
    if (!shut_files(places))
        shut_processes();
    drop_rights();
    shut_calls();
}
