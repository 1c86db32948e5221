/*
 * The figures of `make bench`. What is compared is measured in turns within one run, A B A B, so that both meet the
 * same machine; a figure is the ratio (or the difference) of the two medians.
 *
 *   bench SANDLOT PLUGINS BOXES
 *
 * SANDLOT is the command, PLUGINS a folder with a thousand providers, BOXES how many boxes to keep alive at once.
 * Like every embedding program this one uses the public header alone. Status 1: something could not be measured.
 */
#include "sandlot/sandlot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONTENDERS = 4, ROUNDS_MAXIMUM = 600, EDGE = 20 };

__attribute__((format(printf, 1, 2), noreturn)) static void give_up(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(const double *samples, size_t count)
{
    double sorted[ROUNDS_MAXIMUM];

    memcpy(sorted, samples, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare);
    return sorted[count / 2];
}

/* ---- processes ---------------------------------------------------------------------------------------------- */

static posix_spawn_file_actions_t quiet;

/* Runs a program to its end by vfork and exec (that is what posix_spawn does here); it must succeed. */
static void run(const char *const *arguments)
{
    pid_t child;
    int status;
    int problem = posix_spawn(&child, arguments[0], &quiet, NULL, (char *const *)arguments, environ);

    if (problem)
        give_up("%s could not be started: %s", arguments[0], strerror(problem));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            give_up("waitpid: %s", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        give_up("%s %s failed with wait status %d", arguments[0], arguments[1] ? arguments[1] : "", status);
}

/* Creates a sandbox with the command and takes its id from the answer. */
static void create_by_command(const char *sandlot, char *id, size_t size)
{
    int ends[2];
    char answer[1024];
    size_t length = 0;
    ssize_t got;
    pid_t child;
    int status;
    posix_spawn_file_actions_t actions;
    const char *arguments[] = {sandlot, "create", "--json", NULL};

    if (pipe2(ends, O_CLOEXEC) < 0)
        give_up("pipe2: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (posix_spawn(&child, sandlot, &actions, NULL, (char *const *)arguments, environ))
        give_up("%s could not be started", sandlot);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    while (length < sizeof(answer) - 1 && (got = read(ends[0], answer + length, sizeof(answer) - 1 - length)) > 0)
        length += (size_t)got;
    answer[length] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);

    const char *value = strstr(answer, "\"id\":");
    const char *begin = value ? strchr(value + strlen("\"id\":"), '"') : NULL;
    const char *end = begin ? strchr(begin + 1, '"') : NULL;
    if (status != 0 || !end || (size_t)(end - begin) > size)
        give_up("sandlot create failed: %s", answer);
    snprintf(id, size, "%.*s", (int)(end - begin - 1), begin + 1);
}

/* ---- measuring in turns ---------------------------------------------------------------------------------------- */

struct contender {
    void (*once)(void *context);
    void *context;
    double median_us;
};

static void compete(struct contender *contenders, size_t count, size_t rounds)
{
    static double samples[CONTENDERS][ROUNDS_MAXIMUM];

    for (size_t c = 0; c < count; c++)
        contenders[c].once(contenders[c].context); /* caches are warm for everybody */
    for (size_t round = 0; round < rounds; round++) {
        for (size_t c = 0; c < count; c++) {
            double began = now_us();
            contenders[c].once(contenders[c].context);
            samples[c][round] = now_us() - began;
        }
    }
    for (size_t c = 0; c < count; c++)
        contenders[c].median_us = median(samples[c], rounds);
}

static void once_run(void *context)
{
    run(context);
}

struct live_box {
    struct sandlot_session *session;
};

static void once_execute(void *context)
{
    const struct live_box *box = context;
    struct sandlot_error error = {0};
    struct sandlot_execution command = {.size = sizeof(command), .command = "true"};
    struct sandlot_result result = {.size = sizeof(result)};

    if (sandlot_execute(box->session, &command, &result, &error) < 0)
        give_up("execute: %s", error.message);
    if (!result.has_exit_code || result.exit_code != 0)
        give_up("true ended with %d", result.exit_code);
    sandlot_result_clear(&result);
}

static void once_life(void *context)
{
    const char *sandlot = context;
    char id[256];

    create_by_command(sandlot, id, sizeof(id));
    run((const char *const[]){sandlot, "exec", "--sandbox-id", id, "--", "true", NULL});
    run((const char *const[]){sandlot, "delete", id, NULL});
}

/* ---- the table -----------------------------------------------------------------------------------------------------
 */

static void row(const char *what, double measured, double target, const char *unit, const char *detail, ...)
    __attribute__((format(printf, 5, 6)));

static void row(const char *what, double measured, double target, const char *unit, const char *detail, ...)
{
    char text[200];
    va_list arguments;

    va_start(arguments, detail);
    vsnprintf(text, sizeof(text), detail, arguments);
    va_end(arguments);
    printf("%-58s %9.2f %9.2f %-4s %-5s %s\n", what, measured, target, unit, measured <= target ? "ok" : "OVER", text);
    fflush(stdout);
}

/* The same command with a view and an environment like those of a box. */
static const char *const BWRAP[] = {"/usr/bin/bwrap",
                                    "--unshare-all",
                                    "--die-with-parent",
                                    "--new-session",
                                    "--cap-drop",
                                    "ALL",
                                    "--clearenv",
                                    "--setenv",
                                    "PATH",
                                    "/usr/bin:/bin",
                                    "--setenv",
                                    "LC_CTYPE",
                                    "C.UTF-8",
                                    "--ro-bind",
                                    "/usr",
                                    "/usr",
                                    "--symlink",
                                    "usr/bin",
                                    "/bin",
                                    "--symlink",
                                    "usr/lib",
                                    "/lib",
                                    "--symlink",
                                    "usr/lib64",
                                    "/lib64",
                                    "--ro-bind-try",
                                    "/etc/alternatives",
                                    "/etc/alternatives",
                                    "--ro-bind-try",
                                    "/etc/bash.bashrc",
                                    "/etc/bash.bashrc",
                                    "--ro-bind-try",
                                    "/etc/fonts",
                                    "/etc/fonts",
                                    "--ro-bind-try",
                                    "/etc/ld.so.cache",
                                    "/etc/ld.so.cache",
                                    "--ro-bind-try",
                                    "/etc/ld.so.conf",
                                    "/etc/ld.so.conf",
                                    "--ro-bind-try",
                                    "/etc/ld.so.conf.d",
                                    "/etc/ld.so.conf.d",
                                    "--ro-bind-try",
                                    "/etc/mime.types",
                                    "/etc/mime.types",
                                    "--ro-bind-try",
                                    "/etc/perl",
                                    "/etc/perl",
                                    "--ro-bind-try",
                                    "/etc/protocols",
                                    "/etc/protocols",
                                    "--ro-bind-try",
                                    "/etc/services",
                                    "/etc/services",
                                    "--ro-bind-try",
                                    "/etc/ssl/certs",
                                    "/etc/ssl/certs",
                                    "--ro-bind-try",
                                    "/etc/ssl/openssl.cnf",
                                    "/etc/ssl/openssl.cnf",
                                    "--ro-bind-try",
                                    "/etc/terminfo",
                                    "/etc/terminfo",
                                    "--proc",
                                    "/proc",
                                    "--dev",
                                    "/dev",
                                    "--tmpfs",
                                    "/tmp",
                                    "--tmpfs",
                                    "/run",
                                    "--tmpfs",
                                    "/home/sandlot",
                                    "--tmpfs",
                                    "/workspace",
                                    "--chdir",
                                    "/workspace",
                                    "/bin/bash",
                                    "-c",
                                    "true",
                                    NULL};

static void measure_start(const char *sandlot)
{
    const char *version[] = {sandlot, "--version", NULL};
    const char *nothing[] = {"/bin/true", NULL};
    struct contender turns[] = {{once_run, version, 0}, {once_run, nothing, 0}};

    compete(turns, 2, 300);
    row("sandlot --version, less true", (turns[0].median_us - turns[1].median_us) / 1e3, 2, "ms", "%.2f ms and %.2f ms",
        turns[0].median_us / 1e3, turns[1].median_us / 1e3);
}

static void measure_listing(const char *sandlot, const char *plugins)
{
    const char *providers[] = {sandlot, "providers", NULL};
    const char *nothing[] = {"/bin/true", NULL};
    struct contender turns[] = {{once_run, providers, 0}, {once_run, nothing, 0}};

    setenv("SANDLOT_PLUGIN_PATH", plugins, 1);
    compete(turns, 2, 40);
    unsetenv("SANDLOT_PLUGIN_PATH");
    row("sandlot providers, 1,000 plugin files", turns[0].median_us / 1e3, 40, "ms", "%.0f times true",
        turns[0].median_us / turns[1].median_us);
}

static void measure_execute(struct sandlot_session *session)
{
    const char *nothing[] = {"/bin/true", NULL};
    const char *shell[] = {"/bin/bash", "-c", "true", NULL};
    struct live_box box = {session};
    struct contender turns[] = {{once_execute, &box, 0}, {once_run, shell, 0}, {once_run, nothing, 0}};

    compete(turns, 3, 400);
    row("execute(\"true\") / vfork+exec of the same shell line", turns[0].median_us / turns[1].median_us, 2, "x",
        "%.0f us and %.0f us", turns[0].median_us, turns[1].median_us);
    row("execute(\"true\") / vfork+exec of /bin/true without a shell", turns[0].median_us / turns[2].median_us, 2, "x",
        "%.0f us and %.0f us", turns[0].median_us, turns[2].median_us);
}

static void measure_command(const char *sandlot, const char *id)
{
    const char *in_box[] = {sandlot, "exec", "--sandbox-id", id, "--", "true", NULL};
    struct contender turns[] = {{once_run, in_box, 0}, {once_run, (void *)BWRAP, 0}, {once_life, (void *)sandlot, 0}};

    compete(turns, 3, 60);
    row("sandlot exec in a live box / bwrap", turns[0].median_us / turns[1].median_us, 0.6, "x", "%.2f ms and %.2f ms",
        turns[0].median_us / 1e3, turns[1].median_us / 1e3);
    row("create + exec + delete, three processes / bwrap", turns[2].median_us / turns[1].median_us, 2.5, "x",
        "%.2f ms and %.2f ms", turns[2].median_us / 1e3, turns[1].median_us / 1e3);
}

/* ---- many boxes ------------------------------------------------------------------------------------------------- */

/* The number after NAME in a file of lines "NAME:  number kB"; -1: not there. */
static long kilobytes(const char *path, const char *name)
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

/* Sum of Pss of the keeper and the inits of its boxes, in KiB: what they do not share, and their part of what they
 * share. */
static long keeper_pss(void)
{
    long sum = 0;
    DIR *processes = opendir("/proc");

    for (const struct dirent *entry; processes && (entry = readdir(processes));) {
        char path[300];
        char program[PATH_MAX];
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof(path), "/proc/%s/exe", entry->d_name);
        ssize_t length = readlink(path, program, sizeof(program) - 1);
        program[length < 0 ? 0 : length] = '\0';
        if (!strstr(program, "/sandlot-local-keeper"))
            continue;
        snprintf(path, sizeof(path), "/proc/%s/smaps_rollup", entry->d_name);
        long pss = kilobytes(path, "Pss");
        sum += pss > 0 ? pss : 0;
    }
    if (processes)
        closedir(processes);
    return sum;
}

/* Makes a box that stays, and returns how long that took. */
static double create_kept(struct sandlot *sandlot, char **id)
{
    struct sandlot_error error = {0};
    struct sandlot_session_options options = {.size = sizeof(options), .keep = true};
    double began = now_us();
    struct sandlot_session *session = sandlot_session_open(sandlot, &options, &error);
    double took = now_us() - began;

    if (!session)
        give_up("create: %s", error.message);
    *id = strdup(sandlot_session_id(session));
    if (sandlot_session_close(session, &error) < 0)
        give_up("close: %s", error.message);
    return took;
}

static void delete_all(struct sandlot *sandlot, char **ids, size_t count)
{
    struct sandlot_target target = {.size = sizeof(target)};
    struct sandlot_error error = {0};

    for (size_t i = 0; i < count; i++) {
        if (sandlot_delete(sandlot, &target, ids[i], &error) < 0)
            give_up("delete %s: %s", ids[i], error.message);
        free(ids[i]);
    }
}

static void measure_many(struct sandlot *sandlot, size_t boxes)
{
    char **ids = calloc(boxes, sizeof(*ids));
    double *took = calloc(boxes, sizeof(*took));
    long available = kilobytes("/proc/meminfo", "MemAvailable");
    long pss = keeper_pss();

    if (!ids || !took || boxes < 2 * EDGE)
        give_up("at least %d boxes are needed", 2 * EDGE);
    for (size_t i = 0; i < boxes; i++) {
        took[i] = create_kept(sandlot, &ids[i]);
        if (i + 1 == boxes / 10 || i + 1 == boxes) {
            double each = (double)(available - kilobytes("/proc/meminfo", "MemAvailable")) / (double)(i + 1);
            char what[64];
            snprintf(what, sizeof(what), "memory of an idle box, of %zu alive", i + 1);
            row(what, each, 512, "KiB", "of the machine; Pss of the processes alone: %.0f KiB",
                (double)(keeper_pss() - pss) / (double)(i + 1));
        }
    }
    char what[64];
    double first = median(took, EDGE);
    double last = median(took + boxes - EDGE, EDGE);
    snprintf(what, sizeof(what), "create: the last %d of %zu / the first %d", EDGE, boxes, EDGE);
    row(what, last / first, 2, "x", "%.2f ms and %.2f ms", last / 1e3, first / 1e3);
    delete_all(sandlot, ids, boxes);
    free(ids);
    free(took);
}

int main(int argc, char **argv)
{
    struct sandlot_error error = {0};

    if (argc != 4)
        give_up("usage: bench SANDLOT PLUGINS BOXES");
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);

    printf("%-58s %9s %9s %-4s\n", "what", "measured", "at most", "unit");
    measure_start(argv[1]);
    measure_listing(argv[1], argv[2]);

    struct sandlot *sandlot = sandlot_open(NULL, &error);
    struct sandlot_session *session = sandlot ? sandlot_session_open(sandlot, NULL, &error) : NULL;
    if (!session)
        give_up("no sandbox could be made: %s", error.message);
    measure_execute(session);
    measure_command(argv[1], sandlot_session_id(session));
    measure_many(sandlot, strtoul(argv[3], NULL, 10));
    if (sandlot_session_close(session, &error) < 0)
        give_up("close: %s", error.message);
    sandlot_close(sandlot);
    posix_spawn_file_actions_destroy(&quiet);
    return 0;
}
