/*
 * sandlot-plugin-check: the conformance kit, which `sandlot plugin check` becomes. Reads the file, runs the groups one
 * after the other, tells the sum.
 */
#include "cleanup.h"
#include "kit.h"
#include "options.h"
#include "runner.h"
#include "summary.h"
#include "tap.h"
#include "workplace.h"

#include <errno.h>
#include <string.h>

/* Nothing that the vendor may take its time for is longer than a sandbox's start. */
enum { QUIET_S = 120, LIVE_QUIET_S = 300 };

static const struct group groups[] = {
    {"static", group_static, QUIET_S, false},
    {"table", group_table, QUIET_S, false},
    {"lifecycle", group_lifecycle, LIVE_QUIET_S, true},
    {"execute", group_execute, LIVE_QUIET_S, true},
    {"operations", group_operations, LIVE_QUIET_S, true},
    {"robustness", group_robustness, LIVE_QUIET_S, true},
    {"secrets", group_secrets, LIVE_QUIET_S, false},
};
static const struct group leftovers = {"leftovers", group_leftovers, LIVE_QUIET_S, true};

/* The one that was asked for, else the first. */
static bool choose_provider(struct kit *kit)
{
    if (kit->provider_name)
        kit->provider = note_find(&kit->note, kit->provider_name);
    else if (kit->note.count > 0)
        kit->provider = &kit->note.providers[0];
    if (kit->provider || !kit->provider_name)
        return true;
    fprintf(stderr, "sandlot plugin check: %s has no provider %s; leave --provider out for the first\n", kit->file,
            kit->provider_name);
    return false;
}

/* Why GROUP cannot run; NULL: it can. */
static const char *obstacle(const struct kit *kit, const struct group *group, char *buffer, size_t size)
{
    if (group->run == group_static)
        return NULL;
    if (!kit->object.fits_machine || !kit->object.is_shared)
        return "the file is not for this machine";
    if (!kit->provider || !note_value(kit->provider, "symbol"))
        return "the note names no provider that could be loaded";
    return group->live ? kit_missing_credentials(kit, buffer, size) : NULL;
}

static void skip_group(struct run *run, const struct group *group, const char *why)
{
    run->totals[run->total_count++] = (struct total){.group = group->name};
    runner_result(run, true, say("%s: all of it # SKIP %s", group->name, why), "", "", "");
}

/* False: it was interrupted. */
static bool run_groups(struct run *run, struct kit *kit)
{
    char buffer[512];

    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if ((kit->static_only && groups[i].run != group_static) ||
            (kit->only && strcmp(kit->only, groups[i].name) != 0))
            continue;
        const char *why = obstacle(kit, &groups[i], buffer, sizeof(buffer));

        if (why)
            skip_group(run, &groups[i], why);
        else if (!runner_run(run, kit, &groups[i]))
            return false;
    }
    return true;
}

/* The sandboxes of a run go with it, however it ended. */
static void clean_up(struct run *run, struct kit *kit)
{
    int interrupted = runner_interrupted;

    runner_interrupted = 0;
    if (kit->sandboxes.count > 0 || interrupted)
        runner_run(run, kit, &leftovers);
    runner_interrupted = interrupted;
}

static void tell(struct run *run, const struct kit *kit)
{
    if (kit->provider && note_value(kit->provider, "credentials")) {
        run->totals[run->total_count++] = (struct total){.group = "run"};
        runner_result(run, run->withheld == 0, "run: no result shows a credential", "no value in any line",
                      say("%u did, and were withheld", run->withheld), "Never put a key into a message.");
    }
    printf("1..%u\n", run->number);
    summary_print(run, kit);
    if (kit->report && !summary_write(run, kit, kit->report)) {
        fprintf(stderr, "sandlot plugin check: cannot write %s: %s; choose another file\n", kit->report,
                strerror(errno));
        run->failed++;
    }
}

static int check(struct kit *kit)
{
    struct run run = {.show_progress = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO)};

    if (!object_read(kit->file, &kit->object)) {
        fprintf(stderr, "sandlot plugin check: %s: %s; name the provider's shared object\n", kit->file,
                kit->object.why);
        return EXIT_UNREADABLE;
    }
    if (kit->object.note)
        note_read(kit->object.note, kit->object.note_length, &kit->note);
    if (!choose_provider(kit))
        return EXIT_USAGE;
    if (!workplace_make(kit))
        return EXIT_UNREADABLE;
    puts("TAP version 14");
    runner_catch_signals();
    bool complete = run_groups(&run, kit);

    if (!kit->static_only && kit->provider)
        clean_up(&run, kit);
    if (complete)
        tell(&run, kit);
    else
        puts("Bail out! It was interrupted; the sandboxes that it had made are deleted.");
    return run.failed ? EXIT_FAILED : EXIT_PASSED;
}

static void clear(struct kit *kit)
{
    for (size_t i = 0; i < kit->sandboxes.count; i++)
        free(kit->sandboxes.ids[i]);
    free(kit->sandboxes.ids);
    free(kit->sandboxes.gone);
    note_clear(&kit->note);
    object_clear(&kit->object);
    free(kit->parameters);
    free(kit->file);
}

int main(int count, char **words)
{
    static struct kit kit;
    int status = options_read(count, words, &kit);

    if (status < 0)
        status = check(&kit);
    workplace_remove(&kit);
    clear(&kit);
    if (runner_interrupted) {
        sigset_t set;

        fflush(stdout);
        sigfillset(&set);
        signal(runner_interrupted, SIG_DFL);
        raise(runner_interrupted);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
    }
    return fflush(stdout) == 0 ? status : EXIT_FAILED;
}
