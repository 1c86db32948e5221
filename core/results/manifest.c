#include "results/manifest.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "sandlot base 1"

void manifest_clear(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->pattern_count; i++) {
        free(manifest->patterns[i]);
        pattern_free(manifest->compiled[i]);
    }
    free(manifest->folder);
    nodes_clear(&manifest->nodes);
    *manifest = (struct manifest){0};
}

int manifest_exclude(struct manifest *manifest, const char *pattern, struct sandlot_error *error)
{
    size_t at = manifest->pattern_count;

    if (at == MANIFEST_PATTERNS)
        return error_set(error, SANDLOT_CODE_INVALID_PATTERN, "there are more than %d patterns", MANIFEST_PATTERNS);
    struct pattern *compiled = pattern_compile(pattern, error);

    if (!compiled)
        return -1;
    manifest->patterns[at] = strdup(pattern);
    manifest->compiled[at] = compiled;
    manifest->pattern_count++;
    return manifest->patterns[at] ? 0 : error_no_memory(error);
}

static bool any_matches(const struct manifest *manifest, const char *path)
{
    for (size_t i = 0; i < manifest->pattern_count; i++)
        if (pattern_matches(manifest->compiled[i], path))
            return true;
    return false;
}

bool manifest_leaves_out(const void *context, const char *path)
{
    const struct manifest *manifest = context;
    AUTO_FREE char *above = manifest->pattern_count ? strdup(path) : NULL;
    char *end = above ? strchr(above, '/') : NULL;

    if (manifest->pattern_count && any_matches(manifest, path))
        return true;
    for (; end; end = strchr(end + 1, '/')) {
        *end = '\0';
        if (any_matches(manifest, above))
            return true;
        *end = '/';
    }
    return false;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct reader {
    const char *at;
    const char *end;
};

/* The next text; NULL: there is none. */
static const char *next_text(struct reader *reader)
{
    const char *text = reader->at;
    const char *nul = text < reader->end ? memchr(text, '\0', (size_t)(reader->end - text)) : NULL;

    if (!nul)
        return NULL;
    reader->at = nul + 1;
    return text;
}

static int damaged(struct sandlot_error *error)
{
    return error_set(
        error, SANDLOT_CODE_INTERNAL_ERROR,
        "what Sandlot remembered of the imported folder is damaged; make a new sandbox and import it again");
}

static bool read_file(struct reader *reader, struct node *node)
{
    const char *length = next_text(reader);
    const char *digest = length ? next_text(reader) : NULL;
    char *end = NULL;

    if (!digest || *length < '0' || *length > '9' || !node_digest_read(digest, node->digest))
        return false;
    errno = 0;
    node->bytes = strtoull(length, &end, 10);
    node->digested = true;
    return errno == 0 && *end == '\0';
}

static int read_entry(struct reader *reader, const char *kind, struct manifest *manifest, struct sandlot_error *error)
{
    const char *path = next_text(reader);
    struct node node = {.path = (char *)(uintptr_t)path};

    if (!path || strlen(kind) != 1 || !strchr("xdlfF", *kind))
        return damaged(error);
    if (*kind == 'x')
        return manifest_exclude(manifest, path, error);
    if (!node_path_valid(path))
        return damaged(error);
    node.type = *kind == 'd' ? NODE_FOLDER : *kind == 'l' ? NODE_LINK : NODE_FILE;
    node.executable = *kind == 'F';
    if (node.type == NODE_LINK)
        node.target = (char *)(uintptr_t)next_text(reader);
    if ((node.type == NODE_LINK && !node.target) || (node.type == NODE_FILE && !read_file(reader, &node)))
        return damaged(error);
    node.bytes = node.type == NODE_LINK ? strlen(node.target) : node.bytes;
    return nodes_add(&manifest->nodes, &node, error);
}

int manifest_read(const char *text, size_t length, struct manifest *manifest, struct sandlot_error *error)
{
    struct reader reader = {text, text + length};
    const char *header = next_text(&reader);
    const char *how = header ? next_text(&reader) : NULL;
    const char *folder = how ? next_text(&reader) : NULL;
    const char *kind;

    if (!folder || strcmp(header, HEADER) != 0 || *folder != '/')
        return damaged(error);
    manifest->imported = strcmp(how, "imported") == 0;
    manifest->folder = strdup(folder);
    if (!manifest->folder)
        return error_no_memory(error);
    while ((kind = next_text(&reader)))
        if (read_entry(&reader, kind, manifest, error) < 0)
            return -1;
    nodes_sort(&manifest->nodes);
    return reader.at == reader.end ? 0 : damaged(error);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put(FILE *file, const char *text)
{
    fwrite(text, 1, strlen(text) + 1, file);
}

static void put_node(FILE *file, const struct node *node)
{
    char digest[NODE_DIGEST_TEXT];

    put(file, node->type == NODE_FOLDER ? "d" : node->type == NODE_LINK ? "l" : node->executable ? "F" : "f");
    put(file, node->path);
    if (node->type == NODE_LINK)
        put(file, node->target);
    if (node->type != NODE_FILE)
        return;
    node_digest_write(node->digest, digest);
    fprintf(file, "%" PRIu64, node->bytes);
    putc('\0', file);
    put(file, digest);
}

char *manifest_write(const struct manifest *manifest, size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);

    if (!file)
        return NULL;
    put(file, HEADER);
    put(file, manifest->imported ? "imported" : "applied");
    put(file, manifest->folder);
    for (size_t i = 0; i < manifest->pattern_count; i++) {
        put(file, "x");
        put(file, manifest->patterns[i]);
    }
    for (size_t i = 0; i < manifest->nodes.count; i++)
        put_node(file, &manifest->nodes.items[i]);
    bool failed = ferror(file);

    if (fclose(file) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}

/* The next of CHANGED goes before what the manifest has, or in its place. */
static int merge_one(struct nodes *merged, const struct node *node, struct sandlot_error *error)
{
    return node->type == NODE_NONE ? 0 : nodes_add(merged, node, error);
}

int manifest_merge(struct manifest *manifest, const struct nodes *changed, struct sandlot_error *error)
{
    struct nodes merged = {0};
    const struct nodes *old = &manifest->nodes;
    size_t at = 0;
    int failed = 0;

    for (size_t i = 0; i < changed->count && !failed; i++) {
        int order = -1;

        while (!failed && at < old->count && (order = strcmp(old->items[at].path, changed->items[i].path)) < 0)
            failed = nodes_add(&merged, &old->items[at++], error);
        at += at < old->count && order == 0;
        if (!failed)
            failed = merge_one(&merged, &changed->items[i], error);
    }
    while (!failed && at < old->count)
        failed = nodes_add(&merged, &old->items[at++], error);
    nodes_clear(failed ? &merged : &manifest->nodes);
    if (!failed)
        manifest->nodes = merged;
    return failed;
}
