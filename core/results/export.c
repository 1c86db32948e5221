#include "results/export.h"

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODE_LINK = 0120000, MODE_FILE = 0100000 };

/* ---- patches ----------------------------------------------------------------------------------------------------- */

static bool in_patch(const struct node *node)
{
    return node && (node->type == NODE_FILE || node->type == NODE_LINK);
}

bool export_is_patched(const struct change *change)
{
    return !change->never && (in_patch(change->before) || in_patch(change->after));
}

static bool is_large(const struct node *node)
{
    return node && node->type == NODE_FILE && node->bytes > RESULTS_PATCH_MAXIMUM;
}

bool export_too_large(const struct change *change)
{
    return is_large(change->before) || is_large(change->after);
}

static uint32_t git_mode(const struct node *node)
{
    return node->type == NODE_LINK ? MODE_LINK : MODE_FILE | (node->executable ? 0755 : 0644);
}

/* One side of a patch; the bytes of a file are *KEPT, to be freed. */
static int read_side(struct results *results, struct change *change, const struct node *node, struct writer_side *side,
                     char **kept, struct sandlot_error *error)
{
    if (!node || !in_patch(node))
        return 0;
    side->mode = git_mode(node);
    if (node->type == NODE_LINK) {
        side->bytes = node->target;
        side->length = strlen(node->target);
        return 0;
    }
    *kept = node == change->after ? results_new_bytes(results, change, &side->length, error)
                                  : results_old_bytes(results, change, &side->length, error);
    side->bytes = *kept;
    return *kept ? 0 : -1;
}

/* Everything that a patch or an archive under way needs. */
struct writing {
    struct results *results;
    const struct writer_module *module;
    writer_sink sink;
    void *context;
    bool ended; /* the sink wants no more */
};

static int explain(struct writing *writing, const char *path, const char *reason, struct sandlot_error *error)
{
    writing->ended = reason && !*reason;
    return reason && *reason ? error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "'%s': %s", path, reason) : 0;
}

static int patch_sides(struct writing *writing, struct change *change, const struct node *before,
                       const struct node *after, struct sandlot_error *error)
{
    AUTO_FREE char *old_bytes = NULL;
    AUTO_FREE char *new_bytes = NULL;
    struct writer_side sides[2] = {0};

    if (writing->ended)
        return 0;
    if (read_side(writing->results, change, before, &sides[0], &old_bytes, error) < 0 ||
        read_side(writing->results, change, after, &sides[1], &new_bytes, error) < 0)
        return -1;
    return explain(writing, change->path,
                   writing->module->patch(change->path, &sides[0], &sides[1], writing->sink, writing->context), error);
}

/* A patch is for the folder as it is now: what has gone there too is nothing that it could begin with, and what it has
 * already needs none. */
static int patch_one(struct writing *writing, struct change *change, struct sandlot_error *error)
{
    const bool stands = in_patch(change->before) && change->stood.type == change->before->type;
    const struct node *before = stands ? change->before : NULL;
    const struct node *after = in_patch(change->after) ? change->after : NULL;

    if (change->there)
        return 0;
    /* git has no patch that turns a file into a link: one goes, the other comes. */
    if (before && after && before->type != after->type)
        return patch_sides(writing, change, before, NULL, error) < 0 ? -1
                                                                     : patch_sides(writing, change, NULL, after, error);
    return patch_sides(writing, change, before, after, error);
}

static int refuse_large(const struct results *results, struct sandlot_error *error)
{
    for (size_t i = 0; i < results->count; i++)
        if (export_is_patched(&results->changes[i]) && export_too_large(&results->changes[i]))
            return error_set(error, SANDLOT_CODE_TOO_LARGE,
                             "'%s' is larger than 64 MiB, which is the most for a patch; use --format tar, or name the "
                             "other paths",
                             results->changes[i].path);
    return 0;
}

static int by_path(const void *left, const void *right)
{
    return strcmp((*(struct change *const *)left)->path, (*(struct change *const *)right)->path);
}

/* A patch is in the order of paths; and what goes makes room for what comes ("a" for "a/b"). */
static int write_patch(struct writing *writing, struct sandlot_error *error)
{
    struct results *results = writing->results;
    AUTO_FREE struct change **sorted = calloc(results->count + 1, sizeof(*sorted));
    size_t count = 0;

    if (!sorted)
        return error_no_memory(error);
    for (size_t i = 0; i < results->count; i++)
        if (export_is_patched(&results->changes[i]) && !export_too_large(&results->changes[i]))
            sorted[count++] = &results->changes[i];
    qsort(sorted, count, sizeof(struct change *), by_path);
    for (size_t i = 0; i < 2 * count && !writing->ended; i++) {
        bool removing = i < count;
        struct change *change = sorted[i % count];
        bool removed = !in_patch(change->after);

        if (removed == removing && patch_one(writing, change, error) < 0)
            return -1;
    }
    return 0;
}

/* ---- archives ---------------------------------------------------------------------------------------------------- */

static const char *const kinds[] = {[SANDLOT_CHANGE_ADDED] = "added",
                                    [SANDLOT_CHANGE_MODIFIED] = "modified",
                                    [SANDLOT_CHANGE_REMOVED] = "removed",
                                    [SANDLOT_CHANGE_MODE] = "mode",
                                    [SANDLOT_CHANGE_TYPE] = "type"};

static struct json_object *text_of(const char *bytes)
{
    size_t length = 0;
    AUTO_FREE char *text = bytes ? text_utf8_replace(bytes, strlen(bytes), &length) : NULL;

    return text ? json_object_new_string_len(text, (int)length) : NULL;
}

/* NAME, and beside it NAME_base64 where it is no UTF-8. */
static void add_bytes(struct json_object *object, const char *name, const char *bytes)
{
    AUTO_FREE char *beside = text_format("%s_base64", name);
    AUTO_FREE char *encoded = NULL;

    json_object_object_add(object, name, text_of(bytes));
    if (!bytes || !beside || text_utf8_valid(bytes, strlen(bytes)))
        return;
    encoded = base64_encode(bytes, strlen(bytes));
    if (encoded)
        json_object_object_add(object, beside, json_object_new_string(encoded));
}

static struct json_object *mode_text(uint32_t mode)
{
    char text[8];

    snprintf(text, sizeof(text), "%04o", (unsigned)mode & 07777);
    return mode ? json_object_new_string(text) : NULL;
}

struct json_object *export_object(const struct sandlot_change *change)
{
    struct json_object *object = json_object_new_object();

    add_bytes(object, "path", change->path);
    json_object_object_add(object, "kind", json_object_new_string(kinds[change->kind]));
    json_object_object_add(object, "type", json_object_new_string(change->type));
    json_object_object_add(object, "risk", text_of(change->risk));
    json_object_object_add(object, "old_mode", mode_text(change->old_mode));
    json_object_object_add(object, "new_mode", mode_text(change->new_mode));
    json_object_object_add(object, "old_bytes", json_object_new_int64((int64_t)change->old_bytes));
    json_object_object_add(object, "new_bytes", json_object_new_int64((int64_t)change->new_bytes));
    add_bytes(object, "link_target", change->link_target);
    json_object_object_add(object, "binary", json_object_new_boolean(change->binary));
    json_object_object_add(object, "conflict", json_object_new_boolean(change->conflict));
    return object;
}

static int add_list(struct writing *writing, struct writer_archive *archive, struct sandlot_error *error)
{
    struct json_object *list = json_object_new_object();
    struct json_object *changes = json_object_new_array();
    const struct results *results = writing->results;

    json_object_object_add(list, "base", text_of(results->base.folder));
    json_object_object_add(list, "changes", changes);
    for (size_t i = 0; i < results->count; i++) {
        const struct sandlot_change change = results_public(&results->changes[i]);
        struct json_object *object = export_object(&change);

        json_object_object_add(object, "left_out", json_object_new_boolean(results->changes[i].never));
        json_object_array_add(changes, object);
    }
    AUTO_FREE char *text =
        text_format("%s\n", json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
    const struct writer_member member = {
        .path = "SANDLOT-CHANGES.json", .mode = 0644, .fd = -1, .bytes = text, .length = text ? strlen(text) : 0};

    json_object_put(list);
    return text ? explain(writing, member.path, writing->module->archive_add(archive, &member), error)
                : error_no_memory(error);
}

static int add_member(struct writing *writing, struct writer_archive *archive, struct change *change,
                      struct sandlot_error *error)
{
    const struct node *after = change->after;

    if (!after || change->never)
        return 0;
    bool folder = after->type == NODE_FOLDER;
    AUTO_FREE char *path = text_format("%s%s", change->path, folder ? "/" : "");
    AUTO_CLOSE int fd = after->type == NODE_FILE ? box_open_fetched(&writing->results->box, change->index) : -1;
    const struct writer_member member = {.path = path,
                                         .target = after->target,
                                         .mode = folder || after->executable ? 0755 : 0644,
                                         .length = after->type == NODE_FILE ? after->bytes : 0,
                                         .fd = fd};

    if (!path)
        return error_no_memory(error);
    if (after->type == NODE_FILE && fd < 0)
        return explain(writing, change->path, "what was fetched of it is not there", error);
    return explain(writing, change->path, writing->module->archive_add(archive, &member), error);
}

static int write_archive(struct writing *writing, struct sandlot_error *error)
{
    struct results *results = writing->results;
    struct writer_archive *archive = writing->module->archive_open(writing->sink, writing->context);
    int failed = archive ? add_list(writing, archive, error) : error_no_memory(error);

    for (size_t i = 0; i < results->count && !failed && !writing->ended; i++)
        failed = add_member(writing, archive, &results->changes[i], error);
    const char *reason = archive ? writing->module->archive_close(archive, failed || writing->ended) : NULL;

    return failed ? -1 : explain(writing, "the archive", reason, error);
}

int export_write(struct results *results, enum sandlot_export_format format, bool skip_large, writer_sink sink,
                 void *context, struct sandlot_error *error)
{
    struct writing writing = {.results = results, .sink = sink, .context = context};

    if (format == SANDLOT_EXPORT_PATCH && !skip_large && refuse_large(results, error) < 0)
        return -1;
    writing.module = writer_load(error);
    if (!writing.module)
        return -1;
    return format == SANDLOT_EXPORT_TAR ? write_archive(&writing, error) : write_patch(&writing, error);
}
