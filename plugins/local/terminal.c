#include "terminal.h"

#include "execute.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

enum {
    OUTPUT_CHUNK = 16 * 1024,
    INPUT_CHUNK = 4096,
    SEND_LIMIT_MS = 10000,
    KILL_LIMIT_MS = 900,      /* a cancelled call has to return within a second */
    HANG_UP_GRACE_MS = 2000,  /* for what runs to end by itself when its terminal has gone */
    REOPEN_PAUSE_MS = 100,    /* between looks at a terminal that nobody in the box has open at the moment */
    REST_MAXIMUM = 256 * 1024 /* more than a terminal can hold: what comes beyond is of a background job */
};

/* A terminal under way. */
struct terminal {
    struct sandbox *sandbox;
    struct sandlot_call *call;
    const struct sandlot_terminal *request;
    int connection;
    int controller;          /* our side of the terminal; -1: not yet there, or hung up */
    int64_t closed_until_ms; /* nobody in the box has the terminal open: not looked at before */
    char input[INPUT_CHUNK]; /* typed; INPUT_LENGTH bytes from INPUT_AT on are to be written */
    size_t input_at;
    size_t input_length;
    bool input_ended;
    bool killed;      /* init was asked to end the command */
    int64_t limit_ms; /* when the wait has to end */
    bool ended;       /* RESULT is there */
    struct run_result result;
    enum sandlot_status status; /* why the command is being killed */
};

/* ---- the start ---- */

static void ask_for_size(const struct sandlot_terminal *request, uint16_t *rows, uint16_t *columns)
{
    *rows = 0;
    *columns = 0;
    if (request->window)
        request->window(request, rows, columns);
    /* What every program can live with, if nobody knows. */
    if (*rows == 0 || *columns == 0) {
        *rows = 24;
        *columns = 80;
    }
}

/* TERM for the command, to be freed; NULL if it has one already, or with *STATUS. */
static char *term_variable(const struct terminal *terminal, enum sandlot_status *status)
{
    const struct sandlot_terminal *request = terminal->request;
    const char *const *entry = request->command->environment;
    char *text = NULL;

    while (entry && *entry && strncmp(*entry, "TERM=", strlen("TERM=")) != 0)
        entry++;
    if (entry && *entry)
        return NULL;
    if (asprintf(&text, "TERM=%s", request->term ? request->term : "xterm") >= 0)
        return text;
    *status = sandlot_fail(terminal->call, SANDLOT_INTERNAL, "out of memory");
    return NULL;
}

static enum sandlot_status send_request(const struct terminal *terminal)
{
    struct terminal_request request = {.run = {.has_input = 0}};
    enum sandlot_status status = SANDLOT_OK;
    uint16_t rows;
    uint16_t columns;
    size_t length = 0;
    AUTO_FREE char *term = term_variable(terminal, &status);

    if (status != SANDLOT_OK)
        return status;
    ask_for_size(terminal->request, &rows, &columns);
    request.rows = rows;
    request.columns = columns;
    AUTO_FREE char *body = execute_request(terminal->sandbox, terminal->call, terminal->request->command, term,
                                           &request, sizeof(request), &length, &status);

    if (!body)
        return status;
    int64_t deadline_ms = sandlot_now_ms() + sandlot_remaining_ms(terminal->call, SEND_LIMIT_MS);
    enum protocol_result sent =
        protocol_send(terminal->connection, MESSAGE_TERMINAL, body, length, NULL, 0, deadline_ms);

    return sent == PROTOCOL_OK ? SANDLOT_OK : execute_broken(terminal->sandbox, terminal->call, sent);
}

/* ---- the end ---- */

static void hang_up(struct terminal *terminal)
{
    if (terminal->controller >= 0)
        close(take_fd(&terminal->controller));
}

static void kill_command(struct terminal *terminal)
{
    terminal->killed = true;
    terminal->limit_ms = sandlot_now_ms() + KILL_LIMIT_MS;
    protocol_send(terminal->connection, MESSAGE_KILL, NULL, 0, NULL, 0, 0);
}

/* Ends all because of STATUS; what is still printed is of no interest. */
static void give_up(struct terminal *terminal, enum sandlot_status status)
{
    if (terminal->status != SANDLOT_OK)
        return;
    terminal->status = status;
    hang_up(terminal);
    kill_command(terminal);
}

/* The keyboard has gone: as when the window of a terminal is closed, everybody hears of it and may tidy up. */
static void end_input(struct terminal *terminal)
{
    const int64_t grace_ms = sandlot_now_ms() + HANG_UP_GRACE_MS;

    terminal->input_ended = true;
    hang_up(terminal);
    if (grace_ms < terminal->limit_ms)
        terminal->limit_ms = grace_ms;
}

/* What was hung up on has had its grace, or the time for the whole call is over. */
static void run_out_of_time(struct terminal *terminal)
{
    const int64_t deadline_ms = terminal->call->deadline_ms;

    if (terminal->input_ended && (deadline_ms == 0 || sandlot_now_ms() < deadline_ms))
        kill_command(terminal);
    else
        give_up(terminal, sandlot_fail(terminal->call, SANDLOT_TIMEOUT,
                                       "the terminal was closed: the time for the whole call is over"));
}

/* ---- what goes through ---- */

/* Hands on what can be read now, at most one chunk. Returns how much it was; 0: there is nothing. */
static size_t read_output(struct terminal *terminal)
{
    char bytes[OUTPUT_CHUNK];
    ssize_t got = read(terminal->controller, bytes, sizeof(bytes));

    /* EIO: nobody in the box has the terminal open. It may be opened again, as /dev/tty. */
    if (got == 0 || (got < 0 && errno == EIO))
        terminal->closed_until_ms = sandlot_now_ms() + REOPEN_PAUSE_MS;
    if (got <= 0)
        return 0;
    enum sandlot_status status = terminal->request->output->write(terminal->request->output, bytes, (size_t)got);

    if (status != SANDLOT_OK)
        give_up(terminal, status);
    return (size_t)got;
}

static void read_input(struct terminal *terminal)
{
    const struct sandlot_source *source = terminal->request->command->input;
    size_t length = 0;
    enum sandlot_status status = source->read(source, terminal->input, sizeof(terminal->input), &length);

    terminal->input_at = 0;
    terminal->input_length = status == SANDLOT_OK ? length : 0;
    if (status != SANDLOT_OK)
        give_up(terminal, status);
    else if (length == 0)
        end_input(terminal);
}

static void write_input(struct terminal *terminal)
{
    ssize_t written = write(terminal->controller, terminal->input + terminal->input_at, terminal->input_length);

    if (written < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    /* Nobody has the terminal open: what is typed is lost. */
    size_t done = written < 0 ? terminal->input_length : (size_t)written;

    terminal->input_at += done;
    terminal->input_length -= done;
}

static void resize(const struct terminal *terminal)
{
    struct winsize size = {0};

    ask_for_size(terminal->request, &size.ws_row, &size.ws_col);
    if (terminal->controller >= 0)
        ioctl(terminal->controller, TIOCSWINSZ, &size);
}

/* ---- answers ---- */

/* The box is a stranger: what it sends as a terminal has to be one. */
static bool is_terminal(int fd)
{
    unsigned number;

    return ioctl(fd, TIOCGPTN, &number) == 0 && fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) == 0;
}

static void take_terminal(struct terminal *terminal, struct received *message)
{
    AUTO_CLOSE int fd = received_take_fd(message, 0);

    if (fd < 0 || !is_terminal(fd)) {
        give_up(terminal, sandlot_fail(terminal->call, SANDLOT_INTERNAL,
                                       "the sandbox gave something else than a terminal; create another one"));
        return;
    }
    if (terminal->status == SANDLOT_OK && !terminal->input_ended && terminal->controller < 0)
        terminal->controller = take_fd(&fd);
}

/* Takes one answer of the box. False if the connection is of no more use. */
static bool read_answer(struct terminal *terminal)
{
    struct received message;
    enum protocol_result result = protocol_receive(terminal->connection, &message, 0, -1);

    if (result == PROTOCOL_TIMEOUT)
        return true;
    if (result != PROTOCOL_OK) {
        if (terminal->status == SANDLOT_OK)
            terminal->status = execute_broken(terminal->sandbox, terminal->call, result);
        return false;
    }
    bool failed = message.header.kind == MESSAGE_FAILED;

    if (failed)
        terminal->status = client_failure(terminal->call, &message);
    if (message.header.kind == MESSAGE_TERMINAL_IS)
        take_terminal(terminal, &message);
    if (message.header.kind == MESSAGE_ENDED && message.header.length == sizeof(terminal->result)) {
        memcpy(&terminal->result, message.body, sizeof(terminal->result));
        terminal->ended = true;
    }
    received_clear(&message);
    return !failed;
}

/* ---- the wait ---- */

enum { POLL_ANSWER, POLL_CANCEL, POLL_OUTPUT, POLL_INPUT, POLL_RESIZED, POLL_COUNT };

/* Writes down what to wait for; returns for how long. */
static int fill_poll(const struct terminal *terminal, struct pollfd fds[POLL_COUNT])
{
    const struct sandlot_source *input = terminal->request->command->input;
    const int64_t now_ms = sandlot_now_ms();
    const bool open = terminal->controller >= 0 && now_ms >= terminal->closed_until_ms;
    const bool hears = terminal->controller >= 0 && terminal->status == SANDLOT_OK;
    int64_t left_ms = terminal->limit_ms - now_ms;

    fds[POLL_ANSWER] = (struct pollfd){terminal->connection, POLLIN, 0};
    fds[POLL_CANCEL] = (struct pollfd){terminal->status == SANDLOT_OK ? terminal->call->cancel_fd : -1, POLLIN, 0};
    fds[POLL_OUTPUT] =
        (struct pollfd){open ? terminal->controller : -1, (short)(POLLIN | (terminal->input_length ? POLLOUT : 0)), 0};
    fds[POLL_INPUT] = (struct pollfd){hears && input && terminal->input_length == 0 ? input->poll_fd : -1, POLLIN, 0};
    fds[POLL_RESIZED] = (struct pollfd){hears ? terminal->request->resized_fd : -1, POLLIN, 0};
    if (terminal->controller >= 0 && !open && terminal->closed_until_ms - now_ms < left_ms)
        left_ms = terminal->closed_until_ms - now_ms;
    return left_ms > INT32_MAX ? -1 : (int)left_ms;
}

static void handle(struct terminal *terminal, const struct pollfd fds[POLL_COUNT])
{
    if (fds[POLL_CANCEL].revents)
        give_up(terminal,
                sandlot_fail(terminal->call, SANDLOT_CANCELLED, "the terminal was closed, as it was cancelled"));
    if (fds[POLL_RESIZED].revents & POLLIN)
        resize(terminal);
    if (fds[POLL_OUTPUT].revents & ~POLLOUT && terminal->controller >= 0)
        read_output(terminal);
    if (fds[POLL_OUTPUT].revents & POLLOUT && terminal->controller >= 0)
        write_input(terminal);
    if (fds[POLL_INPUT].revents && terminal->controller >= 0)
        read_input(terminal);
}

/* The command was killed, and init does not say that it is over. */
static bool gone_astray(struct terminal *terminal)
{
    if (terminal->status == SANDLOT_OK)
        terminal->status =
            sandlot_fail(terminal->call, SANDLOT_UNAVAILABLE,
                         "the sandbox does not say that the terminal's command has ended; delete it if that persists");
    return false;
}

/* Carries everything until the box says that the command is over. False if the connection is of no more use. */
static bool attend(struct terminal *terminal)
{
    while (!terminal->ended) {
        struct pollfd fds[POLL_COUNT];

        if (sandlot_now_ms() >= terminal->limit_ms) {
            if (terminal->killed)
                return gone_astray(terminal);
            run_out_of_time(terminal);
        }
        int wait_ms = fill_poll(terminal, fds);

        if (poll(fds, POLL_COUNT, wait_ms) < 0)
            continue;
        handle(terminal, fds);
        if (fds[POLL_ANSWER].revents && !read_answer(terminal))
            return false;
    }
    return true;
}

/* What the command printed before it ended; what a background job prints after that is not waited for. */
static void read_rest(struct terminal *terminal)
{
    size_t rest = 0;

    while (terminal->controller >= 0 && rest < REST_MAXIMUM) {
        const size_t got = read_output(terminal);

        if (got == 0)
            return;
        rest += got;
    }
}

static enum sandlot_status check(struct sandlot_call *call, const struct sandlot_terminal *request)
{
    const struct sandlot_source *input = request->command->input;

    if (!input || input->poll_fd >= 0)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                        "a terminal's input must have a descriptor to wait for, and this one has none; give it one");
}

enum sandlot_status terminal_run(struct sandbox *sandbox, struct sandlot_call *call,
                                 const struct sandlot_terminal *request, struct sandlot_exit *result)
{
    enum sandlot_status status = check(call, request);
    AUTO_CLOSE int connection = status == SANDLOT_OK ? sandbox_connect(sandbox, call, &status) : -1;

    if (connection < 0)
        return status;
    struct terminal terminal = {.sandbox = sandbox,
                                .call = call,
                                .request = request,
                                .connection = connection,
                                .controller = -1,
                                .limit_ms = execute_time_limit(call, request->command)};

    status = send_request(&terminal);
    if (status != SANDLOT_OK)
        return status;
    if (attend(&terminal)) {
        read_rest(&terminal);
        sandbox_give_back(sandbox, take_fd(&connection));
    }
    hang_up(&terminal);
    if (terminal.status == SANDLOT_OK)
        execute_result(&terminal.result, result);
    return terminal.status;
}
