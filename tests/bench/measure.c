/* Measuring in turns, the table, and the processes, sandboxes and files that are measured. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONTENDERS = 8, LINE = 64 };

void give_up(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("not ok something could not be measured: ", stdout);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    exit(1);
}

double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* ---- in turns ---- */

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The sample that TENTHS tenths of the others are below. */
static double quantile(const double *samples, size_t count, size_t tenths)
{
    double sorted[ROUNDS_MAXIMUM];

    memcpy(sorted, samples, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare);
    return sorted[count * tenths / 10];
}

double median(const double *samples, size_t count)
{
    return quantile(samples, count, 5);
}

static double take_turn(const struct contender *contender)
{
    if (contender->prepare)
        contender->prepare(contender->context);
    double began = now_us();

    contender->once(contender->context);
    return now_us() - began;
}

/* BENCH_TURNS in the environment asks for fewer: what is said of times is worth little then, but all is measured. */
static size_t at_most_turns(size_t wanted)
{
    const char *text = getenv("BENCH_TURNS");
    size_t most = text ? strtoul(text, NULL, 10) : 0;

    return most > 0 && most < wanted ? most : wanted;
}

void compete(struct contender *contenders, size_t count, size_t rounds)
{
    static double samples[CONTENDERS][ROUNDS_MAXIMUM];

    rounds = at_most_turns(rounds);
    if (count > CONTENDERS || rounds > ROUNDS_MAXIMUM)
        give_up("too many contenders or rounds");
    for (size_t c = 0; c < count; c++)
        take_turn(&contenders[c]); /* caches are warm for everybody */
    for (size_t round = 0; round < rounds; round++)
        for (size_t c = 0; c < count; c++)
            samples[c][round] = take_turn(&contenders[c]);
    for (size_t c = 0; c < count; c++) {
        contenders[c].median_us = quantile(samples[c], rounds, 5);
        contenders[c].p90_us = quantile(samples[c], rounds, 9);
    }
}

void compete_quietest(struct contender *contenders, size_t count, size_t rounds, size_t times)
{
    struct contender best[CONTENDERS] = {0};

    times = at_most_turns(times);
    for (size_t i = 0; i < times; i++) {
        compete(contenders, count, rounds);
        for (size_t c = 0; c < count; c++)
            if (i == 0 || contenders[c].median_us < best[c].median_us)
                best[c] = contenders[c];
    }
    memcpy(contenders, best, count * sizeof(*best));
}

/* ---- the table ---- */

static int broken;

static void print_row(const char *what, double measured, double target, const char *unit, const char *word,
                      const char *detail, va_list arguments)
{
    printf("%-58s %9.2f %9.2f %-4s %-5s ", what, measured, target, unit, word);
    vprintf(detail, arguments);
    putchar('\n');
    fflush(stdout);
}

void row(const char *what, double measured, double target, const char *unit, const char *detail, ...)
{
    va_list arguments;

    va_start(arguments, detail);
    print_row(what, measured, target, unit, measured <= target ? "ok" : "over", detail, arguments);
    va_end(arguments);
}

void steady_row(const char *what, double measured, double target, const char *unit, const char *detail, ...)
{
    bool holds = measured <= target;
    va_list arguments;

    va_start(arguments, detail);
    print_row(what, measured, target, unit, holds ? "ok" : "BROKEN", detail, arguments);
    va_end(arguments);
    if (!holds)
        printf("not ok %s: %.2f %s, at most %.2f\n", what, measured, unit, target);
    broken += !holds;
}

int broken_rows(void)
{
    return broken;
}

/* ---- processes ---- */

int start_quietly(const char *const *arguments)
{
    posix_spawn_file_actions_t quiet;
    pid_t child;

    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    int problem = posix_spawn(&child, arguments[0], &quiet, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (problem)
        give_up("%s could not be started: %s", arguments[0], strerror(problem));
    return child;
}

void must_succeed(int process, const char *name)
{
    int status;

    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR)
            give_up("waitpid: %s", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        give_up("%s failed with wait status %d", name, status);
}

void run(const char *const *arguments)
{
    must_succeed(start_quietly(arguments), arguments[0]);
}

void once_run(void *arguments)
{
    run(arguments);
}

long kilobytes(const char *path, const char *name)
{
    char line[256];
    long value = -1;
    size_t length = strlen(name);
    FILE *file = fopen(path, "re");

    while (file && value < 0 && fgets(line, sizeof(line), file))
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            value = strtol(line + length + 1, NULL, 10);
    if (file)
        fclose(file);
    return value;
}

/* ---- sandboxes and files ---- */

void test_plugins_begin(const struct bench *bench)
{
    char *config = bench_path(bench, "test_plugins.toml");
    FILE *file = fopen(config, "w");

    if (!file || fputs("[sandboxes.providers.only_execute]\nisolation = \"unconfined\"\n", file) < 0 ||
        fclose(file) != 0)
        give_up("%s: %s", config, strerror(errno));
    setenv("SANDLOT_CONFIG", config, 1);
    setenv("SANDLOT_PLUGIN_PATH", bench->test_plugins, 1);
    free(config);
}

void test_plugins_end(void)
{
    unsetenv("SANDLOT_CONFIG");
    unsetenv("SANDLOT_PLUGIN_PATH");
}

struct sandlot_session *open_box(struct sandlot *sandlot, const char *provider, const char *const *parameters)
{
    struct sandlot_error error = {0};
    struct sandlot_session_options options = {.size = sizeof(options), .provider = provider, .parameters = parameters};
    struct sandlot_session *session = sandlot_session_open(sandlot, &options, &error);

    if (!session)
        give_up("no sandbox could be made: %s", error.message);
    return session;
}

void close_box(struct sandlot_session *session)
{
    struct sandlot_error error = {0};

    if (sandlot_session_close(session, &error) < 0)
        give_up("close: %s", error.message);
}

void in_box(struct sandlot_session *session, const char *command)
{
    struct sandlot_error error = {0};
    struct sandlot_execution execution = {.size = sizeof(execution), .command = command};
    struct sandlot_result result = {.size = sizeof(result)};

    if (sandlot_execute(session, &execution, &result, &error) < 0)
        give_up("execute: %s", error.message);
    if (!result.has_exit_code || result.exit_code != 0)
        give_up("a command ended with %d: %.200s: %.200s", result.exit_code, command, result.output);
    sandlot_result_clear(&result);
}

char *bench_path(const struct bench *bench, const char *name)
{
    char *path;

    if (asprintf(&path, "%s/%s", bench->folder, name) < 0)
        give_up("out of memory");
    return path;
}

char *make_text(size_t length)
{
    char *text = malloc(length + 1);

    if (!text)
        give_up("out of memory");
    for (size_t i = 0; i < length; i++)
        text[i] = i % LINE == LINE - 1 ? '\n' : (char)('a' + (i / LINE + i) % 26);
    text[length] = '\0';
    return text;
}

void make_text_file(const char *path, size_t length)
{
    char *text = make_text(length);
    FILE *file = fopen(path, "we");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        give_up("%s: %s", path, strerror(errno));
    free(text);
}

void make_file(const char *path, uint64_t length)
{
    uint64_t block[8192];
    uint64_t state = 88172645463325252U;
    FILE *file = fopen(path, "we");

    if (!file)
        give_up("%s: %s", path, strerror(errno));
    for (uint64_t written = 0; written < length; written += sizeof(block)) {
        uint64_t rest = length - written;
        for (size_t i = 0; i < sizeof(block) / sizeof(*block); i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            block[i] = state;
        }
        fwrite(block, 1, rest < sizeof(block) ? rest : sizeof(block), file);
    }
    if (fclose(file) != 0)
        give_up("%s: %s", path, strerror(errno));
}
