/* sandlot diff: what a sandbox has changed, to be looked at. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/results_command.h"
#include "results/export.h"

#include <inttypes.h>
#include <string.h>

enum { LINE_MAXIMUM = 64 * 1024 };

/* ---- the patch on a terminal ------------------------------------------------------------------------------------- */

/* A patch is somebody else's text: what would move the cursor, hide or turn around what stands there is shown as what
 * it is. Lines that are longer than the buffer come in parts. */
struct screen {
    bool is_terminal;
    bool colours;
    bool inside; /* a part of the line has been shown */
    size_t length;
    char line[LINE_MAXIMUM + 1];
};

static const char *colour_of(const char *line)
{
    if (strncmp(line, "diff --git ", 11) == 0 || strncmp(line, "--- ", 4) == 0 || strncmp(line, "+++ ", 4) == 0)
        return "\033[1m";
    return *line == '+' ? "\033[32m" : *line == '-' ? "\033[31m" : *line == '@' ? "\033[36m" : "";
}

/* What is between tabs. */
static bool show_parts(char *text)
{
    for (char *part = text, *next; part; part = next) {
        next = part;
        strsep(&next, "\t");
        AUTO_FREE char *visible = text_visible(part);

        if (!visible || !output_format("%s%s", visible, next ? "\t" : ""))
            return false;
    }
    return true;
}

static bool show_line(struct screen *screen, bool ended)
{
    screen->line[screen->length] = '\0';
    const char *colour = screen->colours && !screen->inside ? colour_of(screen->line) : "";
    bool shown = output_format("%s", colour) && show_parts(screen->line) &&
                 output_format("%s%s", screen->colours && ended ? "\033[m" : "", ended ? "\n" : "");

    screen->inside = !ended;
    screen->length = 0;
    return shown;
}

static bool show(void *context, const void *bytes, size_t length)
{
    struct screen *screen = context;
    const char *at = bytes;

    if (!screen->is_terminal)
        return output_write(bytes, length);
    for (size_t i = 0; i < length; i++) {
        if (at[i] == '\n' || screen->length == LINE_MAXIMUM) {
            if (!show_line(screen, at[i] == '\n'))
                return false;
            if (at[i] == '\n')
                continue;
        }
        screen->line[screen->length++] = at[i] ? at[i] : ' ';
    }
    return true;
}

/* ---- one line for a path ----------------------------------------------------------------------------------------- */

static int print_stat(const struct results *results, struct sandlot_error *error)
{
    static const char *const kinds[] = {"added", "modified", "removed", "mode", "type"};

    for (size_t i = 0; i < results->count; i++) {
        const struct sandlot_change change = results_public(&results->changes[i]);
        AUTO_FREE char *path = text_visible(change.path);

        if (!path)
            return error_no_memory(error);
        output_format("%c %-8s  %s", change.risk || change.conflict ? '!' : ' ', kinds[change.kind], path);
        if (strcmp(change.type, "file") == 0 && change.kind != SANDLOT_CHANGE_MODE)
            output_format("  %" PRIu64 " -> %" PRIu64 " bytes%s", change.old_bytes, change.new_bytes,
                          change.binary ? ", binary" : "");
        if (change.conflict || change.risk)
            output_format("  (%s%s%s)", change.conflict ? "changed on this machine too" : "",
                          change.conflict && change.risk ? "; " : "", change.risk ? change.risk : "");
        output_write("\n", 1);
    }
    return 0;
}

/* What is not in the patch for its size alone would else be missed. */
static bool is_listed_only(const struct change *change)
{
    return export_is_patched(change) && export_too_large(change);
}

static int print_warnings(const struct results *results, struct sandlot_error *error)
{
    bool any = false;

    for (size_t i = 0; i < results->count; i++) {
        AUTO_FREE char *line = results_warning(&results->changes[i]);

        if (!line)
            return error_no_memory(error);
        output_write(line, strlen(line));
        any = any || *line;
        if (!is_listed_only(&results->changes[i]))
            continue;
        AUTO_FREE char *path = text_visible(results->changes[i].path);

        output_format("! too large for a patch  %s\n", path ? path : "?");
        any = true;
    }
    if (any)
        output_write("\n", 1);
    return 0;
}

static int print_patch(struct results *results, struct sandlot_error *error)
{
    AUTO_FREE struct screen *screen = calloc(1, sizeof(*screen));

    if (!screen || print_warnings(results, error) < 0)
        return error_no_memory(error);
    screen->is_terminal = isatty(STDOUT_FILENO) == 1;
    screen->colours = screen->is_terminal && progress_has_colours();
    return export_write(results, SANDLOT_EXPORT_PATCH, true, show, screen, error);
}

static int tell(const struct context *context, struct results *results, struct answer *answer,
                struct sandlot_error *error)
{
    const struct options *options = context->options;

    progress_end();
    if (!options->json)
        return options->given & OPTION_STAT ? print_stat(results, error) : print_patch(results, error);
    answer->object = json_object_new_object();
    json_object_object_add(answer->object, "id", json_text(sandlot_session_id(results->session)));
    json_object_object_add(answer->object, "base", json_text(results->base.folder));
    return results_add_changes(answer->object, results, error);
}

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    const struct results_words *words = input;
    const struct sandlot_changes_request request = results_request(context, words->rest);
    bool patch = !context->options->json && !(context->options->given & OPTION_STAT);
    struct results results;

    progress_begin("Comparing");
    int failed = results_gather(session, &request, patch ? JUDGE_PATCH : JUDGE_LIST, true, &results, error);

    if (!failed)
        failed = tell(context, &results, answer, error);
    progress_end();
    results_clear(&results);
    return failed;
}

int command_diff(const struct options *options)
{
    return results_command(options, 0, work);
}
