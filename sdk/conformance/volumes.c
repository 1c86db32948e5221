#include "volumes.h"

#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A folder of its own, for a provider may refuse what its sandboxes need. */
#define PLACE "/sandlot-kit-volume"

static const char file[] = PLACE "/kept";

/* The checks, and the name of their volume, which nobody else has. */
struct work {
    const struct live *live;
    char name[40];
};

static struct sandlot_session *open_with(const struct work *work, const char *mode, struct sandlot_error *error)
{
    struct sandlot_session_options options = live_options(work->live);
    const char *const volumes[] = {say("%s:" PLACE "%s", work->name, mode), NULL};

    options.volumes = volumes;
    return live_open(work->live, &options, error);
}

/* What a listing tells of it. */
struct found {
    const char *name;
    bool is_there;
    unsigned writers;
};

static bool keep_wanted(void *context, const struct sandlot_volume_state *volume)
{
    struct found *found = context;

    if (strcmp(volume->name, found->name) == 0) {
        found->is_there = true;
        found->writers = volume->writers;
    }
    return true;
}

static void check_listed(const struct work *work, const char *name, bool is_there, unsigned writers)
{
    const struct sandlot_target target = live_target(work->live);
    struct found found = {.name = work->name};
    struct sandlot_error error = {0};
    bool listed = sandlot_list_volumes(work->live->sandlot, &target, keep_wanted, &found, &error) == 0;

    tap_check(listed && found.is_there == is_there && found.writers == writers, name,
              say("%s, %u writers", is_there ? "listed" : "not listed", writers),
              listed ? say("%s, %u writers", found.is_there ? "listed" : "not listed", found.writers)
                     : error_shown(&error),
              "List what there is, and count the living sandboxes that have it.");
    sandlot_error_clear(&error);
}

static void check_deleted(const struct work *work, const char *name, bool works)
{
    const struct sandlot_target target = live_target(work->live);
    struct sandlot_error error = {0};
    bool deleted = sandlot_delete_volume(work->live->sandlot, &target, work->name, &error) == 0;

    tap_check(works ? deleted : !deleted && error.code == SANDLOT_CODE_QUOTA, name,
              works ? "success" : "the error quota", deleted ? "success" : error_shown(&error),
              works ? "Deleting what is not there (any more) is SANDLOT_OK."
                    : "A volume that a living sandbox has is SANDLOT_EXHAUSTED.");
    sandlot_error_clear(&error);
}

static void check_second_writer(const struct work *work)
{
    struct sandlot_error error = {0};
    struct sandlot_session *second = open_with(work, "", &error);

    tap_check(!second && error.code == SANDLOT_CODE_QUOTA, "a second writer", "the error quota",
              second ? "a sandbox" : error_shown(&error),
              "Without SANDLOT_VOLUME_MANY_WRITERS a volume has one writer at a time.");
    if (second)
        live_close(second, true, NULL);
    sandlot_error_clear(&error);
}

/* While SESSION, which has the volume, lives. */
static void check_in_use(const struct work *work, struct sandlot_session *session)
{
    live_write(session, "a file is written to the volume", file, "kept");
    check_listed(work, "the volume is listed", true, 1);
    check_second_writer(work);
    check_deleted(work, "a volume in use is not deleted", false);
    live_close(session, true, NULL);
}

static void check_next(const struct work *work)
{
    struct sandlot_error error = {0};
    struct sandlot_session *session = open_with(work, ":ro", &error);

    if (tap_check(session, "a sandbox that only reads the volume", "a sandbox", error_shown(&error),
                  "A volume outlives the sandbox that it was made for.")) {
        live_reads(session, "the file is there", file, "kept", "Keep what is in a volume.");
        live_expect(session, "and cannot be changed", "{ echo other >" PLACE "/kept; } 2>/dev/null || echo refused", 0,
                    "refused\n", "Heed SANDLOT_VOLUME_READ_ONLY.");
        live_close(session, true, NULL);
    }
    sandlot_error_clear(&error);
}

static void check_all(const struct work *work)
{
    struct sandlot_error error = {0};

    check_deleted(work, "a volume that is not there is deleted", true);
    struct sandlot_session *session = open_with(work, "", &error);

    if (tap_check(session, "a sandbox with a volume", "a sandbox", error_shown(&error), "Heed request->volumes.")) {
        check_in_use(work, session);
        check_next(work);
        check_deleted(work, "the volume is deleted", true);
        check_listed(work, "it is not listed any more", false, 0);
    }
    sandlot_error_clear(&error);
}

void check_volumes(const struct live *live)
{
    struct work work = {.live = live};

    if (!kit_has(live->kit, "volumes")) {
        tap_skip("volumes", "the provider has none");
        return;
    }
    snprintf(work.name, sizeof(work.name), "sandlot-kit-%ld-%d", (long)time(NULL), (int)getpid());
    check_all(&work);
}
