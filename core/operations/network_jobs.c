/* The asynchronous forms of the calls about a sandbox's network and its ports. */
#include "operations/jobs.h"

struct network_question {
    size_t size;
    void (*tell)(void *context, const struct sandlot_network_state *state);
    void *context;
    struct sandlot_cancellation *cancellation;
};

static int run_show_network(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                            struct sandlot_error *error)
{
    const struct network_question *question = request;

    (void)arguments;
    return sandlot_show_network(session, question->tell, question->context, question->cancellation, error);
}

struct sandlot_job *sandlot_submit_show_network(struct sandlot_session *session,
                                                void (*tell)(void *context, const struct sandlot_network_state *state),
                                                void *context, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(network_question, run_show_network);
    const struct network_question question = {.size = sizeof(question), .tell = tell, .context = context};

    return job_submit(session, &call, &question, (struct job_arguments){0}, error);
}

static int run_change_network(struct sandlot_session *session, const void *request,
                              const struct job_arguments *arguments, struct sandlot_error *error)
{
    (void)arguments;
    return sandlot_change_network(session, request, error);
}

struct sandlot_job *sandlot_submit_change_network(struct sandlot_session *session,
                                                  const struct sandlot_network_change *change,
                                                  struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_network_change, run_change_network);

    return job_submit(session, &call, change, (struct job_arguments){0}, error);
}

struct log_reading {
    size_t size;
    uint64_t after;
    bool (*each)(void *context, const struct sandlot_network_event *event);
    void *context;
    struct sandlot_cancellation *cancellation;
};

static int run_read_network_log(struct sandlot_session *session, const void *request,
                                const struct job_arguments *arguments, struct sandlot_error *error)
{
    const struct log_reading *reading = request;

    (void)arguments;
    return sandlot_read_network_log(session, reading->after, reading->each, reading->context, reading->cancellation,
                                    error);
}

struct sandlot_job *sandlot_submit_read_network_log(struct sandlot_session *session, uint64_t after,
                                                    bool (*each)(void *context,
                                                                 const struct sandlot_network_event *event),
                                                    void *context, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(log_reading, run_read_network_log);
    const struct log_reading reading = {.size = sizeof(reading), .after = after, .each = each, .context = context};

    return job_submit(session, &call, &reading, (struct job_arguments){0}, error);
}

struct url_question {
    size_t size;
    uint16_t port;
    int64_t ttl_ms;
    struct sandlot_cancellation *cancellation; /* every request has one; the blocking call takes none */
};

static int run_port_url(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                        struct sandlot_error *error)
{
    const struct url_question *question = request;

    return sandlot_port_url(session, question->port, question->ttl_ms, arguments->output, error);
}

struct sandlot_job *sandlot_submit_port_url(struct sandlot_session *session, uint16_t port, int64_t ttl_ms,
                                            struct sandlot_port_url *url, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(url_question, run_port_url);
    const struct url_question question = {.size = sizeof(question), .port = port, .ttl_ms = ttl_ms};

    return job_submit(session, &call, &question, (struct job_arguments){.output = url}, error);
}
