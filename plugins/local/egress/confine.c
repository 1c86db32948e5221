#include "confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <malloc.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DATA_MOST = 128 << 20, FILES_MOST = 1024 };

int confine_rights(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    const struct rlimit data = {DATA_MOST, DATA_MOST};
    const struct rlimit files = {FILES_MOST, FILES_MOST};
    const struct rlimit core = {1, 1}; /* not 0, by which a program in core_pattern would still get a dump (core(5)) */

    setrlimit(RLIMIT_DATA, &data);
    setrlimit(RLIMIT_NOFILE, &files);
    setrlimit(RLIMIT_CORE, &core);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* Safe: rights are only given up from here on. */
    if (syscall(SYS_capset, &header, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return 0;
}

/* Those of the loop, of TCP, and of the C library's memory. */
static const int allowed[] = {
    SCMP_SYS(read),        SCMP_SYS(write),         SCMP_SYS(recvfrom),     SCMP_SYS(recvmsg),
    SCMP_SYS(sendto),      SCMP_SYS(sendmsg),       SCMP_SYS(splice),       SCMP_SYS(pread64),
    SCMP_SYS(pwrite64),    SCMP_SYS(close),         SCMP_SYS(epoll_wait),   SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_ctl),   SCMP_SYS(poll),          SCMP_SYS(ppoll),        SCMP_SYS(accept4),
    SCMP_SYS(connect),     SCMP_SYS(shutdown),      SCMP_SYS(getsockopt),   SCMP_SYS(setsockopt),
    SCMP_SYS(getpeername), SCMP_SYS(getsockname),   SCMP_SYS(munmap),       SCMP_SYS(brk),
    SCMP_SYS(madvise),     SCMP_SYS(clock_gettime), SCMP_SYS(exit),         SCMP_SYS(exit_group),
    SCMP_SYS(futex),       SCMP_SYS(getrandom),     SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall),
};

static int allow(scmp_filter_ctx context)
{
    const int types = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

    for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
        if (seccomp_rule_add(context, SCMP_ACT_ALLOW, allowed[i], 0) < 0)
            return -1;
    if (seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, AF_INET),
                         SCMP_A1(SCMP_CMP_EQ, (unsigned)types)) < 0 ||
        seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, AF_INET6),
                         SCMP_A1(SCMP_CMP_EQ, (unsigned)types)) < 0)
        return -1;
    /* Memory of its own that is never code. */
    return seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                            SCMP_A2(SCMP_CMP_MASKED_EQ, (unsigned)PROT_EXEC, 0),
                            SCMP_A3(SCMP_CMP_MASKED_EQ, (unsigned)MAP_ANONYMOUS, (unsigned)MAP_ANONYMOUS));
}

int confine_calls(void)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int result = context ? 0 : -1;

    /* Safe: a filter can only take away. */
    if (result == 0 && (seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) < 0 ||
                        allow(context) < 0 || seccomp_load(context) < 0))
        result = -1;
    if (context)
        seccomp_release(context);
    malloc_trim(0);
    return result;
}
