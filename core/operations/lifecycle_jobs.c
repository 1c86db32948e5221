/* The asynchronous forms of the calls that need no session: lists, pausing, snapshots, forks, volumes, leftovers. */
#include "operations/jobs.h"

static int run_list(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                    struct sandlot_error *error)
{
    (void)session;
    return sandlot_list(arguments->sandlot, request, arguments->each_sandbox, arguments->context, error);
}

struct sandlot_job *sandlot_submit_list(struct sandlot *sandlot, const struct sandlot_target *target,
                                        bool (*each)(void *context, const struct sandlot_listed_sandbox *sandbox),
                                        void *context, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_target, run_list);

    return job_submit(NULL, &call, target,
                      (struct job_arguments){.sandlot = sandlot, .each_sandbox = each, .context = context}, error);
}

static int run_pause(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                     struct sandlot_error *error)
{
    (void)session;
    return sandlot_pause(arguments->sandlot, request, arguments->id, error);
}

struct sandlot_job *sandlot_submit_pause(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                                         struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_target, run_pause);

    return job_submit(NULL, &call, target, (struct job_arguments){.sandlot = sandlot, .id = id}, error);
}

static int run_resume(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                      struct sandlot_error *error)
{
    (void)session;
    return sandlot_resume(arguments->sandlot, request, arguments->id, error);
}

struct sandlot_job *sandlot_submit_resume(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                                          struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_target, run_resume);

    return job_submit(NULL, &call, target, (struct job_arguments){.sandlot = sandlot, .id = id}, error);
}

static int run_snapshot(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                        struct sandlot_error *error)
{
    (void)session;
    return sandlot_snapshot(arguments->sandlot, request, arguments->id, arguments->name, arguments->replace,
                            arguments->output, error);
}

struct sandlot_job *sandlot_submit_snapshot(struct sandlot *sandlot, const struct sandlot_target *target,
                                            const char *id, const char *name, bool replace, char **use,
                                            struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_target, run_snapshot);

    return job_submit(
        NULL, &call, target,
        (struct job_arguments){.sandlot = sandlot, .id = id, .name = name, .replace = replace, .output = use}, error);
}

static int run_snapshot_with_base(struct sandlot_session *session, const void *request,
                                  const struct job_arguments *arguments, struct sandlot_error *error)
{
    (void)session;
    return sandlot_snapshot_with_base(arguments->sandlot, request, arguments->id, arguments->name, arguments->replace,
                                      arguments->output, error);
}

struct sandlot_job *sandlot_submit_snapshot_with_base(struct sandlot *sandlot, const struct sandlot_target *target,
                                                      const char *id, const char *name, bool replace, char **use,
                                                      struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_target, run_snapshot_with_base);

    return job_submit(
        NULL, &call, target,
        (struct job_arguments){.sandlot = sandlot, .id = id, .name = name, .replace = replace, .output = use}, error);
}

static int run_list_snapshots(struct sandlot_session *session, const void *request,
                              const struct job_arguments *arguments, struct sandlot_error *error)
{
    (void)session;
    return sandlot_list_snapshots(arguments->sandlot, request, arguments->each_sandbox, arguments->context, error);
}

struct sandlot_job *sandlot_submit_list_snapshots(struct sandlot *sandlot, const struct sandlot_target *target,
                                                  bool (*each)(void *context,
                                                               const struct sandlot_listed_sandbox *snapshot),
                                                  void *context, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_target, run_list_snapshots);

    return job_submit(NULL, &call, target,
                      (struct job_arguments){.sandlot = sandlot, .each_sandbox = each, .context = context}, error);
}

static int run_delete_snapshot(struct sandlot_session *session, const void *request,
                               const struct job_arguments *arguments, struct sandlot_error *error)
{
    (void)session;
    return sandlot_delete_snapshot(arguments->sandlot, request, arguments->name, error);
}

struct sandlot_job *sandlot_submit_delete_snapshot(struct sandlot *sandlot, const struct sandlot_target *target,
                                                   const char *name, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_target, run_delete_snapshot);

    return job_submit(NULL, &call, target, (struct job_arguments){.sandlot = sandlot, .name = name}, error);
}

static int run_list_volumes(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                            struct sandlot_error *error)
{
    (void)session;
    return sandlot_list_volumes(arguments->sandlot, request, arguments->each_volume, arguments->context, error);
}

struct sandlot_job *sandlot_submit_list_volumes(struct sandlot *sandlot, const struct sandlot_target *target,
                                                bool (*each)(void *context, const struct sandlot_volume_state *volume),
                                                void *context, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_target, run_list_volumes);

    return job_submit(NULL, &call, target,
                      (struct job_arguments){.sandlot = sandlot, .each_volume = each, .context = context}, error);
}

static int run_delete_volume(struct sandlot_session *session, const void *request,
                             const struct job_arguments *arguments, struct sandlot_error *error)
{
    (void)session;
    return sandlot_delete_volume(arguments->sandlot, request, arguments->name, error);
}

struct sandlot_job *sandlot_submit_delete_volume(struct sandlot *sandlot, const struct sandlot_target *target,
                                                 const char *name, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_target, run_delete_volume);

    return job_submit(NULL, &call, target, (struct job_arguments){.sandlot = sandlot, .name = name}, error);
}

static int run_fork(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                    struct sandlot_error *error)
{
    (void)session;
    return sandlot_fork(arguments->sandlot, request, arguments->id, arguments->output, error);
}

struct sandlot_job *sandlot_submit_fork(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                                        char **new_id, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_target, run_fork);

    return job_submit(NULL, &call, target, (struct job_arguments){.sandlot = sandlot, .id = id, .output = new_id},
                      error);
}

struct garbage_collection {
    size_t size;
    void (*each)(void *context, const char *provider, const char *id, const struct sandlot_error *problem);
    void *context;
    struct sandlot_cancellation *cancellation;
};

static int run_collect_garbage(struct sandlot_session *session, const void *request,
                               const struct job_arguments *arguments, struct sandlot_error *error)
{
    const struct garbage_collection *collection = request;

    (void)session;
    return sandlot_collect_garbage(arguments->sandlot, collection->each, collection->context, collection->cancellation,
                                   error);
}

struct sandlot_job *sandlot_submit_collect_garbage(struct sandlot *sandlot,
                                                   void (*each)(void *context, const char *provider, const char *id,
                                                                const struct sandlot_error *problem),
                                                   void *context, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(garbage_collection, run_collect_garbage);
    const struct garbage_collection collection = {.size = sizeof(collection), .each = each, .context = context};

    return job_submit(NULL, &call, &collection, (struct job_arguments){.sandlot = sandlot}, error);
}
