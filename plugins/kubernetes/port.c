/*
 * A connection to a port is a program in the pod; see sandlot/sdk/port_program.h. pods/portforward would need no such
 * program, but it cannot close one side alone, and wants a right of its own.
 *
 * v4 cannot either: there the connection ends when the client has closed its side and the server has then been silent
 * for a while. Its script comes by standard input, as a command's does.
 */
#include "port.h"

#include "command.h"
#include "pod.h"

#include <sandlot/sdk/port_program.h>
#include <sandlot/sdk/random.h>

#include <poll.h>
#include <string.h>

enum { SILENT_MS = 10 * 1000 };

/* A connection under way. */
struct relay {
    struct sandbox *sandbox;
    const struct sandlot_connection *connection;
    struct exec exec;
    struct port_program program;
    char mark[PORT_PROGRAM_MARK + 1];
    bool input_ended;
};

/* ---- to and fro -------------------------------------------------------------------------------------------------- */

/* Takes of the input what is there. */
static enum sandlot_status pass_input(struct sandlot_call *call, struct relay *relay)
{
    const struct sandlot_source *input = relay->connection->input;
    struct pollfd ready = {input->poll_fd, POLLIN, 0};
    char piece[1 + EXEC_PIECE];
    size_t length = 0;

    if (input->poll_fd >= 0 && poll(&ready, 1, 0) <= 0)
        return SANDLOT_OK;
    enum sandlot_status status = input->read(input, piece + 1, EXEC_PIECE, &length);

    if (status != SANDLOT_OK)
        return status;
    relay->input_ended = length == 0;
    return length > 0 ? exec_post(call, &relay->exec, piece, length) : exec_end_input(call, &relay->exec);
}

/* Waits a while for what comes, or can be sent. *OVER: that was all. */
static enum sandlot_status pass_on(struct sandlot_call *call, struct relay *relay, bool *over)
{
    struct exec *exec = &relay->exec;
    bool sends = relay->program.opened && !relay->input_ended && !websocket_is_posting(exec->socket);
    enum sandlot_status status = sandbox_take(
        call, relay->sandbox, exec, sends ? relay->connection->input->poll_fd : -1, &relay->program.sink, over);

    if (relay->input_ended && !exec->half_close && sandlot_now_ms() - exec->heard_ms >= SILENT_MS)
        *over = true;
    if (status != SANDLOT_OK || *over)
        return status;
    if (exec->ended) {
        *over = true;
        return exec_finish(call, exec, &relay->program.sink);
    }
    return sends ? pass_input(call, relay) : SANDLOT_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static enum sandlot_status start(struct sandlot_call *call, struct relay *relay)
{
    size_t length = strlen(port_program_script);
    char line[192];
    char port[8];
    const char *const words[] = {"sh", "-c", line, "sandlot-port", relay->mark, port, NULL};

    snprintf(line, sizeof(line),
             "true 2>/dev/null >" POD_USED "; export SANDLOT_JOB=\"$1\" " POD_CONNECTED
             "\"$2\"; eval \"$(head -c %zu)\"",
             length);
    snprintf(port, sizeof(port), "%u", (unsigned)relay->connection->port);
    enum sandlot_status status = sandbox_exec(call, relay->sandbox, words, true, false, &relay->exec);

    return status == SANDLOT_OK ? exec_send(call, &relay->exec, EXEC_INPUT, port_program_script, length) : status;
}

static enum sandlot_status conclude(struct sandlot_call *call, struct relay *relay, enum sandlot_status status)
{
    const struct exec_status *ended = &relay->exec.status;
    bool silent;

    if (!relay->exec.ended)
        command_kill(call, relay->sandbox, relay->mark);
    status = port_program_conclude(call, &relay->program, status, "the pod", &silent);
    if (!silent)
        return status;
    return ended->ran
               ? sandlot_fail(call, SANDLOT_UNAVAILABLE,
                              "what was to carry a connection in the pod ended at once, with exit code %d; try again",
                              ended->exit_code)
               : command_explain(call, ended);
}

enum sandlot_status port_connect(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_connection *connection)
{
    struct relay relay = {.sandbox = sandbox, .connection = connection};
    bool over = false;

    (void)provider;
    random_digits(relay.mark, PORT_PROGRAM_MARK);
    port_program_init(&relay.program, connection, relay.mark);
    enum sandlot_status status = start(call, &relay);

    while (status == SANDLOT_OK && !over)
        status = pass_on(call, &relay, &over);
    if (relay.exec.socket)
        status = conclude(call, &relay, status);
    exec_free(&relay.exec);
    return status;
}
