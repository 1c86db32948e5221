#include "operations/derived/walk.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/derived/frame.h"

#include <stdlib.h>
#include <string.h>

enum {
    PATHS_MAXIMUM = 2000000,
    PATH_BYTES_MAXIMUM = 64 << 20,
    PATH_LENGTH_MAXIMUM = 1 << 16,
    END_MS = 1000 /* what a command's end may take beyond its time */
};

/*
 * One stream of texts that end with NUL: a directory is printed twice, a file once, so that one walk tells both with
 * what every find has; then "/STATUS" of find; directories that cannot be read, where find has failed, for it matters
 * which they are; "//"; and all links in one text, each followed by "//", which no path has in it. They wait (3) until
 * then because find's own output, which it buffers, must not mix with that of commands that it starts.
 */
static const char begin_script[] =
    "s_need find sh\n"
    "[ -e \"$f\" ] || s_gone\n"
    "[ -d \"$f\" ] || s_fail kind\n"
    "[ -r \"$f\" ] && [ -x \"$f\" ] && cd -P \"$f\" && true <. || s_fail eacces\n"
    /* Behind a link to "/" bash begins what it says with two slashes. */
    "b=${PWD%/}\n"
    "case $b in //*) b=${b#/};; esac\n"
    "s_word begun 1\n"
    "s_code\n"
    "export b\n"
    /* Many links share one process. Where the lines are not as many as the links, one of them has a newline in its
     * target, or has gone, or there is no realpath: then each is asked about alone. */
    "export t='IFS=\"\n\"\n"
    "set -f\n"
    "r=$(realpath \"$@\")\n"
    "n=0\n"
    "for i in $r; do n=$((n + 1)); done\n"
    "if [ $n = $# ]; then\n"
    "for i in $r; do\n"
    "case $i in \"$b\"/*) printf \"%s//\" \"$1\";; esac\n"
    "shift\n"
    "done\n"
    "else for i; do case $(readlink -f \"$i\") in \"$b\"/*) printf \"%s//\" \"$i\";; esac; done\n"
    "fi'\n"
    "l='exec >&3\n"
    "for i; do [ ! -f \"$i\" ] || printf \"%s\\000\" \"$i\"; done | xargs -0 -n 1000 sh -c \"$t\" x'\n"
    "set --\n"
    /* Nothing is entered but what leads to the directory $d and lies in it. */
    "if [ \"$d\" ]; then\n"
    "set -- -path \"./$d/*\" -o -path .\n"
    "while set -- \"$@\" -o -path \"./$d\"; do case $d in */*) d=${d%/*};; *) break;; esac; done\n"
    "set -- ! '(' \"$@\" ')' -prune -o\n"
    "fi\n"
    /* Told, but not entered: what is as deep as anything that matters, and the kernel's own trees and devices. */
    "[ ! \"$m\" ] || set -- \"$@\" '(' ! -path \"$m\" -o -prune ')'\n"
    "[ \"$b\" ] || set -- \"$@\" '(' ! '(' -path ./proc -o -path ./sys -o -path ./dev -o -path ./run ')' -o -prune "
    "')'\n"
    "echo \"paths=-$s_k\"\n"
    "{\n"
    "w=$(find . \"$@\" ";

static const char print_tests[] = "-type d -print0 -print0 -o -type f -print0";

/* For a find that does not know -print0. */
static const char printf_tests[] =
    "-type d -exec sh -c 'for i; do printf \"%s\\000%s\\000\" \"$i\" \"$i\"; done' x {} + "
    "-o -type f -exec sh -c 'printf \"%s\\000\" \"$@\"' x {} +";

static const char link_tests[] = " -o -type l -exec sh -c \"$l\" x {} +";

static const char end_script[] =
    " 3>&1 >&4)\n"
    "s_x=$?\n"
    "printf '/%d\\000' $s_x\n"
    "[ $s_x = 0 ] || find . \"$@\" -type d -exec sh -c "
    "'for i; do [ -r \"$i\" ] && [ -x \"$i\" ] && true <\"$i\" || printf \"%s\\000\" \"$i\"; done' x {} +\n"
    "printf '//\\000%s\\000' \"$w\"\n"
    "} 4>&1 | $s_c\n"
    "echo ';'\n"
    "s_end\n";

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

/* The walk with find's TESTS. Fails also with what ends it early. */
static int walk_with(const struct file_call *call, struct reader *reader, const char *tests,
                     struct sandlot_error *error)
{
    const struct frame_receiver receiver = {reader, read_word, read_data};
    const struct walk *walk = reader->walk;
    CLEANUP(script_clear) struct script script;

    script_init(&script);
    script_set(&script, "f", call->path);
    set_directory(&script, walk->directory ? walk->directory : "");
    set_depth(&script, walk->depth);
    if (walk->links)
        script_add(&script, "s_need readlink xargs\n");
    script_add(&script, begin_script);
    script_add(&script, tests);
    if (walk->links)
        script_add(&script, link_tests);
    script_add(&script, end_script);
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
    int failed = walk_with(&limited, reader, print_tests, &why);

    if (!failed && !reader->seen)
        failed = walk_with(&limited, reader, printf_tests, &why);
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
