/* Requests for a command or a terminal as a box's supervisor meets them, and terminals from its side. */
#include "../../plugins/local/box/supervisor.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>

#include <cmocka.h>

enum { LIMIT_MS = 60000 };

static const struct profile no_profile = {.shell = "/bin/sh",
                                          .workspace = "/tmp",
                                          .workspace_fd = -1,
                                          .environment = {"PATH=/usr/bin:/bin", "HOME=/tmp", "TERM=dumb"},
                                          .ruleset = -1,
                                          .null_fd = -1,
                                          .signal_fd = -1,
                                          .memory_events_fd = -1};

/* A request of that head and these strings. */
static size_t fill(char *body, const struct terminal_request *head, const char *strings, size_t length)
{
    memcpy(body, head, sizeof *head);
    memcpy(body + sizeof *head, strings, length);
    return sizeof *head + length;
}

/* Reads the first LENGTH bytes of BODY as a terminal request. They lie in memory of their own, of exactly that size, so
 * that a sanitizer sees every step beyond. */
static bool reads(const char *body, size_t length)
{
    struct received message = {.header = {.kind = MESSAGE_TERMINAL, .length = (uint32_t)length}};
    struct command command = {.output = -1, .controller = -1};
    struct terminal_request request;

    message.body = malloc(length + 1);
    assert_non_null(message.body);
    memcpy(message.body, body, length);
    message.body[length] = '\0';
    const bool result = read_terminal(&command, &no_profile, &message, &request);

    free(command.environment);
    free(message.body);
    return result;
}

static const char good_strings[] = "echo hi\0/tmp\0TERM=vt100\0A=b";

static void whole_request_is_read(void **state)
{
    const struct terminal_request head = {.run = {.environment_count = 2}, .rows = 24, .columns = 80};
    char body[256];
    struct received message = {.header = {.kind = MESSAGE_TERMINAL}, .body = body};
    struct command command = {.output = -1, .controller = -1};
    struct terminal_request request;

    (void)state;
    message.header.length = (uint32_t)fill(body, &head, good_strings, sizeof good_strings);
    assert_true(read_terminal(&command, &no_profile, &message, &request));
    assert_true(command.in_terminal);
    assert_string_equal(command.text, "echo hi");
    assert_string_equal(command.directory, "/tmp");
    assert_string_equal(command.environment[0], "TERM=vt100");
    assert_string_equal(command.environment[1], "A=b");
    assert_int_equal(request.rows, 24);
    assert_int_equal(request.columns, 80);
    /* The fixed variables follow, but for the one that was replaced. */
    assert_string_equal(command.environment[2], "PATH=/usr/bin:/bin");
    assert_string_equal(command.environment[3], "HOME=/tmp");
    assert_string_equal(command.environment[4], "PWD=/tmp");
    assert_null(command.environment[5]);
    free(command.environment);
}

static void request_that_is_cut_anywhere_is_refused(void **state)
{
    const struct terminal_request head = {.run = {.environment_count = 2}, .rows = 24, .columns = 80};
    char body[256];
    const size_t length = fill(body, &head, good_strings, sizeof good_strings);

    (void)state;
    assert_true(reads(body, length));
    for (size_t cut = 0; cut < length; cut++)
        assert_false(reads(body, cut));
}

static void wrong_counts_and_variables_are_refused(void **state)
{
    struct terminal_request head = {.run = {.environment_count = 3}, .rows = 24, .columns = 80};
    char body[256];

    (void)state;
    assert_false(reads(body, fill(body, &head, good_strings, sizeof good_strings)));
    head.run.environment_count = UINT32_MAX;
    assert_false(reads(body, fill(body, &head, good_strings, sizeof good_strings)));
    head.run.environment_count = 1;
    assert_true(reads(body, fill(body, &head, "\0\0A=b", 6)));
    assert_false(reads(body, fill(body, &head, "\0\0=b", 5)));
    assert_false(reads(body, fill(body, &head, "\0\0A", 4)));
}

static void impossible_sizes_are_refused(void **state)
{
    static const uint32_t wrong[] = {0, 65536, UINT32_MAX};
    char body[256];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct terminal_request no_rows = {.rows = wrong[i], .columns = 80};
        const struct terminal_request no_columns = {.rows = 24, .columns = wrong[i]};

        assert_false(reads(body, fill(body, &no_rows, "\0", 2)));
        assert_false(reads(body, fill(body, &no_columns, "\0", 2)));
    }
    const struct terminal_request largest = {.rows = UINT16_MAX, .columns = UINT16_MAX};

    assert_true(reads(body, fill(body, &largest, "\0", 2)));
}

static void pair_has_its_size_and_is_nobodys_terminal(void **state)
{
    struct pty pty;
    struct winsize size = {0};

    (void)state;
    assert_int_equal(pty_open(50, 132, &pty), 0);
    assert_int_equal(ioctl(pty.terminal, TIOCGWINSZ, &size), 0);
    assert_int_equal(size.ws_row, 50);
    assert_int_equal(size.ws_col, 132);
    assert_true(fcntl(pty.controller, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(pty.terminal, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(tcgetsid(pty.terminal), -1);
    close(pty.controller);
    close(pty.terminal);
}

/* ---- a supervisor at work, outside of any box ---- */

struct fixture {
    int connection;
    pid_t supervisor;
};

static void start(struct fixture *fixture, const char *body, size_t length)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    fixture->connection = pair[0];
    fixture->supervisor = fork();
    assert_true(fixture->supervisor >= 0);
    if (fixture->supervisor == 0) {
        struct profile profile = no_profile;
        atomic_bool answered = false;
        struct received message = {.header = {.kind = MESSAGE_TERMINAL, .length = (uint32_t)length},
                                   .body = (char *)(uintptr_t)body};
        sigset_t signals;

        close(pair[0]);
        sigemptyset(&signals);
        sigaddset(&signals, SIGCHLD);
        sigprocmask(SIG_BLOCK, &signals, NULL);
        profile.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
        profile.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        supervisor_run(&profile, pair[1], -1, &message, &answered);
    }
    close(pair[1]);
}

static void start_terminal(struct fixture *fixture, const char *command)
{
    const struct terminal_request head = {.rows = 33, .columns = 99};
    char body[512];
    char strings[256] = {0};

    assert_true(strlen(command) + 2 < sizeof strings);
    memcpy(strings, command, strlen(command));
    start(fixture, body, fill(body, &head, strings, strlen(command) + 2));
}

/* The next message, of that kind. */
static void hear(const struct fixture *fixture, uint32_t kind, struct received *message)
{
    assert_int_equal(protocol_receive(fixture->connection, message, processes_now_ms() + LIMIT_MS, -1), PROTOCOL_OK);
    assert_int_equal(message->header.kind, kind);
}

static int hear_terminal(const struct fixture *fixture)
{
    struct received message;

    hear(fixture, MESSAGE_TERMINAL_IS, &message);
    const int controller = received_take_fd(&message, 0);

    received_clear(&message);
    assert_true(controller >= 0);
    return controller;
}

static struct run_result hear_end(const struct fixture *fixture)
{
    struct received message;
    struct run_result result;

    hear(fixture, MESSAGE_ENDED, &message);
    assert_int_equal(message.header.length, sizeof result);
    memcpy(&result, message.body, sizeof result);
    received_clear(&message);
    return result;
}

static void finish(struct fixture *fixture)
{
    int status = -1;

    close(fixture->connection);
    assert_int_equal(waitpid(fixture->supervisor, &status, 0), fixture->supervisor);
    assert_int_equal(status, 0);
}

/* All that is printed until the other side is closed. */
static void read_all(int controller, char *text, size_t size)
{
    size_t length = 0;
    ssize_t got;

    while (length < size - 1 && (got = read(controller, text + length, size - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
}

static void command_has_a_terminal_of_its_own(void **state)
{
    struct fixture fixture;
    char text[512];

    (void)state;
    start_terminal(&fixture, "stty size; stty size < /dev/tty; ps -o tpgid=,pid= -p $$; exit 9");
    const int controller = hear_terminal(&fixture);

    read_all(controller, text, sizeof text);
    int foreground = 0;
    int shell = -1;

    assert_int_equal(sscanf(text, "33 99 33 99 %d %d", &foreground, &shell), 2);
    assert_int_equal(foreground, shell);
    assert_int_equal(hear_end(&fixture).exit_code, 9);
    close(controller);
    finish(&fixture);
}

static void closing_the_terminal_hangs_up(void **state)
{
    struct fixture fixture;

    (void)state;
    start_terminal(&fixture, "sleep 1000");
    close(hear_terminal(&fixture));
    assert_int_equal(hear_end(&fixture).exit_code, 128 + SIGHUP);
    finish(&fixture);
}

static void end_of_the_connection_ends_what_ignores_the_hang_up(void **state)
{
    struct fixture fixture;
    char byte = 0;

    (void)state;
    start_terminal(&fixture, "trap '' HUP TERM; echo +; while :; do sleep 1000; done");
    const int controller = hear_terminal(&fixture);

    assert_int_equal(read(controller, &byte, 1), 1);
    assert_int_equal(byte, '+');
    close(controller);
    finish(&fixture);
}

static void malformed_request_is_answered(void **state)
{
    struct fixture fixture;
    struct received message;
    uint32_t status = 0;

    (void)state;
    start(&fixture, "short", 5);
    hear(&fixture, MESSAGE_FAILED, &message);
    memcpy(&status, message.body, sizeof status);
    assert_int_equal(status, SANDLOT_INVALID_ARGUMENT);
    received_clear(&message);
    finish(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_request_is_read),
        cmocka_unit_test(request_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(wrong_counts_and_variables_are_refused),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(pair_has_its_size_and_is_nobodys_terminal),
        cmocka_unit_test(command_has_a_terminal_of_its_own),
        cmocka_unit_test(closing_the_terminal_hangs_up),
        cmocka_unit_test(end_of_the_connection_ends_what_ignores_the_hang_up),
        cmocka_unit_test(malformed_request_is_answered),
    };

    return cmocka_run_group_tests_name("local_terminal", tests, NULL, NULL);
}
