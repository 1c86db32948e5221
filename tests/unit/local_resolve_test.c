/* Who looks names up for the proxy of a box: it stays for the next one, and whoever ends or hangs is replaced. */
#include "egress/resolve.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
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

/* What comes of the helper is looked at before it is believed. */
static void an_answer_is_within_its_bounds(void **state)
{
    static const struct {
        uint32_t count;
        uint32_t own_count;
        size_t size;
        int taken;
    } rows[] = {{RESOLVE_ADDRESSES, RESOLVE_OWN, sizeof(struct resolve_answer), 1},
                {RESOLVE_ADDRESSES + 1, 0, sizeof(struct resolve_answer), -1},
                {0, RESOLVE_OWN + 1, sizeof(struct resolve_answer), -1},
                {0, 0, sizeof(struct resolve_answer) - 1, -1}};
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct resolve_answer answer = {.count = rows[i].count, .own_count = rows[i].own_count};

        assert_int_equal(send(pair[1], &answer, rows[i].size, 0), rows[i].size);
        assert_int_equal(resolve_take(pair[0], &answer), rows[i].taken);
    }
    close(pair[0]);
    close(pair[1]);
}

static void each_of_the_own_addresses_is_one(void **state)
{
    struct resolve_answer answer = {.own_count = 2};
    address other;

    (void)state;
    assert_true(address_parse("192.0.2.1", &answer.own[0]) && address_parse("2001:db8::1", &answer.own[1]) &&
                address_parse("192.0.2.2", &other));
    assert_true(resolve_is_own(&answer, &answer.own[0]) && resolve_is_own(&answer, &answer.own[1]));
    assert_false(resolve_is_own(&answer, &other));
}

/* Gives the loopback of a network of this process's own the addresses up to COUNT; whether all of them are known then.
 */
static bool knows_own(int count)
{
    const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const int helper = resolve_start();
    const struct host host = {.name = "192.0.2.7"};
    struct pollfd ready = {helper, POLLIN, 0};
    struct resolve_answer answer;

    for (int i = 0; i < count; i++) {
        struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001U + (uint32_t)i)};
        struct ifreq request = {.ifr_flags = 0};

        snprintf(request.ifr_name, sizeof(request.ifr_name), "lo:%d", i);
        memcpy(&request.ifr_addr, &own, sizeof(own));
        if (ioctl(control, SIOCSIFADDR, &request) < 0)
            _exit(77);
    }
    const bool told =
        resolve_ask(helper, 1, &host) && poll(&ready, 1, WAIT_MS) == 1 && resolve_take(helper, &answer) == 1;

    close(control);
    close(helper);
    return told && answer.own_known;
}

/* Of more than there is place for nothing is known: then nothing is dialled. */
static void too_many_own_addresses_are_not_known(void **state)
{
    const pid_t pid = fork();
    int status = 0;

    (void)state;
    if (pid == 0) {
        if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
            _exit(77);
        _exit(knows_own(RESOLVE_OWN - 10) && !knows_own(RESOLVE_OWN + 1) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip(); /* no network of its own can be made here */
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_process_answers_again),        cmocka_unit_test(one_that_has_ended_is_replaced),
        cmocka_unit_test(one_that_hangs_is_killed_and_replaced), cmocka_unit_test(an_answer_is_within_its_bounds),
        cmocka_unit_test(each_of_the_own_addresses_is_one),      cmocka_unit_test(too_many_own_addresses_are_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
