/* What keeps a sandbox's files: pausing, snapshots, forks; each where the note says that it is there. */
#include "cleanup.h"
#include "live.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static const char file[] = "kept-file";

/* What only some sandboxes of a provider can be asked for is no fault of it. */
static bool is_skipped(const char *name, bool done, const struct sandlot_error *error)
{
    if (done || error->code != SANDLOT_CODE_NOT_SUPPORTED)
        return false;
    tap_skip(name, error_shown(error));
    return true;
}

/* ---- pausing ----------------------------------------------------------------------------------------------------- */

static void check_pause(const struct live *live, const char *id)
{
    static const char advice[] = "Pausing what is paused, and resuming what runs, is SANDLOT_OK.";
    const struct sandlot_target target = live_target(live);
    struct sandlot_error error = {0};
    bool paused = sandlot_pause(live->sandlot, &target, id, &error) == 0;

    if (!is_skipped("pause", paused, &error) && tap_check(paused, "pause", "success", error_shown(&error), advice)) {
        tap_check(sandlot_pause(live->sandlot, &target, id, &error) == 0, "pause again", "success", error_shown(&error),
                  advice);
        sandlot_error_clear(&error);
        tap_check(sandlot_resume(live->sandlot, &target, id, &error) == 0, "resume", "success", error_shown(&error),
                  advice);
        sandlot_error_clear(&error);
        tap_check(sandlot_resume(live->sandlot, &target, id, &error) == 0, "resume again", "success",
                  error_shown(&error), advice);
    }
    sandlot_error_clear(&error);
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

struct snapshot_count {
    const char *id;
    size_t found;
};

static bool count_snapshot(void *context, const struct sandlot_listed_sandbox *snapshot)
{
    struct snapshot_count *count = context;

    count->found += strcmp(snapshot->id, count->id) == 0;
    return true;
}

static void check_listed(const struct live *live, const char *name, const char *use, size_t wanted)
{
    const struct sandlot_target target = live_target(live);
    struct snapshot_count count = {.id = use};
    struct sandlot_error error = {0};
    bool listed = sandlot_list_snapshots(live->sandlot, &target, count_snapshot, &count, &error) == 0;

    tap_check(listed && count.found == wanted, name, say("%s, %zu times", use, wanted),
              listed ? say("%zu times", count.found) : error_shown(&error),
              "What snapshot writes to RESULT, or NAME, is what list_snapshots lists, get_or_create starts from and "
              "delete_snapshot deletes.");
    sandlot_error_clear(&error);
}

static void check_start(const struct live *live, const char *use)
{
    struct sandlot_session_options options = live_options(live);
    struct sandlot_error error = {0};
    const char *starts = note_value(live->kit->provider, "snapshot_name");

    if (!starts || strcmp(starts, "yes") != 0) {
        tap_skip("a sandbox from the snapshot", "the metadata say that none starts from a snapshot");
        return;
    }
    options.snapshot_name = use;
    struct sandlot_session *session = live_open(live, &options, &error);

    if (tap_check(session, "a sandbox from the snapshot", "a sandbox", error_shown(&error),
                  "Start from request->snapshot, which is the text that snapshot told.")) {
        live_reads(session, "it has the files", file, "kept",
                   "Keep the files of the working directory as they are at that moment.");
        live_close(session, true, NULL);
    }
    sandlot_error_clear(&error);
}

static void check_snapshot_deleted(const struct live *live, const char *name, const char *use)
{
    const struct sandlot_target target = live_target(live);
    struct sandlot_error error = {0};

    tap_check(sandlot_delete_snapshot(live->sandlot, &target, use, &error) == 0, name, "success", error_shown(&error),
              "Deleting what is not there (any more) is SANDLOT_OK.");
    sandlot_error_clear(&error);
}

/* MAKE is sandlot_snapshot, or sandlot_snapshot_with_base: this sandbox began as no folder, so both keep the same. */
static void check_snapshot(const struct live *live, struct sandlot_session *session, const char *name,
                           __typeof__(&sandlot_snapshot) make)
{
    const char *id = sandlot_session_id(session);
    const struct sandlot_target target = live_target(live);
    struct sandlot_error error = {0};
    char *told = NULL;
    bool made = make(live->sandlot, &target, id, NULL, false, &told, &error) == 0;
    AUTO_FREE char *use = told;

    if (!is_skipped(name, made, &error) &&
        tap_check(made, name, "success", error_shown(&error), "Look at the message.") && use) {
        tap_remark("the snapshot %s is made, and deleted in a moment", use);
        check_listed(live, "the snapshot is listed as it was told", use, 1);
        live_write(session, "the original goes on", file, "changed");
        check_start(live, use);
        live_write(session, "the original goes back", file, "kept");
        check_snapshot_deleted(live, "the snapshot is deleted", use);
        check_snapshot_deleted(live, "the snapshot is deleted again", use);
        check_listed(live, "the snapshot is not listed any more", use, 0);
    }
    sandlot_error_clear(&error);
}

/* ---- forks ------------------------------------------------------------------------------------------------------- */

static void check_copy(const struct live *live, const char *id, const char *copy)
{
    struct sandlot_error error = {0};

    tap_check(strcmp(id, copy) != 0, "the fork has an id of its own", "another id", copy, "Make a second sandbox.");
    struct sandlot_session *session = live_attach(live, copy, &error);

    if (tap_check(session, "the fork can be attached to", "a session", error_shown(&error), "Tell its id.")) {
        live_reads(session, "the fork has the files", file, "kept", "Copy the files of the original.");
        live_write(session, "the fork goes on", file, "changed"); /* which the original must not notice */
        live_close(session, false, NULL);
    }
    sandlot_error_clear(&error);
    tap_check(live_delete(live, copy, &error), "the fork is deleted", "success", error_shown(&error),
              "A fork is a sandbox as any other.");
    sandlot_error_clear(&error);
}

static void check_fork(const struct live *live, const char *id)
{
    const struct sandlot_target target = live_target(live);
    struct sandlot_error error = {0};
    char *told = NULL;
    bool made = sandlot_fork(live->sandlot, &target, id, &told, &error) == 0;
    AUTO_FREE char *copy = told;

    if (copy)
        tap_record("made", copy);
    if (!is_skipped("a fork", made, &error) &&
        tap_check(made, "a fork", "success", error_shown(&error), "Look at the message.") && copy)
        check_copy(live, id, copy);
    sandlot_error_clear(&error);
}

/* ---- in one ------------------------------------------------------------------------------------------------------ */

static void check_all(const struct live *live)
{
    const struct kit *kit = live->kit;
    struct sandlot_session *session = live_sandbox(live);
    const char *id = session ? sandlot_session_id(session) : NULL;

    if (!session)
        return;
    live_write(session, "a file that is to be kept", file, "kept");
    if (kit_has(kit, "snapshot"))
        check_snapshot(live, session, "a snapshot", sandlot_snapshot);
    if (kit_has(kit, "snapshot-base"))
        check_snapshot(live, session, "a snapshot with its base", sandlot_snapshot_with_base);
    if (kit_has(kit, "fork"))
        check_fork(live, id);
    if (kit_has(kit, "pause"))
        check_pause(live, id);
    live_reads(session, "the original has its files still", file, "kept", "None of this may change them.");
    live_close(session, true, NULL);
}

void group_snapshots(const struct kit *kit)
{
    struct live live;

    if (!kit_has(kit, "pause") && !kit_has(kit, "snapshot") && !kit_has(kit, "fork")) {
        tap_skip("pausing, snapshots, forks", "the provider has none of these");
        return;
    }
    if (!live_begin(&live, kit, false))
        return;
    check_all(&live);
    live_end(&live);
}
