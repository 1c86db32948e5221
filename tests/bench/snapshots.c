/* What a snapshot of many files costs, and a box that begins with one: as much as any other, however many files there
 * are. */
#include "bench.h"

#include <stdlib.h>

enum { LIVES = 25, COPIES = 1 };

#define NAME "sandlot-bench"

struct life {
    struct sandlot *sandlot;
    const char *snapshot; /* NULL: none */
};

static void once_life(void *context)
{
    const struct life *life = context;
    struct sandlot_error error = {0};
    struct sandlot_session_options options = {
        .size = sizeof(options), .provider = "local", .snapshot_name = life->snapshot};
    struct sandlot_session *session = sandlot_session_open(life->sandlot, &options, &error);

    if (!session)
        give_up("no sandbox could be made: %s", error.message);
    close_box(session);
}

/* A box with many files. */
struct original {
    struct sandlot *sandlot;
    struct sandlot_session *session;
};

static const struct sandlot_target target = {.size = sizeof(target), .provider = "local"};

static void once_snapshot(void *context)
{
    const struct original *original = context;
    struct sandlot_error error = {0};
    char *use = NULL;

    if (sandlot_snapshot(original->sandlot, &target, sandlot_session_id(original->session), NAME, true, &use, &error) <
        0)
        give_up("snapshot: %s", error.message);
    free(use);
}

static void once_copy(void *context)
{
    const struct original *original = context;

    in_box(original->session, "rm -rf copy && cp -a many copy");
}

static void compare_lives(const struct bench *bench)
{
    struct life plain = {bench->sandlot, NULL};
    struct life layered = {bench->sandlot, NAME};
    struct contender turns[] = {{.once = once_life, .context = &layered}, {.once = once_life, .context = &plain}};

    compete(turns, 2, LIVES);
    row("create + delete, from a snapshot of 20,000 files / empty", turns[0].median_us / turns[1].median_us, 2, "x",
        "%.2f ms and %.2f ms", turns[0].median_us / 1e3, turns[1].median_us / 1e3);
}

void bench_snapshots(const struct bench *bench)
{
    struct original original = {bench->sandlot, open_box(bench->sandlot, "local", NULL)};
    struct sandlot_error error = {0};

    in_box(original.session, "mkdir many && cd many && seq 20000 | split -l 1 -a 4 -");
    once_snapshot(&original);
    compare_lives(bench);
    struct contender turns[] = {{.once = once_snapshot, .context = &original},
                                {.once = once_copy, .context = &original}};

    /* Not in turns: the copy would be in the snapshot. */
    compete(turns, 1, COPIES);
    compete(turns + 1, 1, COPIES);
    row("snapshot of 20,000 files / cp -a and rm -r of them", turns[0].median_us / turns[1].median_us, 1.5, "x",
        "%.0f ms and %.0f ms", turns[0].median_us / 1e3, turns[1].median_us / 1e3);
    if (sandlot_delete_snapshot(bench->sandlot, &target, NAME, &error) < 0)
        give_up("delete: %s", error.message);
    close_box(original.session);
}
