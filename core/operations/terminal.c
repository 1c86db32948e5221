/* An interactive terminal for the caller: what is typed, what is shown, how large it is. */
#include "operations/terminal.h"

#include "base/error.h"
#include "base/sized.h"
#include "operations/input.h"
#include "session/session.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_LEAST SIZED_UP_TO(struct sandlot_terminal_request, cancellation)

enum { NAME_MAXIMUM = 64 };

/* One terminal under way: the caller's functions in the shape of the ABI. */
struct view {
    struct sandlot_terminal terminal;
    struct sandlot_sink sink;
    const struct sandlot_terminal_request *request;
    bool stopped; /* the caller takes no more output */
};

bool terminal_name_is_valid(const char *name)
{
    static const char letters[] = "-_.+ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const size_t length = strlen(name);

    return length > 0 && length <= NAME_MAXIMUM && strspn(name, letters) == length && !strchr("-_.+", name[0]);
}

static enum sandlot_status show(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct view *view = sink->context;

    if (length > 0 && !view->stopped)
        view->stopped = !view->request->output(view->request->context, bytes, length);
    return view->stopped ? SANDLOT_CANCELLED : SANDLOT_OK;
}

/* An eventfd is empty after one read, a pipe when nothing is left. */
static void empty(int fd)
{
    struct pollfd pending = {fd, POLLIN, 0};
    char bytes[512];

    while (fd >= 0 && poll(&pending, 1, 0) == 1 && pending.revents & POLLIN && read(fd, bytes, sizeof(bytes)) > 0)
        continue;
}

static void measure(const struct sandlot_terminal *terminal, uint16_t *rows, uint16_t *columns)
{
    const struct sandlot_terminal_request *request = ((const struct view *)terminal->context)->request;

    *rows = 0;
    *columns = 0;
    /* Before the size is asked for: a change after that is to be heard of. */
    empty(terminal->resized_fd);
    if (request->window)
        request->window(request->context, rows, columns);
    if (*rows == 0 || *columns == 0) {
        *rows = 24;
        *columns = 80;
    }
}

static int check(const struct sandlot_terminal_request *request, struct sandlot_error *error)
{
    if (request->command && !*request->command)
        return error_set(error, SANDLOT_CODE_USAGE, "the command must not be empty; leave it out for a shell");
    if (request->input_fd < 0)
        return error_set(error, SANDLOT_CODE_USAGE, "the descriptor of the terminal's input is not open");
    if (!request->output)
        return error_set(error, SANDLOT_CODE_USAGE, "the terminal needs a receiver of its output");
    if (request->working_dir && request->working_dir[0] != '/')
        return error_set(error, SANDLOT_CODE_USAGE, "the working directory %s is not an absolute path in the sandbox",
                         request->working_dir);
    if (request->term && !terminal_name_is_valid(request->term))
        return error_set(error, SANDLOT_CODE_USAGE, "%s is not the name of a kind of terminal, such as xterm",
                         request->term);
    return check_variables(request->environment, error);
}

/* An end that the exit code does not explain, on a line of its own; the caller's terminal may be in raw mode. */
static void add_note(const struct view *view, const char *note)
{
    char line[256];
    int length = snprintf(line, sizeof(line), "\r\n[%s]\r\n", note);

    if (length > 0)
        show(&view->sink, line, (size_t)length < sizeof(line) ? (size_t)length : sizeof(line) - 1);
}

static int run(struct sandlot_session *session, const struct sandlot_terminal_request *request, int *exit_code,
               struct sandlot_error *error)
{
    const int cancel_fd = cancellation_fd(request->cancellation);
    struct view view = {.request = request};
    struct input input;
    struct sandlot_exit ended = {.size = sizeof(ended)};
    const struct sandlot_command command = {.size = sizeof(command),
                                            .command = request->command,
                                            .working_dir =
                                                request->working_dir ? request->working_dir : session->working_dir,
                                            .environment = request->environment,
                                            .input = &input.source};

    input_init(&input, request->input_fd, 0, cancel_fd);
    view.sink = (struct sandlot_sink){sizeof(view.sink), &view, show};
    view.terminal = (struct sandlot_terminal){.size = sizeof(view.terminal),
                                              .command = &command,
                                              .output = &view.sink,
                                              .term = request->term ? request->term : "xterm",
                                              .resized_fd = request->resized_fd,
                                              .context = &view,
                                              .window = measure};
    struct sandlot_error why = {0};
    int failed = session_terminal(session, &view.terminal, &ended, cancel_fd, &why);

    if (!failed && ended.note)
        add_note(&view, ended.note);
    if (failed && view.stopped)
        error_set(error, SANDLOT_CODE_CANCELLED, "the terminal was closed by the receiver of its output");
    else if (failed && input_error(&input, error) == 0)
        error_set(error, why.code, "%s", why.message);
    else if (!failed)
        *exit_code = ended.exit_code;
    sandlot_error_clear(&why);
    return failed;
}

int sandlot_run_terminal(struct sandlot_session *session, const struct sandlot_terminal_request *request,
                         int *exit_code, struct sandlot_error *error)
{
    struct sandlot_terminal_request own;

    if (sized_read(&own, sizeof(own), request, REQUEST_LEAST, "sandlot_terminal_request", error) < 0 ||
        check(&own, error) < 0)
        return -1;
    return run(session, &own, exit_code, error);
}
