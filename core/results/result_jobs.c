/* The asynchronous forms of the calls that bring results of work home. */
#include "operations/jobs.h"

struct import_request {
    size_t size;
    const char *folder;
    const char *const *exclude;
    struct sandlot_cancellation *cancellation;
};

static int run_import(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                      struct sandlot_error *error)
{
    const struct import_request *import = request;

    (void)arguments;
    return sandlot_import(session, import->folder, import->exclude, import->cancellation, error);
}

struct sandlot_job *sandlot_submit_import(struct sandlot_session *session, const char *folder,
                                          const char *const *exclude, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL_WITH(JOB_TREES_DESCRIPTORS, import_request, run_import);
    const struct import_request import = {.size = sizeof(import), .folder = folder, .exclude = exclude};

    return job_submit(session, &call, &import, (struct job_arguments){0}, error);
}

static int run_list_changes(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                            struct sandlot_error *error)
{
    return sandlot_list_changes(session, request, arguments->each_change, arguments->context, error);
}

struct sandlot_job *sandlot_submit_list_changes(struct sandlot_session *session,
                                                const struct sandlot_changes_request *request,
                                                bool (*each)(void *context, const struct sandlot_change *change),
                                                void *context, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL_WITH(JOB_TREES_DESCRIPTORS, sandlot_changes_request, run_list_changes);

    return job_submit(session, &call, request, (struct job_arguments){.each_change = each, .context = context}, error);
}

static int run_export_changes(struct sandlot_session *session, const void *request,
                              const struct job_arguments *arguments, struct sandlot_error *error)
{
    return sandlot_export_changes(session, request, arguments->format, arguments->fd, error);
}

struct sandlot_job *sandlot_submit_export_changes(struct sandlot_session *session,
                                                  const struct sandlot_changes_request *request,
                                                  enum sandlot_export_format format, int fd,
                                                  struct sandlot_error *error)
{
    static const struct job_call call =
        JOB_CALL_WITH(JOB_TREES_DESCRIPTORS, sandlot_changes_request, run_export_changes);

    return job_submit(session, &call, request, (struct job_arguments){.format = format, .fd = fd}, error);
}

static int run_apply_changes(struct sandlot_session *session, const void *request,
                             const struct job_arguments *arguments, struct sandlot_error *error)
{
    return sandlot_apply_changes(session, request, arguments->each_applied, arguments->context, error);
}

struct sandlot_job *sandlot_submit_apply_changes(struct sandlot_session *session,
                                                 const struct sandlot_changes_request *request,
                                                 bool (*each)(void *context, const struct sandlot_change *change,
                                                              const struct sandlot_error *problem),
                                                 void *context, struct sandlot_error *error)
{
    static const struct job_call call =
        JOB_CALL_WITH(JOB_TREES_DESCRIPTORS, sandlot_changes_request, run_apply_changes);

    return job_submit(session, &call, request, (struct job_arguments){.each_applied = each, .context = context}, error);
}
