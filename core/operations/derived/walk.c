#include "operations/derived/walk.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/derived/frame.h"

#include <string.h>

enum {
    PATHS_MAXIMUM = 2000000,
    PATH_BYTES_MAXIMUM = 64 << 20,
    PATH_LENGTH_MAXIMUM = 1 << 16,
    END_MS = 1000 /* what a command's end may take beyond its time */
};

/*
 * A directory is printed twice, a file once: one walk tells both, with what every find has. The names of links go
 * another way (3), because find's own output, which it buffers, must not mix with that of commands that it starts.
 */
static const char walk_script[] =
    "s_need find sh\n"
    "[ -e \"$f\" ] || s_gone\n"
    "[ -d \"$f\" ] || s_fail kind\n"
    "[ -r \"$f\" ] && [ -x \"$f\" ] && cd \"$f\" || s_fail eacces\n"
    "b=$(pwd -P; echo .)\n"
    "b=${b%?.}\n"
    "[ \"$b\" != / ] || b=\n"
    "s_word begun 1\n"
    "s_code\n"
    "export b s_c s_k\n"
    "l='exec >&3\n"
    "echo \"links=-$s_k\"\n"
    "for i; do\n"
    "[ -f \"$i\" ] && r=$(readlink -f \"$i\") || continue\n"
    "case $r in \"$b\"/*) printf \"%s\\000\" \"$i\";; esac\n"
    "done | $s_c\n"
    "echo \";\"'\n"
    "p=\n"
    "[ \"$b\" ] || p='( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run ) -prune'\n"
    "if find . -prune -print0 >/dev/null\n"
    "then set -- -type d -print0 -print0 $p -o -type f -print0\n"
    "else set -- -type d -exec sh -c 'for i; do printf \"%s\\000%s\\000\" \"$i\" \"$i\"; done' x {} + $p -o "
    "-type f -exec sh -c 'printf \"%s\\000\" \"$@\"' x {} +\n"
    "fi\n";

static const char links_script[] = "s_need readlink\n"
                                   "set -- \"$@\" -o -type l -exec sh -c \"$l\" x {} +\n";

/* Where find has failed, the directories that cannot be read are looked for: it matters which they are. */
static const char end_script[] =
    "exec 4>&1\n"
    "w=$(exec 3>&1; { find . \"$@\"; echo \"walked:$?;\" >&3; } | s_flow paths >&4)\n"
    "echo \"$w\"\n"
    "case $w in *walked:0*) ;; *)\n"
    "set -- -type d -exec sh -c 'for i; do [ -r \"$i\" ] && [ -x \"$i\" ] || printf \"%s\\000\" \"$i\"; done' x {} +\n"
    "[ ! \"$p\" ] || set -- $p -o \"$@\"\n"
    "find . \"$@\" | s_flow locked;;\n"
    "esac\n"
    "s_end\n";

struct reader {
    struct walk *walk;
    bool begun;
    bool ended; /* find has said how it ended */
    bool seen;  /* the directory itself came: find did its work */
    struct frame_bytes path;
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

/* One path of the record NAME. */
static int take(struct reader *reader, const char *name, size_t length, struct sandlot_error *error)
{
    const char *path = reader->path.bytes;

    if (strcmp(name, "links") == 0)
        return hand_on(reader, path, length, WALK_LINK, error);
    if (strcmp(name, "locked") == 0)
        return take_locked(reader, path, length, error);
    return take_path(reader, path, length, error);
}

static int read_data(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    struct reader *reader = context;
    const char *at = bytes;
    const char *end = at + length;

    if (strcmp(name, "links") != 0 && strcmp(name, "locked") != 0 && strcmp(name, "paths") != 0)
        return frame_damaged(error, "there is a record that nobody asked for");
    if (length == 0 && reader->path.length > 0)
        return frame_damaged(error, "a path has no end");
    if (length == 0)
        return flush_previous(reader, error);
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
        if (take(reader, name, size, error) < 0)
            return -1;
    }
    return 0;
}

static int read_word(void *context, const char *name, const char *value, struct sandlot_error *error)
{
    struct reader *reader = context;

    if (strcmp(name, "begun") == 0) {
        reader->begun = true;
        return 0;
    }
    if (strcmp(name, "walked") != 0)
        return frame_damaged(error, "there is a record that nobody asked for");
    (void)value; /* what find complains of shows in the record of locked directories, or has gone by now */
    reader->ended = true;
    return 0;
}

int walk_run(const struct file_call *call, struct walk *walk, int64_t limit_ms, struct sandlot_error *error)
{
    AUTO_FREE struct reader *reader = calloc(1, sizeof(*reader));
    const struct frame_receiver receiver = {reader, read_word, read_data};
    struct file_call limited = *call;
    struct sandlot_error why = {0};
    CLEANUP(script_clear) struct script script;

    script_init(&script);
    if (!reader)
        return error_no_memory(error);
    reader->walk = walk;
    reader->path.maximum = PATH_LENGTH_MAXIMUM;
    limited.deadline_ms = sandlot_now_ms() + limit_ms + END_MS;
    script_set(&script, "f", call->path);
    script_add(&script, walk_script);
    if (walk->links)
        script_add(&script, links_script);
    script_add(&script, end_script);
    int failed = frame_run(&limited, &script, &receiver, &why);

    if (!failed && !(reader->seen && reader->ended))
        failed = frame_damaged(&why, "find did not even tell of the directory itself");
    if (failed && !walk->cut && reader->begun && why.code == SANDLOT_CODE_TIMEOUT)
        walk->cut = true;
    if (failed && !walk->cut)
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    frame_bytes_clear(&reader->path);
    return failed && !walk->cut ? -1 : 0;
}
