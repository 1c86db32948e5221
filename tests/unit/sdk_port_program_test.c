/* The program that carries a connection, which really runs, and what becomes of what it says. */
#include <sandlot/sdk/port_program.h>
#include <sandlot/sdk/random.h>

#include "sdk_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MUCH = 300000 };

static const char mark[] = "0123456789abcdef0123456789abcdef";

/* What the client's side hears. */
struct client {
    struct sandlot_connection connection;
    struct test_sink output;
    struct port_program program;
    int opened;
};

static void on_opened(const struct sandlot_connection *connection)
{
    struct client *client = connection->context;

    client->opened++;
}

static void client_open(struct client *client, uint16_t port)
{
    *client = (struct client){.opened = 0};
    test_sink_open(&client->output, true);
    client->connection = (struct sandlot_connection){.size = sizeof(client->connection),
                                                     .port = port,
                                                     .output = &client->output.sink,
                                                     .context = client,
                                                     .opened = on_opened};
    port_program_init(&client->program, &client->connection, mark);
}

/* ---- what the program says --------------------------------------------------------------------------------------- */

static void test_words(void **state)
{
    static const struct {
        const char *said;
        enum sandlot_status carried, wanted;
        int opened;
        const char *output; /* NULL: silent */
        const char *message;
    } rows[] = {
        {"0123456789abcdef0123456789abcdef open\nbytes", SANDLOT_OK, SANDLOT_OK, 1, "bytes", ""},
        {"0123456789abcdef0123456789abcdef open\n\n\n", SANDLOT_OK, SANDLOT_OK, 1, "\n\n", ""},
        {"0123456789abcdef0123456789abcdef open\nb", SANDLOT_UNAVAILABLE, SANDLOT_OK, 1, "b", ""},
        {"0123456789abcdef0123456789abcdef open\nb", SANDLOT_CANCELLED, SANDLOT_CANCELLED, 1, "b", ""},
        {"0123456789abcdef0123456789abcdef closed\nx", SANDLOT_OK, SANDLOT_UNAVAILABLE, 0, "",
         "nothing listens on port 7 in the box"},
        {"0123456789abcdef0123456789abcdef lacking\n", SANDLOT_OK, SANDLOT_UNSUPPORTED, 0, "",
         "the box has neither python3 nor perl nor BusyBox"},
        {"0123456789abcdef0123456789abcdef closed\n", SANDLOT_TIMEOUT, SANDLOT_TIMEOUT, 0, "", ""},
        {"0123456789abcdef0123456789abcdef open", SANDLOT_OK, SANDLOT_OK, 0, NULL, ""},
        {"0123456789abcdef0123456789abcdee open\nx", SANDLOT_OK, SANDLOT_OK, 0, NULL, ""},
        {" open\nx", SANDLOT_OK, SANDLOT_OK, 0, NULL, ""},
        {"sh: not found, and a line of which nobody would have thought that it could ever be as long as this one is\n",
         SANDLOT_OK, SANDLOT_OK, 0, NULL, ""},
        {"", SANDLOT_OK, SANDLOT_OK, 0, NULL, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (size_t piece = 1; piece < 100; piece += 49) { /* byte by byte, in two, at once */
            size_t length = strlen(rows[i].said);
            struct test_call call;
            struct client client;
            bool silent;

            test_call_open(&call, 0);
            client_open(&client, 7);
            for (size_t at = 0; at < length; at += piece)
                client.program.sink.write(&client.program.sink, rows[i].said + at,
                                          length - at < piece ? length - at : piece);
            assert_int_equal(port_program_conclude(&call.call, &client.program, rows[i].carried, "the box", &silent),
                             rows[i].wanted);
            assert_int_equal(client.opened, rows[i].opened);
            assert_int_equal(silent, !rows[i].output);
            assert_int_equal(client.output.length, rows[i].output ? strlen(rows[i].output) : 0);
            if (rows[i].output)
                assert_memory_equal(client.output.bytes, rows[i].output, client.output.length);
            assert_non_null(strstr(call.message, rows[i].message));
            test_sink_close(&client.output);
            test_call_close(&call);
        }
    }
}

/* ---- the program itself ------------------------------------------------------------------------------------------ */

/* Answers with what it was sent, once the other side has closed its half. */
static void *serve(void *argument)
{
    int listener = *(int *)argument;
    int fd = accept(listener, NULL, NULL);
    char *bytes = malloc(MUCH + 1);
    size_t length = 0;

    while (bytes && length <= MUCH) {
        ssize_t got = read(fd, bytes + length, MUCH + 1 - length);

        if (got <= 0)
            break;
        length += (size_t)got;
    }
    for (size_t at = 0; bytes && at < length;) {
        ssize_t sent = write(fd, bytes + at, length - at);

        if (sent <= 0)
            break;
        at += (size_t)sent;
    }
    free(bytes);
    close(fd);
    return NULL;
}

static int listen_at(int family, uint16_t *port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address = {.any.sa_family = (sa_family_t)family};
    socklen_t length = family == AF_INET ? sizeof(address.four) : sizeof(address.six);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (family == AF_INET)
        address.four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        address.six.sin6_addr = in6addr_loopback;
    if (bind(fd, &address.any, length) != 0 || listen(fd, 1) != 0) {
        close(fd);
        return -1;
    }
    assert_int_equal(getsockname(fd, &address.any, &length), 0);
    *port = ntohs(family == AF_INET ? address.four.sin_port : address.six.sin6_port);
    return fd;
}

/* Has SHELL (one or two words) run the script with nothing but PROGRAM in its path, and passes INPUT. */
static void run(struct client *client, const char *shell, const char *applet, const char *path, const char *input,
                size_t length)
{
    char number[8];
    char block[65536];
    int in[2];
    int out[2];

    snprintf(number, sizeof(number), "%u", (unsigned)client->connection.port);
    assert_int_equal(pipe(in) | pipe(out), 0);
    pid_t pid = fork();

    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        for (int fd = 3; fd < 100; fd++)
            close(fd);
        setenv("PATH", path, 1);
        execl(shell, applet, "-c", port_program_script, "sh", mark, number, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    if (length > 0)
        assert_int_equal(write(in[1], input, length), (ssize_t)length); /* more than a pipe takes: it is read */
    close(in[1]);
    for (ssize_t got; (got = read(out[0], block, sizeof(block))) > 0;)
        client->program.sink.write(&client->program.sink, block, (size_t)got);
    close(out[0]);
    waitpid(pid, NULL, 0);
}

/* A folder with the programs that any image has, and PROGRAM, which is at TARGET; "": without. */
static void make_path(char folder[64], const char *program, const char *target)
{
    char command[512];

    strcpy(folder, "/tmp/sandlot-port.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof(command), "cd %s && ln -s \"$(command -v cat)\" \"$(command -v grep)\" . && %s%s%s%s",
             folder, *target ? "ln -s " : "true", target, *target ? " " : "", *target ? program : "");
    assert_int_equal(system(command), 0);
}

static void remove_path(const char *folder)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void carry(const char *shell, const char *applet, const char *program, const char *target, int family)
{
    static char much[MUCH];
    char folder[64];
    struct client client;
    struct test_call call;
    pthread_t thread;
    uint16_t port;
    bool silent;
    int listener = listen_at(family, &port);

    if (listener < 0)
        return; /* a machine without ::1 */
    test_pattern(much, 0, sizeof(much));
    make_path(folder, program, target);
    client_open(&client, port);
    test_call_open(&call, 0);
    assert_int_equal(pthread_create(&thread, NULL, serve, &listener), 0);
    run(&client, shell, applet, folder, much, sizeof(much));
    pthread_join(thread, NULL);
    assert_int_equal(port_program_conclude(&call.call, &client.program, SANDLOT_OK, "the box", &silent), SANDLOT_OK);
    assert_int_equal(client.opened, 1);
    assert_int_equal(client.output.length, sizeof(much));
    assert_memory_equal(client.output.bytes, much, sizeof(much));
    close(listener);
    test_sink_close(&client.output);
    test_call_close(&call);
    remove_path(folder);
}

static const struct {
    const char *path, *name;
} shells[] = {{"/bin/dash", "dash"}, {"/bin/bash", "bash"}, {"/bin/busybox", "sh"}};

static void test_programs(void **state)
{
    static const struct {
        const char *name, *target;
    } programs[] = {{"python3", "/usr/bin/python3"},
                    {"perl", "/usr/bin/perl"},
                    {"nc", "/bin/busybox"},
                    {"busybox", "/bin/busybox"}};

    (void)state;
    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
        for (size_t j = 0; j < sizeof(programs) / sizeof(*programs); j++) {
            if (access(shells[i].path, X_OK) != 0 || access(programs[j].target, X_OK) != 0)
                continue;
            carry(shells[i].path, shells[i].name, programs[j].name, programs[j].target, AF_INET);
            carry(shells[i].path, shells[i].name, programs[j].name, programs[j].target, AF_INET6);
        }
}

/* Nothing listens; or something does, and no program reaches it. */
static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
        for (int listens = 0; listens < 2 && access(shells[i].path, X_OK) == 0; listens++) {
            char folder[64];
            struct client client;
            struct test_call call;
            uint16_t port;
            bool silent;
            int listener = listen_at(AF_INET, &port);

            assert_true(listener >= 0);
            if (!listens)
                close(listener);
            /* a BusyBox may run its own programs without a path: then none lacks */
            make_path(folder, "", "");
            client_open(&client, port);
            test_call_open(&call, 0);
            if (!listens || strcmp(shells[i].name, "sh") != 0) {
                run(&client, shells[i].path, shells[i].name, folder, "", 0);
                assert_int_equal(port_program_conclude(&call.call, &client.program, SANDLOT_OK, "the box", &silent),
                                 listens ? SANDLOT_UNSUPPORTED : SANDLOT_UNAVAILABLE);
                assert_int_equal(client.opened, 0);
            }
            if (listens)
                close(listener);
            test_sink_close(&client.output);
            test_call_close(&call);
            remove_path(folder);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("port_program", tests, NULL, NULL);
}
