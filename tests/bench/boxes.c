/* Many boxes alive at once: what each takes of the machine, and whether the last ones start as fast as the first. */
#include "bench.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EDGE = 20, MOST_KIB = 512 };

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

/* Of each of ALIVE boxes, in KiB: OF_MACHINE with what the kernel keeps for them, and with what else the machine did
 * meanwhile; OF_PROCESSES alone. */
static void show_memory(size_t alive, double of_machine, double of_processes)
{
    char what[64];

    snprintf(what, sizeof(what), "memory of an idle box, of %zu alive", alive);
    row(what, of_machine, MOST_KIB, "KiB", "of the machine");
    snprintf(what, sizeof(what), "Pss of an idle box, of %zu alive", alive);
    steady_row(what, of_processes, MOST_KIB, "KiB", "of the processes alone");
}

void bench_boxes(const struct bench *bench, size_t boxes)
{
    char **ids = calloc(boxes, sizeof(*ids));
    double *took = calloc(boxes, sizeof(*took));
    long available = kilobytes("/proc/meminfo", "MemAvailable");
    long pss = keeper_pss();

    if (!ids || !took || boxes < 2 * EDGE)
        give_up("at least %d boxes are needed", 2 * EDGE);
    for (size_t i = 0; i < boxes; i++) {
        took[i] = create_kept(bench->sandlot, &ids[i]);
        if (i + 1 == boxes / 10 || i + 1 == boxes) {
            double each = (double)(available - kilobytes("/proc/meminfo", "MemAvailable")) / (double)(i + 1);
            show_memory(i + 1, each, (double)(keeper_pss() - pss) / (double)(i + 1));
        }
    }
    char what[64];
    double first = median(took, EDGE);
    double last = median(took + boxes - EDGE, EDGE);
    snprintf(what, sizeof(what), "create: the last %d of %zu / the first %d", EDGE, boxes, EDGE);
    row(what, last / first, 2, "x", "%.2f ms and %.2f ms", last / 1e3, first / 1e3);
    delete_all(bench->sandlot, ids, boxes);
    free(ids);
    free(took);
}
