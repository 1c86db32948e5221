#include "terminal.h"

#include "program.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>

#include <string.h>

enum { TIMED_OUT = 124, RESIZE_MS = 10 * 1000 };

/* $1 the folder, $2 the command, "" for a shell to work with. */
static const char shell_script[] =
    "cd -- \"$1\" 2>/dev/null || cd /\n"
    "if s=$(command -v bash) && [ -x \"$s\" ]; then :; else s=$(command -v sh) && [ -x \"$s\" ] || s=sh; fi\n"
    "if [ \"$2\" ]; then exec \"$s\" -c \"$2\"; else exec \"$s\"; fi\n";

struct session {
    struct program program;
    const struct sandlot_terminal *terminal;
    int64_t end_ms; /* of its time; 0: never */
};

/* The engine knows of a window only while the program runs; that it has just ended is no error. */
static enum sandlot_status resize(void *context)
{
    struct session *session = context;
    uint16_t rows = 24;
    uint16_t columns = 80;
    char size[2][8];
    static const int any[] = {404, 409, 500, 0};
    struct attempt attempt;

    session->terminal->window(session->terminal, &rows, &columns);
    snprintf(size[0], sizeof(size[0]), "%u", rows);
    snprintf(size[1], sizeof(size[1]), "%u", columns);
    attempt_begin(&attempt, session->program.call, RESIZE_MS);
    const struct engine_order order = {
        .method = "POST",
        .target = http_target("/exec/{}/resize?h={}&w={}", session->program.exec, size[0], size[1]),
        .accepted = any};

    engine_order(&attempt.call, session->program.sandbox->docker, &order, NULL, NULL, NULL);
    return SANDLOT_OK;
}

static enum sandlot_status make(struct session *session)
{
    const struct sandlot_command *command = session->program.command;
    const char *folder = command->working_dir ? command->working_dir : session->program.sandbox->working_dir;
    const char *const words[] = {"sh", "-c", shell_script, "sh", folder, command->command ? command->command : ""};

    random_digits(session->program.mark, PROGRAM_MARK);
    return program_make(&session->program, words, sizeof(words) / sizeof(*words));
}

static enum sandlot_status conclude(struct session *session, enum sandlot_status status, struct sandlot_exit *result)
{
    struct sandlot_call *call = session->program.call;
    bool running = true;
    bool late = status == SANDLOT_TIMEOUT && session->end_ms > 0 && sandlot_now_ms() >= session->end_ms &&
                !sandlot_cancelled(call);

    if (status == SANDLOT_OK)
        status = program_code(&session->program, &running, &result->exit_code);
    if (late) {
        result->timed_out = true;
        result->exit_code = TIMED_OUT;
        return program_end_gently(&session->program);
    }
    if (status == SANDLOT_OK && running)
        return program_end_cut(&session->program);
    if (status != SANDLOT_OK)
        program_end(&session->program);
    return status;
}

static enum sandlot_status run_session(struct session *session, struct sandlot_exit *result)
{
    const struct sandlot_command *command = session->program.command;
    const struct http_upgrade_traffic traffic = {.input = command->input,
                                                 .output = session->terminal->output,
                                                 .wake_fd = session->terminal->resized_fd,
                                                 .wake = resize,
                                                 .context = session,
                                                 .end_ms = &session->end_ms};
    enum sandlot_status status = make(session);

    if (status == SANDLOT_OK)
        status = program_start(&session->program);
    if (status != SANDLOT_OK)
        return status;
    resize(session);
    session->end_ms = command->timeout_ms > 0 ? sandlot_now_ms() + command->timeout_ms : 0;
    status = http_upgrade_carry(session->program.call, session->program.stream, &traffic);
    return conclude(session, status, result);
}

enum sandlot_status terminal_run(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_terminal *terminal, struct sandlot_exit *result)
{
    struct session session = {.program = {.call = call,
                                          .sandbox = sandbox,
                                          .command = terminal->command,
                                          .terminal = true,
                                          .term = terminal->term},
                              .terminal = terminal};
    enum sandlot_status status = engine_meet(call, provider);

    if (status == SANDLOT_OK)
        status = run_session(&session, result);
    program_clear(&session.program);
    return status;
}
