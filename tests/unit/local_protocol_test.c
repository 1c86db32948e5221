/* The messages between the provider `local`, its keeper and its boxes. */
#include "../../plugins/local/protocol.c"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

static int setup(void **state)
{
    static int pair[2];

    *state = pair;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int teardown(void **state)
{
    const int *pair = *state;

    close(pair[0]);
    if (pair[1] >= 0)
        close(pair[1]);
    return 0;
}

static int count_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void small_message_arrives_whole(void **state)
{
    const int *pair = *state;
    struct received message;

    assert_int_equal(protocol_send(pair[0], MESSAGE_DELETE, "box-x", 5, NULL, 0, 0), PROTOCOL_OK);
    assert_int_equal(protocol_receive(pair[1], &message, 0, -1), PROTOCOL_OK);
    assert_int_equal(message.header.kind, MESSAGE_DELETE);
    assert_int_equal(message.header.build, PROTOCOL_VERSION);
    assert_int_equal(message.header.length, 5);
    assert_string_equal(message.body, "box-x");
    assert_int_equal(message.fd_count, 0);
    received_clear(&message);
}

static void large_body_and_descriptors_travel_together(void **state)
{
    const int *pair = *state;
    const size_t length = 1000 * 1000;
    char *body = malloc(length);
    int before = count_descriptors();
    int fds[2] = {pair[0], pair[1]};
    struct received message;

    assert_non_null(body);
    for (size_t i = 0; i < length; i++)
        body[i] = (char)(i * 7);
    assert_int_equal(protocol_send(pair[0], MESSAGE_RUN, body, length, fds, 2, 0), PROTOCOL_OK);
    assert_int_equal(protocol_receive(pair[1], &message, 0, -1), PROTOCOL_OK);
    assert_int_equal(message.header.length, length);
    assert_memory_equal(message.body, body, length);
    assert_int_equal(message.fd_count, 2);
    assert_true(fcntl(message.fds[0], F_GETFD) & FD_CLOEXEC);
    int taken = received_take_fd(&message, 1);

    assert_true(taken >= 0);
    assert_int_equal(received_take_fd(&message, 1), -1);
    assert_int_equal(received_take_fd(&message, 2), -1);
    close(taken);
    received_clear(&message);
    assert_int_equal(count_descriptors(), before);
    free(body);
}

static void too_large_a_body_is_refused(void **state)
{
    const int *pair = *state;
    char byte = 0;

    assert_int_equal(protocol_send(pair[0], MESSAGE_RUN, &byte, MESSAGE_BODY_MAXIMUM + 1, NULL, 0, 0), PROTOCOL_BROKEN);
}

static void malformed_messages_are_refused_and_leak_nothing(void **state)
{
    const int *pair = *state;
    int before = count_descriptors();
    struct received message;
    struct message lying = {MESSAGE_RUN, 0, 100, PROTOCOL_VERSION};
    struct message huge = {MESSAGE_RUN, MESSAGE_BODY_IN_FD, MESSAGE_BODY_MAXIMUM + 1, PROTOCOL_VERSION};
    struct message bodiless = {MESSAGE_RUN, MESSAGE_BODY_IN_FD, 10, PROTOCOL_VERSION};

    assert_int_equal(send(pair[0], "abc", 3, 0), 3);
    assert_int_equal(protocol_receive(pair[1], &message, 0, -1), PROTOCOL_BROKEN);
    assert_int_equal(send(pair[0], &lying, sizeof(lying), 0), sizeof(lying));
    assert_int_equal(protocol_receive(pair[1], &message, 0, -1), PROTOCOL_BROKEN);
    assert_int_equal(send(pair[0], &huge, sizeof(huge), 0), sizeof(huge));
    assert_int_equal(protocol_receive(pair[1], &message, 0, -1), PROTOCOL_BROKEN);
    assert_int_equal(send(pair[0], &bodiless, sizeof(bodiless), 0), sizeof(bodiless));
    assert_int_equal(protocol_receive(pair[1], &message, 0, -1), PROTOCOL_BROKEN);
    assert_int_equal(count_descriptors(), before);
}

static void waiting_ends_by_deadline_cancellation_and_end(void **state)
{
    int *pair = *state;
    struct received message;
    int cancel[2];
    int64_t start = now_ms();

    assert_int_equal(protocol_receive(pair[0], &message, start + 30, -1), PROTOCOL_TIMEOUT);
    assert_int_equal(pipe(cancel), 0);
    assert_int_equal(write(cancel[1], "x", 1), 1);
    assert_int_equal(protocol_receive(pair[0], &message, now_ms() + 60000, cancel[0]), PROTOCOL_CANCELLED);
    close(cancel[0]);
    close(cancel[1]);
    close(pair[1]);
    pair[1] = -1;
    assert_int_equal(protocol_receive(pair[0], &message, now_ms() + 60000, -1), PROTOCOL_CLOSED);
    assert_int_equal(protocol_send(pair[0], MESSAGE_LIST, NULL, 0, NULL, 0, 0), PROTOCOL_CLOSED);
}

static void sockets_work_in_folders_with_long_paths(void **state)
{
    char folder[] = "/tmp/sandlot-protocol-XXXXXX";
    char name[201];
    struct received message;

    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_non_null(mkdtemp(folder));
    int top = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(mkdirat(top, name, 0700), 0);
    int deep = openat(top, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(protocol_connect(deep, "socket"), -1);
    assert_int_equal(errno, ENOENT);
    int listener = protocol_listen(deep, "socket");
    int client = protocol_connect(deep, "socket");
    int server = accept(listener, NULL, NULL);

    assert_true(listener >= 0 && client >= 0 && server >= 0);
    assert_int_equal(protocol_send(client, MESSAGE_LIST, NULL, 0, NULL, 0, 0), PROTOCOL_OK);
    assert_int_equal(protocol_receive(server, &message, 0, -1), PROTOCOL_OK);
    received_clear(&message);
    close(server);
    close(client);
    close(listener);
    assert_int_equal(protocol_connect(deep, "socket"), -1);
    assert_int_equal(errno, ECONNREFUSED);
    assert_int_equal(unlinkat(deep, "socket", 0), 0);
    assert_int_equal(unlinkat(top, name, AT_REMOVEDIR), 0);
    close(deep);
    close(top);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(small_message_arrives_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(large_body_and_descriptors_travel_together, setup, teardown),
        cmocka_unit_test_setup_teardown(too_large_a_body_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(malformed_messages_are_refused_and_leak_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(waiting_ends_by_deadline_cancellation_and_end, setup, teardown),
        cmocka_unit_test(sockets_work_in_folders_with_long_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
