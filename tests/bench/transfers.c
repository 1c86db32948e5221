/* Whole files into a box and out of it: how fast, beside cp, and in how much memory. */
#include "bench.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

enum { SIZE_MIB = 64, LARGE_MIB = 4096, DERIVED_MIB = 256, TURNS = 15 };

struct move {
    struct sandlot_session *session;
    const char *source; /* on this machine */
    const char *target; /* on this machine */
    char *inside;       /* in the box */
    char *inside_fresh;
};

static void remove_inside(const struct move *move, const char *path)
{
    struct sandlot_error error = {0};
    struct sandlot_remove request = {.size = sizeof(request), .path = path};

    if (sandlot_remove_file(move->session, &request, &error) < 0 && error.code != SANDLOT_CODE_FILE_NOT_FOUND &&
        error.code != SANDLOT_CODE_PATH_NOT_FOUND)
        give_up("rm: %s", error.message);
    sandlot_error_clear(&error);
}

static void before_upload(void *context)
{
    const struct move *move = context;

    remove_inside(move, move->inside_fresh);
}

static void upload(const struct move *move, const char *path)
{
    struct sandlot_error error = {0};
    struct sandlot_transfer_item item = {.size = sizeof(item), .path = path, .local_path = move->source};
    struct sandlot_transfer_request request = {.size = sizeof(request), .items = &item, .count = 1};

    if (sandlot_upload(move->session, &request, &error) < 0)
        give_up("upload: %s", error.message);
}

static void once_upload(void *context)
{
    const struct move *move = context;

    upload(move, move->inside_fresh);
}

static void before_target(void *context)
{
    const struct move *move = context;

    if (unlink(move->target) < 0 && errno != ENOENT)
        give_up("%s: %s", move->target, strerror(errno));
}

static void once_download(void *context)
{
    const struct move *move = context;
    struct sandlot_error error = {0};
    struct sandlot_transfer_item item = {.size = sizeof(item), .path = move->inside, .local_path = move->target};
    struct sandlot_transfer_request request = {.size = sizeof(request), .items = &item, .count = 1};

    if (sandlot_download(move->session, &request, &error) < 0)
        give_up("download: %s", error.message);
}

static void once_cp(void *context)
{
    const struct move *move = context;

    run((const char *const[]){"/bin/cp", move->source, move->target, NULL});
}

static char *path_inside(struct sandlot_session *session, const char *name)
{
    char *path;

    if (asprintf(&path, "%s/%s", sandlot_session_working_dir(session), name) < 0)
        give_up("out of memory");
    return path;
}

static void measure_speed(const struct bench *bench)
{
    struct sandlot_session *session = open_box(bench->sandlot, NULL, NULL);
    char *source = bench_path(bench, "source.bin");
    char *target = bench_path(bench, "target.bin");
    char *copy = bench_path(bench, "copy.bin");
    struct move move = {session, source, target, path_inside(session, "in"), path_inside(session, "fresh")};
    struct move copying = {.source = source, .target = copy};

    make_file(source, SIZE_MIB * MIB);
    upload(&move, move.inside);
    struct contender turns[] = {{.once = once_upload, .context = &move, .prepare = before_upload},
                                {.once = once_download, .context = &move, .prepare = before_target},
                                {.once = once_cp, .context = &copying, .prepare = before_target}};
    compete(turns, 3, TURNS);
    row("upload of 64 MiB / cp", turns[0].median_us / turns[2].median_us, 1.1, "x", "%.1f ms and %.1f ms",
        turns[0].median_us / 1e3, turns[2].median_us / 1e3);
    row("download of 64 MiB / cp", turns[1].median_us / turns[2].median_us, 1.1, "x", "%.1f ms and %.1f ms",
        turns[1].median_us / 1e3, turns[2].median_us / 1e3);
    before_target(&move);
    before_target(&copying);
    close_box(session);
    free(move.inside);
    free(move.inside_fresh);
    free(source);
    free(target);
    free(copy);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* The largest resident set that any process of a box ever had, in KiB. A box is a pid namespace. */
static long peak_inside(const char *pid_namespace)
{
    long peak = 0;
    DIR *processes = opendir("/proc");

    for (const struct dirent *entry; processes && (entry = readdir(processes));) {
        char path[300];
        char namespace[64];
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "/proc/%s/ns/pid", entry->d_name);
        ssize_t length = readlink(path, namespace, sizeof(namespace) - 1);
        namespace[length < 0 ? 0 : length] = '\0';
        if (strcmp(namespace, pid_namespace) != 0)
            continue;
        snprintf(path, sizeof(path), "/proc/%s/status", entry->d_name);
        long resident = kilobytes(path, "VmHWM");
        peak = resident > peak ? resident : peak;
    }
    if (processes)
        closedir(processes);
    return peak;
}

struct peaks {
    long command; /* KiB */
    long inside;
    double seconds;
};

/* Looks at the command and at the processes of the box until the command has ended, which must succeed. */
static struct peaks watch(const char *const *arguments, const char *pid_namespace)
{
    struct peaks peaks = {0};
    double began = now_us();
    int process = start_quietly(arguments);
    char status[64];

    snprintf(status, sizeof(status), "/proc/%d/status", process);
    for (;;) {
        siginfo_t ended = {0};
        if (waitid(P_PID, (id_t)process, &ended, WEXITED | WNOHANG | WNOWAIT) < 0)
            give_up("waitid: %s", strerror(errno));
        if (ended.si_pid == process)
            break;
        long resident = kilobytes(status, "VmHWM");
        peaks.command = resident > peaks.command ? resident : peaks.command;
        resident = peak_inside(pid_namespace);
        peaks.inside = resident > peaks.inside ? resident : peaks.inside;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    must_succeed(process, arguments[1]);
    peaks.seconds = (now_us() - began) / 1e6;
    return peaks;
}

/* The name of the box's pid namespace, as links in /proc have it. */
static void find_namespace(struct sandlot_session *session, char *name, size_t size)
{
    struct sandlot_error error = {0};
    struct sandlot_execution execution = {.size = sizeof(execution), .command = "readlink /proc/self/ns/pid"};
    struct sandlot_result result = {.size = sizeof(result)};

    if (sandlot_execute(session, &execution, &result, &error) < 0)
        give_up("execute: %s", error.message);
    snprintf(name, size, "%.*s", (int)strcspn(result.output, "\n"), result.output);
    sandlot_result_clear(&result);
}

static void show_peaks(const char *what, const char *route, uint64_t mib, const struct peaks *peaks)
{
    char text[100];
    long more = peaks->command > peaks->inside ? peaks->command : peaks->inside;

    snprintf(text, sizeof(text), "%s of %" PRIu64 " MiB, %s: peak of memory", what, mib, route);
    steady_row(text, (double)more / 1024, 32, "MiB", "command %.1f, in the box %.1f; %.0f MiB/s",
               (double)peaks->command / 1024, (double)peaks->inside / 1024, (double)mib / peaks->seconds);
}

static void measure_memory(const struct bench *bench, const char *provider, const char *route, uint64_t mib)
{
    struct sandlot_error error = {0};
    struct sandlot *sandlot = sandlot_open(NULL, &error);

    if (!sandlot)
        give_up("%s", error.message);
    struct sandlot_session *session = open_box(sandlot, provider, (const char *const[]){"disk_mb=16384", NULL});
    const char *id = sandlot_session_id(session);
    char *source = bench_path(bench, "large.bin");
    char *target = bench_path(bench, "large.copy");
    char *inside = path_inside(session, "large.bin");
    char namespace[64];

    make_file(source, 0);
    if (truncate(source, (off_t)(mib * MIB)) < 0)
        give_up("%s: %s", source, strerror(errno));
    find_namespace(session, namespace, sizeof(namespace));
    struct peaks up = watch((const char *const[]){bench->command, "upload", "--sandbox", provider, "--sandbox-id", id,
                                                  source, inside, NULL},
                            namespace);
    show_peaks("upload", route, mib, &up);
    struct peaks down = watch((const char *const[]){bench->command, "download", "--sandbox", provider, "--sandbox-id",
                                                    id, inside, target, NULL},
                              namespace);
    show_peaks("download", route, mib, &down);
    close_box(session);
    sandlot_close(sandlot);
    if (unlink(source) < 0 || unlink(target) < 0)
        give_up("%s: %s", target, strerror(errno));
    free(source);
    free(target);
    free(inside);
}

void bench_transfers(const struct bench *bench)
{
    measure_speed(bench);
    if (!bench->slow)
        return;
    measure_memory(bench, "local", "files reached directly", LARGE_MIB);
    test_plugins_begin(bench);
    measure_memory(bench, "only_execute", "through commands", DERIVED_MIB);
    test_plugins_end();
}
