/* Who looks names up for the proxy of a box: it stays for the next one, and whoever ends or hangs is replaced. */
#include "egress/resolve.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { WAIT_MS = 120000 };

/* The first process that PARENT has made; 0: none. */
static pid_t child_of(pid_t parent)
{
    char path[64];
    int child = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
    FILE *file = fopen(path, "re");

    if (!file)
        return 0;
    if (fscanf(file, "%d", &child) != 1)
        child = 0;
    fclose(file);
    return child;
}

/* How many addresses the answer for 192.0.2.7 has, which is asked of nobody. */
static uint32_t count_of(int fd, uint32_t query)
{
    struct host host = {.name = "192.0.2.7"};
    struct pollfd ready = {fd, POLLIN, 0};
    struct resolve_answer answer;

    assert_true(resolve_ask(fd, query, &host));
    assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
    assert_int_equal(resolve_take(fd, &answer), 1);
    assert_int_equal(answer.query, query);
    return answer.count;
}

struct helper {
    int fd;
    pid_t pid;
    pid_t child; /* the one that answers */
};

/* Behind its answer PROCESS tells the helper that it is done, and then sleeps. */
static void wait_until_done(pid_t process)
{
    char path[64];
    char condition = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", process);
    for (int left_ms = WAIT_MS; condition != 'S' && left_ms > 0; left_ms--) {
        FILE *file = fopen(path, "re");

        assert_non_null(file);
        assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &condition), 1);
        fclose(file);
        usleep(1000);
    }
    assert_int_equal(condition, 'S');
}

static struct helper begin(void)
{
    struct helper helper = {.fd = resolve_start()};

    assert_true(helper.fd >= 0);
    assert_int_equal(count_of(helper.fd, 1), 1);
    helper.pid = child_of(getpid());
    helper.child = helper.pid > 0 ? child_of(helper.pid) : 0;
    if (helper.child <= 0)
        skip(); /* a kernel that does not tell of children */
    wait_until_done(helper.child);
    return helper;
}

static void end(const struct helper *helper)
{
    close(helper->fd);
    assert_int_equal(waitpid(helper->pid, NULL, 0), helper->pid);
}

static void the_same_process_answers_again(void **state)
{
    const struct helper helper = begin();

    (void)state;
    for (uint32_t query = 2; query < 20; query++) {
        assert_int_equal(count_of(helper.fd, query), 1);
        wait_until_done(helper.child);
    }
    assert_int_equal(child_of(helper.pid), helper.child);
    end(&helper);
}

static void one_that_has_ended_is_replaced(void **state)
{
    const struct helper helper = begin();

    (void)state;
    kill(helper.child, SIGKILL);
    assert_int_equal(count_of(helper.fd, 2), 0);
    assert_int_equal(count_of(helper.fd, 3), 1);
    assert_int_not_equal(child_of(helper.pid), helper.child);
    end(&helper);
}

static void one_that_hangs_is_killed_and_replaced(void **state)
{
    const struct helper helper = begin();

    (void)state;
    kill(helper.child, SIGSTOP);
    assert_int_equal(count_of(helper.fd, 2), 0);
    assert_int_equal(count_of(helper.fd, 3), 1);
    assert_int_equal(kill(helper.child, 0), -1);
    end(&helper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_process_answers_again),
        cmocka_unit_test(one_that_has_ended_is_replaced),
        cmocka_unit_test(one_that_hangs_is_killed_and_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
