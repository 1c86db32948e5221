#include "results/writer/patch.h"

#include <git2.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What has been refused is not handed anything more. A patch is made of hundreds of words, and each time that something
 * is handed on costs system calls. */
struct target {
    writer_sink sink;
    void *context;
    bool closed;
    size_t held;
    char bytes[4096];
};

static bool hand_on(struct target *target, const void *bytes, size_t length)
{
    target->closed = target->closed || (length > 0 && !target->sink(target->context, bytes, length));
    return !target->closed;
}

static bool hand_on_held(struct target *target)
{
    const size_t held = target->held;

    target->held = 0;
    return hand_on(target, target->bytes, held);
}

static bool put(struct target *target, const void *bytes, size_t length)
{
    if (length > sizeof(target->bytes) - target->held && !hand_on_held(target))
        return false;
    if (length > sizeof(target->bytes))
        return hand_on(target, bytes, length);
    memcpy(target->bytes + target->held, bytes, length);
    target->held += length;
    return !target->closed;
}

static void put_text(struct target *target, const char *text)
{
    put(target, text, strlen(text));
}

/* PREFIX and PATH as git writes names: in quotes where something in it needs that. */
static void put_name(struct target *target, const char *prefix, const char *path)
{
    /* Of a name with a space before "/" git finds no end. */
    bool plain = !strstr(path, " /");

    for (const unsigned char *at = (const unsigned char *)path; *at; at++)
        plain = plain && *at >= ' ' && *at < 0x7f && *at != '"' && *at != '\\';
    put_text(target, plain ? "" : "\"");
    put_text(target, prefix);
    for (const unsigned char *at = (const unsigned char *)path; *at; at++) {
        char escaped[5];

        if (*at < ' ' || *at >= 0x7f || *at == '"' || *at == '\\')
            snprintf(escaped, sizeof(escaped), "\\%03o", *at);
        else
            snprintf(escaped, sizeof(escaped), "%c", *at);
        put_text(target, escaped);
    }
    put_text(target, plain ? "" : "\"");
}

__attribute__((format(printf, 2, 3))) static void put_format(struct target *target, const char *format, ...)
{
    char line[160];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    put_text(target, line);
}

/* git apply wants the whole ids where a file is binary. */
static void put_ids(struct target *target, const struct writer_side *before, const struct writer_side *after)
{
    const struct writer_side *sides[2] = {before, after};
    char ids[2][GIT_OID_HEXSZ + 1];

    for (int i = 0; i < 2; i++) {
        git_oid id = {{0}};

        if (sides[i]->mode)
            git_odb_hash(&id, sides[i]->bytes, sides[i]->length, GIT_OBJECT_BLOB);
        git_oid_tostr(ids[i], sizeof(ids[i]), &id);
    }
    put_format(target, "index %s..%s", ids[0], ids[1]);
    if (before->mode == after->mode)
        put_format(target, " %06o", before->mode);
    put_text(target, "\n");
}

static bool same_bytes(const struct writer_side *before, const struct writer_side *after)
{
    return before->length == after->length &&
           (!before->length || memcmp(before->bytes, after->bytes, before->length) == 0);
}

static void put_head(struct target *target, const char *path, const struct writer_side *before,
                     const struct writer_side *after)
{
    put_text(target, "diff --git ");
    put_name(target, "a/", path);
    put_text(target, " ");
    put_name(target, "b/", path);
    put_text(target, "\n");
    if (!before->mode)
        put_format(target, "new file mode %06o\n", after->mode);
    else if (!after->mode)
        put_format(target, "deleted file mode %06o\n", before->mode);
    else if (before->mode != after->mode)
        put_format(target, "old mode %06o\nnew mode %06o\n", before->mode, after->mode);
    if (!before->mode || !after->mode || !same_bytes(before, after))
        put_ids(target, before, after);
}

/* As git does, a tab ends a name with a space: patch(1) would take the first word for all of it. */
static void put_line_of_name(struct target *target, const char *prefix, const char *path,
                             const struct writer_side *side)
{
    if (side->mode)
        put_name(target, prefix, path);
    else
        put_text(target, "/dev/null");
    put_text(target, side->mode && strchr(path, ' ') ? "\t\n" : "\n");
}

static void put_names(struct target *target, const char *path, const struct writer_side *before,
                      const struct writer_side *after)
{
    put_text(target, "--- ");
    put_line_of_name(target, "a/", path, before);
    put_text(target, "+++ ");
    put_line_of_name(target, "b/", path, after);
}

static int put_line(const git_diff_delta *delta, const git_diff_hunk *hunk, const git_diff_line *line, void *context)
{
    struct target *target = context;

    (void)delta;
    (void)hunk;
    if (line->origin == GIT_DIFF_LINE_FILE_HDR)
        return 0; /* ours is there already, with the modes, of which a buffer has none */
    if (line->origin == GIT_DIFF_LINE_CONTEXT || line->origin == GIT_DIFF_LINE_ADDITION ||
        line->origin == GIT_DIFF_LINE_DELETION)
        put(target, &line->origin, 1);
    return put(target, line->content, line->content_len) ? 0 : -1;
}

static const char *put_patch(struct target *target, const char *path, git_patch *patch,
                             const struct writer_side *before, const struct writer_side *after)
{
    bool binary = git_patch_get_delta(patch)->flags & GIT_DIFF_FLAG_BINARY;

    if (!binary && git_patch_num_hunks(patch) > 0)
        put_names(target, path, before, after);
    if (!target->closed && (binary || git_patch_num_hunks(patch) > 0) && git_patch_print(patch, put_line, target) < 0 &&
        !target->closed)
        return "libgit2 could not write the patch";
    return target->closed ? "" : NULL;
}

/* libgit2 is begun once and never ended, as this module stays: with its TLS library that takes longer than a patch. */
static bool is_usable;

static void begin(void)
{
    is_usable = git_libgit2_init() >= 0;
}

const char *patch_write(const char *path, const struct writer_side *before, const struct writer_side *after,
                        writer_sink sink, void *context)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct target target = {.sink = sink, .context = context};
    git_diff_options options;
    git_patch *patch = NULL;

    pthread_once(&once, begin);
    if (!is_usable || git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION) < 0)
        return "libgit2 could not be used";
    options.flags = GIT_DIFF_SHOW_BINARY;
    options.max_size = -1; /* binary or not: git's own rule, whatever the length */
    put_head(&target, path, before, after);
    /* libgit2 takes NULL for "no such file", and wants no other for an empty one. */
    int failed =
        git_patch_from_buffers(&patch, before->mode ? (before->bytes ? before->bytes : "") : NULL, before->length, path,
                               after->mode ? (after->bytes ? after->bytes : "") : NULL, after->length, path, &options);
    const char *reason = failed < 0 ? "libgit2 could not compare the files" : NULL;

    if (!reason)
        reason = put_patch(&target, path, patch, before, after);
    git_patch_free(patch);
    return reason || hand_on_held(&target) ? reason : "";
}
