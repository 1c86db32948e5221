/*
 * A terminal is process.Process/Start with a `pty`: a stream of what it shows. Keys and sizes are requests of their
 * own, so a second thread sends them.
 *
 * A line that breaks leaves the terminal alone: process.Process/Connect goes on with it, without what was shown
 * meanwhile. Nothing but a signal ends it, and that reaches one process; a script ends all of its session.
 */
#include "terminal.h"

#include "command.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/connect.h>
#include <sandlot/sdk/pause.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

enum {
    KEYS = 4096,
    TELL_MS = 20 * 1000,
    SHORTEST_LOOK_MS = 250,
    LONGEST_LOOK_MS = 20 * 1000,
    MOST_BREAKS = 5, /* of the line, one after the other */
    PAUSE_MS = 500,
    LONGEST_MESSAGE = 4 << 20,
    TIMED_OUT_CODE = 124
};

struct terminal {
    struct sandlot_call *call;
    struct sandbox *sandbox;
    const struct sandlot_terminal *request;
    struct attempt typing; /* of the thread; it ends when over_fd is readable */
    pthread_t thread;
    int over_fd;
    int64_t pid; /* of the first process, which leads the session; 0: not known yet */
    bool types;  /* there is the thread */
    bool ended;
    int exit_code;
    int breaks;
};

/* Its shell is the user's; a command is for bash, where there is one. */
static const char starting[] = "b=$(command -v bash) || b=sh; exec \"$b\" \"$@\"";

/* In /proc/PID/stat the session stands fourth behind the name, which may hold anything. */
static const char *const killing = "each() {\n"
                                   "for f in /proc/[0-9]*/stat; do\n"
                                   "{ read -r s <\"$f\"; } 2>/dev/null || continue\n"
                                   "p=${f#/proc/}\n"
                                   "set -- $1 ${s##*) }\n"
                                   "[ \"$5\" != \"$l\" ] || kill \"-$1\" \"${p%/stat}\"\n"
                                   "done\n"
                                   "}\n";

/* ---- keys and sizes ---------------------------------------------------------------------------------------------- */

/* Tells the daemon of something, which consumes BODY. What it does not take is lost, as on any line. */
static void tell(struct terminal *terminal, const char *operation, struct json_builder *body)
{
    size_t length = 0;
    AUTO_WAY struct sandbox_way way = {0};
    AUTO_FREE char *message = json_finish(body, &length);
    struct connect_answer answer = {0};
    struct attempt attempt;

    attempt_begin(&attempt, &terminal->typing.call, 0);
    sandbox_find_way(&attempt.call, terminal->sandbox, operation, false, &way);
    const struct connect_request request = {
        .target = way.target, .message = message, .length = length, .headers = way.headers, .timeout_ms = TELL_MS};

    if (!message || !way.target ||
        connect_send(&attempt.call, terminal->sandbox->e2b->daemons, &request, &answer) != SANDLOT_OK)
        terminal->call->host->log(terminal->call, SANDLOT_LOG_INFO,
                                  *attempt.reason ? attempt.reason : "what was typed could not be sent");
    connect_answer_clear(&answer);
}

static void set_size(const struct terminal *terminal, struct json_builder *body)
{
    const struct sandlot_terminal *request = terminal->request;
    uint16_t rows = 0;
    uint16_t columns = 0;

    if (request->window)
        request->window(request, &rows, &columns);
    json_set_integer(body, "pty.size.rows", rows > 0 && columns > 0 ? rows : 24);
    json_set_integer(body, "pty.size.cols", rows > 0 && columns > 0 ? columns : 80);
}

static void tell_size(struct terminal *terminal)
{
    struct json_builder body = {0};

    json_set_integer(&body, "process.pid", terminal->pid);
    set_size(terminal, &body);
    tell(terminal, "/process.Process/Update", &body);
}

/* As when the window of a terminal is closed: all may tidy up, and then are ended. */
static void hang_up(struct terminal *terminal)
{
    AUTO_FREE char *script = NULL;
    char nothing[1];

    if (asprintf(&script, "l=%jd\n%seach HUP\nsleep 2\neach KILL\n", (intmax_t)terminal->pid, killing) >= 0)
        command_run_with(&terminal->typing.call, terminal->sandbox, script, NULL, nothing, sizeof(nothing));
}

/* False: nobody types any more. */
static bool pass_keys(struct terminal *terminal)
{
    const struct sandlot_source *input = terminal->request->command->input;
    struct json_builder body = {0};
    char keys[KEYS];
    char text[KEYS / 3 * 4 + 8];
    size_t length = 0;

    if (!input || input->read(input, keys, sizeof(keys), &length) != SANDLOT_OK || length == 0)
        return false;
    json_set_integer(&body, "process.pid", terminal->pid);
    json_set_bytes(&body, "input.pty", text, base64_write(text, keys, length));
    tell(terminal, "/process.Process/SendInput", &body);
    return true;
}

/* An open terminal is a use of the sandbox, which is to live on: so it is looked at twice in the time in which that
 * must be seen to. */
static int look_ms(const struct terminal *terminal)
{
    int64_t half_ms = sandbox_lasts_ms(terminal->sandbox) / 2;

    return half_ms < SHORTEST_LOOK_MS ? SHORTEST_LOOK_MS : half_ms > LONGEST_LOOK_MS ? LONGEST_LOOK_MS : (int)half_ms;
}

static void *attend(void *argument)
{
    struct terminal *terminal = argument;
    const struct sandlot_source *input = terminal->request->command->input;
    struct pollfd fds[] = {{terminal->over_fd, POLLIN, 0},
                           {input ? input->poll_fd : -1, POLLIN, 0},
                           {terminal->request->resized_fd, POLLIN, 0}};

    for (;;) {
        int ready = poll(fds, 3, look_ms(terminal));

        if (ready == 0)
            sandbox_live_on(&terminal->typing.call, terminal->sandbox);
        if (ready <= 0)
            continue;
        if (fds[0].revents)
            return NULL;
        if (fds[2].revents & POLLIN)
            tell_size(terminal);
        else if (fds[2].revents)
            fds[2].fd = -1;
        if (fds[1].revents && !pass_keys(terminal)) {
            fds[1].fd = -1;
            hang_up(terminal);
        }
    }
}

static enum sandlot_status start_typing(struct terminal *terminal)
{
    attempt_begin(&terminal->typing, terminal->call, 0);
    terminal->typing.call.cancel_fd = terminal->over_fd;
    terminal->types = pthread_create(&terminal->thread, NULL, attend, terminal) == 0;
    return terminal->types ? SANDLOT_OK
                           : sandlot_fail(terminal->call, SANDLOT_EXHAUSTED,
                                          "there can be no thread for the terminal's keys; end other programs");
}

static void end_typing(struct terminal *terminal)
{
    static const uint64_t once = 1;

    if (!terminal->types)
        return;
    while (write(terminal->over_fd, &once, sizeof(once)) < 0 && errno == EINTR)
        continue;
    pthread_join(terminal->thread, NULL);
}

/* ---- what is shown ----------------------------------------------------------------------------------------------- */

/* What a shell would say of a process that was ended by a signal, which has only Go's name here. */
static int code_of_signal(const char *status)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"signal: hangup", 1},       {"signal: interrupt", 2},  {"signal: quit", 3},
                   {"signal: aborted", 6},      {"signal: killed", 9},     {"signal: segmentation fault", 11},
                   {"signal: alarm clock", 14}, {"signal: terminated", 15}};

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (strncmp(status, signals[i].name, strlen(signals[i].name)) == 0) /* " (core dumped)" may follow */
            return 128 + signals[i].number;
    return SANDLOT_EXIT_UNKNOWN;
}

static void take_end(struct terminal *terminal, struct json_object *end)
{
    const char *status = "";
    bool exited = false;
    int64_t code = 0;

    json_find_integer(end, "exitCode", &code, NULL);
    json_find_boolean(end, "exited", &exited, NULL);
    json_find_string(end, "status", &status, NULL);
    terminal->ended = true;
    terminal->exit_code = exited || code >= 0 ? (int)(code & 0xff) : code_of_signal(status);
}

static enum sandlot_status take_event(void *context, struct json_object *message)
{
    struct terminal *terminal = context;
    struct json_object *event = json_object_object_get(message, "event");
    struct json_object *end = json_object_object_get(event, "end");
    struct json_object *data = json_object_object_get(event, "data");

    terminal->breaks = 0;
    if (json_object_is_type(end, json_type_object))
        take_end(terminal, end);
    if (json_object_is_type(data, json_type_object))
        return command_take_bytes(terminal->request->output, json_object_object_get(data, "pty"));
    if (terminal->pid == 0)
        json_find_integer(message, "event.start.pid", &terminal->pid, NULL);
    return terminal->pid == 0 || terminal->types ? SANDLOT_OK : start_typing(terminal);
}

/* ---- the terminal ------------------------------------------------------------------------------------------------ */

static void set_variables(const struct sandlot_terminal *request, struct json_builder *body)
{
    json_set_member(body, "process.envs", "TERM", request->term ? request->term : "xterm");
    for (const char *const *variable = request->command->environment; variable && *variable; variable++) {
        AUTO_FREE char *name = strndup(*variable, strcspn(*variable, "="));

        if (!name)
            body->failed = true;
        else if ((*variable)[strlen(name)] == '=')
            json_set_member(body, "process.envs", name, *variable + strlen(name) + 1);
    }
}

static char *make_message(const struct terminal *terminal, size_t *length)
{
    const struct sandlot_command *command = terminal->request->command;
    struct json_builder body = {0};

    if (terminal->pid > 0) {
        json_set_integer(&body, "process.pid", terminal->pid);
        return json_finish(&body, length);
    }
    json_set_string(&body, "process.cmd", "/bin/sh");
    json_set_string(&body, "process.args[]", "-c");
    json_set_string(&body, "process.args[]", starting);
    json_set_string(&body, "process.args[]", "sh");
    json_set_string(&body, "process.args[]", command->command ? "-c" : "-i");
    json_set_string(&body, "process.args[]", command->command ? command->command : "-l");
    json_set_string(&body, "process.cwd", command->working_dir ? command->working_dir : WORKING_DIR);
    set_variables(terminal->request, &body);
    set_size(terminal, &body);
    return json_finish(&body, length);
}

/* Starts it, or goes on with it. */
static enum sandlot_status look_on(struct sandlot_call *call, struct terminal *terminal, struct connect_answer *answer)
{
    size_t length = 0;
    AUTO_FREE char *message = make_message(terminal, &length);
    AUTO_WAY struct sandbox_way way = {0};
    const char *operation = terminal->pid > 0 ? "/process.Process/Connect" : "/process.Process/Start";

    sandbox_find_way(call, terminal->sandbox, operation, false, &way);
    command_ask_for_life(&way);
    if (!message || !way.target)
        return http_no_memory(call);
    const struct connect_request request = {.target = way.target,
                                            .message = message,
                                            .length = length,
                                            .headers = way.headers,
                                            .limit = LONGEST_MESSAGE,
                                            .silence_ms = COMMAND_SILENCE_MS,
                                            .on_message = take_event,
                                            .context = terminal,
                                            .enough = &terminal->ended};

    return connect_send(call, terminal->sandbox->e2b->daemons, &request, answer);
}

static enum sandlot_status explain(struct terminal *terminal, const struct attempt *attempt,
                                   const struct connect_answer *answer, enum sandlot_status status)
{
    const char *directory = terminal->request->command->working_dir;

    if (answer->code == GRPC_INVALID_ARGUMENT && directory && strstr(answer->text, "cwd"))
        return sandlot_fail(terminal->call, SANDLOT_INVALID_ARGUMENT,
                            "the working directory %.500s is not found in the sandbox; create it first or name "
                            "another one",
                            directory);
    return attempt_fail(attempt, status);
}

/* One stream. True: another one is worth a try. */
static bool look_once(struct terminal *terminal, int64_t limit_ms, enum sandlot_status *status)
{
    struct connect_answer answer = {0};
    struct attempt attempt;

    attempt_begin(&attempt, terminal->call, limit_ms);
    *status = look_on(&attempt.call, terminal, &answer);
    bool asleep = *status != SANDLOT_OK && sandbox_may_sleep(answer.status);
    bool again = !terminal->ended && terminal->breaks++ < MOST_BREAKS &&
                 (asleep || (*status == SANDLOT_UNAVAILABLE && terminal->pid > 0));

    if (terminal->pid > 0 && answer.code == GRPC_NOT_FOUND && answer.status > 0) {
        terminal->ended = true; /* while nobody looked on */
        terminal->exit_code = SANDLOT_EXIT_UNKNOWN;
        *status = SANDLOT_OK;
    } else if (!again && *status != SANDLOT_OK) {
        *status = explain(terminal, &attempt, &answer, *status);
    }
    connect_answer_clear(&answer);
    if (again && asleep)
        *status = sandbox_wake(terminal->call, terminal->sandbox);
    if (again && terminal->breaks > 1)
        pause_for(terminal->call, PAUSE_MS); /* should the call be over then, the next one says so */
    return again && (!asleep || *status == SANDLOT_OK);
}

/* Until it has ended; or, with a status or timed out, has to. */
static enum sandlot_status look_until_over(struct terminal *terminal, bool *timed_out)
{
    int64_t limit_ms = terminal->request->command->timeout_ms;
    int64_t end_ms = limit_ms > 0 ? sandlot_now_ms() + limit_ms : INT64_MAX;
    enum sandlot_status status;

    do {
        *timed_out = sandlot_now_ms() >= end_ms;
        if (*timed_out)
            return SANDLOT_OK;
    } while (look_once(terminal, limit_ms > 0 ? end_ms - sandlot_now_ms() : 0, &status));
    *timed_out = !terminal->ended && sandlot_now_ms() >= end_ms;
    return terminal->ended || *timed_out ? SANDLOT_OK : status;
}

static void kill_all(const struct terminal *terminal)
{
    AUTO_FREE char *script = NULL;

    if (terminal->pid > 0 && asprintf(&script, "l=%jd\n%seach KILL\n", (intmax_t)terminal->pid, killing) >= 0)
        command_clean_up(terminal->call, terminal->sandbox, script);
}

enum sandlot_status terminal_run(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_terminal *request, struct sandlot_exit *result)
{
    AUTO_CLOSE int over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct terminal terminal = {.call = call, .sandbox = sandbox, .request = request, .over_fd = over_fd};

    (void)provider;
    if (over_fd < 0)
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "there is no descriptor for the terminal: %s; close others",
                            strerror(errno));
    enum sandlot_status status = look_until_over(&terminal, &result->timed_out);

    end_typing(&terminal);
    if (!terminal.ended)
        kill_all(&terminal);
    result->exit_code = result->timed_out ? TIMED_OUT_CODE : terminal.exit_code;
    if (terminal.ended && terminal.exit_code == SANDLOT_EXIT_UNKNOWN)
        result->note = "how the terminal's command ended is not known";
    return status;
}
