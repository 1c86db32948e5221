#include "runner.h"

#include "cleanup.h"
#include "stop.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { LONGEST_LINE = 65536, PIECE = 8192, MOST_PRINTED = 100 };

volatile sig_atomic_t runner_interrupted;
static volatile sig_atomic_t signal_count;

/* A group while it runs. */
struct watched {
    struct run *run;
    struct kit *kit;
    struct total *total;
    const struct group *group;
    char *line; /* the last bytes, without newline yet */
    size_t length;
    char last[256];    /* result, for people */
    char suspect[256]; /* what to do should it crash now; "": nothing is known */
    bool complete;     /* it said that it was through */
    bool heard;        /* something of its own among the last bytes */
    bool stopping;     /* it was asked to end: its results count no more */
    int64_t end_ms;    /* it is ended then */
    unsigned printed;
};

static void on_signal(int number)
{
    runner_interrupted = number;
    signal_count++;
}

static void signals_of_interest(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

void runner_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t set;

    signals_of_interest(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* a reader that has gone is no reason to leave sandboxes behind */
}

/* ---- what a group tells ------------------------------------------------------------------------------------------ */

static void add_figure(struct run *run, const char *text)
{
    struct figure figure = {.value = 0};

    if (run->figure_count < MOST_FIGURES &&
        sscanf(text, "%63[^\t]\t%lf\t%15[^\n]", figure.name, &figure.value, figure.unit) == 3)
        run->figures[run->figure_count++] = figure;
}

static void add_sandbox(struct sandboxes *sandboxes, const char *id)
{
    char **ids = realloc(sandboxes->ids, (sandboxes->count + 1) * sizeof(*ids));

    if (ids)
        sandboxes->ids = ids;
    bool *gone = ids ? realloc(sandboxes->gone, (sandboxes->count + 1) * sizeof(*gone)) : NULL;

    if (gone)
        sandboxes->gone = gone;
    if (!gone || !(ids[sandboxes->count] = strdup(id)))
        return;
    gone[sandboxes->count++] = false;
}

static void mark_gone(const struct sandboxes *sandboxes, const char *id)
{
    for (size_t i = 0; i < sandboxes->count; i++)
        if (strcmp(sandboxes->ids[i], id) == 0)
            sandboxes->gone[i] = true;
}

static void take_record(struct watched *watched, char *line)
{
    struct run *run = watched->run;
    char *value = line + strcspn(line, " ");

    if (!*value)
        return;
    *value++ = '\0';
    if (strcmp(line, "figure") == 0) {
        if (!watched->stopping)
            add_figure(run, value);
        return;
    }
    tap_decode(value);
    if (strcmp(line, "end") == 0)
        watched->complete = true;
    else if (strcmp(line, "made") == 0)
        add_sandbox(&watched->kit->sandboxes, value);
    else if (strcmp(line, "gone") == 0)
        mark_gone(&watched->kit->sandboxes, value);
    else if (strcmp(line, "abandoned") == 0)
        watched->kit->sandboxes.settled_ms = sandlot_now_ms() + ALL_IS_TOLD_MS;
    else if (strcmp(line, "never_loads") == 0)
        run->never_loads = true;
    else if (strcmp(line, "ledger") == 0)
        run->keeps_ledger = true;
    else if (strcmp(line, "suspect") == 0)
        snprintf(watched->suspect, sizeof(watched->suspect), "%s", value);
    else if (strcmp(line, "left") == 0)
        snprintf(run->left, sizeof(run->left), "%s", value);
    else if (strcmp(line, "bail") == 0 && !watched->stopping)
        snprintf(run->bailed, sizeof(run->bailed), "%s", value);
}

static void show_progress(const struct run *run, const char *text)
{
    if (run->show_progress)
        fprintf(stderr, "\r\033[K%.78s", text);
}

/* Gives a result its number. */
static void take_result(struct run *run, struct total *total, bool passed, const char *text)
{
    if (run->quiet) {
        printf("# %s: %s\n", passed ? "ok" : "not ok", text);
        return;
    }
    if (!passed)
        total->failed++;
    else if (strstr(text, " # SKIP "))
        total->skipped++;
    else
        total->passed++;
    run->failed += !passed;
    show_progress(run, text);
    printf("%s %u - %s\n", passed ? "ok" : "not ok", ++run->number, text);
}

/* Does the line hold the value of a declared credential? Short values would be found anywhere. */
static bool shows_credential(const struct kit *kit, const char *line)
{
    char name[128];
    const char *value;

    for (size_t i = 0; kit->provider && kit_credential(kit, i, name, sizeof(name), &value); i++)
        if (value && strlen(value) >= 6 && strstr(line, value))
            return true;
    return false;
}

/* What the plugin or one of its libraries printed. */
static void pass_on(struct watched *watched, const char *text)
{
    bool is_secret = shows_credential(watched->kit, text);

    watched->run->withheld += is_secret;
    if (!*text || watched->printed > MOST_PRINTED)
        return;
    show_progress(watched->run, "");
    if (++watched->printed > MOST_PRINTED)
        fprintf(stderr, "# %s printed: (more than %d lines, the rest is left out)\n", watched->group->name,
                MOST_PRINTED);
    else if (is_secret)
        fprintf(stderr, "# %s printed: (withheld: the text holds the value of a credential)\n", watched->group->name);
    else
        fprintf(stderr, "# %s printed: %s\n", watched->group->name, shown(text, strlen(text)));
}

static void take_own(struct watched *watched, char *text)
{
    const char *line = text;

    if (watched->stopping && *line != RECORD_MARK)
        return;
    if (*line != RECORD_MARK && shows_credential(watched->kit, line)) {
        watched->run->withheld++;
        line =
            *line == ' ' ? "  came: '(withheld: the text holds the value of a credential)'" : "# (withheld: a secret)";
    }
    if (*line == RECORD_MARK)
        take_record(watched, text + 1);
    else if (strncmp(line, "ok - ", 5) == 0)
        take_result(watched->run, watched->total, true, line + 5);
    else if (strncmp(line, "not ok - ", 9) == 0)
        take_result(watched->run, watched->total, false, line + 9);
    else if (strncmp(line, "  ", 2) == 0 || *line == '#')
        printf("%s%s\n", watched->run->quiet && *line != '#' ? "#" : "", line);
    if (strncmp(line, "ok - ", 5) == 0 || strncmp(line, "not ok - ", 9) == 0)
        snprintf(watched->last, sizeof(watched->last), "%s", strstr(line, " - ") + 3);
}

/* A line of the group begins with the token; what stands before that somebody else has printed. */
static void take_line(struct watched *watched, char *line)
{
    char *own = strstr(line, watched->kit->token);

    if (own)
        *own = '\0';
    pass_on(watched, line);
    if (own) {
        watched->heard = true;
        take_own(watched, own + strlen(watched->kit->token));
    }
}

/* Somebody prints without newlines. What may be, or become, a line of the group stays. */
static void shorten(struct watched *watched)
{
    size_t token = strlen(watched->kit->token);
    const char *own = memmem(watched->line, watched->length, watched->kit->token, token);
    size_t printed = own ? (size_t)(own - watched->line) : watched->length - token + 1;
    size_t cut = printed ? printed : watched->length; /* no line of a group is as long as that */
    char first = watched->line[cut];

    watched->line[cut] = '\0';
    pass_on(watched, watched->line);
    watched->line[cut] = first;
    watched->length -= cut;
    memmove(watched->line, watched->line + cut, watched->length);
}

/* False: the group's end of the pipe is closed, or there is nothing now. */
static bool take_bytes(struct watched *watched, int fd)
{
    char bytes[PIECE];
    ssize_t got = read(fd, bytes, sizeof(bytes));

    if (got <= 0)
        return got < 0 && errno == EINTR;
    for (ssize_t i = 0; i < got; i++) {
        if (bytes[i] != '\n') {
            if (watched->length == LONGEST_LINE)
                shorten(watched);
            watched->line[watched->length++] = bytes[i] ? bytes[i] : '?';
            continue;
        }
        watched->line[watched->length] = '\0';
        take_line(watched, watched->line);
        watched->length = 0;
    }
    fflush(stdout);
    return true;
}

/* What the pipe holds now, and no more: a process that the plugin left behind may go on printing for ever. */
static void take_rest(struct watched *watched, int fd)
{
    int waiting = 0;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    ioctl(fd, FIONREAD, &waiting);
    for (; waiting > 0 && take_bytes(watched, fd); waiting -= PIECE)
        continue;
    watched->line[watched->length] = '\0';
    take_line(watched, watched->line);
    watched->length = 0;
}

/* ---- the process of a group -------------------------------------------------------------------------------------- */

/*
 * What was written to standard output, where a pipe kept the beginning of it. In a host that runs the provider in its
 * own process that is where results go.
 */
static void check_standard_output(int fd)
{
    char bytes[256];
    int waiting = 0;

    fflush(stdout);
    ioctl(fd, FIONREAD, &waiting);
    ssize_t length = waiting > 0 ? read(fd, bytes, sizeof(bytes)) : 0;

    tap_check(waiting == 0, "nothing is written to standard output", "no byte",
              say("%d bytes or more: %s", waiting, named(shown(bytes, length > 0 ? (size_t)length : 0))),
              "Use host->log; standard output belongs to the program that loads the provider.");
}

/* Standard output without a reader: it never blocks, and what does not fit is lost. The other end; -1: there is none.
 */
static int catch_standard_output(void)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    return ends[0];
}

__attribute__((noreturn)) static void be_group(const struct kit *kit, const struct group *group, int fd)
{
    sigset_t set;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signals_of_interest(&set);
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    /* Our standard output is for results alone, whatever a plugin prints; what it says on the other one is passed on as
     * its own words, so that it is no result either where somebody reads both as one. */
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
    }
    dup2(fd, STDERR_FILENO);
    stop_begin();
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    tap_begin(fd, kit->token, group->name);
    int written = group->cleans ? -1 : catch_standard_output();

    group->run(kit);
    if (written >= 0)
        check_standard_output(written);
    tap_record("end", "");
    _exit(0);
}

/* The first signal: what runs is cancelled and may end in order. While cleaning up, it bounds that. */
static void ask_to_stop(struct watched *watched, pid_t child)
{
    int64_t now = sandlot_now_ms();
    int64_t end_ms = now + (watched->group->cleans ? CLEANUP_MS : STOP_MS);

    watched->run->interrupted_ms = now;
    watched->stopping = !watched->group->cleans;
    show_progress(watched->run, "");
    fprintf(stderr,
            "sandlot plugin check: interrupted; its sandboxes are being deleted, which takes up to %d s (a second "
            "signal ends it at once)\n",
            CLEANUP_MS / 1000);
    if (watched->stopping)
        kill(child, SIGTERM);
    if (end_ms < watched->end_ms)
        watched->end_ms = end_ms;
}

/* Until the process has ended, falls silent or is interrupted twice. False: one of the latter two. */
static bool watch(struct watched *watched, pid_t child, int process, int fd)
{
    int64_t silence_ms = (int64_t)watched->group->silence_s * 1000;
    struct pollfd polled[] = {{process, POLLIN, 0}, {fd, POLLIN, 0}};
    sigset_t none;

    sigemptyset(&none);
    watched->end_ms = watched->group->cleans ? watched->kit->cleanup_end_ms : sandlot_now_ms() + silence_ms;
    for (;;) {
        if (signal_count > 0 && !watched->run->interrupted_ms)
            ask_to_stop(watched, child);
        int64_t left_ms = watched->end_ms - sandlot_now_ms();
        struct timespec pause = {left_ms / 1000, left_ms % 1000 * 1000000};

        if (left_ms <= 0 || signal_count > 1)
            return false;
        if (ppoll(polled, 2, &pause, &none) <= 0)
            continue;
        watched->heard = false;
        if (polled[1].revents && !take_bytes(watched, fd))
            polled[1].fd = -1;
        if (watched->heard && !watched->stopping && !watched->group->cleans)
            watched->end_ms = sandlot_now_ms() + silence_ms;
        if (polled[0].revents) {
            take_rest(watched, fd);
            return true;
        }
    }
}

/* The kit's own word. NAME is as it may stand in a result. */
static void tell_result(struct run *run, struct total *total, bool passed, const char *name, const char *expected,
                        const char *came, const char *advice)
{
    const char *mark = run->quiet ? "#" : "";

    take_result(run, total, passed, name);
    if (!passed)
        printf("%s  ---\n%s  expected: '%s'\n%s  came: '%s'\n%s  advice: '%s'\n%s  ...\n", mark, mark, quoted(expected),
               mark, quoted(came), mark, quoted(advice), mark);
    fflush(stdout);
}

static void tell_end(struct watched *watched, int how, bool in_time)
{
    const char *after = *watched->last ? watched->last : "its beginning";
    const char *name = say("%s: ran to its end", watched->group->name);
    const char *came;

    if (watched->complete && in_time && WIFEXITED(how) && WEXITSTATUS(how) == 0) {
        take_result(watched->run, watched->total, true, name);
        return;
    }
    if (!in_time && watched->group->cleans)
        came = "it was not through in time";
    else if (!in_time)
        came = say("nothing was heard of it for %d s", watched->group->silence_s);
    else if (WIFSIGNALED(how))
        came = say("its process was ended by signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
    else
        came = say("its process ended with status %d before it was through", WEXITSTATUS(how));
    tell_result(watched->run, watched->total, false, name,
                "the process of the group ends by itself, after its last check", say("%s, after \"%s\"", came, after),
                say("%s%sRun it again with --only %s under a debugger: the provider or one of its libraries did that.",
                    watched->suspect, *watched->suspect ? " " : "", watched->group->name));
}

static bool start(const struct kit *kit, const struct group *group, pid_t *child, int *process, int *fd)
{
    int pipe[2];

    fflush(stdout);
    if (pipe2(pipe, O_CLOEXEC) < 0)
        return false;
    *child = fork();
    if (*child == 0) {
        close(pipe[0]);
        be_group(kit, group, pipe[1]);
    }
    close(pipe[1]);
    *fd = pipe[0];
    if (*child < 0)
        return false;
    setpgid(*child, *child); /* here too: whoever comes first */
    *process = (int)syscall(SYS_pidfd_open, *child, 0);
    return *process >= 0;
}

bool runner_run(struct run *run, struct kit *kit, const struct group *group)
{
    struct total unheeded = {0};
    struct watched watched = {.run = run, .kit = kit, .group = group};
    AUTO_CLOSE int process = -1;
    AUTO_CLOSE int fd = -1;
    pid_t child = -1;
    int how = 0;

    watched.total = run->quiet ? &unheeded : &run->totals[run->total_count++];
    *watched.total = (struct total){.group = group->name};
    watched.line = malloc(LONGEST_LINE + 1);
    bool started = watched.line && start(kit, group, &child, &process, &fd);
    const char *obstacle = started ? NULL : strerror(watched.line ? errno : ENOMEM);
    bool in_time = started && watch(&watched, child, process, fd);

    if (child > 0 && !in_time)
        kill(-child, SIGKILL);
    while (child > 0 && waitpid(child, &how, 0) < 0 && errno == EINTR)
        continue;
    free(watched.line);
    show_progress(run, "");
    run->in_peace = in_time && watched.complete;
    if (watched.stopping || *run->bailed)
        return false;
    if (obstacle)
        tell_result(run, watched.total, false, say("%s: ran to its end", group->name), "a process for the group",
                    say("it cannot be started and watched: %s", obstacle),
                    "Free memory, processes or descriptors; pidfd_open(2) needs Linux 5.3, and no tool around it that "
                    "lacks it.");
    else
        tell_end(&watched, how, in_time);
    return !runner_interrupted;
}

void runner_result(struct run *run, bool passed, const char *name, const char *expected, const char *came,
                   const char *advice)
{
    tell_result(run, &run->totals[run->total_count - 1], passed, name, expected, came, advice);
}
