#include "remote_command_call.h"

static enum sandlot_status on_fail(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    struct remote_call *own = (struct remote_call *)call;

    if (!*own->message)
        snprintf(own->message, sizeof(own->message), "%s", message);
    return status;
}

static void on_log(struct sandlot_call *call, enum sandlot_log_level level, const char *message)
{
    struct sandlot_call *real = ((struct remote_call *)call)->real;

    real->host->log(real, level, message);
}

static const char *on_environment(struct sandlot_call *call, const char *name)
{
    struct sandlot_call *real = ((struct remote_call *)call)->real;

    return real->host->environment(real, name);
}

static void on_progress(struct sandlot_call *call, const char *what, uint64_t done, uint64_t total)
{
    struct sandlot_call *real = ((struct remote_call *)call)->real;

    real->host->progress(real, what, done, total);
}

static void on_created(struct sandlot_call *call, const char *id, const char *working_dir)
{
    struct sandlot_call *real = ((struct remote_call *)call)->real;

    real->host->created(real, id, working_dir);
}

void remote_call_init(struct remote_call *call, struct sandlot_call *real, int64_t limit_ms)
{
    *call = (struct remote_call){.real = real};
    call->host = (struct sandlot_host){.size = sizeof(call->host),
                                       .abi_major = real->host->abi_major,
                                       .abi_minor = real->host->abi_minor,
                                       .fail = on_fail,
                                       .log = on_log,
                                       .environment = on_environment,
                                       .progress = on_progress,
                                       .created = on_created};
    call->call = (struct sandlot_call){.size = sizeof(call->call),
                                       .host = &call->host,
                                       .deadline_ms = limit_ms ? sandlot_now_ms() + limit_ms : real->deadline_ms,
                                       .cancel_fd = limit_ms ? -1 : real->cancel_fd};
}
