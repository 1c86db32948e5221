/* Commands on their way to the sandbox. */
#include "session/session.h"

#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

/* What a provider may take beyond a command's own time limit: TERM, a grace of 2 s, KILL, and the way there and back.
 */
enum { COMMAND_END_MS = 30 * 1000 };

/* A hundred years: no sum of times, nor one in nanoseconds, overflows. */
#define LONGEST_TIMEOUT_MS INT64_C(3153600000000)

int64_t session_command_timeout(int64_t timeout_ms)
{
    return timeout_ms < LONGEST_TIMEOUT_MS ? timeout_ms : LONGEST_TIMEOUT_MS;
}

int64_t session_command_deadline(int64_t timeout_ms)
{
    return timeout_ms > 0 ? sandlot_now_ms() + session_command_timeout(timeout_ms) + COMMAND_END_MS : 0;
}

/* Waits on a descriptor, because unlike a mutex it can be waited for together with a cancellation. */
enum sandlot_status session_take_turn(const struct sandlot_session *session, int64_t deadline_ms, int cancel_fd,
                                      struct sandlot_error *error)
{
    struct pollfd fds[2] = {{session->turn_fd, POLLIN, 0}, {cancel_fd, POLLIN, 0}};
    uint64_t turn;

    while (session->turn_fd >= 0 && read(session->turn_fd, &turn, sizeof(turn)) < 0) {
        int64_t left = deadline_ms ? deadline_ms - sandlot_now_ms() : INT_MAX;

        if (left <= 0) {
            error_set(error, SANDLOT_CODE_TIMEOUT,
                      "%s: another call has used the sandbox for too long; try again later",
                      session->provider->entry->name);
            return SANDLOT_TIMEOUT;
        }
        if (poll(fds, 2, left < INT_MAX ? (int)left : INT_MAX) > 0 && fds[1].revents) {
            cancellation_check(cancel_fd, error);
            return SANDLOT_CANCELLED;
        }
    }
    return SANDLOT_OK;
}

void session_give_turn_back(const struct sandlot_session *session)
{
    static const uint64_t turn = 1;

    while (session->turn_fd >= 0 && write(session->turn_fd, &turn, sizeof(turn)) < 0 && errno == EINTR)
        continue;
}

int session_run(struct sandlot_session *session, const struct sandlot_command *command,
                const struct sandlot_sink *output, struct sandlot_exit *result, int64_t deadline_ms, int cancel_fd,
                enum sandlot_status *status, struct sandlot_error *error)
{
    struct provider *provider = session->provider;
    struct host_call call;
    enum sandlot_status unused = SANDLOT_OK;

    status = status ? status : &unused;
    if (!provider->table.execute) {
        *status = SANDLOT_UNSUPPORTED;
        return error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                         "%s: running commands is not supported by this provider; it only serves files",
                         provider->entry->name);
    }
    *status = SANDLOT_CANCELLED;
    if (cancellation_check(cancel_fd, error) < 0)
        return -1;
    *status = session_take_turn(session, deadline_ms, cancel_fd, error);
    if (*status != SANDLOT_OK)
        return -1;
    host_call_init(&call, provider->entry->name, provider->environment, deadline_ms, cancel_fd);
    *status = provider->table.execute(&call.call, provider->instance, session->sandbox, command, output, result);
    session_give_turn_back(session);
    int failed = host_call_error(&call, *status, "cannot run the command", true, error);

    /* Of what a caller can get wrong here only the directory is left: the sandbox is fine. */
    if (*status == SANDLOT_INVALID_ARGUMENT && error && command->working_dir &&
        command->working_dir != session->working_dir)
        error->code = SANDLOT_CODE_INVALID_PATH;
    host_call_clear(&call);
    return failed;
}

int session_terminal(struct sandlot_session *session, const struct sandlot_terminal *terminal,
                     struct sandlot_exit *result, int cancel_fd, struct sandlot_error *error)
{
    struct provider *provider = session->provider;
    struct host_call call;

    if (!provider->table.terminal)
        return error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                         "%s: terminals are not supported by this provider; run single commands",
                         provider->entry->name);
    if (cancellation_check(cancel_fd, error) < 0 || session_take_turn(session, 0, cancel_fd, error) != SANDLOT_OK)
        return -1;
    host_call_init(&call, provider->entry->name, provider->environment, 0, cancel_fd);
    enum sandlot_status status =
        provider->table.terminal(&call.call, provider->instance, session->sandbox, terminal, result);

    session_give_turn_back(session);
    int failed = host_call_error(&call, status, "cannot run the terminal", true, error);

    if (status == SANDLOT_INVALID_ARGUMENT && error && terminal->command->working_dir != session->working_dir)
        error->code = SANDLOT_CODE_INVALID_PATH;
    host_call_clear(&call);
    return failed;
}
