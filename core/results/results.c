/* The public operations on results of work. */
#include "results/apply.h"
#include "results/export.h"
#include "results/import.h"

#include "base/error.h"
#include "operations/local_file.h"

#include <errno.h>
#include <string.h>

int sandlot_import(struct sandlot_session *session, const char *folder, const char *const *exclude,
                   struct sandlot_cancellation *cancellation, struct sandlot_error *error)
{
    const struct import_request request = {.folder = folder, .exclude = exclude, .cancellation = cancellation};
    struct import_count count;

    if (!folder || !*folder)
        return error_set(error, SANDLOT_CODE_USAGE, "the folder must not be empty");
    return import_folder(session, &request, &count, error);
}

int sandlot_list_changes(struct sandlot_session *session, const struct sandlot_changes_request *request,
                         bool (*each)(void *context, const struct sandlot_change *change), void *context,
                         struct sandlot_error *error)
{
    struct results results;
    int failed = results_gather(session, request, JUDGE_LIST, true, &results, error);

    for (size_t i = 0; i < results.count && !failed; i++) {
        const struct sandlot_change change = results_public(&results.changes[i]);

        if (!each(context, &change))
            break;
    }
    results_clear(&results);
    return failed;
}

/* A descriptor of the caller's. */
struct descriptor {
    int fd;
    int reason; /* errno of what could not be written */
};

static bool write_out(void *context, const void *bytes, size_t length)
{
    struct descriptor *descriptor = context;

    if (local_write(descriptor->fd, bytes, length) < 0)
        descriptor->reason = errno;
    return !descriptor->reason;
}

int sandlot_export_changes(struct sandlot_session *session, const struct sandlot_changes_request *request,
                           enum sandlot_export_format format, int fd, struct sandlot_error *error)
{
    bool patch = format == SANDLOT_EXPORT_PATCH;
    struct descriptor descriptor = {.fd = fd};
    struct results results;
    int failed = results_gather(session, request, patch ? JUDGE_PATCH : JUDGE_ALL, patch, &results, error);

    if (!failed)
        failed = export_write(&results, format, false, write_out, &descriptor, error);
    results_clear(&results);
    if (!failed && descriptor.reason)
        failed = error_set(error, descriptor.reason == ENOSPC ? SANDLOT_CODE_NO_SPACE : SANDLOT_CODE_INTERNAL_ERROR,
                           "the changes could not be written: %s", strerror(descriptor.reason));
    return failed;
}

int sandlot_apply_changes(struct sandlot_session *session, const struct sandlot_changes_request *request,
                          bool (*each)(void *context, const struct sandlot_change *change,
                                       const struct sandlot_error *problem),
                          void *context, struct sandlot_error *error)
{
    struct results results;
    int failed = results_gather(session, request, JUDGE_ALL, true, &results, error);

    if (!failed)
        failed = apply_write(&results, each, context, error);
    results_clear(&results);
    return failed;
}
