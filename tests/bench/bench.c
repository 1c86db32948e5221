/*
 * The figures of `make bench`.
 *
 *   bench SANDLOT MANY_PLUGINS TEST_PLUGINS FOLDER BOXES [PART...]
 *
 * SANDLOT is the command, MANY_PLUGINS a folder with a thousand providers, TEST_PLUGINS one with the providers
 * only_execute and bulk, FOLDER an empty folder on the file system of the boxes, BOXES how many boxes to keep alive at
 * once. PART names what is measured: start execute files trees transfers derived server worker vfs snapshots processes
 * ports results network bindings boxes; none: all of it.
 *
 * Status 1: something could not be measured, or what no other work on the machine has a part in (memory) is above its
 * target; a line "not ok ..." says what. A time above its target is marked "over": a busy machine does that.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool wanted(char **parts, const char *part)
{
    if (!*parts)
        return true;
    while (*parts && strcmp(*parts, part) != 0)
        parts++;
    return *parts != NULL;
}

int main(int argc, char **argv)
{
    struct sandlot_error error = {0};

    if (argc < 6)
        give_up("usage: bench SANDLOT MANY_PLUGINS TEST_PLUGINS FOLDER BOXES [PART...]");
    struct bench bench = {.command = argv[1],
                          .many_plugins = argv[2],
                          .test_plugins = argv[3],
                          .folder = argv[4],
                          .node = getenv("SANDLOT_TEST_NODE"),
                          .reference_server = getenv("SANDLOT_TEST_MCP_SERVER"),
                          .slow = getenv("SANDLOT_TEST_SLOW") != NULL};
    const struct {
        const char *name;
        void (*measure)(const struct bench *bench);
    } parts[] = {{"start", bench_start},         {"execute", bench_execute},     {"files", bench_files},
                 {"trees", bench_trees},         {"transfers", bench_transfers}, {"derived", bench_derived},
                 {"server", bench_server},       {"worker", bench_worker},       {"vfs", bench_vfs},
                 {"snapshots", bench_snapshots}, {"processes", bench_processes}, {"ports", bench_ports},
                 {"results", bench_results},     {"network", bench_network},     {"bindings", bench_bindings}};

    bench.sandlot = sandlot_open(NULL, &error);
    if (!bench.sandlot)
        give_up("%s", error.message);
    printf("%-58s %9s %9s %-4s\n", "what", "measured", "at most", "unit");
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (wanted(argv + 6, parts[i].name))
            parts[i].measure(&bench);
    if (wanted(argv + 6, "boxes"))
        bench_boxes(&bench, strtoul(argv[5], NULL, 10));
    sandlot_close(bench.sandlot);
    return broken_rows() > 0;
}
