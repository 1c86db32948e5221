#include "operations/derived/walk.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/derived/frame.h"
#include "operations/derived/walk_box.h"

#include <stdlib.h>
#include <string.h>

enum {
    PATHS_MAXIMUM = 2000000,
    PATH_BYTES_MAXIMUM = 64 << 20,
    PATH_LENGTH_MAXIMUM = 1 << 16,
    END_MS = 1000 /* what a command's end may take beyond its time */
};

/* Of the stream that walk_box.sh describes. */
enum stage { PATHS, LOCKED, LINKS, ENDED };

struct reader {
    struct walk *walk;
    bool begun;
    bool seen; /* the directory itself came: find did its work */
    enum stage stage;
    struct frame_bytes path; /* or all links */
    struct frame_bytes link;
    char previous[PATH_LENGTH_MAXIMUM];
    size_t previous_length;
    unsigned int repeated; /* how often PREVIOUS came */
    uint64_t count;
    uint64_t bytes;
};

static int end_walk(struct reader *reader, struct sandlot_error *error)
{
    reader->walk->cut = true;
    return error_set(error, SANDLOT_CODE_CANCELLED, "enough was found");
}

static int hand_on(struct reader *reader, const char *path, size_t length, enum walk_kind kind,
                   struct sandlot_error *error)
{
    struct walk *walk = reader->walk;

    if (length == 1 && path[0] == '.') {
        reader->seen = true;
        return 0;
    }
    if (length < 3 || path[0] != '.' || path[1] != '/')
        return frame_damaged(error, "a path is none");
    reader->bytes += length;
    if (++reader->count > PATHS_MAXIMUM || reader->bytes > PATH_BYTES_MAXIMUM)
        return end_walk(reader, error);
    int result = walk->each(walk->context, path + 2, length - 2, kind, error);

    return result == 1 ? end_walk(reader, error) : result;
}

/* PREVIOUS will not come again. */
static int flush_previous(struct reader *reader, struct sandlot_error *error)
{
    unsigned int repeated = reader->repeated;

    reader->repeated = 0;
    if (repeated == 0)
        return 0;
    if (repeated > 2)
        return frame_damaged(error, "a path came too often");
    return hand_on(reader, reader->previous, reader->previous_length, repeated == 2 ? WALK_DIRECTORY : WALK_FILE,
                   error);
}

/* A directory that cannot be read. */
static int take_locked(struct reader *reader, const char *path, size_t length, struct sandlot_error *error)
{
    reader->walk->unreadable = true;
    return hand_on(reader, path, length, WALK_UNREADABLE, error);
}

/* One path of what find has walked. */
static int take_path(struct reader *reader, const char *path, size_t length, struct sandlot_error *error)
{
    if (reader->repeated > 0 && length == reader->previous_length && memcmp(path, reader->previous, length) == 0) {
        reader->repeated++;
        return 0;
    }
    if (flush_previous(reader, error) < 0)
        return -1;
    if (length >= sizeof(reader->previous))
        return frame_damaged(error, "a path is too long");
    memcpy(reader->previous, path, length + 1);
    reader->previous_length = length;
    reader->repeated = 1;
    return 0;
}

/* All links in one TEXT. */
static int take_links(struct reader *reader, const char *text, struct sandlot_error *error)
{
    reader->stage = ENDED;
    while (*text) {
        const char *end = strstr(text, "//");

        if (!end)
            return frame_damaged(error, "a path has no end");
        reader->link.length = 0;
        if (frame_bytes_add(&reader->link, text, (size_t)(end - text), error) < 0 ||
            frame_bytes_add(&reader->link, "", 1, error) < 0 ||
            hand_on(reader, reader->link.bytes, reader->link.length - 1, WALK_LINK, error) < 0)
            return -1;
        text = end + 2;
    }
    return 0;
}

/* One text of the stream. */
static int take(struct reader *reader, const char *text, size_t length, struct sandlot_error *error)
{
    switch (reader->stage) {
    case PATHS:
        if (text[0] != '/')
            return take_path(reader, text, length, error);
        reader->stage = LOCKED;
        return flush_previous(reader, error);
    case LOCKED:
        if (text[0] != '/')
            return take_locked(reader, text, length, error);
        reader->stage = LINKS;
        return 0;
    case LINKS:
        return take_links(reader, text, error);
    case ENDED:
        break;
    }
    return frame_damaged(error, "there is something after the last path");
}

static int read_data(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    struct reader *reader = context;
    const char *at = bytes;
    const char *end = at + length;

    if (strcmp(name, "paths") != 0)
        return frame_damaged(error, "there is a record that nobody asked for");
    if (length == 0 && (reader->path.length > 0 || reader->stage != ENDED))
        return frame_damaged(error, "a path has no end");
    while (at < end) {
        const char *nul = memchr(at, '\0', (size_t)(end - at));
        size_t size = (size_t)((nul ? nul + 1 : end) - at);

        if (frame_bytes_add(&reader->path, at, size, error) < 0)
            return -1;
        at += size;
        if (!nul)
            break;
        size = reader->path.length - 1;
        reader->path.length = 0;
        if (take(reader, reader->path.bytes, size, error) < 0)
            return -1;
    }
    return 0;
}

static int read_word(void *context, const char *name, const char *value, struct sandlot_error *error)
{
    struct reader *reader = context;

    (void)value;
    reader->begun = strcmp(name, "begun") == 0;
    return reader->begun ? 0 : frame_damaged(error, "there is a record that nobody asked for");
}

/* DIRECTORY as -path has it. */
static void set_directory(struct script *script, const char *directory)
{
    AUTO_FREE char *escaped = malloc(2 * strlen(directory) + 1);
    char *at = escaped;

    if (!escaped) {
        script_clear(script);
        return;
    }
    for (; *directory; directory++) {
        if (*directory == '\\')
            *at++ = '\\';
        *at++ = *directory;
    }
    *at = '\0';
    script_set(script, "d", escaped);
}

/* What has DEPTH components or more, as -path has it: its "*" matches "/" too. */
static void set_depth(struct script *script, size_t depth)
{
    AUTO_FREE char *text = calloc(1, 2 * depth + 2);

    if (!text) {
        script_clear(script);
        return;
    }
    for (size_t i = 0; i < depth; i++)
        memcpy(text + 1 + 2 * i, "/*", 2);
    if (depth > 0)
        text[0] = '.';
    script_set(script, "m", text);
}

/* The walk, with an OLD find, which does not know -print0. Fails also with what ends it early. */
static int walk_with(const struct file_call *call, struct reader *reader, bool old, struct sandlot_error *error)
{
    const struct frame_receiver receiver = {reader, read_word, read_data};
    const struct walk *walk = reader->walk;
    CLEANUP(script_clear) struct script script;

    script_init(&script);
    script_set(&script, "f", call->path);
    set_directory(&script, walk->directory ? walk->directory : "");
    set_depth(&script, walk->depth);
    script_set(&script, "s_links", walk->links ? "1" : "");
    script_set(&script, "s_old", old ? "1" : "");
    script_add(&script, walk_box);
    reader->stage = PATHS;
    return frame_run(call, &script, &receiver, error);
}

int walk_run(const struct file_call *call, struct walk *walk, int64_t limit_ms, struct sandlot_error *error)
{
    AUTO_FREE struct reader *reader = calloc(1, sizeof(*reader));
    struct file_call limited = *call;
    struct sandlot_error why = {0};

    if (!reader)
        return error_no_memory(error);
    reader->walk = walk;
    reader->path.maximum = reader->link.maximum = PATH_BYTES_MAXIMUM;
    limited.deadline_ms = sandlot_now_ms() + limit_ms + END_MS;
    int failed = walk_with(&limited, reader, false, &why);

    if (!failed && !reader->seen)
        failed = walk_with(&limited, reader, true, &why);
    if (!failed && !reader->seen)
        failed = frame_damaged(&why, "find did not even tell of the directory itself");
    if (failed && !walk->cut && reader->begun && why.code == SANDLOT_CODE_TIMEOUT)
        walk->cut = true;
    if (failed && !walk->cut)
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    frame_bytes_clear(&reader->path);
    frame_bytes_clear(&reader->link);
    return failed && !walk->cut ? -1 : 0;
}
