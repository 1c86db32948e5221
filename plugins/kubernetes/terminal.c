/*
 * A terminal of pods/exec. The program's folder and variables would stand in the address, and so in the cluster's audit
 * log: instead they are typed, unseen, to a shell that has turned the echo off and said so.
 */
#include "terminal.h"

#include "command.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/quoting.h>
#include <sandlot/sdk/random.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { NO_FOLDER = 123, MARK_DIGITS = 24, TYPED = 4096, READY_MS = 30 * 1000 };

/* A terminal under way. */
struct terminal {
    struct sandbox *sandbox;
    const struct sandlot_terminal *request;
    struct exec exec;
    struct sandlot_sink sink; /* takes what comes */
    char mark[MARK_DIGITS + 1];
    size_t marked; /* bytes of the mark that have come; once whole, the rest is the program's */
    int events;    /* epoll over the keyboard and the window */
    bool input_ended;
};

/* ---- what is typed first ----------------------------------------------------------------------------------------- */

static bool print_variables(FILE *stream, char *const *variables)
{
    for (; *variables; variables++) {
        size_t name = strcspn(*variables, "=");
        AUTO_FREE char *value = shell_word((*variables)[name] ? *variables + name + 1 : "");

        if (!value)
            return false;
        fprintf(stream, "export %.*s=%s\n", (int)name, *variables, value);
    }
    return true;
}

/* The commands that start the program, to be freed. */
static char *make_script(const struct terminal *terminal, char *const *variables)
{
    const struct sandlot_command *command = terminal->request->command;
    const char *folder =
        command->working_dir ? command->working_dir : terminal->sandbox->kubernetes->access.parameters.working_dir;
    AUTO_FREE char *place = shell_word(folder);
    AUTO_FREE char *term = shell_word(terminal->request->term ? terminal->request->term : "xterm");
    AUTO_FREE char *line = command->command ? shell_word(command->command) : NULL;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);

    if (!stream)
        return NULL;
    bool made = place && term && (line || !command->command);

    if (made) {
        fprintf(stream, "cd -- %s || exit %d\nexport TERM=%s SANDLOT_JOB=%s\n", place, NO_FOLDER, term, terminal->mark);
        made = print_variables(stream, variables);
        fprintf(stream, "s=$(command -v bash || command -v sh)\nstty sane\nexec \"$s\"");
        if (line)
            fprintf(stream, " -c %s", line);
        fputc('\n', stream);
    }
    if (fclose(stream) == 0 && made)
        return text;
    free(text);
    return NULL;
}

/* ---- what comes -------------------------------------------------------------------------------------------------- */

/* The mark comes first; after it all is the program's. */
static enum sandlot_status take_output(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct terminal *terminal = sink->context;
    const char *at = bytes;
    const char *end = at + length;

    while (at < end && terminal->marked < MARK_DIGITS) {
        terminal->marked = *at == terminal->mark[terminal->marked] ? terminal->marked + 1 : (*at == terminal->mark[0]);
        at++;
    }
    return at == end ? SANDLOT_OK : terminal->request->output->write(terminal->request->output, at, (size_t)(end - at));
}

/* ---- what is sent ------------------------------------------------------------------------------------------------ */

static enum sandlot_status send_size(struct sandlot_call *call, struct terminal *terminal)
{
    uint16_t rows = 0;
    uint16_t columns = 0;
    char text[64];

    if (terminal->request->window)
        terminal->request->window(terminal->request, &rows, &columns);
    if (rows == 0 || columns == 0)
        return SANDLOT_OK;
    int length = snprintf(text, sizeof(text), "{\"Width\":%u,\"Height\":%u}", columns, rows);

    return exec_send(call, &terminal->exec, EXEC_RESIZE, text, (size_t)length);
}

/* The keyboard has gone: as when the window of a terminal is closed. */
static enum sandlot_status end_input(struct sandlot_call *call, struct terminal *terminal)
{
    static const char end_of_transmission = 4;

    terminal->input_ended = true;
    if (terminal->request->command->input->poll_fd >= 0)
        epoll_ctl(terminal->events, EPOLL_CTL_DEL, terminal->request->command->input->poll_fd, NULL);
    return exec_send(call, &terminal->exec, EXEC_INPUT, &end_of_transmission, 1);
}

static enum sandlot_status send_typed(struct sandlot_call *call, struct terminal *terminal)
{
    const struct sandlot_source *input = terminal->request->command->input;
    char bytes[TYPED];
    size_t length = 0;
    enum sandlot_status status = input->read(input, bytes, sizeof(bytes), &length);

    if (status != SANDLOT_OK)
        return status;
    return length > 0 ? exec_send(call, &terminal->exec, EXEC_INPUT, bytes, length) : end_input(call, terminal);
}

/* Looks at keyboard and window without waiting. */
static enum sandlot_status send_news(struct sandlot_call *call, struct terminal *terminal)
{
    struct epoll_event ready[2];
    int count = epoll_wait(terminal->events, ready, 2, 0);
    enum sandlot_status status = SANDLOT_OK;

    for (int i = 0; i < count && status == SANDLOT_OK; i++)
        status =
            ready[i].data.fd == terminal->request->resized_fd ? send_size(call, terminal) : send_typed(call, terminal);
    return status;
}

static void listen_to(const struct terminal *terminal, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    if (fd >= 0)
        epoll_ctl(terminal->events, EPOLL_CTL_ADD, fd, &event);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Until the shell has said that nobody sees what is typed. */
static enum sandlot_status await_mark(struct sandlot_call *call, struct terminal *terminal)
{
    bool over = false;
    enum sandlot_status status = SANDLOT_OK;

    while (status == SANDLOT_OK && terminal->marked < MARK_DIGITS) {
        status = exec_take(call, &terminal->exec, -1, &terminal->sink, &over);
        if (status == SANDLOT_OK && over)
            return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                                "the container has no stty, or no sh; use an image with both: %s",
                                terminal->exec.status.why);
    }
    return status;
}

static enum sandlot_status converse(struct sandlot_call *call, struct terminal *terminal)
{
    bool over = false;
    enum sandlot_status status = send_size(call, terminal);

    if (terminal->request->command->input)
        listen_to(terminal, terminal->request->command->input->poll_fd);
    listen_to(terminal, terminal->request->resized_fd);
    while (status == SANDLOT_OK && !over) {
        status = sandbox_take(call, terminal->sandbox, &terminal->exec, terminal->events, &terminal->sink, &over);
        if (status == SANDLOT_OK && !over)
            status = send_news(call, terminal);
    }
    return status;
}

static enum sandlot_status start(struct sandlot_call *call, struct terminal *terminal, const char *script)
{
    char line[256];
    const char *const words[] = {"sh", "-c", line, "sandlot-terminal", NULL};

    /* The mark in two halves: an echo of the line is not it. */
    snprintf(line, sizeof(line), "stty -echo -icanon min 1 && printf %%s%%s %.12s %s; eval \"$(head -c %zu)\"",
             terminal->mark, terminal->mark + 12, strlen(script));
    enum sandlot_status status = sandbox_exec(call, terminal->sandbox, words, true, true, &terminal->exec);

    if (status != SANDLOT_OK)
        return status;
    struct attempt attempt;

    attempt_begin(&attempt, call, READY_MS);
    status = await_mark(&attempt.call, terminal);
    if (status == SANDLOT_OK)
        status = exec_send(&attempt.call, &terminal->exec, EXEC_INPUT, script, strlen(script));
    return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
}

static enum sandlot_status judge(struct sandlot_call *call, const struct terminal *terminal,
                                 struct sandlot_exit *result)
{
    const struct exec_status *ended = &terminal->exec.status;

    if (!ended->ran)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Kubernetes could not run the terminal: %s; try again",
                            ended->why);
    if (ended->exit_code == NO_FOLDER)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the working directory is not there; choose another");
    result->exit_code = ended->exit_code;
    return SANDLOT_OK;
}

static enum sandlot_status run(struct sandlot_call *call, struct terminal *terminal, const char *script,
                               struct sandlot_exit *result)
{
    struct attempt attempt;
    int64_t limit_ms = terminal->request->command->timeout_ms;
    enum sandlot_status status = start(call, terminal, script);

    if (status != SANDLOT_OK) {
        exec_free(&terminal->exec);
        return status;
    }
    attempt_begin(&attempt, call, limit_ms);
    status = converse(&attempt.call, terminal);
    bool late = call->deadline_ms != 0 && sandlot_now_ms() >= call->deadline_ms;
    bool timed_out = status == SANDLOT_TIMEOUT && limit_ms > 0 && !late;

    if (status == SANDLOT_OK)
        status = judge(call, terminal, result);
    else
        command_kill(call, terminal->sandbox, terminal->mark); /* whoever goes leaves nothing running */
    exec_free(&terminal->exec);
    if (timed_out) {
        result->exit_code = 124;
        result->timed_out = true;
        return SANDLOT_OK;
    }
    return status == SANDLOT_OK || !*attempt.reason ? status : attempt_fail(&attempt, status);
}

enum sandlot_status terminal_run(struct sandlot_call *call, void *provider, void *handle,
                                 const struct sandlot_terminal *request, struct sandlot_exit *result)
{
    struct terminal terminal = {.sandbox = handle, .request = request};
    char **variables = command_variables(call, handle, request->command->environment, true);

    (void)provider;
    if (!variables)
        return SANDLOT_INVALID_ARGUMENT;
    random_digits(terminal.mark, MARK_DIGITS);
    terminal.sink = (struct sandlot_sink){.size = sizeof(terminal.sink), .context = &terminal, .write = take_output};
    terminal.events = epoll_create1(EPOLL_CLOEXEC);
    AUTO_FREE char *script = make_script(&terminal, variables);

    command_free_variables(variables);
    if (!script || terminal.events < 0) {
        if (terminal.events >= 0)
            close(terminal.events);
        return http_no_memory(call);
    }
    enum sandlot_status status = run(call, &terminal, script, result);

    close(terminal.events);
    return status;
}
