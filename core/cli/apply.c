/* sandlot apply: what a sandbox has changed comes into a folder of this machine. */
#include "results/apply.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json_list.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/results_command.h"
#include "results/export.h"

#include <string.h>

/* What has become of each path. */
struct outcome {
    bool dry_run;
    bool failed; /* out of memory */
    FILE *done;  /* for people, a line each */
    FILE *left;
    char *left_text; /* what that has, once it is closed */
    size_t left_length;
    struct json_object *applied;
    struct json_object *left_out;
};

static bool note(void *context, const struct sandlot_change *change, const struct sandlot_error *problem)
{
    static const char *const done[] = {"added", "changed", "removed", "changed the mode of", "replaced"};
    static const char *const would[] = {"would add", "would change", "would remove", "would change the mode of",
                                        "would replace"};
    struct outcome *outcome = context;
    AUTO_FREE char *path = text_visible(change->path);
    struct json_object *object = problem ? json_object_new_object() : export_object(change);

    if (problem) {
        json_add_path(object, change->path);
        json_object_object_add(object, "error", json_text(sandlot_code_name(problem->code)));
        json_object_object_add(object, "reason", json_text(problem->message));
    }
    bool added = path && (problem ? fprintf(outcome->left, "left out: %s (%s)\n", path, problem->message)
                                  : fprintf(outcome->done, "%s %s\n", (outcome->dry_run ? would : done)[change->kind],
                                            path)) > 0;

    added = json_list_add(problem ? outcome->left_out : outcome->applied, object) && added;
    outcome->failed = outcome->failed || !added;
    return true;
}

static bool begin(struct outcome *outcome, struct answer *answer)
{
    outcome->done = open_memstream(&answer->text, &answer->length);
    outcome->left = open_memstream(&outcome->left_text, &outcome->left_length);
    if (outcome->done && outcome->left)
        return true;
    if (outcome->done)
        fclose(outcome->done);
    if (outcome->left)
        fclose(outcome->left);
    free(outcome->left_text);
    json_object_put(outcome->applied);
    json_object_put(outcome->left_out);
    return false;
}

/* Closes both lists. */
static int tell(struct outcome *outcome, const char *folder, struct answer *answer, struct sandlot_error *error)
{
    bool whole = fclose(outcome->left) == 0 &&
                 fwrite(outcome->left_text, 1, outcome->left_length, outcome->done) == outcome->left_length;

    whole = fclose(outcome->done) == 0 && whole && !outcome->failed;
    free(outcome->left_text);
    answer->object = json_object_new_object();
    json_object_object_add(answer->object, "folder", json_text(folder));
    json_object_object_add(answer->object, "applied", outcome->applied);
    json_object_object_add(answer->object, "left_out", outcome->left_out);
    return whole ? 0 : error_no_memory(error);
}

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    const struct results_words *words = input;
    struct sandlot_changes_request request = results_request(context, words->rest_count ? words->rest + 1 : NULL);
    struct outcome outcome = {.dry_run = request.dry_run, .applied = json_list_new(), .left_out = json_list_new()};
    struct results results;

    if (!begin(&outcome, answer))
        return error_no_memory(error);
    request.folder = words->rest_count ? words->rest[0] : NULL;
    progress_begin("Comparing");
    int failed = results_gather(session, &request, JUDGE_ALL, true, &results, error);

    if (!failed)
        failed = apply_write(&results, note, &outcome, error);
    progress_end();
    const char *folder = request.folder ? request.folder : results.base.folder;

    if (tell(&outcome, folder, answer, error) < 0)
        failed = -1;
    results_clear(&results);
    return failed;
}

int command_apply(const struct options *options)
{
    return results_command(options, 0, work);
}
