/* sandlot apply: what a sandbox has changed comes into a folder of this machine. */
#include "results/apply.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/results_command.h"
#include "results/export.h"

#include <string.h>

/* What has become of each path. */
struct outcome {
    bool dry_run;
    bool failed; /* out of memory */
    char *done;
    char *left;
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
    json_object_array_add(problem ? outcome->left_out : outcome->applied, object);
    bool added = path && (problem ? text_append(&outcome->left, "left out: %s (%s)\n", path, problem->message)
                                  : text_append(&outcome->done, "%s %s\n",
                                                (outcome->dry_run ? would : done)[change->kind], path));

    outcome->failed = outcome->failed || !added;
    return true;
}

static int tell(const struct outcome *outcome, const char *folder, struct answer *answer, struct sandlot_error *error)
{
    answer->object = json_object_new_object();
    json_object_object_add(answer->object, "folder", json_text(folder));
    json_object_object_add(answer->object, "applied", outcome->applied);
    json_object_object_add(answer->object, "left_out", outcome->left_out);
    answer->text = text_format("%s%s", outcome->done ? outcome->done : "", outcome->left ? outcome->left : "");
    answer->length = answer->text ? strlen(answer->text) : 0;
    return answer->text && !outcome->failed ? 0 : error_no_memory(error);
}

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    const struct results_words *words = input;
    struct sandlot_changes_request request = results_request(context, words->rest_count ? words->rest + 1 : NULL);
    struct outcome outcome = {
        .dry_run = request.dry_run, .applied = json_object_new_array(), .left_out = json_object_new_array()};
    struct results results;

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
    free(outcome.done);
    free(outcome.left);
    return failed;
}

int command_apply(const struct options *options)
{
    return results_command(options, 0, work);
}
