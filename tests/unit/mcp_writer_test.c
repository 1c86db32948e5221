/* The MCP server's writer, with a client that does not read: the rest comes later, or the client is given up. */
#include "server/writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINE_SIZE = 1024 * 1024 };

static bool no_threads;
static int broken;

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the names are reserved ones
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return no_threads ? EAGAIN : real(thread, attributes, run, argument);
}

static void on_broken(void *context)
{
    (void)context;
    broken++;
}

/* Sends a line that no socket takes at once. */
static void send_long_line(struct writer **writer, int ends[2])
{
    char *line = malloc(LINE_SIZE);

    assert_non_null(line);
    memset(line, 'x', LINE_SIZE);
    broken = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    *writer = writer_new(ends[0], on_broken, NULL);
    assert_non_null(*writer);
    writer_send(*writer, WRITER_WAIT, line, LINE_SIZE);
    free(line);
}

static void the_rest_is_written_later(void **state)
{
    static char got[64 * 1024];
    struct writer *writer;
    size_t total = 0;
    int ends[2];

    (void)state;
    send_long_line(&writer, ends);
    while (total < LINE_SIZE + 1) {
        ssize_t length = read(ends[1], got, sizeof(got));

        assert_true(length > 0);
        total += (size_t)length;
    }
    assert_int_equal(broken, 0);
    writer_free(writer);
    close(ends[0]);
    close(ends[1]);
}

/* Nobody would ever write the rest, and whoever waits for the client to read would wait for ever. */
static void without_a_thread_the_client_is_given_up(void **state)
{
    struct writer *writer;
    int ends[2];

    (void)state;
    no_threads = true;
    send_long_line(&writer, ends);
    no_threads = false;
    assert_int_equal(broken, 1);
    writer_send(writer, WRITER_WAIT, "more", 4);
    assert_int_equal(broken, 1);
    writer_free(writer);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rest_is_written_later),
        cmocka_unit_test(without_a_thread_the_client_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
