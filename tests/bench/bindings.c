/*
 * What the bindings for other languages cost above the C call: a program of each reads a small file in the same box, so
 * often for each line that it gets, in turns with this one.
 */
#include "bench.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A just-in-time compiler works beside the first few thousand calls, on a processor that they need. */
enum { WARMING_TURNS = 120, TURNS = 60, CALLS = 50, MOST_PYTHON_US = 60, MOST_JAVASCRIPT_US = 80 };

static const char file_name[] = "small.txt";

struct program {
    pid_t process;
    int channel; /* its standard input and output */
};

static void once_in_c(void *context)
{
    struct sandlot_session *session = context;

    for (int i = 0; i < CALLS; i++) {
        const struct sandlot_read request = {.size = sizeof(request), .path = file_name};
        struct sandlot_page page = {.size = sizeof(page)};
        struct sandlot_error error = {0};

        if (sandlot_read_file(session, &request, &page, &error) < 0)
            give_up("cannot read '%s': %s", file_name, error.message);
        sandlot_page_clear(&page);
    }
}

/* One turn: it answers with a line when its calls are done. */
static void once_in_program(void *context)
{
    const struct program *program = context;
    char line;

    if (write(program->channel, "\n", 1) != 1 || read(program->channel, &line, 1) != 1)
        give_up("the program of a binding has ended; it says why on standard error");
}

static void start_program(struct program *program, const char *interpreter, const char *script, const char *id)
{
    char calls[16];
    const char *const arguments[] = {interpreter, script, id, file_name, calls, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];

    snprintf(calls, sizeof(calls), "%d", CALLS);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        give_up("cannot start %s: %s", interpreter, strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int failed = posix_spawn(&program->process, interpreter, &actions, NULL, (char *const *)arguments, environ);

    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    program->channel = ends[0];
    if (failed)
        give_up("cannot start %s: %s", interpreter, strerror(failed));
}

static void measure(struct sandlot_session *session, const char *what, double target, const char *interpreter,
                    const char *script)
{
    struct program program;
    struct contender contenders[] = {{.once = once_in_c, .context = session},
                                     {.once = once_in_program, .context = &program}};

    start_program(&program, interpreter, script, sandlot_session_id(session));
    for (int i = 0; i < WARMING_TURNS; i++)
        once_in_program(&program);
    compete_quietest(contenders, 2, TURNS, 3);
    shutdown(program.channel, SHUT_WR);
    must_succeed(program.process, interpreter);
    close(program.channel);
    double c_us = contenders[0].median_us / CALLS;
    double binding_us = contenders[1].median_us / CALLS;

    row(what, binding_us - c_us, target, "us", "%.0f us, in C %.0f us", binding_us, c_us);
}

void bench_bindings(const struct bench *bench)
{
    struct sandlot_session *session = open_box(bench->sandlot, NULL, NULL);

    in_box(session, "echo small >small.txt");
    if (access("/usr/bin/python3", X_OK) == 0) {
        measure(session, "Python: read of a small file, above the C call", MOST_PYTHON_US, "/usr/bin/python3",
                "tests/bench/binding.py");
        measure(session, "Python: the same awaited in asyncio's event loop", MOST_PYTHON_US, "/usr/bin/python3",
                "tests/bench/binding_asyncio.py");
    }
    if (bench->node && getenv("NODE_PATH"))
        measure(session, "JavaScript: read of a small file, above the C call", MOST_JAVASCRIPT_US, bench->node,
                "tests/bench/binding.mjs");
    close_box(session);
}
