/* The asynchronous form of a tool's call. */
#include "operations/jobs.h"

static int run_tool(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                    struct sandlot_error *error)
{
    return sandlot_call_tool(session, request, arguments->output, error);
}

struct sandlot_job *sandlot_submit_tool(struct sandlot_session *session, const struct sandlot_tool_call *call,
                                        struct sandlot_tool_answer *answer, struct sandlot_error *error)
{
    static const struct job_call row = JOB_CALL(sandlot_tool_call, run_tool);

    return job_submit(session, &row, call, (struct job_arguments){.output = answer}, error);
}
