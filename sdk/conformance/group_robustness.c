/* Many threads, and many cycles in this process: what is not given back shows after some hundreds. */
#include "cleanup.h"
#include "live.h"
#include "tap.h"

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum {
    THREADS = 8,
    CALLS = 4,
    WARM_UP = 20,
    LONG_MS = 5000,         /* a third of the cycles that is worth a word */
    CREATIONS = 10,         /* sandboxes made and deleted: dear at a vendor */
    TOLERATED_BYTES = 64,   /* per cycle */
    BREATHING_BYTES = 4096, /* of caches and buffers, per measurement */
    MOMENT_US = 20000,
    MOMENTS = 100, /* in which a thread whose code has gone runs into it */
    REASON = 600
};

/* ---- many threads ------------------------------------------------------------------------------------------------ */

struct worker {
    struct sandlot_session *session;
    int number;
    int right;
    char wrong[REASON]; /* what came of the last that was not */
};

static void *work(void *argument)
{
    struct worker *worker = argument;

    for (int i = 0; i < CALLS; i++) {
        char wanted[64];
        int length = snprintf(wanted, sizeof(wanted), "%d of %d\n", i, worker->number);
        struct outcome outcome = live_run(worker->session, say("echo %d of %d >own-%d; cat own-%d", i, worker->number,
                                                               worker->number, worker->number));

        if (outcome_is(&outcome, 0, wanted, (size_t)length))
            worker->right++;
        else
            snprintf(worker->wrong, sizeof(worker->wrong), "%s", outcome_shown(&outcome));
        outcome_clear(&outcome);
    }
    return NULL;
}

static void check_threads(const char *name, struct sandlot_session **sessions, size_t count)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    bool started[THREADS];
    const char *wrong = "";
    int right = 0;

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.session = sessions[(size_t)i % count], .number = i};
        started[i] = pthread_create(&threads[i], NULL, work, &workers[i]) == 0;
    }
    for (int i = 0; i < THREADS; i++) {
        if (started[i])
            pthread_join(threads[i], NULL);
        right += workers[i].right;
        wrong = *workers[i].wrong ? workers[i].wrong : wrong;
    }
    tap_check(right == THREADS * CALLS, name, say("%d of %d calls right", THREADS * CALLS, THREADS * CALLS),
              say("%d%s%s", right, *wrong ? ", and one that was not: " : "", wrong),
              "Calls come on any thread: guard what they share.");
}

static void check_many_threads(const struct kit *kit)
{
    struct live live;

    if (!live_begin(&live, kit, false))
        return;
    struct sandlot_session *sessions[2] = {live_sandbox(&live), NULL};

    if (sessions[0] && !sandlot_session_can_execute(sessions[0])) {
        tap_skip("threads", "the provider serves files only");
    } else if (sessions[0]) {
        check_threads("8 threads in one sandbox", sessions, 1);
        sessions[1] = live_create(&live, NULL);
        if (tap_check(sessions[1], "a second sandbox", "it is made", "it is not", "Look at quotas."))
            check_threads("8 threads in two sandboxes", sessions, 2);
    }
    for (int i = 0; i < 2; i++)
        if (sessions[i])
            live_close(sessions[i], true, NULL);
    live_end(&live);
}

/* ---- leaks ------------------------------------------------------------------------------------------------------- */

/* What this process holds. */
struct holdings {
    long descriptors;
    long threads;
    long bytes; /* of the heap */
};

static const char own_threads[] = "/proc/self/task";

static long entries_of(const char *folder)
{
    DIR *directory = opendir(folder);
    long count = 0;

    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static struct holdings holdings(void)
{
    struct mallinfo2 heap = mallinfo2();

    return (struct holdings){.descriptors = entries_of("/proc/self/fd"),
                             .threads = entries_of(own_threads),
                             .bytes = (long)(heap.uordblks + heap.hblkhd)};
}

/* A sanitizer has an allocator of its own, which mallinfo2 knows nothing of. */
static bool heap_is_known(void)
{
    return !dlsym(RTLD_DEFAULT, "__asan_init") && !dlsym(RTLD_DEFAULT, "__msan_init");
}

/* A kilobyte value of /proc/self/status. */
static double own_status(const char *key)
{
    FILE *file AUTO_FILE = fopen("/proc/self/status", "re");
    char line[256];
    double value = 0;

    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtod(line + strlen(key) + 1, NULL);
    return value;
}

/* Uses of a sandbox from attaching to closing. */
struct cycles {
    const struct live *live;
    const char *id; /* NULL: of a new one each time */
    char wrong[REASON];
};

static bool fail_cycle(struct cycles *cycles, const char *what, const char *why)
{
    snprintf(cycles->wrong, sizeof(cycles->wrong), "%s: %s", what, why);
    return false;
}

static bool use(struct cycles *cycles, struct sandlot_session *session)
{
    if (!sandlot_session_can_execute(session))
        return true;
    struct outcome outcome = live_run(session, "echo cycle");
    bool right = outcome_is(&outcome, 0, "cycle\n", 6) || fail_cycle(cycles, "execute", outcome_shown(&outcome));

    outcome_clear(&outcome);
    return right;
}

/* False: it went wrong, and cycles->wrong says how. */
static bool cycle(struct cycles *cycles)
{
    struct sandlot_error error = {0};

    tap_record("alive", ""); /* many cycles bring no other news */
    struct sandlot_session *session =
        cycles->id ? live_attach(cycles->live, cycles->id, &error) : live_create(cycles->live, &error);
    bool right =
        session ? use(cycles, session) : fail_cycle(cycles, cycles->id ? "attach" : "create", error_shown(&error));

    sandlot_error_clear(&error);
    if (session && !live_close(session, !cycles->id, &error))
        right = fail_cycle(cycles, "close", error_shown(&error));
    sandlot_error_clear(&error);
    return right;
}

/* False: one of COUNT went wrong. */
static bool run_cycles(struct cycles *cycles, int count)
{
    for (int i = 0; i < count; i++)
        if (!cycle(cycles))
            return false;
    return true;
}

static void tell_leaks(const char *what, const struct holdings *at, int third)
{
    long descriptors = at[2].descriptors - at[0].descriptors;
    long threads = at[2].threads - at[0].threads;
    double first = (double)(at[1].bytes - at[0].bytes) / third;
    double second = (double)(at[2].bytes - at[1].bytes) / third;
    double least = first < second ? first : second;
    double tolerated = TOLERATED_BYTES + (double)BREATHING_BYTES / third;
    int most = third / 2 + 1; /* of things that one in four cycles would have left */

    tap_check(descriptors < most, say("%s: descriptors", what), "as many after as before",
              say("%+ld after %d cycles, %.2f per cycle", descriptors, 2 * third, (double)descriptors / (2 * third)),
              "Close what a call opens, on every way out, and open it with O_CLOEXEC.");
    tap_check(threads < most, say("%s: threads", what), "as many after as before",
              say("%+ld after %d cycles, %.2f per cycle", threads, 2 * third, (double)threads / (2 * third)),
              "Join the threads of a call before it returns, and your own in close.");
    if (!heap_is_known())
        tap_skip(say("%s: memory", what), "the allocator is a sanitizer's, which finds leaks by itself");
    else
        tap_check(
            least <= tolerated, say("%s: memory", what), say("less than %.0f bytes per cycle", tolerated),
            say("%.0f bytes per cycle, then %.0f", first, second),
            "Free in release what get_or_create stored, and in each call what it allocates; valgrind finds the place.");
}

static void check_leaks(struct cycles *cycles, const char *what, int count)
{
    struct holdings at[3];
    int third = count / 3 > 0 ? count / 3 : 1;

    double begin = milliseconds();

    for (int i = 0; i < 3; i++) {
        if (i == 1 && milliseconds() - begin > LONG_MS)
            tap_remark("%s: two more thirds of %d cycles take about %.0f s; --cycles takes fewer", what, third,
                       2 * (milliseconds() - begin) / 1e3);
        if (!run_cycles(cycles, third)) {
            tap_check(false, say("%s: cycles", what), say("%d cycles that go well", 3 * third),
                      say("one of the %s third did not: %s",
                          i == 0   ? "first"
                          : i == 1 ? "second"
                                   : "last",
                          cycles->wrong),
                      "It goes wrong only after some use: look for what is used up.");
            return;
        }
        at[i] = holdings();
    }
    tap_check(true, say("%s: cycles", what), "", "", "");
    tell_leaks(what, at, third);
}

/* Unloads LIBRARY, which nobody but we has in use any more. A thread that lives on without its code crashes anywhere,
 * so what is suspected is said before. */
static void unload(void *library, long threads_before)
{
    if (entries_of(own_threads) > threads_before)
        tap_record("suspect", "Join your threads in close: one that it left ran on when the library was unloaded.");
    if (library)
        dlclose(library);
    for (int i = 0; i < MOMENTS && entries_of(own_threads) > threads_before; i++)
        usleep(MOMENT_US);
    if (entries_of(own_threads) <= threads_before)
        tap_record("suspect", "");
}

static void check_unloading(const struct kit *kit, long threads_before)
{
    for (int i = 0; i < 2; i++) {
        struct live live;

        if (!live_begin(&live, kit, true))
            return;
        void *library = dlopen(kit->file, RTLD_NOW | RTLD_LOCAL); /* so that nothing unloads it but unload */

        struct cycles cycles = {.live = &live};
        bool right = cycle(&cycles);

        if (!tap_check(right, i == 0 ? "used, unloaded" : "loaded again", "a sandbox, a command, an end", cycles.wrong,
                       "Undo in close what open did; keep nothing that outlives the library."))
            i = 2;
        live_end(&live);
        unload(library, threads_before);
    }
}

static bool go_well(struct cycles *cycles, const char *name, const char *what, int count)
{
    bool right = run_cycles(cycles, count);

    return tap_check(right, name, what, cycles->wrong, "See the groups before.");
}

static void check_many_cycles(const struct kit *kit)
{
    struct live live;
    const char *by_id = note_value(kit->provider, "sandbox_id");
    bool attaches = !by_id || strcmp(by_id, "no") != 0;

    if (!live_begin(&live, kit, true))
        return;
    struct sandlot_session *session = live_sandbox(&live);
    struct cycles old = {.live = &live, .id = session ? sandlot_session_id(session) : NULL};
    struct cycles fresh = {.live = &live};

    if (session && attaches && go_well(&old, "the first cycles", "attach, execute, close", WARM_UP))
        check_leaks(&old, "attach, execute, close", kit->cycles);
    if (session && go_well(&fresh, "the first creations", "create, execute, delete", 2))
        check_leaks(&fresh, "create, execute, delete", kit->cycles < 3 * CREATIONS ? kit->cycles : 3 * CREATIONS);
    tap_figure("peak memory of a process with the provider", own_status("VmHWM:") / 1024, "MiB");
    if (session)
        live_close(session, true, NULL);
    live_end(&live);
}

void group_robustness(const struct kit *kit)
{
    const long threads = entries_of(own_threads); /* before there are any that may be about to end */

    check_many_threads(kit);
    check_unloading(kit, threads);
    check_many_cycles(kit);
}
