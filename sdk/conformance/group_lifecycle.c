/* A sandbox's life: made, used, left, found again, deleted, and not there any more. */
#include "cleanup.h"
#include "direct.h"
#include "listing.h"
#include "live.h"
#include "tap.h"
#include "volumes.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

enum { LATEST_ANSWER_MS = 1500 };

/* ---- listings ---------------------------------------------------------------------------------------------------- */

/* What a listing is searched for. */
struct search {
    const char *id;
    bool found;
    size_t times;
    size_t count;
    char state[64];
    int64_t created_at_ms;
};

static bool look(void *context, const struct sandlot_listed_sandbox *sandbox)
{
    struct search *search = context;

    search->count++;
    if (search->id && strcmp(sandbox->id, search->id) == 0) {
        search->found = true;
        search->times++;
        search->created_at_ms = sandbox->created_at_ms;
        snprintf(search->state, sizeof(search->state), "%s", sandbox->state);
    }
    return true;
}

static bool list(const struct live *live, struct search *search, struct sandlot_error *error)
{
    static bool is_broken; /* a listing that hangs is waited for once */
    struct sandlot_target target = live_target(live);

    is_broken = is_broken || sandlot_list(live->sandlot, &target, look, search, error) != 0;
    return !is_broken;
}

static bool is_word(const char *text)
{
    for (const char *at = text; *at; at++)
        if (isupper((unsigned char)*at) || isspace((unsigned char)*at))
            return false;
    return *text;
}

static void check_listed(const struct live *live, const char *id)
{
    struct search search = {.id = id};
    struct sandlot_error error = {0};

    if (!kit_has(live->kit, "list")) {
        tap_skip("a new sandbox is listed", "the provider has no list");
        return;
    }
    bool listed = list(live, &search, &error);

    tap_check(listed && search.found, "a new sandbox is listed", "list shows its id",
              listed ? say("%zu others, but not %s", search.count, id) : error_shown(&error),
              "Pass all that the vendor shows to listing->add, and its cursor to listing->next.");
    tap_check(search.times < 2, "it is listed once", "once", say("%zu times", search.times),
              "Begin a page where the one before it ended.");
    tap_check(search.found && is_word(search.state), "its state is a word in lower case", "such as running",
              search.found ? search.state : "it is not listed", "Set state in what is passed to listing->add.");
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age_s = (int64_t)now.tv_sec - search.created_at_ms / 1000;

    tap_check(search.created_at_ms == 0 || (age_s > -600 && age_s < 3600), "its time of creation", "0, or just now",
              say("%lld s ago", (long long)age_s), "created_at_ms is in milliseconds of UTC since 1970.");
    sandlot_error_clear(&error);
}

/* ---- one sandbox ------------------------------------------------------------------------------------------------- */

static void check_working_dir(const struct live *live, struct sandlot_session *session)
{
    const char *working_dir = sandlot_session_working_dir(session);
    const char *noted = note_value(live->kit->provider, "working_dir");
    struct outcome outcome = live_run(session, "pwd");

    tap_check(outcome_is(&outcome, 0, say("%s\n", working_dir), strlen(working_dir) + 1), "the working directory",
              say("commands start in %s, as the provider says", working_dir), outcome_shown(&outcome),
              "Correct working_dir in the metadata, or what host->created is told.");
    if (strcmp(working_dir, noted ? noted : "/workspace") != 0)
        tap_remark("the working directory is %s, not the %s of the metadata", working_dir,
                   noted ? noted : "/workspace");
    outcome_clear(&outcome);
}

/* Attaches to ID, which must not be there, and must not come to be by that. */
static void check_absent(const struct live *live, const char *name, const char *id)
{
    struct sandlot_error error = {0};
    struct search before = {.id = NULL};
    struct search after = {.id = id};
    bool lists = kit_has(live->kit, "list") && list(live, &before, NULL);
    struct sandlot_session *session = live_attach(live, id, &error);

    if (lists)
        list(live, &after, NULL);
    tap_check(!session && error.code == SANDLOT_CODE_SANDBOX_NOT_FOUND && !after.found, name,
              "attaching fails with sandbox_not_found and makes nothing",
              session       ? "it attached to something"
              : after.found ? "it is listed afterwards"
                            : error_shown(&error),
              "With request->sandbox_id look the sandbox up, and fail with SANDLOT_NOT_FOUND; never create.");
    if (session && live_close(session, false, NULL))
        live_delete(live, id, NULL);
    sandlot_error_clear(&error);
}

static void check_delete(const struct live *live, const char *name, const char *id)
{
    struct sandlot_error error = {0};
    bool deleted = live_delete(live, id, &error);

    tap_check(deleted, name, "success", error_shown(&error),
              "Deleting what is not there (any more) is SANDLOT_OK; translate the vendor's 404.");
    sandlot_error_clear(&error);
}

/* An id of the same shape that no sandbox has. */
static const char *other_id(const char *id)
{
    char *other = (char *)(uintptr_t)say("%s", id);

    for (size_t i = strlen(other); i-- > 0;) {
        if (!isalnum((unsigned char)other[i]))
            continue;
        other[i] = other[i] == '0' ? '1' : '0';
        break;
    }
    return other;
}

static void check_attach(const struct live *live, const char *id)
{
    struct sandlot_error error = {0};
    struct sandlot_session *session = live_attach(live, id, &error);

    if (tap_check(session, "attach by id", "a session", error_shown(&error),
                  "Serve request->sandbox_id in get_or_create.")) {
        tap_check(strcmp(sandlot_session_id(session), id) == 0, "the id is the same", id, sandlot_session_id(session),
                  "Tell host->created the id that was asked for.");
        live_reads(session, "the file is still there", "kept-file", "kept",
                   "Attach to the same sandbox, with its files, and do not start it afresh.");
        live_close(session, false, NULL);
    }
    sandlot_error_clear(&error);
    session = live_attach(live, id, NULL);
    tap_check(session, "closing leaves what was attached to", "it can be attached to again", "it is gone",
              "release frees the handle only; delete_sandbox alone ends a sandbox.");
    if (session)
        live_close(session, false, NULL);
}

static bool has_control_character(const char *text)
{
    while (*text && (unsigned char)*text >= ' ' && *text != 0x7f)
        text++;
    return *text;
}

/* Makes a sandbox that is left on purpose. Returns its id. */
static char *make_and_leave(const struct live *live)
{
    struct sandlot_session_options options = live_options(live);
    struct sandlot_error error = {0};

    options.keep = true;
    double begin = milliseconds();
    struct sandlot_session *session = live_open(live, &options, &error);
    double made = milliseconds();

    if (!tap_check(session, "create", "a sandbox", error_shown(&error),
                   "Look at the message; nothing works without this.")) {
        sandlot_error_clear(&error);
        return NULL;
    }
    tap_figure("create", made - begin, "ms");
    const char *id = sandlot_session_id(session);

    tap_check(*id && strlen(id) < 500 && !has_control_character(id), "its id",
              "a text of less than 500 bytes without control characters", id, "Tell host->created the id.");
    if (sandlot_session_can_execute(session)) {
        check_working_dir(live, session);
        begin = milliseconds();
        live_expect(session, "a command runs", "echo hello", 0, "hello\n", "Write the output to the sink as it is.");
        tap_figure("execute echo", milliseconds() - begin, "ms");
    } else {
        tap_skip("a command runs", "the provider serves files only");
    }
    live_write(session, "a file is made", "kept-file", "kept");
    check_listed(live, id);
    char *kept = strdup(id);
    bool left = sandlot_session_detach(session, &error) == 0;

    left = live_close(session, false, left ? &error : NULL) && left;
    tap_check(left, "detach and close", "success", error_shown(&error), "Look at the message.");
    sandlot_error_clear(&error);
    return kept;
}

static void check_life(const struct live *live)
{
    AUTO_FREE char *id = make_and_leave(live);
    const char *by_id = note_value(live->kit->provider, "sandbox_id");
    bool attaches = !by_id || strcmp(by_id, "no") != 0;

    if (!id)
        return;
    if (attaches)
        check_attach(live, id);
    else
        tap_skip("attach by id", "the metadata say that sandboxes cannot be attached to");
    double begin = milliseconds();

    check_delete(live, "delete", id);
    tap_figure("delete", milliseconds() - begin, "ms");
    check_delete(live, "delete again", id);
    check_delete(live, "delete of an unknown id", other_id(id));
    if (!attaches)
        return;
    check_absent(live, "attach to a deleted sandbox", id);
    check_absent(live, "attach to an unknown id", other_id(id));
    check_absent(live, "attach to an id of another shape", "no-such-sandbox");
}

/* ---- two sandboxes, setup ---------------------------------------------------------------------------------------- */

static void check_apart(const struct live *live)
{
    struct sandlot_session *one = live_sandbox(live);
    struct sandlot_session *two = one ? live_create(live, NULL) : NULL;

    if (one && tap_check(two && strcmp(sandlot_session_id(one), sandlot_session_id(two)) != 0, "two sandboxes at once",
                         "two ids", two ? "the same id twice" : "the second was not made",
                         "Every creation makes a new one.")) {
        live_write(one, "a file in the first", "only-here", "first");
        live_reads(two, "is not in the second", "only-here", NULL, "Sandboxes must not share files.");
    }
    if (two && live_close(two, true, NULL))
        live_reads(one, "the first outlives the second", "only-here", "first",
                   "delete_sandbox ends the one with this id.");
    if (!one)
        return;
    struct sandlot_error error = {0};
    AUTO_FREE char *id = strdup(sandlot_session_id(one));
    bool closed = live_close(one, true, &error);
    struct sandlot_session *again = id ? live_attach(live, id, NULL) : NULL;

    tap_check(closed && !again, "closing deletes what the session made", "it is gone",
              again ? "it can still be attached to" : error_shown(&error), "Delete for good in delete_sandbox.");
    if (again && live_close(again, false, NULL))
        live_delete(live, id, NULL);
    sandlot_error_clear(&error);
}

static void check_failing_setup(const struct live *live)
{
    AUTO_FREE char *path = NULL;
    struct sandlot_session_options options = live_options(live);
    struct sandlot_error error = {0};
    struct search before = {.id = NULL};
    struct search after = {.id = NULL};

    if (asprintf(&path, "%s/setup.sh", live->kit->folder) < 0)
        return;
    FILE *script = fopen(path, "we");

    if (!script || fputs("exit 3\n", script) < 0 || fclose(script) != 0)
        return;
    bool lists = kit_has(live->kit, "list") && list(live, &before, NULL);

    options.setup_file = path;
    struct sandlot_session *session = live_open(live, &options, &error);

    if (session)
        live_close(session, true, NULL);
    if (!session && error.code == SANDLOT_CODE_NOT_SUPPORTED) {
        tap_skip("a setup script that fails", "the provider serves files only");
        sandlot_error_clear(&error);
        return;
    }
    tap_check(!session && error.code == SANDLOT_CODE_SETUP_FAILED, "a setup script that fails",
              "the error setup_failed", session ? "a session" : error_shown(&error),
              "Give the exit codes of commands as they are.");
    sandlot_error_clear(&error);
    if (!lists) {
        tap_skip("its sandbox is deleted", "the provider has no list");
        return;
    }
    bool listed = list(live, &after, NULL);

    tap_check(listed && after.count <= before.count, "its sandbox is deleted",
              say("%zu sandboxes, as before", before.count), say("%zu", after.count),
              "Delete for good in delete_sandbox.");
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* What the provider itself lists, which the public API keeps to itself. */
struct label_search {
    const char *id;
    char label[64];
    bool found;
};

static void look_for_label(void *context, const struct sandlot_listed *sandbox)
{
    struct label_search *search = context;

    if (strcmp(sandbox->id, search->id) != 0)
        return;
    search->found = true;
    snprintf(search->label, sizeof(search->label), "%s", listed_label(sandbox));
}

static enum sandlot_status ignore_sandbox(const struct sandlot_listing *listing, const struct sandlot_listed *sandbox)
{
    (void)listing;
    (void)sandbox;
    return SANDLOT_OK;
}

static void ignore_cursor(const struct sandlot_listing *listing, const char *cursor)
{
    (void)listing;
    (void)cursor;
}

/* The label by which a sandbox is found whose id was never heard, and the manners of list. */
static void check_listing_itself(const struct kit *kit, struct direct *direct, const char *label)
{
    struct label_search search = {.id = direct->id};
    const struct sandlot_listing ignored = {.size = sizeof(ignored), .add = ignore_sandbox, .next = ignore_cursor};

    if (!kit_has(kit, "list")) {
        tap_skip("the run label is listed", "the provider has no list");
        return;
    }
    enum sandlot_status status = listing_read(direct, look_for_label, &search);

    tap_check(status == SANDLOT_OK && search.found && strcmp(search.label, label) == 0, "the run label is listed",
              label,
              search.found ? say("run_label: %s", *search.label ? search.label : "none")
                           : say("the sandbox is not listed (%s %s)", status_name(status), direct->message),
              "Hand request->run_label to the vendor as label or metadata and give it back in listings: that is how a "
              "sandbox whose id was never heard is found and deleted.");
    status = direct_list(direct, "no such cursor", &ignored);
    tap_check(status == SANDLOT_INVALID_ARGUMENT, "an unknown cursor", "invalid_argument", status_name(status),
              "Refuse a cursor that neither the vendor nor you have given.");
}

/* The host forgives a provider that does not find what it is to delete; others may not. */
static void check_delete_itself(struct direct *direct, const char *name, const char *id)
{
    enum sandlot_status status = direct_delete(direct, id);

    tap_check(status == SANDLOT_OK, name, "ok", say("%s: %s", status_name(status), direct->message),
              "Deleting what is not there (any more) is SANDLOT_OK; translate the vendor's 404.");
}

/* Creating when there is no time left or nobody waits: done or not, the answer must come soon. */
static void check_prompt(struct direct *direct, const char *name, const char *purpose, int64_t limit_ms)
{
    direct->limit_ms = limit_ms;
    direct->cancelled = limit_ms == 0;
    double begin = milliseconds();
    enum sandlot_status status = direct_create(direct, purpose);
    double ms = milliseconds() - begin;

    direct->limit_ms = 0;
    direct->cancelled = false;
    tap_check(ms < LATEST_ANSWER_MS, name, say("get_or_create returns within %d ms", LATEST_ANSWER_MS),
              say("%s after %.0f ms", status_name(status), ms),
              "Give call->deadline_ms to every wait, and watch call->cancel_fd in it.");
    if (*direct->id)
        direct_delete(direct, direct->id);
}

/* The vendor may have made what was given up: then the label finds it, as the host would. What comes later still is
 * left to the leftovers. */
static void delete_abandoned(struct direct *direct)
{
    struct found found;

    if (kit_has(direct->kit, "list"))
        listing_find_ours(direct, &found);
    else
        return;
    for (size_t i = 0; i < found.count; i++) {
        tap_remark("%s was made although get_or_create did not tell of it; its label found it", found.ids[i]);
        direct_delete(direct, found.ids[i]);
    }
    found_clear(&found);
}

/* What the public API does not show of the provider's answers. */
static void check_itself(const struct kit *kit)
{
    static struct direct direct;
    const char *label = say("%slisted", kit->label);
    bool made = direct_load(kit, &direct) && direct_open(&direct, NULL) == SANDLOT_OK &&
                direct_create(&direct, "listed") == SANDLOT_OK;

    if (tap_check(made, "the provider itself: create", "a sandbox", direct.message, "Look at the message.")) {
        check_listing_itself(kit, &direct, label);
        check_delete_itself(&direct, "the provider itself: delete", direct.id);
        check_delete_itself(&direct, "the provider itself: delete again", direct.id);
        check_delete_itself(&direct, "the provider itself: delete of an unknown id", other_id(direct.id));
        check_prompt(&direct, "the provider itself: create with a deadline at once", "in-no-time", 1);
        check_prompt(&direct, "the provider itself: create, cancelled", "cancelled", 0);
        delete_abandoned(&direct);
    }
    direct_close(&direct);
}

void group_lifecycle(const struct kit *kit)
{
    struct live live;

    if (!live_begin(&live, kit, false))
        return;
    check_life(&live);
    check_apart(&live);
    check_failing_setup(&live);
    check_volumes(&live);
    live_end(&live);
    check_itself(kit);
}
