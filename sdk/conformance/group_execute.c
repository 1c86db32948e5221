/* Commands: exit codes, exact bytes, time limits, cancelling, what runs at the same time. */
#include "cleanup.h"
#include "live.h"
#include "stop.h"
#include "tap.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    CALLS = 6,
    WORKING_COMMAND = 120000,
    LONG_COMMAND = 200000,
    LARGE_OUTPUT = 16 << 20,
    LARGE_INPUT = 1 << 20,
    TIME_LIMIT_MS = 700,
    LATEST_END_MS = 4000,    /* of a command with that time limit: TERM, a grace of 2 s, KILL */
    LATEST_BUSY_MS = 10000,  /* the same with all that it printed to be brought home */
    LATEST_CANCEL_MS = 2000, /* within a second, and one more for the way there and back */
};

static const char exit_advice[] = "result->exit_code is the command's own, 128 + n after signal n.";
static const char end_advice[] =
    "End the command with all that it started: its process group or session, or the vendor's kill.";
static const char bytes_advice[] = "Pass output on byte for byte: no text mode, no line ends, nothing cut at NUL.";

/* ---- how commands end -------------------------------------------------------------------------------------------- */

static void check_exit_codes(struct sandlot_session *session)
{
    static const int codes[] = {0, 1, 2, 42, 126, 127, 255};

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        live_expect(session, say("exit code %d", codes[i]), say("exit %d", codes[i]), codes[i], "", exit_advice);
    live_expect(session, "a command that is not there", "no-such-command-anywhere", 127, NULL, exit_advice);
    live_expect(session, "ended by SIGKILL", "kill -9 $$", 137, NULL, exit_advice);
    live_expect(session, "ended by SIGTERM", "kill -15 $$", 143, NULL, exit_advice);
    struct outcome outcome = live_run(session, "exit 124");

    tap_check(outcome_is(&outcome, 124, "", 0) && !outcome.result.timed_out, "exit code 124 of its own",
              "exit code 124, and not timed out", outcome_shown(&outcome),
              "result->timed_out says that command->timeout_ms ended it; timeout(1) has that exit code too.");
    outcome_clear(&outcome);
}

/* ---- what they print --------------------------------------------------------------------------------------------- */

static void expect_bytes(struct sandlot_session *session, const char *name, const char *command, const char *bytes,
                         size_t length)
{
    struct outcome outcome = live_run(session, command);

    tap_check(outcome_is(&outcome, 0, bytes, length), name,
              say("exit code 0, %zu bytes: %s", length, shown(bytes, length)), outcome_shown(&outcome), bytes_advice);
    outcome_clear(&outcome);
}

static void check_all_bytes(struct sandlot_session *session)
{
    char command[2048] = "printf '";
    char bytes[256];
    size_t used = strlen(command);

    for (int i = 0; i < 256; i++) {
        bytes[i] = (char)i;
        used += (size_t)sprintf(command + used, "\\%03o", (unsigned)i);
    }
    strcpy(command + used, "'");
    expect_bytes(session, "all 256 bytes", command, bytes, sizeof(bytes));
}

static void expect_many(struct sandlot_session *session, const char *name, size_t wanted)
{
    struct outcome outcome = live_run(session, say("head -c %zu /dev/zero | tr '\\000' x", wanted));
    size_t right = 0;

    while (outcome.ran && right < outcome.result.output_length && outcome.result.output[right] == 'x')
        right++;
    tap_check(outcome_is(&outcome, 0, NULL, 0) && right == wanted && outcome.result.output_total == wanted, name,
              say("%zu bytes x", wanted), say("%zu right ones; %s", right, outcome_shown(&outcome)),
              "Pass all of the output on as it comes; never cut it.");
    if (wanted == LARGE_OUTPUT)
        tap_figure("16 MiB of output", outcome.ms, "ms");
    outcome_clear(&outcome);
}

static void check_output(struct sandlot_session *session)
{
    static const char order[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    check_all_bytes(session);
    expect_bytes(session, "no newline at the end", "printf end", "end", 3);
    expect_bytes(session, "NUL inside", "printf 'a\\000b\\000'", "a\0b\0", 4);
    expect_bytes(session, "CR and tab", "printf 'a\\r\\n\\tb\\r'", "a\r\n\tb\r", 6);
    expect_bytes(session, "no output", "true", "", 0);
    expect_bytes(session, "only standard error", "echo problem >&2", "problem\n", 8);
    expect_bytes(session, "both streams in order",
                 "i=0; while [ $i -lt 10 ]; do i=$((i+1)); echo $i; i=$((i+1)); echo $i >&2; done", order,
                 strlen(order));
    expect_many(session, "1 MiB of output", 1 << 20);
    expect_many(session, "16 MiB of output", LARGE_OUTPUT);
}

/* When bytes came. */
struct arrival {
    double first;
    double last;
    char text[64];
    size_t length;
};

static bool on_output(void *context, const void *bytes, size_t length)
{
    struct arrival *arrival = context;
    size_t kept = length < sizeof(arrival->text) - arrival->length ? length : sizeof(arrival->text) - arrival->length;

    memcpy(arrival->text + arrival->length, bytes, kept);
    arrival->length += kept;
    arrival->last = milliseconds();
    if (arrival->first == 0)
        arrival->first = arrival->last;
    return true;
}

static void check_streaming(const struct kit *kit, struct sandlot_session *session)
{
    struct arrival arrival = {.first = 0};
    struct sandlot_execution execution = {.size = sizeof(execution),
                                          .command = "echo first; sleep 0.5; echo last",
                                          .timeout_ms = COMMAND_MS,
                                          .output = on_output,
                                          .context = &arrival};
    struct outcome outcome = live_execute(session, &execution);
    bool is_complete = outcome.ran && arrival.length == 11 && memcmp(arrival.text, "first\nlast\n", 11) == 0;

    tap_check(is_complete, "output handed on", "first, last",
              say("%s; %s", shown(arrival.text, arrival.length), outcome_shown(&outcome)), bytes_advice);
    if (kit_has(kit, "streaming"))
        tap_check(arrival.last - arrival.first > 250, "output as it appears",
                  "the first line half a second before the last, as the capability streaming promises",
                  say("%.0f ms before", arrival.last - arrival.first),
                  "Write to the sink whenever bytes come, or take SANDLOT_STREAMS_OUTPUT away.");
    else
        tap_skip("output as it appears", "the provider does not have the capability streaming");
    outcome_clear(&outcome);
}

/* ---- what they are given ----------------------------------------------------------------------------------------- */

static void check_environment(struct sandlot_session *session)
{
    static const char *const environment[] = {
        "KIT_PLAIN=value", "KIT_ODD=it's \"$x\" `id` \\ ;|&*\tend", "KIT_LINES=one\ntwo",
        "KIT_EMPTY=",      "KIT_UNICODE=gr\303\274\303\237e",       NULL};
    static const char wanted[] = "value|it's \"$x\" `id` \\ ;|&*\tend|one\ntwo||gr\303\274\303\237e|set";
    struct sandlot_execution execution = {
        .size = sizeof(execution),
        .command =
            "printf '%s|%s|%s|%s|%s|%s' \"$KIT_PLAIN\" \"$KIT_ODD\" \"$KIT_LINES\" \"$KIT_EMPTY\" \"$KIT_UNICODE\" "
            "\"${KIT_EMPTY+set}\"",
        .timeout_ms = COMMAND_MS,
        .environment = environment};
    struct outcome outcome = live_execute(session, &execution);

    tap_check(outcome_is(&outcome, 0, wanted, strlen(wanted)), "environment with odd values",
              shown(wanted, strlen(wanted)), outcome_shown(&outcome),
              "Quote values when you build a command line of them.");
    outcome_clear(&outcome);
}

static bool has_line(const char *text, const char *line)
{
    const size_t length = strlen(line);

    while (text && (strncmp(text, line, length) != 0 || text[length] != '\n'))
        text = (text = strchr(text, '\n')) ? text + 1 : NULL;
    return text;
}

/* The variables that a command has without any that it is given are there still where it is given one. */
static void check_environment_added(struct sandlot_session *session)
{
    static const char name[] = "environment is added, not replaced";
    static const char *const environment[] = {"KIT_ADDED=1", NULL};
    /* All names, one a line; "_" is the shell's own, and what a value of several lines looks like does no harm. */
    static const char command[] = "env | sed -n 's/^\\([A-Za-z][A-Za-z0-9_]*\\)=.*/\\1/p'";
    struct sandlot_execution execution = {
        .size = sizeof(execution), .command = command, .timeout_ms = COMMAND_MS, .environment = environment};
    struct outcome without = live_run(session, command);
    struct outcome with = live_execute(session, &execution);
    bool both = outcome_is(&without, 0, NULL, 0) && outcome_is(&with, 0, NULL, 0);
    const char *lost = NULL;

    for (char *rest = without.result.output, *line; both && !lost && (line = strsep(&rest, "\n"));)
        if (*line && !has_line(with.result.output, line))
            lost = line;
    tap_check(both && !lost, name, "what a command has without it is there still",
              !both  ? say("%s; %s", outcome_shown(&without), outcome_shown(&with))
              : lost ? say("%s is not", lost)
                     : "",
              "Add command->environment to what commands have anyway.");
    outcome_clear(&without);
    outcome_clear(&with);
}

static void check_odd_working_dir(struct sandlot_session *session)
{
    static const char made[] = "mkdir -p \"it's \\$HOME\" && cd \"it's \\$HOME\" && pwd";
    struct outcome outcome = live_run(session, made);
    AUTO_FREE char *wanted = outcome_is(&outcome, 0, NULL, 0) ? strdup(outcome.result.output) : NULL;
    AUTO_FREE char *path = wanted ? strdup(wanted) : NULL;

    outcome_clear(&outcome);
    if (!path)
        return;
    path[strcspn(path, "\n")] = '\0';
    struct sandlot_execution execution = {
        .size = sizeof(execution), .command = "pwd", .timeout_ms = COMMAND_MS, .working_dir = path};

    outcome = live_execute(session, &execution);
    tap_check(outcome_is(&outcome, 0, wanted, strlen(wanted)), "a working directory with an odd name", path,
              outcome_shown(&outcome), "Quote command->working_dir when you build a command line of it.");
    outcome_clear(&outcome);
}

static void check_working_dir(struct sandlot_session *session)
{
    struct sandlot_execution execution = {
        .size = sizeof(execution), .command = "pwd", .timeout_ms = COMMAND_MS, .working_dir = "/"};
    struct outcome outcome = live_execute(session, &execution);

    tap_check(outcome_is(&outcome, 0, "/\n", 2), "another working directory", "/", outcome_shown(&outcome),
              "Serve command->working_dir.");
    outcome_clear(&outcome);
    execution.working_dir = "/no-such-folder";
    outcome = live_execute(session, &execution);
    tap_check(!outcome.ran, "a working directory that is not there", "an error, and nothing is run",
              outcome_shown(&outcome), "Fail with SANDLOT_INVALID_ARGUMENT.");
    outcome_clear(&outcome);
}

static void check_text(struct sandlot_session *session)
{
    AUTO_FREE char *command = malloc(LONG_COMMAND + 64);
    static const char odd[] =
        "printf '%s' \"it's\" ' \"$HOME\" `id` \\ ' \"\n\" 'gr\303\274\303\237e \342\202\254 !#~*'";
    static const char printed[] = "it's \"$HOME\" `id` \\ \ngr\303\274\303\237e \342\202\254 !#~*";

    live_expect(session, "quotes, newlines and Unicode in the command", odd, 0, printed,
                "Hand the command to one shell as one argument, unchanged.");
    live_expect(session, "nothing carries over", "cd /; export CARRIED=1; umask 0", 0, "", exit_advice);
    live_expect(session, "and the next starts afresh", "echo \"${CARRIED-no}\"; [ \"$PWD\" != / ]", 0, "no\n",
                "Run every command in a shell of its own.");
    live_expect(session, "standard input is empty", "cat", 0, "", "Connect standard input to /dev/null.");
    if (!command)
        return;
    /* Blanks before, so that its end alone is a command too. */
    memset(command, ' ', LONG_COMMAND);
    strcpy(command + LONG_COMMAND, "echo long");
    struct outcome outcome = live_run(session, command + LONG_COMMAND - WORKING_COMMAND);

    tap_check(outcome_is(&outcome, 0, "long\n", 5), "a command of 120 kB", "exit code 0, output: long",
              outcome_shown(&outcome), "Feed long commands to the shell through a file or its input.");
    outcome_clear(&outcome);
    outcome = live_run(session, command);
    /* Linux takes no argument above 128 KiB, so that a provider that hands it on as one has to say so. */
    if (!outcome.ran || !outcome_is(&outcome, 0, "long\n", 5))
        tap_check(!outcome.ran && outcome.error.code != SANDLOT_CODE_PROVIDER_CRASHED && outcome.error.message,
                  "a command of 200 kB", "it runs, or is refused with a sentence", outcome_shown(&outcome),
                  "Feed long commands to the shell through a file or its input.");
    else
        tap_check(true, "a command of 200 kB", "", "", "");
    outcome_clear(&outcome);
}

/* More than a pipe holds, to a command that reads all of it and to one that reads nothing. */
static void check_much_input(struct sandlot_session *session)
{
    AUTO_CLOSE int fd = memfd_create("input", MFD_CLOEXEC);
    AUTO_FREE char *bytes = malloc(LARGE_INPUT);
    struct sandlot_execution execution = {.size = sizeof(execution),
                                          .command = "cat",
                                          .timeout_ms = COMMAND_MS,
                                          .has_input = true,
                                          .input_fd = fd,
                                          .output_limit = 2 * LARGE_INPUT};

    for (size_t i = 0; bytes && i < LARGE_INPUT; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    if (fd < 0 || !bytes || write(fd, bytes, LARGE_INPUT) != LARGE_INPUT || lseek(fd, 0, SEEK_SET) != 0)
        return;
    struct outcome outcome = live_execute(session, &execution);

    tap_check(outcome_is(&outcome, 0, bytes, LARGE_INPUT), "1 MiB of input", "all of its bytes come back",
              outcome_shown(&outcome), "Feed command->input to its end, while you take what the command prints.");
    outcome_clear(&outcome);
    execution.command = "exit 3";
    lseek(fd, 0, SEEK_SET);
    outcome = live_execute(session, &execution);
    tap_check(outcome_is(&outcome, 3, "", 0), "input that nobody reads", "exit code 3", outcome_shown(&outcome),
              "A command may end without having read its input; ignore SIGPIPE and EPIPE.");
    outcome_clear(&outcome);
}

static void check_input(struct sandlot_session *session)
{
    AUTO_CLOSE int fd = memfd_create("input", MFD_CLOEXEC);
    struct sandlot_execution execution = {
        .size = sizeof(execution), .command = "cat", .timeout_ms = COMMAND_MS, .has_input = true, .input_fd = fd};

    if (fd < 0 || write(fd, "typed\0in", 8) != 8 || lseek(fd, 0, SEEK_SET) != 0)
        return;
    struct outcome outcome = live_execute(session, &execution);

    bool feeds = outcome.ran || outcome.error.code != SANDLOT_CODE_NOT_SUPPORTED;

    if (!feeds)
        tap_skip("input", "the provider says that it cannot feed input, as it may");
    else
        tap_check(outcome_is(&outcome, 0, "typed\0in", 8), "input", "the bytes that were fed, or not_supported",
                  outcome_shown(&outcome), "Feed command->input to its end, or refuse with SANDLOT_UNSUPPORTED.");
    outcome_clear(&outcome);
    if (feeds)
        check_much_input(session);
}

/* ---- how they are ended ------------------------------------------------------------------------------------------ */

/* Two processes, of which the one in the background writes to the file BEAT as long as it lives. */
static const char *beating(const char *beat)
{
    return say("(while :; do echo x >>%s; sleep 0.1; done) & echo started; sleep 120", beat);
}

/* Neither file grows any more. */
static void check_no_beats(struct sandlot_session *session)
{
    struct outcome outcome = live_run(session, "sleep 0.3; wc -c <beat-limit; wc -c <beat-cancel; sleep 0.5; "
                                               "wc -c <beat-limit; wc -c <beat-cancel");
    long limit[2] = {-1, -2};
    long cancel[2] = {-1, -2};
    bool told = outcome.ran &&
                sscanf(outcome.result.output, "%ld %ld %ld %ld", &limit[0], &cancel[0], &limit[1], &cancel[1]) == 4;

    tap_check(told && limit[0] == limit[1], "a time limit: all processes are ended",
              "a file that the command's child appends to grows no more", outcome_shown(&outcome), end_advice);
    tap_check(told && cancel[0] == cancel[1], "cancelling: all processes are ended",
              "a file that the command's child appends to grows no more", outcome_shown(&outcome), end_advice);
    outcome_clear(&outcome);
}

static void check_time_limit(struct sandlot_session *session)
{
    struct sandlot_execution execution = {
        .size = sizeof(execution), .command = beating("beat-limit"), .timeout_ms = TIME_LIMIT_MS};
    struct outcome outcome = live_execute(session, &execution);
    const struct sandlot_result *result = &outcome.result;

    tap_check(outcome.ran && result->timed_out && result->has_exit_code && result->exit_code == 124, "a time limit",
              "timed_out and exit code 124", outcome_shown(&outcome),
              "Set result->timed_out when command->timeout_ms ends it.");
    tap_check(outcome.ms >= TIME_LIMIT_MS && outcome.ms < LATEST_END_MS, "the time limit is kept",
              say("an end after %d to %d ms", TIME_LIMIT_MS, LATEST_END_MS), say("%.0f ms", outcome.ms),
              "Count command->timeout_ms from the start of the command, and wait for nothing afterwards.");
    tap_check(outcome.ran && result->output_length >= 8 && memcmp(result->output, "started\n", 8) == 0,
              "what it printed before is kept", "started", outcome_shown(&outcome),
              "Write output before you look at the clock.");
    outcome_clear(&outcome);
}

static void check_busy_limit(struct sandlot_session *session)
{
    struct sandlot_execution execution = {.size = sizeof(execution),
                                          .command = "while :; do echo busy; done",
                                          .timeout_ms = TIME_LIMIT_MS,
                                          .output_limit = LARGE_INPUT};
    struct outcome outcome = live_execute(session, &execution);

    tap_check(outcome.ran && outcome.result.timed_out && outcome.ms < LATEST_BUSY_MS,
              "a time limit of one that prints all the time", say("timed out before %d ms", LATEST_BUSY_MS),
              outcome_shown(&outcome), "Look at the clock and at call->cancel_fd also while output comes.");
    outcome_clear(&outcome);
}

static void check_background(struct sandlot_session *session)
{
    struct outcome outcome = live_run(session, "sleep 20 & echo done");

    tap_check(outcome_is(&outcome, 0, "done\n", 5) && outcome.ms < 8000, "a background child does not hold the call",
              "done, long before the 20 s of the child", outcome_shown(&outcome),
              "Return when the command itself has ended, whoever still holds its output.");
    outcome_clear(&outcome);
}

static void check_cancelling(struct sandlot_session *session)
{
    struct sandlot_execution execution = {
        .size = sizeof(execution), .command = beating("beat-cancel"), .timeout_ms = COMMAND_MS};
    struct sandlot_error error = {0};
    struct sandlot_job *job = sandlot_submit_execute(session, &execution, &error);

    if (!tap_check(job, "a command as a job", "it starts", error_shown(&error), "Look at the message.")) {
        sandlot_error_clear(&error);
        return;
    }
    struct outcome outcome =
        live_run(session, "i=0; while [ ! -s beat-cancel ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done");
    double begin = milliseconds();

    outcome_clear(&outcome);
    sandlot_job_cancel(job);
    enum sandlot_job_state state = sandlot_job_wait(job, 30000, &error);
    double ms = milliseconds() - begin;

    tap_check(state == SANDLOT_JOB_FAILED && error.code == SANDLOT_CODE_CANCELLED && ms < LATEST_CANCEL_MS,
              "cancelling", say("the error cancelled within %d ms", LATEST_CANCEL_MS),
              say("%s after %.0f ms", error_shown(&error), ms),
              "Watch call->cancel_fd wherever you wait, and end the command when it becomes readable.");
    tap_figure("cancelling a command", ms, "ms");
    sandlot_job_free(job);
    sandlot_error_clear(&error);
}

/* ---- terminals --------------------------------------------------------------------------------------------------- */

static void check_terminal(const struct kit *kit, struct sandlot_session *session)
{
    struct arrival arrival = {.first = 0};
    struct sandlot_error error = {0};
    int keyboard[2];
    int exit_code = 0;

    if (!kit_has(kit, "terminal") || pipe2(keyboard, O_CLOEXEC) < 0)
        return;
    struct sandlot_terminal_request request = {.size = sizeof(request),
                                               .cancellation = stop_cancellation(),
                                               .command =
                                                   "read line; test -t 0 && test -t 1 && echo \"got $line\"; exit 7",
                                               .input_fd = keyboard[0],
                                               .resized_fd = -1,
                                               .output = on_output,
                                               .context = &arrival};
    bool typed = write(keyboard[1], "typed\r", 6) == 6;
    bool ran = typed && sandlot_run_terminal(session, &request, &exit_code, &error) == 0;

    tap_check(ran && exit_code == 7 && memmem(arrival.text, arrival.length, "got typed", 9), "a terminal",
              "got typed, exit code 7",
              ran ? say("%s, exit code %d", shown(arrival.text, arrival.length), exit_code) : error_shown(&error),
              "Run the command on a pseudo-terminal, and pass on what is typed.");
    sandlot_error_clear(&error);
    close(keyboard[0]);
    close(keyboard[1]);
}

/* ---- at the same time -------------------------------------------------------------------------------------------- */

struct parallel {
    struct sandlot_session *session;
    int number;
    bool right;
};

static void *run_one(void *argument)
{
    struct parallel *parallel = argument;
    char wanted[32];
    int length = snprintf(wanted, sizeof(wanted), "number %d\n", parallel->number);
    struct outcome outcome =
        live_run(parallel->session, say("sleep 0.2; echo number %d; exit %d", parallel->number, parallel->number));

    parallel->right = outcome_is(&outcome, parallel->number, wanted, (size_t)length);
    outcome_clear(&outcome);
    return NULL;
}

static void run_parallel(const char *name, struct sandlot_session **sessions, size_t count)
{
    struct parallel parallels[CALLS];
    pthread_t threads[CALLS];
    size_t right = 0;

    for (int i = 0; i < CALLS; i++) {
        parallels[i] = (struct parallel){.session = sessions[(size_t)i % count], .number = i + 1};
        if (pthread_create(&threads[i], NULL, run_one, &parallels[i]) != 0)
            threads[i] = 0;
    }
    for (int i = 0; i < CALLS; i++) {
        if (threads[i])
            pthread_join(threads[i], NULL);
        right += parallels[i].right;
    }
    tap_check(right == CALLS, name, say("%d of %d with their own output and exit code", CALLS, CALLS),
              say("%zu", right), "Keep nothing of a call in what calls share, or declare SANDLOT_SERIAL_SANDBOX.");
}

static void check_parallel(const struct live *live, struct sandlot_session *session)
{
    struct sandlot_session *sessions[3] = {session, live_create(live, NULL), live_create(live, NULL)};

    run_parallel("calls at once in one sandbox", sessions, 1);
    if (tap_check(sessions[1] && sessions[2], "three sandboxes", "they are made", "one was not", "Look at quotas."))
        run_parallel("calls at once in three sandboxes", sessions, 3);
    for (int i = 1; i < 3; i++)
        if (sessions[i])
            live_close(sessions[i], true, NULL);
}

/* ---- what does not belong there ---------------------------------------------------------------------------------- */

/* Environment, the first process, and small files where commands start and live. */
static const char look_around[] =
    "env; export -p; { tr '\\000' '\\n' </proc/1/environ; tr '\\000' '\\n' </proc/1/cmdline; } 2>/dev/null; "
    "for d in . \"${HOME:-.}\"; do find \"$d\" -xdev -maxdepth 3 -type f -size -129 2>/dev/null | head -n 500; done | "
    "while IFS= read -r f; do cat \"$f\" 2>/dev/null; done | head -c 16000000";

static bool sounds_secret(const char *name, size_t length)
{
    static const char *const endings[] = {"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"};

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t size = strlen(endings[i]);

        if (length >= size && memcmp(name + length - size, endings[i], size) == 0)
            return true;
    }
    return false;
}

/* The name of a declared variable whose value is in the BYTES, in BUFFER; NULL: none is. Short values would be
 * anywhere.
 */
static const char *credential_in(const struct kit *kit, const char *bytes, size_t length, char *buffer, size_t size)
{
    const char *words = note_value(kit->provider, "environment");
    const char *value;

    for (size_t i = 0; kit_credential(kit, i, buffer, size, &value); i++)
        if (value && strlen(value) >= 6 && memmem(bytes, length, value, strlen(value)))
            return buffer;
    for (const char *word = words ? words : ""; *(word += strspn(word, " ")); word += strcspn(word, " ")) {
        size_t name = strcspn(word, " ");

        snprintf(buffer, size, "%.*s", (int)name, word);
        value = sounds_secret(word, name) ? getenv(buffer) : NULL;
        if (value && strlen(value) >= 6 && memmem(bytes, length, value, strlen(value)))
            return buffer;
    }
    return NULL;
}

static void check_no_credentials(const struct kit *kit, struct sandlot_session *session)
{
    struct outcome outcome = live_run(session, look_around);
    char buffer[128];
    const char *found =
        outcome.ran ? credential_in(kit, outcome.result.output, outcome.result.output_length, buffer, sizeof(buffer))
                    : NULL;

    tap_check(outcome.ran && !found, "no credential is in the sandbox",
              "environment, first process and files of a new sandbox do not hold the value of one",
              found ? say("the value of %s is there", found) : outcome_shown(&outcome),
              "Give commands only the environment that the request names; whoever runs code there would have the key.");
    outcome_clear(&outcome);
}

void group_execute(const struct kit *kit)
{
    struct live live;

    if (!live_begin(&live, kit, false))
        return;
    struct sandlot_session *session = live_sandbox(&live);

    if (session && !sandlot_session_can_execute(session)) {
        tap_skip("commands", "the provider serves files only");
    } else if (session) {
        check_no_credentials(kit, session);
        check_exit_codes(session);
        check_output(session);
        check_streaming(kit, session);
        check_environment(session);
        check_environment_added(session);
        check_working_dir(session);
        check_odd_working_dir(session);
        check_text(session);
        check_input(session);
        check_time_limit(session);
        check_busy_limit(session);
        check_background(session);
        check_cancelling(session);
        check_no_beats(session);
        check_terminal(kit, session);
        check_parallel(&live, session);
    }
    if (session)
        live_close(session, true, NULL);
    live_end(&live);
}
