/* What a process of its own costs a provider: per start, per call, per byte. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GIB (UINT64_C(1) << 30)

/* A file on its way between this machine and a sandbox of the provider `bulk`. */
struct move {
    struct sandlot_session *session;
    const char *local;
    char inside[32];
};

static void once_execute(void *session)
{
    in_box(session, "true");
}

static void once_download(void *context)
{
    const struct move *move = context;
    struct sandlot_error error = {0};
    struct sandlot_transfer_item item = {.size = sizeof(item), .path = move->inside, .local_path = move->local};
    struct sandlot_transfer_request request = {.size = sizeof(request), .items = &item, .count = 1};

    if (sandlot_download(move->session, &request, &error) < 0)
        give_up("download: %s", error.message);
}

static void once_upload(void *context)
{
    const struct move *move = context;
    struct sandlot_error error = {0};
    struct sandlot_transfer_item item = {.size = sizeof(item), .path = "/file", .local_path = move->local};
    struct sandlot_transfer_request request = {.size = sizeof(request), .items = &item, .count = 1};

    if (sandlot_upload(move->session, &request, &error) < 0)
        give_up("upload: %s", error.message);
}

static void before_download(void *context)
{
    const struct move *move = context;

    if (unlink(move->local) < 0 && errno != ENOENT)
        give_up("%s: %s", move->local, strerror(errno));
}

struct life {
    struct sandlot *sandlot;
    const char *provider;
};

static void once_life(void *context)
{
    const struct life *life = context;

    close_box(open_box(life->sandlot, life->provider, NULL));
}

/* The same provider in both ways, by a configuration of this benchmark's own. */
static struct sandlot *open_both(const struct bench *bench)
{
    char *path = bench_path(bench, "worker.toml");
    FILE *file = fopen(path, "w");
    struct sandlot_options options = {.size = sizeof(options), .config_file = path, .no_environment_files = true};
    struct sandlot_error error = {0};

    if (!file)
        give_up("%s: %s", path, strerror(errno));
    fprintf(file,
            "[sandboxes.providers.local]\nisolation = \"process\"\n"
            "[sandboxes.providers.bulk_here]\nclass_path = \"%s/bulk.so:bulk\"\nisolation = \"none\"\n"
            "[sandboxes.providers.bulk_apart]\nclass_path = \"%s/bulk.so:bulk\"\nisolation = \"process\"\n",
            bench->test_plugins, bench->test_plugins);
    fclose(file);
    struct sandlot *sandlot = sandlot_open(&options, &error);

    if (!sandlot)
        give_up("%s", error.message);
    free(path);
    return sandlot;
}

static void measure_calls(struct sandlot_session *here, struct sandlot_session *apart)
{
    struct contender turns[] = {{.once = once_execute, .context = apart}, {.once = once_execute, .context = here}};

    compete_quietest(turns, 2, 300, 5);
    row("worker: an execute that does nothing, more than in-process", turns[0].median_us - turns[1].median_us, 60, "us",
        "%.1f us and %.1f us", turns[0].median_us, turns[1].median_us);
}

static void measure_local(const struct bench *bench, struct sandlot *sandlot)
{
    struct sandlot_session *here = open_box(bench->sandlot, "local", NULL);
    struct sandlot_session *apart = open_box(sandlot, "local", NULL);
    struct contender turns[] = {{.once = once_execute, .context = apart}, {.once = once_execute, .context = here}};

    compete(turns, 2, 400);
    row("worker: execute(\"true\") on local / in-process", turns[0].median_us / turns[1].median_us, 1.15, "x",
        "%.0f us and %.0f us", turns[0].median_us, turns[1].median_us);
    close_box(apart);
    close_box(here);
}

static void measure_bytes(const struct bench *bench, struct sandlot_session *here, struct sandlot_session *apart)
{
    char *path = bench_path(bench, "worker-bytes");
    struct move moves[] = {{.session = apart, .local = path}, {.session = here, .local = path}};
    struct contender down[] = {{.once = once_download, .context = &moves[0], .prepare = before_download},
                               {.once = once_download, .context = &moves[1], .prepare = before_download}};
    struct contender up[] = {{.once = once_upload, .context = &moves[0]}, {.once = once_upload, .context = &moves[1]}};

    for (size_t i = 0; i < 2; i++)
        snprintf(moves[i].inside, sizeof(moves[i].inside), "/%llu", (unsigned long long)GIB);
    compete(down, 2, 9); /* a file of this size meets the disk now and then */
    row("worker: a download of 1 GiB / in-process", down[0].median_us / down[1].median_us, 1.25, "x",
        "%.2f GB/s and %.2f GB/s", (double)GIB / 1e3 / down[0].median_us, (double)GIB / 1e3 / down[1].median_us);
    compete(up, 2, 5);
    /* A provider that throws away what it reads, from a file in memory: beside it even one copy is much. */
    row("worker: an upload of 1 GiB to nowhere / in-process", up[0].median_us / up[1].median_us, 3, "x",
        "%.2f GB/s and %.2f GB/s", (double)GIB / 1e3 / up[0].median_us, (double)GIB / 1e3 / up[1].median_us);
    before_download(&moves[0]);
    free(path);
}

static void measure_start(struct sandlot *sandlot)
{
    struct life lives[] = {{sandlot, "bulk_apart"}, {sandlot, "bulk_here"}};
    const char *nothing[] = {"/bin/true", NULL};
    struct contender turns[] = {{.once = once_life, .context = &lives[0]},
                                {.once = once_life, .context = &lives[1]},
                                {.once = once_run, .context = nothing}};

    compete_quietest(turns, 3, 40, 3);
    double cost_us = turns[0].median_us - turns[1].median_us;

    row("worker: its start and end", cost_us / 1e3, 3, "ms", "%.2f ms and %.2f ms, %.1f times true",
        turns[0].median_us / 1e3, turns[1].median_us / 1e3, cost_us / turns[2].median_us);
}

void bench_worker(const struct bench *bench)
{
    struct sandlot *sandlot = open_both(bench);
    struct sandlot_session *here = open_box(sandlot, "bulk_here", NULL);
    struct sandlot_session *apart = open_box(sandlot, "bulk_apart", NULL);

    measure_start(sandlot);
    measure_calls(here, apart);
    measure_local(bench, sandlot);
    measure_bytes(bench, here, apart);
    close_box(here);
    close_box(apart);
    sandlot_close(sandlot);
}
