/*
 * The MCP server over its pipes: calls beside those of the reference file system server, which runs on Node.js, and
 * what a line that is no message, and has no end for 64 MiB, leaves behind.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JUNK_MIB = 64, PATIENCE_MS = 20000, ANSWER_BYTES = 65536, STARTS = 10, TURNS = 40, CALLS_OF_TURN = 20 };

static const char INITIALIZE[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":"
    "\"1\"}}}\n";
static const char INITIALIZED[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
static const char PING[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

struct server {
    const char *const *arguments;
    char *call;    /* of a tool, as a line */
    pid_t process; /* 0: does not run */
    int input;
    int output;
};

static void start_server(struct server *server)
{
    int to[2];
    int from[2];
    posix_spawn_file_actions_t actions;

    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        give_up("pipe2: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int problem =
        posix_spawn(&server->process, server->arguments[0], &actions, NULL, (char *const *)server->arguments, environ);
    if (problem)
        give_up("%s could not be started: %s", server->arguments[0], strerror(problem));
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    server->input = to[1];
    server->output = from[0];
}

/* A server ends when its client has gone. */
static void stop_server(struct server *server)
{
    if (!server->process)
        return;
    close(server->input);
    must_succeed(server->process, server->arguments[0]);
    close(server->output);
    server->process = 0;
}

static void send_bytes(const struct server *server, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = write(server->input, bytes, length);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            give_up("%s does not read: %s", server->arguments[0], strerror(errno));
        bytes += sent;
        length -= (size_t)sent;
    }
}

/* Sends a request, which is number 1, and reads until its answer is there, which must be no error. */
static void ask(const struct server *server, const char *request)
{
    char answer[ANSWER_BYTES];
    size_t length = 0;
    struct pollfd ready = {.fd = server->output, .events = POLLIN};

    send_bytes(server, request, strlen(request));
    do {
        ssize_t got = length < sizeof(answer) - 1 && poll(&ready, 1, PATIENCE_MS) > 0
                          ? read(server->output, answer + length, sizeof(answer) - 1 - length)
                          : 0;
        if (got <= 0)
            give_up("%s did not answer %.80s", server->arguments[0], request);
        length += (size_t)got;
        answer[length] = '\0';
    } while (answer[length - 1] != '\n' || !strstr(answer, "\"id\":1"));
    if (!strstr(answer, "\"result\"") || strstr(answer, "\"isError\":true"))
        give_up("%s answered %.80s with %.300s", server->arguments[0], request, answer);
}

/* ---- beside the reference server ---- */

static void before_start(void *context)
{
    stop_server(context);
}

static void once_start(void *context)
{
    struct server *server = context;

    start_server(server);
    ask(server, INITIALIZE);
}

/* Several calls in one turn, for what the other server still does after its answer would count for this one. */
static void ask_repeatedly(const struct server *server, const char *request)
{
    for (int i = 0; i < CALLS_OF_TURN; i++)
        ask(server, request);
}

static void once_ping(void *context)
{
    ask_repeatedly(context, PING);
}

static void once_call(void *context)
{
    const struct server *server = context;

    ask_repeatedly(server, server->call);
}

static char *make_call(const char *tool, const char *argument, const char *path)
{
    char *call;

    if (asprintf(&call,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":"
                 "{\"%s\":\"%s\"}}}\n",
                 tool, argument, path) < 0)
        give_up("out of memory");
    return call;
}

static void compare(const char *what, struct server *servers, void (*once)(void *context),
                    void (*prepare)(void *context), size_t rounds, int calls)
{
    struct contender turns[] = {{.once = once, .context = &servers[0], .prepare = prepare},
                                {.once = once, .context = &servers[1], .prepare = prepare}};

    compete(turns, 2, rounds);
    row(what, turns[0].median_us / turns[1].median_us, 0.25, "x", "%.0f us and %.0f us", turns[0].median_us / calls,
        turns[1].median_us / calls);
}

static void measure_calls(const struct bench *bench)
{
    char *folder = bench_path(bench, "lines");
    char *path = bench_path(bench, "lines/hundred.txt");
    char *parameter;

    if (asprintf(&parameter, "workspace=%s", folder) < 0)
        give_up("out of memory");
    run((const char *const[]){"/bin/mkdir", folder, NULL});
    make_text_file(path, 6400);

    const char *const ours[] = {bench->command, "mcp", "--param", parameter, NULL};
    const char *const theirs[] = {bench->node, bench->reference_server, folder, NULL};
    struct server servers[] = {{.arguments = ours, .call = make_call("read_file", "file_path", "hundred.txt")},
                               {.arguments = theirs, .call = make_call("read_text_file", "path", path)}};

    compare("MCP: launch to the answer of initialize / reference", servers, once_start, before_start, STARTS, 1);
    for (size_t i = 0; i < 2; i++)
        send_bytes(&servers[i], INITIALIZED, strlen(INITIALIZED));
    compare("MCP: ping / reference", servers, once_ping, NULL, TURNS, CALLS_OF_TURN);
    compare("MCP: read_file of 100 lines / reference", servers, once_call, NULL, TURNS, CALLS_OF_TURN);
    for (size_t i = 0; i < 2; i++) {
        stop_server(&servers[i]);
        free(servers[i].call);
    }
    free(parameter);
    free(path);
    free(folder);
}

/* ---- a line that is no message ---- */

static void send_junk(const struct server *server)
{
    enum { BLOCK = 1 << 20 };
    char *block = malloc(BLOCK);

    if (!block)
        give_up("out of memory");
    memset(block, '[', BLOCK);
    for (int i = 0; i < JUNK_MIB; i++)
        send_bytes(server, block, BLOCK);
    free(block);
    send_bytes(server, "\n", 1);
}

static void measure_junk(const struct bench *bench)
{
    const char *const arguments[] = {bench->command, "mcp", NULL};
    struct server server = {.arguments = arguments};
    char status[64];

    once_start(&server);
    snprintf(status, sizeof(status), "/proc/%d/status", (int)server.process);
    long before = kilobytes(status, "VmRSS");

    send_junk(&server);
    ask(&server, PING);
    steady_row("memory of the MCP server after a line of 64 MiB", (double)kilobytes(status, "VmRSS") / 1024, 20, "MiB",
               "%.1f before, %.1f at most meanwhile", (double)before / 1024, (double)kilobytes(status, "VmHWM") / 1024);
    stop_server(&server);
}

void bench_server(const struct bench *bench)
{
    signal(SIGPIPE, SIG_IGN); /* a server that has ended is told of */
    if (bench->node && bench->reference_server)
        measure_calls(bench);
    else
        printf("%-58s not measured: no Node.js or no reference server; run make clients\n", "MCP: calls / reference");
    measure_junk(bench);
    signal(SIGPIPE, SIG_DFL);
}
