/* How long it takes to start, to list a thousand providers, and to run commands. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void once_execute(void *session)
{
    in_box(session, "true");
}

static void once_life(void *context)
{
    const char *sandlot = context;
    char id[256];

    create_by_command(sandlot, id, sizeof(id));
    run((const char *const[]){sandlot, "exec", "--sandbox-id", id, "--", "true", NULL});
    run((const char *const[]){sandlot, "delete", id, NULL});
}

static void measure_version(const char *sandlot)
{
    const char *version[] = {sandlot, "--version", NULL};
    const char *nothing[] = {"/bin/true", NULL};
    struct contender turns[] = {{.once = once_run, .context = version}, {.once = once_run, .context = nothing}};

    compete(turns, 2, 300);
    row("sandlot --version, less true", (turns[0].median_us - turns[1].median_us) / 1e3, 2, "ms", "%.2f ms and %.2f ms",
        turns[0].median_us / 1e3, turns[1].median_us / 1e3);
}

static void measure_listing(const char *sandlot, const char *plugins)
{
    const char *providers[] = {sandlot, "providers", NULL};
    const char *nothing[] = {"/bin/true", NULL};
    struct contender turns[] = {{.once = once_run, .context = providers}, {.once = once_run, .context = nothing}};

    setenv("SANDLOT_PLUGIN_PATH", plugins, 1);
    compete(turns, 2, 40);
    unsetenv("SANDLOT_PLUGIN_PATH");
    row("sandlot providers, 1,000 plugin files", turns[0].median_us / 1e3, 40, "ms", "%.0f times true",
        turns[0].median_us / turns[1].median_us);
}

void bench_start(const struct bench *bench)
{
    measure_version(bench->command);
    measure_listing(bench->command, bench->many_plugins);
}

static void measure_execute(struct sandlot_session *session)
{
    const char *nothing[] = {"/bin/true", NULL};
    const char *shell[] = {"/bin/bash", "-c", "true", NULL};
    struct contender turns[] = {{.once = once_execute, .context = session},
                                {.once = once_run, .context = shell},
                                {.once = once_run, .context = nothing}};

    /* In the second row the shell alone takes 1.9 to 2.1 times what /bin/true takes. Most of either is page faults, of
     * which bash has 144 and true 51. */
    compete(turns, 3, 400);
    row("execute(\"true\") / vfork+exec of the same shell line", turns[0].median_us / turns[1].median_us, 2, "x",
        "%.0f us and %.0f us", turns[0].median_us, turns[1].median_us);
    row("execute(\"true\") / vfork+exec of /bin/true without a shell", turns[0].median_us / turns[2].median_us, 2, "x",
        "%.0f us and %.0f us", turns[0].median_us, turns[2].median_us);
}

static void measure_command(const struct bench *bench, const char *id)
{
    /* The same command in bubblewrap with a plain view: /usr, /proc, /dev, /tmp, and FOLDER to work in. It has the
     * namespaces and the environment of a box, and no capabilities. */
    char words[] = "/usr/bin/bwrap --unshare-all --die-with-parent --new-session --cap-drop ALL --clearenv "
                   "--setenv PATH /usr/bin:/bin --setenv LC_CTYPE C.UTF-8 --ro-bind /usr /usr --symlink usr/bin /bin "
                   "--symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp "
                   "--bind FOLDER /workspace --chdir /workspace /bin/bash -c true";
    const char *bwrap[sizeof(words) / 2] = {NULL};
    const char *sandlot = bench->command;
    size_t count = 0;

    for (const char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        bwrap[count++] = strcmp(word, "FOLDER") == 0 ? bench->folder : word;
    const char *in_live_box[] = {sandlot, "exec", "--sandbox-id", id, "--", "true", NULL};
    const char *in_own_box[] = {sandlot, "exec", "--", "true", NULL};
    struct contender turns[] = {{.once = once_run, .context = in_live_box},
                                {.once = once_run, .context = bwrap},
                                {.once = once_run, .context = in_own_box},
                                {.once = once_life, .context = (void *)sandlot}};

    /* What remains of the second row: the command's own start is a fifth, the shell's a sixth, and making the box a
     * third, with some fifty mounts and two waits of the kernel for all processors (RCU) that bubblewrap has too. */
    compete(turns, 4, 60);
    row("sandlot exec in a live box / bwrap", turns[0].median_us / turns[1].median_us, 0.6, "x", "%.2f ms and %.2f ms",
        turns[0].median_us / 1e3, turns[1].median_us / 1e3);
    row("create + exec + delete, one process / bwrap", turns[2].median_us / turns[1].median_us, 1.2, "x",
        "%.2f ms and %.2f ms", turns[2].median_us / 1e3, turns[1].median_us / 1e3);
    row("create + exec + delete, three processes / bwrap", turns[3].median_us / turns[1].median_us, 2.5, "x",
        "%.2f ms and %.2f ms", turns[3].median_us / 1e3, turns[1].median_us / 1e3);
}

void bench_execute(const struct bench *bench)
{
    struct sandlot_session *session = open_box(bench->sandlot, NULL, NULL);

    measure_execute(session);
    measure_command(bench, sandlot_session_id(session));
    close_box(session);
}
