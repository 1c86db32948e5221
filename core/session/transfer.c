#include "session/transfer.h"

int session_transfer(struct sandlot_session *session, bool upload, const struct sandlot_file *files, size_t count,
                     const struct sandlot_transfer *transfer, int64_t deadline_ms, int cancel_fd,
                     struct sandlot_error *error)
{
    struct provider *provider = session->provider;
    const struct sandlot_provider *table = &provider->table;
    struct host_call call;

    if (cancellation_check(cancel_fd, error) < 0 ||
        session_take_turn(session, deadline_ms, cancel_fd, error) != SANDLOT_OK)
        return -1;
    host_call_init(&call, provider->entry->name, provider->environment, deadline_ms, cancel_fd);
    enum sandlot_status status = (upload ? table->upload : table->download)(&call.call, provider->instance,
                                                                            session->sandbox, files, count, transfer);

    session_give_turn_back(session);
    int failed = host_call_error(&call, status, upload ? "cannot upload" : "cannot download", true, error);

    host_call_clear(&call);
    return failed;
}
