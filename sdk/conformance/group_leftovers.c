/* What the run left at the vendor, by the ledger, by ids and by labels; it is deleted, and looked for again. */
#include "direct.h"
#include "listing.h"
#include "live.h"
#include "stop.h"
#include "tap.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

/* A vendor may need a moment until its listing knows. */
enum { FIRST_PAUSE_MS = 200, LONGEST_LOOK_MS = 10000, TELLING_MS = 2000 };

/* Waits, but not when the group is to end. */
static void pause_for(int64_t ms)
{
    struct pollfd stop = {stop_descriptor(), POLLIN, 0};

    if (ms > 0)
        poll(&stop, 1, (int)ms);
}

/* ---- what is known ----------------------------------------------------------------------------------------------- */

static void collect(void *context, const char *provider, const char *id, const struct sandlot_error *problem)
{
    (void)context;
    (void)provider;
    if (problem)
        tap_remark("%s is still there: %s", id ? id : "a sandbox whose id was never heard", error_shown(problem));
    else
        tap_remark("%s was left by a group that did not end well, and was deleted",
                   id ? id : "a sandbox whose id was never heard");
    if (id && !problem)
        tap_record("gone", id);
}

/* By the ledger, and by the ids that groups have told. */
static void delete_known(const struct kit *kit)
{
    struct live live;
    struct sandlot_error error = {0};

    if (!live_begin(&live, kit, false))
        return;
    bool collected = sandlot_collect_garbage(live.sandlot, collect, NULL, stop_cancellation(), &error) == 0;
    const char *why = collected ? "" : error_shown(&error);

    for (size_t i = 0; i < kit->sandboxes.count; i++) {
        sandlot_error_clear(&error);
        if (kit->sandboxes.gone[i] || live_delete(&live, kit->sandboxes.ids[i], &error))
            continue;
        why = say("%s: %s", kit->sandboxes.ids[i], error_shown(&error));
        collected = false;
    }
    tap_check(collected, "all sandboxes of this run are deleted", "success", why,
              "Delete them by hand with the vendor's own tool, and look why delete_sandbox fails.");
    if (!collected)
        tap_record("ledger", "");
    sandlot_error_clear(&error);
    live_end(&live);
}

/* ---- what is listed ---------------------------------------------------------------------------------------------- */

/* Deletes what is listed, and looks again until nothing is or it takes too long. FOUND: what is listed still. */
static enum sandlot_status delete_listed(struct direct *direct, struct found *found)
{
    int64_t end_ms = sandlot_now_ms() + LONGEST_LOOK_MS;

    for (int64_t pause_ms = FIRST_PAUSE_MS;; pause_ms *= 2) {
        enum sandlot_status status = listing_find_ours(direct, found);

        if (status != SANDLOT_OK || found->count == 0 || sandlot_now_ms() + pause_ms > end_ms)
            return status;
        for (size_t i = 0; i < found->count; i++)
            direct_delete(direct, found->ids[i]);
        found_clear(found);
        pause_for(pause_ms);
    }
}

static void check_listed(const struct kit *kit)
{
    static const char name[] = "the vendor lists none of them any more";
    static struct direct direct;
    struct found found = {.count = 0};
    enum sandlot_status status = SANDLOT_INTERNAL;

    if (!kit_has(kit, "list")) {
        tap_skip(name, "the provider has no list");
        if (kit->sandboxes.settled_ms)
            tap_record("left", "a creation was cut off, and the provider has no list to see what came of it");
        return;
    }
    if (direct_load(kit, &direct) && direct.table->list && direct_open(&direct, NULL) == SANDLOT_OK)
        status = delete_listed(&direct, &found);
    const char *came = status != SANDLOT_OK ? say("the listing failed: %s: %s", status_name(status), direct.message)
                                            : say("%zu, such as %s", found.count, found.count ? found.ids[0] : "");

    if (!tap_check(status == SANDLOT_OK && found.count == 0, name,
                   say("neither an id of this run nor a label that begins with %s", kit->label), came,
                   status == SANDLOT_OK ? "Deleted sandboxes must leave the listing; delete these by hand."
                                        : "Mend list, and look by hand for what the run left."))
        tap_record("left", came);
    found_clear(&found);
    direct_close(&direct);
}

void group_leftovers(const struct kit *kit)
{
    int64_t left_ms = kit->cleanup_end_ms - sandlot_now_ms() - TELLING_MS;

    alarm(left_ms > 1000 ? (unsigned)(left_ms / 1000) : 1);
    if (kit->sandboxes.settled_ms)
        pause_for(kit->sandboxes.settled_ms - sandlot_now_ms());
    delete_known(kit);
    check_listed(kit);
}
