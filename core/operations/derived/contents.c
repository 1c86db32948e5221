/* Everything below a directory with digests, for who compares it with what was there before. */
#include "operations/derived/contents.h"

#include "base/error.h"
#include "operations/derived/contents_box.h"
#include "operations/derived/frame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CONTENTS_MAXIMUM = 256 << 20 };

struct reading {
    const char *at;
    const char *end;
    int (*each)(void *context, const struct content *content, struct sandlot_error *error);
    void *context;
    bool closed; /* there was a directory that cannot be read: find says that too */
};

static const char *next(struct reading *reading)
{
    const char *text = reading->at;
    const char *nul = text < reading->end ? memchr(text, '\0', (size_t)(reading->end - text)) : NULL;

    if (!nul)
        return NULL;
    reading->at = nul + 1;
    return text;
}

/* "MODE,LENGTH", and behind it what *REST then points to. */
static bool read_facts(const char *facts, struct content *content, const char **rest)
{
    char *end = NULL;

    errno = 0;
    content->mode = (mode_t)strtoul(facts, &end, 16);
    if (errno || end == facts || *end != ',' || end[1] < '0' || end[1] > '9')
        return false;
    content->bytes = strtoull(end + 1, &end, 10);
    *rest = end;
    return !errno && (*end == ',' || *end == '\0');
}

static int hand_on(struct reading *reading, struct content *content, const char *path, struct sandlot_error *error)
{
    if (strncmp(path, "./", 2) != 0)
        return frame_damaged(error, "a path in the list of contents is none");
    content->path = path + 2;
    return reading->each(reading->context, content, error);
}

static int read_one(struct reading *reading, const char *facts, struct sandlot_error *error)
{
    const char *path = next(reading);
    const char *rest = NULL;
    struct content content = {0};

    if (!path)
        return frame_damaged(error, "the list of contents ends early");
    if (strcmp(facts, "!") == 0) {
        content = (struct content){.mode = S_IFDIR, .closed = true};
        reading->closed = true;
        return hand_on(reading, &content, path, error);
    }
    /* Gone between find and stat: there is nothing to tell. */
    if (*facts == '\0' || *facts == ',')
        return 0;
    if (!read_facts(facts, &content, &rest))
        return frame_damaged(error, "the list of contents makes no sense");
    content.digest = *rest == ',' ? rest + 1 : NULL;
    content.target = S_ISLNK(content.mode) ? next(reading) : NULL;
    if (S_ISLNK(content.mode) && !content.target)
        return frame_damaged(error, "the list of contents ends early");
    return hand_on(reading, &content, path, error);
}

/* COUNT files: their facts, their digests, their paths. */
static int read_files(struct reading *reading, uint64_t count, struct sandlot_error *error)
{
    struct reading digests = *reading;
    struct reading paths = *reading;
    const char *rest;

    for (uint64_t i = 0; i < 2 * count; i++)
        if ((i < count && !next(&digests)) || !next(&paths))
            return frame_damaged(error, "the list of contents ends early");
    for (uint64_t i = 0; i < count; i++) {
        const char *facts = next(reading);
        const char *digest = next(&digests);
        const char *path = next(&paths);
        struct content content = {0};

        if (!facts || !digest || !path || !read_facts(facts, &content, &rest))
            return frame_damaged(error, "the list of contents makes no sense");
        content.digest = digest + (*digest == '\\');
        if (hand_on(reading, &content, path, error) < 0)
            return -1;
    }
    reading->at = paths.at;
    return 0;
}

/* What begins with "#" and a number. */
static int read_group(struct reading *reading, const char *facts, struct sandlot_error *error)
{
    uint64_t count;

    if (frame_number(facts + 1, &count, error) < 0)
        return -1;
    return count > (uint64_t)(reading->end - reading->at) ? frame_damaged(error, "the list of contents ends early")
                                                          : read_files(reading, count, error);
}

int contents_read(const char *text, size_t length,
                  int (*each)(void *context, const struct content *content, struct sandlot_error *error), void *context,
                  struct sandlot_error *error)
{
    struct reading reading = {text, text + length, each, context, false};

    for (;;) {
        const char *facts = next(&reading);

        if (!facts)
            return frame_damaged(error, "the end of the list of contents is missing");
        if (strcmp(facts, "/0") == 0 || (strcmp(facts, "/1") == 0 && reading.closed))
            return 0;
        if (*facts == '/')
            return error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                             "the files of the sandbox could not all be looked at (find ended with %.10s); try again",
                             facts + 1);
        if ((*facts == '#' ? read_group(&reading, facts, error) : read_one(&reading, facts, error)) < 0)
            return -1;
    }
}

static int take(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    (void)name;
    return frame_bytes_add(context, bytes, length, error);
}

int contents_list(const struct file_call *call,
                  int (*each)(void *context, const struct content *content, struct sandlot_error *error), void *context,
                  struct sandlot_error *error)
{
    struct frame_bytes received = {.maximum = CONTENTS_MAXIMUM};
    const struct frame_receiver receiver = {.context = &received, .data = take};
    struct script script;

    script_init(&script);
    script_set(&script, "f", call->path);
    script_add(&script, contents_box_files);
    script_add(&script, contents_box_others);
    script_add(&script, contents_box);
    int failed = frame_run(call, &script, &receiver, error);

    script_clear(&script);
    if (!failed)
        failed = contents_read(received.bytes ? received.bytes : "", received.length, each, context, error);
    frame_bytes_clear(&received);
    return failed;
}
