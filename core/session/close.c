/* The end of a session: delete what it owns, leave what is to stay, settle the ledger. */
#include "session/session.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "session/network.h"

#include <stdlib.h>
#include <unistd.h>

enum { CLOSE_MS = 60 * 1000 };

const char *sandlot_session_id(const struct sandlot_session *session)
{
    return session->id;
}

const char *sandlot_session_provider(const struct sandlot_session *session)
{
    return session->provider->entry->name;
}

const char *sandlot_session_working_dir(const struct sandlot_session *session)
{
    return session->working_dir;
}

void session_release_handle(struct sandlot_session *session)
{
    if (session->has_handle && session->provider->table.release)
        session->provider->table.release(session->provider->instance, session->sandbox);
    session->has_handle = false;
}

void session_free(struct sandlot_session *session)
{
    if (!session || atomic_fetch_sub(&session->jobs, 1) > 0)
        return;
    leftovers_sweep_end(session->sweep);
    session_roots_clear(&session->roots);
    process_cursors_clear(&session->cursors);
    session_release_handle(session);
    provider_unload(session->provider);
    ledger_record_free(session->record);
    path_locks_destroy(&session->path_locks);
    if (session->turn_fd >= 0)
        close(session->turn_fd);
    free(session->id);
    free(session->working_dir);
    free(session);
}

int sandlot_session_detach(struct sandlot_session *session, struct sandlot_error *error)
{
    if (!session->keep)
        return error_set(error, SANDLOT_CODE_USAGE, "only a session that was opened with `keep` can be detached");
    if (!session->record)
        return 0;
    /* Without the lock the record is written all the same: a sandbox that is to stay must not be lost. */
    AUTO_CLOSE int lock = sandlot_can_change_network(session) ? session_network_lock(session, -1, NULL) : -1;

    if (lock >= 0)
        session_network_refresh(session);
    session->record->kept = true;
    if (ledger_write(session->record, error) == 0)
        return 0;
    session->record->kept = false;
    return -1;
}

static int delete_own_sandbox(struct sandlot_session *session, struct sandlot_error *error)
{
    struct sandlot_error why = {0};

    if (session_delete_at_provider(session->provider, session->id, sandlot_now_ms() + CLOSE_MS, -1, &why) == 0)
        return ledger_remove(session->record->label, error);
    error_set(error, why.code,
              "%s; sandbox %s is still there: delete it with `sandlot delete --sandbox %s %s`, or later `sandlot gc`",
              why.message, session->id, session->provider->entry->name, session->id);
    sandlot_error_clear(&why);
    return -1;
}

int sandlot_session_close(struct sandlot_session *session, struct sandlot_error *error)
{
    int result = 0;

    if (!session)
        return 0;
    if (session->record && session->keep)
        result = session->record->kept ? 0 : sandlot_session_detach(session, error);
    else if (session->record)
        result = delete_own_sandbox(session, error);
    session_free(session);
    return result;
}
