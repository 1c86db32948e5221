/*
 * What a box has changed: how long it takes to see it and to take it home, beside git, sha256sum and cp.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TURNS = 15, FEW = 5, CHANGED = 10, SMALL_FOLDER = 1000, LARGE_FOLDER = 100000, TREE_FILES = 1000 };

#define CHANGE "for i in 1 2 3 4 5 6 7 8 9 10; do echo more >>d1/f$i; done"
#define MANY "seq 1000 | split -l 1 -a 3 -"
#define TREE "mkdir -p d1 && for i in $(seq 1000); do head -c 65536 /dev/urandom >d1/f$i; done"

static void shell(const char *folder, const char *script)
{
    const char *const arguments[] = {"/usr/bin/env", "-C", folder, "/bin/sh", "-c", script, NULL};

    run(arguments);
}

static char *make_folder(const struct bench *bench, const char *name, const char *script)
{
    char *folder = bench_path(bench, name);

    if (mkdir(folder, 0755) < 0 && errno != EEXIST)
        give_up("%s: %s", folder, strerror(errno));
    shell(folder, script);
    return folder;
}

static bool count_change(void *context, const struct sandlot_change *change)
{
    (void)change;
    ++*(size_t *)context;
    return true;
}

static void once_diff(void *context)
{
    struct sandlot_session *session = context;
    struct sandlot_error error = {0};
    size_t count = 0;

    if (sandlot_list_changes(session, NULL, count_change, &count, &error) < 0)
        give_up("diff: %s", error.message);
    if (count != CHANGED)
        give_up("diff: %zu changes instead of %d", count, CHANGED);
}

/* ---- of a folder that the box began as ---- */

/* FOLDER is the box's workspace; COMMAND makes the changes. */
static struct sandlot_session *open_changed(const struct bench *bench, const char *folder, const char *command)
{
    char *parameter;

    if (asprintf(&parameter, "workspace=%s", folder) < 0)
        give_up("out of memory");
    const char *const parameters[] = {parameter, NULL};
    struct sandlot_session *session = open_box(bench->sandlot, "local", parameters);
    in_box(session, command);
    free(parameter);
    return session;
}

static char *make_many(const struct bench *bench, const char *name, int files)
{
    char script[256];

    snprintf(script, sizeof(script),
             "for d in $(seq %d); do mkdir d$d && (cd d$d && for i in 1 2 3 4 5 6 7 8 9 10; do echo $i >f$i; done && "
             "seq 90 | split -l 1 -a 3 -); done",
             files / 100);
    return make_folder(bench, name, script);
}

static void measure_workspace(const struct bench *bench)
{
    char *small = make_many(bench, "small", SMALL_FOLDER);
    char *large = make_many(bench, "large", LARGE_FOLDER);

    shell(large,
          "git init -q && git add . && git -c user.name=a -c user.email=a@example.com commit -q -m all && cd d2 && "
          "for i in 1 2 3 4 5 6 7 8 9 10; do echo more >>f$i; done");
    struct sandlot_session *of_small = open_changed(bench, small, CHANGE);
    struct sandlot_session *of_large = open_changed(bench, large, CHANGE);
    const char *const status[] = {"/usr/bin/git", "-C", large, "status", "--porcelain", NULL};
    struct contender turns[] = {{.once = once_diff, .context = of_large},
                                {.once = once_diff, .context = of_small},
                                {.once = once_run, .context = (void *)status}};
    compete(turns, 3, TURNS);
    row("10 changes in 100,000 files: diff / git status", turns[0].median_us / turns[2].median_us, 0.3, "x",
        "%.2f ms and %.0f ms", turns[0].median_us / 1e3, turns[2].median_us / 1e3);
    row("the same / diff of a folder of 1,000 files", turns[0].median_us / turns[1].median_us, 1.2, "x",
        "%.2f ms and %.2f ms", turns[0].median_us / 1e3, turns[1].median_us / 1e3);
    close_box(of_large);
    close_box(of_small);
    free(large);
    free(small);
}

/* ---- of a folder that was brought there ---- */

struct plain {
    struct sandlot_session *session;
    const char *folder; /* what is fetched comes here */
};

/* What a person would do: sums of all, and what differs fetched. */
static void once_sums(void *context)
{
    const struct plain *plain = context;
    struct sandlot_error error = {0};
    struct sandlot_transfer_item items[CHANGED];
    char inside[CHANGED][512];
    char here[CHANGED][512];

    in_box(plain->session, "find . -type f -exec sha256sum {} + >/dev/null");
    for (int i = 0; i < CHANGED; i++) {
        snprintf(inside[i], sizeof(inside[i]), "%s/d1/f%d", sandlot_session_working_dir(plain->session), i + 1);
        snprintf(here[i], sizeof(here[i]), "%s/f%d", plain->folder, i + 1);
        items[i] = (struct sandlot_transfer_item){.size = sizeof(*items), .path = inside[i], .local_path = here[i]};
        unlink(here[i]);
    }
    struct sandlot_transfer_request request = {.size = sizeof(request), .items = items, .count = CHANGED};
    if (sandlot_download(plain->session, &request, &error) < 0)
        give_up("download: %s", error.message);
}

static void measure_import(const struct bench *bench)
{
    struct sandlot_error error = {0};
    char *tree = make_folder(bench, "tree", TREE);
    char *fetched = make_folder(bench, "fetched", "true");
    struct sandlot_session *session = open_box(bench->sandlot, "only_execute", NULL);
    struct plain plain = {session, fetched};

    if (sandlot_import(session, tree, NULL, NULL, &error) < 0)
        give_up("import: %s", error.message);
    in_box(session, CHANGE);
    struct contender turns[] = {{.once = once_diff, .context = session}, {.once = once_sums, .context = &plain}};
    compete(turns, 2, FEW);
    row("diff by commands alone / sha256sum of all and a download", turns[0].median_us / turns[1].median_us, 1.3, "x",
        "%.0f ms and %.0f ms", turns[0].median_us / 1e3, turns[1].median_us / 1e3);
    close_box(session);
    free(fetched);
    free(tree);
}

/* ---- as a patch ---- */

static void once_patch(void *context)
{
    struct sandlot_session *session = context;
    struct sandlot_error error = {0};
    const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (sandlot_export_changes(session, NULL, SANDLOT_EXPORT_PATCH, fd, &error) < 0)
        give_up("export: %s", error.message);
    close(fd);
}

static void measure_patch(const struct bench *bench)
{
    char *begin = make_folder(bench, "nothing", "true");
    char *many = make_folder(bench, "many", MANY);
    struct sandlot_session *session = open_changed(bench, begin, MANY);
    const char *const git[] = {
        "/bin/sh", "-c", "git diff --no-index \"$1\" \"$2\" >/dev/null; test $? = 1", "sh", begin, many, NULL};
    struct contender turns[] = {{.once = once_patch, .context = session}, {.once = once_run, .context = (void *)git}};

    compete(turns, 2, TURNS);
    row("patch of 1,000 new files / git diff", turns[0].median_us / turns[1].median_us, 2, "x", "%.0f ms and %.0f ms",
        turns[0].median_us / 1e3, turns[1].median_us / 1e3);
    close_box(session);
    free(many);
    free(begin);
}

/* ---- home ---- */

struct home {
    struct sandlot_session *session;
    const char *source, *target;
};

static void before_home(void *context)
{
    const struct home *home = context;

    run((const char *const[]){"/bin/rm", "-rf", home->target, NULL});
    run((const char *const[]){"/bin/mkdir", home->target, NULL});
    sync(); /* what the file system has still to write is not what is measured */
}

static bool applied(void *context, const struct sandlot_change *change, const struct sandlot_error *problem)
{
    if (problem)
        give_up("apply: %s: %s", change->path, problem->message);
    ++*(size_t *)context;
    return true;
}

static void once_apply(void *context)
{
    const struct home *home = context;
    struct sandlot_error error = {0};
    struct sandlot_changes_request request = {.size = sizeof(request), .folder = home->target};
    size_t count = 0;

    if (sandlot_apply_changes(home->session, &request, applied, &count, &error) < 0)
        give_up("apply: %s", error.message);
    if (count < TREE_FILES)
        give_up("apply: %zu files instead of %d", count, TREE_FILES);
}

static void once_cp(void *context)
{
    const struct home *home = context;

    run((const char *const[]){"/bin/cp", "-R", "--reflink=never", home->source, home->target, NULL});
}

static void measure_apply(const struct bench *bench)
{
    char *tree = bench_path(bench, "tree");
    char *begin = make_folder(bench, "begin", "true");
    char *applied_to = bench_path(bench, "applied");
    char *copied = bench_path(bench, "copied");
    struct sandlot_session *session = open_changed(bench, begin, TREE);
    struct home apply = {session, tree, applied_to};
    struct home copy = {session, tree, copied};
    struct contender turns[] = {{.once = once_apply, .context = &apply, .prepare = before_home},
                                {.once = once_cp, .context = &copy, .prepare = before_home}};
    compete(turns, 2, FEW);
    row("apply of 1,000 new files of 64 KiB / cp", turns[0].median_us / turns[1].median_us, 2, "x",
        "%.0f ms and %.0f ms", turns[0].median_us / 1e3, turns[1].median_us / 1e3);
    close_box(session);
    free(copied);
    free(applied_to);
    free(begin);
    free(tree);
}

void bench_results(const struct bench *bench)
{
    struct sandlot_error error = {0};
    struct bench plugins = *bench;

    measure_workspace(bench);
    measure_patch(bench);
    test_plugins_begin(bench);
    plugins.sandlot = sandlot_open(NULL, &error);
    if (!plugins.sandlot)
        give_up("%s", error.message);
    measure_import(&plugins);
    sandlot_close(plugins.sandlot);
    test_plugins_end();
    measure_apply(bench);
}
