#include "execute.h"

#include "box/box.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>

enum {
    PIPE_SIZE = 1 << 20,
    CHUNK = 64 * 1024,
    SEND_LIMIT_MS = 10000,
    KILL_LIMIT_MS = 900,  /* a cancelled call has to return within a second */
    DRAIN_LIMIT_MS = 50,  /* for output that a background job goes on printing */
    LATE_LIMIT_MS = 15000 /* beyond the command's own time limit, which the box's init keeps */
};

/* One command under way. */
struct execution {
    struct sandbox *sandbox;
    struct sandlot_call *call;
    const struct sandlot_command *command;
    const struct sandlot_sink *output;
    int connection;
    int output_fd; /* -1: its end was seen */
    int input_fd;  /* where the command's standard input is written; -1: no more */
    char *input;   /* CHUNK bytes, of which LENGTH from AT on are to be written */
    size_t input_at;
    size_t input_length;
    bool ended; /* RESULT is there */
    struct run_result result;
    enum sandlot_status status; /* why the command is being killed */
};

static const char *note_of(uint32_t note)
{
    switch (note) {
    case RUN_NOTE_MEMORY:
        return "the memory limit of the sandbox killed it; give the sandbox more with memory_mb";
    case RUN_NOTE_DISK:
        return "the disk limit of the sandbox killed it; remove files, or give the sandbox more with disk_mb";
    case RUN_NOTE_VOLUME:
        return "the limit of a volume killed it; remove files from the volume, or let it hold more with limit_mb in "
               "[sandboxes.volumes.NAME]";
    case RUN_NOTE_SUPERVISOR:
        return "it killed its own supervisor, and was ended with all that it had started";
    default:
        return NULL;
    }
}

void execute_result(const struct run_result *from, struct sandlot_exit *to)
{
    to->exit_code = from->exit_code;
    to->timed_out = from->timed_out;
    if (SANDLOT_HAS(to, note))
        to->note = note_of(from->note);
}

static size_t size_of(const char *text)
{
    return strlen(text) + 1;
}

char *execute_request(const struct sandbox *sandbox, struct sandlot_call *call, const struct sandlot_command *command,
                      const char *variable, void *header, size_t header_size, size_t *length,
                      enum sandlot_status *status)
{
    const char *start = sandbox->landlock ? "" : sandbox->working_dir ? sandbox->working_dir : BOX_WORKSPACE;
    const char *folder = command->working_dir ? command->working_dir : start;
    const char *text = command->command ? command->command : "";
    struct run_request *request = header;
    size_t size = header_size + size_of(text) + size_of(folder) + (variable ? size_of(variable) : 0);

    request->timeout_ms = command->timeout_ms;
    request->environment_count = variable ? 1 : 0;
    request->flags = SANDLOT_HAS(command, flags) ? command->flags : 0;
    for (const char *const *entry = command->environment; entry && *entry; entry++) {
        request->environment_count++;
        size += size_of(*entry);
    }
    if (size > MESSAGE_BODY_MAXIMUM) {
        *status = sandlot_fail(
            call, SANDLOT_INVALID_ARGUMENT,
            "the command and its environment are longer than %d MiB; put the text into a file of the sandbox",
            MESSAGE_BODY_MAXIMUM >> 20);
        return NULL;
    }
    char *body = malloc(size);

    if (!body) {
        *status = sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
        return NULL;
    }
    memcpy(body, header, header_size);
    char *at = stpcpy(body + header_size, text) + 1;

    at = stpcpy(at, folder) + 1;
    for (const char *const *entry = command->environment; entry && *entry; entry++)
        at = stpcpy(at, *entry) + 1;
    if (variable)
        memcpy(at, variable, size_of(variable));
    *length = size;
    return body;
}

enum sandlot_status execute_broken(const struct sandbox *sandbox, struct sandlot_call *call,
                                   enum protocol_result result)
{
    return result == PROTOCOL_CLOSED ? sandbox_ended(sandbox, call) : client_broken(call, result, "the sandbox");
}

/* Sends the request with the command's ends of the pipes, which are closed here. */
static enum protocol_result send_request(struct execution *execution, const char *body, size_t length)
{
    int output[2];
    int input[2] = {-1, -1};
    enum protocol_result result = PROTOCOL_BROKEN;

    if (pipe2(output, O_CLOEXEC) < 0)
        return PROTOCOL_BROKEN;
    execution->output_fd = output[0];
    /* A larger pipe means fewer changes between the command and this process; a user's share of pipe memory may be used
     * up. */
    (void)fcntl(output[0], F_SETPIPE_SZ, PIPE_SIZE);
    bool ready = fcntl(output[0], F_SETFL, O_NONBLOCK) == 0;

    if (ready && execution->command->input) {
        ready = pipe2(input, O_CLOEXEC) == 0;
        execution->input_fd = input[1];
        ready = ready && fcntl(input[1], F_SETFL, O_NONBLOCK) == 0;
    }
    if (ready) {
        const int fds[] = {output[1], output[0], input[0]};
        int64_t deadline_ms = sandlot_now_ms() + sandlot_remaining_ms(execution->call, SEND_LIMIT_MS);

        result =
            protocol_send(execution->connection, MESSAGE_RUN, body, length, fds, input[0] >= 0 ? 3 : 2, deadline_ms);
    }
    close(output[1]);
    if (input[0] >= 0)
        close(input[0]);
    return result;
}

/* Ends the command because of STATUS; what it prints from now on is of no interest. */
static void kill_command(struct execution *execution, enum sandlot_status status)
{
    if (execution->status != SANDLOT_OK)
        return;
    execution->status = status;
    protocol_send(execution->connection, MESSAGE_KILL, NULL, 0, NULL, 0, 0);
    if (execution->input_fd >= 0)
        close(take_fd(&execution->input_fd));
}

/* Hands on what can be read now, at most one chunk, and returns its length; 0: there was nothing. */
static size_t read_output(struct execution *execution)
{
    char bytes[CHUNK];
    ssize_t got;

    while ((got = read(execution->output_fd, bytes, sizeof(bytes))) < 0 && errno == EINTR)
        continue;
    if (got < 0)
        return 0;
    if (got == 0) {
        close(take_fd(&execution->output_fd));
        return 0;
    }
    if (execution->status == SANDLOT_OK) {
        enum sandlot_status status = execution->output->write(execution->output, bytes, (size_t)got);

        if (status != SANDLOT_OK)
            kill_command(execution, status);
    }
    return (size_t)got;
}

/* write(2) without a SIGPIPE for the program that this library is part of. */
static ssize_t write_quietly(int fd, const void *bytes, size_t length)
{
    sigset_t pipe_signal;
    sigset_t before;
    sigset_t pending;

    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    ssize_t written = write(fd, bytes, length);
    int saved = errno;

    if (written < 0 && saved == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_signal, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return written;
}

static void read_input(struct execution *execution)
{
    const struct sandlot_source *source = execution->command->input;
    size_t length = 0;
    enum sandlot_status status = source->read(source, execution->input, CHUNK, &length);

    execution->input_at = 0;
    execution->input_length = status == SANDLOT_OK ? length : 0;
    if (status != SANDLOT_OK)
        kill_command(execution, status);
    else if (length == 0)
        close(take_fd(&execution->input_fd));
}

static void write_input(struct execution *execution)
{
    ssize_t written =
        write_quietly(execution->input_fd, execution->input + execution->input_at, execution->input_length);

    if (written < 0) {
        /* A command need not read all of its input. */
        if (errno != EAGAIN && errno != EINTR)
            close(take_fd(&execution->input_fd));
        return;
    }
    execution->input_at += (size_t)written;
    execution->input_length -= (size_t)written;
}

/* Takes the answer of init. False if the connection is of no more use. */
static bool read_answer(struct execution *execution)
{
    struct received message;
    enum protocol_result result = protocol_receive(execution->connection, &message, 0, -1);

    if (result == PROTOCOL_TIMEOUT)
        return true;
    if (result != PROTOCOL_OK) {
        if (execution->status == SANDLOT_OK)
            execution->status = execute_broken(execution->sandbox, execution->call, result);
        return false;
    }
    if (message.header.kind == MESSAGE_FAILED)
        execution->status = client_failure(execution->call, &message);
    if (message.header.kind == MESSAGE_ENDED && message.header.length == sizeof(execution->result)) {
        memcpy(&execution->result, message.body, sizeof(execution->result));
        execution->ended = true;
    }
    bool failed = message.header.kind == MESSAGE_FAILED;

    received_clear(&message);
    return !failed;
}

enum { POLL_OUTPUT, POLL_ANSWER, POLL_CANCEL, POLL_INPUT, POLL_COUNT };

static void fill_poll(const struct execution *execution, struct pollfd fds[POLL_COUNT])
{
    bool killed = execution->status != SANDLOT_OK;
    const struct sandlot_source *source = execution->command->input;

    fds[POLL_OUTPUT] = (struct pollfd){execution->output_fd, POLLIN, 0};
    fds[POLL_ANSWER] = (struct pollfd){execution->connection, POLLIN, 0};
    fds[POLL_CANCEL] = (struct pollfd){killed ? -1 : execution->call->cancel_fd, POLLIN, 0};
    fds[POLL_INPUT] = (struct pollfd){execution->input_fd, POLLOUT, 0};
    if (execution->input_fd >= 0 && execution->input_length == 0 && source->poll_fd >= 0)
        fds[POLL_INPUT] = (struct pollfd){source->poll_fd, POLLIN, 0};
}

int64_t execute_time_limit(const struct sandlot_call *call, const struct sandlot_command *command)
{
    int64_t call_limit = call->deadline_ms;
    int64_t timeout_ms = command->timeout_ms;
    int64_t late =
        timeout_ms > 0 && timeout_ms < INT64_MAX / 4 ? sandlot_now_ms() + timeout_ms + LATE_LIMIT_MS : INT64_MAX;

    return call_limit && call_limit < late ? call_limit : late;
}

static void handle(struct execution *execution, const struct pollfd fds[POLL_COUNT])
{
    if (fds[POLL_OUTPUT].revents)
        read_output(execution);
    if (fds[POLL_CANCEL].revents)
        kill_command(execution, sandlot_fail(execution->call, SANDLOT_CANCELLED, "cancelled while the command ran"));
    if (fds[POLL_INPUT].revents && execution->input_fd >= 0) {
        if (execution->input_length == 0)
            read_input(execution);
        else
            write_input(execution);
    }
}

/* Carries output and input until init says that the command is over. False if the connection is of no more use. */
static bool attend(struct execution *execution)
{
    int64_t limit = execute_time_limit(execution->call, execution->command);
    bool killed = false;

    while (!execution->ended) {
        struct pollfd fds[POLL_COUNT];

        if (execution->status != SANDLOT_OK && !killed) {
            killed = true;
            limit = sandlot_now_ms() + KILL_LIMIT_MS;
        }
        int64_t left = limit == INT64_MAX ? INT64_MAX : limit - sandlot_now_ms();

        if (left <= 0 && killed)
            return false;
        if (left <= 0) {
            kill_command(execution, sandlot_fail(execution->call, SANDLOT_TIMEOUT,
                                                 "the command was ended: the time for the whole call is over"));
            continue;
        }
        fill_poll(execution, fds);
        if (poll(fds, POLL_COUNT, left > INT32_MAX ? -1 : (int)left) < 0)
            continue;
        handle(execution, fds);
        if (fds[POLL_ANSWER].revents && !read_answer(execution))
            return false;
    }
    return true;
}

/* What the command printed before it ended is in the pipe, and all of that is its output, however slowly it is taken;
 * what a background job prints after that need not be waited for. */
static void drain(struct execution *execution)
{
    int64_t limit = sandlot_now_ms() + DRAIN_LIMIT_MS;
    int waiting = 0;
    size_t left = execution->output_fd >= 0 && ioctl(execution->output_fd, FIONREAD, &waiting) == 0 && waiting > 0
                      ? (size_t)waiting
                      : 0;

    while (execution->output_fd >= 0 && execution->status == SANDLOT_OK && (left || sandlot_now_ms() <= limit)) {
        size_t got = read_output(execution);

        if (got == 0)
            break;
        left -= got < left ? got : left;
    }
}

static enum sandlot_status run(struct execution *execution)
{
    struct run_request request = {.has_input = execution->command->input != NULL};
    enum sandlot_status status = SANDLOT_OK;
    size_t length = 0;
    AUTO_FREE char *body = execute_request(execution->sandbox, execution->call, execution->command, NULL, &request,
                                           sizeof(request), &length, &status);
    AUTO_FREE char *input = execution->command->input ? malloc(CHUNK) : NULL;

    if (!body)
        return status;
    if (execution->command->input && !input)
        return sandlot_fail(execution->call, SANDLOT_INTERNAL, "out of memory");
    execution->input = input;
    enum protocol_result sent = send_request(execution, body, length);

    if (sent != PROTOCOL_OK)
        return execute_broken(execution->sandbox, execution->call, sent);
    if (attend(execution)) {
        drain(execution);
        /* Not before: the next request on the connection tells init that nobody reads this output any more. */
        sandbox_give_back(execution->sandbox, take_fd(&execution->connection));
    }
    return execution->status;
}

enum sandlot_status execute_command(struct sandbox *sandbox, struct sandlot_call *call,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result)
{
    enum sandlot_status status = SANDLOT_OK;
    AUTO_CLOSE int connection = sandbox_connect(sandbox, call, &status);

    if (connection < 0)
        return status;
    struct execution execution = {.sandbox = sandbox,
                                  .call = call,
                                  .command = command,
                                  .output = output,
                                  .connection = take_fd(&connection),
                                  .output_fd = -1,
                                  .input_fd = -1};

    status = run(&execution);
    const int fds[] = {execution.connection, execution.output_fd, execution.input_fd};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (status != SANDLOT_OK)
        return status;
    execute_result(&execution.result, result);
    return SANDLOT_OK;
}
