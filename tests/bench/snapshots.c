/*
 * What a snapshot and a fork cost, and a box that begins with one: as much as any other, however much there is. Only a
 * box in which something runs is copied.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LIVES = 25, FORKS = 9, LARGE = 3 };

#define NAME "sandlot-bench"
#define MANY "rm -rf many && mkdir many && cd many && seq 20000 | split -l 1 -a 4 -"

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

/* A box, what is written in it before each turn, and what a turn has made of it. */
struct original {
    struct sandlot *sandlot;
    struct sandlot_target target;
    struct sandlot_session *session;
    const char *change;
    char *fork;
};

static void change(void *context)
{
    struct original *original = context;
    struct sandlot_error error = {0};

    if (original->fork && sandlot_delete(original->sandlot, &original->target, original->fork, &error) < 0)
        give_up("delete: %s", error.message);
    free(original->fork);
    original->fork = NULL;
    in_box(original->session, original->change);
    sync(); /* what the file system has still to write is not what is measured */
}

static void once_snapshot(void *context)
{
    const struct original *original = context;
    struct sandlot_error error = {0};
    char *use = NULL;

    if (sandlot_snapshot(original->sandlot, &original->target, sandlot_session_id(original->session), NAME, true, &use,
                         &error) < 0)
        give_up("snapshot: %s", error.message);
    free(use);
}

static void once_fork(void *context)
{
    struct original *original = context;
    struct sandlot_error error = {0};

    if (sandlot_fork(original->sandlot, &original->target, sandlot_session_id(original->session), &original->fork,
                     &error) < 0)
        give_up("fork: %s", error.message);
}

static void once_copy(void *context)
{
    const struct original *original = context;

    in_box(original->session, "cp --reflink=never large copy");
}

static struct original begin(const struct bench *bench, const char *provider, const char *change)
{
    return (struct original){.sandlot = bench->sandlot,
                             .target = {.size = sizeof(struct sandlot_target), .provider = provider},
                             .session = open_box(bench->sandlot, provider, NULL),
                             .change = change};
}

static void end(struct original *original)
{
    original->change = "true";
    change(original);
    close_box(original->session);
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

/* Each turn with 20,000 files that are in no layer yet. */
static void compare_forks(const struct bench *bench, const char *provider)
{
    struct original empty = begin(bench, provider, "true");
    struct original full = begin(bench, provider, MANY);
    struct contender turns[] = {{.once = once_fork, .context = &full, .prepare = change},
                                {.once = once_fork, .context = &empty, .prepare = change}};
    char name[96];

    compete(turns, 2, FORKS);
    snprintf(name, sizeof(name), "%s: fork of a box that has written 20,000 files", provider);
    row(name, turns[0].median_us / 1e3, 5, "ms", "with its answer");
    snprintf(name, sizeof(name), "%s: the same / fork of an empty box", provider);
    row(name, turns[0].median_us / turns[1].median_us, 2, "x", "%.2f ms and %.2f ms", turns[0].median_us / 1e3,
        turns[1].median_us / 1e3);
    end(&full);
    end(&empty);
}

static void compare_large(const struct bench *bench)
{
    struct original original = begin(bench, "local", "rm -f copy large && head -c 1G /dev/zero >large");
    struct contender turns[] = {{.once = once_copy, .context = &original, .prepare = change},
                                {.once = once_snapshot, .context = &original, .prepare = change}};

    compete(turns, 2, LARGE);
    row("snapshot of 1 GiB / cp of it", turns[1].median_us / turns[0].median_us, 1, "x", "%.1f ms and %.0f ms",
        turns[1].median_us / 1e3, turns[0].median_us / 1e3);
    end(&original);
}

void bench_snapshots(const struct bench *bench)
{
    struct original original = begin(bench, "local", MANY);
    const struct sandlot_target target = original.target;
    struct sandlot_error error = {0};

    change(&original);
    once_snapshot(&original);
    compare_lives(bench);
    end(&original);
    compare_forks(bench, "local");
    compare_forks(bench, "vfs");
    compare_large(bench);
    if (sandlot_delete_snapshot(bench->sandlot, &target, NAME, &error) < 0)
        give_up("delete: %s", error.message);
}
