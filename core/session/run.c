/* Commands on their way to the sandbox. */
#include "session/session.h"

#include "base/error.h"

#include <limits.h>

/* What a provider may take beyond a command's own time limit: TERM, a grace of 2 s, KILL, and the way there and back.
 */
enum { COMMAND_END_MS = 30 * 1000 };

int64_t session_command_deadline(int64_t timeout_ms)
{
    return timeout_ms > 0 ? sandlot_now_ms() + timeout_ms + COMMAND_END_MS : 0;
}

int session_run(struct sandlot_session *session, const struct sandlot_command *command,
                const struct sandlot_sink *output, struct sandlot_exit *result, int64_t deadline_ms, int cancel_fd,
                enum sandlot_status *status, struct sandlot_error *error)
{
    struct provider *provider = session->provider;
    bool serial = provider->table.flags & SANDLOT_SERIAL_SANDBOX;
    struct host_call call;
    enum sandlot_status outcome;

    if (!provider->table.execute) {
        if (status)
            *status = SANDLOT_UNSUPPORTED;
        return error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                         "%s: running commands is not supported by this provider; it only serves files",
                         provider->entry->name);
    }
    host_call_init(&call, provider->entry->name, provider->environment, deadline_ms, cancel_fd);
    if (serial)
        pthread_mutex_lock(&session->serial);
    outcome = provider->table.execute(&call.call, provider->instance, session->sandbox, command, output, result);
    if (serial)
        pthread_mutex_unlock(&session->serial);
    if (status)
        *status = outcome;
    int failed = host_call_error(&call, outcome, "cannot run the command", true, error);

    host_call_clear(&call);
    return failed;
}
