/* Acting as a sandbox's user: what a thread of root's may do meanwhile, and that it gets everything back. */
#include "operations/native/identity.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OTHER = 61777 };

static uint64_t effective_rights(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3];

    assert_int_equal(syscall(SYS_capget, &header, rights), 0);
    return rights[0].effective | (uint64_t)rights[1].effective << 32;
}

static void need_root(void)
{
    if (geteuid() != 0)
        skip();
}

static void no_right_of_root_is_left_meanwhile(void **state)
{
    struct identity before;
    uint64_t rights = effective_rights();

    (void)state;
    need_root();
    assert_int_equal(identity_assume(OTHER, OTHER, &before), 0);
    assert_int_equal(effective_rights(), 0);
    assert_int_equal(setfsuid((uid_t)-1), OTHER);
    assert_int_equal(getgroups(0, NULL), 0);
    identity_restore(&before);
    assert_true(effective_rights() == rights);
}

/* The kernel stack of a process is for those with rights over the machine, whoever owns the file. */
static void files_for_root_alone_stay_closed(void **state)
{
    struct identity before;
    char path[64];
    char byte;

    (void)state;
    need_root();
    pid_t other = fork();

    assert_true(other >= 0);
    if (other == 0) {
        if (setgid(OTHER) < 0 || setuid(OTHER) < 0)
            _exit(1);
        prctl(PR_SET_DUMPABLE, 1);
        pause();
        _exit(0);
    }
    snprintf(path, sizeof(path), "/proc/%d/stack", (int)other);
    /* Until the child is the other one. */
    for (struct stat status; stat(path, &status) == 0 && status.st_uid != OTHER;)
        usleep(1000);
    assert_int_equal(identity_assume(OTHER, OTHER, &before), 0);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool readable = fd >= 0 && read(fd, &byte, 1) > 0;

    identity_restore(&before);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    assert_false(readable);
}

static void everything_comes_back(void **state)
{
    const gid_t groups[] = {1, 2, OTHER};
    gid_t after[8];
    struct identity before;
    int count;

    (void)state;
    need_root();
    gid_t own[64];
    int own_count = getgroups(64, own);

    assert_true(own_count >= 0);
    assert_int_equal(setgroups(3, groups), 0);
    assert_int_equal(identity_assume(OTHER, OTHER, &before), 0);
    identity_restore(&before);
    identity_restore(&before);
    count = getgroups(8, after);
    assert_int_equal(setgroups((size_t)own_count, own), 0);
    assert_int_equal(count, 3);
    assert_memory_equal(after, groups, sizeof(groups));
    assert_int_equal(setfsuid((uid_t)-1), 0);
    assert_int_equal(setfsgid((gid_t)-1), getegid());
}

static void *assume_again(void *context)
{
    struct identity before;
    int *result = context;

    *result = identity_assume(OTHER, OTHER, &before);
    if (*result == 0)
        identity_restore(&before);
    return NULL;
}

/* As the helpers of a walk are. */
static void a_thread_started_meanwhile_can_do_the_same(void **state)
{
    struct identity before;
    pthread_t thread;
    int result = -1;

    (void)state;
    need_root();
    assert_int_equal(identity_assume(OTHER, OTHER, &before), 0);
    int started = pthread_create(&thread, NULL, assume_again, &result);

    if (started == 0)
        pthread_join(thread, NULL);
    identity_restore(&before);
    assert_int_equal(started, 0);
    assert_int_equal(result, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_right_of_root_is_left_meanwhile),
        cmocka_unit_test(files_for_root_alone_stay_closed),
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(a_thread_started_meanwhile_can_do_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
