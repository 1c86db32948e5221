/* The asynchronous forms of the operations on background processes. */
#include "operations/jobs.h"

static int run_start_process(struct sandlot_session *session, const void *request,
                             const struct job_arguments *arguments, struct sandlot_error *error)
{
    return sandlot_start_process(session, request, arguments->output, error);
}

struct sandlot_job *sandlot_submit_start_process(struct sandlot_session *session, const struct sandlot_start *request,
                                                 char id[SANDLOT_PROCESS_ID_SIZE], struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_start, run_start_process);

    return job_submit(session, &call, request, (struct job_arguments){.output = id}, error);
}

static int run_follow_process(struct sandlot_session *session, const void *request,
                              const struct job_arguments *arguments, struct sandlot_error *error)
{
    return sandlot_follow_process(session, request, arguments->output, arguments->more, error);
}

struct sandlot_job *sandlot_submit_follow_process(struct sandlot_session *session, const struct sandlot_follow *request,
                                                  uint64_t *next, struct sandlot_process *process,
                                                  struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_follow, run_follow_process);

    return job_submit(session, &call, request, (struct job_arguments){.output = next, .more = process}, error);
}

static int run_signal_process(struct sandlot_session *session, const void *request,
                              const struct job_arguments *arguments, struct sandlot_error *error)
{
    (void)arguments;
    return sandlot_signal_process(session, request, error);
}

struct sandlot_job *sandlot_submit_signal_process(struct sandlot_session *session, const struct sandlot_signal *request,
                                                  struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_signal, run_signal_process);

    return job_submit(session, &call, request, (struct job_arguments){0}, error);
}

/* What the blocking call takes one by one. */
struct process_listing {
    size_t size;
    bool (*each)(void *context, const struct sandlot_process *process);
    void *context;
    struct sandlot_cancellation *cancellation;
};

static int run_list_processes(struct sandlot_session *session, const void *request,
                              const struct job_arguments *arguments, struct sandlot_error *error)
{
    const struct process_listing *listing = request;

    (void)arguments;
    return sandlot_list_processes(session, listing->cancellation, listing->each, listing->context, error);
}

struct sandlot_job *sandlot_submit_list_processes(struct sandlot_session *session,
                                                  bool (*each)(void *context, const struct sandlot_process *process),
                                                  void *context, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(process_listing, run_list_processes);
    const struct process_listing listing = {.size = sizeof(listing), .each = each, .context = context};

    return job_submit(session, &call, &listing, (struct job_arguments){0}, error);
}

struct process_input {
    size_t size;
    const char *id;
    const void *bytes;
    size_t length;
    bool close;
    struct sandlot_cancellation *cancellation;
};

static int run_write_process(struct sandlot_session *session, const void *request,
                             const struct job_arguments *arguments, struct sandlot_error *error)
{
    const struct process_input *input = request;

    return sandlot_write_process(session, input->id, input->bytes, input->length, input->close, arguments->output,
                                 input->cancellation, error);
}

struct sandlot_job *sandlot_submit_write_process(struct sandlot_session *session, const char *id, const void *bytes,
                                                 size_t length, bool close, uint64_t *taken,
                                                 struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(process_input, run_write_process);
    const struct process_input input = {
        .size = sizeof(input), .id = id, .bytes = bytes, .length = length, .close = close};

    return job_submit(session, &call, &input, (struct job_arguments){.output = taken}, error);
}
