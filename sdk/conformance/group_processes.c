/* Background processes, which the host makes of the provider's commands: what they need of those is checked here. */
#include "cleanup.h"
#include "live.h"
#include "stop.h"
#include "tap.h"

#include <string.h>

enum { LOG_SIZE = 256, ENOUGH_MS = 60000, LIMIT_MS = 1000 };

/* The log of a process, and how it stood after the last byte. To be cleared. */
struct log {
    char bytes[LOG_SIZE];
    size_t length;
    struct sandlot_process process;
    struct sandlot_error error;
    bool followed;
};

static bool keep(void *context, uint64_t offset, const void *bytes, size_t length)
{
    struct log *log = context;
    size_t room = sizeof(log->bytes) - log->length;

    (void)offset;
    memcpy(log->bytes + log->length, bytes, length < room ? length : room);
    log->length += length < room ? length : room;
    return length <= room;
}

/* Follows process ID to its end. */
static struct log follow(struct sandlot_session *session, const char *id)
{
    struct log log = {.process = {.size = sizeof(log.process)}};
    struct sandlot_follow request = {.size = sizeof(request),
                                     .id = id,
                                     .wait_ms = ENOUGH_MS,
                                     .output = keep,
                                     .context = &log,
                                     .cancellation = stop_cancellation()};

    log.followed = sandlot_follow_process(session, &request, NULL, &log.process, &log.error) == 0;
    return log;
}

static void log_clear(struct log *log)
{
    sandlot_process_clear(&log->process);
    sandlot_error_clear(&log->error);
}

static const char *log_shown(const struct log *log)
{
    static const char *const states[] = {"running", "exited", "lost"};

    if (!log->followed)
        return error_shown(&log->error);
    return say("%s with %d%s, output '%s'", states[log->process.state],
               log->process.has_exit_code ? log->process.exit_code : -1,
               log->process.timed_out ? " after its time limit" : "", shown(log->bytes, log->length));
}

static bool log_is(const struct log *log, int exit_code, const char *output, size_t length)
{
    return log->followed && log->process.state == SANDLOT_PROCESS_EXITED && log->process.has_exit_code &&
           log->process.exit_code == exit_code && log->length == length && memcmp(log->bytes, output, length) == 0;
}

/* Starts COMMAND; a start that fails is the result NAME. */
static bool start(struct sandlot_session *session, const char *name, const struct sandlot_start *wanted,
                  char id[SANDLOT_PROCESS_ID_SIZE])
{
    struct sandlot_start request = *wanted;
    struct sandlot_error error = {0};

    request.size = sizeof(request);
    request.cancellation = stop_cancellation();
    bool started = sandlot_start_process(session, &request, id, &error) == 0;

    if (!started)
        tap_check(false, name, "it starts", error_shown(&error),
                  "Let a command's children live on after it; the host starts them with no terminal and no output.");
    sandlot_error_clear(&error);
    return started;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Runs COMMAND to its end. */
static void check_run(struct sandlot_session *session, const char *name, const struct sandlot_start *wanted,
                      int exit_code, const char *output, size_t length, const char *advice)
{
    char id[SANDLOT_PROCESS_ID_SIZE];

    if (!start(session, name, wanted, id))
        return;
    struct log log = follow(session, id);

    tap_check(log_is(&log, exit_code, output, length), name,
              say("it has exited with %d, output '%s'", exit_code, shown(output, length)), log_shown(&log), advice);
    log_clear(&log);
}

static void check_limit(struct sandlot_session *session)
{
    static const char name[] = "a time limit ends one";
    char id[SANDLOT_PROCESS_ID_SIZE];

    if (!start(session, name, &(struct sandlot_start){.command = "sleep 1000", .timeout_ms = LIMIT_MS}, id))
        return;
    struct log log = follow(session, id);

    tap_check(log_is(&log, 124, "", 0) && log.process.timed_out, name, "it has exited with 124 after its time limit",
              log_shown(&log), "See that sleep and kill work in the sandbox, and that its clock goes.");
    log_clear(&log);
}

static void check_input(struct sandlot_session *session)
{
    static const char name[] = "one is fed";
    static const char text[] = "from outside\n";
    struct sandlot_error error = {0};
    char id[SANDLOT_PROCESS_ID_SIZE];

    if (!start(session, name, &(struct sandlot_start){.command = "cat", .has_input = true}, id))
        return;
    int written = sandlot_write_process(session, id, text, strlen(text), true, NULL, stop_cancellation(), &error);
    struct log log = written == 0 ? follow(session, id) : (struct log){.error = error};

    tap_check(log_is(&log, 0, text, strlen(text)), name, "what is sent comes back, and it ends with its input",
              log_shown(&log), "See that mkfifo works where the sandbox keeps temporary files.");
    log_clear(&log);
}

/* Looks for a process that runs. */
struct search {
    const char *id;
    bool runs;
};

static bool look(void *context, const struct sandlot_process *process)
{
    struct search *search = context;

    search->runs |= strcmp(process->id, search->id) == 0 && process->state == SANDLOT_PROCESS_RUNNING;
    return true;
}

/* The session that has started it says goodbye, as a client does that ends. */
static void check_outlives(const struct live *live, const char *sandbox, const char *id)
{
    struct sandlot_error error = {0};
    struct search search = {.id = id};
    struct sandlot_session *session = live_attach(live, sandbox, &error);
    const struct sandlot_signal signal = {
        .size = sizeof(signal), .id = id, .name = "KILL", .cancellation = stop_cancellation()};

    if (session)
        sandlot_list_processes(session, stop_cancellation(), look, &search, &error);
    tap_check(search.runs, "one runs on while nobody is attached", "the next who attaches finds it running",
              error.code ? error_shown(&error) : "it does not run", "Let nothing of a sandbox end with a handle.");
    if (search.runs) {
        sandlot_signal_process(session, &signal, &error);
        struct log log = follow(session, id);

        tap_check(log_is(&log, 137, "", 0), "one is ended from outside", "it has exited with 137", log_shown(&log),
                  "See that kill works in the sandbox, and that commands run as the same user every time.");
        log_clear(&log);
    }
    if (session)
        live_close(session, false, NULL);
    sandlot_error_clear(&error);
}

static void check_all(struct sandlot_session *session)
{
    static const char output[] = "one\n\0\xff\r\ntwo";
    const char *const environment[] = {"KIT=a b", NULL};

    check_run(session, "its output and its end",
              &(struct sandlot_start){.command = "printf 'one\\n\\000\\377\\r\\ntwo'; exit 3"}, 3, output,
              sizeof(output) - 1, "Pass on every byte of a command's output, and its exit code.");
    check_run(session, "its environment",
              &(struct sandlot_start){.command = "printf %s \"$KIT\"", .environment = environment}, 0, "a b", 3,
              "Give commands the environment that the request names.");
    check_limit(session);
    check_input(session);
}

/* In a sandbox of its own, which is left and found again. */
static void leave_one(const struct live *live)
{
    static const char name[] = "one runs on while nobody is attached";
    struct sandlot_session_options options = live_options(live);
    struct sandlot_error error = {0};
    char id[SANDLOT_PROCESS_ID_SIZE];

    options.keep = true;
    struct sandlot_session *session = live_open(live, &options, &error);

    if (!session) {
        tap_check(false, name, "a sandbox is made", error_shown(&error), "Look at the message.");
        sandlot_error_clear(&error);
        return;
    }
    AUTO_FREE char *sandbox = strdup(sandlot_session_id(session));
    bool runs = start(session, name, &(struct sandlot_start){.command = "exec sleep 1000"}, id);

    sandlot_session_detach(session, NULL);
    live_close(session, false, NULL);
    if (runs && sandbox)
        check_outlives(live, sandbox, id);
    if (sandbox)
        live_delete(live, sandbox, NULL);
}

/* A supervisor knows its processes by what /proc says of them. */
static bool has_processes(struct sandlot_session *session)
{
    struct outcome outcome = live_run(session, "{ read -r line </proc/self/stat; } 2>/dev/null");
    bool has = outcome.ran && outcome.result.exit_code == 0;

    outcome_clear(&outcome);
    return has;
}

void group_processes(const struct kit *kit)
{
    struct live live;
    const char *by_id = note_value(kit->provider, "sandbox_id");

    if (!live_begin(&live, kit, false))
        return;
    struct sandlot_session *session = live_sandbox(&live);
    bool executes = session && sandlot_session_can_execute(session);
    bool can = executes && has_processes(session);

    if (session && !can)
        tap_skip("background processes",
                 executes ? "commands may not read /proc in the sandbox" : "the provider serves files only");
    if (can)
        check_all(session);
    if (session)
        live_close(session, true, NULL);
    if (can && (!by_id || strcmp(by_id, "no") != 0))
        leave_one(&live);
    live_end(&live);
}
