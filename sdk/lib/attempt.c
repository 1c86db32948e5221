#include <sandlot/sdk/attempt.h>

static struct attempt *attempt_of(struct sandlot_call *call)
{
    return (struct attempt *)call;
}

static enum sandlot_status keep_reason(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    struct attempt *attempt = attempt_of(call);

    if (attempt->reason[0] == '\0')
        snprintf(attempt->reason, sizeof(attempt->reason), "%s", message);
    return status;
}

static void pass_log(struct sandlot_call *call, enum sandlot_log_level level, const char *message)
{
    struct sandlot_call *outer = attempt_of(call)->outer;

    outer->host->log(outer, level, message);
}

static const char *pass_environment(struct sandlot_call *call, const char *name)
{
    struct sandlot_call *outer = attempt_of(call)->outer;

    return outer->host->environment(outer, name);
}

static void pass_progress(struct sandlot_call *call, const char *what, uint64_t done, uint64_t total)
{
    struct sandlot_call *outer = attempt_of(call)->outer;

    outer->host->progress(outer, what, done, total);
}

static void pass_created(struct sandlot_call *call, const char *id, const char *working_dir)
{
    struct sandlot_call *outer = attempt_of(call)->outer;

    outer->host->created(outer, id, working_dir);
}

void attempt_begin(struct attempt *attempt, struct sandlot_call *outer, int64_t limit_ms)
{
    int64_t end_ms = sandlot_now_ms() + limit_ms;
    int64_t outer_ms = attempt_deadline(outer);

    attempt->outer = outer;
    attempt->reason[0] = '\0';
    attempt->inherited_ms = outer_ms;
    attempt->host = (struct sandlot_host){.size = sizeof(attempt->host),
                                          .abi_major = outer->host->abi_major,
                                          .abi_minor = outer->host->abi_minor,
                                          .fail = keep_reason,
                                          .log = pass_log,
                                          .environment = pass_environment,
                                          .progress = pass_progress,
                                          .created = pass_created};
    attempt->call = (struct sandlot_call){
        .size = sizeof(attempt->call), .host = &attempt->host, .deadline_ms = outer_ms, .cancel_fd = outer->cancel_fd};
    if (limit_ms > 0 && (outer_ms == 0 || end_ms < outer_ms))
        attempt->call.deadline_ms = end_ms;
}

void attempt_begin_urgent(struct attempt *attempt, struct sandlot_call *outer, int64_t limit_ms)
{
    attempt_begin(attempt, outer, 0);
    attempt->call.deadline_ms = sandlot_now_ms() + limit_ms;
    attempt->call.cancel_fd = -1;
}

int64_t attempt_deadline(const struct sandlot_call *call)
{
    while (call->host->fail == keep_reason && call->deadline_ms == ((const struct attempt *)call)->inherited_ms)
        call = ((const struct attempt *)call)->outer;
    return call->deadline_ms;
}

enum sandlot_status attempt_fail(const struct attempt *attempt, enum sandlot_status status)
{
    return sandlot_fail(attempt->outer, status, "%s",
                        *attempt->reason ? attempt->reason : "the attempt failed without a reason; try again");
}
