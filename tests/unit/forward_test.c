/* Forwarding of ports over a provider of this test: refused connections, ends, and memory that runs out. */
#include "base/cleanup.h"
#include "failing_allocator.h"
#include "loader/loader.h"
#include "operations/listener.h"
#include "registry/registry.h"
#include "session/session.h"

#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { ECHO = 1, CLOSED = 2, GONE = 3, ENOUGH_MS = 60000, MOST_ALLOCATIONS = 100 };

/* ---- a provider -------------------------------------------------------------------------------------------------- */

/* Sends back what comes, until the client or the call ends. */
static enum sandlot_status echo(struct sandlot_call *call, const struct sandlot_connection *connection)
{
    enum sandlot_status status = SANDLOT_OK;
    char block[256];
    size_t length = 1;

    connection->opened(connection);
    while (status == SANDLOT_OK && length > 0) {
        struct pollfd fds[] = {{connection->input->poll_fd, POLLIN, 0}, {call->cancel_fd, POLLIN, 0}};

        poll(fds, 2, -1);
        if (fds[1].revents)
            return sandlot_fail(call, SANDLOT_CANCELLED, "it was cancelled");
        status = connection->input->read(connection->input, block, sizeof(block), &length);
        if (status == SANDLOT_OK && length > 0)
            status = connection->output->write(connection->output, block, length);
    }
    return status;
}

static enum sandlot_status connect_port(struct sandlot_call *call, void *provider, void *sandbox,
                                        const struct sandlot_connection *connection)
{
    (void)provider, (void)sandbox;
    if (connection->port == CLOSED)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "nobody is there");
    if (connection->port == GONE)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "the sandbox has gone");
    return echo(call, connection);
}

static struct registry_entry entry = {.name = (char[]){"test"}};
static struct provider provider;
static struct sandlot_session session;

static int set_up(void **state)
{
    (void)state;
    provider = (struct provider){.entry = &entry, .table = {.connect_port = connect_port}};
    session = (struct sandlot_session){.sandlot = sandlot_open(NULL, NULL), .provider = &provider, .turn_fd = -1};
    assert_non_null(session.sandlot); /* whose other providers are named where this one cannot */
    return pthread_mutex_init(&session.roots.lock, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    sandlot_close(session.sandlot);
    return pthread_mutex_destroy(&session.roots.lock);
}

/* ---- a client ---------------------------------------------------------------------------------------------------- */

/* What is told of connections; written by one thread at a time. */
struct told {
    _Atomic int begun;
    _Atomic int problems;
    _Atomic enum sandlot_code code;
};

static void on_connection(void *context, const struct sandlot_error *problem)
{
    struct told *told = context;

    if (problem)
        atomic_store(&told->code, problem->code);
    atomic_fetch_add(problem ? &told->problems : &told->begun, 1);
}

static struct sandlot_forward *open_port(uint16_t port, struct told *told, struct sandlot_error *error)
{
    const struct sandlot_forward_request request = {
        .size = sizeof(request), .port = port, .address = "127.0.0.1", .connection = on_connection, .context = told};

    return sandlot_forward_open(&session, &request, error);
}

static int dial(const struct sandlot_forward *forward)
{
    const struct sockaddr_in where = {.sin_family = AF_INET,
                                      .sin_port = htons(sandlot_forward_port(forward)),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&where, sizeof(where)), 0);
    return fd;
}

static void assert_echo(int fd)
{
    char back[5] = "";

    assert_int_equal(send(fd, "hello", 5, MSG_NOSIGNAL), 5);
    assert_int_equal(recv(fd, back, sizeof(back), MSG_WAITALL), 5);
    assert_memory_equal(back, "hello", 5);
}

/* The other side ends it, one way or the other. */
static void assert_ends(int fd)
{
    char byte;
    struct pollfd ready = {fd, POLLIN, 0};

    assert_int_equal(poll(&ready, 1, ENOUGH_MS), 1);
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_refused_requests(void **state)
{
    struct sandlot_error error = {0};
    struct told told = {0};

    (void)state;
    assert_null(open_port(0, &told, &error));
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    sandlot_error_clear(&error);
    provider.table.connect_port = NULL;
    assert_null(open_port(ECHO, &told, &error));
    assert_int_equal(error.code, SANDLOT_CODE_NOT_SUPPORTED);
    sandlot_error_clear(&error);
    sandlot_forward_close(NULL);
}

static void test_taken_port(void **state)
{
    struct sandlot_error error = {0};
    struct told told = {0};
    struct sandlot_forward *first = open_port(ECHO, &told, &error);

    (void)state;
    assert_non_null(first);
    const struct sandlot_forward_request request = {
        .size = sizeof(request), .port = ECHO, .local_port = sandlot_forward_port(first), .address = "127.0.0.1"};

    assert_null(sandlot_forward_open(&session, &request, &error));
    assert_int_equal(error.code, SANDLOT_CODE_CONFLICT);
    sandlot_error_clear(&error);
    sandlot_forward_close(first);
}

/* A refused connection ends itself and no other. */
static void test_refused_connections(void **state)
{
    struct told told = {0};
    struct told echoes = {0};
    struct sandlot_forward *closed = open_port(CLOSED, &told, NULL);
    struct sandlot_forward *open = open_port(ECHO, &echoes, NULL);

    (void)state;
    assert_non_null(closed);
    assert_non_null(open);
    assert_ends(dial(closed));
    assert_ends(dial(closed));
    int fd = dial(open);

    assert_echo(fd);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_ends(fd);
    sandlot_forward_close(closed);
    sandlot_forward_close(open);
    assert_int_equal(told.begun, 0);
    assert_int_equal(told.problems, 2);
    assert_int_equal(told.code, SANDLOT_CODE_NETWORK);
    assert_int_equal(echoes.begun, 1);
    assert_int_equal(echoes.problems, 0);
}

static void test_gone(void **state)
{
    struct told told = {0};
    struct sandlot_forward *forward = open_port(GONE, &told, NULL);

    (void)state;
    assert_non_null(forward);
    struct pollfd gone = {sandlot_forward_descriptor(forward), POLLIN, 0};

    assert_int_equal(poll(&gone, 1, 0), 0);
    assert_ends(dial(forward));
    assert_int_equal(poll(&gone, 1, ENOUGH_MS), 1);
    sandlot_forward_close(forward);
    assert_int_equal(told.code, SANDLOT_CODE_SANDBOX_NOT_FOUND);
}

/* Closing ends what is under way, which is no problem of anybody's. */
static void test_closing(void **state)
{
    struct told told = {0};
    struct sandlot_forward *forward = open_port(ECHO, &told, NULL);

    (void)state;
    assert_non_null(forward);
    int first = dial(forward);
    int second = dial(forward);

    assert_echo(first);
    assert_echo(second);
    sandlot_forward_close(forward);
    assert_ends(first);
    assert_ends(second);
    assert_int_equal(told.begun, 2);
    assert_int_equal(told.problems, 0);
}

/* Memory runs out at every place of opening in turn: that is said, and nothing stays allocated. */
static void test_no_memory(void **state)
{
    (void)state;
    if (!ALLOCATOR_REPLACED)
        skip();
    for (long n = 0; n < MOST_ALLOCATIONS; n++) {
        struct sandlot_error error = {0};
        struct told told = {0};
        long before = atomic_load(&allocated);

        atomic_store(&countdown, n);
        struct sandlot_forward *forward = open_port(ECHO, &told, &error);
        bool untouched = atomic_exchange(&countdown, -1) >= 0;

        assert_true(forward || error.code != SANDLOT_CODE_OK);
        sandlot_error_clear(&error);
        sandlot_forward_close(forward);
        if (n > 0) /* what the C library keeps for a first time is there then */
            assert_int_equal(atomic_load(&allocated), before);
        if (untouched)
            return;
    }
    fail_msg("more than %d allocations", MOST_ALLOCATIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_refused_requests, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_taken_port, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused_connections, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_closing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("forward", tests, NULL, NULL);
}
