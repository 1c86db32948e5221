/*
 * Background processes: what it takes to start one, to look at it, to read its log, and what keeping the log costs the
 * process. On `local` without a process in the box for it, and through commands alone.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STARTS = 40, LOOKS = 40, LARGE = 9, LINES = 25 };

/* A file of a box, and a process that has printed the same bytes. */
struct log {
    const struct bench *bench;
    struct sandlot_session *session;
    char process[SANDLOT_PROCESS_ID_SIZE];
    uint64_t length;
};

static void start(struct sandlot_session *session, const char *command, char *id)
{
    struct sandlot_error error = {0};
    struct sandlot_start request = {.size = sizeof(request), .command = command};

    if (sandlot_start_process(session, &request, id, &error) < 0)
        give_up("start: %s", error.message);
}

static void stop(struct sandlot_session *session, const char *id)
{
    struct sandlot_error error = {0};
    struct sandlot_signal request = {.size = sizeof(request), .id = id, .name = "KILL"};

    if (sandlot_signal_process(session, &request, &error) < 0)
        give_up("kill: %s", error.message);
}

static bool count_bytes(void *context, uint64_t offset, const void *bytes, size_t length)
{
    (void)offset;
    (void)bytes;
    *(uint64_t *)context += length;
    return true;
}

/* Reads the log from its beginning, until the process has ended; returns how much there was. */
static uint64_t read_log(struct sandlot_session *session, const char *id)
{
    struct sandlot_error error = {0};
    uint64_t got = 0;
    struct sandlot_follow request = {
        .size = sizeof(request), .id = id, .wait_ms = -1, .output = count_bytes, .context = &got};

    if (sandlot_follow_process(session, &request, NULL, NULL, &error) < 0)
        give_up("logs: %s", error.message);
    return got;
}

static struct log make_log(const struct bench *bench, const char *provider, const char *mebibytes)
{
    struct log log = {.bench = bench, .session = open_box(bench->sandlot, provider, NULL)};
    char command[96];

    snprintf(command, sizeof(command), "yes 'a line of a log of some length' | head -c %sM >text", mebibytes);
    in_box(log.session, command);
    start(log.session, "cat text", log.process);
    log.length = read_log(log.session, log.process);
    if (log.length != strtoull(mebibytes, NULL, 10) << 20)
        give_up("a log of %s MiB has %llu bytes", mebibytes, (unsigned long long)log.length);
    return log;
}

/* ---- by the command ---- */

static void measure_start(const struct bench *bench, const char *id)
{
    const char *const detached[] = {bench->command, "-q", "exec", "--sandbox-id", id, "--detach", "--", "true", NULL};
    const char *const plain[] = {bench->command, "-q", "exec", "--sandbox-id", id, "--", "true", NULL};
    struct contender turns[] = {{.once = once_run, .context = (void *)detached},
                                {.once = once_run, .context = (void *)plain}};

    compete(turns, 2, STARTS);
    row("exec --detach / exec, in a live box", turns[0].median_us / turns[1].median_us, 4, "x", "%.2f ms and %.2f ms",
        turns[0].median_us / 1e3, turns[1].median_us / 1e3);
}

static void measure_looks(const struct bench *bench)
{
    struct log log = make_log(bench, "local", "1");
    const char *const id = sandlot_session_id(log.session);
    const char *const ps[] = {bench->command, "-q", "ps", "--all", "--sandbox-id", id, NULL};
    const char *const logs[] = {bench->command, "-q", "logs", "--sandbox-id", id, log.process, NULL};
    const char *const read[] = {bench->command, "-q", "read", "--sandbox-id", id, "text", "--limit", "99999", NULL};
    struct contender turns[] = {{.once = once_run, .context = (void *)ps},
                                {.once = once_run, .context = (void *)logs},
                                {.once = once_run, .context = (void *)read}};

    measure_start(bench, id);
    compete(turns, 3, LOOKS);
    row("ps / read of 1 MiB", turns[0].median_us / turns[2].median_us, 1.5, "x", "%.2f ms and %.2f ms",
        turns[0].median_us / 1e3, turns[2].median_us / 1e3);
    row("logs of 1 MiB / read of it", turns[1].median_us / turns[2].median_us, 1.5, "x", "%.2f ms and %.2f ms",
        turns[1].median_us / 1e3, turns[2].median_us / 1e3);
    close_box(log.session);
}

/* ---- a large log ---- */

static void once_log(void *context)
{
    const struct log *log = context;

    if (read_log(log->session, log->process) != log->length)
        give_up("the log is not whole");
}

static void once_cat(void *context)
{
    const struct log *log = context;
    char *copy = bench_path(log->bench, "text");
    const char *const cat[] = {"/bin/cat", copy, NULL};

    run(cat);
    free(copy);
}

static void once_download(void *context)
{
    const struct log *log = context;
    struct sandlot_error error = {0};
    char *inside;
    char *target = bench_path(log->bench, "text");

    if (asprintf(&inside, "%s/text", sandlot_session_working_dir(log->session)) < 0)
        give_up("out of memory");
    struct sandlot_transfer_item item = {.size = sizeof(item), .path = inside, .local_path = target};
    struct sandlot_transfer_request request = {.size = sizeof(request), .items = &item, .count = 1};
    unlink(target);
    if (sandlot_download(log->session, &request, &error) < 0)
        give_up("download: %s", error.message);
    free(inside);
    free(target);
}

static void measure_large(const struct bench *bench)
{
    struct log log = make_log(bench, "local", "64");
    struct contender turns[] = {{.once = once_log, .context = &log}, {.once = once_cat, .context = &log}};

    once_download(&log);
    compete(turns, 2, LARGE);
    row("logs of 64 MiB / cat of them", turns[0].median_us / turns[1].median_us, 2, "x", "%.1f ms and %.1f ms",
        turns[0].median_us / 1e3, turns[1].median_us / 1e3);
    close_box(log.session);
}

static void measure_large_by_commands(const struct bench *bench)
{
    struct log log = make_log(bench, "only_execute", "64");
    struct contender turns[] = {{.once = once_log, .context = &log}, {.once = once_download, .context = &log}};

    compete(turns, 2, 3);
    row("logs of 64 MiB / download, by commands alone", turns[0].median_us / turns[1].median_us, 1.2, "x",
        "%.1f ms and %.1f ms", turns[0].median_us / 1e3, turns[1].median_us / 1e3);
    close_box(log.session);
}

/* ---- print to screen ---- */

struct news {
    double late_us[LINES];
    size_t count;
};

/* A line is the time at which it was printed, of the clock that all processes of a machine have; one that comes in two
 * pieces is left out. */
static bool note_line(void *context, uint64_t offset, const void *bytes, size_t length)
{
    struct news *news = context;
    char line[32];

    (void)offset;
    if (length < sizeof(line) && news->count < LINES) {
        snprintf(line, sizeof(line), "%.*s", (int)length, (const char *)bytes);
        news->late_us[news->count++] = now_us() - strtod(line, NULL) * 1e6;
    }
    return true;
}

static double follow_median(struct sandlot_session *session)
{
    struct sandlot_error error = {0};
    struct news news = {.count = 0};
    char id[SANDLOT_PROCESS_ID_SIZE];

    start(session,
          "exec python3 -u -c 'import time\nfor i in range(25): time.sleep(0.11 + i % 7 / 100); "
          "print(time.clock_gettime(time.CLOCK_MONOTONIC))'",
          id);
    struct sandlot_follow request = {
        .size = sizeof(request), .id = id, .wait_ms = -1, .output = note_line, .context = &news};
    if (sandlot_follow_process(session, &request, NULL, NULL, &error) < 0)
        give_up("logs: %s", error.message);
    if (news.count == 0)
        give_up("no line was seen by itself");
    return median(news.late_us, news.count);
}

static void once_true(void *session)
{
    in_box(session, "true");
}

static void measure_follow(struct sandlot_session *session)
{
    row("a line, from print to screen", follow_median(session) / 1e3, 100, "ms", "logs -f");
}

static void measure_follow_by_commands(const struct bench *bench)
{
    struct sandlot_session *session = open_box(bench->sandlot, "only_execute", NULL);
    struct contender command = {.once = once_true, .context = session};

    compete(&command, 1, LINES);
    row("the same by commands alone, less one command", (follow_median(session) - command.median_us) / 1e3, 150, "ms",
        "a command takes %.2f ms", command.median_us / 1e3);
    close_box(session);
}

/* ---- what the log costs the process ---- */

#define PRINT "head -c 256M /dev/zero"

static void once_kept(void *context)
{
    struct sandlot_session *session = context;
    char id[SANDLOT_PROCESS_ID_SIZE];

    start(session, PRINT " | cat", id);
    struct sandlot_error error = {0};
    struct sandlot_follow request = {.size = sizeof(request), .id = id, .wait_ms = -1};
    if (sandlot_follow_process(session, &request, NULL, NULL, &error) < 0)
        give_up("wait: %s", error.message);
}

static void once_plain(void *context)
{
    in_box(context, PRINT " | cat >file");
}

static void measure_pump(struct sandlot_session *session)
{
    struct contender turns[] = {{.once = once_kept, .context = session}, {.once = once_plain, .context = session}};

    compete(turns, 2, LARGE);
    row("256 MiB into a log / by cat into a file", turns[0].median_us / turns[1].median_us, 4, "x",
        "%.0f ms and %.0f ms", turns[0].median_us / 1e3, turns[1].median_us / 1e3);
}

/* The number that COMMAND prints in the box. */
static double number_in_box(struct sandlot_session *session, const char *command)
{
    struct sandlot_error error = {0};
    struct sandlot_execution execution = {.size = sizeof(execution), .command = command};
    struct sandlot_result result = {.size = sizeof(result)};

    if (sandlot_execute(session, &execution, &result, &error) < 0)
        give_up("execute: %s", error.message);
    double number = strtod(result.output, NULL);
    sandlot_result_clear(&result);
    return number;
}

/* Sums of the supervisor and the pump, a shell each, and the program that the pump runs. */
#define OF_IDLE(FILE, WHAT)                                                                                  \
    "for p in /proc/[0-9]*; do read -r name <$p/comm; case $name in sh | dd) cat $p/" FILE "; esac; done | " \
    "awk '" WHAT " END { print sum + 0 }'"

static void measure_idle(struct sandlot_session *session)
{
    static const char MEMORY[] = OF_IDLE("smaps_rollup", "/^Pss:/ { sum += $2 }");
    static const char TICKS[] = OF_IDLE("stat", "{ sum += $14 + $15 }");
    char id[SANDLOT_PROCESS_ID_SIZE];

    start(session, "exec sleep 1000", id);
    usleep(500000);
    double before = number_in_box(session, TICKS);
    double memory = number_in_box(session, MEMORY);
    usleep(1000000);
    if (memory <= 0)
        give_up("neither supervisor nor pump was found");
    steady_row("memory of supervisor and pump of an idle process", memory / 1024, 3, "MiB", "Pss");
    steady_row("their processor time in a second", number_in_box(session, TICKS) - before, 0, "tick", "of an idle one");
    stop(session, id);
}

void bench_processes(const struct bench *bench)
{
    struct sandlot_session *session = open_box(bench->sandlot, "local", NULL);

    measure_looks(bench);
    measure_large(bench);
    measure_follow(session);
    measure_pump(session);
    measure_idle(session);
    close_box(session);
    test_plugins_begin(bench);
    struct bench plugins = *bench;
    struct sandlot_error error = {0};
    plugins.sandlot = sandlot_open(NULL, &error);
    if (!plugins.sandlot)
        give_up("%s", error.message);
    measure_large_by_commands(&plugins);
    measure_follow_by_commands(&plugins);
    sandlot_close(plugins.sandlot);
    test_plugins_end();
}
