#include "runner.h"

#include "cleanup.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

volatile sig_atomic_t runner_interrupted;

/* A group while it runs. */
struct watched {
    struct run *run;
    struct kit *kit;
    struct total *total;
    const struct group *group;
    char *line; /* the last bytes, without newline yet */
    size_t length;
    char last[256]; /* result, for people */
    bool complete;  /* it said that it was through */
};

static void on_signal(int number)
{
    runner_interrupted = number;
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

static void take_record(struct watched *watched, const char *line)
{
    if (strcmp(line, "end ") == 0)
        watched->complete = true;
    else if (strncmp(line, "figure ", 7) == 0)
        add_figure(watched->run, line + 7);
    else if (strncmp(line, "made ", 5) == 0)
        add_sandbox(&watched->kit->sandboxes, line + 5);
    else if (strncmp(line, "gone ", 5) == 0)
        mark_gone(&watched->kit->sandboxes, line + 5);
}

static void show_progress(const struct run *run, const char *text)
{
    if (run->show_progress)
        fprintf(stderr, "\r\033[K%.78s", text);
}

/* Gives a result its number. */
static void take_result(struct run *run, struct total *total, bool passed, const char *text)
{
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

static void take_line(struct watched *watched, const char *line)
{
    if (*line != RECORD_MARK && shows_credential(watched->kit, line)) {
        watched->run->withheld++;
        line =
            *line == ' ' ? "  came: '(withheld: the text holds the value of a credential)'" : "# (withheld: a secret)";
    }
    if (*line == RECORD_MARK)
        take_record(watched, line + 1);
    else if (strncmp(line, "ok - ", 5) == 0)
        take_result(watched->run, watched->total, true, line + 5);
    else if (strncmp(line, "not ok - ", 9) == 0)
        take_result(watched->run, watched->total, false, line + 9);
    else if (strncmp(line, "  ", 2) == 0 || *line == '#')
        puts(line);
    if (strncmp(line, "ok - ", 5) == 0 || strncmp(line, "not ok - ", 9) == 0)
        snprintf(watched->last, sizeof(watched->last), "%s", strstr(line, " - ") + 3);
}

/* False: the group's end of the pipe is closed, or there is nothing now. */
static bool take_bytes(struct watched *watched, int fd)
{
    char bytes[8192];
    ssize_t got = read(fd, bytes, sizeof(bytes));

    if (got <= 0)
        return got < 0 && errno == EINTR;
    for (ssize_t i = 0; i < got; i++) {
        if (watched->length % 256 == 0) {
            char *grown = realloc(watched->line, watched->length + 257);

            if (!grown)
                return false;
            watched->line = grown;
        }
        watched->line[watched->length++] = bytes[i];
        if (bytes[i] != '\n')
            continue;
        watched->line[watched->length - 1] = '\0';
        take_line(watched, watched->line);
        watched->length = 0;
    }
    fflush(stdout);
    return true;
}

/* ---- the process of a group -------------------------------------------------------------------------------------- */

__attribute__((noreturn)) static void be_group(const struct kit *kit, const struct group *group, int fd)
{
    sigset_t set;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signals_of_interest(&set);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    /* Standard output is for results alone, whatever a plugin prints. */
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
    }
    tap_begin(fd, group->name);
    group->run(kit);
    tap_record("end", "");
    _exit(0);
}

/* Until the process has ended, falls silent or somebody interrupts. False: one of the latter two. */
static bool watch(struct watched *watched, int process, int fd)
{
    int64_t silence_ms = (int64_t)watched->group->silence_s * 1000;
    int64_t end_ms = sandlot_now_ms() + silence_ms;
    struct pollfd polled[] = {{process, POLLIN, 0}, {fd, POLLIN, 0}};
    sigset_t none;

    sigemptyset(&none);
    while (!runner_interrupted) {
        int64_t left_ms = end_ms - sandlot_now_ms();
        struct timespec pause = {left_ms / 1000, left_ms % 1000 * 1000000};

        if (left_ms <= 0)
            return false;
        if (ppoll(polled, 2, &pause, &none) <= 0)
            continue;
        if (polled[1].revents && !take_bytes(watched, fd))
            polled[1].fd = -1;
        else if (polled[1].revents)
            end_ms = sandlot_now_ms() + silence_ms;
        if (polled[0].revents) {
            fcntl(fd, F_SETFL, O_NONBLOCK);
            while (take_bytes(watched, fd))
                continue;
            return true;
        }
    }
    return false;
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
    if (!in_time)
        came = say("nothing was heard of it for %d s", watched->group->silence_s);
    else if (WIFSIGNALED(how))
        came = say("its process was ended by signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
    else
        came = say("its process ended with status %d before it was through", WEXITSTATUS(how));
    take_result(watched->run, watched->total, false, name);
    printf("  ---\n  expected: 'the process of the group ends by itself, after its last check'\n"
           "  came: '%s, after \"%s\"'\n"
           "  advice: 'Run it again with --only %s under a debugger: the provider or one of its libraries did that.'\n "
           " ...\n",
           came, after, watched->group->name);
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
    struct watched watched = {.run = run, .kit = kit, .total = &run->totals[run->total_count++], .group = group};
    AUTO_CLOSE int process = -1;
    AUTO_CLOSE int fd = -1;
    pid_t child = -1;
    int how = 0;

    watched.total->group = group->name;
    bool started = start(kit, group, &child, &process, &fd);
    bool in_time = started && watch(&watched, process, fd);

    if (child > 0 && !in_time)
        kill(-child, SIGKILL);
    while (child > 0 && waitpid(child, &how, 0) < 0 && errno == EINTR)
        continue;
    free(watched.line);
    if (runner_interrupted)
        return false;
    tell_end(&watched, how, in_time);
    if (run->show_progress)
        fputs("\r\033[K", stderr);
    fflush(stdout);
    return true;
}

void runner_result(struct run *run, bool passed, const char *name, const char *expected, const char *came,
                   const char *advice)
{
    take_result(run, &run->totals[run->total_count - 1], passed, name);
    if (!passed)
        printf("  ---\n  expected: '%s'\n  came: '%s'\n  advice: '%s'\n  ...\n", expected, came, advice);
    fflush(stdout);
}
