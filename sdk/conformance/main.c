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
#include <sandlot/provider.h>
#include <string.h>
#include <sys/random.h>

/* Nothing that the vendor may take its time for is longer than a sandbox's start. */
enum { QUIET_S = 120, LIVE_QUIET_S = 300, PATIENT_CLEANUP_MS = 90000, MOST_NAMED = 5 };

static const struct group groups[] = {
    {"static", group_static, QUIET_S, false, false},
    {"table", group_table, QUIET_S, false, false},
    {"lifecycle", group_lifecycle, LIVE_QUIET_S, true, false},
    {"snapshots", group_snapshots, LIVE_QUIET_S, true, false},
    {"execute", group_execute, LIVE_QUIET_S, true, false},
    {"processes", group_processes, LIVE_QUIET_S, true, false},
    {"ports", group_ports, LIVE_QUIET_S, true, false},
    {"network", group_network, LIVE_QUIET_S, true, false},
    {"operations", group_operations, LIVE_QUIET_S, true, false},
    {"robustness", group_robustness, LIVE_QUIET_S, true, false},
    {"secrets", group_secrets, LIVE_QUIET_S, false, false},
};
static const struct group loading = {"loading", group_loading, QUIET_S, false, false};
static const struct group leftovers = {"leftovers", group_leftovers, LIVE_QUIET_S, true, true};

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
static const char *obstacle(const struct kit *kit, const struct group *group, const char *to_set)
{
    if (group->run == group_static)
        return NULL;
    if (!kit->object.fits_machine || !kit->object.is_shared)
        return "the file is not for this machine";
    if (!kit->provider || !note_value(kit->provider, "symbol"))
        return "the note names no provider that could be loaded";
    return group->live ? to_set : NULL;
}

static void omit_group(struct run *run, const struct group *group, const char *why)
{
    run->totals[run->total_count++] = (struct total){.group = group->name, .omitted = why};
}

static bool is_asked_for(const struct kit *kit, const struct group *group)
{
    return !(kit->static_only && group->run != group_static) && !(kit->only && strcmp(kit->only, group->name) != 0);
}

/* Without the group static nobody has seen whether loading comes to an end; a result only if it does not. */
static void try_loading(struct run *run, struct kit *kit)
{
    if (!kit->only || strcmp(kit->only, "static") == 0 || !kit->object.fits_machine || !kit->provider)
        return;
    run->quiet = true;
    runner_run(run, kit, &loading);
    run->quiet = false;
    if (!run->never_loads)
        return;
    omit_group(run, &loading, NULL);
    runner_result(run, false, "loading: it comes to an end", "dlopen(3) returns", "it did not",
                  "Do nothing in constructors.");
}

/* TO_SET: what has to be done before the groups that need the vendor can run; NULL: nothing. */
static void run_groups(struct run *run, struct kit *kit, const char *to_set)
{
    const char *ended = NULL; /* why no more groups are run */

    try_loading(run, kit);
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        const char *why = run->never_loads ? "loading the library does not end" : obstacle(kit, &groups[i], to_set);

        if (!is_asked_for(kit, &groups[i])) {
            omit_group(run, &groups[i], SUMMARY_NOT_ASKED_FOR);
        } else if (ended) {
            omit_group(run, &groups[i], ended);
        } else if (why) {
            omit_group(run, &groups[i], why);
            runner_result(run, true, say("%s: all of it # SKIP %s", groups[i].name, named(why)), "", "", "");
        } else {
            kit->first_creation = groups[i].live && kit->sandboxes.count == 0;
            if (!runner_run(run, kit, &groups[i]))
                ended = *run->bailed ? "no sandbox can be made" : "it was interrupted";
        }
    }
}

/* Is something at the vendor, or may it be? */
static bool may_have_left(const struct kit *kit)
{
    return kit->sandboxes.count > 0 || kit->sandboxes.settled_ms;
}

/* The sandboxes of a run go with it, however it ended. */
static void clean_up(struct run *run, struct kit *kit)
{
    bool hurries = runner_interrupted || *run->bailed;
    int64_t begin_ms = run->interrupted_ms ? run->interrupted_ms : sandlot_now_ms();

    if (!may_have_left(kit) && !runner_interrupted)
        return;
    run->quiet = hurries;
    kit->cleanup_end_ms = begin_ms + (hurries ? CLEANUP_MS : PATIENT_CLEANUP_MS);
    runner_run(run, kit, &leftovers);
    run->quiet = false;
    if (!run->in_peace)
        run->keeps_ledger = true;
}

/* The ids that are not known to be gone, with what else may be there. NULL: nothing is left. */
static const char *left_at_vendor(const struct run *run, const struct kit *kit)
{
    const char *ids = "";
    size_t count = 0;

    for (size_t i = 0; i < kit->sandboxes.count; i++)
        if (!kit->sandboxes.gone[i] && ++count <= MOST_NAMED)
            ids = say("%s%s%s", ids, *ids ? ", " : "", kit->sandboxes.ids[i]);
    if (count > MOST_NAMED)
        ids = say("%s and %zu more", ids, count - MOST_NAMED);
    if (count > 0)
        return named(ids);
    if (*run->left)
        return named(run->left);
    return run->keeps_ledger ? "sandboxes whose ids were never heard" : NULL;
}

/* What somebody should know who has to delete by hand. */
static void tell_left(const struct run *run, const struct kit *kit)
{
    const char *left = left_at_vendor(run, kit);

    if (!left)
        return;
    printf("# left at the vendor, or it cannot be told: %s\n", left);
    printf("# labels of such sandboxes may begin with %s\n", kit->label);
    if (run->keeps_ledger)
        printf("# to try again: XDG_STATE_HOME=%s sandlot gc --config %s/process.toml\n", kit->folder, kit->folder);
}

static void tell(struct run *run, const struct kit *kit)
{
    if (kit->provider && note_value(kit->provider, "credentials")) {
        run->totals[run->total_count++] = (struct total){.group = "run"};
        runner_result(run, run->withheld == 0, "run: no result shows a credential", "no value in any line",
                      say("%u did, and were withheld", run->withheld), "Never put a key into a message.");
    }
    printf("1..%u\n", run->number);
    tell_left(run, kit);
    summary_print(run, kit);
    if (kit->report && !summary_write(run, kit, kit->report)) {
        fprintf(stderr, "sandlot plugin check: cannot write %s: %s; choose another file\n", kit->report,
                strerror(errno));
        run->failed++;
    }
}

static void tell_early_end(const struct run *run, const struct kit *kit)
{
    if (*run->bailed)
        printf("Bail out! No sandbox can be made (%s); nothing else can be checked before that is mended.\n",
               run->bailed);
    else if (!runner_interrupted)
        return;
    else if (left_at_vendor(run, kit))
        puts("Bail out! It was interrupted, and sandboxes may be left; see above.");
    else if (may_have_left(kit))
        puts("Bail out! It was interrupted; the sandboxes that it had made are deleted.");
    else
        puts("Bail out! It was interrupted; it had made no sandbox.");
}

/* Random, so that neither another run nor a plugin has the same. */
static bool make_names(struct kit *kit)
{
    unsigned char random[12];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return false;
    snprintf(kit->label, sizeof(kit->label), "sandlot-kit-%02x%02x%02x%02x-", random[0], random[1], random[2],
             random[3]);
    for (size_t i = 4, used = 0; i < sizeof(random); i++)
        used += (size_t)snprintf(kit->token + used, sizeof(kit->token) - used, "%02x", random[i]);
    return true;
}

static int check(struct kit *kit)
{
    char names[512];
    char to_set[sizeof(names) + 4];
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
    if (!make_names(kit)) {
        fprintf(stderr, "sandlot plugin check: cannot draw random numbers: %s; try again later\n", strerror(errno));
        return EXIT_UNREADABLE;
    }
    bool lacks_some = kit->provider && kit_missing_credentials(kit, names, sizeof(names));

    if (lacks_some)
        snprintf(to_set, sizeof(to_set), "set %s", names);
    puts("TAP version 14");
    runner_catch_signals();
    run_groups(&run, kit, lacks_some ? to_set : NULL);
    if (!kit->static_only && kit->provider)
        clean_up(&run, kit);
    tell(&run, kit);
    tell_early_end(&run, kit);
    kit->keeps_folder = run.keeps_ledger;
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
    if (!kit.keeps_folder)
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
