/* The asynchronous forms of the operations on files and of terminals. */
#include "operations/jobs.h"

static int run_read_file(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                         struct sandlot_error *error)
{
    return sandlot_read_file(session, request, arguments->output, error);
}

struct sandlot_job *sandlot_submit_read_file(struct sandlot_session *session, const struct sandlot_read *request,
                                             struct sandlot_page *page, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_read, run_read_file);

    return job_submit(session, &call, request, (struct job_arguments){.output = page}, error);
}

static int run_write_file(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                          struct sandlot_error *error)
{
    (void)arguments;
    return sandlot_write_file(session, request, error);
}

struct sandlot_job *sandlot_submit_write_file(struct sandlot_session *session, const struct sandlot_write *request,
                                              struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_write, run_write_file);

    return job_submit(session, &call, request, (struct job_arguments){0}, error);
}

static int run_edit_file(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                         struct sandlot_error *error)
{
    return sandlot_edit_file(session, request, arguments->output, error);
}

struct sandlot_job *sandlot_submit_edit_file(struct sandlot_session *session, const struct sandlot_edit *request,
                                             uint64_t *occurrences, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_edit, run_edit_file);

    return job_submit(session, &call, request, (struct job_arguments){.output = occurrences}, error);
}

static int run_remove_file(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                           struct sandlot_error *error)
{
    (void)arguments;
    return sandlot_remove_file(session, request, error);
}

struct sandlot_job *sandlot_submit_remove_file(struct sandlot_session *session, const struct sandlot_remove *request,
                                               struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_remove, run_remove_file);

    return job_submit(session, &call, request, (struct job_arguments){0}, error);
}

static int run_list_directory(struct sandlot_session *session, const void *request,
                              const struct job_arguments *arguments, struct sandlot_error *error)
{
    return sandlot_list_directory(session, request, arguments->each_entry, arguments->context, error);
}

struct sandlot_job *sandlot_submit_list_directory(struct sandlot_session *session, const struct sandlot_ls *request,
                                                  bool (*each)(void *context, const struct sandlot_file_entry *entry),
                                                  void *context, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_ls, run_list_directory);

    return job_submit(session, &call, request, (struct job_arguments){.each_entry = each, .context = context}, error);
}

static int run_find_files(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                          struct sandlot_error *error)
{
    return sandlot_find_files(session, request, arguments->each_entry, arguments->context, arguments->output, error);
}

struct sandlot_job *sandlot_submit_find_files(struct sandlot_session *session, const struct sandlot_glob *request,
                                              bool (*each)(void *context, const struct sandlot_file_entry *entry),
                                              void *context, bool *truncated, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_glob, run_find_files);

    return job_submit(session, &call, request,
                      (struct job_arguments){.output = truncated, .each_entry = each, .context = context}, error);
}

static int run_search_files(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                            struct sandlot_error *error)
{
    return sandlot_search_files(session, request, arguments->each_match, arguments->context, arguments->output, error);
}

struct sandlot_job *sandlot_submit_search_files(struct sandlot_session *session, const struct sandlot_grep *request,
                                                bool (*each)(void *context, const struct sandlot_match *match),
                                                void *context, bool *truncated, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_grep, run_search_files);

    return job_submit(session, &call, request,
                      (struct job_arguments){.output = truncated, .each_match = each, .context = context}, error);
}

static int run_upload(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                      struct sandlot_error *error)
{
    (void)arguments;
    return sandlot_upload(session, request, error);
}

struct sandlot_job *sandlot_submit_upload(struct sandlot_session *session,
                                          const struct sandlot_transfer_request *request, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_transfer_request, run_upload);

    return job_submit(session, &call, request, (struct job_arguments){0}, error);
}

static int run_download(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                        struct sandlot_error *error)
{
    (void)arguments;
    return sandlot_download(session, request, error);
}

struct sandlot_job *sandlot_submit_download(struct sandlot_session *session,
                                            const struct sandlot_transfer_request *request, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_transfer_request, run_download);

    return job_submit(session, &call, request, (struct job_arguments){0}, error);
}

static int run_upload_from_memory(struct sandlot_session *session, const void *request,
                                  const struct job_arguments *arguments, struct sandlot_error *error)
{
    (void)arguments;
    return sandlot_upload_from_memory(session, request, error);
}

struct sandlot_job *sandlot_submit_upload_from_memory(struct sandlot_session *session,
                                                      const struct sandlot_upload_bytes *request,
                                                      struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_upload_bytes, run_upload_from_memory);

    return job_submit(session, &call, request, (struct job_arguments){0}, error);
}

static int run_download_to_memory(struct sandlot_session *session, const void *request,
                                  const struct job_arguments *arguments, struct sandlot_error *error)
{
    return sandlot_download_to_memory(session, request, arguments->output, error);
}

struct sandlot_job *sandlot_submit_download_to_memory(struct sandlot_session *session,
                                                      const struct sandlot_download_bytes *request,
                                                      struct sandlot_bytes *bytes, struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_download_bytes, run_download_to_memory);

    return job_submit(session, &call, request, (struct job_arguments){.output = bytes}, error);
}

static int run_run_terminal(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
                            struct sandlot_error *error)
{
    return sandlot_run_terminal(session, request, arguments->output, error);
}

struct sandlot_job *sandlot_submit_run_terminal(struct sandlot_session *session,
                                                const struct sandlot_terminal_request *request, int *exit_code,
                                                struct sandlot_error *error)
{
    static const struct job_call call = JOB_CALL(sandlot_terminal_request, run_run_terminal);

    return job_submit(session, &call, request, (struct job_arguments){.output = exit_code}, error);
}
